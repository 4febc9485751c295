//! What is measured in a window: the window's shape, the measures, and what lies beyond the grid's edge.
//!
//! All of it is counting: n_i is how often class i occurs among the valid cells of the window, N = Σ n_i, p_i = n_i / N. A
//! [`Measure`] is a function of the p_i; a [`Footprint`] says which cells belong to the window, an [`Edge`] what it sees
//! where it reaches beyond the grid. [`reference::measures`](crate::reference::measures) is the definition of it all.
//!
//! # Where there is no result
//! A result is NaN where the cell in the centre is nodata (whether or not it belongs to the window), where no valid cell is in
//! the window, and where fewer cells are valid than the share that was asked for. That share is one of *all* cells of the
//! window: cells beyond the edge of the grid count as missing, unless the edge makes the grid go on.

mod base;
#[cfg(test)]
pub(crate) mod cases;
mod edge;
pub(crate) mod fixed;
mod footprint;
mod kind;
pub(crate) mod logs;
pub(crate) mod window;

pub use base::Base;
pub use edge::{Edge, UnknownEdge};
pub use footprint::{Footprint, FootprintError, MAX_SIZE};
pub use kind::{Measure, UnknownMeasure};
