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

use std::sync::Arc;

use halotile::entropy::{Algorithm, Custom, Engine, Error, Kernel, Launcher, Place, Planes, Report, Task};
use halotile::exec::Device;
use halotile::grid::GridViewMut;
use halotile::observe::Observer;
use halotile::part::Part;
use simt::launch::KernelEntry;

mod bands;
mod cpu;
mod device;
mod launch;
mod plan;

/// A rung: one step of a ladder.
#[derive(Debug)]
pub struct Rung {
    /// Its name: "v7".
    pub name: &'static str,
    /// The name of the rung (or production kernel) that it changes something about.
    pub before: Option<&'static str>,
    /// What it changes, in a few words.
    pub idea: &'static str,
    how: How,
}

/// What runs a rung.
#[derive(Debug)]
enum How {
    /// A kernel.
    Device(device::DeviceRung),
    /// A function on the CPU.
    Cpu(cpu::CpuRung),
    /// A plan over devices and the CPU.
    Plan(plan::PlanRung),
}

impl Rung {
    /// The rung as a kernel that [`Entropy::kernel`](halotile::entropy::Entropy::kernel) takes.
    pub fn kernel(&'static self) -> Kernel {
        Kernel::Custom(Custom::new(self))
    }

    /// Its kernel's side; `None` when it is none.
    fn device(&self) -> Option<&device::DeviceRung> {
        match &self.how {
            How::Device(device) => Some(device),
            How::Cpu(_) | How::Plan(_) => None,
        }
    }
}

/// All rungs, each ladder in order.
pub fn rungs() -> impl Iterator<Item = &'static Rung> {
    [device::RUNGS, cpu::RUNGS, plan::RUNGS].into_iter().flatten()
}

/// The rung of this name.
///
/// ```
/// use halotile_lab::entropy::ladder;
/// assert_eq!(ladder::rung("v7").and_then(|rung| rung.before), Some("v6"));
/// ```
pub fn rung(name: &str) -> Option<&'static Rung> {
    rungs().find(|rung| rung.name == name)
}

/// Side of the windows that rungs take.
const SIZE: usize = 5;

/// Levels that rungs take.
const LEVELS: usize = 16;

impl Algorithm for Rung {
    fn name(&self) -> &'static str {
        self.name
    }

    fn place(&self) -> Place {
        match self.how {
            How::Device(_) => Place::Device,
            How::Cpu(_) => Place::Cpu,
            How::Plan(_) => Place::Both,
        }
    }

    fn is_f64(&self) -> bool {
        self.device().is_some_and(device::DeviceRung::is_f64)
    }

    fn entry(&self) -> Option<KernelEntry> {
        self.device().map(device::DeviceRung::entry)
    }

    fn block(&self) -> Option<(u32, u32)> {
        self.device().map(|device| (device.threads(), device.shared_bytes()))
    }

    fn misfit(&self, task: &Task<'_>) -> Option<String> {
        let Task { cells, levels, nodata, size, .. } = *task;
        if size != SIZE {
            return Some(format!("it takes windows of 5 x 5, not {size} x {size}"));
        }
        if levels > LEVELS {
            return Some(format!("it takes up to {LEVELS} levels, and there are {levels}"));
        }
        if nodata.is_some() {
            let reason = match self.how {
                How::Device(_) => "it does not know nodata",
                How::Cpu(_) | How::Plan(_) => "it counts every cell, and there are nodata cells",
            };
            return Some(reason.into());
        }
        self.device().and_then(|device| device.misfit(cells.cols()))
    }

    unsafe fn compute(
        &'static self,
        engine: &Engine,
        task: &Task<'_>,
        out: Planes<'_>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let devices = match engine {
            Engine::Cpu => &[],
            Engine::Devices(devices) => devices.as_slice(),
        };
        match (&self.how, out) {
            (How::Device(_), Planes::F32(out)) => bands::run(devices, self, task, only(out), observer),
            (How::Device(_), Planes::F64(out)) => bands::run(devices, self, task, only(out), observer),
            (How::Cpu(function), Planes::F32(out)) => {
                let out = Part::band(0, only(out));
                let cells = out.cells();
                function.run(&cpu::Task { cells: task.cells, scale: task.scale, observer }, out)?;
                Ok(Report { cpu_cells: cells, ..Report::default() })
            }
            (How::Plan(plan), Planes::F32(out)) => {
                let task = cpu::Task { cells: task.cells, scale: task.scale, observer };
                plan.run(devices, &task, Part::band(0, only(out)), plan::CUT_OFF)
            }
            (How::Cpu(_) | How::Plan(_), Planes::F64(_)) => {
                Err(Error::KernelMisfit { kernel: self.name, reason: "it computes in f32".into() })
            }
        }
    }

    unsafe fn prepare(&'static self, device: &Arc<dyn Device>, task: &Task<'_>) -> Result<Box<dyn Launcher>, Error> {
        Ok(Box::new(launch::RungLauncher::new(self, device, task)?))
    }
}

/// The one plane that there is.
fn only<T>(planes: Vec<GridViewMut<'_, T>>) -> GridViewMut<'_, T> {
    let [plane] = <[_; 1]>::try_from(planes).expect("one measure has one plane");
    plane
}
