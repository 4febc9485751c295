//! A launch: which kernel, how many blocks, which arguments.

use halotile_lab_kernels::primer::transpose::*;
use simt::launch::{Arg, KernelEntry, LaunchConfig};
use simt::scalar::Scalar;

use super::Rung;
use halotile::exec::{Buffer, Device, DeviceError};

/// Columns of tiles in a strip of [`Rung::Wide`], for elements of 1, 2, 4 and 8 bytes: the best of 4, 8, .. 128 and all of them on an H200. At 16,384²
/// the worst of these costs 5, 2, 3 and 4 %.
const STRIP: [u32; 4] = [4, 4, 4, 64];

/// A rung for a shape.
#[derive(Debug)]
pub(super) struct Plan {
    rung: Rung,
    /// log₂ of the bytes of an element, 0 to 3.
    log: usize,
    rows: u32,
    cols: u32,
    /// Tiles down and across.
    tiles: [u32; 2],
}

impl Plan {
    /// For `rows` x `cols` elements, none of them 0, of `bytes` bytes: 1, 2, 4 or 8.
    pub fn new(rung: Rung, bytes: usize, rows: usize, cols: usize) -> Result<Self, DeviceError> {
        let log = bytes.trailing_zeros() as usize;
        let side = match rung {
            Rung::Wide => [TRANSPOSE_WIDE_ROWS[log], TRANSPOSE_WIDE_COLS[log]],
            _ => [TRANSPOSE_TILE; 2],
        };
        let shape = u32::try_from(rows).ok().zip(u32::try_from(cols).ok()).and_then(|(rows, cols)| {
            let tiles = [rows.div_ceil(side[0]), cols.div_ceil(side[1])];
            // What a grid may have along x.
            let blocks = tiles[0].checked_mul(tiles[1])?;
            (blocks <= i32::MAX as u32).then_some((rows, cols, tiles))
        });
        let Some((rows, cols, tiles)) = shape else {
            return Err(DeviceError::Fault(format!("a matrix of {rows} x {cols} is too large to be transposed")));
        };
        Ok(Self { rung, log, rows, cols, tiles })
    }

    /// The kernel of a rung for elements of 2 to the `log` bytes.
    pub fn kernel(rung: Rung, log: usize) -> &'static KernelEntry {
        match rung {
            Rung::Naive => [
                &primer_transpose_naive_u8::ENTRY,
                &primer_transpose_naive_u16::ENTRY,
                &primer_transpose_naive_u32::ENTRY,
                &primer_transpose_naive_u64::ENTRY,
            ][log],
            Rung::Unpadded => [
                &primer_transpose_unpadded_u8::ENTRY,
                &primer_transpose_unpadded_u16::ENTRY,
                &primer_transpose_unpadded_u32::ENTRY,
                &primer_transpose_unpadded_u64::ENTRY,
            ][log],
            Rung::Padded => [
                &primer_transpose_padded_u8::ENTRY,
                &primer_transpose_padded_u16::ENTRY,
                &primer_transpose_padded_u32::ENTRY,
                &primer_transpose_padded_u64::ENTRY,
            ][log],
            Rung::Diagonal => [
                &primer_transpose_diagonal_u8::ENTRY,
                &primer_transpose_diagonal_u16::ENTRY,
                &primer_transpose_diagonal_u32::ENTRY,
                &primer_transpose_diagonal_u64::ENTRY,
            ][log],
            Rung::Wide => [
                &primer_transpose_wide_u8::ENTRY,
                &primer_transpose_wide_u16::ENTRY,
                &primer_transpose_wide_u32::ENTRY,
                &primer_transpose_wide_u64::ENTRY,
            ][log],
        }
    }

    /// Transposes `from` to `to`, which have the shape's elements each. Returns the seconds that the kernel took, by the device's clock.
    pub fn run(&self, device: &dyn Device, from: &Buffer, to: &Buffer) -> Result<f64, DeviceError> {
        let bytes = self.rows as usize * self.cols as usize * (1 << self.log);
        assert!(from.bytes() >= bytes && to.bytes() >= bytes, "buffers hold the matrix");
        let [down, across] = self.tiles;
        let block = if self.rung == Rung::Wide {
            [TRANSPOSE_WIDE_THREADS, 1, 1]
        } else {
            [TRANSPOSE_TILE, TRANSPOSE_THREADS_Y, 1]
        };
        let config = LaunchConfig { grid: [down * across, 1, 1], block, shared_bytes: 0 };
        let mut args = match self.log {
            0 => args::<u8>(from, to),
            1 => args::<u16>(from, to),
            2 => args::<u32>(from, to),
            _ => args::<u64>(from, to),
        };
        args.push(self.rows.into());
        args.push(self.cols.into());
        if self.rung == Rung::Wide {
            args.push(STRIP[self.log].min(across).into());
        }
        // SAFETY: buffers are long enough (above) and begin at multiples of 256; there is a block for each tile. A strip has no more tiles
        // than there are, which fit a launch.
        unsafe { device.launch(Self::kernel(self.rung, self.log), &config, &args) }
    }
}

fn args<T: Scalar>(from: &Buffer, to: &Buffer) -> Vec<Arg> {
    vec![from.input::<T>(), to.output::<T>()]
}
