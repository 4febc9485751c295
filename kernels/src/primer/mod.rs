//! The primer: the ladders and probes of a textbook's chapter on optimisation, and a rung past it for each.
//!
//! | file | what |
//! |---|---|
//! | `banks` | loads from shared memory whose lanes lie a stride apart |
//! | `copy` | copies at an offset and with a stride |

pub mod banks;
pub mod copy;
