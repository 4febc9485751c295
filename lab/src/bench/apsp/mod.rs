//! The benchmark of all-pairs shortest paths: the CPU engine and every kernel, verified, then timed beside the limit of the machine.
//!
//! | file | what |
//! |---|---|
//! | `edges` | the graph: a function of two vertices, so that it can be made again before every run, which changes it |
//! | `oracle` | what distances should be, by Dijkstra's algorithm |
//! | `suite` | the subjects on the graphs |
//!
//! The work is V³ relaxations, whatever an engine does beside. The limit of the CPU is measured: sums and minima in
//! registers. That of GPUs is computed: [`PER_CLOCK`] relaxations a clock and multiprocessor.
//!
//! ```
//! use halotile_lab::bench::{self, Effort, Target, apsp};
//!
//! let plan = apsp::Plan { vertices: vec![70], effort: Effort::runs(0, 3), ..apsp::Plan::default() };
//! let suite = apsp::Paths { plan: &plan, subjects: &[apsp::Subject::Cpu], target: &Target::Cpu };
//! let record = bench::run(&suite, None, &mut |_| (), &())?;
//! assert_eq!(record.results[0].timing().unwrap().time.raw.len(), 3);
//! # Ok::<(), bench::Error>(())
//! ```

mod edges;
mod oracle;
mod suite;

pub use edges::GraphKind;
pub use suite::{PER_CLOCK, Paths, Plan, Subject};
