//! The kernels for all measures in windows of any shape, of which a thread slides the histogram of a column.

use std::borrow::Cow;

use halotile_kernels::entropy as kernels;
use simt::launch::KernelEntry;

use super::share::{SHORT_WAIT, share_rows};
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work};
use crate::entropy::frame::Frame;
use crate::entropy::program::{Near, Program, counter_bytes};
use crate::exec::DeviceError;
use crate::measure::window::Window;

/// With results in f32.
pub(in crate::entropy) static MEASURES: Measures = Measures {
    facts: facts("measures", kernels::entropy_measures::ENTRY, "all measures in windows of any shape; f32", false),
};

/// With results in f64.
pub(in crate::entropy) static MEASURES_F64: Measures =
    Measures { facts: facts("measures-f64", kernels::entropy_measures_f64::ENTRY, "the same in f64", true) };

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str, f64: bool) -> Facts {
    Facts { f64, candidate: Candidate::Windows, measures: true, shapes: true, ..Facts::new(name, entry, about) }
}

pub(in crate::entropy) struct Measures {
    facts: Facts,
}

/// Blocks with as much of a table of so many entries in shared memory as is worth it.
fn block(entries: usize, work: &Work, shared_per_block: u32) -> Block {
    let Near { entries: near, bytes: shared_bytes } = Near::of(entries as u32, work.counters(), shared_per_block);
    Block { threads: kernels::MEASURES_THREADS, near, shared_bytes }
}

/// The window asked for, or Shannon's entropy in the square.
pub(super) fn window<'a>(question: &Question<'a>) -> Cow<'a, Window> {
    let shannon = || Cow::Owned(Window::shannon(question.work.size, question.scale));
    question.window.map_or_else(shannon, Cow::Borrowed)
}

impl Descriptor for Measures {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn cost(&self, work: &Work) -> f64 {
        let runs = work.runs.unwrap_or(work.size) as f64;
        // Beyond some hundred of them twice as much, since the caches hold less of what all threads read.
        let cost = 2.2 + 0.6 * runs + 0.6 * (runs - 101.0).max(0.0);
        // Without logarithms no table is looked up.
        if work.logs { cost } else { 0.68 * cost }
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        counter_bytes(work.counters()) + kernels::MEASURES_STATIC
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        block(work.size * work.size + 1, work, shared_per_block)
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let window = window(question);
        let block = block(window.logs.len(), &question.work, question.device.limits().shared_per_block);
        let common = Common::with_block(self, question, block)?;
        Ok(Box::new(Windows { common, program: Program::new(&window, put)? }))
    }
}

/// Its outputs are contiguous in a frame's `out`, each `count` · `out_stride` elements long: as many as the window has planes.
struct Windows {
    common: Common,
    program: Program,
}

impl Ready for Windows {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let Common { work, f64, nodata, block, resident, .. } = &self.common;
        let across = frame.cols.div_ceil(kernels::MEASURES_THREADS);
        // The first window costs half its height's worth of rows.
        let rows_each = share_rows(frame.count, across, *resident, self.program.height() / 2, SHORT_WAIT);
        let args = self.program.args(frame, *f64, [work.counters(), *nodata, block.near, rows_each]);
        vec![self.common.launch([across, frame.count.div_ceil(rows_each), 1], args)]
    }
}
