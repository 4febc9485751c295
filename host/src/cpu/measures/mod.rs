//! The CPU engine for windows of any shape and for all measures.
//!
//! A histogram slides down the columns as in [`histogram`](super::histogram), and what the measures are formulas of slides along
//! with it, in integers ([`measure::window`](crate::measure::window) says which, and why): so neither tiles nor
//! threads nor the part of a grid that is at hand change a bit of a result.
//!
//! ```text
//! for each column of the tile:
//!     count the window around its first cell
//!     for each row:
//!         results from the counts and sums                          (finish)
//!         take away the uppermost cell of each run of the window,
//!         add the cell below each run: the window of the next row   (slide)
//! ```
//!
//! It differs from the engines for squares in two ways. What a window gains and loses is a list of stretches instead of two rows;
//! and the sums do not depend on the precision of the output: results are formed in f64 and rounded at the end, because their
//! formulas are many and their time is little beside the sliding.

mod finish;
mod slide;
#[cfg(test)]
mod tests;

use super::{Real, Task};
use crate::grid::GridViewMut;
use crate::measure::window::{Stretch, Window};
use crate::observe::{Cancelled, Observer};
use crate::part::for_each_tile_of;

/// Steps of work (a count changed, a class of a result looked at) between two looks at whether it is to stop: some milliseconds.
const AT_ONCE: usize = 1 << 20;

/// Entries of a table that any u16 is an index of.
const ALL: usize = 1 << 16;

/// A task and what all its tiles share.
struct Job<'a> {
    task: &'a Task<'a>,
    window: &'a Window,
    /// F(n + 1) − F(n) where the window's measures need it, else 0.
    steps: Box<[u64; ALL]>,
    /// The stretches that leave and enter: how far they begin behind the centre in the memory of the cells, and their lengths.
    leaving: Vec<(isize, usize)>,
    entering: Vec<(isize, usize)>,
    /// Rows between two looks at whether the work is to stop.
    rows_at_once: usize,
    observer: &'a dyn Observer,
}

/// Fills `outs`, one for each of the window's planes in their order and `task.rows.len()` × `task.cols.len()` each. The window
/// decides shape and scale: the task's `size` and `scale` are not looked at.
///
/// f64 results are within 1e-12 of the definition, f32 results within 2e-6 (Hill's numbers: times the number; richness is
/// exact).
pub(crate) fn run<T: Real>(
    task: &Task<'_>,
    window: &Window,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    assert!((1..=256).contains(&task.levels), "{} levels", task.levels);
    assert!(task.rows.end <= task.cells.rows() && task.cols.end <= task.cells.cols());
    assert!(outs.len() == window.planes.len() && !outs.is_empty());
    assert!(outs.iter().all(|out| (task.rows.len(), task.cols.len()) == (out.rows(), out.cols())));

    let Ok(mut steps): Result<Box<[u64; ALL]>, _> = vec![0; ALL].into_boxed_slice().try_into() else {
        unreachable!("the length is that of the array")
    };
    for (step, pair) in steps.iter_mut().zip(window.logs.windows(2)) {
        *step = pair[1].wrapping_sub(pair[0]);
    }
    let stride = task.cells.stride() as isize;
    let flat = |all: &[Stretch]| all.iter().map(|s| (s.row * stride + s.col, s.len)).collect();
    let cells = |all: &[Stretch]| all.iter().map(|s| s.len).sum::<usize>();
    let work = cells(&window.leaving) + cells(&window.entering) + window.planes.len() * task.levels;
    let job = Job {
        task,
        window,
        steps,
        leaving: flat(&window.leaving),
        entering: flat(&window.entering),
        rows_at_once: (AT_ONCE / (slide::LANES * work)).max(1),
        observer,
    };
    let height = window.footprint().rows();
    for_each_tile_of((task.rows.start, task.cols.start), outs, height, observer, |tile| slide::run(&job, tile))
}
