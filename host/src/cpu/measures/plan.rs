//! Which engine computes a tile.

use super::Job;
use super::finish::goes_through;
use crate::cpu::Place;
use crate::cpu::isa::Isa;
use crate::measure::window::Window;

/// The two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Planes of counts.
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

/// Whether a window is a square without holes.
pub fn square(window: &Window) -> bool {
    let (rows, cols) = (window.footprint().rows(), window.footprint().cols());
    rows == cols && window.footprint().count() == rows * cols
}

/// Whether planes of counts are enough for all that is measured.
pub fn by_planes(window: &Window) -> bool {
    !window.planes.iter().any(|plane| goes_through(plane.quantity))
}

/// The engine for a tile.
pub fn engine(job: &Job<'_>, _place: Place, _isa: Isa) -> Engine {
    if !by_planes(job.window) {
        return Engine::Histogram;
    }
    Engine::Planes
}
