//! `--device`: what it means on this machine, for this graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

use halotile::choice::{Devices, Opened, Vertices};
use halotile::engine::Engine;
use halotile::exec::{DeviceError, cuda};
use halotile::observe::Observer;
use halotile_lab::apsp::Kernel;

use crate::console::Console;
use crate::engine::{self, Watched};
use crate::outcome::DeviceUnavailable;

/// What was opened, if devices were asked for by name, and how many seconds that took.
type Opening = (Result<Option<Opened>, DeviceError>, f64);

/// Where the work is done, chosen when it is known how much it is.
///
/// GPUs asked for by name are opened while the graph is read: either takes some tenths of a second.
pub struct Place {
    opening: Option<JoinHandle<Opening>>,
    /// Set when that has come to nothing.
    failed: Arc<AtomicBool>,
    opened: Option<Opened>,
    kernel: Option<Kernel>,
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
        let opening = std::thread::spawn(move || {
            let start = Instant::now();
            let opened = Opened::named(&device, &Watched);
            flag.store(opened.is_err(), Relaxed);
            (opened, start.elapsed().as_secs_f64())
        });
        Ok(Self { opening: Some(opening), failed, opened: None, kernel, seconds: 0.0 })
    }

    /// Waits until the devices are open.
    fn wait_until_open(&mut self) -> Result<(), DeviceError> {
        let Some(opening) = self.opening.take() else { return Ok(()) };
        let (opened, seconds) = opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.seconds += seconds;
        self.opened = opened?;
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
        self.opened.as_ref().map_or("", |opened| &opened.name)
    }

    /// The engine for so many vertices.
    pub fn engine(&mut self, vertices: usize, console: &Console) -> anyhow::Result<Engine> {
        self.wait_until_open()?;
        if let Some(opened) = &self.opened {
            return Ok(opened.engine.clone());
        }
        let start = Instant::now();
        let opened = self.choose(vertices)?;
        self.seconds += start.elapsed().as_secs_f64();
        engine::tell(&opened, console);
        Ok(self.opened.insert(opened).engine.clone())
    }

    fn choose(&self, vertices: usize) -> Result<Opened, DeviceUnavailable> {
        Ok(match self.kernel {
            Some(Kernel::Threads) => Opened::cpu().because("kernel threads runs there".to_owned()),
            Some(kernel) => engine::for_kernel(kernel)?,
            None => engine::recommended(Vertices(vertices).recommend(rayon::current_num_threads(), false)),
        })
    }

    /// Takes the CPU after all, if the choice is ours and was another.
    pub fn fall_back(&mut self, why: &str, console: &Console) -> bool {
        let opened = self.opened.as_ref().filter(|_| self.kernel.is_none());
        let cpu = opened.and_then(|opened| engine::fall_back(opened, why, console));
        cpu.map(|cpu| self.opened = Some(cpu)).is_some()
    }
}
