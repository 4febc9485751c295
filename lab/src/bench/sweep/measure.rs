//! The loop of a sweep: verify on a small grid, verify a sample of the large one, warm up, time.
//!
//! The definition takes minutes for a large grid. So it has every cell of a small grid of the same settings (unless windows are so large
//! that patches must do), and of the timed grid patches in the corners, at the edges and in the middle, and single cells at random.

use super::axes::{Axes, Precision, Setting, Shape};
use super::cliffs::{MOST_CLIFFS, worst};
use super::record::{Record, Row, Timing};
use crate::bench::ceiling::cpu_copy;
use crate::bench::measure::{Repeat, Verified};
use crate::bench::subject::{Subject, choice};
use crate::bench::verify::{Definition, Oracle, Sample};
use crate::bench::{CEILING, Ceilings, Clock, Effort, Outcome, Target, Times};
use crate::generate::{Generator, Pattern};
use halotile::entropy::{Entropy, Error};
use halotile::grid::Grid;
use halotile::measure::Footprint;
use halotile::observe::Observer;

/// The code of cells without data: the usual one of rasters of bytes, and no class unless there are 256.
pub const NODATA: u8 = 255;
/// One cell in so many has no data.
const ONE_IN: usize = 20;

/// The side of the small grid: larger than every window.
const SMALL: usize = 300;
/// Cells that the definition may read of the small grid: all windows of up to 37 × 37.
const SMALL_READS: usize = 1 << 27;
/// Cells that it may read of the timed grid, for the patches.
const SAMPLE_READS: usize = 1 << 25;
/// Single cells at random places of a grid that is not compared in every cell.
const SCATTERED: usize = 256;

/// How often each setting runs by default: a few times, since there are many of them.
pub fn default_effort() -> Effort {
    Effort { warmup: Repeat { least: 1, most: 3, seconds: 0.25 }, timed: Repeat { least: 3, most: 11, seconds: 0.5 } }
}

/// What to sweep over: the grid, the axes, how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// What its cells are like.
    pub pattern: Pattern,
    /// What its cells depend on.
    pub seed: u64,
    /// The settings.
    pub axes: Axes,
    /// How often everything runs.
    pub effort: Effort,
}

impl Plan {
    /// A grid of so many classes, with nodata in 5 of 100 cells at random or without.
    fn grid(&self, rows: usize, cols: usize, levels: usize, nodata: bool) -> Result<Grid<u8>, Error> {
        let make = |pattern, seed, levels| -> Result<Grid<u8>, Error> {
            // Its only error is about the levels, and they have been checked.
            let generator = Generator::new(pattern, seed, levels).map_err(|_| Error::Levels(levels))?;
            Ok(generator.grid(rows, cols)?)
        };
        let mut cells = make(self.pattern, self.seed, levels)?;
        if nodata {
            let hidden = make(Pattern::Random, self.seed.wrapping_add(1), ONE_IN)?;
            for (cell, _) in cells.as_mut_slice().iter_mut().zip(hidden.as_slice()).filter(|(_, hidden)| **hidden == 0)
            {
                *cell = NODATA;
            }
        }
        Ok(cells)
    }

    /// The sides of the small grid; none where the timed one is no larger, or emulated, where cells take microseconds.
    fn small(&self, target: &Target) -> Option<(usize, usize)> {
        let larger = self.rows.saturating_mul(self.cols) > SMALL * SMALL;
        (larger && !matches!(target, Target::Emulator(_))).then_some((SMALL, SMALL))
    }
}

/// What happens, for whatever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ceilings have been measured.
    Started {
        /// What is known before the first row.
        record: &'a Record,
        /// How many rows there will be.
        rows: usize,
    },
    /// A setting begins.
    Begin(&'a Setting),
    /// A setting is done.
    Done(&'a Row),
}

/// Verifies and times what the library does at every setting of the plan's axes, on the target's first device or on the CPU. `commit` is
/// for the record only; the observer can stop it all between two runs, and within those that ask it.
///
/// A setting that is not supported is in the record with its reason, one that is wrong or fails as wrong; an error is what stops
/// everything: a setting that cannot be, a grid that memory does not hold.
pub fn run(
    plan: &Plan,
    target: &Target,
    commit: Option<String>,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    let subject = |setting: &Setting| Ok(choice(entropy(setting)?, setting.precision == Precision::F64, target));
    run_of(plan, target, commit, &subject, on_event, observer)
}

/// What is to be timed of a setting.
type Made = Result<Box<dyn Subject>, Error>;

/// The same with another subject for each setting.
fn run_of(
    plan: &Plan,
    target: &Target,
    commit: Option<String>,
    subject: &dyn Fn(&Setting) -> Made,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    let settings = plan.axes.settings();
    for setting in &settings {
        entropy(setting)?.validate()?;
    }
    let ceilings = Ceilings { device_copy: target.copy()?, cpu_copy: cpu_copy(), how: CEILING.to_owned() };
    let mut record = Record::new(plan, target, commit, ceilings);
    let rate = record.copy();
    on_event(Event::Started { record: &record, rows: settings.len() });
    let mut grids: Option<Grids> = None;
    for setting in settings {
        on_event(Event::Begin(&setting));
        let grids = match &mut grids {
            Some(grids) if grids.of == (setting.levels, setting.nodata) => grids,
            // The old ones make room first.
            grids => {
                *grids = None;
                grids.insert(Grids::new(plan, target, &setting)?)
            }
        };
        let subject = subject(&setting)?;
        let (kernel, outcome) = match measure(plan, &setting, subject.as_ref(), grids, rate, observer) {
            Ok(measured) => measured,
            Err(error @ Error::Cancelled(_)) => return Err(error),
            // The others may well work.
            Err(error) => (None, Outcome::Wrong { reason: format!("it failed: {error}") }),
        };
        let row = Row { setting, kernel, outcome };
        on_event(Event::Done(&row));
        record.results.push(row);
    }
    record.cliffs = worst(&plan.axes, &record.results, MOST_CLIFFS);
    Ok(record)
}

/// Grids of one number of classes, with nodata or without.
struct Grids {
    of: (usize, bool),
    timed: Grid<u8>,
    small: Option<Grid<u8>>,
}

impl Grids {
    fn new(plan: &Plan, target: &Target, setting: &Setting) -> Result<Self, Error> {
        let grid = |(rows, cols)| plan.grid(rows, cols, setting.levels, setting.nodata);
        let small = plan.small(target).map(grid).transpose()?;
        Ok(Self { of: (setting.levels, setting.nodata), timed: grid((plan.rows, plan.cols))?, small })
    }
}

fn footprint(setting: &Setting) -> Result<Footprint, Error> {
    let made = match setting.shape {
        Shape::Square => Footprint::square(setting.size),
        Shape::Disk => Footprint::disk(setting.size),
    };
    made.map_err(|_| Error::Size(setting.size))
}

/// What the library is asked for.
fn entropy(setting: &Setting) -> Result<Entropy, Error> {
    let entropy = Entropy::new().footprint(footprint(setting)?).measures([setting.measure]).levels(setting.levels);
    Ok(entropy.nodata(setting.nodata.then_some(NODATA.into())))
}

/// One setting: the kernel that did it, and what came of it.
fn measure(
    plan: &Plan,
    setting: &Setting,
    subject: &dyn Subject,
    grids: &Grids,
    rate: Option<f64>,
    observer: &dyn Observer,
) -> Result<(Option<String>, Outcome<Timing>), Error> {
    let definition = Definition {
        footprint: footprint(setting)?,
        measure: setting.measure,
        levels: setting.levels,
        nodata: setting.nodata.then_some(NODATA),
    };
    let facts = subject.facts();
    let Some(&way) = facts.ways.first() else {
        return Ok((None, Outcome::Skipped { reason: "there is nothing to time".to_owned() }));
    };
    let mut largest = 0f64;
    let mut verified = String::new();
    if let Some(small) = &grids.small {
        let sample = Sample { reads: SMALL_READS, scattered: SCATTERED, seed: plan.seed };
        let oracle = Oracle::of(small.view(), definition.clone(), sample);
        let made = match Verified::new(subject, &facts, way, small.view(), &oracle, observer)? {
            Ok(made) => made,
            Err(outcome) => return Ok((None, of_small(outcome, small))),
        };
        largest = made.difference;
        verified = format!("{} of {} x {} cells; ", oracle.covers(), small.rows(), small.cols());
    }
    let cells = grids.timed.view();
    let sample = Sample { reads: SAMPLE_READS, scattered: SCATTERED, seed: plan.seed };
    let oracle = Oracle::of(cells, definition, sample);
    let mut made = match Verified::new(subject, &facts, way, cells, &oracle, observer)? {
        Ok(made) => made,
        Err(outcome) => return Ok((None, outcome)),
    };
    let time = Times::new(Clock::Wall, made.times(&plan.effort, observer)?);
    let cells_per_second = (plan.rows * plan.cols) as f64 / time.median;
    let bytes = (1 + setting.precision.bytes()) as f64;
    let timing = Timing {
        cells_per_second,
        share_of_copy: rate.map(|rate| cells_per_second * bytes / rate),
        verified: verified + &oracle.covers(),
        largest_difference: largest.max(made.difference),
        time,
    };
    let kernel = made.run.details().kernel.map(|kernel| kernel.name().to_owned());
    Ok((kernel, Outcome::Timed(Box::new(timing))))
}

/// A wrong cell of the small grid says which grid it is in.
fn of_small(outcome: Outcome<Timing>, small: &Grid<u8>) -> Outcome<Timing> {
    match outcome {
        Outcome::Wrong { reason } => {
            Outcome::Wrong { reason: format!("of {} x {} cells, {reason}", small.rows(), small.cols()) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::bench::sweep::Cliff;
    use crate::bench::{Facts, Run, Values, Way};
    use halotile::exec::emulator::EmulatedDevice;
    use halotile::grid::GridView;
    use halotile::measure::Measure;

    fn plan(rows: usize, cols: usize) -> Plan {
        let axes = Axes {
            sizes: vec![3, 9],
            levels: vec![16, 256],
            measures: vec![Measure::Shannon, Measure::Hill(2.0)],
            ..Axes::default()
        };
        Plan { rows, cols, pattern: Pattern::Random, seed: 3, axes, effort: Effort::runs(1, 3) }
    }

    /// The library's choice, with a cell wrong in grids of so many rows.
    struct Planted {
        inner: Box<dyn Subject>,
        wrong_at: usize,
        runs: Rc<Cell<usize>>,
    }

    struct PlantedRun<'a> {
        inner: Box<dyn Run + 'a>,
        subject: &'a Planted,
        out: Grid<f32>,
    }

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> Facts {
            self.inner.facts()
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
            let Values::F32(grid) = self.inner.result()? else { return self.inner.result() };
            self.out = Grid::from_fn(grid.rows(), grid.cols(), |r, c| grid.row(r)[c]).unwrap();
            if grid.rows() == self.subject.wrong_at {
                self.out.as_mut_slice()[0] += 1e-3;
            }
            Ok(Values::F32(self.out.view()))
        }
    }

    /// A sweep whose `wrong` setting has a wrong cell in grids of so many rows: its row, how often it ran, and the rest.
    fn planted(plan: &Plan, wrong: Setting, rows: usize) -> (Row, usize, Vec<Row>) {
        let runs = Rc::new(Cell::new(0));
        let subject = |setting: &Setting| -> Made {
            let inner = choice(entropy(setting)?, setting.precision == Precision::F64, &Target::Cpu);
            let planted = Planted { inner, wrong_at: rows, runs: Rc::clone(&runs) };
            Ok(if *setting == wrong { Box::new(planted) } else { planted.inner })
        };
        let record = run_of(plan, &Target::Cpu, None, &subject, &mut |_| (), &()).unwrap();
        let (mut of_it, others): (Vec<Row>, _) = record.results.into_iter().partition(|row| row.setting == wrong);
        let row = of_it.remove(0);
        let named = |cliff: &Cliff| cliff.slower.setting == wrong || cliff.faster.setting == wrong;
        assert!(row.timing().is_some() || !record.cliffs.iter().any(named));
        (row, runs.get(), others)
    }

    #[test]
    fn a_wrong_setting_is_not_timed_and_the_others_are() {
        let plan = plan(310, 305);
        let wrong = plan.axes.settings()[1];
        for (rows, runs, begin) in [(310, 2, "row 0, column 0: "), (SMALL, 1, "of 300 x 300 cells, row 0, column 0: ")]
        {
            let (row, ran, others) = planted(&plan, wrong, rows);
            let Outcome::Wrong { reason } = &row.outcome else { panic!("{row:?}") };
            assert!(reason.starts_with(begin) && reason.contains(" was expected ("), "{reason}");
            // Once on each grid up to the wrong one.
            assert_eq!(ran, runs);
            assert!(others.iter().all(|row| row.timing().is_some_and(|timing| timing.time.raw.len() == 3)));
        }
        // A right one: on both grids, to warm up, and timed.
        let (row, ran, _) = planted(&plan, wrong, 0);
        assert_eq!((row.timing().is_some(), ran), (true, 1 + 1 + 1 + 3));
    }

    #[test]
    fn a_setting_that_fails_does_not_stop_the_others() {
        let plan = plan(20, 24);
        let settings = plan.axes.settings();
        let (broken, misfit) = (settings[0], settings[3]);
        struct Broken(Error);
        impl Subject for Broken {
            fn name(&self) -> &str {
                "broken"
            }
            fn facts(&self) -> Facts {
                choice(Entropy::new(), false, &Target::Cpu).facts()
            }
            fn start<'a>(&'a self, _: Way, _: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error> {
                Err(self.0.clone())
            }
        }
        let subject = |setting: &Setting| -> Made {
            Ok(match setting {
                setting if *setting == broken => Box::new(Broken(Error::NoDevices)),
                setting if *setting == misfit => Box::new(Broken(Error::TooWide { cols: 9, max: 8 })),
                _ => choice(entropy(setting)?, setting.precision == Precision::F64, &Target::Cpu),
            })
        };
        let record = run_of(&plan, &Target::Cpu, None, &subject, &mut |_| (), &()).unwrap();
        assert_eq!(record.results.len(), settings.len());
        let reason = "it failed: there is no device in the list of devices".to_owned();
        assert_eq!(record.results[0].outcome, Outcome::Wrong { reason });
        let Outcome::Skipped { reason } = &record.results[3].outcome else { panic!("{:?}", record.results[3]) };
        assert!(reason.starts_with("a device takes grids of up to 8 columns"), "{reason}");
        assert_eq!(record.results.iter().filter(|row| row.timing().is_some()).count(), settings.len() - 2);
    }

    #[test]
    fn the_emulator_names_the_kernels_and_every_setting_is_right() {
        let target = Target::Emulator(vec![std::sync::Arc::new(EmulatedDevice::new(0, None))]);
        let mut seen = 0;
        let mut watch = |event: Event<'_>| seen += usize::from(matches!(event, Event::Done(_)));
        let record = run(&plan(18, 24), &target, Some("abc".into()), &mut watch, &()).unwrap();
        assert_eq!(seen, record.results.len());
        for row in &record.results {
            let timing = row.timing().unwrap_or_else(|| panic!("{row:?}"));
            assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (3, "every cell"));
            assert!(row.kernel.is_some(), "{row:?}");
            let f64 = row.setting.precision == Precision::F64;
            assert!(timing.largest_difference < if f64 { 1e-12 } else { 2e-6 }, "{row:?}");
        }
        assert_eq!((record.head.what.as_str(), record.cliffs.len(), record.copy()), ("sweep", MOST_CLIFFS, None));
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn a_twentieth_of_the_cells_has_no_data() {
        let plan = plan(400, 500);
        let share = |levels| {
            let cells = plan.grid(400, 500, levels, true).unwrap();
            cells.as_slice().iter().filter(|&&cell| cell == NODATA).count() as f64 / 200_000.0
        };
        assert!((share(16) - 0.05).abs() < 0.003 && (share(256) - (0.05 + 0.95 / 256.0)).abs() < 0.003);
        assert!(plan.grid(400, 500, 16, false).unwrap().as_slice().iter().all(|&cell| cell < 16));
    }

    #[test]
    fn settings_that_cannot_be_are_refused_before_any_work() {
        let mut plan = plan(20, 20);
        plan.axes.sizes.push(4);
        let error = run(&plan, &Target::Cpu, None, &mut |_| panic!("it begins"), &()).unwrap_err();
        assert!(matches!(error, Error::Size(4)));
        plan.axes.sizes = vec![3];
        plan.axes.levels.push(257);
        assert!(matches!(run(&plan, &Target::Cpu, None, &mut |_| (), &()), Err(Error::Levels(257))));
    }
}
