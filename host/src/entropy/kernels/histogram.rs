//! The kernels of which a thread slides histograms of two columns down the rows: any number of classes.

use halotile_kernels::entropy as kernels;
use simt::launch::Arg;

use super::cut::Cut;
use super::share::{SHORT_WAIT, share_rows};
use super::{Block, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work, scratch_of};
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError, Limits};
use crate::measure::fixed::{FINE, Nested, table_u32, table_u64};

/// Sums of 32 bits.
pub(in crate::entropy) static HISTOGRAM: Histogram = Histogram {
    facts: Facts::new(
        "histogram",
        kernels::entropy_histogram::ENTRY,
        "one thread for two columns slides their histograms down the rows; f32",
    ),
    wide: false,
};

/// Sums of 64 bits.
pub(in crate::entropy) static HISTOGRAM_WIDE: Histogram = Histogram {
    facts: Facts::new("histogram-wide", kernels::entropy_histogram_wide::ENTRY, "the same with sums of 64 bits"),
    wide: true,
};

/// Sums of 64 bits and results in f64.
pub(in crate::entropy) static HISTOGRAM_F64: Histogram = Histogram {
    facts: Facts { f64: true, ..Facts::new("histogram-f64", kernels::entropy_histogram_f64::ENTRY, "the same in f64") },
    wide: true,
};

pub(in crate::entropy) struct Histogram {
    facts: Facts,
    /// Whether entries of the table and sums have 64 bits.
    wide: bool,
}

impl Histogram {
    /// Bytes of an entry of the table.
    fn entry_bytes(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// The kernel made ready, to be launched alone or beside the columns kernel.
    pub(super) fn sliding(&self, question: &Question<'_>, put: Put<'_>) -> Result<Slides, DeviceError> {
        let Question { work, scale, .. } = *question;
        let common = Common::new(self, question)?;
        // One more entry than windows have counts: what is read where a cell takes the place of another of its class.
        let (table, scale) = if self.wide {
            let (table, units) = table_u64(entries(&work) + 1, work.largest);
            (put(bytemuck::cast_slice(&table))?, scale / units)
        } else {
            // That of the columns kernel: both give the same bits.
            let tables = Nested::of(work.size, work.largest, work.levels, None);
            let table: Vec<u32> = tables.entries.iter().copied().chain([0]).collect();
            (put(bytemuck::cast_slice(&table))?, scale / tables.units[2])
        };
        Ok(Slides { common, wide: self.wide, table, scale })
    }
}

impl Descriptor for Histogram {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn misfit(&self, work: &Work, _limits: &Limits) -> Option<String> {
        if self.wide { None } else { too_coarse(work) }
    }

    fn cost(&self, work: &Work) -> f64 {
        let size = work.size as f64;
        // The more classes, the fewer histograms are resident at once; a row has a cost of its own.
        let crowd = (f64::from(work.counters()) / 56.0).max(1.0);
        // Without the differences of F in shared memory, and the more rows a window has, the lower the caches' hit rate.
        let far = if is_near(work, self.entry_bytes()) { 1.0 } else { 2.0 + 0.01 * (size - 51.0).max(0.0) };
        let cost = 0.9 * crowd + 0.165 * (0.33 * crowd).max(1.0) * size * far;
        // Sums of 64 bits take longer, most of all where updates wait for nothing else.
        match (self.wide, far > 1.0) {
            (false, _) => cost,
            (true, true) => 1.2 * cost,
            (true, false) => (1.2 + 0.035 * size) * cost,
        }
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        counter_bytes(work)
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        let (counters, entries) = (counter_bytes(work), entries(work) as u32);
        let all = counters + entries * self.entry_bytes() as u32;
        let near = is_near(work, self.entry_bytes()) && all <= shared_per_block;
        let (near, shared_bytes) = if near { (entries, all) } else { (0, counters) };
        Block { threads: kernels::HISTOGRAM_THREADS, near, shared_bytes }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        Ok(Box::new(self.sliding(question, put)?))
    }
}

/// Why sums of 32 bits do not do, if so.
pub(super) fn too_coarse(work: &Work) -> Option<String> {
    let Work { size, nodata, largest, .. } = *work;
    (nodata && table_u32(1, largest).1 < FINE).then(|| {
        format!("its 32-bit sums are too coarse for {size} x {size} windows in which nodata may leave few cells")
    })
}

/// Counts that a class may have in a window.
fn entries(work: &Work) -> usize {
    work.size * work.size + 1
}

/// Bytes of the counters of a block.
pub(super) fn counter_bytes(work: &Work) -> u32 {
    work.counters() * kernels::HISTOGRAM_THREADS * 4
}

/// Whether differences of F of so many bytes each lie in shared memory beside the counters, if there is room: beyond this they would cost
/// more occupancy than their speed gains.
fn is_near(work: &Work, entry_bytes: usize) -> bool {
    entries(work) * entry_bytes <= counter_bytes(work).max(32 * 1024) as usize / 2
}

pub(super) struct Slides {
    common: Common,
    wide: bool,
    table: Buffer,
    scale: f64,
}

impl Slides {
    /// The launch over a frame; of the tiles of `cut` only, that a survey found too many classes in, where there is one.
    pub fn launch(&self, frame: &Frame<'_>, cut: Option<&Cut>) -> Launch {
        let Common { work, nodata, block, resident, .. } = &self.common;
        let size = work.size as u32;
        let table = if self.wide { self.table.input::<u64>() } else { self.table.input::<u32>() };
        let mut args = self.common.arguments(frame.cells, frame, [table]);
        let across = frame.cols.div_ceil(kernels::HISTOGRAM_COLS);
        // The first window costs size / 2 rows' worth of updates.
        let rows_each = share_rows(frame.count, across, *resident, size / 2, SHORT_WAIT);
        args.extend([size, work.counters(), *nodata, block.near, rows_each].map(Arg::U32));
        if !self.wide {
            // Without a survey any words do: they are not read.
            args.push(if cut.is_some() { scratch_of(frame) } else { frame.cells }.input::<u32>());
            args.push(Arg::U32(cut.map_or(0, |cut| cut.most + 1)));
        }
        args.push(self.common.factor(self.scale));
        self.common.launch([across, frame.count.div_ceil(rows_each), 1], args)
    }
}

impl Ready for Slides {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        vec![self.launch(frame, None)]
    }
}
