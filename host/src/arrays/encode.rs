//! Codes of an array's numbers, in rows as the entropy kernels read them.

use std::sync::Arc;

use halotile_kernels::arrays as kernels;
use simt::launch::Arg;

use super::{Cells, blocks, config, count, fetch, fetched, small, table};
use crate::exec::queue::Queue;
use crate::exec::{Buffer, Device, DeviceError};

/// Keys of a table at most: it is made and copied for each call.
const MOST_KEYS: u64 = 1 << 16;

/// A step function on a device.
pub(crate) struct Encoder {
    starts: Buffer,
    codes: Buffer,
    steps: usize,
    /// Where the codes are those of keys, one after another: of the first one, and how many.
    keys: (u64, usize),
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
        let steps = starts.len().min(codes.len());
        let (keys, codes, starts) = match direct(starts, codes) {
            // Steps are not read.
            Some((base, codes)) => ((base, codes.len()), table(queue, device, &codes)?, &starts[..1]),
            None => ((0, 0), table(queue, device, codes)?, starts),
        };
        Ok(Self { starts: table(queue, device, starts)?, codes, steps, keys, masked, width })
    }

    /// Numbers between the grid's rows, if the kernel can read whole ones of those four numbers at a time.
    fn fours(&self, cells: Cells<'_>, selection: &Selection<'_>) -> Option<usize> {
        let bytes = cells.grid.value_type().bytes();
        let is_plain = cells.mask.is_none() && matches!(selection, Selection::Window(_, 0));
        // An access has four numbers, or 16 bytes.
        let align = (4 * bytes).min(16);
        let pitch = cells.grid.layout.pitch(align as u64)?;
        (is_plain && (bytes == 1 || self.keys.1 > 0) && (pitch * bytes).is_multiple_of(align)).then_some(pitch)
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
        let fours = self.fours(cells, selection).filter(|_| cols.is_multiple_of(4));
        let aligned = fours.map(|pitch| cells.grid.layout.rows_from(0, cells.grid.rows(), pitch));
        let mut args = cells.buffers().to_vec();
        if let Some(rows) = &aligned {
            args[0] = rows.input::<u8>();
        }
        args.extend([self.starts.input::<u64>(), self.codes.input::<u32>()]);
        args.push(named.as_ref().unwrap_or(&self.starts).input::<u32>());
        args.extend([out.output::<u8>(), unmatched.output::<u64>()]);
        args.extend(cells.args_of(fours));
        args.extend([count(self.steps), Arg::U32(self.masked.into()), count(cells.grid.cols())]);
        args.extend([named.is_some(), self.width > 1].map(|is| Arg::U32(is.into())));
        args.extend([top, left, rows, cols, pitch].map(count));
        args.extend([Arg::U64(self.keys.0), count(self.keys.1), Arg::U32(fours.is_some().into())]);
        // SAFETY: grid and mask are of one shape and promise to hold their numbers; rows and columns are inside, as has just been checked, and
        // so is the room for codes; steps begin at 0, or there is a code for every key; rows are aligned where four numbers are
        // read at a time; there is a word for every block.
        unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
        fetch(queue, &unmatched, blocks as usize * 8)?;
        Ok(Encoding { _named: named, _unmatched: unmatched })
    }
}

/// Codes of all keys from the first returned on, if there are not too many between the first step and the last: those before and after have the codes of the
/// first and the last key.
fn direct(starts: &[u64], codes: &[u32]) -> Option<(u64, Vec<u32>)> {
    let [_, second, ..] = *starts else { return None };
    let (base, last) = (second - 1, *starts.last()?);
    if last - base > MOST_KEYS {
        return None;
    }
    let ends = starts[1..].iter().copied().chain([last + 1]);
    let each = starts.iter().zip(codes).zip(ends);
    // Of the first step one key, of the last one too.
    Some((base, each.flat_map(|((&start, &code), end)| (start.max(base)..end).map(move |_| code)).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::steps::Steps;

    #[test]
    fn a_table_of_keys_gives_the_codes_of_steps() {
        let (starts, codes) = (vec![0, 7, 8, 9, 40], vec![kernels::ENCODE_MISFIT, 0, 3, kernels::ENCODE_MISFIT, 1]);
        let (base, table) = direct(&starts, &codes).unwrap();
        let steps = Steps { starts, codes };
        for key in 0..100u64 {
            let code = table[(key.saturating_sub(base) as usize).min(table.len() - 1)];
            assert_eq!(steps.code(key), (code != kernels::ENCODE_MISFIT).then_some(code as u16), "key {key}");
        }
    }

    #[test]
    fn far_apart_or_all_the_same_there_is_no_table() {
        assert_eq!(direct(&[0], &[5]), None);
        assert_eq!(direct(&[0, 1, 2 + MOST_KEYS], &[0, 1, 2]), None);
        assert_eq!(direct(&[0, 1, MOST_KEYS], &[0, 1, 2]).unwrap().1.len() as u64, MOST_KEYS + 1);
    }
}
