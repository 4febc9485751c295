//! `halotile apsp`: read a graph, compute, write distances and predecessors; then let the files appear.
//!
//! ```text
//! check      the options against each other
//! memory     what is needed and what there is
//! place      the CPU or devices
//! summary    what was done
//! ```
//!
//! Everything that can be refused is refused before the work: options, names, outputs (their temporary files are made), devices, and, as soon as
//! the number of vertices is known and before anything is made of it, memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::anyhow;
use halotile::apsp::files::distances::{self, DistanceFormat, write_distances};
use halotile::apsp::files::graph::{AnyGraph, GraphOptions, read_graph};
use halotile::apsp::potential::DistanceOverflow;
use halotile::apsp::width::OverflowRisk;
use halotile::apsp::{Apsp, Distance, Distances, Error, Matrix, Solution};

mod check;
mod memory;
mod place;
mod summary;

use check::Files;
use memory::Memory;
use place::Place;
use summary::Summary;

use crate::args::ApspArgs;
use crate::console::Console;
use crate::outcome::Done;
use crate::profile::{self, staged};
use crate::sink::{self, Sink};
use crate::source::{self, is_dash};
use crate::{interrupt, machine, report, stdout};

pub fn run(args: &ApspArgs) -> anyhow::Result<Done> {
    let files = check::check(args)?;
    if args.json {
        // Said before the work, not after it.
        stdout::open()?;
    }
    profile::during("apsp", &args.profile, args.overwrite, args.loudness, || finish(args, &files))
}

fn finish(args: &ApspArgs, files: &Files) -> anyhow::Result<Done> {
    let start = Instant::now();
    let console = Console::new(args.loudness);
    let threads = machine::start_threads(args.threads)?;
    let output = Sink::create(&args.output, args.overwrite)?;
    let paths = args.paths.as_deref().map(|path| Sink::create(path, args.overwrite)).transpose()?;
    let mut summary = Summary::of(args, files, threads);
    let mut place = Place::named(&args.device, args.kernel.0)?;
    let solution = solve(args, files, &mut place, &mut summary, &console)?;
    summary.device = place.name().to_owned();
    summary.seconds.device = place.seconds;
    summary.add(&solution);

    let writing = Instant::now();
    staged("write", || sink::commit(write(files, solution, output, paths, &console)?))?;
    summary.seconds.write = writing.elapsed().as_secs_f64();
    staged("close devices", || drop(place));
    console.finish();
    summary.memory.peak = machine::peak_memory();
    summary.seconds.total = start.elapsed().as_secs_f64();
    summary::tell(&summary);
    if args.json {
        report::print(&summary)?;
    }
    Ok(Done::Success)
}

/// Reads and computes; where a GPU of our own choice cannot, once more on the CPU, for which the graph is read again: its memory is where the distances were
/// to be.
fn solve(
    args: &ApspArgs,
    files: &Files,
    place: &mut Place,
    summary: &mut Summary,
    console: &Console,
) -> anyhow::Result<Solution> {
    let name = source::name_of(&args.input);
    let memory = Memory::of(args);
    loop {
        let reading = Instant::now();
        let graph = match staged("read", || read(args, files, &memory, place, console)) {
            Ok(graph) => graph,
            // It was stopped because of that.
            Err(error) => return Err(place.failure().map_or(error, Into::into)),
        };
        summary.seconds.read += reading.elapsed().as_secs_f64();
        summary.memory.needed = memory.needed(graph.vertices());
        summary.memory.allowed = memory.allowed;
        let size = graph.vertices();
        match &graph {
            AnyGraph::Whole(_) => fits::<i32>(files, &args.output, size)?,
            AnyGraph::Real(_) => fits::<f32>(files, &args.output, size)?,
        }
        if let (Some(format), Some(path)) = (files.paths, &args.paths) {
            distances::check::<i32>(size, format, &sink::name_of(path))?;
        }
        let engine = staged("wait for device", || place.engine(size, console))?;
        let apsp = Apsp::new()
            .weight(args.weight)
            .predecessors(args.paths.is_some())
            .kernel(args.kernel.0.map(Into::into))
            .memory(memory.allowed.map(u128::from));
        match staged("compute", || apsp.run(&engine, graph, console)) {
            Ok(solution) => return Ok(solution),
            Err(error @ (Error::Device(_) | Error::Misfit { .. })) if !is_dash(&args.input) => {
                if !place.fall_back(&error.to_string(), console) {
                    return Err(explain(error, &name));
                }
            }
            Err(error) => return Err(explain(error, &name)),
        }
    }
}

fn read(args: &ApspArgs, files: &Files, memory: &Memory, place: &Place, console: &Console) -> anyhow::Result<AnyGraph> {
    console.bytes("reading");
    // The reader asks before it makes anything; what it is told is noted once.
    let noted = AtomicBool::new(false);
    let admit = |vertices| {
        let note = memory.admit(vertices)?;
        if !noted.swap(true, Ordering::Relaxed) {
            console.note(&note);
        }
        Ok(())
    };
    let options = GraphOptions { weight: args.weight, undirected: args.undirected, admit: &admit };
    let watch = place.watch(console);
    let read = || read_graph(&args.input, files.input, &options, &watch);
    // The flag of Ctrl-C is not checked while reading blocks on a pipe that is silent, or whose other end is not open.
    let file = std::fs::metadata(&args.input).is_ok_and(|file| file.is_file());
    Ok(if file { read() } else { interrupt::waiting(read) }?)
}

/// Makes sure that the output's format has room for the distances.
fn fits<T: Distance>(files: &Files, output: &std::path::Path, vertices: usize) -> anyhow::Result<()> {
    Ok(distances::check::<T>(vertices, files.output, &sink::name_of(output))?)
}

fn write(
    files: &Files,
    solution: Solution,
    mut output: Sink,
    paths: Option<Sink>,
    console: &Console,
) -> anyhow::Result<Vec<Sink>> {
    match &solution.distances {
        Distances::I32(matrix) => write_one(matrix, files.output, &mut output, "writing distances", console),
        Distances::I16(matrix) => write_one(matrix, files.output, &mut output, "writing distances", console),
        Distances::F32(matrix) => write_one(matrix, files.output, &mut output, "writing distances", console),
    }?;
    let mut sinks = vec![output];
    if let (Some(mut sink), Some(format), Some(matrix)) = (paths, files.paths, &solution.predecessors) {
        write_one(matrix, format, &mut sink, "writing paths", console)?;
        sinks.push(sink);
    }
    Ok(sinks)
}

fn write_one<T: Distance>(
    matrix: &Matrix<T>,
    format: DistanceFormat,
    sink: &mut Sink,
    doing: &str,
    console: &Console,
) -> anyhow::Result<()> {
    console.cells(doing, (matrix.vertices() as u64).pow(2));
    Ok(write_distances(matrix, format, sink.file(), console)?)
}

/// Says what to do about it, where that is something that an option does.
fn explain(error: Error, name: &str) -> anyhow::Error {
    let advice = match &error {
        Error::OverflowRisk(risk) if risk.bits == 16 => "choose --weight i32 or auto",
        // Floating-point numbers already.
        Error::OverflowRisk(OverflowRisk { most, .. }) | Error::Overflow(DistanceOverflow { most, .. })
            if *most > 1e30 =>
        {
            "make the weights smaller"
        }
        Error::OverflowRisk(_) | Error::Overflow(_) => "choose --weight f32",
        Error::Fractions(_) => "choose --weight f32 or auto",
        Error::Misfit { .. } => "choose another kernel or auto",
        Error::Memory { .. } | Error::Matrix(_) => "take a smaller graph, or a machine with more memory",
        _ => return anyhow::Error::from(error).context(name.to_owned()),
    };
    anyhow!("{name}: {error}; {advice}")
}
