//! The primer: the ladders and probes of a textbook's chapter on optimisation, and a rung past it for each.
//!
//! | file | what |
//! |---|---|
//! | `copy` | copies at an offset and with a stride |
//! | `matmul` | matrix multiply in f32 on CUDA cores |

pub mod copy;
pub mod matmul;
