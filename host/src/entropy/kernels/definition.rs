//! The definition, cell by cell: the simplest kernels, which the others are checked by. Logarithms are computed, in bits; there is no table.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, LaunchConfig};

use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Work};
use crate::entropy::frame::Frame;
use crate::exec::DeviceError;

/// Counters in thread-private memory, cells from global memory.
pub(in crate::entropy) static NAIVE: Definition = Definition {
    facts: Facts {
        candidate: Candidate::ByName,
        rows_at_most: ROWS,
        ..Facts::new("naive", kernels::entropy_naive::ENTRY, "one thread a cell, from the definition")
    },
    tiled: false,
};

/// The same from halo tiles in shared memory.
pub(in crate::entropy) static TILED: Definition = Definition {
    facts: Facts {
        rows_at_most: ROWS,
        ..Facts::new("tiled", kernels::entropy_tiled::ENTRY, "the same from tiles in shared memory")
    },
    tiled: true,
};

/// One row of blocks each: a grid has at most 65,535 along y.
const ROWS: usize = 65_535 * kernels::TILE_ROWS as usize;

pub(in crate::entropy) struct Definition {
    facts: Facts,
    tiled: bool,
}

impl Descriptor for Definition {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn cost(&self, work: &Work) -> f64 {
        (work.size * work.size) as f64
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        let size = work.size as u32;
        if self.tiled { (kernels::TILE_COLS + size - 1) * (kernels::TILE_ROWS + size - 1) } else { 0 }
    }

    fn block(&self, work: &Work, _shared_per_block: u32) -> Block {
        Block { threads: kernels::TILE_COLS * kernels::TILE_ROWS, near: 0, shared_bytes: self.shared_needed(work) }
    }

    fn ready(&self, question: &Question<'_>, _put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        Ok(Box::new(Cells { common, scale: question.scale * std::f64::consts::LN_2 }))
    }
}

struct Cells {
    common: Common,
    scale: f64,
}

impl Ready for Cells {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let common = &self.common;
        let mut args = common.arguments(frame.cells, frame, None);
        args.extend([common.work.size as u32, common.nodata].map(Arg::U32));
        args.push(common.factor(self.scale));
        let grid = [frame.cols.div_ceil(kernels::TILE_COLS), frame.count.div_ceil(kernels::TILE_ROWS), 1];
        let block = [kernels::TILE_COLS, kernels::TILE_ROWS, 1];
        vec![(common.entry, LaunchConfig { grid, block, shared_bytes: common.block.shared_bytes }, args)]
    }
}
