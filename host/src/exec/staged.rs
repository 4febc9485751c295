//! Large copies between a device and ordinary memory, through pieces of page-locked memory that take turns.
//!
//! ```text
//! up:    wait until the piece's last copy is done; all threads fill it; its copy sets out
//! down:  a copy into each piece sets out; in turn: wait for it, all threads empty it, the next sets out
//! ```
//!
//! The driver would do about this by itself, with one thread, which is a quarter of what the bus takes.

use rayon::prelude::*;

use super::{Buffer, Device, DeviceError, HostMemory};

/// Bytes of a piece: always the same, so that devices need not lock memory anew.
const PIECE: usize = 16 << 20;
/// Pieces: one under way, one with the threads, one to spare.
const PIECES: usize = 3;

/// Whether rows of `width` bytes are enough for it to be worth it.
pub(super) fn worth_it(width: usize, rows: usize) -> bool {
    rows > 1 && width <= PIECE && width.saturating_mul(rows) >= 2 * PIECE
}

/// A queue and a piece of memory for it. Dropped, it waits for what is on the queue.
struct Stage<'d> {
    device: &'d dyn Device,
    queue: u64,
    memory: HostMemory,
}

impl<'d> Stage<'d> {
    fn all(device: &'d dyn Device, bytes: usize) -> Result<Vec<Self>, DeviceError> {
        let stage = |_| {
            let memory = device.host_memory(bytes)?;
            Ok(Self { device, queue: device.open_queue(false)?, memory })
        };
        (0..PIECES).map(stage).collect()
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Whoever cares for the outcome has waited before.
        let _ = self.device.wait(self.queue);
        self.device.close_queue(self.queue);
    }
}

/// Rows of `width` bytes in a buffer, `pitch` apart, the first at byte `start`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub start: usize,
    pub pitch: usize,
    pub width: usize,
    pub rows: usize,
}

impl Rows {
    /// Rows of a piece, and its bytes.
    fn piece(self) -> (usize, usize) {
        let rows = (PIECE / self.width.max(1)).clamp(1, self.rows.max(1));
        // Of one size where there are many.
        (rows, if rows < self.rows { PIECE.max(self.width) } else { rows * self.width })
    }
}

/// Fills rows of a buffer: `fill` writes pieces, each from a row on, one after another and without gaps.
pub(crate) fn put(
    device: &dyn Device,
    to: &Buffer,
    rows: Rows,
    fill: impl Fn(usize, &mut [u8]),
) -> Result<(), DeviceError> {
    let Rows { start, pitch, width, .. } = rows;
    let (each, bytes) = rows.piece();
    let mut stages = Stage::all(device, bytes)?;
    for (i, top) in (0..rows.rows).step_by(each).enumerate() {
        let count = each.min(rows.rows - top);
        let stage = &mut stages[i % PIECES];
        device.wait(stage.queue)?;
        fill(top, &mut stage.memory[..count * width]);
        // SAFETY: the piece is touched again only when its queue has been waited for, and `to` is the caller's until we return.
        unsafe { device.upload_on(stage.queue, to, start + top * pitch, pitch, &stage.memory, width, width, count) }?;
    }
    stages.iter().try_for_each(|stage| device.wait(stage.queue).map(drop))
}

/// Reads rows of a buffer: `empty` is handed pieces, each from a row on, one after another and without gaps.
pub(crate) fn take(
    device: &dyn Device,
    from: &Buffer,
    rows: Rows,
    mut empty: impl FnMut(usize, &[u8]),
) -> Result<(), DeviceError> {
    let Rows { start, pitch, width, .. } = rows;
    let (each, bytes) = rows.piece();
    let mut stages = Stage::all(device, bytes)?;
    let tops: Vec<usize> = (0..rows.rows).step_by(each).collect();
    let set_out = |stage: &mut Stage<'_>, top: usize| {
        let count = each.min(rows.rows - top);
        let Stage { queue, memory, .. } = stage;
        // SAFETY: the piece is touched again only when its queue has been waited for, and `from` is the caller's until we return.
        unsafe { device.download_on(*queue, from, start + top * pitch, pitch, memory, width, width, count) }
    };
    for (stage, &top) in stages.iter_mut().zip(&tops) {
        set_out(stage, top)?;
    }
    for (i, &top) in tops.iter().enumerate() {
        let stage = &mut stages[i % PIECES];
        device.wait(stage.queue)?;
        empty(top, &stage.memory[..each.min(rows.rows - top) * width]);
        if let Some(&next) = tops.get(i + PIECES) {
            set_out(stage, next)?;
        }
    }
    Ok(())
}

/// [`Device::upload`] for many bytes.
pub(super) fn upload(
    device: &dyn Device,
    to: &Buffer,
    rows: Rows,
    source: &[u8],
    source_pitch: usize,
) -> Result<(), DeviceError> {
    put(device, to, rows, |top, piece| {
        let sources = source[top * source_pitch..].par_chunks(source_pitch);
        let copy = |(to, from): (&mut [u8], &[u8])| to.copy_from_slice(&from[..rows.width]);
        piece.par_chunks_mut(rows.width).zip(sources).for_each(copy);
    })
}

/// [`Device::download`] for many bytes.
pub(super) fn download(
    device: &dyn Device,
    from: &Buffer,
    rows: Rows,
    target: &mut [u8],
    target_pitch: usize,
) -> Result<(), DeviceError> {
    take(device, from, rows, |top, piece| {
        let targets = target[top * target_pitch..].par_chunks_mut(target_pitch);
        let copy = |(from, to): (&[u8], &mut [u8])| to[..rows.width].copy_from_slice(from);
        piece.par_chunks(rows.width).zip(targets).for_each(copy);
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::exec::emulator::EmulatedDevice;

    #[test]
    fn bytes_come_back_as_they_went() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let (rows, width, pitch, host_pitch) = (5_000, 8_001, 8_064, 8_003);
        assert!(worth_it(width, rows) && rows * width > (PIECES + 1) * (PIECE - width) / 2);
        let source: Vec<u8> = (0..rows * host_pitch).map(|i| (i % 251) as u8).collect();
        let buffer = Buffer::new(&device, 64 + rows * pitch).unwrap();
        device.fill(&buffer, 0).unwrap();
        let all = Rows { start: 64, pitch, width, rows };
        upload(device.as_ref(), &buffer, all, &source, host_pitch).unwrap();
        let mut target = vec![0xEE; rows * host_pitch];
        download(device.as_ref(), &buffer, all, &mut target, host_pitch).unwrap();
        for row in 0..rows {
            let (got, wanted) = (&target[row * host_pitch..][..host_pitch], &source[row * host_pitch..][..width]);
            assert!(got[..width] == *wanted && got[width..] == [0xEE; 2], "row {row}");
        }
    }
}
