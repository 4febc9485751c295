//! The benchmarks: moving-window entropy, shortest paths ([`apsp`]), the primer ([`primer`]) and what calls take over all settings
//! ([`sweep`]). One framework: what can be timed is a [`Case`]; one loop ([`run`]) verifies and times the cases of a [`Suite`], and one
//! [`Record`] has the results.
//!
//! | file | what |
//! |---|---|
//! | `case` | what can be timed, and why it may have no times |
//! | `measure` | the loop: verify, warm up, time |
//! | `record` | the results with every raw time, as they are written to JSON; `fields`, `machine` and `times` are its parts |
//! | `upgrade` | records of earlier schemas |
//! | `entropy` | grids and the subjects on them |
//! | `subject` | the kernels, the CPU engine, its parts and its peer, and calls of the library, behind a trait; a file each |
//! | `target` | the devices it runs on, and what there is to tell of them |
//! | `verify` | the oracle: tolerances, every cell of a small grid, patches of a large one |
//! | `ceiling` | the copy bandwidth of the CPU, and of the bus |
//! | `apsp`, `primer`, `sweep` | the other suites |
//!
//! ```
//! use halotile_lab::bench::{self, Effort, Kernels, Plan, Target};
//! use halotile_lab::generate::Pattern;
//!
//! let plan = Plan { shapes: vec![(40, 30)], pattern: Pattern::Random, seed: 0, levels: 16, size: 5, effort: Effort::runs(1, 3) };
//! let subjects = [bench::cpu_engine(&plan)];
//! let suite = Kernels { plan: &plan, subjects: &subjects, target: &Target::Cpu };
//! let record = bench::run(&suite, None, &mut |_| (), &())?;
//! assert_eq!(record.results[0].timing().unwrap().time.raw.len(), 3);
//! # Ok::<(), bench::Error>(())
//! ```

pub mod apsp;
mod case;
mod ceiling;
mod entropy;
mod fields;
mod machine;
mod measure;
pub mod primer;
mod record;
mod subject;
pub mod sweep;
mod target;
mod times;
mod upgrade;
mod verify;

pub use case::{Beside, Case, Checked, Details, Error, Run, Suite, Way, is_misfit};
pub use entropy::{BYTES_PER_CELL, Kernels, Plan};
pub use fields::Fields;
pub use machine::{DeviceInfo, Head, Machine};
pub use measure::{Effort, Event, Repeat, run};
pub use record::{Ceilings, Limit, Options, Outcome, Record, Row, SCHEMA, Timing, Unit, Usage};
pub use subject::{
    AUTO, CPU_ENGINE, HUANG, PINNED, Running, Subject, SubjectFacts, Values, cpu_engine, engine_parts, names, subject,
    usual,
};
pub use target::Target;
pub use times::{Clock, Times, median};
pub use upgrade::ReadError;
pub use verify::{Oracle, WrongCell, compare, tolerance};
