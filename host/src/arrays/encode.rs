//! Codes of an array's numbers, in rows as the entropy kernels read them.

use std::sync::Arc;

use halotile_kernels::arrays as kernels;
use simt::launch::Arg;

use super::{Cells, blocks, config, count, fetch, fetched, small, table};
use crate::exec::queue::Queue;
use crate::exec::{Buffer, Device, DeviceError};

/// A step function on a device.
pub(crate) struct Encoder {
    starts: Buffer,
    codes: Buffer,
    steps: usize,
    /// The code of masked cells.
    masked: u16,
    /// Bytes of a code.
    width: usize,
}

/// Rows and columns of a grid that become rows and columns of codes.
pub(crate) enum Selection<'a> {
    /// So many, from a row and a column on.
    Window(usize, usize),
    /// These; there may be some twice.
    Indices(&'a [u32], &'a [u32]),
}

impl Encoder {
    /// Uploads the codes: `codes[i]` for keys from `starts[i]` on, which is 0 for the first. What is encoded takes `width` bytes a code, 1 or 2.
    pub fn new(
        queue: &mut Queue<'_>,
        device: &Arc<dyn Device>,
        starts: &[u64],
        codes: &[u32],
        masked: u16,
        width: usize,
    ) -> Result<Self, DeviceError> {
        assert_eq!(starts.first(), Some(&0), "every key has a code");
        let (starts_there, codes_there) = (table(queue, device, starts)?, table(queue, device, codes)?);
        Ok(Self { starts: starts_there, codes: codes_there, steps: starts.len().min(codes.len()), masked, width })
    }

    /// Enqueues the encoding of `rows` × `cols` cells to `out`, rows `pitch` codes apart. Then
    /// [`wait_for_codes`] returns the first cell whose number has no code.
    pub fn encode(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        selection: &Selection<'_>,
        (rows, cols): (usize, usize),
        out: &Buffer,
        pitch: usize,
    ) -> Result<Encoding, DeviceError> {
        let kernel = kernels::arrays_encode::ENTRY;
        let device = cells.device();
        assert!(
            rows * pitch * self.width <= out.bytes() && cols <= pitch && pitch.is_multiple_of(4),
            "room for all codes"
        );
        let (named, top, left) = match *selection {
            Selection::Window(top, left) => {
                assert!(top + rows <= cells.grid.rows() && left + cols <= cells.grid.cols(), "cells of the grid");
                (None, top, left)
            }
            Selection::Indices(of_rows, of_cols) => {
                let inside = |indices: &[u32], len: usize| indices.iter().all(|&index| (index as usize) < len);
                assert!(inside(of_rows, cells.grid.rows()) && inside(of_cols, cells.grid.cols()), "cells of the grid");
                assert_eq!((of_rows.len(), of_cols.len()), (rows, cols), "an index for every row and column");
                (Some(table(queue, device, &[of_rows, of_cols].concat())?), 0, 0)
            }
        };
        let blocks = blocks(device, &kernel, rows * pitch)?;
        let unmatched = small(device, blocks as usize * 8)?;
        let mut args = cells.buffers().to_vec();
        args.extend([self.starts.input::<u64>(), self.codes.input::<u32>()]);
        args.push(named.as_ref().unwrap_or(&self.starts).input::<u32>());
        args.extend([out.output::<u8>(), unmatched.output::<u64>()]);
        args.extend(cells.args());
        args.extend([count(self.steps), Arg::U32(self.masked.into()), count(cells.grid.cols())]);
        args.extend([named.is_some(), self.width > 1].map(|is| Arg::U32(is.into())));
        args.extend([top, left, rows, cols, pitch].map(count));
        // SAFETY: grid and mask are of one shape and promise to hold their numbers; rows and columns are inside, as has just been checked, and
        // so is the room for codes; steps begin at 0; there is a word for every block.
        unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
        fetch(queue, &unmatched, blocks as usize * 8)?;
        Ok(Encoding { _named: named, _unmatched: unmatched })
    }
}

/// What an encoding uses, until it has been waited for.
pub(crate) struct Encoding {
    _named: Option<Buffer>,
    _unmatched: Buffer,
}

/// Waits for a queue with encodings on it: the first cell, in reading order, whose number has no code, and the seconds that kernels
/// took.
pub(crate) fn wait_for_codes(queue: &mut Queue<'_>, cols: usize) -> Result<(Option<(usize, usize)>, f64), DeviceError> {
    let (fetched, seconds) = fetched(queue.wait())?;
    let unmatched = fetched.iter().flat_map(|(memory, bytes)| &memory.as_slice::<u64>()[..bytes / 8]);
    let first = unmatched.copied().min().filter(|&cell| cell != u64::MAX);
    Ok((first.map(|cell| (cell as usize / cols, cell as usize % cols)), seconds))
}
