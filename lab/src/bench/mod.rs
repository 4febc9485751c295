//! Benchmarks of moving-window entropy: every way to compute it, verified, then timed beside the limit of the machine. (Those of shortest
//! paths are in [`apsp`]; what calls take over all settings, in [`sweep`].)
//!
//! ```text
//! measure the ceiling: how fast the device, and the CPU, copies
//! for each shape:
//!     make the grid, and the oracle's results
//!     for each subject (a kernel, a rung, the CPU engine) and each way to time it (kernel alone, memory to memory):
//!         run once; compare with the oracle; wrong: say where, and time nothing
//!         run until warm; run and keep every time
//! ```
//!
//! | file | what |
//! |---|---|
//! | `subject` | what can be timed: a trait, and the kernels and the CPU engine behind it |
//! | `target` | the devices it runs on, and what there is to tell of them |
//! | `verify` | the oracle: tolerances, every cell of a small grid, patches of a large one |
//! | `ceiling` | the copy bandwidth of the CPU |
//! | `measure` | the loop above |
//! | `record` | the results with every raw time, as they are written to JSON |
//!
//! Times of a kernel alone are the device's own (events), and launches take several copies of the grid in turn, so that a small grid
//! does not come out of the cache ([`Resident`](halotile::entropy::Resident)). Times from memory to memory are of
//! [`Entropy::compute_into`](halotile::entropy::Entropy::compute_into), by the wall clock.
//!
//! ```
//! use halotile_lab::bench::{self, Effort, Plan, Target};
//! use halotile_lab::generate::Pattern;
//!
//! let plan = Plan { shapes: vec![(40, 30)], pattern: Pattern::Random, seed: 0, levels: 16, size: 5, effort: Effort::runs(1, 3) };
//! let subjects = [bench::cpu_engine(&plan)];
//! let record = bench::run(&plan, &subjects, &Target::Cpu, None, &mut |_| (), &())?;
//! assert_eq!(record.results[0].timing().unwrap().time.raw.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod apsp;
mod ceiling;
mod measure;
pub mod primer;
mod record;
mod subject;
pub mod sweep;
mod target;
mod verify;

pub use measure::{Effort, Event, Plan, Repeat, run};
pub use record::{
    BYTES_PER_CELL, CEILING, Ceilings, Clock, DeviceInfo, Head, Machine, Options, Outcome, Record, Row, SCHEMA, Times,
    Timing, Usage,
};
pub use subject::{CPU_ENGINE, Details, Facts, Run, Subject, Values, Way, cpu_engine, is_misfit, kernel, kernels};
pub use target::Target;
pub use verify::{Oracle, WrongCell, compare, tolerance};
