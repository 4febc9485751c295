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

/// By sixteens of classes; without nodata and with it; for windows of 5 × 5, and of 3 × 3.
type Entries = &'static [[[KernelEntry; 2]; 2]];

static SHANNON: Entries = &[
    [
        [kernels::entropy_tensor::ENTRY, kernels::entropy_tensor_3::ENTRY],
        [kernels::entropy_tensor_counted::ENTRY, kernels::entropy_tensor_3_counted::ENTRY],
    ],
    [
        [kernels::entropy_tensor_many::ENTRY, kernels::entropy_tensor_3_many::ENTRY],
        [kernels::entropy_tensor_many_counted::ENTRY, kernels::entropy_tensor_3_many_counted::ENTRY],
    ],
];
static MEASURES: Entries = &[
    [
        [kernels::entropy_tensor_measures::ENTRY, kernels::entropy_tensor_3_measures::ENTRY],
        [kernels::entropy_tensor_measures_counted::ENTRY, kernels::entropy_tensor_3_measures_counted::ENTRY],
    ],
    [
        [kernels::entropy_tensor_many_measures::ENTRY, kernels::entropy_tensor_3_many_measures::ENTRY],
        [kernels::entropy_tensor_many_measures_counted::ENTRY, kernels::entropy_tensor_3_many_measures_counted::ENTRY],
    ],
];
static DOUBLE: Entries = &[[
    [kernels::entropy_tensor_f64::ENTRY, kernels::entropy_tensor_3_f64::ENTRY],
    [kernels::entropy_tensor_f64_counted::ENTRY, kernels::entropy_tensor_3_f64_counted::ENTRY],
]];

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
    entries: SHANNON,
    measures: MEASURES,
};

/// Cells that are nodata are counted too.
pub(in crate::entropy) static TENSOR_COUNTED: Tensor = Tensor {
    facts: facts("tensor-counted", kernels::entropy_tensor_counted::ENTRY, "the same with nodata"),
    entries: SHANNON,
    measures: MEASURES,
};

/// Any grid of up to 16 classes, with results in f64.
pub(in crate::entropy) static TENSOR_F64: Tensor = Tensor {
    facts: Facts {
        f64: true,
        levels: 16,
        candidate: Candidate::Squares,
        one_sum: false,
        ..facts("tensor-f64", kernels::entropy_tensor_f64::ENTRY, "the same of up to 16 classes with results in f64")
    },
    entries: DOUBLE,
    measures: DOUBLE,
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
    entries: Entries,
    /// For other measures; in f64 there are none.
    measures: Entries,
}

impl Tensor {
    /// Whether cells that are nodata are counted.
    fn counts(&self, work: &Work) -> bool {
        if self.facts.f64 { work.nodata } else { self.facts.nodata }
    }

    /// The one of its entries for such work.
    fn pick(&self, entries: Entries, work: &Work) -> KernelEntry {
        entries[usize::from(work.sweeps() > 1)][usize::from(self.counts(work))][usize::from(work.size == 3)]
    }
}

impl Descriptor for Tensor {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        self.pick(self.entries, work)
    }

    fn cost(&self, work: &Work) -> f64 {
        // The border is counted cell by cell, at 17 times the cost of another cell with all 25 cells of a window, less with nine.
        let cost = match (work.has_much_border(), self.facts.f64, self.facts.nodata) {
            (true, false, _) => 2.0,
            (true, true, _) => 2.6,
            (false, true, _) => 1.2,
            (false, false, false) => 0.9,
            (false, false, true) => 1.0,
        };
        // Twice the lookups: next to the histogram's cost, which is of kernels alone.
        let cost = if work.sweeps() > 1 { 1.3 * cost } else { cost };
        work.launches() * cost
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        kernels::tensor_rows(work.size) * kernels::TENSOR_ROW
    }

    fn block(&self, work: &Work, _shared_per_block: u32) -> Block {
        let threads = match (self.facts.f64, work.sweeps()) {
            (true, _) => kernels::TENSOR_F64_THREADS,
            (_, 1) => kernels::TENSOR_THREADS,
            _ => kernels::TENSOR_MANY_THREADS,
        };
        Block { threads, near: 0, shared_bytes: self.shared_needed(work) }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let work = &question.work;
        let sums = if self.facts.f64 {
            vec![OneSum::double(question, put)?]
        } else {
            let (logs, units) = table_u32(work.size * work.size + 1, work.largest);
            OneSum::all(question, (&logs, units), put)?
        };
        Ok(Box::new(Strips { common, measures: self.pick(self.measures, work), sums }))
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
