//! The rungs on devices: the distribution of rows, and the launches of every round.
//!
//! ```text
//! solve           deals out rows of tiles, a thread for every device
//!   Worker::run   the rows to the device, the rounds, the rows back
//!     exchange    on several devices: the owner of the pivot row sends it to the others
//!     launch      the kernels of a round, put on a queue
//! ```
//!
//! On one device the host does not wait for every launch, only often enough for progress to show and a stop to take effect. On
//! several every round ends with a wait: the next one begins with a copy through host memory.
//!
//! A worker that fails or is stopped drops its ends of the channels: then the others cannot send to it or receive from it. In every round the
//! owner of the pivot row sends to all and all receive from it, so the work of all ends there, and none of them hangs.

use std::any::TypeId;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use halotile_lab_kernels::apsp::{
    BLOCKED32_SIDE, BLOCKED64_SIDE, BLOCKED64_THREADS, NAIVE_BLOCK, apsp_blocked32_phase1, apsp_blocked32_phase2,
    apsp_blocked32_phase3, apsp_blocked64_phase1, apsp_blocked64_phase2, apsp_blocked64_phase3, apsp_naive,
};
use simt::launch::{KernelEntry, LaunchConfig};

use super::Kernel;
use halotile::apsp::device::{Report, SolveError, join};
use halotile::apsp::{Distance, Matrix};
use halotile::exec::queue::{Queue, scope};
use halotile::exec::{Buffer, Device, DeviceError, HostMemory};
use halotile::observe::{Cancelled, Observer};

/// Makes distances of weights by one of the rungs, which take 32-bit integers; `blocked64` on any number of devices, the others on one.
pub(super) fn solve<T: Distance>(
    matrix: &mut Matrix<T>,
    kernel: Kernel,
    devices: &[Arc<dyn Device>],
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    let misfit = |reason: String| SolveError::Misfit { kernel: kernel.into(), reason };
    let rung = Rung::of(kernel).ok_or_else(|| misfit("it is not a rung for devices".into()))?;
    if TypeId::of::<T>() != TypeId::of::<i32>() {
        return Err(misfit("it takes 32-bit integers only".into()));
    }
    if devices.len() > 1 && rung != Rung::Blocked64 {
        return Err(misfit(format!("it runs on one device, and there are {}", devices.len())));
    }
    let (vertices, pitch) = (matrix.vertices(), matrix.pitch());
    let tiles = vertices.div_ceil(rung.side());
    // More devices than rows of tiles would have nothing to do.
    let count = devices.len().min(tiles);
    let bands: Vec<Range<usize>> = (0..count).map(|i| i * tiles / count..(i + 1) * tiles / count).collect();

    let reports: Vec<Report> = std::thread::scope(|scope| {
        let mut rest: &mut [u8] = bytemuck::cast_slice_mut(matrix.cells_mut());
        let mut threads = Vec::new();
        for (number, (device, links)) in devices.iter().zip(links(count)).enumerate() {
            let worker = Worker { number, device, rung, vertices, pitch, bands: &bands, links, observer };
            let (rows, others) = std::mem::take(&mut rest).split_at_mut(worker.bytes(worker.band().len()));
            rest = others;
            threads.push(scope.spawn(move || worker.run(rows)));
        }
        join(threads)
    })?;
    Ok(reports[0])
}

/// The rungs that are kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    Naive,
    Blocked32,
    Blocked64,
}

impl Rung {
    fn of(kernel: Kernel) -> Option<Self> {
        match kernel {
            Kernel::Naive => Some(Self::Naive),
            Kernel::Blocked32 => Some(Self::Blocked32),
            Kernel::Blocked64 => Some(Self::Blocked64),
            Kernel::Threads | Kernel::Tiled => None,
        }
    }

    /// Rows and columns of a tile: vertices that a round takes.
    fn side(self) -> usize {
        match self {
            Self::Naive => 1,
            Self::Blocked32 => BLOCKED32_SIDE as usize,
            Self::Blocked64 => BLOCKED64_SIDE as usize,
        }
    }

    /// Columns and rows of a block's threads.
    fn block(self) -> [u32; 3] {
        let [x, y] = match self {
            Self::Naive => NAIVE_BLOCK,
            Self::Blocked32 => [BLOCKED32_SIDE; 2],
            Self::Blocked64 => [BLOCKED64_THREADS; 2],
        };
        [x, y, 1]
    }

    fn kernels(self) -> &'static [KernelEntry] {
        match self {
            Self::Naive => &[apsp_naive::ENTRY],
            Self::Blocked32 => {
                &[apsp_blocked32_phase1::ENTRY, apsp_blocked32_phase2::ENTRY, apsp_blocked32_phase3::ENTRY]
            }
            Self::Blocked64 => {
                &[apsp_blocked64_phase1::ENTRY, apsp_blocked64_phase2::ENTRY, apsp_blocked64_phase3::ENTRY]
            }
        }
    }
}

/// A device's ends of the channels between all of them, by the number of the device at the other end; one leads back to itself and is
/// not used. Each holds one row of tiles at most, so that no worker is far ahead of the others.
struct Links {
    to: Vec<SyncSender<Arc<HostMemory>>>,
    from: Vec<Receiver<Arc<HostMemory>>>,
}

fn links(count: usize) -> Vec<Links> {
    let mut links: Vec<Links> = (0..count).map(|_| Links { to: Vec::new(), from: Vec::new() }).collect();
    for sender in 0..count {
        for receiver in 0..count {
            let (to, from) = sync_channel(1);
            links[sender].to.push(to);
            links[receiver].from.push(from);
        }
    }
    links
}

/// A device and its part of the work.
struct Worker<'s> {
    number: usize,
    device: &'s Arc<dyn Device>,
    rung: Rung,
    vertices: usize,
    /// Cells from a row to the next.
    pitch: usize,
    /// Rows of tiles of every device.
    bands: &'s [Range<usize>],
    links: Links,
    observer: &'s dyn Observer,
}

/// Rows of tiles in a device's memory.
struct Rows {
    /// Its own.
    band: Buffer,
    /// The pivot row, where that is another device's; there are other devices.
    pivot: Option<Buffer>,
}

impl Worker<'_> {
    fn band(&self) -> &Range<usize> {
        &self.bands[self.number]
    }

    /// Rows of tiles in all.
    fn tiles(&self) -> usize {
        self.vertices.div_ceil(self.rung.side())
    }

    /// Bytes of so many rows of tiles.
    fn bytes(&self, rows: usize) -> usize {
        rows * self.rung.side() * self.pitch * size_of::<i32>()
    }

    /// Solves, together with all others, for `rows`, the weights in the band of this device.
    fn run(&self, rows: &mut [u8]) -> Result<Report, SolveError> {
        let len = rows.len();
        let others = self.bands.len() > 1;
        let pivot = others.then(|| Buffer::new(self.device, self.bytes(1))).transpose()?;
        let memory = Rows { band: Buffer::new(self.device, len)?, pivot };
        let start = Instant::now();
        memory.band.write(0, rows)?;
        let up = start.elapsed();
        // A driver compiles a kernel on its first use, and that is not part of the work.
        for kernel in self.rung.kernels() {
            self.device.resident_blocks(kernel, self.rung.block().iter().product(), 0)?;
        }
        let start = Instant::now();
        scope(self.device, 0, 1, |queues| self.rounds(&mut queues[0], &memory))??;
        let compute = start.elapsed();
        let start = Instant::now();
        memory.band.read(0, rows)?;
        Ok(Report { compute: compute.as_secs_f64(), copies: (up + start.elapsed()).as_secs_f64() })
    }

    fn rounds(&self, queue: &mut Queue<'_>, memory: &Rows) -> Result<(), SolveError> {
        let (side, tiles) = (self.rung.side(), self.tiles());
        // Rounds on the queue at a time.
        let ahead = if memory.pivot.is_some() {
            1
        } else {
            (self.device.limits().launch_cells / (self.vertices * self.vertices)).max(1)
        };
        let mut finished = 0;
        for round in 0..tiles {
            if self.observer.cancelled() {
                return Err(Cancelled.into());
            }
            if let Some(pivot) = &memory.pivot {
                self.exchange(round, &memory.band, pivot)?;
            }
            self.launch(queue, round, memory)?;
            if (round + 1) % ahead == 0 || round + 1 == tiles {
                queue.wait().result?;
                let done = ((round + 1) * side).min(self.vertices);
                // One reports for all.
                if self.number == 0 {
                    self.observer.advance((done - finished) as u64);
                }
                finished = done;
            }
        }
        Ok(())
    }

    /// Where row of tiles `round` begins in the band, in rows; `None` where it is another device's.
    fn own(&self, round: usize) -> Option<usize> {
        self.band().contains(&round).then(|| (round - self.band().start) * self.rung.side())
    }

    /// Copies the pivot row of a round from its owner's `band` to the others' `pivot`. Nothing is on any queue.
    fn exchange(&self, round: usize, band: &Buffer, pivot: &Buffer) -> Result<(), SolveError> {
        let len = self.bytes(1);
        if let Some(row) = self.own(round) {
            let mut memory = self.device.host_memory(len)?;
            let start = row * self.pitch * size_of::<i32>();
            band.read(start, &mut memory)?;
            let memory = Arc::new(memory);
            let others = self.links.to.iter().enumerate().filter(|&(number, _)| number != self.number);
            for (_, to) in others {
                to.send(Arc::clone(&memory)).map_err(|_| Cancelled)?;
            }
        } else {
            let owner = self.bands.iter().position(|band| band.contains(&round)).expect("every row has an owner");
            let memory = self.links.from[owner].recv().map_err(|_| Cancelled)?;
            pivot.write(0, &memory)?;
        }
        Ok(())
    }

    /// Puts the launches of a round on the queue.
    fn launch(&self, queue: &mut Queue<'_>, round: usize, memory: &Rows) -> Result<(), DeviceError> {
        let (vertices, pitch) = (self.vertices as u32, self.pitch as u32);
        let (from, count) = (self.band().start as u32, self.band().len() as u32);
        let band = memory.band.output::<i32>();
        let (pivot, row) = match (self.own(round), &memory.pivot) {
            (None, Some(pivot)) => (pivot.output::<i32>(), 0),
            (own, _) => (band, own.unwrap_or(0) as u32),
        };
        let (own, round) = (self.own(round).is_some(), round as u32);
        let others = self.tiles() as u32 - 1;
        let mut put = |kernel: &KernelEntry, grid: [u32; 2], args: &[_]| {
            // On a small graph there is nothing but the pivot.
            if grid.contains(&0) {
                return Ok(());
            }
            let config = LaunchConfig { grid: [grid[0], grid[1], 1], block: self.rung.block(), shared_bytes: 0 };
            // SAFETY: bands are whole rows of tiles of the matrix, `pitch` apart, and `pivot` is one such row: the owner's in its
            // band, the one copied by the exchange on others; blocks and grids are what the kernels say. The launches of
            // a round follow each other on one queue, and nothing else touches the buffers before it has been waited for.
            unsafe { queue.launch(kernel, &config, args) }
        };
        match self.rung {
            Rung::Naive => {
                let [x, y] = NAIVE_BLOCK;
                let grid = [vertices.div_ceil(x), vertices.div_ceil(y)];
                put(&apsp_naive::ENTRY, grid, &[band, vertices.into(), pitch.into(), round.into()])
            }
            Rung::Blocked32 => {
                let args = [band, pitch.into(), round.into()];
                put(&apsp_blocked32_phase1::ENTRY, [1, 1], &args)?;
                put(&apsp_blocked32_phase2::ENTRY, [others, 2], &args)?;
                put(&apsp_blocked32_phase3::ENTRY, [others, others], &args)
            }
            Rung::Blocked64 => {
                let [pitch, round, row, from] = [pitch, round, row, from].map(Into::into);
                put(&apsp_blocked64_phase1::ENTRY, [1, 1], &[pivot, pitch, round, row])?;
                let all = [band, pivot, pitch, round, row, from, count.into()];
                put(&apsp_blocked64_phase2::ENTRY, [others, 1], &all)?;
                put(&apsp_blocked64_phase3::ENTRY, [others, count - u32::from(own)], &all[..6])
            }
        }
    }
}
