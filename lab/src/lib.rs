//! What halotile has for learning and measuring: nothing here does the library's work, and neither the library nor the Python package
//! carries any of it. The program `halotile` does.
//!
//! | module | what |
//! |---|---|
//! | [`entropy`] | the ladders of moving-window entropy: kernels, functions on the CPU, plans over devices |
//! | [`apsp`] | the ladder of shortest paths |
//! | [`primer`] | the classic ladders of GPU optimisation |
//! | [`generate`] | synthetic grids and graphs |
//! | [`mod@bench`] | benchmarks of all of these and of the library |
//! | [`resources`] | what kernels use, those of the library and those of here |
//!
//! A rung is an algorithm from outside the library ([`halotile::entropy::Algorithm`], [`halotile::apsp::Algorithm`]): the library
//! runs it in place of its own kernels when it is asked for by name.
#![deny(missing_docs)]

pub mod apsp;
pub mod bench;
pub mod entropy;
pub mod generate;
pub mod primer;
pub mod resources;
