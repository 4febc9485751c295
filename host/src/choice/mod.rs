//! Where work is done: devices as a caller names them, opened; and what is likely to be faster where the caller names nothing.
//!
//! ```text
//! Devices: auto, cpu, cuda:0,1, emulator ──── named ─────────────────────────┐
//! Workload, Vertices ── estimate ── Recommendation ── recommended ───────────┴── Opened: an engine, its name, why it was chosen
//!                                                          └ no GPU: the CPU
//! ```
//!
//! An [`Opener`] is how a caller opens one device: watched by a profile, or kept open for the next call. Devices that were named are there or
//! an error; only what was left to the library ([`Devices::Auto`]) falls back to the CPU, and says why ([`Automatic`]). The library prints
//! nothing: callers tell of the choice.
//!
//! `cuda` opens GPUs, and `no_cuda` stands in for it where the cargo feature `cuda` is left out.

use std::fmt;
use std::str::FromStr;

mod estimate;
mod open;

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
mod no_cuda;

#[cfg(feature = "cuda")]
use cuda as gpu;
#[cfg(not(feature = "cuda"))]
use no_cuda as gpu;

pub use estimate::{Recommendation, Vertices, Workload};
pub use open::{Automatic, Opened, Opener};

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

#[cfg(test)]
mod tests {
    use super::*;

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
