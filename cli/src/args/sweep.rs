//! The options of `halotile bench entropy --sweep`: the axes of the table, each a list whose first entry belongs to the base.

use halotile::measure::Measure;
use halotile_lab::bench::sweep::{Axes, Plan, Precision, Shape, default_effort};

use super::{BenchArgs, levels_of_bytes, measure, named, size};

/// What the help says of it.
pub const HELP: &str = "\
--sweep prints another table: what the library's own choice takes, window sizes across, settings down, in ms by the wall clock, from call \
to return, warm: on a device from an array in its memory to a result in its memory (the first device alone), with --device cpu from \
memory to memory; with --kernels planes-avx512 or another part of the CPU engine it is that part in place of the engine's choice. The first entry of each list makes the base. The rows are all classes with and without nodata, then each other measure, \
shape and precision at the first two numbers of classes; below a row stand the kernels that were chosen, by size. Nodata is 5 % of the cells, at random, code \
255. Each setting is compared with the definition first, on a grid of 300 x 300 cells (unless its own is smaller, or emulated) and on a sample of its own. What is not supported \
says why. At the end stand the five largest ratios of times between neighbours: one step along one axis, from one entry of --sweep-sizes or \
--sweep-levels to the next, or from the base to another entry of the other lists. Without --runs and --min-time every setting is timed 11 \
times, but 3 times are enough if they take half a second. --export-json has schema, what, halotile, commit, time, machine, devices, options, ceilings, results (of (levels, \
nodata, measure, shape, precision), parameters (size), status, and reason, or time, chosen (the kernel) and the rest) and cliffs (axis, ratio, slower, faster).";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sweep")]
pub struct SweepArgs {
    /// Time what the library chooses over a table of settings, and name the largest steps between neighbours
    #[arg(long, conflicts_with_all = ["size", "levels", "export_html"])]
    pub sweep: bool,
    /// Sides of the windows: odd, 1 to 4095 [default: 3,5,9,21,31,51,101,255]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = size)]
    pub sweep_sizes: Vec<usize>,
    /// Numbers of classes, 1 to 256 [default: 16,17,44,96,256]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = levels_of_bytes)]
    pub sweep_levels: Vec<usize>,
    /// Without nodata, with it [default: no,yes]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = named(&[("no", false), ("yes", true)]))]
    pub sweep_nodata: Vec<bool>,
    /// Measures, as halotile entropy takes them [default: shannon,simpson,richness,hill:2,evenness]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = measure)]
    pub sweep_measures: Vec<Measure>,
    /// Shapes of the windows [default: square,disk]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = named(&Shape::ALL.map(|s| (s.name(), s))))]
    pub sweep_shapes: Vec<Shape>,
    /// Types of the results [default: f32,f64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "sweep", value_parser = named(&Precision::ALL.map(|p| (p.name(), p))))]
    pub sweep_precisions: Vec<Precision>,
}

impl SweepArgs {
    fn axes(&self) -> Axes {
        fn given<T: Clone>(list: &[T], otherwise: Vec<T>) -> Vec<T> {
            if list.is_empty() { otherwise } else { list.to_vec() }
        }
        let all = Axes::default();
        Axes {
            sizes: given(&self.sweep_sizes, all.sizes),
            levels: given(&self.sweep_levels, all.levels),
            nodata: given(&self.sweep_nodata, all.nodata),
            measures: given(&self.sweep_measures, all.measures),
            shapes: given(&self.sweep_shapes, all.shapes),
            precisions: given(&self.sweep_precisions, all.precisions),
        }
    }
}

impl BenchArgs {
    /// What the library is to sweep over, on a grid of `shape` where the command line has none; or why that cannot be.
    pub fn sweep_plan(&self, shape: (usize, usize)) -> Result<Plan, String> {
        let (rows, cols) = match self.sizes[..] {
            [] => shape,
            [given] => given,
            _ => {
                return Err(
                    "--sweep is over one grid; give --sizes one size, and the windows' to --sweep-sizes".to_owned()
                );
            }
        };
        let (axes, effort) = (self.sweep.axes(), self.effort.effort_or(default_effort()));
        Ok(Plan { rows, cols, pattern: self.pattern, seed: self.seed, axes, effort })
    }
}
