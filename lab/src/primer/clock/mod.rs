//! Clocks (`clock`): a kernel that times its own blocks, what a launch costs, and one kernel by every clock there is.
//!
//! | file | what |
//! |---|---|
//! | `minima` | the chapter's reduction, whose blocks store both clocks at their start and end |
//! | `launch` | empty kernels: one and a wait, many in a row, one between events |
//! | `spin` | a kernel that waits for a given time, by events, by the host's clock and by both of its own |
//!
//! The size is the launches of a row, and the shortest spin in tens of nanoseconds.

use super::{Ask, Case, Elements, Reading, Topic};
use crate::bench::median;

mod launch;
mod minima;
mod spin;

/// What clocks say of kernels.
pub const CLOCK: Topic = Topic {
    name: "clock",
    title: "blocks that time themselves, what a launch costs, and one kernel by every clock",
    size: "N",
    sizes: [&[[1000, 0, 0]], &[[20, 0, 0]]],
    elements: &[Elements::F32],
    rungs: || vec!["minima", "wait", "row", "events", "spin"],
    cases,
};

fn cases(ask: &Ask) -> Vec<Box<dyn Case>> {
    fn boxed<T: Case + 'static>(case: T) -> Box<dyn Case> {
        Box::new(case)
    }
    let minima = minima::cases(ask.seed).map(boxed);
    minima.chain(launch::cases(ask.size[0]).map(boxed)).chain(spin::cases(ask.size[0]).map(boxed)).collect()
}

/// What runs have read, by name and unit. The one that was verified and those to warm up are among them: their medians hardly know.
#[derive(Default)]
struct Samples(Vec<(&'static str, &'static str, Vec<f64>)>);

impl Samples {
    fn note(&mut self, name: &'static str, value: f64, unit: &'static str) {
        match self.0.iter_mut().find(|(known, ..)| *known == name) {
            Some((.., values)) => values.push(value),
            None => self.0.push((name, unit, vec![value])),
        }
    }

    fn medians(&self) -> Vec<Reading> {
        let reading = |(name, unit, values): &(&str, &str, Vec<f64>)| {
            let value = median(values);
            Reading { name: (*name).to_owned(), value, unit: (*unit).to_owned() }
        };
        self.0.iter().map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use halotile::exec::Device;
    use halotile::exec::emulator::EmulatedDevice;

    #[test]
    fn every_case_runs_is_right_and_says_what_it_read() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for size in [1, 7] {
            for case in cases(&Ask { size: [size, 0, 0], elements: Elements::F32, seed: 3 }) {
                let mut run = case.start(&device, 2).unwrap();
                for _ in 0..3 {
                    assert!(run.run().unwrap() > 0.0, "{case:?}");
                    assert!(run.check().unwrap().is_ok(), "{case:?}");
                }
                let readings = run.readings().unwrap();
                assert!(readings.iter().all(|reading| reading.value > 0.0), "{case:?}: {readings:?}");
                assert_eq!(readings.is_empty(), case.name() == "events", "{case:?}: {readings:?}");
            }
        }
    }

    #[test]
    fn cases_are_told_apart() {
        let told = |case: &dyn Case| {
            let [(_, of)] = &case.parameters()[..] else { panic!("{case:?}") };
            format!("{} {of}", case.name())
        };
        let all: Vec<String> =
            cases(&Ask { size: [1000, 0, 0], elements: Elements::F32, seed: 0 }).iter().map(|c| told(&**c)).collect();
        let expected = [
            "minima 1 block",
            "minima 8 blocks",
            "minima 16 blocks",
            "minima 32 blocks",
            "minima 64 blocks",
            "minima 1 an SM",
            "minima 2 an SM",
            "minima 4 an SM",
            "minima 8 an SM",
            "minima 16 an SM",
            "minima 32 an SM",
            "wait 0 args",
            "wait 8 args",
            "wait 32 args",
            "row 0 args",
            "row 8 args",
            "row 32 args",
            "events 0 args",
            "spin 10 us",
            "spin 100 us",
            "spin 1 ms",
            "spin 10 ms",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn of_what_runs_read_the_median_is_told() {
        let mut samples = Samples::default();
        for value in [3.0, 100.0, 2.0] {
            samples.note("block", value, "cycles");
        }
        samples.note("span", 5.0, "ns");
        let told: Vec<_> = samples.medians().into_iter().map(|r| (r.name, r.value, r.unit)).collect();
        assert_eq!(told, [("block".into(), 3.0, "cycles".into()), ("span".into(), 5.0, "ns".to_owned())]);
    }
}
