//! `--device`: what it means on this machine, for this grid.

use std::sync::Arc;
use std::time::Instant;

use halotile::entropy::{Engine, Kernel};
use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};

use crate::args::DeviceArg;
use crate::console::Console;
use crate::outcome::Absent;

/// Cells from which on a GPU is worth starting: below, the CPU is done before a GPU is ready.
const WORTH_A_GPU: usize = 1 << 20;

/// An engine, and what to call it.
#[derive(Clone)]
pub struct Chosen {
    pub engine: Engine,
    pub name: String,
}

impl Chosen {
    fn cpu() -> Self {
        Self { engine: Engine::Cpu, name: "cpu".to_owned() }
    }

    fn devices(devices: Vec<Arc<dyn Device>>) -> Self {
        let names: Vec<_> = devices.iter().map(|device| device.name()).collect();
        Self { engine: Engine::Devices(devices), name: names.join(", ") }
    }

    /// Graphics cards that are there; the error says why one is not.
    fn cuda(ordinals: &[usize]) -> Result<Self, DeviceError> {
        let open = |&ordinal: &usize| Ok(Arc::new(CudaDevice::new(ordinal)?) as Arc<dyn Device>);
        ordinals.iter().map(open).collect::<Result<_, _>>().map(Self::devices)
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
        let chosen = match device {
            DeviceArg::Auto => None,
            DeviceArg::Cpu => Some(Chosen::cpu()),
            DeviceArg::Cuda(ordinals) => Some(Chosen::cuda(ordinals)?),
            DeviceArg::Emulator(count) => {
                let device = |ordinal| Arc::new(EmulatedDevice::new(ordinal, None)) as Arc<dyn Device>;
                Some(Chosen::devices((0..*count).map(device).collect()))
            }
        };
        Ok(Self { auto: chosen.is_none(), chosen, kernel, seconds: start.elapsed().as_secs_f64() })
    }

    /// The engine for a grid of so many cells, and for all that come after it.
    pub fn engine(&mut self, cells: usize, console: &Console) -> anyhow::Result<Chosen> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        let start = Instant::now();
        let (chosen, why) = self.choose(cells)?;
        self.seconds += start.elapsed().as_secs_f64();
        console.note(&format!("device auto: {}, because {why}", chosen.name));
        self.chosen = Some(chosen.clone());
        Ok(chosen)
    }

    fn choose(&self, cells: usize) -> Result<(Chosen, String), Absent> {
        if let Some(kernel) = self.kernel {
            let because = format!("kernel {} runs on a device", kernel.name());
            return match Chosen::cuda(&[0]) {
                Ok(gpu) => Ok((gpu, because)),
                Err(error) => Err(Absent(format!("{because}, and {error}; choose --device emulator or no kernel"))),
            };
        }
        if cells < WORTH_A_GPU {
            return Ok((Chosen::cpu(), format!("{cells} cells are too few to start a GPU for")));
        }
        let gpu = cuda::count().and_then(|_| Chosen::cuda(&[0]));
        Ok(match gpu {
            Ok(gpu) => (gpu, format!("there is a GPU, and {cells} cells are enough to start it for")),
            Err(error) => (Chosen::cpu(), error.to_string()),
        })
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
