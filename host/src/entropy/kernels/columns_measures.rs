//! The columns kernel for all measures, in squares of up to 16 classes.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::cut::{self, Cut};
use super::measures::window;
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work, columns, scratch_of};
use crate::entropy::frame::Frame;
use crate::entropy::program::{Near, Program};
use crate::exec::DeviceError;
use crate::measure::window::{Quantity, Window};

/// With results in f32.
pub(in crate::entropy) static COLUMNS_MEASURES: ColumnsMeasures = ColumnsMeasures {
    facts: Facts {
        candidate: Candidate::Windows,
        ..facts(
            "columns-all",
            kernels::entropy_columns_measures::ENTRY,
            "the same for all measures in squares; up to 16 classes",
        )
    },
};

/// With results in f64: also the fastest for Shannon's entropy alone.
pub(in crate::entropy) static COLUMNS_MEASURES_F64: ColumnsMeasures = ColumnsMeasures {
    facts: Facts {
        f64: true,
        candidate: Candidate::Both,
        ..facts("columns-f64", kernels::entropy_columns_measures_f64::ENTRY, "the same with results in f64")
    },
};

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    Facts { measures: true, levels: 16, counts_nodata: false, ..Facts::new(name, entry, about) }
}

pub(in crate::entropy) struct ColumnsMeasures {
    facts: Facts,
}

/// Blocks with copies of a table of so many entries in shared memory, if they fit there: in `room` bytes.
fn block(entries: usize, room: u32) -> Block {
    let Near { entries: near, bytes } = Near::copied(entries as u32, room);
    Block { threads: kernels::COLUMNS_THREADS, near, shared_bytes: bytes }
}

/// The kernels for one measure alone, in f32 and f64, where its formula is one of theirs.
fn quick(window: &Window) -> Option<[KernelEntry; 2]> {
    let [plane] = &window.planes[..] else { return None };
    match (plane.quantity, plane.scale) {
        (Quantity::Simpson, _) | (Quantity::Classes | Quantity::Squares, None) => {
            Some([kernels::entropy_columns_quotients::ENTRY, kernels::entropy_columns_quotients_f64::ENTRY])
        }
        (Quantity::Evenness, _) | (Quantity::Shannon, Some(_)) => {
            Some([kernels::entropy_columns_entropies::ENTRY, kernels::entropy_columns_entropies_f64::ENTRY])
        }
        _ => None,
    }
}

fn is_evenness(window: &Window) -> bool {
    matches!(&window.planes[..], [plane] if plane.quantity == Quantity::Evenness)
}

impl Descriptor for ColumnsMeasures {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn cost(&self, work: &Work) -> f64 {
        5.4 + 0.02 * work.size as f64
    }

    fn shared_needed(&self, _work: &Work) -> u32 {
        columns::STATIC
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        block(work.size * work.size + 1, columns::room(shared_per_block))
    }

    fn scratch_bytes(&self, _work: &Work, cols: usize) -> usize {
        cut::head_bytes_of_row(cols)
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let window = window(question);
        if !self.facts.f64 && window.is_unconditional() && is_evenness(&window) {
            let block = Block { threads: kernels::COLUMNS_THREADS, near: 0, shared_bytes: 0 };
            return Ok(Box::new(Evenness(Common::of_entry(
                kernels::entropy_columns_evenness::ENTRY,
                question,
                block,
            )?)));
        }
        let (entries, shared_per_block) = (window.logs.len(), question.device.limits().shared_per_block);
        let common = match quick(&window) {
            Some(by_type) => {
                let entry = by_type[usize::from(self.facts.f64)];
                // They have no static shared memory; a multiprocessor keeps a KiB for each of two blocks.
                let block = block(entries, (shared_per_block / 2).saturating_sub(1024));
                Common::of_entry(entry, question, block)?
            }
            None => Common::with_block(self, question, block(entries, columns::room(shared_per_block)))?,
        };
        Ok(Box::new(Strips { common, program: Program::new(&window, put)? }))
    }
}

/// Its outputs are contiguous in a frame's `out`, each `count` · `out_stride` elements long: as many as the window has planes.
struct Strips {
    common: Common,
    program: Program,
}

impl Ready for Strips {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let Common { work, f64, nodata, block, .. } = &self.common;
        let Cut { blocks, rows_each, .. } = Cut::of(&self.common, frame.cols, frame.count);
        let numbers = [work.size as u32, *nodata, block.near, rows_each];
        let args = self.program.args_of_columns(frame, scratch_of(frame), *f64, numbers);
        vec![cut::heads(&self.common, frame), self.common.launch([blocks, 1, 1], args)]
    }
}

/// Evenness alone, in f32: by logarithms.
struct Evenness(Common);

impl Ready for Evenness {
    fn common(&self) -> &Common {
        &self.0
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let Self(common) = self;
        let Cut { blocks, rows_each, .. } = Cut::of(common, frame.cols, frame.count);
        let mut args = common.arguments(frame.cells, frame, [scratch_of(frame).input::<u32>()]);
        args.extend([common.work.size as u32, common.nodata, rows_each].map(Arg::U32));
        args.push(Arg::F32(1.0));
        vec![cut::heads(common, frame), common.launch([blocks, 1, 1], args)]
    }
}
