//! Codes of tiles counted on the tensor cores: in windows of up to 31 × 31, of tiles that have some dozens of classes. It stands in for the sweep of the columns
//! kernel, which takes what tiles are left, and looks F up in the same table: of such small windows there is one for any number of valid cells, so that both
//! give the same bits.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::cut::Cut;
use super::{BAND, Common, Descriptor, Launch, Question, Work, scratch_of};
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError};

/// The kernel.
pub(super) struct Codes {
    common: Common,
}

impl Codes {
    /// For codes of tiles on a device that has tensor cores, if there is shared memory for the table.
    pub fn new(question: &Question<'_>) -> Result<Option<Self>, DeviceError> {
        let Question { device, work, .. } = *question;
        let (limits, entry) = (device.limits(), entry(&work));
        let fits = BAND.shared_needed(&work) <= limits.shared_per_block && limits.lacks_arch(entry.arch).is_none();
        if !work.is_coded() || !work.has_small_windows() || !fits {
            return Ok(None);
        }
        let block = BAND.block(&work, limits.shared_per_block);
        Ok(Some(Self { common: Common::of_entry(entry, question, block)? }))
    }

    /// Classes of the tiles that are left, at least; `None` where there are no such tiles.
    pub fn leaves(&self) -> Option<u32> {
        let counted = kernels::BAND_CODES as usize;
        (self.common.work.levels > counted).then_some(kernels::BAND_CODES + 1)
    }

    /// The launch over a frame, by the table of F for all windows and what sums are multiplied by.
    pub fn launch(&self, frame: &Frame<'_>, cut: &Cut, table: &Buffer, scale: f64) -> Launch {
        let Common { work, block, resident, .. } = &self.common;
        let Frame { rows, cols, first, count, out_stride, .. } = *frame;
        let warps = block.threads / 32;
        let units = kernels::band_codes_units(cols, count.div_ceil(cut.rows_each));
        let scratch = scratch_of(frame);
        let mut args =
            vec![scratch.input::<u32>(), scratch.output::<u32>(), self.common.out(frame), table.input::<u32>()];
        args.extend([rows, cols, first, count, out_stride, work.size as u32, cut.rows_each, cut.most].map(Arg::U32));
        args.push(self.common.factor(scale));
        self.common.launch([units.div_ceil(warps).clamp(1, *resident), 1, 1], args)
    }
}

fn entry(work: &Work) -> KernelEntry {
    if work.nodata { kernels::entropy_band_codes_counted::ENTRY } else { kernels::entropy_band_codes::ENTRY }
}
