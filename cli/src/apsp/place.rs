//! `--device`: what it means on this machine, for this graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

use halotile::apsp::Kernel;
use halotile::entropy::Engine;
use halotile::exec::{DeviceError, cuda};
use halotile::observe::Observer;

use crate::args::DeviceArg;
use crate::console::Console;
use crate::engine::Chosen;
use crate::outcome::Absent;

/// Vertices below which nobody needs an estimate: the CPU is done before a GPU is ready.
const WORTH_AN_ESTIMATE: usize = 1024;

/// Relaxations in a second of one core: AVX-512, 32-bit integers, both threads of a machine of two cores at work.
const OF_A_CORE: f64 = 80e9;

/// Relaxations in a second of a GPU: an H200, 32-bit integers, somewhat less than its best.
const OF_A_GPU: f64 = 7e12;

/// Seconds on the CPU.
fn on_cpu(vertices: usize, threads: usize) -> f64 {
    (vertices as f64).powi(3) / (OF_A_CORE * threads as f64)
}

/// Seconds on a GPU: to start it, to move the matrix there and back, and to compute.
fn on_gpu(vertices: usize) -> f64 {
    let vertices = vertices as f64;
    0.25 + 2.0 * 4.0 * vertices.powi(2) * 0.12e-9 + vertices.powi(3) / OF_A_GPU
}

/// What was opened, if devices were asked for by name, and how many seconds that took.
type Opened = (Result<Option<Chosen>, DeviceError>, f64);

/// Where the work is done, settled when it is known how much it is.
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
    pub fn named(device: &DeviceArg, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        // What is known at once is said before anything is read.
        if matches!(device, DeviceArg::Cuda(_)) {
            cuda::driver()?;
        }
        let failed = Arc::new(AtomicBool::new(false));
        let (device, flag) = (device.clone(), Arc::clone(&failed));
        let auto = device == DeviceArg::Auto;
        let opening = std::thread::spawn(move || {
            let start = Instant::now();
            let opened = Chosen::named(&device);
            flag.store(opened.is_err(), Relaxed);
            (opened, start.elapsed().as_secs_f64())
        });
        Ok(Self { opening: Some(opening), failed, chosen: None, kernel, auto, seconds: 0.0 })
    }

    /// Waits until the devices are open.
    fn settle(&mut self) -> Result<(), DeviceError> {
        let Some(opening) = self.opening.take() else { return Ok(()) };
        let (opened, seconds) = opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.seconds += seconds;
        self.chosen = opened?;
        Ok(())
    }

    /// The error, if devices asked for by name are known not to be there.
    pub fn failure(&mut self) -> Option<DeviceError> {
        if self.failed.load(Relaxed) { self.settle().err() } else { None }
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
        self.settle()?;
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.engine.clone());
        }
        let start = Instant::now();
        let (chosen, why) = self.choose(vertices)?;
        self.seconds += start.elapsed().as_secs_f64();
        console.note(&format!("device auto: {}, because {why}", chosen.name));
        Ok(self.chosen.insert(chosen).engine.clone())
    }

    fn choose(&self, vertices: usize) -> Result<(Chosen, String), Absent> {
        match self.kernel {
            Some(Kernel::Threads) => return Ok((Chosen::cpu(), "kernel threads runs there".to_owned())),
            Some(kernel) => {
                let because = format!("kernel {kernel} runs on a device");
                return match Chosen::cuda(&[0]) {
                    Ok(gpu) => Ok((gpu, because)),
                    Err(error) => Err(Absent(format!("{because}, and {error}; choose --device emulator or no kernel"))),
                };
            }
            None => {}
        }
        if vertices < WORTH_AN_ESTIMATE {
            return Ok((Chosen::cpu(), format!("{vertices} vertices are too few to start a GPU for")));
        }
        let (cpu, gpu) = (on_cpu(vertices, rayon::current_num_threads()), on_gpu(vertices));
        if cpu <= gpu {
            return Ok((Chosen::cpu(), format!("it may take {cpu:.1} s, and a GPU with all copies {gpu:.1} s")));
        }
        Ok(match Chosen::cuda(&[0]) {
            Ok(chosen) => (chosen, format!("it may take {gpu:.1} s with all copies, and the CPU {cpu:.1} s")),
            Err(error) => (Chosen::cpu(), error.to_string()),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_within_reach_of_what_was_measured() {
        // A machine of two cores with AVX-512; an H200, 1.2 s for the kernels and both copies of 2.3 GB.
        assert!((0.5..2.0).contains(&(on_cpu(2048, 2) / 0.052)), "{}", on_cpu(2048, 2));
        assert!(on_gpu(2048) > on_cpu(2048, 2) && on_gpu(24_000) < on_cpu(24_000, 16));
        assert!((0.5..3.0).contains(&(on_gpu(24_000) / 1.6)), "{}", on_gpu(24_000));
    }
}
