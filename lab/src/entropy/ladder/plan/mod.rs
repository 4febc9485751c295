//! The rungs that are plans over several devices and the CPU: v14 of the first report, and what it left undone.
//!
//! | rung | what it changes |
//! |---|---|
//! | v14 | the rows are split over the devices, one thread each, each running v7 on its band with 2 halo rows a side; results are copied back one device after another; below [`CUT_OFF`] cells, or without a device, v12 does it all |
//! | v14-parallel | the copies back go side by side; where bands of rows would be mostly halo, columns are split |
//! | v14-share | the CPU takes a share, as large as its pace deserves: `share` |
//!
//! What to expect: results are four times the bytes of the cells, and come back over the bus at a hundredth of the pace at which
//! a GPU makes them. So v14 on n devices gains on the cells' way out only, v14-parallel on the way back too, as far as the
//! host's memory keeps up; and the CPU's share is worth most where copies, not kernels, are what the devices wait for.
//!
//! The plans are those of the rungs that are kernels ([`bands`]), with v7 in place of the kernel chosen there. v7 and v12 sum the same
//! table, of f32, in f64, where no sum is rounded (see [`super::cpu`]'s v12).

use std::sync::Arc;

use super::bands::{self, Job};
use super::cpu::{Task, v12};
use super::{How, LEVELS, Rung, SIZE};
use halotile::entropy::{self, Error, Report};
use halotile::exec::Device;
use halotile::part::{Axis, Part};

mod share;
#[cfg(test)]
mod tests;

/// Cells below which no device is used: as many as the source's GPU has threads at once, 80 multiprocessors × 2048.
pub(super) const CUT_OFF: usize = 163_840;

/// A rung that is a plan.
#[derive(Debug)]
pub(in crate::entropy::ladder) struct PlanRung {
    /// Only one device at a time copies its results back.
    one_copy_at_a_time: bool,
    /// Columns are split where bands of rows would be thin.
    columns: bool,
    /// The CPU takes a share.
    cpu: bool,
}

pub(super) static RUNGS: &[Rung] = &[
    Rung {
        name: "v14",
        before: Some("v7"),
        idea: "the rows over several devices, v7 on each; small grids by v12 on the CPU",
        how: How::Plan(PlanRung { one_copy_at_a_time: true, columns: false, cpu: false }),
    },
    Rung {
        name: "v14-parallel",
        before: Some("v14"),
        idea: "copies back side by side; flat grids are split by columns",
        how: How::Plan(PlanRung { one_copy_at_a_time: false, columns: true, cpu: false }),
    },
    Rung {
        name: "v14-share",
        before: Some("v14-parallel"),
        idea: "the CPU takes a share, sized by the paces measured on the way",
        how: How::Plan(PlanRung { one_copy_at_a_time: false, columns: true, cpu: true }),
    },
];

/// The kernel that the devices run.
fn device_kernel() -> &'static Rung {
    super::rung("v7").expect("v7 is a rung")
}

impl PlanRung {
    /// Fills a whole grid's output; with fewer cells than `cut_off`, or without devices, by v12.
    pub fn run(
        &self,
        devices: &[Arc<dyn Device>],
        task: &Task<'_>,
        out: Part<'_, f32>,
        cut_off: usize,
    ) -> Result<Report, Error> {
        let cells = out.cells();
        if devices.is_empty() || cells < cut_off {
            v12(task, out)?;
            return Ok(Report { cpu_cells: cells, ..Report::default() });
        }
        let of = entropy::Task {
            cells: task.cells,
            levels: LEVELS,
            nodata: None,
            size: SIZE,
            scale: task.scale,
            f64: false,
        };
        let mut job = Job::new(of, device_kernel(), task.observer);
        if self.one_copy_at_a_time {
            job = job.one_copy_at_a_time();
        }
        if self.cpu {
            return share::run(&job, devices, task, out);
        }
        let axis = if self.columns { bands::axis(out.rows(), out.cols(), devices.len(), SIZE) } else { Axis::Rows };
        bands::side_by_side(&job, devices, out, axis)
    }
}
