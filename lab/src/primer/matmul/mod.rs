//! Matrix multiply: C = A · B in f32 on CUDA cores, from a thread an element to tiles in registers.
//!
//! [`multiply`] is the product of slices by any rung. `oracle` has what the topic's cases are compared with: every element, or of larger
//! ones rows, columns and a checksum.

use std::iter::once;
use std::sync::{Arc, OnceLock};

use halotile_lab_kernels::primer::matmul::{
    MATMUL_TILE, MATMUL2_COLS, MATMUL2_ROWS, SGEMM_COLS, SGEMM_ROWS, SGEMM_THREADS, SGEMM_WIDE_COLS, primer_matmul0,
    primer_matmul1, primer_matmul2, primer_sgemm, primer_sgemm_wide,
};
use rayon::prelude::*;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::data::{Elements, Turns, random};
use super::{Ask, Case, Run, Topic, Work, extents};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

mod oracle;

/// Products of matrices.
pub const MATMUL: Topic = Topic {
    name: "matmul",
    title: "matrix multiply: arithmetic against the reuse of what is loaded",
    size: "MxNxK",
    sizes: [&[[1024, 0, 0], [4096, 0, 0], [8192, 0, 0], [1000, 1001, 1002]], &[[128, 256, 16]]],
    elements: &[Elements::F32],
    rungs: || Rung::ALL.map(Rung::name).to_vec(),
    cases: |ask| {
        let problem = Arc::new(Problem::new(ask));
        let case = |rung| Box::new(Multiply { rung, problem: Arc::clone(&problem) }) as Box<dyn Case>;
        Rung::ALL.map(case).into()
    },
};

/// Products of so many multiplications are compared element by element.
const EVERY_ELEMENT: usize = 1 << 27;
/// Rows and columns that are compared of others.
const LINES: [usize; 2] = [24, 8];

/// A way to multiply matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rung {
    /// A thread an element, everything from global memory.
    Matmul0,
    /// Tiles of 16 × 16 in shared memory.
    Matmul1,
    /// 16 elements a thread in registers, one factor in shared memory (Volkov).
    Matmul2,
    /// 8 × 8 elements a thread, 128 × 128 a block.
    Sgemm,
    /// 8 × 16 elements a thread, 128 × 256 a block.
    SgemmWide,
}

impl Rung {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Matmul0, Self::Matmul1, Self::Matmul2, Self::Sgemm, Self::SgemmWide];

    /// Its name in tables and on the command line.
    ///
    /// ```
    /// use halotile_lab::primer::matmul::Rung;
    /// assert_eq!(Rung::ALL.map(Rung::name), ["matmul0", "matmul1", "matmul2", "sgemm", "sgemm-wide"]);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Matmul0 => "matmul0",
            Self::Matmul1 => "matmul1",
            Self::Matmul2 => "matmul2",
            Self::Sgemm => "sgemm",
            Self::SgemmWide => "sgemm-wide",
        }
    }

    /// The rung that it changes something about.
    pub fn before(self) -> Option<Self> {
        match self {
            Self::Matmul0 => None,
            Self::Matmul1 => Some(Self::Matmul0),
            Self::Matmul2 => Some(Self::Matmul1),
            Self::Sgemm => Some(Self::Matmul2),
            Self::SgemmWide => Some(Self::Sgemm),
        }
    }

    /// What it changes, in a line.
    pub fn idea(self) -> &'static str {
        match self {
            Self::Matmul0 => "a thread an element: two loads from global memory for a multiply-add",
            Self::Matmul1 => "tiles in shared memory: a sixteenth of the loads from global memory",
            Self::Matmul2 => "16 elements a thread in registers: a load from shared memory for a multiply-add, not two",
            Self::Sgemm => {
                "8 x 8 elements a thread, 16 bytes a load, the next tile on its way: 4 loads for 64 multiply-adds"
            }
            Self::SgemmWide => "8 x 16 elements a thread: 6 loads for 128 multiply-adds, one block on a multiprocessor",
        }
    }

    /// Its kernel.
    pub fn kernel(self) -> &'static KernelEntry {
        match self {
            Self::Matmul0 => &primer_matmul0::ENTRY,
            Self::Matmul1 => &primer_matmul1::ENTRY,
            Self::Matmul2 => &primer_matmul2::ENTRY,
            Self::Sgemm => &primer_sgemm::ENTRY,
            Self::SgemmWide => &primer_sgemm_wide::ENTRY,
        }
    }

    /// Rows and columns of C that a block makes, and its threads.
    fn block(self) -> ([u32; 2], [u32; 3]) {
        match self {
            Self::Matmul0 | Self::Matmul1 => ([MATMUL_TILE; 2], [MATMUL_TILE, MATMUL_TILE, 1]),
            // By columns: what it takes for rows are ours.
            Self::Matmul2 => ([MATMUL2_COLS, MATMUL2_ROWS], [16, MATMUL2_ROWS / 16, 1]),
            Self::Sgemm => ([SGEMM_ROWS, SGEMM_COLS], [SGEMM_THREADS, 1, 1]),
            Self::SgemmWide => ([SGEMM_ROWS, SGEMM_WIDE_COLS], [SGEMM_THREADS, 1, 1]),
        }
    }
}

/// The product of `a`, m × k, and `b`, k × n, both row by row: m × n numbers, row by row. `extents` is m, n, k.
///
/// Every element is within (1 + 2^-24)^k − 1, about k · 2^-24, times the sum of its products' magnitudes of what it should be.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::Device;
/// use halotile::exec::emulator::EmulatedDevice;
/// use halotile_lab::primer::matmul::{Rung, multiply};
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
/// let c = multiply(&device, Rung::Matmul1, &a, &b, [2, 2, 2])?;
/// assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
/// # Ok::<(), halotile::exec::DeviceError>(())
/// ```
///
/// # Errors
/// What the device says: that its memory is too small, above all.
///
/// # Panics
/// When an extent is 0 or more than 2^31 − 1, or a slice is not as long as the extents say.
pub fn multiply(
    device: &Arc<dyn Device>,
    rung: Rung,
    a: &[f32],
    b: &[f32],
    extents: [usize; 3],
) -> Result<Vec<f32>, DeviceError> {
    let matrices = Matrices::new(device, a, b, extents)?;
    matrices.multiply(rung)?;
    matrices.product()
}

/// Two factors and their product on a device.
struct Matrices {
    device: Arc<dyn Device>,
    a: Buffer,
    b: Buffer,
    c: Buffer,
    extents: [usize; 3],
}

impl Matrices {
    fn new(
        device: &Arc<dyn Device>,
        a: &[f32],
        b: &[f32],
        extents @ [m, n, k]: [usize; 3],
    ) -> Result<Self, DeviceError> {
        let fits = |extent: usize| extent >= 1 && i32::try_from(extent).is_ok();
        assert!(extents.into_iter().all(fits), "extents {m} x {n} x {k}: each is 1 to 2147483647");
        assert!(
            a.len() == m * k && b.len() == k * n,
            "{} and {} numbers are not {m} x {k} and {k} x {n}",
            a.len(),
            b.len()
        );
        let (a, b) = (Buffer::from_slice(device, a)?, Buffer::from_slice(device, b)?);
        let c = Buffer::new(device, m * n * size_of::<f32>())?;
        // Not a number, until it is written.
        device.fill(&c, 0xFF)?;
        Ok(Self { device: Arc::clone(device), a, b, c, extents })
    }

    /// Returns the seconds that the kernel took.
    fn multiply(&self, rung: Rung) -> Result<f64, DeviceError> {
        let [m, n, k] = self.extents.map(|extent| extent as u32);
        let ([rows, cols], block) = rung.block();
        // Memory ends long before blocks do: there can be 2^31 − 1.
        let blocks = m.div_ceil(rows) * n.div_ceil(cols);
        let config = LaunchConfig { grid: [blocks, 1, 1], block, shared_bytes: 0 };
        let (a, b, c): (_, _, Arg) = (self.a.input::<f32>(), self.b.input::<f32>(), self.c.output::<f32>());
        let args = match rung {
            // Column by column C = A · B is what row by row is C' = B' · A'.
            Rung::Matmul2 => [b, a, c, n.into(), m.into(), k.into()],
            _ => [a, b, c, m.into(), n.into(), k.into()],
        };
        // SAFETY: buffers are as long as the extents say, which is checked, and aligned to 256 bytes; there is a block for each tile.
        unsafe { self.device.launch(rung.kernel(), &config, &args) }
    }

    fn product(&self) -> Result<Vec<f32>, DeviceError> {
        self.c.to_vec()
    }

    fn replace(&self, [a, b]: &Factors) -> Result<(), DeviceError> {
        for (buffer, numbers) in [(&self.a, a), (&self.b, b)] {
            buffer.write(0, bytemuck::cast_slice(numbers))?;
        }
        Ok(())
    }
}

/// A and B.
type Factors = [Vec<f32>; 2];

/// What all rungs are given.
#[derive(Debug)]
struct Problem {
    extents: [usize; 3],
    seed: u64,
    factors: OnceLock<Factors>,
}

impl Problem {
    fn new(ask: &Ask) -> Self {
        Self { extents: extents(ask.size), seed: ask.seed, factors: OnceLock::new() }
    }

    /// Random numbers, evenly from -1 to 1.
    fn factors(&self) -> &Factors {
        self.factors.get_or_init(|| self.make(|seed, at| (random(seed, at) >> 40) as f32 / (1 << 23) as f32 - 1.0))
    }

    fn make(&self, number: impl Fn(u64, usize) -> f32 + Sync) -> Factors {
        let [m, n, k] = self.extents;
        let numbers = |seed, count| (0..count).into_par_iter().map(|at| number(seed, at)).collect();
        [numbers(self.seed, m * k), numbers(!self.seed, k * n)]
    }

    /// Every element of C, or what is wrong with one.
    fn check_all(&self, c: &[f32]) -> Result<(), String> {
        self.check_rows(c, (0..self.extents[0]).collect())
    }

    fn check_rows(&self, c: &[f32], rows: Vec<usize>) -> Result<(), String> {
        let ([a, b], [_, n, k]) = (self.factors(), self.extents);
        let growth = oracle::growth(k);
        rows.into_par_iter().try_for_each(|i| {
            let expected = oracle::row(a, b, self.extents, i);
            (0..n).try_for_each(|j| oracle::compare(i, j, c[i * n + j], expected[j], growth))
        })
    }

    fn check_cols(&self, c: &[f32], cols: Vec<usize>) -> Result<(), String> {
        let ([a, b], [m, n, k]) = (self.factors(), self.extents);
        let growth = oracle::growth(k);
        cols.into_par_iter().try_for_each(|j| {
            let expected = oracle::col(a, b, self.extents, j);
            (0..m).try_for_each(|i| oracle::compare(i, j, c[i * n + j], expected[i], growth))
        })
    }

    /// The first, the last and random ones of `extent`, `count` in all.
    fn lines(&self, extent: usize, count: usize) -> Vec<usize> {
        let random = |i| random(self.seed, i) as usize % extent;
        once(0).chain(once(extent - 1)).chain((2..count).map(random)).collect()
    }
}

#[derive(Debug)]
struct Multiply {
    rung: Rung,
    problem: Arc<Problem>,
}

impl Case for Multiply {
    fn name(&self) -> &'static str {
        self.rung.name()
    }

    fn before(&self) -> Option<&'static str> {
        self.rung.before().map(Rung::name)
    }

    fn idea(&self) -> &'static str {
        self.rung.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(self.rung.kernel())
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Flops(2.0 * self.problem.extents.map(|extent| extent as f64).iter().product::<f64>())
    }

    fn bytes(&self, copies: usize) -> usize {
        let [m, n, k] = self.problem.extents;
        copies * (m * k + k * n + m * n) * size_of::<f32>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        Ok(Box::new(self.started(device, copies)?))
    }
}

impl Multiply {
    fn started(&self, device: &Arc<dyn Device>, copies: usize) -> Result<Started<'_>, DeviceError> {
        let [a, b] = self.problem.factors();
        let matrices = (0..copies).map(|_| Matrices::new(device, a, b, self.problem.extents));
        Ok(Started { case: self, matrices: Turns::new(matrices.collect::<Result<_, _>>()?) })
    }
}

struct Started<'a> {
    case: &'a Multiply,
    matrices: Turns<Matrices>,
}

impl Started<'_> {
    /// Rows and columns of the last run's product; then a product of whole numbers, by checksum.
    fn check_some(&self) -> Result<Result<String, String>, DeviceError> {
        let (problem, matrices) = (&*self.case.problem, self.matrices.current());
        let extents @ [m, n, k] = problem.extents;
        let c = matrices.product()?;
        let [rows, cols] = LINES;
        let lines = problem.check_rows(&c, problem.lines(m, rows));
        if let Err(wrong) = lines.and_then(|()| problem.check_cols(&c, problem.lines(n, cols))) {
            return Ok(Err(wrong));
        }
        let whole = problem.make(|seed, at| oracle::whole(seed, at, k));
        matrices.replace(&whole)?;
        matrices.multiply(self.case.rung)?;
        let c = matrices.product()?;
        matrices.replace(problem.factors())?;
        let bound = format!("{rows} rows and {cols} columns within (1 + 2^-24)^k - 1 of |A| |B|");
        let verified = format!("{bound}; of whole numbers all elements exactly, by checksum");
        Ok(oracle::checksum(&whole[0], &whole[1], &c, extents, problem.seed).map(|()| verified))
    }
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        self.matrices.next().multiply(self.case.rung)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let problem = &self.case.problem;
        if problem.extents.iter().product::<usize>() > EVERY_ELEMENT {
            return self.check_some();
        }
        let checked = problem.check_all(&self.matrices.current().product()?);
        Ok(checked.map(|()| "every element, within (1 + 2^-24)^k - 1 of |A| |B|".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primer::Size;
    use halotile::exec::emulator::EmulatedDevice;

    fn device() -> Arc<dyn Device> {
        Arc::new(EmulatedDevice::new(0, None))
    }

    fn problem(size: Size) -> Problem {
        Problem::new(&Ask { size, elements: Elements::F32, seed: 7 })
    }

    fn right(rung: Rung, size: Size) {
        let problem = problem(size);
        let [a, b] = problem.factors();
        let c = multiply(&device(), rung, a, b, size).unwrap_or_else(|error| panic!("{rung:?} {size:?}: {error}"));
        problem.check_all(&c).unwrap_or_else(|wrong| panic!("{rung:?} {size:?}: {wrong}"));
    }

    #[test]
    fn every_rung_is_right_at_every_edge() {
        let lines = [[1, 1, 1], [1, 37, 1], [37, 1, 1], [1, 1, 100], [1, 70, 9], [70, 1, 9], [2, 3, 100]];
        let edges = [15, 16, 17, 63, 64, 65, 127, 128, 129];
        let shapes = edges.into_iter().flat_map(|edge| [[edge, 130 - edge, 7], [129 - edge.min(128), edge, 8]]);
        let depths = [1, 7, 8, 9, 12, 16, 17, 20, 100].map(|k| [20, 24, k]);
        let sizes: Vec<Size> = lines.into_iter().chain(shapes).chain(depths).collect();
        for rung in Rung::ALL {
            sizes.iter().for_each(|&size| right(rung, size));
        }
    }

    #[test]
    fn whole_tiles_take_the_way_without_guards_and_then_the_other() {
        // Whole tiles; the last step of k is none; edges beside whole tiles.
        for size in [[128, 256, 16], [128, 256, 12], [256, 384, 24], [260, 516, 20]] {
            right(Rung::Sgemm, size);
            right(Rung::SgemmWide, size);
        }
    }

    #[test]
    fn blocks_go_down_a_group_of_rows_and_a_rest() {
        // 18 rows of tiles: a group of 16, and 2.
        right(Rung::Sgemm, [18 * 128 - 3, 130, 1]);
        right(Rung::SgemmWide, [18 * 128 - 3, 258, 1]);
    }

    #[test]
    fn a_size_of_one_number_is_a_cube() {
        assert_eq!(extents([5, 0, 0]), [5, 5, 5]);
        assert_eq!(extents([5, 6, 0]), [5, 6, 6]);
        assert_eq!(extents([5, 6, 7]), [5, 6, 7]);
    }

    #[test]
    fn cases_verify_what_they_run() {
        let ask = Ask { size: [70, 50, 40], elements: Elements::F32, seed: 3 };
        let cases = (MATMUL.cases)(&ask);
        assert_eq!(cases.iter().map(|case| case.name()).collect::<Vec<_>>(), (MATMUL.rungs)());
        for case in cases {
            assert_eq!(case.work(&device().limits()), Work::Flops(280_000.0));
            assert_eq!(case.bytes(2), 2 * 4 * (70 * 40 + 40 * 50 + 70 * 50));
            let mut run = case.start(&device(), 2).unwrap();
            // Nothing has been written yet.
            assert!(run.check().unwrap().unwrap_err().contains("C("));
            for _ in 0..2 {
                run.run().unwrap();
                assert!(run.check().unwrap().unwrap().starts_with("every element"));
            }
        }
    }

    #[test]
    fn large_cases_are_checked_by_lines_and_checksum() {
        let case = Multiply { rung: Rung::Matmul1, problem: Arc::new(problem([33, 20, 50])) };
        let mut run = case.started(&device(), 1).unwrap();
        assert!(run.check_some().unwrap().is_err(), "nothing has been written yet");
        run.run().unwrap();
        assert!(run.check_some().unwrap().unwrap().starts_with("24 rows and 8 columns"));
        // The factors are what they were.
        run.run().unwrap();
        assert!(run.check().unwrap().unwrap().starts_with("every element"));
        // An element of the last column, in a row that is not looked at.
        let mut c = run.matrices.current().product().unwrap();
        let rows = case.problem.lines(33, 24);
        let hidden = (0..33).find(|i| !rows.contains(i)).unwrap();
        c[hidden * 20 + 19] += 1.0;
        case.problem.check_rows(&c, rows).unwrap();
        case.problem.check_cols(&c, case.problem.lines(20, 8)).unwrap_err();
    }

    #[test]
    #[should_panic(expected = "3 and 4 numbers are not 2 x 2 and 2 x 2")]
    fn slices_have_the_extents() {
        let _ = multiply(&device(), Rung::Matmul0, &[1.0; 3], &[1.0; 4], [2, 2, 2]);
    }
}
