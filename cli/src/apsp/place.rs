//! `--device`: what it means on this machine, for this graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

use halotile::choice::{Devices, Vertices};
use halotile::engine::Engine;
use halotile::exec::{DeviceError, cuda};
use halotile::observe::Observer;
use halotile_lab::apsp::Kernel;

use crate::console::Console;
use crate::engine::{Choice, Chosen};
use crate::outcome::DeviceUnavailable;

/// What was opened, if devices were asked for by name, and how many seconds that took.
type Opened = (Result<Option<Chosen>, DeviceError>, f64);

/// Where the work is done, chosen when it is known how much it is.
///
/// GPUs asked for by name are opened while the graph is read: either takes some tenths of a second.
pub struct Place {
    opening: Option<JoinHandle<Opened>>,
    /// Set when that has come to nothing.
    failed: Arc<AtomicBool>,
    chosen: Option<Chosen>,
    kernel: Option<Kernel>,
    auto: bool,
    /// Seconds that opening devices took.
    pub seconds: f64,
}

impl Place {
    /// Begins to open the devices asked for by name. With auto nothing happens before the graph is known.
    pub fn named(device: &Devices, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        // What is known at once is said before anything is read.
        if matches!(device, Devices::Cuda(_)) {
            cuda::driver()?;
        }
        let failed = Arc::new(AtomicBool::new(false));
        let (device, flag) = (device.clone(), Arc::clone(&failed));
        let auto = device == Devices::Auto;
        let opening = std::thread::spawn(move || {
            let start = Instant::now();
            let opened = Chosen::named(&device);
            flag.store(opened.is_err(), Relaxed);
            (opened, start.elapsed().as_secs_f64())
        });
        Ok(Self { opening: Some(opening), failed, chosen: None, kernel, auto, seconds: 0.0 })
    }

    /// Waits until the devices are open.
    fn wait_until_open(&mut self) -> Result<(), DeviceError> {
        let Some(opening) = self.opening.take() else { return Ok(()) };
        let (opened, seconds) = opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.seconds += seconds;
        self.chosen = opened?;
        Ok(())
    }

    /// The error, if devices asked for by name are known not to be there.
    pub fn failure(&mut self) -> Option<DeviceError> {
        if self.failed.load(Relaxed) { self.wait_until_open().err() } else { None }
    }

    /// An observer that also stops when the devices turn out not to be there.
    pub fn watch<'a>(&'a self, console: &'a Console) -> impl Observer + 'a {
        struct Watch<'a>(&'a AtomicBool, &'a Console);
        impl Observer for Watch<'_> {
            fn advance(&self, done: u64) {
                self.1.advance(done);
            }
            fn cancelled(&self) -> bool {
                self.0.load(Relaxed) || self.1.cancelled()
            }
        }
        Watch(&self.failed, console)
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        self.chosen.as_ref().map_or("", |chosen| &chosen.name)
    }

    /// The engine for so many vertices.
    pub fn engine(&mut self, vertices: usize, console: &Console) -> anyhow::Result<Engine> {
        self.wait_until_open()?;
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.engine.clone());
        }
        let start = Instant::now();
        let choice = self.choose(vertices)?;
        self.seconds += start.elapsed().as_secs_f64();
        choice.tell(console);
        Ok(self.chosen.insert(choice.chosen).engine.clone())
    }

    fn choose(&self, vertices: usize) -> Result<Choice, DeviceUnavailable> {
        match self.kernel {
            Some(Kernel::Threads) => return Ok(Choice::new(Chosen::cpu(), "kernel threads runs there".to_owned())),
            Some(kernel) => {
                let because = format!("kernel {kernel} runs on a device");
                return match Chosen::cuda(&[0]) {
                    Ok(gpu) => Ok(Choice::new(gpu, because)),
                    Err(error) => {
                        Err(DeviceUnavailable(format!("{because}, and {error}; choose --device emulator or no kernel")))
                    }
                };
            }
            None => {}
        }
        Ok(Choice::by(Vertices(vertices).recommend(rayon::current_num_threads(), false)))
    }

    /// Takes the CPU after all, if the choice is ours and was another.
    pub fn fall_back(&mut self, why: &str, console: &Console) -> bool {
        let ours = self.auto && self.kernel.is_none();
        let other = self.chosen.as_ref().is_some_and(|chosen| matches!(chosen.engine, Engine::Devices(_)));
        if ours && other {
            console.note(&format!("device auto: cpu after all, because {why}"));
            self.chosen = Some(Chosen::cpu());
        }
        ours && other
    }
}
