//! Benchmarks of the [primer](crate::primer): every case verified, then timed beside the limit of the machine.
//!
//! ```text
//! measure the ceilings: how fast the device copies; how many operations its clock allows
//! for each topic, size and type of numbers, for each case:
//!     start it; run once; compare with the oracle; wrong: say where, and time nothing
//!     run until warm; run and keep every time
//!     have the emulator count what the same kernel does to memory, on less data (primer::predict)
//! ```
//!
//! | file | what |
//! |---|---|
//! | `measure` | the loop above |
//! | `record` | the results with every raw time, as they are written to JSON |

mod measure;
mod record;

pub use measure::{Error, Event, Plan, run};
pub use record::{CEILING, Ceilings, Options, Parameter, Record, Row, SCHEMA, Timing, Unit};
