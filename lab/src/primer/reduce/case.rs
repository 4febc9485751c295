//! What is measured: every rung and operation, on random numbers.
//!
//! All cases of a size and type share the numbers: they are made piece by piece on all cores, copied to the device once, stay there until the
//! last of the cases is gone, and are looked at once for what is right. None are kept on the host.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use simt::launch::KernelEntry;

use super::launch::kernel;
use super::oracle::Truth;
use super::{Number, Operation, Reduction, Rung};
use crate::primer::data::Turns;
use crate::primer::{Ask, Case, Elements, Run, Topic, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Reductions.
pub const REDUCE: Topic = Topic {
    name: "reduce",
    title: "the sum, the least, the largest of n numbers: from one step at a time to one pass at the memory's speed",
    size: "N",
    sizes: [&[[1 << 20, 0, 0], [1 << 24, 0, 0], [1 << 30, 0, 0]], &[[4096, 0, 0]]],
    elements: &[Elements::I32, Elements::F32, Elements::F64],
    rungs: || Rung::ALL.map(Rung::name).to_vec(),
    cases: |ask| match ask.elements {
        Elements::I32 => cases::<i32>(ask),
        Elements::F32 => cases::<f32>(ask),
        Elements::F64 => cases::<f64>(ask),
        _ => Vec::new(),
    },
};

/// Numbers that are made and copied at a time.
const PIECE: usize = 1 << 23;

/// Blocks that run at once at most, as a bound for memory: 32 on each of 1024 multiprocessors.
const RESIDENT: u32 = 32 << 10;

fn cases<T: Number>(ask: &Ask) -> Vec<Box<dyn Case>> {
    let (count, seed) = (ask.size[0], ask.seed);
    let data = Arc::new(Data { count, seed, truth: OnceLock::new(), uploaded: Mutex::new(Vec::new()) });
    let case = |operation| {
        let data = Arc::clone(&data);
        move |rung| -> Box<dyn Case> { Box::new(Reduce::<T> { rung, operation, data: Arc::clone(&data) }) }
    };
    Operation::ALL.into_iter().flat_map(|operation| Rung::ALL.map(case(operation))).collect()
}

/// Copies of the numbers, and where they are.
type Copies = Vec<(Arc<dyn Device>, Arc<Buffer>)>;

/// The numbers of a table's cases.
struct Data<T> {
    count: usize,
    seed: u64,
    truth: OnceLock<Truth<T>>,
    /// Copies on a device.
    uploaded: Mutex<Copies>,
}

impl<T: Number> Data<T> {
    /// So many copies on a device.
    fn on(&self, device: &Arc<dyn Device>, copies: usize) -> Result<Vec<Arc<Buffer>>, DeviceError> {
        let mut uploaded = self.uploaded.lock().unwrap_or_else(PoisonError::into_inner);
        // What is on another device is not needed there any more.
        uploaded.retain(|(there, _)| Arc::ptr_eq(there, device));
        let missing = copies.saturating_sub(uploaded.len());
        let bytes = self.count * size_of::<T>();
        let new = (0..missing).map(|_| Buffer::new(device, bytes)).collect::<Result<Vec<_>, _>>()?;
        let mut piece = Vec::new();
        for first in (0..if missing > 0 { self.count } else { 0 }).step_by(PIECE) {
            let numbers = first..self.count.min(first + PIECE);
            numbers.into_par_iter().map(|at| T::random(self.seed, at)).collect_into_vec(&mut piece);
            let source: &[u8] = bytemuck::cast_slice(&piece);
            for buffer in &new {
                buffer.write(first * size_of::<T>(), source)?;
            }
        }
        uploaded.extend(new.into_iter().map(|buffer| (Arc::clone(device), Arc::new(buffer))));
        Ok(uploaded.iter().take(copies).map(|(_, buffer)| Arc::clone(buffer)).collect())
    }

    fn truth(&self) -> &Truth<T> {
        self.truth.get_or_init(|| Truth::of(self.count, |at| T::random(self.seed, at)))
    }
}

struct Reduce<T> {
    rung: Rung,
    operation: Operation,
    data: Arc<Data<T>>,
}

impl<T: Number> fmt::Debug for Reduce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {} by {}", self.operation.name(), self.data.count, T::ELEMENTS, self.rung.name())
    }
}

impl<T: Number> Case for Reduce<T> {
    fn name(&self) -> &'static str {
        self.rung.name()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("operation", self.operation.name().to_owned())]
    }

    fn before(&self) -> Option<&'static str> {
        self.rung.before().map(Rung::name)
    }

    fn idea(&self) -> &'static str {
        self.rung.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(kernel::<T>(self.rung, self.operation))
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Bytes((self.data.count * size_of::<T>()) as f64)
    }

    fn bytes(&self, copies: usize) -> usize {
        copies * self.data.count * size_of::<T>() + self.rung.bytes::<T>(self.data.count, RESIDENT)
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let reduction = Reduction::new(device, self.rung, self.operation, self.data.count)?;
        let buffers = self.data.on(device, copies)?;
        Ok(Box::new(Started { case: self, reduction, buffers: Turns::new(buffers) }))
    }
}

struct Started<'a, T> {
    case: &'a Reduce<T>,
    reduction: Reduction<T>,
    buffers: Turns<Arc<Buffer>>,
}

impl<T: Number> Run for Started<'_, T> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        self.reduction.run(self.buffers.next(), 0)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let got = self.reduction.result()?;
        Ok(self.case.data.truth().judge(self.case.operation, got, self.reduction.additions()))
    }
}
