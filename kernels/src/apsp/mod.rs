//! All-pairs shortest paths: blocked Floyd-Warshall.
//!
//! | file | what |
//! |---|---|
//! | `ladder` | the rungs, from the obvious to the source's |

pub mod ladder;
