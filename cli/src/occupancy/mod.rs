//! `halotile occupancy`: how many blocks of a kernel a multiprocessor runs at once, and what keeps it from more.
//!
//! Registers and static shared memory are what NVIDIA's assembler reported for the kernel, which is part of the library, so that
//! no GPU is needed. The block is the one that halotile launches the kernel in, unless another is asked for; charts keep
//! its dynamic shared memory and go through all sizes in whole warps.

mod svg;

use std::io::Write;

use anyhow::Context;
use halotile::io::write_failed;
use halotile::occupancy::{Architecture, Demand, Occupancy, OccupancyError, Resource, WARP};
use halotile_lab::entropy::kernels;
use halotile_lab::resources::{self, Resources};
use serde_json::{Value, json};

use crate::args::{BlockArg, OccupancyArgs};
use crate::outcome::{Done, Usage};
use crate::sink::{self, Sink};
use crate::source::is_dash;
use crate::stdout;

pub fn run(args: &OccupancyArgs) -> anyhow::Result<Done> {
    let svg_out = args.svg.as_deref().is_some_and(is_dash);
    if svg_out && args.json {
        return Err(Usage("only one of --json and --svg can be standard output".to_owned()).into());
    }
    let case = Case::new(args)?;
    let sink = args.svg.as_deref().map(|path| Sink::create(path, args.overwrite)).transpose()?;
    if let Some(mut sink) = sink {
        let name = sink.name();
        sink.write_all(svg::chart(&case).as_bytes()).map_err(|error| write_failed(&name, error))?;
        sink::commit([sink])?;
    }
    let text = match (svg_out, args.json) {
        (true, _) => return Ok(Done::Success),
        (false, true) => json(&case, args.all_blocks).to_string() + "\n",
        (false, false) => text(&case, args.all_blocks),
    };
    stdout::print(text.as_bytes())?;
    Ok(Done::Success)
}

/// A kernel in blocks of one size on an architecture.
struct Case {
    /// The PTX entry.
    entry: &'static str,
    arch: Architecture,
    /// The architecture that the registers were reported for.
    reported: &'static str,
    used: Resources,
    block: BlockArg,
    /// Bytes of dynamic shared memory.
    dynamic: u32,
}

impl Case {
    fn new(args: &OccupancyArgs) -> Result<Self, anyhow::Error> {
        let name = args.kernel.as_str();
        let kernel =
            kernels().find(|kernel| kernel.name() == name || kernel.entry().is_some_and(|entry| entry.name == name));
        let entry = match kernel {
            Some(kernel) => kernel
                .entry()
                .map(|entry| entry.name)
                .ok_or_else(|| Usage(format!("{name} is no kernel of a GPU: it has no occupancy")))?,
            // A kernel for tests, which halotile launches nowhere.
            None => resources::kernels().find(|entry| *entry == name).context("the parser knows all kernels")?,
        };
        let arch = args.arch;
        let (reported, used) =
            nearest(entry, arch).with_context(|| format!("there is no report of {entry} for {}", arch.name))?;
        let usual = kernel.and_then(|kernel| kernel.block_of(arch.shared_per_block));
        let (threads, dynamic) = usual.unwrap_or((used.max_threads, 0));
        let block = args.block.unwrap_or(BlockArg { x: threads, y: 1 });
        let threads = block.threads();
        if threads <= arch.threads_per_block && threads > used.max_threads {
            return Err(Usage(format!(
                "a block of {threads} threads is larger than the {} that {entry} is compiled for",
                used.max_threads
            ))
            .into());
        }
        let case = Self { entry, arch, reported, used, block, dynamic: args.shared.unwrap_or(dynamic) };
        match case.occupancy(threads) {
            Err(error @ (OccupancyError::NoThreads | OccupancyError::Threads { .. })) => {
                Err(Usage(error.to_string()).into())
            }
            _ => Ok(case),
        }
    }

    /// What becomes of blocks of this size.
    fn occupancy(&self, threads: u32) -> Result<Occupancy, OccupancyError> {
        // Whatever is too much for a number of 32 bits is too much for a multiprocessor.
        let shared_bytes = self.used.shared_bytes.saturating_add(self.dynamic);
        self.arch.occupancy(Demand { threads, registers: self.used.registers, shared_bytes })
    }

    /// The sizes of the chart: whole warps, up to the largest that the kernel is compiled for.
    fn sizes(&self) -> impl Iterator<Item = (u32, Result<Occupancy, OccupancyError>)> {
        let most = self.used.max_threads.min(self.arch.threads_per_block);
        (1..=most / WARP).map(|warps| (warps * WARP, self.occupancy(warps * WARP)))
    }
}

/// The report for the architecture or, where there is none, for the newest that came before it.
fn nearest(entry: &str, arch: Architecture) -> Option<(&'static str, Resources)> {
    let older = |name: &&str| {
        Architecture::named(name).is_some_and(|reported| reported.compute_capability <= arch.compute_capability)
    };
    let name = resources::architectures().filter(older).last()?;
    Some((name, resources::kernel(entry, name)?))
}

/// The names of resources as one phrase.
fn limits(found: &Occupancy) -> String {
    found.limited_by().map(Resource::name).collect::<Vec<_>>().join(" and ")
}

fn percent(found: &Occupancy) -> String {
    format!("{:.1} %", found.fraction() * 100.0)
}

fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn text(case: &Case, all_blocks: bool) -> String {
    let Case { entry, arch, reported, used, block, dynamic } = case;
    let mut lines = vec![format!(
        "{entry} on {}: blocks of {}, {} a thread, {} + {dynamic} bytes of shared memory (static + dynamic)",
        arch.name,
        block.describe(),
        count(used.registers, "register"),
        used.shared_bytes,
    )];
    if *reported != arch.name {
        lines.push(format!("registers and static shared memory as reported for {reported}"));
    }
    lines.push(String::new());
    match case.occupancy(block.threads()) {
        Err(error) => lines.push(format!("0 blocks: {error}")),
        Ok(found) => {
            lines.push(format!("{:14} {:>10} {:>14} {:>8}", "", "a block", "multiprocessor", "blocks"));
            for &resource in Resource::ALL {
                let (takes, has) = match resource {
                    Resource::Warps => (found.warps_of_block, arch.warps),
                    Resource::Blocks => (1, arch.blocks),
                    Resource::Registers => (found.registers_of_block, arch.registers),
                    Resource::SharedMemory => (found.shared_of_block, arch.shared_bytes),
                };
                let limit = found.limit(resource).map_or("any".to_owned(), |limit| limit.to_string());
                let mark = if found.limited_by().any(|limiting| limiting == resource) { "  the limit" } else { "" };
                lines.push(format!("{:14} {takes:>10} {has:>14} {limit:>8}{mark}", resource.name()));
            }
            lines.push(String::new());
            lines.push(format!(
                "{} active, {} of {} warps: occupancy {}, limited by {}",
                count(found.blocks, "block"),
                found.active_warps,
                found.warps,
                percent(&found),
                limits(&found)
            ));
        }
    }
    if all_blocks {
        lines.push(String::new());
        lines.extend(chart(case));
    }
    lines.join("\n") + "\n"
}

/// A line for every size of block.
fn chart(case: &Case) -> impl Iterator<Item = String> {
    const WIDTH: f64 = 32.0;
    let head = format!("{:>7} {:>6} {:>5} {:>9}  {:32}  limited by", "threads", "blocks", "warps", "occupancy", "");
    let own = case.block.threads();
    std::iter::once(head).chain(case.sizes().map(move |(threads, found)| {
        let mark = if threads == own { " <" } else { "" };
        match found {
            Ok(found) => {
                let bar = "#".repeat((found.fraction() * WIDTH).round() as usize);
                let (blocks, warps, percent) = (found.blocks, found.active_warps, percent(&found));
                format!("{threads:7} {blocks:6} {warps:5} {percent:>9}  {bar:32}  {}{mark}", limits(&found))
            }
            Err(error) => format!("{threads:7} {:6} {:5} {:>9}  {error}{mark}", 0, 0, "0.0 %"),
        }
    }))
}

fn json(case: &Case, all_blocks: bool) -> Value {
    let Case { entry, arch, reported, used, block, dynamic } = case;
    let mut object = json!({
        "kernel": entry,
        "arch": arch.name,
        "reported_for": reported,
        "block": [block.x, block.y],
        "registers": used.registers,
        "max_threads": used.max_threads,
        "shared_static": used.shared_bytes,
        "shared_dynamic": dynamic,
        "shared_reserved": arch.shared_reserved,
        "all_blocks": all_blocks.then(|| case.sizes().map(|(threads, found)| one(threads, &found)).collect::<Vec<_>>()),
    });
    let own = one(block.threads(), &case.occupancy(block.threads()));
    if let (Value::Object(object), Value::Object(own)) = (&mut object, own) {
        object.extend(own);
    }
    object
}

fn one(threads: u32, found: &Result<Occupancy, OccupancyError>) -> Value {
    let limit = |resource| found.as_ref().ok().and_then(|found| found.limit(resource));
    json!({
        "threads": threads,
        "blocks": found.as_ref().map_or(0, |found| found.blocks),
        "active_warps": found.as_ref().map_or(0, |found| found.active_warps),
        "occupancy": found.as_ref().map_or(0.0, Occupancy::fraction),
        "limits": {
            "warps": limit(Resource::Warps),
            "blocks": limit(Resource::Blocks),
            "registers": limit(Resource::Registers),
            "shared_memory": limit(Resource::SharedMemory),
        },
        "limited_by": found.iter().flat_map(Occupancy::limited_by).map(Resource::name).collect::<Vec<_>>(),
        "misfit": found.as_ref().err().map(ToString::to_string),
    })
}
