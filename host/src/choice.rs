//! Where work is done: what a caller names, and what is likely to be faster where the caller names nothing.
//!
//! A GPU is faster at everything here, and it has to be started, and fed over a bus. So the seconds of both are estimated from the work,
//! and a GPU is worth it where they are fewer. The estimates were fitted to measurements and are right within a factor of two there;
//! a choice that is wrong by as much costs little.

use std::fmt;
use std::str::FromStr;

use halotile_kernels::entropy::COLUMNS_SIZE;

use crate::codes::BYTE_LEVELS;

/// Devices as they are named: `auto`, `cpu`, `cuda`, `cuda:0,1`, `emulator`, `emulator:3`.
///
/// ```
/// use halotile::choice::Devices;
/// assert_eq!("cuda".parse(), Ok(Devices::Cuda(vec![0])));
/// assert_eq!("emulator:3".parse(), Ok(Devices::Emulator(3)));
/// assert!("gpu".parse::<Devices>().is_err());
/// assert_eq!(Devices::Cuda(vec![0, 1]).to_string(), "cuda:0,1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Devices {
    /// Whatever is likely to be faster.
    #[default]
    Auto,
    /// The CPU engine.
    Cpu,
    /// GPUs, by their ordinals, each once.
    Cuda(Vec<usize>),
    /// So many emulated devices, 1 to 64.
    Emulator(usize),
}

/// A text that names no devices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownDevices {
    /// It has not the form of any.
    #[error("the devices are auto, cpu, cuda, cuda:0, cuda:0,1 (and so on), emulator")]
    Form,
    /// A GPU is in it twice.
    #[error("device {0} is named twice")]
    Twice(usize),
    /// More emulated devices than there can be, or none.
    #[error("there can be 1 to 64 emulated devices")]
    Emulated,
}

impl FromStr for Devices {
    type Err = UnknownDevices;

    fn from_str(text: &str) -> Result<Self, UnknownDevices> {
        let (kind, which) = text.split_once(':').map_or((text, None), |(kind, which)| (kind, Some(which)));
        match (kind, which) {
            ("auto", None) => Ok(Self::Auto),
            ("cpu", None) => Ok(Self::Cpu),
            ("cuda", None) => Ok(Self::Cuda(vec![0])),
            ("cuda", Some(list)) => {
                let ordinals: Result<Vec<usize>, _> = list.split(',').map(str::parse).collect();
                let ordinals = ordinals.map_err(|_| UnknownDevices::Form)?;
                let twice = ordinals.iter().enumerate().find(|(i, ordinal)| ordinals[..*i].contains(ordinal));
                match twice {
                    Some((_, &ordinal)) => Err(UnknownDevices::Twice(ordinal)),
                    None => Ok(Self::Cuda(ordinals)),
                }
            }
            ("emulator", None) => Ok(Self::Emulator(1)),
            // Several emulated devices side by side: for testing what several GPUs would do.
            ("emulator", Some(count)) => {
                let count = count.parse().ok().filter(|n| (1..=64).contains(n));
                count.map(Self::Emulator).ok_or(UnknownDevices::Emulated)
            }
            _ => Err(UnknownDevices::Form),
        }
    }
}

/// As it is parsed.
impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinals) => {
                let list: Vec<_> = ordinals.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", list.join(","))
            }
            Self::Emulator(1) => f.write_str("emulator"),
            Self::Emulator(count) => write!(f, "emulator:{count}"),
        }
    }
}

/// What is likely to be faster, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// Whether it is a GPU, if there is one.
    pub gpu: bool,
    /// Why, for people.
    pub why: String,
}

/// Seconds that it takes to start a GPU. Measured on an H200.
const STARTUP: f64 = 0.25;

/// Seconds to copy a byte to or from a GPU, with what the host has to do for it. Measured on an H200.
const COPY: f64 = 0.12e-9;

/// A grid and what is to be done with it, as far as it decides how long that takes.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Cells of the grid.
    pub cells: usize,
    /// The longer side of the window, in cells.
    pub size: usize,
    /// Levels.
    pub levels: usize,
    /// Bytes of a cell's results.
    pub bytes: usize,
    /// Shannon's entropy of squares in f32, and nothing else: what GPUs compute of more than 256 classes.
    pub plain: bool,
}

impl Workload {
    /// Cells below which no estimate is needed: the CPU is done before a GPU is ready.
    const WORTH_AN_ESTIMATE: usize = 1 << 20;

    /// Seconds in the CPU engine. Fitted to one core of an AMD EPYC (Zen 5), sizes 5 to 255, 16 and 256 levels.
    fn on_cpu(self, threads: usize) -> f64 {
        let nanoseconds = 4.0 + 0.6 * self.size.min(self.levels) as f64;
        self.cells as f64 * nanoseconds * 1e-9 / threads as f64
    }

    /// Seconds on a GPU: to move the cells there and the results back takes so much longer than any kernel that it hides it.
    fn on_gpu(self) -> f64 {
        self.cells as f64 * self.bytes as f64 * COPY
    }

    /// Where the work is likely to be done sooner: on so many threads, or on a GPU that is `open` already or has to be started.
    ///
    /// ```
    /// use halotile::choice::Workload;
    /// let workload = Workload { cells: 1 << 30, size: 5, levels: 16, bytes: 4, plain: true };
    /// assert!(workload.recommend(2, false).gpu && !workload.recommend(64, false).gpu);
    /// ```
    pub fn recommend(self, threads: usize, open: bool) -> Recommendation {
        if self.levels > BYTE_LEVELS && !(self.plain && self.size <= COLUMNS_SIZE as usize) {
            let why = format!("GPUs count more than {BYTE_LEVELS} classes for shannon in squares in f32 alone");
            return Recommendation { gpu: false, why };
        }
        if self.cells < Self::WORTH_AN_ESTIMATE {
            return Recommendation { gpu: false, why: format!("{} cells are too few to start a GPU for", self.cells) };
        }
        compare(self.on_cpu(threads), self.on_gpu(), open)
    }
}

/// A graph of so many vertices, whose shortest paths are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Vertices(pub usize);

impl Vertices {
    /// Vertices below which no estimate is needed.
    const WORTH_AN_ESTIMATE: usize = 1024;

    /// Relaxations in a second of one core: AVX-512, 32-bit integers, both threads of a machine of two cores at work.
    const OF_A_CORE: f64 = 80e9;

    /// Relaxations in a second of a GPU: an H200, 32-bit integers, somewhat less than its best.
    const OF_A_GPU: f64 = 7e12;

    fn on_cpu(self, threads: usize) -> f64 {
        (self.0 as f64).powi(3) / (Self::OF_A_CORE * threads as f64)
    }

    /// The matrix goes there and back.
    fn on_gpu(self) -> f64 {
        let vertices = self.0 as f64;
        2.0 * 4.0 * vertices.powi(2) * COPY + vertices.powi(3) / Self::OF_A_GPU
    }

    /// Where the paths are likely to be found sooner: on so many threads, or on a GPU that is `open` already or has to be started.
    ///
    /// ```
    /// use halotile::choice::Vertices;
    /// assert!(!Vertices(2048).recommend(2, false).gpu && Vertices(24_000).recommend(16, false).gpu);
    /// ```
    pub fn recommend(self, threads: usize, open: bool) -> Recommendation {
        if self.0 < Self::WORTH_AN_ESTIMATE {
            return Recommendation { gpu: false, why: format!("{} vertices are too few to start a GPU for", self.0) };
        }
        compare(self.on_cpu(threads), self.on_gpu(), open)
    }
}

fn compare(cpu: f64, gpu: f64, open: bool) -> Recommendation {
    let gpu = gpu + if open { 0.0 } else { STARTUP };
    let why = if cpu <= gpu {
        format!("it may take {cpu:.1} s, and a GPU with all copies {gpu:.1} s")
    } else {
        format!("it may take {gpu:.1} s with all copies, and the CPU {cpu:.1} s")
    };
    Recommendation { gpu: cpu > gpu, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_entropy_are_within_reach_of_what_was_measured() {
        let of = |size, levels, bytes| Workload { cells: 10240 * 10240, size, levels, bytes, plain: true };
        // Seconds of a run with 16 threads beside an H200.
        for (workload, cpu, gpu) in
            [(of(5, 16, 4), 0.033, 0.25), (of(21, 16, 4), 0.055, 0.33), (of(5, 16, 8), 0.067, 0.35)]
        {
            assert!((0.5..2.0).contains(&(workload.on_cpu(16) / cpu)), "{workload:?}: {}", workload.on_cpu(16));
            assert!((0.5..2.0).contains(&((STARTUP + workload.on_gpu()) / gpu)), "{workload:?}: {}", workload.on_gpu());
        }
    }

    #[test]
    fn estimates_of_paths_are_within_reach_of_what_was_measured() {
        // A machine of two cores with AVX-512; an H200, 1.2 s for the kernels and both copies of 2.3 GB.
        let (small, large) = (Vertices(2048), Vertices(24_000));
        assert!((0.5..2.0).contains(&(small.on_cpu(2) / 0.052)), "{}", small.on_cpu(2));
        assert!(STARTUP + small.on_gpu() > small.on_cpu(2) && STARTUP + large.on_gpu() < large.on_cpu(16));
        assert!((0.5..3.0).contains(&((STARTUP + large.on_gpu()) / 1.6)), "{}", large.on_gpu());
    }

    #[test]
    fn what_gpus_do_not_count_is_for_the_cpu() {
        let workload = Workload { cells: 1 << 30, size: 21, levels: 257, bytes: 4, plain: false };
        assert!(!workload.recommend(1, true).gpu && Workload { levels: 256, ..workload }.recommend(1, true).gpu);
        let plain = Workload { plain: true, ..workload };
        assert!(plain.recommend(1, true).gpu && !Workload { size: 257, ..plain }.recommend(1, true).gpu);
    }

    #[test]
    fn a_gpu_that_is_open_is_worth_it_sooner() {
        let workload = Workload { cells: 1 << 26, size: 5, levels: 16, bytes: 4, plain: true };
        assert!(!workload.recommend(4, false).gpu && workload.recommend(4, true).gpu);
    }

    #[test]
    fn devices_are_named_in_one_way_each() {
        for (text, devices) in [
            ("auto", Devices::Auto),
            ("cpu", Devices::Cpu),
            ("cuda:3", Devices::Cuda(vec![3])),
            ("cuda:0,1", Devices::Cuda(vec![0, 1])),
            ("emulator", Devices::Emulator(1)),
            ("emulator:3", Devices::Emulator(3)),
        ] {
            assert_eq!(text.parse(), Ok(devices.clone()));
            assert_eq!(devices.to_string(), text);
        }
        for wrong in ["", "gpu", "cuda:", "cuda:0,", "cuda:-1", "cuda:1,0,1", "emulator:0", "cpu:0", "auto:"] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
    }
}
