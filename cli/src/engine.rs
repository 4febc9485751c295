//! `--device`: what it means on this machine, for this grid.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use halotile::choice::{Devices, Opened, Opener, Recommendation, Workload};
use halotile::entropy::{Kernel, Place};
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

/// Devices as this program opens them: watched.
pub struct Watched;

impl Opener for Watched {
    fn gpu(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(open_gpu(ordinal)?)
    }

    fn emulated(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(open_emulated(ordinal)?)
    }
}

/// What `--device auto` comes to by a recommendation.
pub fn recommended(recommendation: Recommendation) -> Opened {
    Opened::recommended(recommendation, 0, &Watched)
}

/// What `--device auto` comes to for a kernel that runs on a device: a GPU, or an error.
pub fn for_kernel(kernel: impl Display) -> Result<Opened, DeviceUnavailable> {
    let because = format!("kernel {kernel} runs on a device");
    match Opened::gpus(&[0], &Watched) {
        Ok(gpu) => Ok(gpu.because(because)),
        Err(error) => Err(DeviceUnavailable(format!("{because}, and {error}; choose --device emulator or no kernel"))),
    }
}

/// Tells what `--device auto` has come to, and why. That the CPU is faster is told under `-v` alone, and only where a driver is there: without
/// one the CPU is no choice.
pub fn tell(opened: &Opened, console: &Console) {
    let Some(automatic) = &opened.automatic else { return };
    let told = || format!("device auto: {}, because {}", opened.name, automatic.why);
    if !automatic.cpu_is_faster {
        console.note(&told());
    } else if console.is_verbose() && cuda::driver().is_ok() {
        tracing::info!("{}", told());
    }
}

/// Takes the CPU engine in place of devices that failed for this reason, and tells of it; `None` where the devices were asked for.
pub fn fall_back(opened: &Opened, why: &str, console: &Console) -> Option<Opened> {
    let cpu = opened.fall_back(why.to_owned())?;
    console.note(&format!("device auto: cpu after all, because {why}"));
    Some(cpu)
}

/// Settles on an engine, once.
pub struct Chooser {
    opened: Option<Opened>,
    kernel: Option<Kernel>,
    /// Seconds that opening devices took.
    pub seconds: f64,
}

impl Chooser {
    /// Opens the devices asked for by name. With auto nothing happens before the first grid is known.
    pub fn new(device: &Devices, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let opened = Opened::named(device, &Watched)?;
        Ok(Self { opened, kernel, seconds: start.elapsed().as_secs_f64() })
    }

    /// The engine for a grid, and for all that come after it.
    pub fn engine(&mut self, workload: impl FnOnce() -> Workload, console: &Console) -> anyhow::Result<Opened> {
        if let Some(opened) = &self.opened {
            return Ok(opened.clone());
        }
        let start = Instant::now();
        let opened = self.choose(workload())?;
        self.seconds += start.elapsed().as_secs_f64();
        tell(&opened, console);
        self.opened = Some(opened.clone());
        Ok(opened)
    }

    fn choose(&self, workload: Workload) -> Result<Opened, DeviceUnavailable> {
        let Some(kernel) = self.kernel else {
            return Ok(recommended(workload.recommend(rayon::current_num_threads(), false)));
        };
        Ok(match kernel.place() {
            Place::Device => for_kernel(kernel)?,
            Place::Cpu => Opened::cpu().because(format!("kernel {kernel} is a function on the CPU")),
            Place::Both => {
                let because = format!("kernel {kernel} takes all GPUs that are there");
                match Opened::all_gpus(&Watched) {
                    Ok(gpus) => gpus.because(because),
                    Err(error) => Opened::cpu().because(format!("{because}, and {error}")),
                }
            }
        })
    }

    /// Takes the CPU engine after all, if the choice is ours: a kernel that was asked for is not replaced.
    pub fn fall_back(&mut self, why: &str, console: &Console) -> Option<Opened> {
        let opened = self.opened.as_ref().filter(|_| self.kernel.is_none())?;
        self.opened = Some(fall_back(opened, why, console)?);
        self.opened.clone()
    }
}
