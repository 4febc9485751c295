//! What a benchmark runs on.

use std::sync::Arc;

use super::ceiling::copy_back;
use super::machine::DeviceInfo;
use crate::resources;
use halotile::entropy::Engine;
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};

/// What a benchmark runs on. Kernels alone are timed on the first device, runs from memory to memory on all of them together.
#[derive(Clone)]
pub enum Target {
    /// No device: the CPU engine and the rungs that are functions on the CPU.
    Cpu,
    /// GPUs, at least one.
    Cuda(Vec<Arc<CudaDevice>>),
    /// Emulated devices, at least one: their times say nothing of a GPU.
    Emulator(Vec<Arc<EmulatedDevice>>),
}

impl Target {
    /// The devices, none for the CPU.
    pub fn devices(&self) -> Vec<Arc<dyn Device>> {
        match self {
            Self::Cpu => Vec::new(),
            Self::Cuda(gpus) => gpus.iter().map(|gpu| Arc::clone(gpu) as _).collect(),
            Self::Emulator(devices) => devices.iter().map(|device| Arc::clone(device) as _).collect(),
        }
    }

    /// The engine that uses all of them.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Cpu => Engine::Cpu,
            _ => Engine::Devices(self.devices()),
        }
    }

    /// The architecture that [`resources`] tells the registers of, as `sm_90`: the newest one of the GPU's generation that is not
    /// newer than the GPU. None for the CPU and the emulator.
    pub fn architecture(&self) -> Option<&'static str> {
        let Self::Cuda(gpus) = self else { return None };
        let (major, minor) = gpus.first()?.description().compute_capability;
        architecture_of(major, minor)
    }

    /// Bytes that grids take together when launches take them in turn: twice the second-level cache of a GPU. In the emulator
    /// as little as makes it two grids, where they are tiny.
    pub(super) fn spread(&self) -> usize {
        match self {
            Self::Cpu => 0,
            Self::Cuda(gpus) => gpus.first().map_or(0, |gpu| 2 * gpu.description().l2_bytes as usize),
            Self::Emulator(_) => 1 << 15,
        }
    }

    /// Bytes read plus bytes written in a second by a copy on the first GPU. None for the others.
    pub(super) fn copy(&self) -> Result<Option<f64>, DeviceError> {
        match self {
            Self::Cuda(gpus) => gpus.first().map(CudaDevice::measure_copy).transpose(),
            _ => Ok(None),
        }
    }

    /// Bytes a second that all GPUs together copy back to the host. None for the others.
    pub(super) fn copy_back(&self) -> Result<Option<f64>, DeviceError> {
        match self {
            Self::Cuda(_) => copy_back(&self.devices()).map(Some),
            _ => Ok(None),
        }
    }

    /// Bytes a second between host and the first GPU, in the faster direction. None for the others.
    pub(super) fn bus(&self) -> Result<Option<f64>, DeviceError> {
        match self {
            Self::Cuda(gpus) => gpus.first().map(CudaDevice::measure_transfer).transpose(),
            _ => Ok(None),
        }
    }

    pub(super) fn infos(&self) -> Vec<DeviceInfo> {
        let version = cuda::driver_version().ok().map(|(major, minor)| format!("{major}.{minor}"));
        match self {
            Self::Cuda(gpus) => gpus
                .iter()
                .map(|gpu| {
                    let d = gpu.description();
                    let (major, minor) = d.compute_capability;
                    DeviceInfo {
                        name: gpu.name(),
                        compute_capability: Some(format!("{major}.{minor}")),
                        multiprocessors: Some(d.multiprocessors),
                        clock_khz: Some(d.clock_khz),
                        memory_bytes: Some(d.memory as u64),
                        l2_bytes: Some(d.l2_bytes.into()),
                        cuda_version: version.clone(),
                        driver_version: driver_version(),
                    }
                })
                .collect(),
            _ => self
                .devices()
                .iter()
                .map(|device| DeviceInfo { name: device.name(), ..DeviceInfo::default() })
                .collect(),
        }
    }
}

fn architecture_of(major: u32, minor: u32) -> Option<&'static str> {
    let number = |arch: &str| arch.strip_prefix("sm_")?.parse::<u32>().ok();
    let ours = major * 10 + minor;
    let known = resources::architectures().filter(|arch| number(arch).is_some_and(|n| n / 10 == major && n <= ours));
    known.last()
}

/// The version of NVIDIA's driver, as 580.159.04, where its kernel module tells.
fn driver_version() -> Option<String> {
    version_in(&std::fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_reported_as_its_own_generation() {
        assert_eq!(architecture_of(9, 0), Some("sm_90"));
        assert_eq!(architecture_of(8, 7), Some("sm_86"));
        assert_eq!(architecture_of(12, 1), Some("sm_120"));
        assert_eq!(architecture_of(7, 0), None);
        assert_eq!(architecture_of(13, 0), None);
    }

    #[test]
    fn the_drivers_version_is_found_in_its_line() {
        let line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release Build\nGCC version: gcc 13.3.0";
        assert_eq!(version_in(line).as_deref(), Some("580.159.04"));
        assert_eq!(version_in("no version here."), None);
    }
}
