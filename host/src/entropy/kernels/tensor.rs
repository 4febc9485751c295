//! The kernels for 5 × 5 and 3 × 3 windows that count on the tensor cores.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::one_sum::{self, OneSum};
use super::share::rows_in_rounds;
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Sides, Work};
use crate::arrays::PresenceScan;
use crate::entropy::frame::Frame;
use crate::exec::DeviceError;
use crate::measure::fixed::table_u32;

/// Every cell counts.
pub(in crate::entropy) static TENSOR: Tensor = Tensor {
    facts: Facts {
        nodata: false,
        ..facts(
            "tensor",
            kernels::entropy_tensor::ENTRY,
            "5 x 5 and 3 x 3 windows of up to 32 classes without nodata, on the tensor cores",
        )
    },
    entry_3: kernels::entropy_tensor_3::ENTRY,
    many: [kernels::entropy_tensor_many::ENTRY, kernels::entropy_tensor_3_many::ENTRY],
    measures: [kernels::entropy_tensor_measures::ENTRY, kernels::entropy_tensor_3_measures::ENTRY],
    many_measures: [kernels::entropy_tensor_many_measures::ENTRY, kernels::entropy_tensor_3_many_measures::ENTRY],
};

/// Cells that are nodata are counted too.
pub(in crate::entropy) static TENSOR_COUNTED: Tensor = Tensor {
    facts: facts("tensor-counted", kernels::entropy_tensor_counted::ENTRY, "the same with nodata"),
    entry_3: kernels::entropy_tensor_3_counted::ENTRY,
    many: [kernels::entropy_tensor_many_counted::ENTRY, kernels::entropy_tensor_3_many_counted::ENTRY],
    measures: [kernels::entropy_tensor_measures_counted::ENTRY, kernels::entropy_tensor_3_measures_counted::ENTRY],
    many_measures: [
        kernels::entropy_tensor_many_measures_counted::ENTRY,
        kernels::entropy_tensor_3_many_measures_counted::ENTRY,
    ],
};

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    let sides = Sides::Any(&[3, 5]);
    Facts {
        sides,
        levels: 32,
        candidate: Candidate::Both,
        one_sum: true,
        counts_nodata: false,
        guarded: true,
        ..Facts::new(name, entry, about)
    }
}

pub(in crate::entropy) struct Tensor {
    facts: Facts,
    /// For windows of 3 × 3.
    entry_3: KernelEntry,
    /// For more than 16 levels: of 5 × 5, and of 3 × 3.
    many: [KernelEntry; 2],
    /// For other measures, likewise.
    measures: [KernelEntry; 2],
    /// For other measures of more than 16 levels.
    many_measures: [KernelEntry; 2],
}

/// The one of two kernels for a window's size: for 5 × 5, and for 3 × 3.
fn of_size(work: &Work, [five, three]: [KernelEntry; 2]) -> KernelEntry {
    if work.size == 3 { three } else { five }
}

impl Descriptor for Tensor {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        of_size(work, if work.sweeps() > 1 { self.many } else { [self.facts.entry, self.entry_3] })
    }

    fn cost(&self, work: &Work) -> f64 {
        // The border is counted cell by cell, at 17 times the cost of another cell with all 25 cells of a window, less with nine.
        let cost = match (work.has_much_border(), self.facts.nodata) {
            (true, _) => 2.0,
            (false, false) => 0.9,
            (false, true) => 1.0,
        };
        // Twice the lookups: next to the histogram's cost, which is of kernels alone.
        let cost = if work.sweeps() > 1 { 1.3 * cost } else { cost };
        work.launches() * cost
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        kernels::tensor_rows(work.size) * kernels::TENSOR_ROW
    }

    fn block(&self, work: &Work, _shared_per_block: u32) -> Block {
        let threads = if work.sweeps() > 1 { kernels::TENSOR_MANY_THREADS } else { kernels::TENSOR_THREADS };
        Block { threads, near: 0, shared_bytes: self.shared_needed(work) }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let work = &question.work;
        let (logs, units) = table_u32(work.size * work.size + 1, work.largest);
        let measures = of_size(work, if work.sweeps() > 1 { self.many_measures } else { self.measures });
        Ok(Box::new(Strips { common, measures, sums: OneSum::all(question, (&logs, units), put)? }))
    }
}

struct Strips {
    common: Common,
    measures: KernelEntry,
    sums: Vec<OneSum>,
}

impl Strips {
    /// Behind a scan, where there is one.
    fn all(&self, frame: &Frame<'_>, scan: Option<&PresenceScan>) -> Vec<Launch> {
        one_sum::launches(&self.sums, frame, |sum, frame| self.launch(sum, frame, scan))
    }

    fn launch(&self, sum: &OneSum, frame: &Frame<'_>, scan: Option<&PresenceScan>) -> Launch {
        let Common { nodata, resident, block: Block { threads, .. }, .. } = self.common;
        let warps = threads / 32;
        let strips = (frame.cols + 2).div_ceil(kernels::TENSOR_COLS);
        let rows_each = rows_in_rounds(frame.count, strips, resident * warps, 6);
        let units = strips * frame.count.div_ceil(rows_each);
        // The border's cells, one a thread; all there are in a grid of few rows.
        let border = 4 * u64::from(frame.cols) + 8 * u64::from(frame.count);
        let border = border.div_ceil(u64::from(threads)).min(u64::from(resident)) as u32;
        let mut args = self.common.arguments(frame.cells, frame, [sum.entries()]);
        args.extend([nodata, rows_each].map(Arg::U32));
        args.extend(sum.args());
        args.extend(sum.scan(scan));
        let entry = sum.entry([self.common.entry, self.measures]);
        self.common.launch_of(entry, [units.div_ceil(warps).max(border).min(resident), 1, 1], args)
    }
}

impl Ready for Strips {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        self.all(frame, None)
    }

    fn guarded(&self, frame: &Frame<'_>, scan: &PresenceScan) -> Option<Vec<Launch>> {
        // More classes than a scan is asked for.
        (self.common.work.sweeps() == 1).then(|| self.all(frame, Some(scan)))
    }
}
