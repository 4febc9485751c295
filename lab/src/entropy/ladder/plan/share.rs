//! v14-share: the CPU works beside the devices, on as much as it is worth.
//!
//! ```text
//! every worker (each device, the CPU) first gets a small piece, and is timed on it
//! until all have been timed: a worker that asks gets another small piece
//! then: half of what is left, divided by pace; a worker that asks gets its share of it
//! ```
//!
//! A share fixed in advance would have to be right for every pair of machines, and for what else they do at the moment. Here
//! pieces are large as long as much is left, so that launches and copies are few, and shrink towards the end, so that
//! all workers finish within the time of a small piece. Paces are those of the last piece, copies included: that is what a device
//! costs. A device that is slow to start keeps no other waiting: the others go on with small pieces.
//!
//! The CPU runs v12, not the CPU engine, which is several times faster: so that a rung is one step, and its
//! difference from the one before is what sharing gives. Its threads are a pool of their own, one fewer for
//! each device: the devices' copies need a core each, and the page faults that they spawn on the caller's pool would otherwise
//! queue behind the CPU's tiles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::super::bands::{self, Job, Share, Worker, together};
use super::{SIZE, Task, v12};
use halotile::entropy::{Error, Report};
use halotile::exec::Device;
use halotile::observe::{Cancelled, Observer};
use halotile::part::{Axis, Part};

/// Into how many small pieces the whole would be cut.
const SMALL: usize = 128;

/// How many pieces a worker takes, roughly: some small ones, then half of what is left each time.
const EACH: usize = 16;

pub(super) fn run(
    job: &Job<'_>,
    devices: &[Arc<dyn Device>],
    task: &Task<'_>,
    out: Part<'_, f32>,
) -> Result<Report, Error> {
    let axis = axis(out.rows(), out.cols(), devices.len() + 1);
    // The most that a device is likely to get at once; of more it makes several bands.
    let each = out.len(axis).div_ceil(devices.len());
    let (rows, cols) = match axis {
        Axis::Rows => (each, out.cols()),
        Axis::Columns => (out.rows(), each),
    };
    // Without threads of its own the CPU takes no share.
    let threads = rayon::current_num_threads().saturating_sub(devices.len()).max(1);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.inspect_err(|error| tracing::warn!("the CPU takes no share: {error}")).ok();
    // Four halos are at most a fifth of what a device takes for a piece.
    let small = (out.len(axis) / SMALL).max(4 * (SIZE - 1));
    let queue = Queue::new(out, axis, devices.len() + usize::from(pool.is_some()), small);
    let queue = &queue;
    let mut shares: Vec<Share<'_>> = Vec::new();
    for (i, device) in devices.iter().enumerate() {
        shares.push(Box::new(move || {
            let worker = Worker::new::<f32>(job, device, rows, cols)?;
            let mut report = Report::default();
            queue.work(i, &device.name(), |part| worker.fill(part, &mut report))?;
            Ok(report)
        }));
    }
    if let Some(pool) = &pool {
        shares.push(Box::new(move || on_cpu(job, task, pool, queue, devices.len())));
    }
    together(job, shares)
}

/// The side along which pieces are cut off.
pub(super) fn axis(rows: usize, cols: usize, workers: usize) -> Axis {
    bands::axis(rows, cols, EACH * workers, SIZE)
}

/// The CPU's share.
fn on_cpu(
    job: &Job<'_>,
    task: &Task<'_>,
    pool: &ThreadPool,
    queue: &Queue<'_>,
    worker: usize,
) -> Result<Report, Error> {
    // The job, unlike the caller's observer, also knows of devices that have failed.
    let task = Task { observer: job, ..*task };
    let mut report = Report::default();
    queue.work(worker, "cpu", |part| {
        if job.cancelled() {
            return Err(Cancelled.into());
        }
        report.cpu_cells += part.cells();
        pool.install(|| v12(&task, part))
    })?;
    Ok(report)
}

/// What is left to do, and how fast each worker is.
struct Queue<'a> {
    state: Mutex<State<'a>>,
    axis: Axis,
    /// Rows or columns of a small piece.
    small: usize,
}

struct State<'a> {
    /// Each worker's first piece.
    first: Vec<Option<Part<'a, f32>>>,
    rest: Option<Part<'a, f32>>,
    /// Cells a second, of those who have done a piece.
    paces: Vec<Option<f64>>,
}

impl<'a> Queue<'a> {
    fn new(whole: Part<'a, f32>, axis: Axis, workers: usize, small: usize) -> Self {
        let mut state = State { first: Vec::new(), rest: Some(whole), paces: vec![None; workers] };
        for _ in 0..workers {
            let piece = state.cut(axis, small, small);
            state.first.push(piece);
        }
        Self { state: Mutex::new(state), axis, small }
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `fill` do pieces until there are none.
    fn work(
        &self,
        worker: usize,
        name: &str,
        mut fill: impl FnMut(Part<'a, f32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut pieces, mut all) = (0, 0);
        while let Some(part) = self.next(worker) {
            let (cells, start) = (part.cells(), Instant::now());
            fill(part)?;
            self.lock().paces[worker] = Some(cells as f64 / start.elapsed().as_secs_f64().max(1e-9));
            pieces += 1;
            all += cells;
        }
        tracing::debug!(name, pieces, cells = all, pace = self.lock().paces[worker], "share");
        Ok(())
    }

    /// The next piece for a worker.
    fn next(&self, worker: usize) -> Option<Part<'a, f32>> {
        let mut state = self.lock();
        if let Some(first) = state.first[worker].take() {
            return Some(first);
        }
        let share = state.share(worker);
        let left = state.rest.as_ref()?.len(self.axis);
        state.cut(self.axis, (left as f64 / 2.0 * share) as usize, self.small)
    }
}

impl<'a> State<'a> {
    /// The worker's part of the pace of all; nothing as long as one of them is unknown.
    fn share(&self, worker: usize) -> f64 {
        let all: Option<f64> = self.paces.iter().copied().sum();
        all.zip(self.paces[worker]).map_or(0.0, |(all, own)| own / all)
    }

    /// Cuts `wanted` off what is left, or `least` if that is more, or all of it if less than `least` would be left.
    fn cut(&mut self, axis: Axis, wanted: usize, least: usize) -> Option<Part<'a, f32>> {
        let rest = self.rest.take()?;
        let wanted = wanted.max(least);
        if rest.len(axis) < wanted + least {
            return Some(rest);
        }
        let (piece, rest) = rest.split(axis, wanted);
        self.rest = Some(rest);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::grid::GridViewMut;

    #[test]
    fn pieces_follow_the_pace_and_cover_everything_once() {
        let mut data = vec![0.0f32; 10_000];
        let whole = Part::band(0, GridViewMut::new(&mut data, 10_000, 1).unwrap());
        let queue = Queue::new(whole, Axis::Rows, 3, 100);
        // Until the third has been timed, pieces are small.
        let mut covered = Vec::new();
        for worker in [0, 1, 0, 1] {
            let piece = queue.next(worker).unwrap();
            assert_eq!(piece.rows(), 100);
            covered.push(piece.top..piece.top + 100);
            queue.lock().paces[worker] = Some([8.0, 1.0][worker]);
        }
        let third = queue.next(2).unwrap();
        covered.push(third.top..third.top + third.rows());
        queue.lock().paces[2] = Some(1.0);
        let mut taken = [0; 3];
        // The first is eight times as fast as each of the others.
        for worker in (0..).map(|i| if i % 10 < 8 { 0 } else { i % 10 - 7 }) {
            let Some(piece) = queue.next(worker) else { break };
            let left = queue.lock().rest.as_ref().map_or(0, |rest| rest.rows());
            if taken == [0; 3] {
                assert_eq!((piece.rows(), left), (3800, 5700));
            }
            taken[worker] += piece.rows();
            covered.push(piece.top..piece.top + piece.rows());
        }
        assert!(taken[0] > 5 * taken[1] && taken[0] > 5 * taken[2], "{taken:?}");
        covered.sort_by_key(|piece| piece.start);
        assert!(covered.windows(2).all(|pair| pair[0].end == pair[1].start), "{covered:?}");
        assert_eq!((covered[0].start, covered.last().unwrap().end), (0, 10_000));
        assert!((0..3).all(|worker| queue.next(worker).is_none()));
    }
}
