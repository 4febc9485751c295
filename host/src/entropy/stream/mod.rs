//! The streaming plan: from cells read piece by piece to results written piece by piece, in bounded memory, with reading, computing
//! and writing overlapped.
//!
//! ```text
//! cut the output into pieces (shape)
//! one thread reads    the cells that a piece's windows see        (load)
//! one a device, or    computes a piece: on a device copied there, computed and copied back on one of
//! one for the CPU     several queues, so that copies and kernels of different pieces overlap      (device)
//! one thread writes   finished pieces, in their order             (store)
//! ```
//!
//! Between them pieces wait in a queue (`piece_queue`), from which a worker that is free takes the next one: a device that is slower than another takes
//! fewer, and when one fails the others take over what it had. A kernel clips windows at the edges of what it is given.
//! Halo cells move those edges away from the cells that are kept, so that a piece's results do not depend on where it was cut,
//! nor on the worker that computed it: they are bit-identical.
//!
//! The same plan serves grids in memory. There "reading" is copying to memory that devices copy from directly, by all cores,
//! unless the grid is in such memory already ([`PinnedGrid`](crate::exec::PinnedGrid)): then nothing is copied but by the
//! devices.
//!
//! | file | what |
//! |---|---|
//! | `plan`, `shape` | what is computed, and how the output is cut such that pieces fit in memory |
//! | `run` | the threads that read, compute and write |
//! | `load`, `store`, `piece`, `piece_queue` | cells into pieces, results out of them, and where they wait |
//! | `device` | a device as a worker |
//! | `arrays` | the plan for grids in a device's memory |
//!
//! Here are the ways in: a raster to a sink, and grids in memory.

use std::sync::Arc;

mod arrays;
mod device;
mod load;
mod piece;
mod piece_queue;
mod plan;
mod run;
mod shape;
mod store;
#[cfg(test)]
mod tests;

use load::CellSource;
use plan::{File, Plan};
use run::run;
use store::Destination;

use super::census::{Coding, WordCoding};
use super::{Engine, Entropy, Error, Kernel, Report};
use crate::codes::{self, Code};
use crate::exec::queue::{Target, Writable};
use crate::exec::{Device, HostMemory};
use crate::grid::{GridView, GridViewMut};
use crate::numbers::Real;
use crate::observe::Observer;
use crate::part::{Axis, Part};
use crate::raster::{Cells, ResultSink};

/// Memory for pieces where no limit was given.
const MEMORY: usize = 4 << 30;

/// The workers.
enum Workers<'a> {
    Cpu,
    Devices(&'a [Arc<dyn Device>]),
}

impl<'a> Workers<'a> {
    fn new(engine: &'a Engine) -> Result<Self, Error> {
        match engine {
            Engine::Cpu => Ok(Self::Cpu),
            Engine::Devices(devices) if devices.is_empty() => Err(Error::NoDevices),
            Engine::Devices(devices) => Ok(Self::Devices(devices)),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Cpu => 1,
            Self::Devices(devices) => devices.len(),
        }
    }

    /// Pieces in flight: those with the workers, one that is read and one that is written.
    fn in_flight(&self) -> usize {
        match self {
            Self::Cpu => 3,
            Self::Devices(devices) => devices.len() * device::SLOTS + 2,
        }
    }

    /// The memory that the workers copy to and from fastest.
    fn memory(&self, bytes: usize) -> HostMemory {
        let locked = match self {
            Self::Devices(devices) if bytes > 0 => devices.first(),
            _ => None,
        };
        let locked = locked.and_then(|device| {
            device.host_memory(bytes).inspect_err(|error| tracing::debug!("copies take a detour: {error}")).ok()
        });
        locked.unwrap_or_else(|| HostMemory::plain(bytes))
    }
}

impl Entropy {
    /// The entropy of every cell of a raster, by `engine`, to a sink, in bounded memory: at no time is there more of either
    /// than a few pieces, `memory` bytes with all that the program takes (the CUDA driver's own memory not counted; 4 GiB
    /// where nothing is given, and far less where that is enough).
    ///
    /// Levels and nodata are those of `cells`. The observer is notified of finished cells and may stop the work. After an error the
    /// sink has received some of the results.
    ///
    /// # Errors
    /// Those of [`compute_into`](Self::compute_into); a file that cannot be read or written; a limit to memory in which not even
    /// small pieces fit. A device that fails on the way is left out with a warning, unless it was the last one.
    pub fn stream<T: Real>(
        &self,
        engine: &Engine,
        cells: &dyn Cells,
        sink: Box<dyn ResultSink<T> + '_>,
        memory: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.validate()?;
        let workers = Workers::new(engine)?;
        self.check_place(matches!(workers, Workers::Devices(_)))?;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel {
            let reason = "it takes grids in memory".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let (levels, nodata) = (cells.levels(), cells.nodata_code());
        let grid = (cells.rows(), cells.cols());
        self.check_whole(grid)?;
        let mut plan = match codes::width(levels, nodata) {
            1 => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                self.plan::<T>(grid, &coding, observer)
            }
            _ => self.plan_words::<T>(grid, WordCoding::below(levels, nodata), observer),
        };
        // What is read passes through as it was stored, and blocks that two pieces share are kept; what is written is
        // compressed from a copy.
        let temporary = (2 * cells.bytes_per_cell(), 2 * size_of::<T>() * plan.planes);
        let overlap = 2 * plan.radius.0;
        let tail = if cells.in_order() { overlap * grid.1 * plan.width } else { 0 };
        let file = File {
            block: sink.block(),
            whole_rows: sink.whole_rows(),
            low: sink.kept_bytes() > 0,
            in_order: cells.in_order(),
            temporary,
            kept: sink.kept_bytes().saturating_add(tail),
        };
        plan.cut::<T>(&workers, file, memory.unwrap_or(MEMORY))?;
        let report = match plan.width {
            1 => {
                run::<T, u8>(&plan, &workers, CellSource::raster(cells, overlap), Destination::Sink(sink), None, None)?
            }
            _ => {
                run::<T, u16>(&plan, &workers, CellSource::raster(cells, overlap), Destination::Sink(sink), None, None)?
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(levels), ..report })
    }
}

/// The entropy of a grid in memory. It is `unchecked` where it has not been checked that its cells match the coding.
pub(super) fn in_memory<T: Real>(
    entropy: &Entropy,
    engine: &Engine,
    cells: GridView<'_, u8>,
    coding: &Coding,
    unchecked: bool,
    mut outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let workers = Workers::new(engine)?;
    let mut plan = entropy.plan::<T>((cells.rows(), cells.cols()), coding, observer);
    plan.cut::<T>(
        &workers,
        File { block: (1, 1), whole_rows: false, low: false, in_order: false, temporary: (0, 0), kept: 0 },
        usize::MAX,
    )?;
    let directly = |memory: &[u8]| match &workers {
        Workers::Cpu => false,
        Workers::Devices(devices) => devices.iter().all(|device| device.copies_directly(memory)),
    };
    let in_place = (coding.codes.is_none() && !plan.edge.extends() && directly(cells.as_strided())).then_some(cells);
    let from = CellSource::Grid { cells, codes: coding.codes.as_deref(), below: unchecked.then_some(coding.levels) };
    if let [out] = &mut outs[..]
        && directly(bytemuck::cast_slice(out.as_strided_mut()))
    {
        let targets = outs.pop().map(|out| targets(&plan, Part::band(0, out)));
        return run::<T, u8>(&plan, &workers, from, Destination::InPlace, in_place, targets);
    }
    run::<T, u8>(&plan, &workers, from, Destination::Grids(outs), in_place, None)
}

/// The same of words.
pub(super) fn words_in_memory<T: Real>(
    entropy: &Entropy,
    engine: &Engine,
    cells: GridView<'_, u16>,
    codes: WordCoding,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let workers = Workers::new(engine)?;
    let mut plan = entropy.plan_words::<T>((cells.rows(), cells.cols()), codes, observer);
    let file = File { block: (1, 1), whole_rows: false, low: false, in_order: false, temporary: (0, 0), kept: 0 };
    plan.cut::<T>(&workers, file, usize::MAX)?;
    let from = CellSource::Grid { cells, codes: None, below: None };
    run::<T, u16>(&plan, &workers, from, Destination::Grids(outs), None, None)
}

/// Where each piece's results are to be, in the pieces' order.
fn targets<'m, T: Real>(plan: &Plan<'_>, out: Part<'m, T>) -> Vec<Vec<Target<'m>>> {
    let bands = out.cut(Axis::Rows, plan.piece.0).into_iter();
    let pieces = bands.flat_map(|band| {
        // Cutting by columns would make a part of each row, also where nothing is cut.
        if plan.across() == 1 { vec![band] } else { band.cut(Axis::Columns, plan.piece.1) }
    });
    let target = |view: GridViewMut<'m, T>| {
        let (rows, width, pitch) = (view.rows(), view.cols() * size_of::<T>(), view.stride() * size_of::<T>());
        Target { memory: Writable::Borrowed(bytemuck::cast_slice_mut(view.into_strided())), pitch, width, rows }
    };
    pieces.map(|piece| piece.into_views().into_iter().map(target).collect()).collect()
}
