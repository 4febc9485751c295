//! The runner: one engine, one case, against the oracle.

use anyhow::{Context as _, Result, ensure};
use halotile::entropy::{Engine, Entropy, Error, Kernel, Place, Real};
use halotile::grid::Grid;
use halotile::reference;
use halotile_lab::bench;

use crate::cases::Case;

/// Largest difference that `kernel` (`None`: the one chosen by itself) may have, in nats.
pub fn tolerance<T>(kernel: Option<Kernel>) -> f64 {
    bench::tolerance(kernel, size_of::<T>() == 8)
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
    checked(crate::cases::all())
}

/// Cases with their oracles.
pub fn checked(cases: Vec<Case>) -> Vec<Checked> {
    use rayon::prelude::*;
    cases.into_par_iter().map(Checked::new).collect()
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
    // A result that is not written must not look like one.
    let mut out = Grid::from_fn(rows, cols, |_, _| poison::<T>())?;
    let entropy = Entropy::new().size(case.size).nodata(case.nodata.map(u16::from)).kernel(kernel);
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

/// The largest difference, or an error naming the first cell that is off by more than `tolerance`; where the oracle is `flat`, the
/// first that is not exactly 0.
pub fn compare<T: Real + Into<f64>>(got: &Grid<T>, expected: &Grid<f64>, flat: bool, tolerance: f64) -> Result<f64> {
    let worst = bench::compare(got.view(), expected, tolerance)?;
    for r in 0..got.rows() {
        for (c, &value) in got.row(r).iter().enumerate() {
            let value: f64 = value.into();
            let zero = value.is_nan() || (value == 0.0 && value.is_sign_positive());
            ensure!(!flat || zero, "row {r}, column {c}: {value}, not exactly 0");
        }
    }
    Ok(worst)
}
