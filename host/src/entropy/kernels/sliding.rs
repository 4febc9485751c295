//! The kernels for 5 × 5 windows that keep their histograms in registers.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::share::{SHORT_WAIT, share_rows};
use super::{Block, Common, Descriptor, Facts, Launch, Put, Question, Ready, Sides, Work};
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError};
use crate::measure::fixed::table_u32;

/// A copy of the table for each lane.
pub(in crate::entropy) static SLIDING: Sliding = Sliding {
    facts: facts("sliding", kernels::entropy_sliding::ENTRY, "5 x 5 windows of up to 16 classes, in registers"),
    copies: 32,
    cost: 1.2,
};

/// A copy for two lanes.
pub(in crate::entropy) static SLIDING_NARROW: Sliding = Sliding {
    facts: facts(
        "sliding-narrow",
        kernels::entropy_sliding_narrow::ENTRY,
        "the same for devices with little shared memory",
    ),
    copies: 16,
    cost: 1.3,
};

const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    Facts { sides: Sides::Any(&[5]), levels: 16, counts_nodata: false, ..Facts::new(name, entry, about) }
}

pub(in crate::entropy) struct Sliding {
    facts: Facts,
    /// Copies of the table in shared memory.
    copies: u32,
    cost: f64,
}

impl Descriptor for Sliding {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn cost(&self, _work: &Work) -> f64 {
        self.cost
    }

    fn shared_needed(&self, _work: &Work) -> u32 {
        kernels::SLIDING_PAIRS * self.copies * 4
    }

    fn block(&self, work: &Work, _shared_per_block: u32) -> Block {
        Block { threads: kernels::SLIDING_THREADS, near: 0, shared_bytes: self.shared_needed(work) }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let (table, units) = table_u32(5 * 5 + 1, question.work.largest);
        Ok(Box::new(Strips { common, table: put(bytemuck::cast_slice(&table))?, scale: question.scale / units }))
    }
}

struct Strips {
    common: Common,
    table: Buffer,
    scale: f64,
}

impl Ready for Strips {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        let Common { nodata, resident, .. } = self.common;
        let warps = kernels::SLIDING_THREADS / 32;
        let strips = (frame.cols + 2).div_ceil(kernels::SLIDING_COLS);
        let rows_each = share_rows(frame.count, strips, resident * warps, 3, SHORT_WAIT);
        let units = strips * frame.count.div_ceil(rows_each);
        let mut args = self.common.arguments(frame.cells, frame, [self.table.input::<u32>()]);
        args.extend([nodata, rows_each].map(Arg::U32));
        args.push(self.common.factor(self.scale));
        vec![self.common.launch([units.div_ceil(warps).min(resident), 1, 1], args)]
    }
}
