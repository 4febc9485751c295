//! The program `halotile`: it parses a command line, calls the library and prints.
//!
//! ```text
//! args        what can be asked for, and every word of help (also the source of man pages and completions)
//! entropy     the main job: file in, entropy, file out
//! engine        the device for it
//! source        the file it is read from
//! sink          the file it goes to
//! files       what each file of a command is for: an output is no input
//! apsp        shortest paths: graph in, distances and predecessors out
//! path        one path out of these
//! generate    synthetic grids and graphs
//! bench       every kernel, verified and timed; and what is exported of that
//! compare     two files, cell by cell
//! devices     what this machine has
//! kernels     the names that --kernel takes
//! occupancy   how many blocks of a kernel run at once
//! console     stderr: progress, notes; and the flag that Ctrl-C sets
//! profile     what devices and threads did, and when
//! report      what a run tells of itself at its end
//! stdout      where data goes, and whether it is there
//! interrupt   Ctrl-C itself
//! machine     its threads and its memory
//! outcome     errors as one line each, and the exit code
//! ```
//!
//! Data goes to stdout and everything else to stderr. Nothing here computes.

mod apsp;
mod args;
mod bench;
mod compare;
mod console;
mod devices;
mod engine;
mod entropy;
mod files;
mod generate;
mod interrupt;
mod kernels;
mod machine;
mod occupancy;
mod outcome;
mod pages;
mod path;
mod profile;
mod report;
mod sink;
mod source;
mod stdout;

use std::process::ExitCode;

use args::{Args, Bench, Command, Generate};
use clap::Parser;
use halotile_lab::primer;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return outcome::exit_code_of_parsing(&error),
    };
    interrupt::listen();
    outcome::exit_code(match args.command {
        Command::Entropy(args) => entropy::run(&args),
        Command::Apsp(args) => apsp::run(&args),
        Command::Path(args) => path::run(&args),
        Command::Kernels => kernels::run(),
        Command::Devices(args) => devices::run(&args),
        Command::Generate { what: Generate::Grid(args) } => generate::grid::run(&args),
        Command::Generate { what: Generate::Graph(args) } => generate::graph::run(&args),
        Command::Bench { what: Bench::Entropy(args) } => bench::run(&args),
        Command::Bench { what: Bench::Apsp(args) } => bench::apsp::run(&args),
        Command::Bench { what: Bench::Copy(args) } => bench::primer::topic(&primer::copy::COPY, &args),
        Command::Bench { what: Bench::Stride(args) } => bench::primer::topic(&primer::copy::STRIDE, &args),
        Command::Bench { what: Bench::Banks(args) } => bench::primer::topic(&primer::banks::BANKS, &args),
        Command::Bench { what: Bench::Reduce(args) } => bench::primer::topic(&primer::reduce::REDUCE, &args),
        Command::Bench { what: Bench::Transpose(args) } => bench::primer::topic(&primer::transpose::TRANSPOSE, &args),
        Command::Bench { what: Bench::Matmul(args) } => bench::primer::topic(&primer::matmul::MATMUL, &args),
        Command::Bench { what: Bench::Instructions(args) } => {
            bench::primer::topic(&primer::instructions::INSTRUCTIONS, &args)
        }
        Command::Bench { what: Bench::Divergence(args) } => {
            bench::primer::topic(&primer::divergence::DIVERGENCE, &args)
        }
        Command::Bench { what: Bench::Transfer(args) } => bench::primer::topic(&primer::transfer::TRANSFER, &args),
        Command::Bench { what: Bench::Overlap(args) } => bench::primer::topic(&primer::overlap::OVERLAP, &args),
        Command::Bench { what: Bench::Clock(args) } => bench::primer::topic(&primer::clock::CLOCK, &args),
        Command::Bench { what: Bench::Primer(args) } => bench::primer::all(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Occupancy(args) => occupancy::run(&args),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { command } => pages::man(&command),
    })
}
