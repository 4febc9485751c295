//! Shortest paths on one GPU, on several, and in blocks as where a matrix is larger than their memory: do they give the same, and what does it
//! cost?
//!
//! The distances of the first run are the measure: those on several GPUs and in blocks must be equal to them, cell by cell, before anything is
//! timed. (`halotile bench apsp` compares one GPU with Dijkstra's algorithm.)

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use halotile::apsp::{Distance, Kernel, Matrix, device};
use halotile::exec::Device;
use halotile::exec::cuda::{self, CudaDevice};
use halotile_lab::bench::median;
use halotile_lab::generate::graph::{GraphGenerator, GraphShape};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Times shortest paths on several GPUs and in blocks.
#[derive(Parser)]
struct Args {
    /// Numbers of GPUs.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    gpus: Vec<usize>,
    /// Vertices of a complete graph.
    #[arg(long, default_value_t = 32768)]
    vertices: usize,
    /// Also in blocks of these sides: multiples of 256.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<usize>,
    /// Timed runs of each.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// In 16 bits.
    #[arg(long)]
    short: bool,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The commit that the record names.
    #[arg(long)]
    commit: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let most = args.gpus.iter().copied().max().unwrap_or(1);
    ensure!(most <= cuda::count()?, "there are {} GPUs", cuda::count()?);
    let devices =
        (0..most).map(|i| Ok(Arc::new(CudaDevice::new(i)?) as Arc<dyn Device>)).collect::<Result<Vec<_>>>()?;
    println!("{most} x {}, {} vertices", devices[0].name(), args.vertices);
    let results = if args.short { run(&args, &devices, |w| w as u16)? } else { run(&args, &devices, |w: i32| w)? };
    if let Some(path) = &args.record {
        let (major, minor) = cuda::driver_version()?;
        let record = json!({
            "what": "shortest paths, complete graph, weights 1 to 1000",
            "commit": args.commit,
            "gpu": devices[0].name(),
            "cuda": format!("{major}.{minor}"),
            "vertices": args.vertices,
            "bits": if args.short { 16 } else { 32 },
            "results": results,
        });
        std::fs::write(path, serde_json::to_string_pretty(&record)? + "\n")?;
    }
    Ok(())
}

fn run<T: Distance>(args: &Args, devices: &[Arc<dyn Device>], of: impl Fn(i32) -> T + Sync) -> Result<Vec<Value>> {
    let graph = GraphGenerator::new(GraphShape::Complete, args.vertices, 1..=1000, 1)?;
    let mut weights = Matrix::unreachable(args.vertices)?;
    weights.par_rows_mut().enumerate().for_each(|(i, row)| graph.row(i, |to, weight| row[to as usize] = of(weight)));
    let mut expected = None;
    let mut results = Vec::new();
    let sides = || std::iter::once(None).chain(args.sides.iter().copied().map(Some));
    for (&gpus, side) in args.gpus.iter().flat_map(|gpus| sides().map(move |side| (gpus, side))) {
        let (mut wall, mut compute) = (Vec::new(), Vec::new());
        for i in 0..=args.runs {
            let mut matrix = weights.clone();
            let start = Instant::now();
            let report = match side {
                None => device::solve(&mut matrix, Kernel::Tiled, &devices[..gpus], &())?,
                Some(side) => device::solve_in_blocks(&mut matrix, &devices[..gpus], side, &())?,
            };
            if i > 0 {
                wall.push(start.elapsed().as_secs_f64());
                compute.push(report.compute);
            }
            match &expected {
                Some(expected) => ensure!(matrix == *expected, "{gpus} GPUs, blocks {side:?}: other distances"),
                None => expected = Some(matrix),
            }
        }
        let rate = (args.vertices as f64).powi(3) / median(&compute) / 1e12;
        let how = side.map_or("whole".to_owned(), |side| format!("blocks of {side}"));
        println!(
            "{gpus} GPUs, {how}: compute {:.1} ms ({rate:.2} T relaxations/s), from host to host {:.1} ms",
            1e3 * median(&compute),
            1e3 * median(&wall)
        );
        results.push(json!({
            "gpus": gpus,
            "block_side": side,
            "compute_seconds": compute,
            "host_to_host_seconds": wall,
            "relaxations_per_second": rate * 1e12,
        }));
    }
    Ok(results)
}
