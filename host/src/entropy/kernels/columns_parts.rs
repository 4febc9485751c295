//! Measures of more than 16 classes in squares, by the columns kernels: sweeps add up the whole numbers that measures come from, then results are made.
//! Shannon's entropy too, of so many classes that sums of 32 bits are too coarse.
//!
//! The numbers of all windows are in memory, 16 bytes each, behind codes of tiles or heads of strips.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::cut::Cut;
use super::groups::{self, Sweeping};
use super::measures::window;
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work, columns, scratch_of};
use crate::entropy::frame::Frame;
use crate::entropy::program::{Near, Program};
use crate::exec::{DeviceError, Limits};

/// With results in f32.
pub(in crate::entropy) static COLUMNS_PARTS: ColumnsParts = ColumnsParts {
    facts: facts(
        "columns-sums",
        kernels::entropy_columns_parts::ENTRY,
        "measures in squares from sums, 16 classes at a time; f32",
    ),
};

/// With results in f64.
pub(in crate::entropy) static COLUMNS_PARTS_F64: ColumnsParts = ColumnsParts {
    facts: Facts { f64: true, ..facts("columns-sums-f64", kernels::entropy_columns_parts::ENTRY, "the same in f64") },
};

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    Facts {
        candidate: Candidate::Both,
        levels: usize::MAX,
        measures: true,
        counts_nodata: false,
        words: true,
        ..Facts::new(name, entry, about)
    }
}

pub(in crate::entropy) struct ColumnsParts {
    facts: Facts,
}

/// Bytes of the numbers of a row of windows.
fn part_bytes_of_row(cols: usize) -> usize {
    stride(cols) * kernels::COLUMNS_PARTS as usize * size_of::<u32>()
}

/// Windows from a row of parts to the next.
fn stride(cols: usize) -> usize {
    cols.next_multiple_of(4)
}

/// Blocks with copies of a table of so many entries in shared memory: a multiprocessor has two of them, and a KiB for each besides what all have.
fn block(entries: usize, shared_per_block: u32) -> Block {
    const STATIC: u32 = 4096;
    let room = (shared_per_block / 2).saturating_sub(STATIC + 1024);
    let Near { entries: near, bytes } = Near::copied(entries as u32, room);
    Block { threads: kernels::COLUMNS_THREADS, near, shared_bytes: bytes }
}

/// The entry that counts.
fn entry(work: &Work) -> KernelEntry {
    if groups::is_own(work) {
        kernels::entropy_columns_parts::ENTRY
    } else {
        kernels::entropy_columns_parts_many::ENTRY
    }
}

impl Descriptor for ColumnsParts {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        entry(work)
    }

    fn misfit(&self, work: &Work, _limits: &Limits) -> Option<String> {
        (!work.sums).then(|| "it computes no measures that need powers of counts or the largest of them".into())
    }

    fn cost(&self, work: &Work) -> f64 {
        if work.sweeps() == 1 && work.words.is_none() {
            // What needs no sums that wait is always faster.
            return 9.0 + 0.02 * work.size as f64;
        }
        // Words are for maps with many classes in all, which are far fewer in one place.
        let sweeps = if work.words.is_some() { work.sweeps().min(4) } else { work.sweeps() } as f64;
        1.5 + if groups::is_own(work) {
            sweeps * own_cost(work)
        } else {
            super::cut::RECODING + sweeps * coded_cost(work)
        }
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        columns::shared_needed(work)
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        block(work.size * work.size + 1, shared_per_block)
    }

    fn scratch_bytes(&self, work: &Work, cols: usize) -> usize {
        groups::bytes_of_row(work, cols) + part_bytes_of_row(cols) + size_of::<[u32; 4]>()
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let window = window(question);
        let block = block(window.logs.len(), question.device.limits().shared_per_block);
        let common = Common::of_entry(entry(&question.work), question, block)?;
        Ok(Box::new(Parts { common, program: Program::new(&window, put)? }))
    }
}

/// Cost of a sweep over the map, with heads.
fn own_cost(work: &Work) -> f64 {
    5.0 + 0.012 * work.size as f64
}

/// Cost of a sweep over codes of tiles.
fn coded_cost(work: &Work) -> f64 {
    4.0 + 0.032 * work.size as f64
}

/// Its outputs are contiguous in a frame's `out`, each `count` · `out_stride` elements long: as many as the window has planes.
struct Parts {
    common: Common,
    program: Program,
}

impl Parts {
    /// Where parts begin in the scratch memory, in their own size.
    fn begin(&self, frame: &Frame<'_>) -> u32 {
        let words = groups::bytes(&self.common, frame.rows as usize, frame.cols as usize, frame.count as usize);
        words.div_ceil(size_of::<[u32; 4]>()) as u32
    }

    /// A launch that counts; `own` is what its entry has besides the parameters that both have.
    fn counting(&self, entry: KernelEntry, own: &[u32], frame: &Frame<'_>, cut: &Cut) -> Launch {
        let Common { work, block, .. } = &self.common;
        let &Frame { rows, cols, stride, first, count, .. } = frame;
        let mut args = vec![frame.cells.input::<u8>(), groups::words(frame), scratch_of(frame).output::<u32>()];
        args.push(self.program.table());
        args.extend(own.iter().copied().map(Arg::U32));
        args.extend([rows, cols, stride, first, count, self::stride(cols as usize) as u32].map(Arg::U32));
        let nodata = columns::nodata_of_codes(&self.common);
        args.extend([work.size as u32, nodata, self.program.entries(), block.near].map(Arg::U32));
        args.extend([cut.rows_each, self.begin(frame)].map(Arg::U32));
        self.common.launch_of(entry, [cut.blocks, 1, 1], args)
    }

    fn results(&self, frame: &Frame<'_>) -> Launch {
        let Common { work, f64, nodata, .. } = &self.common;
        let numbers = [work.size as u32, *nodata, work.words.is_some().into(), self.begin(frame)];
        let args = self.program.args_of_parts(frame, groups::words(frame), *f64, numbers);
        let blocks = frame.cols.div_ceil(kernels::COLUMNS_THREADS) * frame.count;
        let entry =
            if *f64 { kernels::entropy_columns_results_f64::ENTRY } else { kernels::entropy_columns_results::ENTRY };
        (entry, LaunchConfig::linear(blocks, kernels::COLUMNS_THREADS), args)
    }
}

impl Sweeping for Parts {
    fn has_heads(&self) -> bool {
        true
    }

    fn sweep_costs(&self) -> [f64; 2] {
        [own_cost(&self.common.work), coded_cost(&self.common.work)]
    }

    fn own(&self, frame: &Frame<'_>, cut: &Cut, most: u32) -> Launch {
        let groups = self.common.work.sweeps() as u32;
        self.counting(kernels::entropy_columns_parts::ENTRY, &[groups, most], frame, cut)
    }

    fn coded(&self, frame: &Frame<'_>, cut: &Cut) -> Vec<Launch> {
        let &Cut { strips_each, most, plane, planes, .. } = cut;
        vec![self.counting(kernels::entropy_columns_parts_many::ENTRY, &[strips_each, most, plane, planes], frame, cut)]
    }
}

impl Ready for Parts {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let mut launches = groups::launches(self, frame);
        launches.push(self.results(frame));
        launches
    }

    fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> Option<usize> {
        let words = groups::bytes(&self.common, rows, cols, count).next_multiple_of(size_of::<[u32; 4]>());
        Some(words + count * part_bytes_of_row(cols))
    }
}
