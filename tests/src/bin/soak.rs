//! Random whole runs of the program, disturbed and checked; `cargo xtask soak` builds and starts it. See [`halotile_tests::soak`].

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Parser;
use halotile_tests::soak::{Plan, soak};

/// Runs the program at random and checks every result.
#[derive(Parser)]
struct Args {
    /// The program
    #[arg(long)]
    bin: PathBuf,
    /// How long
    #[arg(long, default_value = "10")]
    minutes: u64,
    /// Where the random numbers begin; by default the time decides
    #[arg(long)]
    seed: Option<u64>,
    /// Runs at a time; by default one a core
    #[arg(long)]
    jobs: Option<usize>,
    /// One run and no more: that of --seed
    #[arg(long, requires = "seed")]
    once: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan {
        bin: args.bin,
        time: Duration::from_secs(60 * args.minutes),
        seed: args.seed.unwrap_or(now),
        jobs: if args.once { 1 } else { args.jobs.unwrap_or(cores) },
        once: args.once,
    };
    match soak(&plan) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("soak: {failures} runs failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}
