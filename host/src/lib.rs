//! Moving-window Shannon entropy of 2-D grids, on the CPU, on NVIDIA GPUs and in an emulator.
//!
//! Start at [`entropy::Entropy`]: what to compute, and where. [`grid`] holds the arrays it works on, [`io`] reads and
//! writes them, [`raster`] those that need not fit in memory, [`classes`] says what their numbers mean; [`measure`] has the windows and
//! what is measured in them, [`exec`] opens devices. [`reference`](mod@reference) is the definition that all of it is tested against.
#![deny(missing_docs)]

pub mod apsp;
mod arrays;
pub mod choice;
pub mod classes;
pub mod codes;
pub mod compare;
pub mod cpu;
mod custom;
pub mod engine;
pub mod entropy;
pub mod exec;
pub mod grid;
pub mod io;
mod isa;
pub mod measure;
pub mod numbers;
pub mod observe;
#[doc(hidden)]
pub mod part;
pub mod raster;
pub mod reference;
pub mod resources;
pub mod threads;

pub use simt_exec::{machine, occupancy, profile};
