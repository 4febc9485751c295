//! All-pairs shortest paths of dense graphs: from the weights of edges to the distance from every vertex to every other.
//!
//! ```text
//! Graph               the input: the lightest edge from every vertex to every other, as a Matrix
//!   potential         negative weights: is there a negative cycle? otherwise every weight becomes >= 0, lengths of paths shift by known numbers
//!   width             16 bits where all distances fit, 32 otherwise
//!   cpu | device      blocked Floyd-Warshall, in place
//!   predecessors      the vertex before the last on a shortest path, found from weights and distances
//! Solution
//! ```
//!
//! Engines see no negative weight and no overflow: a missing edge is [`Distance::UNREACHABLE`], and two of these still
//! have a sum. Why that is enough is in `potential` (negative weights are removed before, and the distances restored
//! after) and in `width` (a scan of the result shows whether any distance was too long).
//!
//! | file | what |
//! |---|---|
//! | `distance` | the types of distances |
//! | `matrix` | a square of them, as engines take it |
//! | `graph` | the weights of a graph, made edge by edge from all threads |
//! | `potential` | Bellman and Ford's algorithm: negative cycles, and weights without a sign |
//! | `width` | the type of the numbers: whether distances fit, and how that is proved |
//! | `cpu` | the engine on the CPU |
//! | `device` | the engine on devices |
//! | `kernel` | its kernels by name, and algorithms from outside the library |
//! | `predecessors` | the second matrix |
//! | `dijkstra` | the same of floating-point weights |
//! | `solve` | all of it in its order: [`Apsp`] |
//! | `files` | graphs from files of every format, distances to files |
//! | `reference` | the definition, which tests compare with |

mod aligned;
pub mod cpu;
pub mod device;
mod dijkstra;
mod distance;
pub mod files;
pub mod graph;
mod kernel;
mod matrix;
pub mod potential;
pub mod predecessors;
pub mod reference;
mod solve;
pub mod width;

pub use distance::{Distance, Weight};
pub use graph::{EdgeError, EdgeSink, EdgeWeight, Graph};
pub use kernel::{Algorithm, Custom, Kernel, MatrixMut};
pub use matrix::{Matrix, MatrixError, SIDE};
pub use solve::{Apsp, Distances, Error, Report, Solution, memory_needed};
