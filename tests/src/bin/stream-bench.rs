//! How near the streaming plan comes to what the bus allows: a grid in page-locked memory, its entropy in page-locked memory, on one
//! GPU and on several, beside the time that copying the results alone takes on the same GPUs in the same run.
//!
//! ```text
//! for each number of GPUs:
//!     copy        all GPUs at once copy the results' bytes back, each its share: what the bus (and the host's memory) needs
//!     stream      cells in page-locked memory -> results in page-locked memory
//!     pageable    the same from and to ordinary memory
//! ```
//!
//! The first result is compared with the CPU engine's, cell by cell, and with the definition along its edges and at the
//! seams of pieces, before anything is timed; those on several GPUs with the one on one GPU, bit by bit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use halotile::entropy::{Engine, Entropy};
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::{Buffer, Device, HostMemory, PinnedGrid};
use halotile::grid::{Grid, GridView, GridViewMut};
use halotile::reference;
use halotile_lab::bench::median;
use halotile_lab::generate::{Generator, Pattern};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Times the streaming plan from memory to memory.
#[derive(Parser)]
struct Args {
    /// Numbers of GPUs.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    gpus: Vec<usize>,
    /// Rows and columns of the grid.
    #[arg(long, value_delimiter = 'x', num_args = 1.., default_value = "40960x40960")]
    shape: Vec<usize>,
    /// Side of the window.
    #[arg(long, default_value_t = 5)]
    size: usize,
    /// Timed runs of each.
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Leave out the runs from and to ordinary memory.
    #[arg(long)]
    no_pageable: bool,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The commit that the record names.
    #[arg(long)]
    commit: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let [rows, cols] = args.shape[..] else { anyhow::bail!("a shape is rows x columns") };
    let most = args.gpus.iter().copied().max().context("no number of GPUs")?;
    ensure!(most <= cuda::count()?, "there are {} GPUs", cuda::count()?);
    let devices =
        (0..most).map(|i| Ok(Arc::new(CudaDevice::new(i)?) as Arc<dyn Device>)).collect::<Result<Vec<_>>>()?;
    let (major, minor) = cuda::driver_version()?;
    println!("{most} x {}, driver for CUDA {major}.{minor}, {rows} x {cols}", devices[0].name());

    let mut cells = PinnedGrid::<u8>::zeros(&devices[0], rows, cols)?;
    let generator = Generator::new(Pattern::Random, 1, 16)?;
    let fill = |(r, row): (usize, &mut [u8])| generator.fill_row(r as u64, 0, row);
    cells.view_mut().as_strided_mut().par_chunks_mut(cols).enumerate().for_each(fill);
    let mut out = PinnedGrid::<f32>::zeros(&devices[0], rows, cols)?;
    let entropy = Entropy::new().size(args.size).levels(16);
    let stream = |count: usize, cells: GridView<'_, u8>, out: GridViewMut<'_, f32>| -> Result<f64> {
        let start = Instant::now();
        entropy.compute_into(&Engine::Devices(devices[..count].to_vec()), cells, out, &())?;
        Ok(start.elapsed().as_secs_f64())
    };

    stream(1, cells.view(), out.view_mut())?;
    let worst = verify(&entropy, args.size, cells.view(), out.view())?;
    println!("verified: at most {worst:.2e} off");
    let one: Vec<u32> = out.view().as_strided().par_iter().map(|h| h.to_bits()).collect();

    let bytes = rows * cols * size_of::<f32>();
    let mut results = Vec::new();
    let mut plain =
        if args.no_pageable { None } else { Some((copy_of(cells.view())?, Grid::<f32>::zeros(rows, cols)?)) };
    for &count in &args.gpus {
        out.view_mut().as_strided_mut().par_chunks_mut(1 << 20).for_each(|chunk| chunk.fill(-1.0));
        stream(count, cells.view(), out.view_mut())?;
        let same = out.view().as_strided().par_iter().zip(&one).all(|(h, &bits)| h.to_bits() == bits);
        ensure!(same, "{count} GPUs give another result than one");
        let copies = copy_back(&devices[..count], bytes)?;
        let repeat = |run: &mut dyn FnMut() -> Result<f64>| (0..args.runs).map(|_| run()).collect::<Result<Vec<_>>>();
        let copy = repeat(&mut || copies.run())?;
        drop(copies);
        let pinned = repeat(&mut || stream(count, cells.view(), out.view_mut()))?;
        let pageable = match &mut plain {
            Some((cells, out)) => repeat(&mut || stream(count, cells.view(), out.view_mut()))?,
            None => Vec::new(),
        };
        let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{count} GPUs: copy back {:.1} ms ({:.1} GB/s), stream {:.1} ms: {:.3} times the copy (medians {:.1} and {:.1}: {:.3}), pageable {:.1} ms",
            1e3 * best(&copy),
            bytes as f64 / best(&copy) / 1e9,
            1e3 * best(&pinned),
            best(&pinned) / best(&copy),
            1e3 * median(&copy),
            1e3 * median(&pinned),
            median(&pinned) / median(&copy),
            1e3 * best(&pageable),
        );
        results.push(json!({
            "gpus": count,
            "copy_back_seconds": copy,
            "stream_seconds": pinned,
            "pageable_seconds": pageable,
            "ratio_of_medians": median(&pinned) / median(&copy),
            "ratio_of_best": best(&pinned) / best(&copy),
        }));
    }
    if let Some(path) = &args.record {
        let record: Value = json!({
            "what": "memory to memory, u8 cells to f32 entropies, page-locked unless said otherwise; raw seconds, wall clock",
            "device": devices[0].name(),
            "driver": format!("CUDA {major}.{minor}"),
            "commit": args.commit,
            "rows": rows, "cols": cols, "size": args.size, "levels": 16, "pattern": "random",
            "threads": rayon::current_num_threads(),
            "largest_difference": worst,
            "results": results,
        });
        std::fs::write(path, serde_json::to_string_pretty(&record)? + "\n")
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn copy_of(cells: GridView<'_, u8>) -> Result<Grid<u8>> {
    Ok(Grid::from_vec(cells.as_strided().to_vec(), cells.rows(), cells.cols())?)
}

/// The largest difference from the CPU engine over all cells, and from the definition along the edges and in rows all over.
fn verify(entropy: &Entropy, size: usize, cells: GridView<'_, u8>, out: GridView<'_, f32>) -> Result<f64> {
    let cpu = entropy.compute::<f32>(cells)?;
    let off = |a: f64, b: f64| if (a - b).abs() <= 2e-6 { (a - b).abs() } else { f64::INFINITY };
    let pairs = out.as_strided().par_iter().zip(cpu.as_slice());
    let all = pairs.map(|(&a, &b)| off(a.into(), b.into())).reduce(|| 0.0, f64::max);
    let (rows, cols) = (cells.rows(), cells.cols());
    let places =
        |len: usize| (0..len.min(6)).chain((6..len).step_by((len / 50).max(1))).chain(len.saturating_sub(6)..len);
    let places: Vec<(usize, usize)> = places(rows).flat_map(|r| places(cols).map(move |c| (r, c))).collect();
    let oracle =
        places.par_iter().map(|&(r, c)| off(out.row(r)[c].into(), reference::entropy_at(cells, size, None, r, c)));
    let worst = all.max(oracle.reduce(|| 0.0, f64::max));
    ensure!(worst < 2e-6, "the result is wrong");
    Ok(worst)
}

/// Each device with a share of so many bytes to copy back.
struct Copies(Vec<(Buffer, std::sync::Mutex<HostMemory>)>);

fn copy_back(devices: &[Arc<dyn Device>], bytes: usize) -> Result<Copies> {
    let share = bytes / devices.len();
    let one = |device: &Arc<dyn Device>| {
        let buffer = Buffer::new(device, share)?;
        device.fill(&buffer, 1)?;
        Ok((buffer, device.host_memory(share)?.into()))
    };
    Ok(Copies(devices.iter().map(one).collect::<Result<_>>()?))
}

impl Copies {
    /// Seconds until all have copied.
    fn run(&self) -> Result<f64> {
        let start = Instant::now();
        std::thread::scope(|scope| {
            let copy = |(buffer, memory): &(Buffer, std::sync::Mutex<HostMemory>)| {
                let mut memory = memory.lock().expect("no thread panics with it");
                buffer.read(0, &mut memory)
            };
            let threads: Vec<_> = self.0.iter().map(|one| scope.spawn(move || copy(one))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("copies do not panic"))
        })?;
        Ok(start.elapsed().as_secs_f64())
    }
}
