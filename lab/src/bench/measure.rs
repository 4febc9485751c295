//! The loop that times everything: verify, warm up, time.
//!
//! ```text
//! measure the ceilings: what the machine can do
//! for each table of the suite, for each case, for each way to time it:
//!     start it; run once; compare with the oracle; wrong: say where, and time nothing
//!     run until warm; run and keep every time
//! ```

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::case::{Beside, Case, Error, Suite};
use super::machine::Head;
use super::record::{Outcome, Record, Row, Timing};
use super::times::{Clock, Times};
use halotile::observe::{Cancelled, Observer};
use halotile::profile::stage;

/// How often something runs: until it has run `most` times, or, once it has run `least` times, for so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Runs, at least.
    pub least: usize,
    /// Runs, at most.
    pub most: usize,
    /// Seconds after which `least` runs are enough.
    pub seconds: f64,
}

impl Repeat {
    /// So many times.
    pub fn times(runs: usize) -> Self {
        Self { least: runs, most: runs, seconds: 0.0 }
    }

    fn again(&self, done: usize, seconds: f64) -> bool {
        done < self.least || (done < self.most && seconds < self.seconds)
    }
}

/// How often everything runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Runs before the timed ones, on top of the one that is verified.
    pub warmup: Repeat,
    /// Timed runs; at least one, whatever this says.
    pub timed: Repeat,
}

impl Effort {
    /// So many runs to warm up, and so many that are timed.
    pub fn runs(warmup: usize, timed: usize) -> Self {
        Self { warmup: Repeat::times(warmup), timed: Repeat::times(timed) }
    }
}

impl Default for Effort {
    /// 5 runs to warm up, fewer if they take half a second together with the one that is verified; then 30, but 3 are enough if they
    /// take 2 seconds.
    fn default() -> Self {
        Self { warmup: Repeat { least: 0, most: 5, seconds: 0.5 }, timed: Repeat { least: 3, most: 30, seconds: 2.0 } }
    }
}

/// Progress of a benchmark, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ceilings have been measured.
    Started {
        /// What is known before the first row.
        record: &'a Record,
        /// How many rows there will be.
        rows: usize,
    },
    /// A case begins.
    Begin {
        /// What is known before it.
        record: &'a Record,
        /// Its row, with nothing that came of it yet.
        row: &'a Row,
    },
    /// A case is done; its row is the record's last.
    Done(&'a Record),
}

/// Verifies and times every case of a suite. `commit` is for the record only; the observer can stop it all between two runs,
/// and within those that ask it.
///
/// A case that is wrong, or does not do the work, is in the record as such; an error is what stops everything: a device that
/// fails, a plan that cannot be, too little memory.
pub fn run(
    suite: &dyn Suite,
    commit: Option<String>,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    suite.check()?;
    let mut record = Record {
        head: Head::new(suite.what(), suite.target(), commit),
        options: suite.options(),
        ceilings: suite.ceilings()?,
        results: Vec::new(),
        cliffs: Vec::new(),
    };
    on_event(Event::Started { record: &record, rows: suite.rows() });
    suite.cases(&mut |case| {
        let mut row = case.row();
        on_event(Event::Begin { record: &record, row: &row });
        row.outcome = measure(case, &record.options.effort, observer)?;
        if let Outcome::Timed(timing) = &mut row.outcome {
            timing.share_of_ceiling = case.ceiling(&record.ceilings).map(|ceiling| timing.per_second / ceiling);
            timing.counted = case.rehearsal();
        }
        let speedup = record.before(&row).and_then(|before| row.speedup_over(before));
        if let Outcome::Timed(timing) = &mut row.outcome {
            timing.speedup = speedup;
        }
        record.results.push(row);
        on_event(Event::Done(&record));
        Ok(())
    })?;
    record.cliffs = suite.cliffs(&record.results);
    Ok(record)
}

/// What comes of one case.
fn measure(case: &dyn Case, effort: &Effort, observer: &dyn Observer) -> Result<Outcome, Error> {
    match times(case, effort, observer) {
        Ok(Some(timing)) => Ok(Outcome::Timed(Box::new(timing))),
        Ok(None) => Ok(Outcome::nothing()),
        Err(error) => error.outcome(),
    }
}

/// The times of a case whose results are right; none where it has no way to be timed.
fn times(case: &dyn Case, effort: &Effort, observer: &dyn Observer) -> Result<Option<Timing>, Error> {
    let mut timing: Option<Timing> = None;
    for &way in case.ways() {
        let mut run = case.start(way, observer)?;
        let first = run.run(observer)?;
        let checked = run.check()?;
        repeat(&effort.warmup, 0, first, observer, || run.run(observer))?;
        let runs = repeat(&effort.timed, 1, 0.0, observer, || Ok::<_, Error>((run.run(observer)?, run.beside())))?;
        let time = Times::new(case.clock(way), runs.iter().map(|(seconds, _)| *seconds).collect());
        if let Some(timing) = &mut timing {
            timing.host_to_host = Some(time);
            timing.largest_difference =
                [timing.largest_difference, checked.difference].into_iter().flatten().reduce(f64::max);
            continue;
        }
        let beside = |of: fn(&Beside) -> Option<f64>, clock| {
            let raw: Option<Vec<f64>> = runs.iter().map(|(_, beside)| of(beside)).collect();
            raw.map(|raw| Times::new(clock, raw))
        };
        let details = run.details()?;
        let (unit, amount) = case.work();
        timing = Some(Timing {
            host_to_host: beside(|beside| beside.host_to_host, Clock::Wall),
            transfers: beside(|beside| beside.transfers, Clock::Device),
            occupancy: details.occupancy,
            usage: case.usage(),
            copies: details.copies,
            copies_bytes: details.copies_bytes,
            chosen: details.chosen,
            readings: details.readings,
            verified: checked.covers,
            largest_difference: checked.difference,
            ..Timing::new(time, unit, amount)
        });
    }
    Ok(timing)
}

/// Runs as often as `repeat` says, and `floor` times at least, after runs that took `before` seconds. What each run says.
fn repeat<R, E: From<Cancelled>>(
    repeat: &Repeat,
    floor: usize,
    before: f64,
    observer: &dyn Observer,
    mut run: impl FnMut() -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let _stage = stage("repeat runs");
    let start = Instant::now();
    let mut runs = Vec::new();
    while runs.len() < floor || repeat.again(runs.len(), before + start.elapsed().as_secs_f64()) {
        if observer.cancelled() {
            return Err(Cancelled.into());
        }
        runs.push(run()?);
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::bench::{Ceilings, Checked, Clock, Fields, Options, Run, Target, Unit, Way};

    /// Work that takes no time and is right, wrong, or fails.
    struct Planted {
        name: &'static str,
        before: Option<&'static str>,
        ways: &'static [Way],
        error: Option<Error>,
        runs: Cell<usize>,
    }

    fn planted(name: &'static str) -> Planted {
        Planted { name, before: None, ways: &[Way::Kernel, Way::HostToHost], error: None, runs: Cell::new(0) }
    }

    impl Case for Planted {
        fn row(&self) -> Row {
            Row {
                of: Fields::default().with("cells", 600),
                kernel: self.name.into(),
                place: "cpu".into(),
                parameters: Fields::default(),
                before: self.before.map(str::to_owned),
                idea: None,
                outcome: Outcome::nothing(),
            }
        }
        fn ways(&self) -> &[Way] {
            self.ways
        }
        fn work(&self) -> (Unit, f64) {
            (Unit::Cells, 600.0)
        }
        fn ceiling(&self, ceilings: &Ceilings) -> Option<f64> {
            ceilings.of("cpu", Unit::Cells)
        }
        fn start<'a>(&'a self, way: Way, _: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error> {
            Ok(Box::new(PlantedRun(self, way)))
        }
    }

    struct PlantedRun<'a>(&'a Planted, Way);

    impl Run for PlantedRun<'_> {
        fn run(&mut self, _: &dyn Observer) -> Result<f64, Error> {
            self.0.runs.set(self.0.runs.get() + 1);
            Ok(if self.1 == Way::Kernel { 0.5 } else { 3.0 })
        }
        fn beside(&self) -> Beside {
            Beside { host_to_host: None, transfers: Some(0.25) }
        }
        fn check(&mut self) -> Result<Checked, Error> {
            let difference = Some(if self.1 == Way::Kernel { 1e-7 } else { 2e-7 });
            self.0.error.clone().map_or(Ok(Checked { covers: "all".into(), difference }), Err)
        }
    }

    struct Cases(Vec<Planted>);

    impl Suite for Cases {
        fn what(&self) -> &'static str {
            "entropy"
        }
        fn target(&self) -> &Target {
            &Target::Cpu
        }
        fn options(&self) -> Options {
            Options { work: Fields::default(), seed: 0, effort: Effort::runs(2, 4) }
        }
        fn ceilings(&self) -> Result<Ceilings, Error> {
            Ok(Ceilings::new("told", [("cpu", Unit::Cells, Some(2400.0))]))
        }
        fn rows(&self) -> usize {
            self.0.len()
        }
        fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
            self.0.iter().try_for_each(|case| measure(case))
        }
    }

    #[test]
    fn what_is_wrong_runs_once_and_what_is_right_as_often_as_asked() {
        let wrong = Planted { error: Some(Error::Wrong("row 3".into())), ..planted("wrong") };
        let idle = Planted { ways: &[], ..planted("idle") };
        let suite = Cases(vec![planted("right"), wrong, Planted { before: Some("right"), ..planted("next") }, idle]);
        let mut seen = Vec::new();
        let mut watch = |event: Event<'_>| match event {
            Event::Started { record, rows } => assert_eq!((record.results.len(), rows), (0, 4)),
            Event::Begin { row, .. } => seen.push(row.kernel.clone()),
            Event::Done(record) => assert_eq!(record.results.last().map(|row| &row.kernel), seen.last()),
        };
        let record = run(&suite, Some("abc".into()), &mut watch, &()).unwrap();
        assert_eq!(seen, ["right", "wrong", "next", "idle"]);
        let runs: Vec<_> = suite.0.iter().map(|case| case.runs.get()).collect();
        // Two ways, each to verify, to warm up, and timed.
        assert_eq!(runs, [2 * (1 + 2 + 4), 1, 2 * (1 + 2 + 4), 0]);
        assert_eq!(record.results[1].outcome, Outcome::Wrong { reason: "row 3".into() });
        assert_eq!(record.results[3].outcome, Outcome::Skipped { reason: "there is nothing to time".into() });
        let timing = record.results[2].timing().unwrap();
        assert_eq!((timing.time.raw.len(), timing.time.clock, timing.per_second), (4, Clock::Device, 1200.0));
        assert_eq!((timing.share_of_ceiling, timing.speedup), (Some(0.5), Some(1.0)));
        assert_eq!((timing.largest_difference, timing.verified.as_str()), (Some(2e-7), "all"));
        assert_eq!(timing.host_to_host.as_ref().map(|times| (times.clock, times.median)), Some((Clock::Wall, 3.0)));
        assert_eq!(timing.transfers.as_ref().map(|times| times.raw.len()), Some(4));
        assert_eq!((record.results[0].timing().unwrap().speedup, record.head.commit.as_deref()), (None, Some("abc")));
    }

    #[test]
    fn an_error_that_is_no_outcome_stops_everything() {
        let broken = Planted { error: Some(Error::Entropy(halotile::entropy::Error::NoDevices)), ..planted("broken") };
        assert!(matches!(run(&Cases(vec![broken]), None, &mut |_| (), &()), Err(Error::Entropy(_))));
    }

    #[test]
    fn repeats_end_by_number_or_by_time() {
        let run = || Ok::<_, Cancelled>(1.0);
        let after = |repeat_: Repeat, floor, before| repeat(&repeat_, floor, before, &(), run).unwrap().len();
        let count = |repeat_: Repeat, floor| after(repeat_, floor, 0.0);
        assert_eq!(count(Repeat::times(7), 1), 7);
        assert_eq!(count(Repeat::times(0), 1), 1);
        assert_eq!(count(Repeat { least: 3, most: 100, seconds: 0.0 }, 1), 3);
        assert_eq!(count(Repeat { least: 3, most: 100, seconds: 60.0 }, 1), 100);
        // What was slow when it was verified needs no more to warm up.
        assert_eq!(after(Effort::default().warmup, 0, 1.0), 0);
    }

    #[test]
    fn work_can_be_stopped() {
        struct Stop;
        impl Observer for Stop {
            fn cancelled(&self) -> bool {
                true
            }
        }
        assert!(run(&Cases(vec![planted("right")]), None, &mut |_| (), &Stop).unwrap_err().is_cancelled());
    }
}
