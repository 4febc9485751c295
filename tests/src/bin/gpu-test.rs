//! What can only be tested on a GPU, as one program that runs without Rust: `cargo xtask gpu-test`, or what `--pack` made.
//!
//! It runs the kernel `selftest` on the GPU and in the emulator and compares word for word; then every kernel over the whole table of cases against
//! the oracle, and arrays in the device's memory against the host's; then the occupancy calculator with the driver's. What takes how long is for
//! `halotile bench`, which verifies too.

use std::sync::Arc;

use anyhow::{Error, Result, ensure};
use clap::Parser;
use halotile::entropy::{Engine, Entropy, Kernel};
use halotile::exec::{Buffer, Device, cuda, cuda::CudaDevice, emulator::EmulatedDevice};
use halotile::grid::Grid;
use halotile::occupancy::{Architecture, Demand};
use halotile_lab::generate::{Generator, Pattern};
use halotile_lab::primer;
use halotile_lab::resources;
use halotile_tests::measures::{self, Compared, Run};
use halotile_tests::runner::{Checked, check, table};
use halotile_tests::selftest;
use halotile_tests::{apsp, arrays, words};

/// Tests halotile's kernels on a GPU.
#[derive(Parser)]
struct Args {
    /// The CUDA device.
    #[arg(long, default_value_t = 0)]
    device: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let cuda = Arc::new(CudaDevice::new(args.device)?);
    let device: Arc<dyn Device> = cuda.clone();
    let (major, minor) = cuda::driver_version()?;
    println!("{}, driver for CUDA {major}.{minor}", device.name());
    same_words(&device)?;
    let table = table();
    let mut failed = 0;
    for kernel in halotile_lab::entropy::kernels().map(Some).chain([None]) {
        failed += if kernel.is_some_and(Kernel::is_f64) {
            cases::<f64>(&device, kernel, &table)
        } else {
            cases::<f32>(&device, kernel, &table)
        };
    }
    ensure!(failed == 0, "{failed} cases failed");
    let engine = Engine::Devices(vec![Arc::clone(&device)]);
    let results = |what: &str, kernels: &[Option<Kernel>], updates, check: fn(&[Run<'_>]) -> Result<Vec<Compared>>| {
        let runs: Vec<Run<'_>> = kernels.iter().map(|&kernel| (&engine, kernel, updates)).collect();
        for (kernel, (results, worst)) in kernels.iter().zip(check(&runs)?) {
            let name = kernel.map_or("chosen", Kernel::name);
            println!("{what}, {name}    {results} results, 0 failed, largest difference {worst:.2e}");
        }
        anyhow::Ok(())
    };
    use Kernel::{
        Band, BandCounted, ColumnsMeasures, ColumnsMeasuresF64, ColumnsSums, ColumnsSumsF64, Footprint, Measures,
        MeasuresF64, Tensor, TensorCounted,
    };
    let kernels = [None, Some(Measures), Some(ColumnsMeasures)];
    results("measures f32", &kernels, usize::MAX, measures::check::<f32>)?;
    let kernels = [None, Some(MeasuresF64), Some(ColumnsMeasuresF64)];
    results("measures f64", &kernels, usize::MAX, measures::check::<f64>)?;
    let kernels = [Tensor, TensorCounted, Band, BandCounted, Footprint].map(Some);
    results("measures of one sum", &kernels, 8_000_000, |runs| measures::check_one_sum(1400, 1, runs))?;
    results("measures from sums f32", &[None, Some(ColumnsSums)], 10_000_000, measures::check_sums::<f32>)?;
    results("measures from sums f64", &[None, Some(ColumnsSumsF64)], 10_000_000, measures::check_sums::<f64>)?;
    the_arrays(&device, &table)?;
    let (cases, worst) = words::check(&device, 0, 1)?;
    println!("16-bit codes    {cases} cases, 0 failed, largest difference {worst:.2e}");
    occupancy(&cuda)?;
    little_memory(&cuda)?;
    several_devices(&device)?;
    shortest_paths(&device)?;
    the_primer(&device)
}

/// Arrays in the device's memory, against the same numbers in the host's; then the table of cases from device to device.
fn the_arrays(device: &Arc<dyn Device>, table: &[Checked]) -> Result<()> {
    let checked = arrays::check(device, 1)?;
    println!("arrays          {checked} cases, bit-identical to those of the host");
    println!("arrays          {} errors as on the host", arrays::check_errors(device)?);
    let mut worst = 0.0f64;
    for checked in table {
        for arrangement in arrays::Arrangement::ALL {
            let f32 = arrays::check_case::<f32>(device, None, checked, arrangement)?;
            let f64 = arrays::check_case::<f64>(device, None, checked, arrangement)?;
            worst = f32.into_iter().chain(f64).fold(worst, f64::max);
        }
    }
    println!("arrays          {} cases from device to device, largest difference {worst:.2e}", table.len());
    // SAFETY: the numbers name default streams, which always live.
    (0..3).try_for_each(|stream| unsafe { device.wait_for_stream(stream) })?;
    Ok(())
}

/// Every kernel for shortest paths over the table of graphs, in every type it has; then graphs of thousands of vertices whose distances are known, on
/// several devices, and in blocks as where memory is short.
fn shortest_paths(device: &Arc<dyn Device>) -> Result<()> {
    let one = std::slice::from_ref(device);
    let run = |case: &apsp::Case, kernel, devices: &[Arc<dyn Device>]| {
        case.check_types(kernel != halotile_lab::apsp::Kernel::Tiled, |matrix| {
            matrix.solve(kernel, devices).map_err(|error| format!("{kernel}: {error}"))
        })
    };
    for kernel in halotile_lab::apsp::Kernel::ALL.into_iter().filter(|kernel| kernel.on_device()) {
        let mut count = 0;
        for vertices in apsp::SIZES {
            for case in apsp::random(vertices).into_iter().chain(apsp::shapes(vertices)) {
                count += run(&case, kernel, one).map_err(Error::msg)?;
            }
        }
        for case in [1000, 4097].into_iter().flat_map(apsp::shapes) {
            count += run(&case, kernel, one).map_err(Error::msg)?;
        }
        println!("shortest paths  {count} graphs by {kernel}, 0 failed");
    }
    // Four at least, with several devices on a GPU where there are fewer: who sends what to whom depends on the number of devices.
    let gpus = cuda::count()?;
    let devices = (0..gpus.max(4)).map(|i| Ok(Arc::new(CudaDevice::new(i % gpus)?) as Arc<dyn Device>));
    let devices: Vec<_> = devices.collect::<Result<_>>()?;
    for count in 1..=devices.len() {
        let mut graphs = 0;
        for case in [129, 1000, 4097].into_iter().flat_map(apsp::shapes) {
            for kernel in [halotile_lab::apsp::Kernel::Blocked64, halotile_lab::apsp::Kernel::Tiled] {
                graphs += run(&case, kernel, &devices[..count]).map_err(Error::msg)?;
            }
            let in_blocks = |matrix: &mut apsp::AnyMatrix<'_>| {
                matrix.solve_in_blocks(1024, &devices[..count]).map_err(|error| error.to_string())
            };
            graphs += case.check_types(false, in_blocks).map_err(Error::msg)?;
        }
        let on = gpus.min(count);
        println!("shortest paths  {graphs} graphs by {count} devices on {on} GPUs, whole and in blocks, 0 failed");
    }
    Ok(())
}

/// Every case of the primer, over sizes that no tile and no vector divides, against its oracle.
fn the_primer(device: &Arc<dyn Device>) -> Result<()> {
    const SIZES: [&[primer::Size]; 3] = [
        &[[1, 0, 0], [31, 0, 0], [257, 0, 0], [4099, 0, 0]],
        &[
            [1, 1, 0],
            [1, 1000, 0],
            [1000, 1, 0],
            [31, 33, 0],
            [65, 127, 0],
            [129, 257, 0],
            [1024, 1024, 0],
            [1001, 999, 0],
        ],
        &[[1, 1, 1], [1, 1000, 1], [33, 31, 17], [127, 129, 9], [128, 256, 64], [257, 255, 1000], [1024, 1024, 8]],
    ];
    for topic in primer::TOPICS {
        let mut count = 0;
        for &size in SIZES[topic.size.split('x').count() - 1] {
            for &elements in topic.elements {
                for case in (topic.cases)(&primer::Ask { size, elements, seed: 11 }) {
                    let mut run = case.start(device, 2)?;
                    for _ in 0..3 {
                        run.run()?;
                    }
                    run.check()?.map_err(|wrong| {
                        Error::msg(format!(
                            "{} {size:?} {elements}: {} {:?}: {wrong}",
                            topic.name,
                            case.name(),
                            case.parameters()
                        ))
                    })?;
                    count += 1;
                }
            }
        }
        println!("primer          {count} cases of {}, 0 failed", topic.name);
    }
    Ok(())
}

/// The emulator and the GPU write the same words.
fn same_words(device: &Arc<dyn Device>) -> Result<()> {
    let emulator: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    let (expected, got) = (selftest::run(&emulator)?, selftest::run(device)?);
    for (i, (expected, got)) in expected.0.iter().zip(&got.0).enumerate() {
        let words = halotile_kernels::selftest::WORDS;
        ensure!(
            expected == got,
            "selftest: thread {}, word {}: {got:#x}, emulator {expected:#x}",
            i / words,
            i % words
        );
    }
    ensure!(expected.1 == got.1, "selftest: counters {:x?}, emulator {:x?}", got.1, expected.1);
    println!("selftest: {} words as in the emulator", got.0.len());
    Ok(())
}

/// The driver puts as many blocks on a multiprocessor as `halotile::occupancy` says, for every kernel as the driver has compiled
/// it, in blocks of several sizes and with several amounts of shared memory.
fn occupancy(cuda: &Arc<CudaDevice>) -> Result<()> {
    let description = cuda.description();
    let Some(arch) = Architecture::of_capability(description.compute_capability) else {
        let (major, minor) = description.compute_capability;
        println!("occupancy       skipped: halotile does not know compute capability {major}.{minor}");
        return Ok(());
    };
    ensure!(
        arch.shared_per_block == description.shared_per_block,
        "occupancy: a block of {} has {} bytes of shared memory, the device says {}",
        arch.name,
        arch.shared_per_block,
        description.shared_per_block
    );
    let (mut done, mut others) = (0, 0);
    for entry in [halotile_kernels::FAMILIES, halotile_lab_kernels::FAMILIES].concat().into_iter().flatten() {
        let compiled = cuda.compiled(entry)?;
        if let Some(reported) = resources::kernel(entry.name, arch.name)
            && (reported.registers, reported.shared_bytes) != (compiled.registers, compiled.shared_bytes)
        {
            others += 1;
            println!(
                "occupancy       {}: the driver gives it {} registers and {} bytes of shared memory, ptxas {} {} and {}",
                entry.name,
                compiled.registers,
                compiled.shared_bytes,
                resources::assembler(),
                reported.registers,
                reported.shared_bytes
            );
        }
        let most = arch.shared_per_block - compiled.shared_bytes;
        for threads in [1, 32, 33, 64, 96, 128, 160, 256, 384, 512, 544, 768, 1024] {
            for dynamic in [0, 1, 1000, 16 * 1024, most / 3, most / 2, most] {
                let shared_bytes = compiled.shared_bytes + dynamic;
                let demand = Demand { threads, registers: compiled.registers, shared_bytes };
                // For what does not fit, the driver has an error or none, and `resident_blocks` at least one.
                let Ok(expected) = arch.occupancy(demand) else { continue };
                if threads > entry.max_threads {
                    continue;
                }
                let blocks = cuda.resident_blocks(entry, threads, dynamic)? / description.multiprocessors;
                ensure!(
                    blocks == expected.blocks,
                    "occupancy: {}, {demand:?}: the driver says {blocks} blocks, and {expected:?}",
                    entry.name
                );
                done += 1;
            }
        }
    }
    ensure!(done > 0, "occupancy: no case");
    println!("occupancy       {done} cases as the driver says; {others} kernels with other registers than reported");
    Ok(())
}

/// A grid that needs more memory than is free is computed in bands, bit for bit as in one piece.
fn little_memory(cuda: &Arc<CudaDevice>) -> Result<()> {
    let device: Arc<dyn Device> = cuda.clone();
    let engine = Engine::Devices(vec![Arc::clone(&device)]);
    let cells = generate(Pattern::Random, 16, 8192)?;
    let run = || -> Result<(usize, Grid<f32>)> {
        let mut out = Grid::<f32>::zeros(8192, 8192)?;
        let report = Entropy::new().size(21).compute_into(&engine, cells.view(), out.view_mut(), &())?;
        Ok((report.bands, out))
    };
    let (_, whole) = run()?;
    // All but 100 MB of the device's memory; the grid and its result take 335.
    let free = device.free_memory()?;
    let hog = Buffer::new(&device, free - (100 << 20))?;
    let (bands, banded) = run()?;
    drop(hog);
    ensure!(bands > 1, "{bands} bands");
    ensure!(whole == banded, "bands changed the result");
    println!("little memory   8192 x 8192 in {bands} bands, bit-identical");
    Ok(())
}

/// All devices of the machine together give what one gives.
fn several_devices(device: &Arc<dyn Device>) -> Result<()> {
    let count = cuda::count()?;
    if count < 2 {
        println!("several devices skipped: this machine has one");
        return Ok(());
    }
    let all = (0..count).map(|i| Ok(Arc::new(CudaDevice::new(i)?) as Arc<dyn Device>)).collect::<Result<Vec<_>>>()?;
    let cells = generate(Pattern::Clustered, 16, 8192)?;
    let run = |engine: &Engine| -> Result<Grid<f32>> {
        let mut out = Grid::<f32>::zeros(8192, 8192)?;
        Entropy::new().compute_into(engine, cells.view(), out.view_mut(), &())?;
        Ok(out)
    };
    let one = run(&Engine::Devices(vec![Arc::clone(device)]))?;
    ensure!(one == run(&Engine::Devices(all))?, "{count} devices changed the result");
    println!("several devices 8192 x 8192 on {count}, bit-identical to one");
    Ok(())
}

/// Runs the table; returns how many cases failed.
fn cases<T: halotile::entropy::Real + Into<f64>>(
    device: &Arc<dyn Device>,
    kernel: Option<Kernel>,
    table: &[Checked],
) -> usize {
    let engine = Engine::Devices(vec![Arc::clone(device)]);
    let (mut done, mut failed, mut worst) = (0, 0, 0.0f64);
    for checked in table {
        match check::<T>(&engine, kernel, checked) {
            Ok(Some(difference)) => {
                done += 1;
                worst = worst.max(difference);
            }
            Ok(None) => {}
            Err(error) => {
                failed += 1;
                println!("FAILED {}: {error:#}", kernel.map_or("auto", Kernel::name));
            }
        }
    }
    let name = kernel.map_or("auto", Kernel::name);
    println!("{name:15} {done:4} cases, {failed} failed, largest difference {worst:.2e}");
    failed
}

/// A square grid, rows side by side on all cores.
fn generate(pattern: Pattern, levels: usize, side: usize) -> Result<Grid<u8>> {
    use rayon::prelude::*;
    let generator = Generator::new(pattern, 1, levels)?;
    let mut grid = Grid::<u8>::zeros(side, side)?;
    grid.as_mut_slice().par_chunks_mut(side).enumerate().for_each(|(r, row)| generator.fill_row(r as u64, 0, row));
    Ok(grid)
}
