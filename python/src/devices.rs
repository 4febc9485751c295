//! Devices that stay open, and the choice of one.
//!
//! To start a GPU takes tenths of a second, and its memory and compiled kernels are of use to the next call: a device that was opened once
//! stays open as long as the process lives. A process that was forked from one that has started CUDA cannot use it (the driver does not allow
//! that); it is told so instead of being given the driver's number for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use halotile::choice::{Devices, Recommendation};
use halotile::engine::Engine;
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

/// An engine, what it is called, and why it was chosen.
pub struct Chosen {
    pub engine: Engine,
    pub name: String,
    /// Where it was not named.
    pub why: Option<String>,
}

impl Chosen {
    pub fn cpu(why: Option<String>) -> Self {
        Self { engine: Engine::Cpu, name: "cpu".into(), why }
    }

    fn of(devices: Vec<Arc<dyn Device>>) -> Self {
        let names: Vec<_> = devices.iter().map(|device| device.name()).collect();
        Self { engine: Engine::Devices(devices), name: names.join(", "), why: None }
    }

    fn cuda(ordinals: &[usize]) -> Result<Self, DeviceError> {
        let open = |&ordinal: &usize| Ok(gpu(ordinal)? as Arc<dyn Device>);
        ordinals.iter().map(open).collect::<Result<_, _>>().map(Self::of)
    }

    /// What is named, or what the recommendation says: the CPU, or the GPU of the number `auto`.
    /// Emulated devices end what they do once `watch` says so.
    pub fn new(
        devices: &Devices,
        auto: usize,
        watch: &Watch,
        recommendation: impl FnOnce(bool) -> Recommendation,
    ) -> Result<Self, Fault> {
        Ok(match devices {
            Devices::Cpu => Self::cpu(None),
            Devices::Cuda(ordinals) => Self::cuda(ordinals)?,
            Devices::Emulator(count) => {
                let emulated = |i| Arc::new(EmulatedDevice::new(i, None).stopped_by(Arc::clone(&watch.stop)));
                Self::of((0..*count).map(|i| emulated(i) as Arc<dyn Device>).collect())
            }
            Devices::Auto => {
                let recommendation = recommendation(is_open());
                match recommendation.gpu.then(|| Self::cuda(&[auto])) {
                    None => Self::cpu(Some(recommendation.why)),
                    Some(Ok(chosen)) => Self { why: Some(recommendation.why), ..chosen },
                    Some(Err(error)) => Self::cpu(Some(error.to_string())),
                }
            }
        })
    }
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
