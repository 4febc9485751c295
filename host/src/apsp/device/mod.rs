//! All-pairs shortest paths on devices.
//!
//! | file | what |
//! |---|---|
//! | `family` | the kernels for a type of distances |
//! | `tiled` | the kernels for use, on any number of devices |
//! | `blocks` | the same where the devices' memory does not hold the matrix |

use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use super::{Distance, Kernel, Matrix, MatrixError};
use crate::exec::{Device, DeviceError};
use crate::observe::{Cancelled, Observer};
use crate::threads::wait_until;

mod blocks;
mod family;
mod tiled;

/// Why devices could not do it. The matrix is then neither weights nor distances.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The host has no memory for a block.
    #[error(transparent)]
    Memory(#[from] MatrixError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The kernel does not do this work.
    #[error("kernel {kernel} cannot do this: {reason}")]
    Misfit {
        /// The kernel.
        kernel: Kernel,
        /// Why not.
        reason: String,
    },
}

/// Waits for threads that are a device's each. Where one has failed the others were stopped: its failure, not their cancellation, is the reason.
#[doc(hidden)]
pub fn join<'s, R>(
    threads: impl IntoIterator<Item = ScopedJoinHandle<'s, Result<R, SolveError>>>,
) -> Result<Vec<R>, SolveError> {
    let threads: Vec<_> = threads.into_iter().collect();
    wait_until(|| threads.iter().all(ScopedJoinHandle::is_finished));
    // A panic on a worker's thread is propagated.
    let ended = |thread: ScopedJoinHandle<'s, _>| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
    let results: Vec<Result<R, SolveError>> = threads.into_iter().map(ended).collect();
    let stopped = |error: &&SolveError| matches!(error, SolveError::Cancelled(_));
    if let Some(error) = results.iter().filter_map(|result| result.as_ref().err()).find(|error| !stopped(error)) {
        return Err(error.clone());
    }
    results.into_iter().collect()
}

/// What was done, in seconds of the first device, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Report {
    /// From the first launch to the end of the last, without copies from and to the host.
    pub compute: f64,
    /// To the device and back.
    pub copies: f64,
}

/// Like [`solve`] with [`Kernel::Tiled`], but in blocks of `side` vertices, a multiple of 256, as it does where the matrix is larger than the
/// memory of the devices.
///
/// # Errors
/// Those of [`solve`].
pub fn solve_in_blocks<T: Distance>(
    matrix: &mut Matrix<T>,
    devices: &[Arc<dyn Device>],
    side: usize,
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    assert!(side > 0 && side.is_multiple_of(256) && !devices.is_empty(), "{side} on {} devices", devices.len());
    blocks::solve(matrix, devices, side, observer)
}

/// Makes distances of weights, in place. No weight is negative. `observer` is notified of each finished vertex k: V of them in all.
///
/// # Errors
/// [`SolveError::Misfit`] where the kernel does not do this on such devices, [`SolveError::Device`] where one fails or has no room, [`SolveError::Cancelled`].
/// The matrix is neither weights nor distances then.
pub fn solve<T: Distance>(
    matrix: &mut Matrix<T>,
    kernel: Kernel,
    devices: &[Arc<dyn Device>],
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    assert!(kernel.on_device() && !devices.is_empty(), "{kernel} on {} devices", devices.len());
    match kernel {
        Kernel::Tiled => tiled::solve(matrix, devices, observer),
        Kernel::Custom(custom) => custom.algorithm().solve(T::any(matrix), devices, observer),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::exec::emulator::EmulatedDevice;
    use crate::threads::Threads;

    /// The thread that waits for those of the devices is the only one that copies for them.
    #[test]
    fn a_pool_of_one_thread_serves_several_devices() {
        let (done, ended) = channel();
        std::thread::spawn(move || {
            let devices: Vec<Arc<dyn Device>> = (0..2).map(|i| Arc::new(EmulatedDevice::new(i, None)) as _).collect();
            let weight = |i: usize, j: usize| if i == j { 0 } else { 1 + ((i * 31 + j * 17) % 1000) as i32 };
            let [mut tiled, mut blocks] = [(); 2].map(|()| Matrix::from_fn(300, weight).unwrap());
            Threads::new(1).unwrap().run(|| {
                solve(&mut tiled, Kernel::Tiled, &devices, &()).unwrap();
                solve_in_blocks(&mut blocks, &devices, 256, &()).unwrap();
            });
            done.send((tiled, blocks)).unwrap();
        });
        let (tiled, blocks) =
            ended.recv_timeout(Duration::from_secs(120)).expect("no thread waits for another for ever");
        assert!((0..300).all(|row| tiled.row(row) == blocks.row(row)));
    }
}
