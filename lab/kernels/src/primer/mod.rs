//! The primer: the ladders and probes of a textbook's chapter on optimisation, and a rung past it for each.
//!
//! | file | what |
//! |---|---|
//! | `copy` | copies at an offset and with a stride |
//! | `banks` | loads from shared memory at a stride |
//! | `reduce/` | sums, least and largest numbers |
//! | `transpose/` | rows become columns |
//! | `matmul/` | products of matrices |
//! | `instructions/` | rates and latencies of instructions |
//! | `divergence` | branches that lanes of a warp take differently |
//! | `transfer` | a copy over the bus |
//! | `overlap` | work that copies hide behind |
//! | `clock` | blocks that time themselves, kernels that do nothing |

pub mod banks;
pub mod clock;
pub mod copy;
pub mod divergence;
pub mod instructions;
pub mod matmul;
pub mod overlap;
pub mod reduce;
pub mod transfer;
pub mod transpose;
