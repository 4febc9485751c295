//! The built program, from outside: what it writes, what it says, how it ends and what it leaves behind.
//!
//! `place` runs it in a directory of its own. `entropy` has what works, `failures` a table of what does not (every message in full), `numbers` any
//! numbers from any format, `apsp` shortest paths, `ends` pipes and signals, `rasters` what is larger than grids, `occupancy` the calculator, `bench`,
//! `bench_apsp` and `bench_primer` benchmarks, `graphs` files of graphs, `profile` profiles, `words` hints and help, `lines` what is on standard
//! error, `one_file` outputs that are inputs, `others` the other commands.

mod apsp;
mod bench;
mod bench_apsp;
mod bench_primer;
mod bench_sweep;
mod ends;
mod entropy;
mod failures;
mod graphs;
mod lines;
mod numbers;
mod occupancy;
mod one_file;
mod others;
mod place;
mod profile;
mod rasters;
mod words;
