//! The ladders: moving-window entropy step by step, each step a rung that can be run, verified and timed beside the one
//! before it.
//!
//! | rungs | what they are | where |
//! |---|---|---|
//! | v0..v9, b0..b9 | kernels | `device` and `launch`, and `lab/kernels/src/ladder` |
//! | s1..s4 | our own kernels, from v9 to the production kernels | the same |
//! | v10..v13, b10 | functions on the CPU | `cpu` |
//! | v14 | plans over several devices and the CPU | `plan` |
//!
//! All of them compute 5 × 5 windows of up to 16 levels without nodata, as their sources do; borders are right in all.

use std::hash::{Hash, Hasher};

use crate::entropy::census::Coding;
use crate::entropy::{Engine, Error, Kernel, Report};
use crate::grid::{GridView, GridViewMut};
use crate::numbers::Real;
use crate::observe::Observer;
use crate::part::Part;

pub(crate) mod cpu;
pub(crate) mod device;
pub(crate) mod launch;
pub(crate) mod plan;

/// A rung: one step of a ladder.
#[derive(Debug)]
pub struct Rung {
    /// Its name: "v7".
    pub name: &'static str,
    /// The name of the rung (or production kernel) that it changes something about.
    pub before: Option<&'static str>,
    /// What it changes, in a few words.
    pub idea: &'static str,
    pub(crate) how: How,
}

/// What runs a rung.
#[derive(Debug)]
pub(crate) enum How {
    /// A kernel.
    Device(device::DeviceRung),
    /// A function on the CPU.
    Cpu(cpu::CpuRung),
    /// A plan over devices and the CPU.
    Plan(plan::PlanRung),
}

// A rung is its name: there are no two of one name.
impl PartialEq for Rung {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
impl Eq for Rung {}
impl Hash for Rung {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// All rungs, each ladder in order.
pub fn rungs() -> impl Iterator<Item = &'static Rung> {
    [device::RUNGS, cpu::RUNGS, plan::RUNGS].into_iter().flatten()
}

/// Side of the windows that rungs take.
const SIZE: usize = 5;

/// Levels that rungs take.
const LEVELS: usize = 16;

/// Fills `out` by a rung that is a function on the CPU or a plan.
#[allow(clippy::too_many_arguments)]
pub(crate) fn run<T: Real>(
    rung: &'static Rung,
    engine: &Engine,
    cells: GridView<'_, u8>,
    coding: &Coding,
    size: usize,
    scale: f64,
    mut out: GridViewMut<'_, T>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    if let Some(reason) = misfit::<T>(coding, size) {
        return Err(Error::KernelMisfit { kernel: rung.name, reason });
    }
    let devices = match engine {
        Engine::Cpu => &[],
        Engine::Devices(devices) if devices.is_empty() => return Err(Error::NoDevices),
        Engine::Devices(devices) => devices.as_slice(),
    };
    let coded = coding.coded(cells)?;
    let task = cpu::Task { cells: coded.view(), scale, observer };
    let (rows, cols, stride) = (out.rows(), out.cols(), out.stride());
    // `T` is f32: another is a misfit.
    let out = GridViewMut::with_stride(bytemuck::cast_slice_mut(out.as_strided_mut()), rows, cols, stride)?;
    let out = Part::band(0, out);
    let report = match &rung.how {
        How::Cpu(function) => {
            function.run(&task, out)?;
            Report { cpu_cells: rows * cols, ..Report::default() }
        }
        How::Plan(plan) => plan.run(devices, &task, out, plan::CUT_OFF)?,
        How::Device(_) => unreachable!("{} is launched as a kernel", rung.name),
    };
    Ok(Report { kernel: Some(Kernel::Rung(rung)), ..report })
}

/// Why a rung on the CPU cannot do this; `None` when it can.
fn misfit<T>(coding: &Coding, size: usize) -> Option<String> {
    if size_of::<T>() == 8 {
        return Some("it computes in f32".into());
    }
    if size != SIZE {
        return Some(format!("it takes windows of 5 x 5, not {size} x {size}"));
    }
    if coding.levels > LEVELS {
        return Some(format!("it takes up to 16 levels, and there are {}", coding.levels));
    }
    coding.nodata.is_some().then(|| "it counts every cell, and there are nodata cells".into())
}
