//! `--device`: what it means on this machine, for this grid.

use std::sync::Arc;
use std::time::Instant;

use halotile::entropy::{Engine, Kernel, Place};
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};
use halotile::profile::stage;

use crate::args::DeviceArg;
use crate::console::Console;
use crate::outcome::Absent;
use crate::profile;

/// Cells below which nobody needs an estimate: the CPU is done before a GPU is ready.
const WORTH_AN_ESTIMATE: usize = 1 << 20;

/// A grid and what is to be done with it, as far as it decides how long that takes.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub cells: usize,
    pub size: usize,
    pub levels: usize,
    /// Bytes of a result.
    pub bytes: usize,
}

impl Load {
    /// Seconds in the CPU engine. Fitted to one core of an AMD EPYC (Zen 5), sizes 5 to 255, 16 and 256 levels; within a
    /// factor of two there.
    fn on_cpu(self, threads: usize) -> f64 {
        let nanoseconds = 4.0 + 0.6 * self.size.min(self.levels) as f64;
        self.cells as f64 * nanoseconds * 1e-9 / threads as f64
    }

    /// Seconds on a GPU: to start it, and to move the cells there and the results back, which takes so much longer than any
    /// kernel that it hides it. Measured on an H200.
    fn on_gpu(self) -> f64 {
        0.25 + self.cells as f64 * self.bytes as f64 * 0.12e-9
    }
}

/// Opens a graphics card, watched by the profile if one is wanted.
pub fn open_gpu(ordinal: usize) -> Result<Arc<CudaDevice>, DeviceError> {
    let _stage = stage("open device");
    let device = Arc::new(CudaDevice::new(ordinal)?);
    profile::watch(device.as_ref())?;
    Ok(device)
}

/// Makes an emulated device, watched likewise.
pub fn open_emulated(ordinal: usize) -> Result<Arc<EmulatedDevice>, DeviceError> {
    let device = Arc::new(EmulatedDevice::new(ordinal, None));
    profile::watch(device.as_ref())?;
    Ok(device)
}

/// An engine, and what to call it.
#[derive(Clone)]
pub struct Chosen {
    pub engine: Engine,
    pub name: String,
}

impl Chosen {
    pub fn cpu() -> Self {
        Self { engine: Engine::Cpu, name: "cpu".to_owned() }
    }

    fn devices(devices: Vec<Arc<dyn Device>>) -> Self {
        let names: Vec<_> = devices.iter().map(|device| device.name()).collect();
        Self { engine: Engine::Devices(devices), name: names.join(", ") }
    }

    /// Graphics cards that are there; the error says why one is not.
    pub fn cuda(ordinals: &[usize]) -> Result<Self, DeviceError> {
        let open = |&ordinal: &usize| Ok(open_gpu(ordinal)? as Arc<dyn Device>);
        ordinals.iter().map(open).collect::<Result<_, _>>().map(Self::devices)
    }

    /// What is asked for by name; none for auto.
    pub fn named(device: &DeviceArg) -> Result<Option<Self>, DeviceError> {
        Ok(match device {
            DeviceArg::Auto => None,
            DeviceArg::Cpu => Some(Self::cpu()),
            DeviceArg::Cuda(ordinals) => Some(Self::cuda(ordinals)?),
            DeviceArg::Emulator(count) => {
                let open = |ordinal| Ok(open_emulated(ordinal)? as Arc<dyn Device>);
                Some(Self::devices((0..*count).map(open).collect::<Result<_, DeviceError>>()?))
            }
        })
    }
}

/// Settles on an engine, once.
pub struct Chooser {
    chosen: Option<Chosen>,
    kernel: Option<Kernel>,
    auto: bool,
    /// Seconds that opening devices took.
    pub seconds: f64,
}

impl Chooser {
    /// Opens the devices asked for by name. With auto nothing happens before the first grid is known.
    pub fn new(device: &DeviceArg, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let chosen = Chosen::named(device)?;
        Ok(Self { auto: chosen.is_none(), chosen, kernel, seconds: start.elapsed().as_secs_f64() })
    }

    /// The engine for a grid, and for all that come after it.
    pub fn engine(&mut self, load: impl FnOnce() -> Load, console: &Console) -> anyhow::Result<Chosen> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        let start = Instant::now();
        let (chosen, why) = self.choose(load())?;
        self.seconds += start.elapsed().as_secs_f64();
        console.note(&format!("device auto: {}, because {why}", chosen.name));
        self.chosen = Some(chosen.clone());
        Ok(chosen)
    }

    fn choose(&self, load: Load) -> Result<(Chosen, String), Absent> {
        if let Some(kernel) = self.kernel {
            return Self::choose_for(kernel);
        }
        if load.cells < WORTH_AN_ESTIMATE {
            return Ok((Chosen::cpu(), format!("{} cells are too few to start a GPU for", load.cells)));
        }
        let (cpu, gpu) = (load.on_cpu(rayon::current_num_threads()), load.on_gpu());
        if cpu <= gpu {
            return Ok((Chosen::cpu(), format!("it may take {cpu:.1} s, and a GPU with all copies {gpu:.1} s")));
        }
        Ok(match Chosen::cuda(&[0]) {
            Ok(chosen) => (chosen, format!("it may take {gpu:.1} s with all copies, and the CPU {cpu:.1} s")),
            Err(error) => (Chosen::cpu(), error.to_string()),
        })
    }

    /// What a kernel asked for runs on.
    fn choose_for(kernel: Kernel) -> Result<(Chosen, String), Absent> {
        match kernel.place() {
            Place::Device => {
                let because = format!("kernel {kernel} runs on a device");
                match Chosen::cuda(&[0]) {
                    Ok(gpu) => Ok((gpu, because)),
                    Err(error) => Err(Absent(format!("{because}, and {error}; choose --device emulator or no kernel"))),
                }
            }
            Place::Cpu => Ok((Chosen::cpu(), format!("kernel {kernel} is a function on the CPU"))),
            Place::Both => {
                let because = format!("kernel {kernel} takes all GPUs that are there");
                Ok(match cuda::count().and_then(|count| Chosen::cuda(&Vec::from_iter(0..count))) {
                    Ok(gpus) => (gpus, because),
                    Err(error) => (Chosen::cpu(), format!("{because}, and {error}")),
                })
            }
        }
    }

    /// Takes the CPU engine after all, if the choice is ours.
    pub fn fall_back(&mut self, why: &str, console: &Console) -> Option<Chosen> {
        if !self.auto || self.kernel.is_some() {
            return None;
        }
        console.note(&format!("device auto: cpu after all, because {why}"));
        self.chosen = Some(Chosen::cpu());
        self.chosen.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_within_reach_of_what_was_measured() {
        let load = |size, levels, bytes| Load { cells: 10240 * 10240, size, levels, bytes };
        // Seconds of a run with 16 threads beside an H200.
        for (load, cpu, gpu) in
            [(load(5, 16, 4), 0.033, 0.25), (load(21, 16, 4), 0.055, 0.33), (load(5, 16, 8), 0.067, 0.35)]
        {
            assert!((0.5..2.0).contains(&(load.on_cpu(16) / cpu)), "{load:?}: {}", load.on_cpu(16));
            assert!((0.5..2.0).contains(&(load.on_gpu() / gpu)), "{load:?}: {}", load.on_gpu());
        }
    }
}
