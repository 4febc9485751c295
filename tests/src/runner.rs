//! The runner: one engine, one case, against the oracle.

use anyhow::{Context as _, Result, bail, ensure};
use halotile::entropy::{Engine, Entropy, Error, Kernel, Place, Real};
use halotile::grid::Grid;
use halotile::reference;

use crate::cases::Case;

/// Largest difference that a kernel may have from the oracle, in nats.
pub const TOLERANCE: f64 = 1e-5;
/// The same for the kernels that are chosen by themselves, and for the CPU engine.
pub const PRODUCTION: f64 = 2e-6;
/// The same for f64 results.
pub const DOUBLE: f64 = 1e-12;

/// Largest difference that `kernel` (`None`: the one chosen by itself) may have.
pub fn tolerance<T>(kernel: Option<Kernel>) -> f64 {
    match kernel {
        _ if size_of::<T>() == 8 => DOUBLE,
        Some(Kernel::Naive | Kernel::Tiled | Kernel::Rung(_)) => TOLERANCE,
        _ => PRODUCTION,
    }
}

/// A case with its oracle, computed once.
pub struct Checked {
    pub case: Case,
    pub expected: Grid<f64>,
}

impl Checked {
    pub fn new(case: Case) -> Self {
        let expected = reference::entropy(case.cells.view(), case.size, case.nodata);
        Self { case, expected }
    }
}

/// The table with its oracles.
pub fn table() -> Vec<Checked> {
    use rayon::prelude::*;
    crate::cases::all().into_par_iter().map(Checked::new).collect()
}

/// Reads of cells up to which the kernels that count every window anew are run: more would take minutes in the emulator.
const MOST_READS: usize = 60_000_000;

/// Runs the case on `engine` (a rung that is a function on the CPU: there) and compares. `None`: the kernel asked for does not
/// do this kind of work.
pub fn check<T: Real + Into<f64>>(engine: &Engine, kernel: Option<Kernel>, checked: &Checked) -> Result<Option<f64>> {
    let Checked { case, expected } = checked;
    let (rows, cols) = (case.cells.rows(), case.cells.cols());
    let reads = rows * cols * case.size.min(rows) * case.size.min(cols);
    if matches!(kernel, Some(Kernel::Naive | Kernel::Tiled)) && reads > MOST_READS {
        return Ok(None);
    }
    let on_cpu = kernel.is_some_and(|kernel| kernel.place() == Place::Cpu);
    let engine = if on_cpu { &Engine::Cpu } else { engine };
    // A result that nobody writes must not look like one.
    let mut out = Grid::from_fn(rows, cols, |_, _| poison::<T>())?;
    let entropy = Entropy::new().size(case.size).nodata(case.nodata).kernel(kernel);
    match entropy.compute_into(engine, case.cells.view(), out.view_mut(), &()) {
        Ok(_) => {}
        Err(Error::KernelMisfit { .. }) => return Ok(None),
        Err(error) => return Err(error).with_context(|| case.name.clone()),
    }
    let worst = compare(&out, expected, case.flat, tolerance::<T>(kernel)).with_context(|| case.name.clone())?;
    Ok(Some(worst))
}

/// A value that no entropy has: in both precisions a number beyond all bounds.
fn poison<T: Real>() -> T {
    let mut value = T::default();
    bytemuck::bytes_of_mut(&mut value).fill(0x7E);
    value
}

/// The largest difference, or an error naming the first cell that is off by more than `tolerance`.
pub fn compare<T: Real + Into<f64>>(got: &Grid<T>, expected: &Grid<f64>, flat: bool, tolerance: f64) -> Result<f64> {
    let mut worst = 0.0f64;
    for r in 0..expected.rows() {
        for (c, (&got, &expected)) in got.row(r).iter().zip(expected.row(r)).enumerate() {
            let got: f64 = got.into();
            if expected.is_nan() {
                ensure!(got.is_nan(), "row {r}, column {c}: {got}, and nodata was expected");
                continue;
            }
            let difference = (got - expected).abs();
            // NaN is not within any tolerance.
            if difference.is_nan() || difference > tolerance {
                bail!("row {r}, column {c}: {got}, and {expected} was expected ({difference:e} off)");
            }
            ensure!(!flat || (got == 0.0 && got.is_sign_positive()), "row {r}, column {c}: {got}, not exactly 0");
            worst = worst.max(difference);
        }
    }
    Ok(worst)
}
