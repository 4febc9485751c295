//! A kernel that waits for a given time, by every clock: what each of them adds.
//!
//! ```text
//! time              the events before and after the kernel
//! wall              the host's clock, around the launch and the wait for its end
//! nanoseconds       the clock that all multiprocessors share, read by the kernel
//! cycles / rate     the multiprocessor's own, at the rate that a spin of another launch has shown
//! ```

use std::sync::Arc;
use std::time::Instant;

use halotile_lab_kernels::primer::clock::{CLOCK_SPIN_READINGS, primer_clock_spin};
use simt::launch::{KernelEntry, LaunchConfig};

use super::Samples;
use super::minima::Readings;
use crate::primer::{Case, Reading, Run, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Spins of 10 `size` nanoseconds, and of 10, 100 and 1000 times that.
pub(super) fn cases(size: usize) -> impl Iterator<Item = Spin> {
    [1, 10, 100, 1000].into_iter().map(move |times| Spin { nanoseconds: size as u64 * 10 * times })
}

/// A wait.
#[derive(Debug)]
pub(super) struct Spin {
    nanoseconds: u64,
}

impl Case for Spin {
    fn name(&self) -> &'static str {
        "spin"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let nanoseconds = self.nanoseconds as f64;
        let text = match nanoseconds {
            ns if ns < 1e3 => format!("{ns} ns"),
            ns if ns < 1e6 => format!("{} us", ns / 1e3),
            ns => format!("{} ms", ns / 1e6),
        };
        vec![("of", text)]
    }

    fn idea(&self) -> &'static str {
        "a wait of known length, by events, by the host's clock and by the two that a kernel can read"
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(&primer_clock_spin::ENTRY)
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Launches(1.0)
    }

    fn bytes(&self, copies: usize) -> usize {
        copies * CLOCK_SPIN_READINGS * size_of::<u64>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let clocks = Clocks::new(device)?;
        // Another launch, so that the clocks are not compared with themselves.
        let rate = Rate::measure(device, self.nanoseconds)?;
        Ok(Box::new(Started { nanoseconds: self.nanoseconds, clocks, rate, samples: Samples::default() }))
    }
}

struct Started {
    nanoseconds: u64,
    clocks: Clocks,
    rate: Rate,
    samples: Samples,
}

impl Run for Started {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let start = Instant::now();
        let seconds = self.clocks.spin(self.nanoseconds)?;
        let wall = start.elapsed();
        let (clocks, step) = self.clocks.read()?;
        self.samples.note("wall", wall.as_secs_f64() * 1e6, "us");
        self.samples.note("nanoseconds", clocks.nanoseconds() as f64 / 1e3, "us");
        self.samples.note("cycles / rate", self.rate.nanoseconds(clocks.cycles()) / 1e3, "us");
        self.samples.note("rate", self.rate.cycles_per_nanosecond, "GHz");
        self.samples.note("step", step as f64, "ns");
        Ok(seconds)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let (clocks, step) = self.clocks.read()?;
        let (waited, asked) = (clocks.nanoseconds(), self.nanoseconds);
        Ok(if clocks.in_order() && waited >= asked && step <= waited {
            Ok("that it waited as long as it was told".to_owned())
        } else {
            Err(format!("it waited for {waited} ns, not for {asked}: {:?}, in steps of {step}", clocks.0))
        })
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        Ok(self.samples.medians())
    }
}

/// Where the kernel stores its clocks.
struct Clocks {
    device: Arc<dyn Device>,
    words: Buffer,
}

impl Clocks {
    fn new(device: &Arc<dyn Device>) -> Result<Self, DeviceError> {
        let words = Buffer::new(device, CLOCK_SPIN_READINGS * size_of::<u64>())?;
        device.fill(&words, 0xFF)?;
        Ok(Self { device: Arc::clone(device), words })
    }

    /// Waits on the device; the seconds by events.
    fn spin(&self, nanoseconds: u64) -> Result<f64, DeviceError> {
        // Ten times what the fastest clock does in that time, and some milliseconds: by then the other one does not tick.
        let most = 50 * nanoseconds + (1 << 24);
        let args = [self.words.output::<u64>(), nanoseconds.into(), most.into()];
        // SAFETY: there are that many words, and one thread.
        unsafe { self.device.launch(&primer_clock_spin::ENTRY, &LaunchConfig::linear(1, 1), &args) }
    }

    /// The clocks, and the smallest step seen of the one in nanoseconds.
    fn read(&self) -> Result<(Readings, u64), DeviceError> {
        let words: Vec<u64> = self.words.to_vec()?;
        Ok((Readings([words[0], words[1], words[2], words[3]]), words[4]))
    }
}

/// How a device's clocks go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Cycles of a multiprocessor in a nanosecond: its clock, in GHz.
    pub(super) cycles_per_nanosecond: f64,
    /// The smallest step seen of the clock in nanoseconds.
    pub(super) step: f64,
}

impl Rate {
    /// Seen in a spin of so many nanoseconds, at least 1.
    pub(super) fn measure(device: &Arc<dyn Device>, nanoseconds: u64) -> Result<Self, DeviceError> {
        let clocks = Clocks::new(device)?;
        // The first one may find the device asleep.
        clocks.spin(nanoseconds)?;
        clocks.spin(nanoseconds)?;
        let (readings, step) = clocks.read()?;
        let cycles_per_nanosecond = readings.cycles() as f64 / readings.nanoseconds() as f64;
        Ok(Self { cycles_per_nanosecond, step: step as f64 })
    }

    /// What so many cycles take.
    pub(super) fn nanoseconds(&self, cycles: u64) -> f64 {
        cycles as f64 / self.cycles_per_nanosecond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    #[test]
    fn every_clock_sees_the_wait_and_the_ones_around_it_see_more() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for case in cases(20) {
            let mut run = case.start(&device, 1).unwrap();
            let seconds = run.run().unwrap();
            assert_eq!(run.check().unwrap(), Ok("that it waited as long as it was told".to_owned()));
            let told = run.readings().unwrap();
            let of = |name: &str| told.iter().find(|reading| reading.name == name).unwrap().value;
            let asked = case.nanoseconds as f64 / 1e3;
            assert!(asked <= of("nanoseconds"), "{case:?}: {told:?}");
            assert!(of("nanoseconds") <= seconds * 1e6 && seconds * 1e6 <= of("wall"), "{case:?}: {told:?}");
            assert!(of("step") >= 1.0 && of("step") <= of("nanoseconds") * 1e3, "{case:?}: {told:?}");
        }
    }

    #[test]
    fn a_wait_that_is_too_short_or_never_was_is_told() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let case = Spin { nanoseconds: 100 };
        // Nothing has run yet.
        let told = case.start(&device, 1).unwrap().check().unwrap().unwrap_err();
        assert!(told.starts_with("it waited for 0 ns, not for 100: ["), "{told}");

        let rate = Rate { cycles_per_nanosecond: 1.0, step: 1.0 };
        let check = |words: [u64; 5]| {
            let words = Buffer::from_slice(&device, &words).unwrap();
            let clocks = Clocks { device: Arc::clone(&device), words };
            Started { nanoseconds: 100, clocks, rate, samples: Samples::default() }.check().unwrap()
        };
        assert!(check([3, 4, 1000, 1100, 100]).is_ok());
        for wrong in [[3, 4, 1000, 1099, 9], [3, 3, 1000, 1100, 9], [3, 4, 1100, 1000, 9], [3, 4, 1000, 1100, 101]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_rate_makes_time_of_cycles() {
        assert_eq!(Rate { cycles_per_nanosecond: 2.0, step: 1.0 }.nanoseconds(3000), 1500.0);
    }
}
