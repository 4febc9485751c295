//! Which engine computes a tile.
//!
//! Both give the same bits, so the choice is about time only. As in [`cpu::plan`](crate::cpu::plan) the times are modelled in nanoseconds a
//! cell:
//!
//! ```text
//! planes     = start + levels that occur · (counting + measuring)
//! histogram  = start + (cells that enter or leave + cells of a window / rows of the tile) · step
//! ```
//!
//! Counting a level is one price in squares; in other shapes every cell that enters or leaves has one, and those of the first window,
//! which the rows of the tile share. Measuring is cheap but for Σ F(n), which is a lookup.
//!
//! The coefficients were measured on one core of an EPYC with AVX-512 (sizes 5, 21 and 101, squares and disks, 16, 64 and 256 levels), as
//! `halotile bench entropy --sweep --device cpu --threads 1 --kernels planes-avx512` measures an engine. Only their ratios matter.

use super::finish::needs_counts;
use super::{Job, Shape};
use crate::cpu::TileRect;
use crate::cpu::lookup::GROUP;
use crate::cpu::plan::{lanes, present};
use crate::cpu::planes::slides;
use crate::cpu::table::SMALL;
use crate::isa::{Isa, Kind};
use crate::measure::window::Window;
use crate::part::STRIP;

/// The two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Planes of counts: [`planes`](crate::cpu::planes) in squares, [`bits`](crate::cpu::bits) in other shapes.
    Planes,
    /// One sliding histogram: [`super::slide`].
    Histogram,
}

/// What the caller (a test, a benchmark) insists on; by default nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Force {
    /// The engine of every tile.
    pub engine: Option<Engine>,
    /// The instruction set.
    pub isa: Option<Isa>,
}

/// Time of a step of the histogram, and of one that keeps Σ F(n).
const STEP: f64 = 0.58;
const STEP_OF_LOGS: f64 = 0.68;

/// What a cell costs in either engine besides.
const START: f64 = 6.0;
const START_OF_PLANES: f64 = 1.0;

/// Bytes that a thread may take for the bits of all levels.
const MOST_BYTES: usize = 4 << 20;

/// Whether a window is a square without holes.
pub fn square(window: &Window) -> bool {
    let (rows, cols) = (window.footprint().rows(), window.footprint().cols());
    rows == cols && window.footprint().count() == rows * cols
}

/// Whether planes of counts are enough for all that is measured.
pub fn by_planes(window: &Window) -> bool {
    !window.planes.iter().any(|plane| needs_counts(plane.quantity))
}

/// The engine for a tile.
pub fn engine(job: &Job<'_>, rect: TileRect, isa: Isa) -> Engine {
    let fits = match job.shape {
        Shape::Square => true,
        Shape::General(updates) => updates.bytes(job.layout.planes.len()) <= MOST_BYTES,
        Shape::Histogram => false,
    };
    if !by_planes(job.window) || !fits {
        return Engine::Histogram;
    }
    let cells = |stretches: &[(isize, usize)]| stretches.iter().map(|&(_, len)| len).sum::<usize>() as f64;
    let step = if job.window.needs.logs { STEP_OF_LOGS } else { STEP };
    let changes = cells(&job.entering) + cells(&job.leaving);
    let histogram = START + (changes + job.layout.largest as f64 / rect.height as f64) * step;
    let plane = counting(job, rect, isa) + measuring(job, isa);
    let planes = |levels: usize| START_OF_PLANES + levels as f64 * plane;
    // Counting the levels that occur takes a moment: not where all of them would be fine too.
    let footprint = job.window.footprint();
    let seen = || present(&job.layout, rect, (footprint.rows() / 2, footprint.cols() / 2), GROUP);
    if planes(job.layout.planes.len()) < histogram || planes(seen()) < histogram {
        Engine::Planes
    } else {
        Engine::Histogram
    }
}

/// Time of the counts of a level.
fn counting(job: &Job<'_>, rect: TileRect, isa: Isa) -> f64 {
    let (size, largest) = (job.layout.task.size, job.layout.largest);
    let Shape::General(updates) = job.shape else {
        let time = match isa.kind() {
            _ if largest <= SMALL => 0.1,
            Kind::Avx512 if slides(isa, size, largest) => 0.1,
            Kind::Avx2 | Kind::Neon if slides(isa, size, largest) => 0.14,
            _ if slides(isa, size, largest) => 0.4,
            _ => 0.07 * f64::from(size.ilog2()),
        };
        return time * lanes(rect.width, size);
    };
    let (next, first) = updates.cells();
    let (start, each) = match isa.kind() {
        Kind::Avx512 => (0.15, 0.0045),
        Kind::Avx2 => (0.3, 0.01),
        // Not measured: by its instructions, of which the adders take 1.4 times as many as with AVX2 (half as wide, but an adder is three).
        Kind::Neon => (0.42, 0.014),
        Kind::Portable => (0.8, 0.025),
    };
    // Always a whole register of windows.
    let unused = STRIP as f64 / rect.width as f64;
    (start + (next as f64 + first as f64 / rect.height as f64) * each) * unused
}

/// Time of what is made of the counts of a level.
fn measuring(job: &Job<'_>, isa: Isa) -> f64 {
    let needs = job.window.needs;
    let logs = match isa.kind() {
        Kind::Avx512 if job.layout.largest <= SMALL && matches!(job.shape, Shape::Square) => 0.1,
        // Where counts spread; else half of it.
        Kind::Avx512 if job.tables.single.is_some() => 0.2,
        _ => 0.3,
    };
    let cheap = [needs.squares, needs.classes, needs.most].into_iter().filter(|&needed| needed).count();
    f64::from(u8::from(needs.logs)) * logs + cheap as f64 * 0.03
}
