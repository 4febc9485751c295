//! Launching a rung: what fits it, how its cells lie on the device, and its arguments.

use std::sync::Arc;

use halotile_kernels::ladder::{LEVELS, LN, LN_F32, LOGS, RADIUS};
use simt::launch::{Arg, LaunchConfig};

use super::device::{Cells, DeviceRung, Table};
use super::{How, Rung};
use crate::entropy::bands::Frame;
use crate::exec::{Buffer, Device, DeviceError, TexelFormat, Texture, TextureShape};

/// The most texels along x and y of a two-dimensional texture over a buffer.
const TEXTURE_MOST: [usize; 2] = [131_072, 65_000];

impl Rung {
    /// Its kernel's side; `None` when it is none.
    pub(crate) fn device(&self) -> Option<&DeviceRung> {
        match &self.how {
            How::Device(device) => Some(device),
            How::Cpu(_) | How::Plan(_) => None,
        }
    }
}

impl DeviceRung {
    /// Why the kernel cannot do this work; `None` when it can.
    pub(crate) fn misfit(&self, size: usize, cols: usize, levels: usize, nodata: bool) -> Option<String> {
        if size != 2 * RADIUS as usize + 1 {
            return Some(format!("it takes windows of 5 x 5, not {size} x {size}"));
        }
        if levels > LEVELS {
            return Some(format!("it takes up to {LEVELS} levels, and there are {levels}"));
        }
        if nodata {
            return Some("it does not know nodata".into());
        }
        let [most, _] = TEXTURE_MOST;
        (self.cells == Cells::Texture && cols > most)
            .then(|| format!("its texture takes up to {most} columns, and there are {cols}"))
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The most output rows that one launch takes: a grid has at most 65,535 blocks along y.
    pub(crate) fn rows_at_most(&self) -> usize {
        let rows = 65_535 * self.tile[1] as usize;
        if self.cells == Cells::Texture { rows.min(TEXTURE_MOST[1] - 2 * RADIUS as usize) } else { rows }
    }

    /// Cells from a row to the next on the device, for rows of `cols` cells; `None` when it does not matter.
    pub(crate) fn pitch(&self, cols: usize) -> Option<usize> {
        (self.cells == Cells::Texture).then(|| cols.next_multiple_of(32))
    }

    /// The table on the device, if it is not the kernel's own.
    pub(crate) fn table(&self, device: &Arc<dyn Device>) -> Result<Option<Buffer>, DeviceError> {
        Ok(match self.table {
            Table::Own => None,
            Table::Global => Some(Buffer::from_slice(device, &LN)?),
            Table::Texture => Some(Buffer::from_slice(device, &LN_F32)?),
        })
    }

    /// Computes a band. `table` is what [`table`](Self::table) gave. Returns the seconds that the kernel took.
    pub(crate) fn launch(
        &self,
        device: &Arc<dyn Device>,
        frame: &Frame<'_>,
        table: Option<&Buffer>,
        scale: f64,
    ) -> Result<f64, DeviceError> {
        let Frame { cells, out, rows, cols, stride, first, count, out_stride } = *frame;
        // Textures live until the launch is over.
        let plane = match self.cells {
            Cells::Texture => {
                let shape = TextureShape::Plane { width: cols, height: rows, pitch: stride as usize };
                Some(Texture::new(cells, TexelFormat::U8, shape)?)
            }
            Cells::Bytes => None,
        };
        let line = match (table, self.table) {
            (Some(table), Table::Texture) => {
                Some(Texture::new(table, TexelFormat::F32, TextureShape::Line { width: LOGS as u32 })?)
            }
            _ => None,
        };
        let mut args = vec![plane.as_ref().map_or_else(|| cells.input::<u8>(), Texture::arg), out.output::<f32>()];
        args.extend(table.map(|table| line.as_ref().map_or_else(|| table.input::<f64>(), Texture::arg)));
        args.extend([rows, cols].map(Arg::U32));
        if plane.is_none() {
            args.push(Arg::U32(stride));
        }
        args.extend([first, count, out_stride].map(Arg::U32));
        args.push(Arg::F32(scale as f32));
        let ([x, y], [width, height]) = (self.block, self.tile);
        let config =
            LaunchConfig { grid: [cols.div_ceil(width), count.div_ceil(height), 1], block: [x, y, 1], shared_bytes: 0 };
        // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises; levels are below 16
        // by `misfit`; tables and textures are as long as the kernels say.
        unsafe { device.launch(&self.entry, &config, &args) }
    }
}
