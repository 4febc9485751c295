//! What is measured in a window: the window's shape, the measures, and what lies beyond the grid's edge.

mod edge;
mod footprint;
mod kind;

pub use edge::Edge;
pub use footprint::{Footprint, FootprintError};
pub use kind::{Measure, UnknownMeasure};
