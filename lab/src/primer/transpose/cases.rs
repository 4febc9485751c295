//! The topic: every rung, on random elements.
//!
//! The oracle is the definition: every element of the result is compared with the one that belongs there, which is made anew from its number.

use std::sync::Arc;

use rayon::prelude::*;
use simt::launch::KernelEntry;

use super::{Plan, Rung};
use crate::primer::data::Turns;
use crate::primer::{Ask, Case, Elements, Run, Topic, Work, extents, random};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Matrices transposed.
pub const TRANSPOSE: Topic = Topic {
    name: "transpose",
    title: "transpose: reads and writes that both want to run along rows",
    size: "ROWSxCOLS",
    sizes: [&[[4096, 4096, 0], [16384, 16384, 0], [16001, 15999, 0]], &[[128, 128, 0]]],
    elements: &[Elements::U8, Elements::U16, Elements::U32, Elements::F64],
    rungs: || Rung::ALL.map(Rung::name).to_vec(),
    cases: |ask| Rung::ALL.map(|rung| Box::new(Transpose::new(ask, rung)) as Box<dyn Case>).into(),
};

/// Elements that a thread makes or compares at a time.
const PIECE: usize = 1 << 16;

/// A matrix of `rows` x `cols`, and the rung that transposes it.
#[derive(Debug)]
pub(super) struct Transpose {
    rung: Rung,
    elements: Elements,
    rows: usize,
    cols: usize,
    seed: u64,
}

impl Transpose {
    pub(super) fn new(ask: &Ask, rung: Rung) -> Self {
        let [rows, cols, _] = extents(ask.size);
        Self { rung, elements: ask.elements, rows, cols, seed: ask.seed }
    }

    /// Bytes of the matrix; `usize::MAX` where that is too small a number.
    fn matrix_bytes(&self) -> usize {
        self.rows.saturating_mul(self.cols).saturating_mul(self.elements.bytes())
    }

    /// Element `at` of the matrix, in as many bytes as it has.
    fn element(&self, at: usize) -> [u8; 8] {
        random(self.seed, at).to_le_bytes()
    }

    /// The matrix, row by row.
    fn matrix(&self) -> Vec<u8> {
        let size = self.elements.bytes();
        let mut bytes = vec![0; self.matrix_bytes()];
        bytes.par_chunks_mut(PIECE * size).enumerate().for_each(|(piece, bytes)| {
            for (i, bytes) in bytes.chunks_exact_mut(size).enumerate() {
                bytes.copy_from_slice(&self.element(piece * PIECE + i)[..size]);
            }
        });
        bytes
    }

    pub(super) fn begin(&self, device: &Arc<dyn Device>, copies: usize) -> Result<Started<'_>, DeviceError> {
        let plan = Plan::new(self.rung, self.elements.bytes(), self.rows, self.cols)?;
        let bytes = self.matrix_bytes();
        // Before the host's memory is asked for as much.
        let pair = |_| Ok((Buffer::new(device, bytes)?, Buffer::new(device, bytes)?));
        let buffers: Vec<_> = (0..copies).map(pair).collect::<Result<_, DeviceError>>()?;
        let matrix = self.matrix();
        for (from, to) in &buffers {
            from.write(0, &matrix)?;
            device.fill(to, 0)?;
        }
        Ok(Started { case: self, device: Arc::clone(device), plan, buffers: Turns::new(buffers) })
    }
}

impl Case for Transpose {
    fn name(&self) -> &'static str {
        self.rung.name()
    }

    fn before(&self) -> Option<&'static str> {
        self.rung.before().map(Rung::name)
    }

    fn idea(&self) -> &'static str {
        self.rung.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(Plan::kernel(self.rung, self.elements.bytes().trailing_zeros() as usize))
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Bytes(2.0 * self.rows as f64 * self.cols as f64 * self.elements.bytes() as f64)
    }

    fn bytes(&self, copies: usize) -> usize {
        self.matrix_bytes().saturating_mul(2 * copies)
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        Ok(Box::new(self.begin(device, copies)?))
    }
}

pub(super) struct Started<'a> {
    case: &'a Transpose,
    device: Arc<dyn Device>,
    plan: Plan,
    pub(super) buffers: Turns<(Buffer, Buffer)>,
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let (from, to) = self.buffers.next();
        self.plan.run(self.device.as_ref(), from, to)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let Transpose { elements, rows, cols, .. } = *self.case;
        let size = elements.bytes();
        let got: Vec<u8> = self.buffers.current().1.to_vec()?;
        let wrong = got.par_chunks(PIECE * size).enumerate().find_map_first(|(piece, got)| {
            got.chunks_exact(size).enumerate().find_map(|(i, got)| {
                let at = piece * PIECE + i;
                let (r, c) = (at % rows, at / rows);
                let expected = &self.case.element(r * cols + c)[..size];
                (got != expected).then(|| format!("row {c}, column {r} is {}, not {}", hex(got), hex(expected)))
            })
        });
        Ok(wrong.map_or_else(|| Ok("every element, to the bit".to_owned()), Err))
    }
}

/// The bits of an element.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
