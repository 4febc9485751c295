//! All-pairs shortest paths: blocked Floyd-Warshall.
//!
//! | file | what |
//! |---|---|
//! | `tiled` | the kernels for use |
//! | `words` | distances of 32 and of 16 bits, whole and floating-point |

pub mod tiled;
mod words;
