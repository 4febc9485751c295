//! The sweep: what a user's call takes, over the settings that a user has, and the worst cliffs between neighbours.
//!
//! The library chooses among kernels by window, classes, nodata, measure and precision. Where one kernel ends and another begins, a
//! small step of a setting can cost a multiple of the time. A table of times over all settings shows such a cliff, and its largest ratio is the
//! next one to work on. What is timed is therefore the whole call with the kernel that the library chooses, not one kernel.
//!
//! ```text
//! measure the ceilings, as all benchmarks do
//! the first entry of each axis makes the base: 16 classes, no nodata, shannon, square, f32
//! the rows: classes x nodata; then each other measure, shape and precision at the first two numbers of classes and the base's nodata
//! for each row, for each window's size:
//!     compute a small grid of the same settings; compare with the definition; wrong: say where, and time nothing
//!     compute the grid; compare a sample of it with the definition; wrong: say where, and time nothing
//!     run until warm; run and keep every time
//! for each two cells of the table that are one step along one axis apart: the ratio of their times; keep the largest
//! ```
//!
//! | file | what |
//! |---|---|
//! | `axes` | the axes, the settings they make, and which two are neighbours |
//! | `suite` | the settings as cases; grids and their nodata |
//! | `cliffs` | the largest ratios between neighbours |
//!
//! On a device a call is [`Entropy::measure_on_device`](halotile::entropy::Entropy::measure_on_device), from an array in its memory to a
//! result in its memory; on the CPU [`Entropy::compute_into`](halotile::entropy::Entropy::compute_into). Both by the wall clock, from call to
//! return, warm.
//!
//! ```
//! use halotile_lab::bench::sweep::{Axes, Plan, Settings};
//! use halotile_lab::bench::{self, Effort, Target};
//! use halotile_lab::generate::Pattern;
//!
//! let axes = Axes { sizes: vec![3, 5], levels: vec![16, 17], ..Axes::default() };
//! let plan = Plan { rows: 40, cols: 30, pattern: Pattern::Random, seed: 0, axes, effort: Effort::runs(1, 3) };
//! let record = bench::run(&Settings::new(&plan, &Target::Cpu), None, &mut |_| (), &())?;
//! let worst = &record.cliffs[0];
//! assert_eq!(worst.ratio, worst.slower.seconds / worst.faster.seconds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axes;
mod cliffs;
mod suite;

pub use axes::{Axes, Axis, Precision, Setting, Shape, setting};
pub use cliffs::{Cliff, Edge, MOST_CLIFFS};
pub use suite::{NODATA, Plan, Settings, default_effort};
