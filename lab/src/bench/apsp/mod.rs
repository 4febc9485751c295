//! Benchmarks of all-pairs shortest paths: the CPU engine and every kernel, verified, then timed beside the limit of the machine.
//!
//! | file | what |
//! |---|---|
//! | `edges` | the graph: a function of two vertices, so that it can be made again before every run, which changes it |
//! | `oracle` | what distances should be, by Dijkstra's algorithm |
//! | `measure` | the loop: verify, warm up, time |
//! | `record` | the results with every raw time, as they are written to JSON |
//!
//! The work is V³ relaxations, whatever an engine does beside. The limit of the CPU is measured: sums and minima in
//! registers. That of GPUs is computed: [`PER_CLOCK`] relaxations a clock and multiprocessor.
//!
//! ```
//! use halotile_lab::bench::{Effort, Target, apsp};
//!
//! let plan = apsp::Plan { vertices: vec![70], effort: Effort::runs(0, 3), ..apsp::Plan::default() };
//! let record = apsp::run(&plan, &[apsp::Subject::Cpu], &Target::Cpu, None, &mut |_| (), &())?;
//! assert_eq!(record.results[0].timing().unwrap().time.raw.len(), 3);
//! # Ok::<(), apsp::Error>(())
//! ```

mod edges;
mod measure;
mod oracle;
mod record;

pub use edges::GraphKind;
pub use measure::{Error, Event, Plan, Subject, run};
pub use record::{CEILING, Ceilings, Options, PER_CLOCK, Record, Row, SCHEMA, Timing};
