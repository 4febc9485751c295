//! Moving-window Shannon entropy of 2-D grids, on the CPU, on NVIDIA GPUs and in an emulator.
//!
//! Start at [`entropy::Entropy`]: what to compute, and where. [`grid`] holds the arrays it works on, [`io`] reads and
//! writes them, [`raster`] those that need not fit in memory, [`classes`] says what their numbers mean; [`measure`] has the windows and
//! what is measured in them, [`exec`] opens devices. [`reference`](mod@reference) is the definition that all of it is tested against.
//!
//! # Features
//!
//! All of them are on by default. Without any (`default-features = false`) there are entropy on the CPU and in the emulator, and the formats
//! that are written here: text, NPY, PGM and the seed formats.
//!
//! | feature | what it adds | crates |
//! |---|---|---|
//! | `apsp` | all-pairs shortest paths, the module `apsp` | |
//! | `cuda` | NVIDIA GPUs, the module `exec::cuda`, with the kernels' PTX (7 MB); the driver is opened at run time, so a machine need not have one | `cudarc` |
//! | `geotiff` | GeoTIFF, the module `raster::geotiff` | `tiff-reader`, `tiff-writer` and those of the codecs |
//! | `png` | PNG as cells, and the pictures of `io::preview` | `png` |
//!
//! What a build leaves out is an error that names the feature: a file of a format ([`io::UnknownFormat::Excluded`]), a GPU that was asked for
//! ([`exec::DeviceError::Absent`]).
#![deny(missing_docs)]
// Parts of `io` and `raster` serve modules that are features, and pages link to these. What nothing uses, and links to nothing, are found with
// all features on.
#![cfg_attr(
    not(all(feature = "apsp", feature = "cuda", feature = "geotiff", feature = "png")),
    allow(dead_code, rustdoc::broken_intra_doc_links)
)]

#[cfg(feature = "apsp")]
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
