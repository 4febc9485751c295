//! Launching a rung: what fits it, how its cells lie on the device, and its arguments.

use std::sync::Arc;

use halotile_lab_kernels::ladder::{LADDER_EXTENT, LEVELS, LN, LN_F32, LOGS, RADIUS};
use simt::constant::Symbol;
use simt::launch::{Arg, Constant, LaunchConfig};

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

    /// Dynamic shared memory of a block, in bytes.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Whether its table is that of the production kernels, in fixed point.
    pub(crate) fn takes_fixed_table(&self) -> bool {
        self.table == Table::Fixed
    }

    /// The most output rows that one launch takes: a grid has at most 65,535 blocks along y.
    pub(crate) fn rows_at_most(&self) -> usize {
        let rows = 65_535 * self.tile[1] as usize;
        if self.cells == Cells::Texture { rows.min(TEXTURE_MOST[1] - 2 * RADIUS as usize) } else { rows }
    }

    /// Cells from a row to the next on the device, for rows of `cols` cells; `None` when it does not matter.
    pub(crate) fn pitch(&self, cols: usize) -> Option<usize> {
        match self.cells {
            Cells::Bytes => None,
            Cells::Texture => Some(cols.next_multiple_of(32)),
            Cells::Rows | Cells::Flat | Cells::Extent | Cells::Constant | Cells::Narrow => Some(cols),
        }
    }

    /// Bytes on the device for each row, beside its cells and results.
    pub(crate) fn bytes_per_row(&self) -> usize {
        // A pointer to each.
        if self.cells == Cells::Rows { 2 * size_of::<u64>() } else { 0 }
    }

    /// The table of logarithms on the device, if it is not the kernel's own.
    pub(crate) fn table(&self, device: &Arc<dyn Device>) -> Result<Option<Buffer>, DeviceError> {
        Ok(match self.table {
            Table::Own | Table::Fixed => None,
            Table::Global => Some(Buffer::from_slice(device, &LN)?),
            Table::Texture => Some(Buffer::from_slice(device, &LN_F32)?),
        })
    }

    /// Computes a band. `table` is what [`table`](Self::table) gave, or the one in fixed point, whose
    /// unit is in `scale`. Returns the seconds that the kernel took.
    pub(crate) fn launch(
        &self,
        device: &Arc<dyn Device>,
        frame: &Frame<'_>,
        table: Option<&Buffer>,
        scale: f64,
    ) -> Result<f64, DeviceError> {
        let Frame { cells, out, rows, cols, stride, first, count, out_stride, .. } = *frame;
        // What has to live until the launch is over.
        let (plane, line, matrices, extent);
        let mut args = Vec::new();
        match self.cells {
            Cells::Bytes => args.extend([cells.input::<u8>(), out.output::<f32>()]),
            Cells::Texture => {
                let shape = TextureShape::Plane { width: cols, height: rows, pitch: stride as usize };
                plane = Texture::new(cells, TexelFormat::U8, shape)?;
                args.extend([plane.arg(), out.output::<f32>()]);
            }
            Cells::Rows | Cells::Flat => {
                let rows_apart = self.cells == Cells::Rows;
                matrices = [
                    Matrix::new(device, cells, [rows, cols], rows_apart)?,
                    Matrix::new(device, out, [count, cols], rows_apart)?,
                ];
                args.extend([matrices[0].arg(&cells.input::<f64>()), matrices[1].arg(&out.output::<f64>())]);
            }
            Cells::Extent => {
                extent = Buffer::from_slice(device, &[rows, cols])?;
                args.extend([cells.input::<f64>(), out.output::<f64>(), extent.input::<u32>()]);
            }
            Cells::Constant => args.extend([cells.input::<f64>(), out.output::<f64>()]),
            Cells::Narrow => args.extend([cells.input::<i16>(), out.output::<f32>()]),
        }
        match (self.table, table) {
            (Table::Global, Some(table)) => args.push(table.input::<f64>()),
            (Table::Fixed, Some(table)) => args.push(table.input::<u32>()),
            (Table::Texture, Some(table)) => {
                line = Texture::new(table, TexelFormat::F32, TextureShape::Line { width: LOGS as u32 })?;
                args.push(line.arg());
            }
            _ => {}
        }
        let numbers: &[u32] = match self.cells {
            Cells::Bytes => &[rows, cols, stride, first, count, out_stride],
            Cells::Texture => &[rows, cols, first, count, out_stride],
            Cells::Rows | Cells::Flat => &[first],
            Cells::Extent | Cells::Constant | Cells::Narrow => &[first, count],
        };
        args.extend(numbers.iter().copied().map(Arg::U32));
        args.push(if self.is_f64() { Arg::F64(scale) } else { Arg::F32(scale as f32) });
        let constants: &[Constant] = match self.cells {
            Cells::Constant | Cells::Narrow => {
                let bytes = bytemuck::cast_slice(&[rows, cols]).to_vec();
                &[Constant { name: LADDER_EXTENT::NAME, bytes }]
            }
            _ => &[],
        };
        let ([x, y], [width, height]) = (self.block, self.tile);
        let grid = [cols.div_ceil(width), count.div_ceil(height), 1];
        let config = LaunchConfig { grid, block: [x, y, 1], shared_bytes: self.shared_bytes };
        // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises with the pitch above;
        // levels are below 16 by `misfit`; tables, textures, matrices and extents are as the kernels say, and so
        // is shared memory.
        unsafe { device.launch_with(&self.entry, &config, &args, constants) }
    }
}

/// A matrix on the device, as ladder B begins with: a structure of height, width and a pointer, to the elements or to an array
/// of pointers to rows.
struct Matrix {
    structure: Buffer,
    rows: Option<Buffer>,
}

impl Matrix {
    fn new(
        device: &Arc<dyn Device>,
        elements: &Buffer,
        [height, width]: [u32; 2],
        rows_apart: bool,
    ) -> Result<Self, DeviceError> {
        let row_bytes = u64::from(width) * size_of::<f64>() as u64;
        let rows = if rows_apart {
            let rows: Vec<u64> = (0..u64::from(height)).map(|row| elements.address() + row * row_bytes).collect();
            Some(Buffer::from_slice(device, &rows)?)
        } else {
            None
        };
        let data = rows.as_ref().unwrap_or(elements).address();
        let structure = Buffer::from_slice(device, &[u64::from(height), u64::from(width), data])?;
        Ok(Self { structure, rows })
    }

    /// As an argument; `elements` is that of the elements.
    fn arg(&self, elements: &Arg) -> Arg {
        self.structure.pointers(&self.rows.as_ref().map_or(*elements, |rows| rows.pointers(elements)))
    }
}
