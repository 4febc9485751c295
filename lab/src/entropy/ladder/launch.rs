//! Launching a rung: what fits it, how its cells lie on the device, and its arguments.

use std::sync::Arc;

use halotile_lab_kernels::ladder::{LADDER_EXTENT, LN, LN_F32, LOGS, RADIUS};
use simt::constant::Symbol;
use simt::launch::{Arg, Constant, LaunchConfig};

use super::Rung;
use super::device::{CellType, Cells, DeviceRung, Table};
use halotile::entropy::{Error, Frame, Launcher, Task, fixed_table, pitch};
use halotile::exec::{Buffer, Device, DeviceError, Rows, TexelFormat, Texture, TextureShape};
use halotile::grid::GridView;
use rayon::prelude::*;

/// The most texels along x and y of a two-dimensional texture over a buffer.
const TEXTURE_MOST: [usize; 2] = [131_072, 65_000];

impl DeviceRung {
    /// Why the kernel cannot do a grid of so many columns; `None` when it can.
    pub(super) fn misfit(&self, cols: usize) -> Option<String> {
        let [most, _] = TEXTURE_MOST;
        (self.cells == Cells::Texture && cols > most)
            .then(|| format!("its texture takes up to {most} columns, and there are {cols}"))
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Dynamic shared memory of a block, in bytes.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// The most output rows that one launch takes: a grid has at most 65,535 blocks along y.
    pub(super) fn rows_at_most(&self) -> usize {
        let rows = 65_535 * self.tile[1] as usize;
        if self.cells == Cells::Texture { rows.min(TEXTURE_MOST[1] - 2 * RADIUS as usize) } else { rows }
    }

    /// Cells from a row to the next on the device, for rows of `cols` cells; `None` when it does not matter.
    pub(super) fn pitch(&self, cols: usize) -> Option<usize> {
        match self.cells {
            Cells::Bytes => None,
            Cells::Texture => Some(cols.next_multiple_of(32)),
            Cells::Rows | Cells::Flat | Cells::Extent | Cells::Constant | Cells::Narrow => Some(cols),
        }
    }

    /// Bytes on the device for each row, beside its cells and results.
    pub(super) fn bytes_per_row(&self) -> usize {
        // A pointer to each.
        if self.cells == Cells::Rows { 2 * size_of::<u64>() } else { 0 }
    }

    /// Computes a band. `table` is the rung's table of logarithms; where that is the one in fixed point, its
    /// unit is in `scale`. Returns the seconds that the kernel took.
    pub(super) fn launch(
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

/// A rung's kernel, ready on a device.
pub(super) struct RungLauncher {
    rung: &'static DeviceRung,
    device: Arc<dyn Device>,
    /// The table of logarithms, if it is not the kernel's own.
    table: Option<Buffer>,
    /// What the kernel multiplies by.
    scale: f64,
    /// Blocks that run at once.
    resident: u32,
}

impl RungLauncher {
    /// Puts the table on the device.
    ///
    /// # Errors
    /// A rung that is no kernel, or a device that lacks what it needs.
    pub fn new(rung: &'static Rung, device: &Arc<dyn Device>, task: &Task<'_>) -> Result<Self, Error> {
        let misfit = |reason: String| Error::KernelMisfit { kernel: rung.name, reason };
        let rung = rung.device().ok_or_else(|| misfit("it is no single launch".into()))?;

        let limits = device.limits();
        let lacks = limits.lacks_arch(rung.entry.arch).or_else(|| limits.lacks_shared(rung.shared_bytes));
        if let Some(reason) = lacks {
            return Err(misfit(reason));
        }
        let (table, scale) = match rung.table {
            Table::Own => (None, task.scale),
            Table::Global => (Some(Buffer::from_slice(device, &LN)?), task.scale),
            Table::Texture => (Some(Buffer::from_slice(device, &LN_F32)?), task.scale),
            Table::Fixed => {
                let largest = task.size.min(task.cells.rows()) * task.size.min(task.cells.cols());
                let (table, units) = fixed_table(task.size, largest);
                (Some(Buffer::from_slice(device, &table)?), task.scale / units)
            }
        };
        let resident = device.resident_blocks(&rung.entry, rung.threads(), rung.shared_bytes)?;
        Ok(Self { rung, device: Arc::clone(device), table, scale, resident })
    }
}

impl Launcher for RungLauncher {
    fn cell_bytes(&self) -> usize {
        self.rung.cell_type().bytes()
    }

    fn pitch(&self, cols: usize) -> usize {
        self.rung.pitch(cols).unwrap_or_else(|| pitch(cols))
    }

    fn bytes_per_row(&self, _pitch: usize) -> usize {
        self.rung.bytes_per_row()
    }

    fn rows_at_most(&self) -> usize {
        self.rung.rows_at_most()
    }

    fn resident_threads(&self) -> u32 {
        self.resident * self.rung.threads()
    }

    fn upload(&self, to: &Buffer, pitch: usize, cells: GridView<'_, u8>) -> Result<(), DeviceError> {
        let (cols, bytes) = (cells.cols(), self.cell_bytes());
        let rows = Rows { start: 0, pitch: pitch * bytes, width: cols * bytes, rows: cells.rows() };
        let packed = |cells: &[u8]| self.device.upload(to, rows, cells, cols * bytes);
        match self.rung.cell_type() {
            CellType::U8 => self.device.upload(to, rows, cells.as_strided(), cells.stride()),
            CellType::I16 => packed(bytemuck::cast_slice(&convert(cells, i16::from))),
            CellType::F64 => packed(bytemuck::cast_slice(&convert(cells, f64::from))),
        }
    }

    unsafe fn launch(&self, frame: &Frame<'_>) -> Result<f64, DeviceError> {
        self.rung.launch(&self.device, frame, self.table.as_ref(), self.scale)
    }
}

/// A copy of `band` with each cell converted.
fn convert<C: Default + Copy + Send>(band: GridView<'_, u8>, of: impl Fn(u8) -> C + Sync) -> Vec<C> {
    let mut converted = vec![C::default(); band.rows() * band.cols()];
    converted.par_chunks_mut(band.cols()).enumerate().for_each(|(r, row)| {
        for (cell, &value) in row.iter_mut().zip(band.row(r)) {
            *cell = of(value);
        }
    });
    converted
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

#[cfg(test)]
mod tests {
    use halotile::entropy::{Engine, Entropy};
    use halotile::exec::emulator::EmulatedDevice;
    use halotile::grid::Grid;

    use super::*;

    #[test]
    fn devices_that_lack_something_are_told() {
        let cells = Grid::from_fn(9, 9, |_, _| 3u8).unwrap();
        let refused = |device: EmulatedDevice| {
            let mut out = Grid::<f32>::zeros(9, 9).unwrap();
            let kernel = crate::entropy::kernel("s4").expect("it is a rung");
            let engine = Engine::Devices(vec![Arc::new(device)]);
            let ended = Entropy::new().kernel(kernel).compute_into(&engine, cells.view(), out.view_mut(), &());
            ended.map(drop).unwrap_err().to_string()
        };
        let old = refused(EmulatedDevice::new(0, None).with_arch(70));
        assert_eq!(old, "kernel s4 cannot do this: it needs compute capability 7.5, and the device has 7.0");
        let small = refused(EmulatedDevice::new(0, None).with_shared_per_block(48 * 1024));
        assert!(
            small.starts_with("kernel s4 cannot do this: it needs 102528 bytes of shared memory a block"),
            "{small}"
        );
    }
}
