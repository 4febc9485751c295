//! The loop: verify, warm up, time.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::ceiling::cpu_copy;
use super::record::{BYTES_PER_CELL, CEILING, Ceilings, Clock, Outcome, Record, Row, Times, Timing, place_name};
use super::subject::{Facts, Run, Subject, Way, is_misfit};
use super::target::Target;
use super::verify::Oracle;
use crate::generate::{Generator, Pattern};
use halotile::entropy::{Entropy, Error, Place};
use halotile::exec::DeviceError;
use halotile::grid::{Grid, GridView};
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

/// What to benchmark: the grids, the window, how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Rows and columns of the grids.
    pub shapes: Vec<(usize, usize)>,
    /// What their cells are like.
    pub pattern: Pattern,
    /// What their cells depend on.
    pub seed: u64,
    /// Cells are below this: 1 to 256.
    pub levels: usize,
    /// The window's side: odd, 1 to 255.
    pub size: usize,
    /// How often everything runs.
    pub effort: Effort,
}

impl Plan {
    pub(super) fn entropy(&self) -> Entropy {
        Entropy::new().size(self.size).levels(self.levels)
    }

    fn grid(&self, rows: usize, cols: usize) -> Result<Grid<u8>, Error> {
        // Its only error is about the levels, and they have been checked.
        let generator = Generator::new(self.pattern, self.seed, self.levels).map_err(|_| Error::Levels(self.levels))?;
        Ok(generator.grid(rows, cols)?)
    }

    /// Why `subject` does not do this work, found out with the first few rows of each shape; `None` when it does. So a misfit shows
    /// before hours of work.
    pub fn misfit(&self, subject: &dyn Subject) -> Result<Option<Error>, Error> {
        for &(rows, cols) in &self.shapes {
            let cells = self.grid(rows.min(16), cols)?;
            for &way in subject.facts().ways {
                match subject.start(way, cells.view()).and_then(|mut run| run.run(&())) {
                    Ok(_) | Err(Error::Device(DeviceError::Fault(_))) => {}
                    Err(error) if is_misfit(&error) => return Ok(Some(error)),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(None)
    }
}

/// Progress of the benchmark, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ceilings have been measured.
    Started {
        /// What is known before the first row.
        record: &'a Record,
        /// How many rows there will be.
        rows: usize,
    },
    /// A row begins.
    Begin {
        /// The subject.
        kernel: &'a str,
        /// Rows of the grid.
        rows: usize,
        /// Columns of the grid.
        cols: usize,
    },
    /// A row is done.
    Done(&'a Row),
}

/// Verifies and times every subject on every shape. `commit` is for the record only; the observer can stop it all between two runs,
/// and within those that ask it.
///
/// A subject that is wrong, or does not do the work, is in the record as such; an error is what stops everything: a device that
/// fails, a plan that cannot be, too little memory.
pub fn run(
    plan: &Plan,
    subjects: &[Box<dyn Subject>],
    target: &Target,
    commit: Option<String>,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    plan.entropy().validate()?;
    let ceilings = Ceilings { device_copy: target.copy()?, cpu_copy: cpu_copy(), how: CEILING.to_owned() };
    let mut record = Record::new(plan, target, commit, ceilings);
    on_event(Event::Started { record: &record, rows: plan.shapes.len() * subjects.len() });
    for &(rows, cols) in &plan.shapes {
        let cells = plan.grid(rows, cols)?;
        let oracle = Oracle::new(cells.view(), plan.size, plan.levels);
        for subject in subjects {
            let facts = subject.facts();
            on_event(Event::Begin { kernel: subject.name(), rows, cols });
            let mut outcome = measure(subject.as_ref(), &facts, cells.view(), &oracle, &plan.effort, observer)?;
            if let Outcome::Timed(timing) = &mut outcome {
                let ceiling = match facts.place {
                    Place::Device => record.ceilings.device_copy,
                    Place::Both if !matches!(target, Target::Cpu) => None,
                    Place::Cpu | Place::Both => Some(record.ceilings.cpu_copy),
                };
                timing.cells_per_second = (rows * cols) as f64 / timing.time.median;
                timing.share_of_copy = ceiling.map(|rate| timing.cells_per_second * BYTES_PER_CELL as f64 / rate);
            }
            let mut row = Row {
                kernel: subject.name().to_owned(),
                place: place_name(facts.place).to_owned(),
                before: facts.before,
                idea: facts.idea,
                rows,
                cols,
                outcome,
            };
            let before = row.before.as_deref().and_then(|before| record.row(before, rows, cols));
            let speedup = before.and_then(|before| row.speedup_over(before));
            if let Outcome::Timed(timing) = &mut row.outcome {
                timing.speedup = speedup;
            }
            on_event(Event::Done(&row));
            record.results.push(row);
        }
    }
    Ok(record)
}

/// A subject whose first result was right: only such a one is timed.
pub(super) struct Verified<'a> {
    pub run: Box<dyn Run + 'a>,
    /// Seconds of the run that was looked at.
    first: f64,
    /// The largest difference found.
    pub difference: f64,
}

impl<'a> Verified<'a> {
    /// Runs once and compares; or what came of it, where that is no right result.
    pub fn new<T>(
        subject: &'a dyn Subject,
        facts: &Facts,
        way: Way,
        cells: GridView<'a, u8>,
        oracle: &Oracle<'_>,
        observer: &dyn Observer,
    ) -> Result<Result<Self, Outcome<T>>, Error> {
        let verified = subject.start(way, cells).and_then(|mut run| {
            let first = run.run(observer)?;
            let found = oracle.check(&run.result()?, facts.tolerance);
            Ok((run, first, found))
        });
        match verified {
            Ok((run, first, Ok(difference))) => Ok(Ok(Self { run, first, difference })),
            Ok((_, _, Err(cell))) => Ok(Err(Outcome::Wrong { reason: cell.to_string() })),
            // The emulator has found a mistake in the kernel, which a GPU would have kept to itself.
            Err(Error::Device(DeviceError::Fault(fault))) => Ok(Err(Outcome::Wrong { reason: fault })),
            Err(error) if is_misfit(&error) => Ok(Err(Outcome::Skipped { reason: reason(&error) })),
            Err(error) => Err(error),
        }
    }

    /// Warms up, then runs as often as asked: the seconds of each run.
    pub fn times(&mut self, effort: &Effort, observer: &dyn Observer) -> Result<Vec<f64>, Error> {
        repeat(&effort.warmup, 0, self.first, observer, || self.run.run(observer))?;
        repeat(&effort.timed, 1, 0.0, observer, || self.run.run(observer))
    }
}

/// One subject on one grid.
fn measure(
    subject: &dyn Subject,
    facts: &Facts,
    cells: GridView<'_, u8>,
    oracle: &Oracle<'_>,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    let mut timing: Option<Timing> = None;
    for &way in facts.ways {
        let mut verified = match Verified::new(subject, facts, way, cells, oracle, observer)? {
            Ok(verified) => verified,
            Err(outcome) => return Ok(outcome),
        };
        let (raw, difference) = (verified.times(effort, observer)?, verified.difference);
        match &mut timing {
            None => {
                let clock = if way == Way::Kernel { Clock::Device } else { Clock::Wall };
                let details = verified.run.details();
                timing = Some(Timing {
                    time: Times::new(clock, raw),
                    host_to_host: None,
                    // Known when the row is.
                    cells_per_second: 0.0,
                    share_of_copy: None,
                    speedup: None,
                    occupancy: details.occupancy,
                    usage: facts.usage,
                    copies: details.copies,
                    copies_bytes: details.bytes,
                    verified: oracle.covers(),
                    largest_difference: difference,
                });
            }
            Some(timing) => {
                timing.host_to_host = Some(Times::new(Clock::Wall, raw));
                timing.largest_difference = timing.largest_difference.max(difference);
            }
        }
    }
    Ok(match timing {
        Some(timing) => Outcome::Timed(Box::new(timing)),
        None => Outcome::Skipped { reason: "there is nothing to time".to_owned() },
    })
}

/// A misfit's reason, without the kernel's name, which stands beside it.
fn reason(error: &Error) -> String {
    match error {
        Error::KernelMisfit { reason, .. } => reason.clone(),
        Error::KernelOnCpu(_) => "it runs on a device (cuda, emulator)".to_owned(),
        other => other.to_string(),
    }
}

/// Runs as often as `repeat` says, and `floor` times at least, after runs that took `before` seconds. What each run says.
pub(super) fn repeat<R, E: From<Cancelled>>(
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
    use super::*;
    use crate::bench::subject::{Values, cpu_engine};

    /// The CPU engine with `wrong` added to one cell of every result.
    struct Planted {
        inner: Box<dyn Subject>,
        wrong: f64,
        runs: std::cell::Cell<usize>,
    }

    struct PlantedRun<'a> {
        inner: Box<dyn Run + 'a>,
        subject: &'a Planted,
        out: Grid<f64>,
    }

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> Facts {
            Facts { before: Some("cpu".into()), ..self.inner.facts() }
        }
        fn start<'a>(&'a self, way: Way, cells: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error> {
            let inner = self.inner.start(way, cells)?;
            Ok(Box::new(PlantedRun { inner, subject: self, out: Grid::zeros(cells.rows(), cells.cols())? }))
        }
    }

    impl Run for PlantedRun<'_> {
        fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
            self.subject.runs.set(self.subject.runs.get() + 1);
            self.inner.run(observer)
        }
        fn result(&mut self) -> Result<Values<'_>, Error> {
            let Values::F32(grid) = self.inner.result()? else { panic!("the CPU engine gives f32") };
            let cols = grid.cols();
            self.out = Grid::from_fn(grid.rows(), cols, |r, c| f64::from(grid.row(r)[c])).unwrap();
            self.out.as_mut_slice()[3 * cols + 5] += self.subject.wrong;
            Ok(Values::F64(self.out.view()))
        }
    }

    fn plan() -> Plan {
        let shapes = vec![(20, 30), (7, 9)];
        Plan { shapes, pattern: Pattern::Random, seed: 3, levels: 16, size: 5, effort: Effort::runs(2, 4) }
    }

    fn planted(wrong: f64) -> Planted {
        Planted { inner: cpu_engine(&plan()), wrong, runs: Default::default() }
    }

    #[test]
    fn a_wrong_subject_is_not_timed_and_the_others_are() {
        let subjects: [Box<dyn Subject>; 2] = [Box::new(planted(1e-3)), cpu_engine(&plan())];
        let mut seen = Vec::new();
        let mut watch = |event: Event<'_>| {
            if let Event::Done(row) = event {
                seen.push(row.kernel.clone());
            }
        };
        let record = run(&plan(), &subjects, &Target::Cpu, None, &mut watch, &()).unwrap();
        assert_eq!(seen, ["planted", "cpu", "planted", "cpu"]);
        for (rows, cols) in plan().shapes {
            let Outcome::Wrong { reason } = &record.row("planted", rows, cols).unwrap().outcome else {
                panic!("{record:?}")
            };
            assert!(reason.starts_with("row 3, column 5: ") && reason.contains(" was expected ("), "{reason}");
            assert_eq!(record.row("cpu", rows, cols).unwrap().timing().unwrap().time.raw.len(), 4);
        }
    }

    #[test]
    fn a_wrong_subject_runs_once_and_a_right_one_as_often_as_asked() {
        for (wrong, runs) in [(1e-3, 1), (0.0, 1 + 2 + 4)] {
            let planted = planted(wrong);
            let cells = plan().grid(20, 30).unwrap();
            let oracle = Oracle::new(cells.view(), 5, 16);
            measure(&planted, &planted.facts(), cells.view(), &oracle, &plan().effort, &()).unwrap();
            assert_eq!(planted.runs.get(), runs);
        }
    }

    #[test]
    fn a_right_subject_has_its_speed_beside_the_one_before_it() {
        let subjects: [Box<dyn Subject>; 2] = [cpu_engine(&plan()), Box::new(planted(0.0))];
        let record = run(&plan(), &subjects, &Target::Cpu, Some("abc".into()), &mut |_| (), &()).unwrap();
        let (cpu, planted) = (record.row("cpu", 20, 30).unwrap(), record.row("planted", 20, 30).unwrap());
        let (ours, theirs) = (planted.timing().unwrap(), cpu.timing().unwrap());
        assert_eq!(ours.speedup, Some(theirs.time.median / ours.time.median));
        assert_eq!(ours.cells_per_second, 600.0 / ours.time.median);
        assert_eq!(ours.share_of_copy, Some(ours.cells_per_second * 5.0 / record.ceilings.cpu_copy));
        assert_eq!((theirs.speedup, record.head.commit.as_deref()), (None, Some("abc")));
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
        let stopped = run(&plan(), &[cpu_engine(&plan())], &Target::Cpu, None, &mut |_| (), &Stop);
        assert!(matches!(stopped, Err(Error::Cancelled(_))));
    }
}
