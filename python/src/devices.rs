//! Devices that stay open, and the choice of one.
//!
//! To start a GPU takes tenths of a second, and its memory and compiled kernels are of use to the next call: a device that was opened once
//! stays open as long as the process lives. A process that was forked from one that has started CUDA cannot use it (the driver does not allow
//! that); it is told so instead of being given the driver's number for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use halotile::choice::{Devices, Opened, Opener, Recommendation};
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Fault;
use crate::run::Watch;

/// The process that has started CUDA; 0 for none.
static STARTED: AtomicU32 = AtomicU32::new(0);

static OPEN: Mutex<BTreeMap<usize, Arc<CudaDevice>>> = Mutex::new(BTreeMap::new());

/// An error where CUDA was started by a process that this one was forked from.
fn not_forked() -> Result<(), DeviceError> {
    let here = std::process::id();
    match STARTED.compare_exchange(0, here, SeqCst, SeqCst) {
        Err(there) if there != here => Err(DeviceError::Absent(
            "CUDA is off: this process was forked from one that has started it; start processes by spawn or forkserver"
                .into(),
        )),
        _ => Ok(()),
    }
}

/// The GPU `ordinal`.
pub fn gpu(ordinal: usize) -> Result<Arc<CudaDevice>, DeviceError> {
    // A machine without a driver has nothing to be started.
    cuda::driver()?;
    not_forked()?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = open.get(&ordinal) {
        return Ok(Arc::clone(device));
    }
    // Opening makes the device the thread's own in the eyes of other libraries, which are not to notice.
    let opened = std::thread::scope(|scope| scope.spawn(|| CudaDevice::new(ordinal)).join());
    let device = Arc::new(opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    open.insert(ordinal, Arc::clone(&device));
    Ok(device)
}

/// Whether a GPU need not be started first.
pub fn is_open() -> bool {
    not_forked().is_ok() && !OPEN.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

/// Devices as calls from Python open them: GPUs once for the life of the process; emulated ones for the call, which end what they do once its
/// watch says so.
struct Kept<'a>(&'a Watch);

impl Opener for Kept<'_> {
    fn gpu(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(gpu(ordinal)?)
    }

    fn emulated(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(EmulatedDevice::new(ordinal, None).stopped_by(Arc::clone(&self.0.stop))))
    }
}

/// What is named, or what the recommendation says: the CPU, or the GPU of the number `auto`.
pub fn open(
    devices: &Devices,
    auto: usize,
    watch: &Watch,
    recommendation: impl FnOnce(bool) -> Recommendation,
) -> Result<Opened, Fault> {
    let opener = Kept(watch);
    let named = Opened::named(devices, &opener)?;
    Ok(named.unwrap_or_else(|| Opened::recommended(recommendation(is_open()), auto, &opener)))
}

/// Devices by their name.
pub fn named(text: &str) -> PyResult<Devices> {
    text.parse()
        .map_err(|error: halotile::choice::UnknownDevices| PyValueError::new_err(format!("device={text:?}: {error}")))
}

/// Threads that run at once on this machine.
#[pyfunction]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many GPUs there are; none are opened.
#[pyfunction]
pub fn gpus(py: Python<'_>) -> usize {
    py.detach(|| cuda::driver().and_then(|()| not_forked()).and_then(|()| cuda::count())).unwrap_or(0)
}

/// What there is: a dict a device; and why there is no GPU, if there is none.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<(Bound<'_, PyList>, Option<String>)> {
    let list = PyList::empty(py);
    let off = match py.detach(|| cuda::driver().and_then(|()| not_forked()).and_then(|()| cuda::count())) {
        Err(error) => Some(error.to_string()),
        Ok(count) => {
            for ordinal in 0..count {
                let entry = PyDict::new(py);
                entry.set_item("device", format!("cuda:{ordinal}"))?;
                match py.detach(|| gpu(ordinal)) {
                    Err(error) => entry.set_item("error", error.to_string())?,
                    Ok(device) => {
                        let d = device.description();
                        let (major, minor) = d.compute_capability;
                        entry.set_item("name", &d.name)?;
                        entry.set_item("compute_capability", (major, minor))?;
                        entry.set_item("multiprocessors", d.multiprocessors)?;
                        entry.set_item("memory", d.memory)?;
                        entry.set_item("memory_free", device.free_memory().unwrap_or(d.memory_free))?;
                    }
                }
                list.append(entry)?;
            }
            None
        }
    };
    Ok((list, off))
}
