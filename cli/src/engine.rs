//! `--device`: what it means on this machine, for this grid.

use std::sync::Arc;
use std::time::Instant;

use halotile::choice::{Devices, Recommendation, Workload};
use halotile::entropy::{Engine, Kernel, Place};
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};
use halotile::profile::stage;

use crate::console::Console;
use crate::outcome::DeviceUnavailable;
use crate::profile;

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
    pub fn named(device: &Devices) -> Result<Option<Self>, DeviceError> {
        Ok(match device {
            Devices::Auto => None,
            Devices::Cpu => Some(Self::cpu()),
            Devices::Cuda(ordinals) => Some(Self::cuda(ordinals)?),
            Devices::Emulator(count) => {
                let open = |ordinal| Ok(open_emulated(ordinal)? as Arc<dyn Device>);
                Some(Self::devices((0..*count).map(open).collect::<Result<_, DeviceError>>()?))
            }
        })
    }
}

/// What `--device auto` has come to, and why.
pub struct Choice {
    pub chosen: Chosen,
    why: String,
    /// The work is done on the CPU because it is done sooner there.
    plain: bool,
}

impl Choice {
    /// A choice that a user may want to know of.
    pub fn new(chosen: Chosen, why: String) -> Self {
        Self { chosen, why, plain: false }
    }

    /// What a recommendation says, if there is a GPU.
    pub fn by(recommendation: Recommendation) -> Self {
        if !recommendation.gpu {
            return Self { chosen: Chosen::cpu(), why: recommendation.why, plain: true };
        }
        match Chosen::cuda(&[0]) {
            Ok(chosen) => Self::new(chosen, recommendation.why),
            Err(error) => Self::new(Chosen::cpu(), error.to_string()),
        }
    }

    /// Tells of it. That work is too little for a GPU is told under `-v` alone, and only where a driver is there: without one the CPU
    /// is no choice.
    pub fn tell(&self, console: &Console) {
        let told = || format!("device auto: {}, because {}", self.chosen.name, self.why);
        if !self.plain {
            console.note(&told());
        } else if console.is_verbose() && cuda::driver().is_ok() {
            tracing::info!("{}", told());
        }
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
    pub fn new(device: &Devices, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let chosen = Chosen::named(device)?;
        Ok(Self { auto: chosen.is_none(), chosen, kernel, seconds: start.elapsed().as_secs_f64() })
    }

    /// The engine for a grid, and for all that come after it.
    pub fn engine(&mut self, workload: impl FnOnce() -> Workload, console: &Console) -> anyhow::Result<Chosen> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        let start = Instant::now();
        let choice = self.choose(workload())?;
        self.seconds += start.elapsed().as_secs_f64();
        choice.tell(console);
        self.chosen = Some(choice.chosen.clone());
        Ok(choice.chosen)
    }

    fn choose(&self, workload: Workload) -> Result<Choice, DeviceUnavailable> {
        if let Some(kernel) = self.kernel {
            return Self::choose_for(kernel);
        }
        let recommendation = workload.recommend(rayon::current_num_threads(), false);
        Ok(Choice::by(recommendation))
    }

    /// What a kernel asked for runs on.
    fn choose_for(kernel: Kernel) -> Result<Choice, DeviceUnavailable> {
        match kernel.place() {
            Place::Device => {
                let because = format!("kernel {kernel} runs on a device");
                match Chosen::cuda(&[0]) {
                    Ok(gpu) => Ok(Choice::new(gpu, because)),
                    Err(error) => {
                        Err(DeviceUnavailable(format!("{because}, and {error}; choose --device emulator or no kernel")))
                    }
                }
            }
            Place::Cpu => Ok(Choice::new(Chosen::cpu(), format!("kernel {kernel} is a function on the CPU"))),
            Place::Both => {
                let because = format!("kernel {kernel} takes all GPUs that are there");
                Ok(match cuda::count().and_then(|count| Chosen::cuda(&Vec::from_iter(0..count))) {
                    Ok(gpus) => Choice::new(gpus, because),
                    Err(error) => Choice::new(Chosen::cpu(), format!("{because}, and {error}")),
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
