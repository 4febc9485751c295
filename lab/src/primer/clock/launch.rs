//! What a launch costs: kernels that do nothing.
//!
//! ```text
//! wait      launch, and wait for the end, by the wall clock
//! row       many launches on a queue and one wait, by the wall clock
//! events    events before and after a launch: what they say of nothing
//! ```
//!
//! They are launches as everything here makes them: an event is made and recorded before and after each, so that it can be timed.

use std::sync::Arc;
use std::time::Instant;

use halotile_lab_kernels::primer::clock::{primer_clock_empty, primer_clock_empty8, primer_clock_empty32};
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::Samples;
use crate::bench::Clock;
use crate::primer::{Case, Reading, Run, Work};
use halotile::exec::queue::scope;
use halotile::exec::{Device, DeviceError, Limits};

/// Every way to launch, with rows of `size` launches.
pub(super) fn cases(size: usize) -> impl Iterator<Item = Launch> {
    let with = |way, arguments: &[_]| arguments.iter().map(|&arguments| Launch { way, arguments }).collect::<Vec<_>>();
    let all = [Arguments::None, Arguments::Eight, Arguments::ThirtyTwo];
    [with(Way::Wait, &all), with(Way::Row(size), &all), with(Way::Events, &all[..1])].into_iter().flatten()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Wait,
    /// So many launches.
    Row(usize),
    Events,
}

/// How many arguments the kernel has, 8 bytes each.
#[derive(Debug, Clone, Copy)]
enum Arguments {
    None,
    Eight,
    ThirtyTwo,
}

impl Arguments {
    fn kernel(self) -> &'static KernelEntry {
        match self {
            Self::None => &primer_clock_empty::ENTRY,
            Self::Eight => &primer_clock_empty8::ENTRY,
            Self::ThirtyTwo => &primer_clock_empty32::ENTRY,
        }
    }
}

/// Launches of a kernel that does nothing.
#[derive(Debug)]
pub(super) struct Launch {
    way: Way,
    arguments: Arguments,
}

impl Case for Launch {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Wait => "wait",
            Way::Row(_) => "row",
            Way::Events => "events",
        }
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("of", format!("{} args", self.arguments.kernel().params.len()))]
    }

    fn idea(&self) -> &'static str {
        match self.way {
            Way::Wait => "launch and wait for the end: no result comes sooner",
            Way::Row(_) => {
                "launches on a queue, waited for once: the host goes ahead, and the device need not wait for it"
            }
            Way::Events => "what events say of a kernel that does nothing: part of every time by events",
        }
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(self.arguments.kernel())
    }

    fn work(&self, _: &Limits) -> Work {
        match self.way {
            Way::Row(launches) => Work::Launches(launches as f64),
            Way::Wait | Way::Events => Work::Launches(1.0),
        }
    }

    fn clock(&self) -> Clock {
        if self.way == Way::Events { Clock::Device } else { Clock::Wall }
    }

    fn bytes(&self, _: usize) -> usize {
        0
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let kernel = self.arguments.kernel();
        let args = (0..kernel.params.len() as u64).map(Arg::from).collect();
        let (device, samples) = (Arc::clone(device), Samples::default());
        Ok(Box::new(Started { way: self.way, kernel, device, args, samples, latest: None }))
    }
}

struct Started {
    way: Way,
    kernel: &'static KernelEntry,
    device: Arc<dyn Device>,
    args: Vec<Arg>,
    samples: Samples,
    /// Seconds of the latest launch, or of the mean one of a row: by events, by the wall clock.
    latest: Option<[f64; 2]>,
}

/// What is known of a launch that leaves nothing but its times: it ended, and within the time that passed. Events resolve half a
/// microsecond.
fn plausible([events, wall]: [f64; 2]) -> Result<String, String> {
    if events > 0.0 && events <= wall + 1e-6 {
        Ok("that an empty kernel takes time, and by events no more than by the wall clock".to_owned())
    } else {
        Err(format!("by events a launch took {events} s, by the wall clock {wall} s"))
    }
}

impl Started {
    /// Launches and waits; the seconds by events.
    fn launch(&self) -> Result<f64, DeviceError> {
        // SAFETY: the kernel does nothing.
        unsafe { self.device.launch(self.kernel, &LaunchConfig::linear(1, 1), &self.args) }
    }

    /// Launches one after another. Seconds by the wall clock until all were on the queue, until all were done, and by their events.
    fn row(&self, launches: usize) -> Result<[f64; 3], DeviceError> {
        scope(&self.device, 0, 1, |queues| {
            let queue = &mut queues[0];
            let start = Instant::now();
            for _ in 0..launches {
                // SAFETY: the kernel does nothing.
                unsafe { queue.launch(self.kernel, &LaunchConfig::linear(1, 1), &self.args) }?;
            }
            let put = start.elapsed();
            let returned = queue.wait();
            let done = start.elapsed();
            returned.result.map(|()| [put.as_secs_f64(), done.as_secs_f64(), returned.seconds])
        })?
    }
}

impl Run for Started {
    fn run(&mut self) -> Result<f64, DeviceError> {
        match self.way {
            Way::Events | Way::Wait => {
                let start = Instant::now();
                let events = self.launch()?;
                let wall = start.elapsed().as_secs_f64();
                self.latest = Some([events, wall]);
                if self.way == Way::Events {
                    return Ok(events);
                }
                self.samples.note("events", events * 1e6, "us");
                Ok(wall)
            }
            Way::Row(launches) => {
                let [put, done, events] = self.row(launches)?;
                let each = |seconds: f64| seconds * 1e6 / launches as f64;
                self.latest = Some([events, done].map(|seconds| seconds / launches as f64));
                self.samples.note("a launch", each(done), "us");
                self.samples.note("to put it on the queue", each(put), "us");
                self.samples.note("events", each(events), "us");
                Ok(done)
            }
        }
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        Ok(self.latest.map_or_else(|| Err("it has not run".to_owned()), plausible))
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        Ok(self.samples.medians())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    #[test]
    fn a_row_is_as_many_launches_as_asked_for() {
        let emulator = Arc::new(EmulatedDevice::new(0, None).counting());
        let device: Arc<dyn Device> = Arc::<EmulatedDevice>::clone(&emulator);
        for case in cases(9) {
            let mut run = case.start(&device, 1).unwrap();
            emulator.take_counted();
            run.run().unwrap();
            let launched = emulator.take_counted();
            assert_eq!(Work::Launches(launched.len() as f64), case.work(&device.limits()), "{case:?}");
            assert_eq!(launched[0].kernel, case.kernel().unwrap().name);
        }
    }

    #[test]
    fn what_the_wall_clock_sees_is_more_than_what_events_see() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for case in cases(9) {
            let mut run = case.start(&device, 1).unwrap();
            let seconds = run.run().unwrap();
            let told = run.readings().unwrap();
            let us = |name: &str| told.iter().find(|reading| reading.name == name).unwrap().value;
            match case.way {
                Way::Events => assert_eq!((case.clock(), told.len()), (Clock::Device, 0)),
                Way::Wait => assert!(case.clock() == Clock::Wall && us("events") <= seconds * 1e6, "{told:?}"),
                Way::Row(launches) => {
                    assert!((us("a launch") * launches as f64 / 1e6 - seconds).abs() < 1e-9, "{told:?}");
                    assert!(us("events") <= us("a launch"), "{told:?}");
                    assert!(us("to put it on the queue") <= us("a launch"), "{told:?}");
                }
            }
        }
    }

    #[test]
    fn times_that_cannot_be_are_wrong() {
        assert!(plausible([5e-6, 9e-6]).is_ok());
        for times in [[0.0, 9e-6], [-1e-6, 9e-6], [11e-6, 9e-6], [f64::NAN, 9e-6]] {
            assert!(plausible(times).is_err(), "{times:?}");
        }
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for case in cases(9) {
            assert_eq!(case.start(&device, 1).unwrap().check().unwrap().unwrap_err(), "it has not run");
        }
    }

    #[test]
    fn a_device_that_fails_in_a_row_is_told() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).failing_after(4));
        for case in cases(9).filter(|case| matches!(case.way, Way::Row(_))) {
            let error = case.start(&device, 1).unwrap().run().unwrap_err();
            assert!(matches!(error, DeviceError::Driver { .. }), "{error}");
        }
    }
}
