//! The columns kernel where tiles of a map have few classes, and otherwise the histogram: a survey of the map decides, on the device.
//!
//! Both kernels are launched; the one that the survey is against returns at once. Of up to 16 classes there is nothing to decide.

use halotile_kernels::entropy as kernels;
use simt::launch::KernelEntry;

use super::columns::{self, COLUMNS, Strips};
use super::cut::{Cut, RECODING};
use super::groups::SURVEYED_CELLS;
use super::histogram::{HISTOGRAM, Slides, counter_bytes, too_coarse};
use super::{Block, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work};
use crate::entropy::frame::Frame;
use crate::exec::{DeviceError, Limits};
use crate::measure::fixed::Nested;

/// It decides for each map.
pub(in crate::entropy) static ADAPTIVE: Adaptive = Adaptive {
    facts: Facts::new(
        "adaptive",
        kernels::entropy_columns_many::ENTRY,
        "that where tiles of the map have few classes, otherwise the histogram",
    ),
};

pub(in crate::entropy) struct Adaptive {
    facts: Facts,
}

/// Sweeps of a tile, on the average, from which on the histogram is faster.
///
/// Its cost is that of random cells. Where tiles have fewer classes than the map, cells are clustered: then neighbours update the same counters one
/// after another, and it takes up to 1.4 times as long (2.85 ms for 96 classes at 21 × 21, 10,240², where the columns kernel takes 2.40).
fn sweeps(work: &Work) -> f64 {
    let (all, histogram) = (work.sweeps() as f64, HISTOGRAM.cost(work));
    let of = |histogram: f64| (histogram - RECODING) * all / (COLUMNS.cost(work) - RECODING);
    of(histogram.max(0.34 * work.size as f64)).min(all - 0.25).max(of(histogram))
}

impl Descriptor for Adaptive {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        columns::entry(work)
    }

    fn misfit(&self, work: &Work, limits: &Limits) -> Option<String> {
        let Work { size, nodata, .. } = *work;
        if !work.is_coded() {
            return None;
        }
        if nodata && Nested::len(size, work.finer()) > size * size + 3 {
            return Some(format!("it takes {size} x {size} windows without nodata alone"));
        }
        if self.block(work, limits.shared_per_block).near == 0 {
            return Some(format!("its tables for {size} x {size} windows do not fit the device's shared memory"));
        }
        too_coarse(work)
    }

    fn cost(&self, work: &Work) -> f64 {
        // What it costs is not known before; it is worth its launches where a tile of few classes would gain from it.
        let gains = work.rows * work.cols >= SURVEYED_CELLS && sweeps(work) >= 1.2;
        HISTOGRAM.cost(work) * if gains { 0.9 } else { 1.1 }
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        columns::STATIC.max(counter_bytes(work))
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        columns::block(work, shared_per_block)
    }

    fn scratch_bytes(&self, work: &Work, cols: usize) -> usize {
        columns::scratch_bytes(work, cols)
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let strips = Strips::new(common, question, put)?;
        if !question.work.is_coded() {
            return Ok(Box::new(strips));
        }
        Ok(Box::new(Either { strips, slides: HISTOGRAM.sliding(question, put)? }))
    }
}

/// Both kernels.
struct Either {
    strips: Strips,
    slides: Slides,
}

impl Ready for Either {
    fn common(&self) -> &Common {
        self.strips.common()
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let work = &self.common().work;
        let surveyed = |tiles: u32| (sweeps(work) * f64::from(tiles.min(kernels::COLUMNS_SURVEY))) as u32;
        let most = surveyed(Cut::of(self.common(), frame.cols, frame.count).tiles);
        self.strips.launches(frame, Some(most), |cut| Some(self.slides.launch(frame, Some(cut))))
    }

    fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> Option<usize> {
        self.strips.scratch_for(rows, cols, count)
    }
}
