//! Tables and constants of measures that come from one sum, as the kernels on the tensor cores take them. Each measure is a launch of its own.

use std::f64::consts::LN_2;
use std::ops::Range;

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::{Launch, Put, Question, Work};
use crate::arrays::PresenceScan;
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError};
use crate::measure::Footprint;
use crate::measure::fixed::{table_u64, wrapping};
use crate::measure::window::{Plane, Quantity, Window};

/// Classes at most.
pub(super) const LEVELS: usize = 48;

/// Bits of a word that count classes.
fn class_bits(work: &Work) -> u32 {
    if work.sweeps() > 1 { kernels::ONE_SUM_MANY_CLASSES } else { kernels::ONE_SUM_CLASSES }
}

/// The largest window with nodata whose evenness is exact enough. Four bits less, and a window of four cells in two pairs is wrong by 7e-7; and two bits are
/// half of a side.
fn evenness_counted(work: &Work) -> usize {
    if work.sweeps() > 1 { 5 } else { 13 }
}

/// How many measures a window has, where each comes from one sum, and nothing else is asked of the window.
pub(super) fn planes_of(window: &Window, work: &Work) -> Option<usize> {
    let odd = !work.size.is_multiple_of(2);
    let plain = odd && work.levels <= LEVELS && !work.f64 && window.is_unconditional();
    (plain && window.planes.iter().all(|plane| is_one_sum(plane, window, work))).then_some(window.planes.len())
}

/// Whether at the grid's corners much less than a quarter of a window's cells may be left.
fn has_small_corners(shape: &Footprint) -> bool {
    let (rows, cols) = (shape.rows(), shape.cols());
    // Of others it is not asked.
    if rows.max(cols) > 255 {
        return true;
    }
    let halves = |len: usize| [0..len / 2 + 1, len / 2..len];
    let count = |rows: &Range<usize>, cols: &Range<usize>| {
        rows.clone().map(|row| cols.clone().filter(|&col| shape.contains(row, col)).count()).sum::<usize>()
    };
    let corners = halves(rows).into_iter().flat_map(|rows| halves(cols).map(|cols| count(&rows, &cols)));
    9 * corners.min().unwrap_or(0) < 2 * shape.count()
}

fn is_one_sum(plane: &Plane, window: &Window, work: &Work) -> bool {
    match (plane.quantity, plane.scale) {
        (Quantity::Shannon | Quantity::Simpson, _) | (Quantity::Classes | Quantity::Squares, None) => true,
        // In large windows of few cells it is not exact enough.
        (Quantity::Evenness, _) => {
            let may_be_few = || work.nodata || !work.square && has_small_corners(window.footprint());
            work.size <= evenness_counted(work) || !may_be_few()
        }
        _ => false,
    }
}

/// How many groups of 16 classes there are, where kernels want that in a formula; of one group, 0.
fn groups(work: &Work) -> u32 {
    if work.sweeps() > 1 { (work.sweeps() as u32) << kernels::ONE_SUM_GROUPS } else { 0 }
}

/// Q(n) of a measure on a device, and its constants.
pub(super) struct OneSum {
    table: Buffer,
    /// Where there are more than 16 classes, with how many groups of them.
    formula: u32,
    scale: Arg,
}

impl OneSum {
    /// Shannon's entropy in f64.
    pub fn double(question: &Question<'_>, put: Put<'_>) -> Result<Self, DeviceError> {
        let (logs, units) = table_u64(question.work.size * question.work.size + 1, question.work.largest);
        let table = put(bytemuck::cast_slice(&logs))?;
        Ok(Self { table, formula: groups(&question.work), scale: Arg::F64(question.scale / units) })
    }

    /// Those of all measures of a question. `logs` is F(n) in the kernel's own units, and how many those are in a nat.
    pub fn all(question: &Question<'_>, (logs, units): (&[u32], f64), put: Put<'_>) -> Result<Vec<Self>, DeviceError> {
        let work = &question.work;
        let shannon = |scale: f64| (logs.to_vec(), kernels::ONE_SUM_SHANNON, scale / units);
        let Some(window) = question.window else { return Ok(vec![Self::new(work, shannon(question.scale), put)?]) };
        let each = |n: &dyn Fn(u32) -> u32| (0..(work.size * work.size + 1) as u32).map(n).collect::<Vec<_>>();
        let squares = || each(&|n| n * n);
        let of = |plane: &Plane| match (plane.quantity, plane.scale) {
            // Its scale is for bits.
            (Quantity::Shannon, Some(scale)) => shannon(scale / LN_2),
            (Quantity::Shannon, None) => (logs.to_vec(), kernels::ONE_SUM_EXPONENTIAL, 1.0 / (LN_2 * units)),
            (Quantity::Simpson, _) => (squares(), kernels::ONE_SUM_SIMPSON, 0.0),
            (Quantity::Squares, _) => (squares(), kernels::ONE_SUM_SQUARES, 0.0),
            (Quantity::Classes, _) => (each(&|n| u32::from(n > 0).wrapping_neg()), kernels::ONE_SUM_RICHNESS, 0.0),
            (Quantity::Evenness, _) => {
                let bits = class_bits(work);
                let (logs, units) = wrapping(work.size * work.size, work.largest, work.levels, 32 - bits);
                let both = |(n, log): (usize, u32)| (log << bits).wrapping_sub(u32::from(n > 0));
                let table = logs.into_iter().enumerate().map(both).collect();
                (table, kernels::ONE_SUM_EVENNESS, 1.0 / (LN_2 * units))
            }
            _ => unreachable!("a measure that does not come from one sum"),
        };
        window.planes.iter().map(|plane| Self::new(work, of(plane), put)).collect()
    }

    fn new(work: &Work, (table, formula, scale): (Vec<u32>, u32, f64), put: Put<'_>) -> Result<Self, DeviceError> {
        let formula = formula + groups(work);
        Ok(Self { table: put(bytemuck::cast_slice(&table))?, formula, scale: Arg::F32(scale as f32) })
    }

    /// What a kernel takes of a finer table for windows of up to so many cells, whose unit is so many times as fine: Shannon's entropy has one.
    pub fn finer(&self, cells: u32, times: f64) -> [Arg; 2] {
        let has_one = [kernels::ONE_SUM_SHANNON, kernels::ONE_SUM_EXPONENTIAL].contains(&self.measure());
        let scale = if let Arg::F32(scale) = self.scale { scale } else { 0.0 };
        [Arg::U32(if has_one { cells } else { 0 }), Arg::F32((f64::from(scale) / times) as f32)]
    }

    /// The one of two kernels that computes it: for Shannon's entropy, or for any measure.
    pub fn entry(&self, [shannon, any]: [KernelEntry; 2]) -> KernelEntry {
        if self.measure() == kernels::ONE_SUM_SHANNON { shannon } else { any }
    }

    /// Its formula, without how many groups there are.
    fn measure(&self) -> u32 {
        self.formula % (1 << kernels::ONE_SUM_GROUPS)
    }

    /// What a kernel that waits for a scan takes of one; see [`PresenceScan::args`].
    pub fn scan(&self, scan: Option<&PresenceScan>) -> [Arg; 2] {
        PresenceScan::args(scan, &self.table)
    }

    /// Its table as kernels take it.
    pub fn entries(&self) -> Arg {
        if matches!(self.scale, Arg::F64(_)) { self.table.input::<u64>() } else { self.table.input::<u32>() }
    }

    /// Its formula and constant as kernels take them.
    pub fn args(&self) -> [Arg; 2] {
        [Arg::U32(self.formula), self.scale]
    }
}

/// A launch for each measure, into planes of a frame's results that lie one behind the other, each `count` · `out_stride` elements long.
pub(super) fn launches(
    sums: &[OneSum],
    frame: &Frame<'_>,
    launch: impl Fn(&OneSum, &Frame<'_>) -> Launch,
) -> Vec<Launch> {
    let plane = frame.count as usize * frame.out_stride as usize * size_of::<f32>();
    let of = |(sum, start): (&OneSum, usize)| {
        let out = frame.out.part(start, frame.out.bytes() - start);
        launch(sum, &Frame { out: &out, ..*frame })
    };
    sums.iter().zip((0..).step_by(plane.max(1))).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_small_where_a_quarter_has_few_cells() {
        for size in [3, 5, 21, 101] {
            assert!(!has_small_corners(&Footprint::disk(size).unwrap()), "{size}");
        }
        assert!(!has_small_corners(&Footprint::new(23, 1, vec![true; 23]).unwrap()));
        // A quarter without any cell.
        let cells = (0..81).map(|cell| cell / 9 > 4 && cell % 9 > 4).collect();
        assert!(has_small_corners(&Footprint::new(9, 9, cells).unwrap()));
    }
}
