//! All-pairs shortest paths: blocked Floyd-Warshall.
//!
//! | file | what |
//! |---|---|
//! | `ladder` | the rungs, from the obvious to the source's |
//! | `tiled` | the kernels for use |
//! | `words` | distances of 32 and of 16 bits, whole and floating-point |

pub mod ladder;
pub mod tiled;
mod words;
