//! The devices of a benchmark, opened as the library opens them for every command, by name or with the fall back to the CPU; but kept as
//! what they are, since a benchmark asks them for more than the library does: their clocks, caches and bandwidths.

use std::cell::RefCell;
use std::sync::Arc;

use halotile::choice::{Devices, Opened, Opener, Recommendation};
use halotile::exec::cuda::CudaDevice;
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};
use halotile_lab::bench::Target;

use crate::console::Console;
use crate::engine::{open_emulated, open_gpu, tell};

/// What is asked for. With auto a GPU, if there is one.
pub fn open(devices: &Devices, console: &Console) -> Result<Target, DeviceError> {
    let kept = Kept::default();
    let opened = Opened::named(devices, &kept)?.unwrap_or_else(|| {
        let why = "there is a GPU".to_owned();
        Opened::recommended(Recommendation { gpu: true, why }, 0, &kept)
    });
    let target = kept.target();
    // The table's head names GPUs.
    if matches!(target, Target::Cpu) {
        tell(&opened, console);
    }
    Ok(target)
}

/// Devices that were opened.
#[derive(Default)]
struct Kept {
    gpus: RefCell<Vec<Arc<CudaDevice>>>,
    emulated: RefCell<Vec<Arc<EmulatedDevice>>>,
}

impl Kept {
    fn target(self) -> Target {
        let Self { gpus, emulated } = self;
        match (gpus.into_inner(), emulated.into_inner()) {
            (gpus, _) if !gpus.is_empty() => Target::Cuda(gpus),
            (_, emulated) if !emulated.is_empty() => Target::Emulator(emulated),
            _ => Target::Cpu,
        }
    }
}

impl Opener for Kept {
    fn gpu(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        let gpu = open_gpu(ordinal)?;
        self.gpus.borrow_mut().push(Arc::clone(&gpu));
        Ok(gpu)
    }

    fn emulated(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        let device = open_emulated(ordinal)?;
        self.emulated.borrow_mut().push(Arc::clone(&device));
        Ok(device)
    }
}
