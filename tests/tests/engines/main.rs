//! Every engine and kernel over the tables of cases, on the CPU and in the emulator. `cargo test -p halotile-tests --test engines agreement::`
//! runs one of the modules.
//!
//! `agreement` has the kernels for use and the CPU engine, `measures` all measures of both, `ladder` the rungs, `arrays` arrays in devices' memory; `apsp` the CPU engine for shortest
//! paths, `apsp_device` and `apsp_tiled` their kernels, `apsp_whole` all of it from graphs to paths; `selftest` what kernels may call. They are one
//! program because each would be linked with the whole library and its PTX.

mod agreement;
mod apsp;
mod apsp_device;
mod apsp_tiled;
mod apsp_whole;
mod arrays;
mod ladder;
mod measures;
mod selftest;
mod words;

use std::sync::LazyLock;

use halotile_tests::runner::{Checked, table};

/// The table of cases with what the oracle says of each.
static TABLE: LazyLock<Vec<Checked>> = LazyLock::new(table);
