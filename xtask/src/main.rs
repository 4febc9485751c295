//! `cargo xtask`: what building and checking halotile takes beyond plain cargo.
//!
//! Users of halotile need none of it: the PTX that `build-ptx` makes and the report that `ptx-report` makes of it
//! are committed. A change to a kernel takes both; CI runs them with `--check`, and looks at the benchmark report in a browser.

mod aarch64_test;
mod browser_test;
mod build_ptx;
mod fuzz;
mod gpu_test;
mod graph_test;
mod hash;
mod launch_bounds;
mod nvidia;
mod occupancy_check;
mod panics;
mod ptx;
mod ptx_report;
mod python;
mod python_test;
mod raster_test;
mod sass;
mod soak;
mod symbols;
mod toolchain;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "halotile's build tasks")]
enum Command {
    /// Compile the kernels to kernels/ptx/halotile.ARCH.ptx and lab/kernels/ptx/halotile-lab.ARCH.ptx
    BuildPtx(build_ptx::Options),
    /// Assemble the committed PTX for every architecture and record what each kernel uses
    PtxReport(ptx_report::Options),
    /// Install the device compiler and NVIDIA's assembler where they are missing
    Tools(tools::Options),
    /// Compare the library's occupancy calculator with NVIDIA's
    OccupancyCheck,
    /// Print a kernel's machine code
    Sass(sass::Options),
    /// Run the kernels' tests on this machine's GPU, or pack them for another machine
    GpuTest(gpu_test::Options),
    /// Run the CPU engine's tests on an emulated AArch64
    Aarch64Test(aarch64_test::Options),
    /// Look at the benchmark report in a browser
    BrowserTest,
    /// Exchange GeoTIFFs with rasterio, which is GDAL
    RasterTest(raster_test::Options),
    /// Compare shortest paths with scipy's
    GraphTest(graph_test::Options),
    /// Build the Python package's wheel and run its tests
    PythonTest(python_test::Options),
    /// Search for inputs that break a promise, with libFuzzer
    Fuzz(fuzz::Options),
    /// Run the program at random, disturb it, and check every result
    Soak(soak::Options),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::BuildPtx(options) => build_ptx::run(&options),
        Command::PtxReport(options) => ptx_report::run(&options),
        Command::Tools(options) => tools::run(&options),
        Command::OccupancyCheck => occupancy_check::run(),
        Command::Sass(options) => sass::run(&options),
        Command::GpuTest(options) => gpu_test::run(&options),
        Command::Aarch64Test(options) => aarch64_test::run(&options),
        Command::BrowserTest => browser_test::run(),
        Command::RasterTest(options) => raster_test::run(&options),
        Command::GraphTest(options) => graph_test::run(&options),
        Command::PythonTest(options) => python_test::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Soak(options) => soak::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
