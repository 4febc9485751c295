//! `halotile bench entropy`, and what all benchmarks have: how much work is put into timing, and where records go.

use std::path::PathBuf;

use clap::ValueHint;
use halotile::choice::Devices;
use halotile_lab::bench::{self, Effort, Plan, Repeat};
use halotile_lab::generate::Pattern;

use super::{Loudness, ProfileArgs, SweepArgs, device, levels, named, size, threads};

pub(super) const BENCH_HELP: &str = "\
Every kernel is compared with the definition before it is timed: every cell of a small grid, nine patches of a large \
one. One that is wrong stands in the table as WRONG, without a time, and the exit code is 1.

The table: \"median ms\" is of the kernel alone, by the device's clock (launches take several copies of the grid in turn, so \
that a small one does not come out of the cache); on the CPU it is of the whole, by the wall clock. \"host ms\" is from \
host memory to host memory, \"of copy\" the share of the copy bandwidth measured in the same run, 5 bytes a cell. \"regs\" and \
\"spill B\" are ptxas's, of the GPU's architecture; \"occupancy\" is the share of the GPU's threads that is there at once; \
\"faster\" is than the rung before (or the kernel that it changes), by the same clock.

Beside what --kernels all has there are, by name: huang (a sliding histogram in plain Rust, which cpu is told to be so many times \
faster than); planes-portable, planes-avx2, planes-avx512, planes-neon and slide-portable to slide-neon (the CPU engine with one of the two ways that \
it chooses from for each tile, on one instruction set); auto (a call that leaves the kernel to the library, from an array in the \
first device's memory to a result there, and from host to host on all devices); occurring, known-u8, known-u32, survey-u8, survey-u32 and \
bins-u32 (the same of arrays of such numbers, whose classes are those that occur, known, found by a survey, or bins); pinned (such a call from page-locked memory to \
page-locked memory, on all devices; \"of copy\" is then of what all of them copy to the host at once, 4 bytes a cell).

Without --runs and --min-time everything is timed 30 times, but 3 times are enough if they take 2 seconds. With \
several devices kernels alone are timed on the first, runs from host to host on all. In the emulator times say nothing of a GPU.

--export-json writes one object with every raw time: schema, what, halotile, commit, time, machine, devices, options, \
ceilings and results (of (rows, cols), kernel, place, parameters, before, idea, status, and reason, or time, host_to_host and the \
rest of the table). --export-csv writes a row for each kernel and size, --export-markdown a table, --export-html one page \
with charts that needs no network.";

pub(super) const BENCH_EXAMPLES: &str = "\
Examples:
  halotile bench entropy
  halotile bench entropy --device cuda --kernels v0..v9,sliding --export-html ladder.html
  halotile bench entropy --device cpu --kernels cpu --sizes 4000x6000 --size 21 --levels 256
  halotile bench entropy --device cpu --threads 1 --kernels huang,cpu --sizes 4096
  halotile bench entropy --device cuda:0,1 --kernels auto,pinned --sizes 40960
  halotile bench entropy --device emulator --sizes 64 --runs 1 --export-json - -q
  halotile bench entropy --sweep --export-json sweep.json
  halotile bench entropy --sweep --sizes 2000 --sweep-levels 16,17,32 --sweep-measures shannon --device cpu";

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// What to time: all, or a list of names: cpu (the CPU engine), kernels, rungs, ranges of rungs (v0..v9), and what --help names beside them
    #[arg(long, value_name = "all|LIST", default_value = "all", value_parser = bench_kernels)]
    pub kernels: KernelList,
    /// Sizes of the grids, 400 or 300x500 (rows x columns) [default: 400,2560,10240; in the emulator 64; of --sweep 4096, on the CPU
    /// 1024]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = shape)]
    pub sizes: Vec<(usize, usize)>,
    /// Where to run: auto (cuda:0 if it is there), cpu, cuda, cuda:0,1, emulator
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// The grids' cells. random: independent; clustered: like a land-cover map; constant: one class
    #[arg(long, default_value = "random", value_parser = named(&Pattern::ALL.map(|p| (p.name(), p))))]
    pub pattern: Pattern,
    /// Number of classes, 1 to 65536; more than 256 are cells of 16 bits, which cpu and auto take
    #[arg(long, value_name = "N", default_value = "16", value_parser = levels)]
    pub levels: usize,
    /// Side of the square window in cells: odd, 1 to 4095
    #[arg(long, value_name = "N", default_value = "5", value_parser = size)]
    pub size: usize,
    /// What the grids depend on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// CPU threads, 0 to 1024; 0 for as many as there are cores
    #[arg(long, value_name = "N", default_value = "0", value_parser = threads)]
    pub threads: usize,
    #[command(flatten)]
    pub exports: ExportArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub loudness: Loudness,
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// How often benchmarks run.
#[derive(Debug, clap::Args)]
pub struct EffortArgs {
    /// Runs before the timed ones [default: 5, fewer if they take half a second]
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub warmup: Option<usize>,
    /// Timed runs of each, 1 to 100000
    #[arg(long, value_name = "N", conflicts_with = "min_time", value_parser = repeats_of_one)]
    pub runs: Option<usize>,
    /// Time each for so many seconds, and 3 times at least
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub min_time: Option<f64>,
}

/// Where a benchmark's record goes.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The commit that the record names [default: the one that was built, if the build was told]
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// Write the record as JSON, with every raw time; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_json: Option<PathBuf>,
    /// Write a row for each kernel and size as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_csv: Option<PathBuf>,
    /// Write a table for each size as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_markdown: Option<PathBuf>,
    /// Write a page with charts and tables, in one file that needs no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_html: Option<PathBuf>,
    /// Replace the exported files and the profile if they exist
    #[arg(long)]
    pub overwrite: bool,
}

/// `--kernels`: the names in the order of the table; none stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelList(pub Option<Vec<&'static str>>);

pub(super) fn bench_kernels(text: &str) -> Result<KernelList, String> {
    if text == "all" {
        return Ok(KernelList(None));
    }
    let names: Vec<_> = bench::names().collect();
    let mut chosen = vec![false; names.len()];
    for part in text.split(',') {
        match names.iter().position(|name| *name == part) {
            Some(i) => chosen[i] = true,
            None => range(part, &names)?.into_iter().for_each(|i| chosen[i] = true),
        }
    }
    Ok(KernelList(Some(names.into_iter().zip(chosen).filter_map(|(name, is)| is.then_some(name)).collect())))
}

/// Where the names from `v0..v9` are: those of the same letters with a number in between.
pub(super) fn range(text: &str, names: &[&str]) -> Result<Vec<usize>, String> {
    let split = |name: &str| {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((letters.to_owned(), name[letters.len()..].parse::<u32>().ok()?))
    };
    let found = text.split_once("..").and_then(|(from, to)| {
        let ((ladder, from), (other, to)) = (split(from)?, split(to)?);
        let within = |name: &str| split(name).is_some_and(|(l, n)| l == ladder && (from..=to).contains(&n));
        (ladder == other).then(|| (0..names.len()).filter(|&i| within(names[i])).collect::<Vec<_>>())
    });
    found
        .filter(|found| !found.is_empty())
        .ok_or_else(|| format!("there is no kernel {text:?}; the names are all, {}", names.join(", ")))
}

/// The most cells of a benchmark's grid.
pub(super) const MOST_CELLS: u64 = 1 << 34;

pub(super) fn shape(text: &str) -> Result<(usize, usize), String> {
    let (rows, cols) = text.split_once('x').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u64>().ok().filter(|&n| n > 0);
    let (Some(rows), Some(cols)) = (number(rows), number(cols)) else {
        return Err("a size is a number of at least 1, or rows x columns as 300x500".to_owned());
    };
    match rows.checked_mul(cols).filter(|&cells| cells <= MOST_CELLS) {
        Some(_) => Ok((rows as usize, cols as usize)),
        None => Err(format!("{rows} x {cols} cells are more than the 2^34 that a benchmark's grid may have")),
    }
}

pub(super) fn repeats(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 100_000).ok_or_else(|| "the number of runs is from 0 to 100000".to_owned())
}

pub(super) fn repeats_of_one(text: &str) -> Result<usize, String> {
    repeats(text).ok().filter(|n| *n > 0).ok_or_else(|| "the number of runs is from 1 to 100000".to_owned())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.0..=3600.0).contains(s));
    seconds.ok_or_else(|| "the number of seconds is from 0 to 3600".to_owned())
}

impl EffortArgs {
    /// As the library takes it.
    pub(super) fn effort(&self) -> Effort {
        self.effort_or(Effort::default())
    }

    /// The same with another default.
    pub(super) fn effort_or(&self, otherwise: Effort) -> Effort {
        let mut effort = otherwise;
        if let Some(warmup) = self.warmup {
            effort.warmup = Repeat::times(warmup);
        }
        if let Some(runs) = self.runs {
            effort.timed = Repeat::times(runs);
        }
        if let Some(seconds) = self.min_time {
            effort.timed = Repeat { least: 3, most: 100_000, seconds };
        }
        effort
    }
}

impl BenchArgs {
    /// What the library is to do; `sizes` where the command line has none.
    pub fn plan(&self, sizes: &[(usize, usize)]) -> Plan {
        let shapes = if self.sizes.is_empty() { sizes } else { &self.sizes };
        let Self { pattern, seed, levels, size, .. } = *self;
        Plan { shapes: shapes.to_vec(), pattern, seed, levels, size, effort: self.effort.effort() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_one_by_one_and_by_ranges() {
        let chosen = |text: &str| bench_kernels(text).map(|list| list.0.unwrap_or_default());
        assert_eq!(bench_kernels("all"), Ok(KernelList(None)));
        // In the order of the table, each once.
        assert_eq!(chosen("sliding,cpu,naive,cpu"), Ok(vec!["cpu", "naive", "sliding"]));
        for wrong in ["", "fastest", "cpu,", "v9999..v99999", "naive..tiled", "cpu..", "..", "v0..b9"] {
            let error = chosen(wrong).expect_err(wrong);
            assert!(error.contains("the names are all, huang, cpu, "), "{error}");
        }
        let names = ["cpu", "v0", "v1", "v2", "v10", "b1", "sliding"];
        assert_eq!(range("v1..v10", &names), Ok(vec![2, 3, 4]));
        assert_eq!(range("b0..b9", &names), Ok(vec![5]));
        assert!(range("v3..v9", &names).is_err());
    }

    #[test]
    fn sizes_are_squares_or_rows_by_columns() {
        assert_eq!(shape("400"), Ok((400, 400)));
        assert_eq!(shape("300x500"), Ok((300, 500)));
        assert_eq!(shape("131072"), Ok((131_072, 131_072)));
        for wrong in [
            "",
            "0",
            "12x",
            "x12",
            "0x5",
            "3x4x5",
            "-3",
            "4.5",
            "131073",
            "99999999999999999999",
            "4294967296x4294967296",
        ] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }
}
