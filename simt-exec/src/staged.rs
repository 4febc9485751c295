//! Large copies between a device and pageable memory, through a ring of page-locked pieces.
//!
//! ```text
//! up:    wait until the piece's last copy is done; all threads fill it; enqueue its copy
//! down:  enqueue a copy into each piece; in turn: wait for it, all threads empty it, enqueue the next
//! ```
//!
//! The driver does much the same by itself, with one thread, at a quarter of the bus's bandwidth.

use rayon::prelude::*;

use crate::queue::{Queue, Readable, Source, Target, Writable, scope};
use crate::{Buffer, DeviceError, HostMemory, Rows};

/// Bytes of a piece: always the same, so that devices can reuse locked memory.
const PIECE: usize = 16 << 20;
/// Pieces: one in flight, one in use by the threads, one spare.
const PIECES: usize = 3;

/// Whether there are so many rows that a copy through the ring is faster than the driver's.
pub fn worth_it(Rows { width, rows, .. }: Rows) -> bool {
    rows > 1 && width <= PIECE && width.saturating_mul(rows) >= 2 * PIECE
}

/// How many of the rows are a piece, and its bytes.
fn piece_of(all: Rows) -> (usize, usize) {
    let rows = (PIECE / all.width.max(1)).clamp(1, all.rows.max(1));
    // Of one size where there are many.
    (rows, if rows < all.rows { PIECE.max(all.width) } else { rows * all.width })
}

/// Fills rows of a buffer: `fill` writes pieces, each from a row on, one after another and without gaps.
///
/// # Errors
/// [`DeviceError::HostMemory`] where the pieces cannot be page-locked, [`DeviceError::Driver`] where a copy fails.
pub fn upload_with(to: &Buffer, rows: Rows, fill: impl Fn(usize, &mut [u8])) -> Result<(), DeviceError> {
    let Rows { start, pitch, width, .. } = rows;
    let (each, bytes) = piece_of(rows);
    scope(to.device(), 0, PIECES, |queues| {
        for (i, top) in (0..rows.rows).step_by(each).enumerate() {
            let count = each.min(rows.rows - top);
            let queue = &mut queues[i % PIECES];
            let mut memory = piece(queue, to, bytes)?;
            fill(top, &mut memory[..count * width]);
            let source = Source { memory: Readable::Owned(memory), pitch: width, width, rows: count };
            queue.upload(to, start + top * pitch, pitch, source)?;
        }
        queues.iter_mut().try_for_each(|queue| queue.wait().result)
    })?
}

/// Reads rows of a buffer: `drain` is handed pieces, each from a row on, one after another and without gaps.
///
/// # Errors
/// Those of [`upload_with`].
pub fn download_with(from: &Buffer, rows: Rows, mut drain: impl FnMut(usize, &[u8])) -> Result<(), DeviceError> {
    let Rows { start, pitch, width, .. } = rows;
    let (each, bytes) = piece_of(rows);
    let tops: Vec<usize> = (0..rows.rows).step_by(each).collect();
    let count = |top: usize| each.min(rows.rows - top);
    let enqueue = |queue: &mut Queue<'_>, memory: HostMemory, top: usize| {
        let target = Target { memory: Writable::Owned(memory), pitch: width, width, rows: count(top) };
        queue.download(from, start + top * pitch, pitch, target)
    };
    scope(from.device(), 0, PIECES, |queues| {
        for (queue, &top) in queues.iter_mut().zip(&tops) {
            let memory = from.device().host_memory(bytes)?;
            enqueue(queue, memory, top)?;
        }
        for (i, &top) in tops.iter().enumerate() {
            let queue = &mut queues[i % PIECES];
            let memory = piece(queue, from, bytes)?;
            drain(top, &memory[..count(top) * width]);
            if let Some(&next) = tops.get(i + PIECES) {
                enqueue(queue, memory, next)?;
            }
        }
        Ok(())
    })?
}

/// The piece of memory that a queue holds, when its copy is done; a new one if it holds none.
fn piece(queue: &mut Queue<'_>, buffer: &Buffer, bytes: usize) -> Result<HostMemory, DeviceError> {
    let mut returned = queue.wait();
    returned.result?;
    let read = returned.sources.pop().map(|source| source.memory);
    let written = returned.targets.pop().map(|target| target.memory);
    match (read, written) {
        (Some(Readable::Owned(memory)), _) | (_, Some(Writable::Owned(memory))) => Ok(memory),
        _ => buffer.device().host_memory(bytes),
    }
}

/// [`Device::upload`](crate::Device::upload) for many bytes.
///
/// # Errors
/// Those of [`upload_with`].
///
/// # Panics
/// When the rows do not lie inside `source` and the buffer.
pub fn upload(to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> Result<(), DeviceError> {
    rows.check_host(source.len(), source_pitch);
    if rows.bytes() == 0 {
        return Ok(());
    }
    // A single row may be told any pitch.
    let source_pitch = source_pitch.max(rows.width);
    upload_with(to, rows, |top, piece| {
        let sources = source[top * source_pitch..].par_chunks(source_pitch);
        let copy = |(to, from): (&mut [u8], &[u8])| to.copy_from_slice(&from[..rows.width]);
        piece.par_chunks_mut(rows.width).zip(sources).for_each(copy);
    })
}

/// [`Device::download`](crate::Device::download) for many bytes.
///
/// # Errors
/// Those of [`upload_with`].
///
/// # Panics
/// When the rows do not lie inside `target` and the buffer.
pub fn download(from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> Result<(), DeviceError> {
    rows.check_host(target.len(), target_pitch);
    if rows.bytes() == 0 {
        return Ok(());
    }
    // A single row may be told any pitch.
    let target_pitch = target_pitch.max(rows.width);
    download_with(from, rows, |top, piece| {
        let targets = target[top * target_pitch..].par_chunks_mut(target_pitch);
        let copy = |(from, to): (&[u8], &mut [u8])| to[..rows.width].copy_from_slice(from);
        piece.par_chunks(rows.width).zip(targets).for_each(copy);
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Device;
    use crate::emulator::EmulatedDevice;

    #[test]
    fn bytes_come_back_as_they_went() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let (rows, width, pitch, host_pitch) = (5_000, 8_001, 8_064, 8_003);
        let all = Rows { start: 64, pitch, width, rows };
        assert!(worth_it(all) && rows * width > (PIECES + 1) * (PIECE - width) / 2);
        let source: Vec<u8> = (0..rows * host_pitch).map(|i| (i % 251) as u8).collect();
        let buffer = Buffer::new(&device, 64 + rows * pitch).unwrap();
        device.fill(&buffer, 0).unwrap();
        upload(&buffer, all, &source, host_pitch).unwrap();
        let mut target = vec![0xEE; rows * host_pitch];
        download(&buffer, all, &mut target, host_pitch).unwrap();
        for row in 0..rows {
            let (got, wanted) = (&target[row * host_pitch..][..host_pitch], &source[row * host_pitch..][..width]);
            assert!(got[..width] == *wanted && got[width..] == [0xEE; 2], "row {row}");
        }
    }
}
