//! Ceilings that are measured here: of the CPU a copy that reads a byte and writes four for each cell, as an entropy in f32 at least
//! must, on the current rayon pool, as the engines do; of the bus copies of results from all devices at once, since they share the host's
//! memory. The best of several: a limit is what can be reached.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::entropy::BYTES_PER_CELL;
use halotile::exec::{Buffer, Device, DeviceError, HostMemory};

/// Cells that are copied: with their results more than any cache holds. Tests look at everything but the rate.
const CELLS: usize = if cfg!(test) { 1 << 20 } else { 1 << 26 };
/// Cells that a thread copies at a time.
const TASK: usize = 1 << 18;
const RUNS: usize = 6;

/// Bytes read plus bytes written in a second.
pub fn cpu_copy() -> f64 {
    copies(CELLS).0
}

/// The rate of copies of so many cells, and the last copy.
fn copies(cells: usize) -> (f64, Vec<f32>) {
    // Not zeros, which the system may keep in one page.
    let source = vec![1u8; cells];
    let mut target = vec![0f32; cells];
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        target.par_chunks_mut(TASK).zip(source.par_chunks(TASK)).for_each(|(target, source)| {
            for (to, &from) in target.iter_mut().zip(source) {
                *to = f32::from(from);
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
        black_box(&mut target);
    }
    ((cells * BYTES_PER_CELL) as f64 / best, target)
}

/// Bytes that a device copies back, or an eighth of its free memory if that is less.
const BACK: usize = if cfg!(test) { 1 << 16 } else { 1 << 28 };

/// Bytes that all these devices together copy to page-locked memory of the host in a second, all at once.
pub fn copy_back(devices: &[Arc<dyn Device>]) -> Result<f64, DeviceError> {
    let mut shares = devices.iter().map(share).collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = shares.iter().map(|(_, memory)| memory.len()).sum();
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                shares.iter_mut().map(|(buffer, memory)| scope.spawn(move || buffer.read(0, memory))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("copies do not panic"))
        })?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(bytes as f64 / best)
}

/// What a device copies, and where to.
fn share(device: &Arc<dyn Device>) -> Result<(Buffer, HostMemory), DeviceError> {
    let bytes = (device.free_memory()? / 8).min(BACK);
    let buffer = Buffer::new(device, bytes)?;
    device.fill(&buffer, 1)?;
    Ok((buffer, device.host_memory(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    #[test]
    fn every_cell_is_copied_and_the_rate_is_the_best_of_all_runs() {
        let cells = 2 * TASK + 3;
        let start = Instant::now();
        let (rate, copy) = copies(cells);
        let seconds = start.elapsed().as_secs_f64();
        assert!(copy.len() == cells && copy.iter().all(|&cell| cell == 1.0));
        // The best is no slower than all of them together.
        let together = (RUNS * cells * 5) as f64 / seconds;
        assert!(rate.is_finite() && rate >= together, "{rate}, and {together} together");
    }

    #[test]
    fn all_devices_copy_back_and_the_rate_counts_them_all() {
        let devices: Vec<Arc<dyn Device>> = (0..3).map(|i| Arc::new(EmulatedDevice::new(i, None)) as _).collect();
        let (_, mut copied) = share(&devices[0]).unwrap();
        let (buffer, _) = share(&devices[0]).unwrap();
        buffer.read(0, &mut copied).unwrap();
        assert!(copied.len() == BACK && copied.iter().all(|&byte| byte == 1));
        let start = Instant::now();
        let rate = copy_back(&devices).unwrap();
        let together = (RUNS * 3 * BACK) as f64 / start.elapsed().as_secs_f64();
        assert!(rate.is_finite() && rate >= together, "{rate}, and {together} together");
    }
}
