//! `--device`: what it means on this machine, for this graph.

use std::time::Instant;

use halotile::apsp::Kernel;
use halotile::entropy::Engine;
use halotile::exec::DeviceError;

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

/// Where the work is done, settled when it is known how much it is.
pub struct Place {
    chosen: Option<Chosen>,
    kernel: Option<Kernel>,
    auto: bool,
    /// Seconds that opening devices took.
    pub seconds: f64,
}

impl Place {
    /// Opens the devices asked for by name. With auto nothing happens before the graph is known.
    pub fn named(device: &DeviceArg, kernel: Option<Kernel>) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let chosen = Chosen::named(device)?;
        Ok(Self { auto: chosen.is_none(), chosen, kernel, seconds: start.elapsed().as_secs_f64() })
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        self.chosen.as_ref().map_or("", |chosen| &chosen.name)
    }

    /// The engine for so many vertices.
    pub fn engine(&mut self, vertices: usize, console: &Console) -> Result<Engine, Absent> {
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
