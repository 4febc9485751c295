//! The kernels for windows of up to 31 × 31 that count on the tensor cores.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::one_sum::{self, OneSum};
use super::share::share_units;
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Sides, Work};
use crate::arrays::PresenceScan;
use crate::entropy::frame::Frame;
use crate::exec::DeviceError;
use crate::measure::fixed::Nested;

/// Without nodata and with it: for up to 16 classes, and for more.
type Entries = [[KernelEntry; 2]; 2];

static SHANNON: Entries = [
    [kernels::entropy_band::ENTRY, kernels::entropy_band_many::ENTRY],
    [kernels::entropy_band_counted::ENTRY, kernels::entropy_band_many_counted::ENTRY],
];
static MEASURES: Entries = [
    [kernels::entropy_band_measures::ENTRY, kernels::entropy_band_many_measures::ENTRY],
    [kernels::entropy_band_measures_counted::ENTRY, kernels::entropy_band_many_measures_counted::ENTRY],
];
static DOUBLE: Entries = [
    [kernels::entropy_band_f64::ENTRY, kernels::entropy_band_many_f64::ENTRY],
    [kernels::entropy_band_f64_counted::ENTRY, kernels::entropy_band_many_f64_counted::ENTRY],
];

/// Every cell counts.
pub(in crate::entropy) static BAND: Band = Band {
    facts: Facts {
        nodata: false,
        ..facts(
            "band",
            kernels::entropy_band::ENTRY,
            "windows of up to 31 x 31 and 48 classes without nodata, on the tensor cores",
        )
    },
    entries: &SHANNON,
    measures: &MEASURES,
    warps: kernels::BAND_THREADS / 32,
};

/// Valid cells are counted too.
pub(in crate::entropy) static BAND_COUNTED: Band = Band {
    facts: facts("band-counted", kernels::entropy_band_counted::ENTRY, "the same with nodata, for any grid"),
    entries: &SHANNON,
    measures: &MEASURES,
    warps: kernels::BAND_COUNTED_THREADS / 32,
};

/// Any grid, with results in f64.
pub(in crate::entropy) static BAND_F64: Band = Band {
    facts: Facts {
        f64: true,
        candidate: Candidate::Squares,
        one_sum: false,
        ..facts("band-f64", kernels::entropy_band_f64::ENTRY, "the same with results in f64")
    },
    entries: &DOUBLE,
    measures: &DOUBLE,
    warps: kernels::BAND_THREADS / 32,
};

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    let sides = Sides::UpTo(kernels::BAND_SIZE as usize);
    Facts {
        sides,
        levels: MOST_LEVELS,
        candidate: Candidate::Both,
        one_sum: true,
        counts_nodata: false,
        guarded: true,
        ..Facts::new(name, entry, about)
    }
}

pub(in crate::entropy) struct Band {
    facts: Facts,
    entries: &'static Entries,
    /// For other measures; in f64 there are none.
    measures: &'static Entries,
    /// Warps of a block at most, of up to 16 classes.
    warps: u32,
}

/// Classes at most. Each sixteen are another march over a strip; from four on there are kernels that depend on how many a place has.
const MOST_LEVELS: usize = 48;

/// With fewer, the multiprocessor waits for each of them most of the time.
const FEWEST_WARPS: u32 = 8;

impl Band {
    /// Whether valid cells are counted.
    fn counts(&self, work: &Work) -> bool {
        if self.facts.f64 { work.nodata } else { self.facts.nodata }
    }

    /// The one of its entries for such work.
    fn pick(&self, entries: &Entries, work: &Work) -> KernelEntry {
        entries[usize::from(self.counts(work))][usize::from(work.sweeps() > 1)]
    }
}

impl Descriptor for Band {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        self.pick(self.entries, work)
    }

    fn cost(&self, work: &Work) -> f64 {
        // Of a march over a strip, and what several take besides: next to the histogram's, which is of random cells without what comes before a launch.
        let (march, more) = match (self.facts.f64, self.counts(work), work.sweeps()) {
            (true, true, 1) => (2.4, 0.0),
            (true, false, 1) => (1.38, 0.0),
            (true, true, _) => (2.3, 1.0),
            (true, false, _) => (1.9, 1.0),
            (_, true, 1) => (1.9, 0.0),
            (_, false, 1) => (1.4, 0.0),
            (_, true, _) => (1.2, 0.75),
            (_, false, _) => (1.0, 0.8),
        };
        let cost = (march + 0.002 * work.size as f64) * work.sweeps() as f64 + more;
        // A row at the border takes up to twice as long.
        let cost = if work.has_much_border() { 2.0 * cost } else { cost };
        work.launches() * cost
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        kernels::band_bytes(work.size as u32, FEWEST_WARPS)
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        let size = work.size as u32;
        let fits = |warps: &u32| kernels::band_bytes(size, *warps) <= shared_per_block;
        let most = if work.sweeps() > 1 { kernels::BAND_THREADS / 32 } else { self.warps };
        let warps = (FEWEST_WARPS..=most).rev().find(fits).unwrap_or(FEWEST_WARPS);
        Block { threads: 32 * warps, near: 0, shared_bytes: kernels::band_bytes(size, warps) }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let measures = self.pick(self.measures, &question.work);
        let sums = if self.facts.f64 {
            vec![OneSum::double(question, put)?]
        } else {
            let tables = Nested::of(question.work.size, question.work.largest, question.work.levels, None);
            let [.., units] = tables.units;
            OneSum::all(question, (&tables.entries, units), put)?
        };
        Ok(Box::new(Strips { common, measures, sums }))
    }
}

struct Strips {
    common: Common,
    measures: KernelEntry,
    sums: Vec<OneSum>,
}

impl Strips {
    /// Rows of a unit inside and at the border, and units.
    fn share(&self, frame: &Frame<'_>, warps: u32) -> ((u32, u32), u32) {
        let size = self.common.work.size as u32;
        let Frame { rows, cols, first, count, .. } = *frame;
        // A row that is only counted takes less than half of one that has results.
        share_units(frame, size * 2 / 5 + 2, warps, |each| {
            kernels::band_units((rows, cols), (first, count), size, each)
        })
    }

    /// Behind a scan, where there is one.
    fn all(&self, frame: &Frame<'_>, scan: Option<&PresenceScan>) -> Vec<Launch> {
        one_sum::launches(&self.sums, frame, |sum, frame| self.launch(sum, frame, scan))
    }

    fn launch(&self, sum: &OneSum, frame: &Frame<'_>, scan: Option<&PresenceScan>) -> Launch {
        let Common { nodata, resident, work, block, .. } = &self.common;
        let warps = block.threads / 32;
        let (each, units) = self.share(frame, resident * warps);
        let mut args = self.common.arguments(frame.cells, frame, [sum.entries()]);
        args.extend([work.size as u32, *nodata, each.0, each.1].map(Arg::U32));
        args.extend(sum.args());
        args.extend(sum.scan(scan));
        let entry = sum.entry([self.common.entry, self.measures]);
        self.common.launch_of(entry, [units.div_ceil(warps).clamp(1, *resident), 1, 1], args)
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
