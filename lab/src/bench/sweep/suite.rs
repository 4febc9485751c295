//! The settings as cases: each verified on a small grid, then on a sample of the one that is timed.
//!
//! The definition takes minutes for a large grid. So it has every cell of a small grid of the same settings (unless windows are so large
//! that patches must do), and of the timed grid patches in the corners, at the edges and in the middle, and single cells at random.

use super::axes::{Axes, Precision, Setting, Shape};
use super::cliffs::{Cliff, MOST_CLIFFS, worst};
use crate::bench::entropy::{copies, grid};
use crate::bench::subject::{choice, engine_part};
use crate::bench::verify::{Definition, Oracle, Sample};
use crate::bench::{
    CPU_ENGINE, Case, Ceilings, Checked, Details, Effort, Error, Fields, Options, Repeat, Row, Run, Running, Subject,
    SubjectFacts, Suite, Target, Unit, Way,
};
use crate::generate::Pattern;
use halotile::entropy::{self, Entropy};
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
    fn grid(&self, shape: (usize, usize), levels: usize, nodata: bool) -> Result<Grid<u8>, entropy::Error> {
        let mut cells = grid(self.pattern, self.seed, levels, shape)?;
        if nodata {
            let hidden = grid::<u8>(Pattern::Random, self.seed.wrapping_add(1), ONE_IN, shape)?;
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

/// The settings of a plan, on the target's first device or on the CPU: what the library does at each.
///
/// A setting that is not supported is in the record with its reason, one that is wrong or fails as wrong; an error is what stops
/// everything: a setting that cannot be, a grid that memory does not hold.
pub struct Settings<'a> {
    plan: &'a Plan,
    target: &'a Target,
    /// The part of the CPU engine that does it all, where the library does not choose.
    part: Option<&'a str>,
    /// What is timed of a setting.
    subject: Box<dyn Fn(&Setting) -> Made + 'a>,
}

/// What is to be timed of a setting.
type Made = Result<Box<dyn Subject>, entropy::Error>;

impl<'a> Settings<'a> {
    /// The library's own choice at all settings of the plan's axes.
    pub fn new(plan: &'a Plan, target: &'a Target) -> Self {
        let subject = |setting: &Setting| Ok(choice(entropy(setting)?, setting.precision == Precision::F64, target));
        Self { plan, target, part: None, subject: Box::new(subject) }
    }

    /// A part of the CPU engine (one of [`engine_parts`](crate::bench::engine_parts)) at all settings, in place of the engine's own choice.
    pub fn of_part(plan: &'a Plan, part: &'a str) -> Self {
        let subject = move |setting: &Setting| {
            let subject = engine_part(part, definition(setting)?, setting.precision == Precision::F64);
            subject.ok_or_else(|| entropy::Error::KernelMisfit {
                kernel: CPU_ENGINE,
                reason: format!("{part} is no part of it"),
            })
        };
        Self { plan, target: &Target::Cpu, part: Some(part), subject: Box::new(subject) }
    }
}

impl Suite for Settings<'_> {
    fn what(&self) -> &'static str {
        "sweep"
    }

    fn target(&self) -> &Target {
        self.target
    }

    fn options(&self) -> Options {
        let Plan { rows, cols, pattern, seed, ref axes, effort } = *self.plan;
        let grid = Fields::default().with("rows", rows).with("cols", cols).with("pattern", pattern.name());
        let work = grid.with("nodata_code", NODATA).with("axes", axes);
        // Said where it is not the library's choice.
        Options { work: self.part.map_or(work.clone(), |part| work.with("kernel", part)), seed, effort }
    }

    fn check(&self) -> Result<(), Error> {
        for setting in &self.plan.axes.settings() {
            entropy(setting)?.validate()?;
        }
        Ok(())
    }

    fn ceilings(&self) -> Result<Ceilings, Error> {
        copies(self.target, false)
    }

    fn rows(&self) -> usize {
        self.plan.axes.settings().len()
    }

    fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
        let mut grids: Option<Grids> = None;
        for setting in self.plan.axes.settings() {
            let grids = match &mut grids {
                Some(grids) if grids.of == (setting.levels, setting.nodata) => grids,
                // The old ones make room first.
                grids => {
                    *grids = None;
                    grids.insert(Grids::new(self.plan, self.target, &setting)?)
                }
            };
            let subject = (self.subject)(&setting)?;
            measure(&OfSetting { suite: self, setting, facts: subject.facts(), subject, grids })?;
        }
        Ok(())
    }

    fn cliffs(&self, rows: &[Row]) -> Vec<Cliff> {
        worst(&self.plan.axes, rows, MOST_CLIFFS)
    }
}

/// Grids of one number of classes, with nodata or without.
struct Grids {
    of: (usize, bool),
    timed: Grid<u8>,
    small: Option<Grid<u8>>,
}

impl Grids {
    fn new(plan: &Plan, target: &Target, setting: &Setting) -> Result<Self, entropy::Error> {
        let grid = |shape| plan.grid(shape, setting.levels, setting.nodata);
        let small = plan.small(target).map(grid).transpose()?;
        Ok(Self { of: (setting.levels, setting.nodata), timed: grid((plan.rows, plan.cols))?, small })
    }
}

fn footprint(setting: &Setting) -> Result<Footprint, entropy::Error> {
    let made = match setting.shape {
        Shape::Square => Footprint::square(setting.size),
        Shape::Disk => Footprint::disk(setting.size),
    };
    made.map_err(|_| entropy::Error::Size(setting.size))
}

/// What results are.
fn definition(setting: &Setting) -> Result<Definition, entropy::Error> {
    let Setting { measure, levels, nodata, .. } = *setting;
    Ok(Definition { footprint: footprint(setting)?, measure, levels, nodata: nodata.then_some(NODATA.into()) })
}

/// What the library is asked for.
fn entropy(setting: &Setting) -> Result<Entropy, entropy::Error> {
    let entropy = Entropy::new().footprint(footprint(setting)?).measures([setting.measure]).levels(setting.levels);
    Ok(entropy.nodata(setting.nodata.then_some(NODATA.into())))
}

/// A setting and the grids it is computed of.
struct OfSetting<'a> {
    suite: &'a Settings<'a>,
    setting: Setting,
    subject: Box<dyn Subject>,
    facts: SubjectFacts,
    grids: &'a Grids,
}

impl OfSetting<'_> {
    fn place(&self) -> &'static str {
        if self.suite.target.devices().is_empty() { "cpu" } else { "device" }
    }

    /// Started on the timed grid, after the small one was found right.
    fn verified<'a>(&'a self, way: Way, observer: &dyn Observer) -> Result<Verified<'a>, Error> {
        let Self { suite: Settings { plan, .. }, setting, subject, facts, grids } = self;
        let definition = definition(setting)?;
        let sample = |reads| Sample { reads, scattered: SCATTERED, seed: plan.seed };
        let mut small = None;
        if let Some(cells) = &grids.small {
            let of = format!("of {} x {} cells", cells.rows(), cells.cols());
            let oracle = Oracle::of(cells.view(), definition.clone(), sample(SMALL_READS));
            let mut running = subject.start(way, cells.view().into())?;
            running.run(observer)?;
            let checked = oracle.checked(running.as_mut(), facts.tolerance).map_err(|error| match error {
                // A wrong cell says which grid it is in.
                Error::Wrong(reason) => Error::Wrong(format!("{of}, {reason}")),
                error => error,
            })?;
            small = Some(Checked { covers: format!("{} {of}; ", checked.covers), ..checked });
        }
        let oracle = Oracle::of(grids.timed.view(), definition, sample(SAMPLE_READS));
        Ok(Verified {
            running: subject.start(way, grids.timed.view().into())?,
            oracle,
            tolerance: facts.tolerance,
            small,
        })
    }
}

impl Case for OfSetting<'_> {
    fn row(&self) -> Row {
        self.setting.row(self.subject.name(), self.place())
    }

    fn ways(&self) -> &[Way] {
        &self.facts.ways[..self.facts.ways.len().min(1)]
    }

    fn work(&self) -> (Unit, f64) {
        (Unit::Cells, (self.suite.plan.rows * self.suite.plan.cols) as f64)
    }

    fn ceiling(&self, ceilings: &Ceilings) -> Option<f64> {
        let bytes = 1 + self.setting.precision.bytes();
        ceilings.of(self.place(), Unit::Bytes).map(|rate| rate / bytes as f64)
    }

    fn start<'a>(&'a self, way: Way, observer: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error> {
        Ok(Box::new(self.verified(way, observer).map_err(failed)?))
    }
}

/// A failure of one setting does not stop the others, which may well work.
fn failed(error: Error) -> Error {
    if error.is_cancelled() || error.clone().outcome().is_ok() {
        return error;
    }
    Error::Wrong(format!("it failed: {error}"))
}

/// A setting that runs, and what was found of the small grid.
struct Verified<'a> {
    running: Box<dyn Running + 'a>,
    oracle: Oracle<'a>,
    tolerance: f64,
    small: Option<Checked>,
}

impl Run for Verified<'_> {
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        self.running.run(observer).map_err(|error| failed(error.into()))
    }

    fn check(&mut self) -> Result<Checked, Error> {
        let Checked { covers, difference } =
            self.oracle.checked(self.running.as_mut(), self.tolerance).map_err(failed)?;
        let small = self.small.clone().unwrap_or_default();
        let difference = [small.difference, difference].into_iter().flatten().reduce(f64::max);
        Ok(Checked { covers: small.covers + &covers, difference })
    }

    fn details(&mut self) -> Result<Details, Error> {
        Ok(self.running.details())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::bench::sweep::setting;
    use crate::bench::{Event, Outcome, Record, Values, run};
    use halotile::codes::CodesView;
    use halotile::exec::emulator::EmulatedDevice;
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
        inner: Box<dyn Running + 'a>,
        subject: &'a Planted,
        out: Grid<f32>,
    }

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> SubjectFacts {
            self.inner.facts()
        }
        fn start<'a>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, entropy::Error> {
            let inner = self.inner.start(way, cells)?;
            Ok(Box::new(PlantedRun { inner, subject: self, out: Grid::zeros(cells.rows(), cells.cols())? }))
        }
    }

    impl Running for PlantedRun<'_> {
        fn run(&mut self, observer: &dyn Observer) -> Result<f64, entropy::Error> {
            self.subject.runs.set(self.subject.runs.get() + 1);
            self.inner.run(observer)
        }
        fn result(&mut self) -> Result<Values<'_>, entropy::Error> {
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
        let suite = Settings { plan, target: &Target::Cpu, part: None, subject: Box::new(subject) };
        let record = run(&suite, None, &mut |_| (), &()).unwrap();
        let (mut of_it, others): (Vec<Row>, _) =
            record.results.into_iter().partition(|row| setting(row) == Some(wrong));
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
        struct Broken(entropy::Error);
        impl Subject for Broken {
            fn name(&self) -> &str {
                "broken"
            }
            fn facts(&self) -> SubjectFacts {
                choice(Entropy::new(), false, &Target::Cpu).facts()
            }
            fn start<'a>(&'a self, _: Way, _: CodesView<'a>) -> Result<Box<dyn Running + 'a>, entropy::Error> {
                Err(self.0.clone())
            }
        }
        let subject = |setting: &Setting| -> Made {
            Ok(match setting {
                setting if *setting == broken => Box::new(Broken(entropy::Error::NoDevices)),
                setting if *setting == misfit => Box::new(Broken(entropy::Error::TooWide { cols: 9, max: 8 })),
                _ => choice(entropy(setting)?, setting.precision == Precision::F64, &Target::Cpu),
            })
        };
        let suite = Settings { plan: &plan, target: &Target::Cpu, part: None, subject: Box::new(subject) };
        let record = run(&suite, None, &mut |_| (), &()).unwrap();
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
        let record = run(&Settings::new(&plan(18, 24), &target), Some("abc".into()), &mut watch, &()).unwrap();
        assert_eq!(seen, record.results.len());
        for row in &record.results {
            let timing = row.timing().unwrap_or_else(|| panic!("{row:?}"));
            assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (3, "every cell"));
            assert!(timing.chosen.is_some(), "{row:?}");
            let f64 = row.of.text("precision") == "f64";
            assert!(timing.largest_difference.unwrap() < if f64 { 1e-12 } else { 2e-6 }, "{row:?}");
        }
        assert_eq!((record.head.what.as_str(), record.cliffs.len()), ("sweep", MOST_CLIFFS));
        assert!(record.results.iter().all(|row| row.timing().is_some_and(|timing| timing.share_of_ceiling.is_none())));
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(Record::read(json.as_bytes()).unwrap(), record);
    }

    /// Every measure, shape and precision by either engine, on the instruction set that all machines have.
    #[test]
    fn parts_of_the_cpu_engine_are_right_at_every_setting() {
        let plan = plan(40, 50);
        for part in ["planes-portable", "slide-portable"] {
            let record = run(&Settings::of_part(&plan, part), None, &mut |_| (), &()).unwrap();
            assert_eq!((record.results.len(), record.options.work.text("kernel")), (plan.axes.settings().len(), part));
            for row in &record.results {
                let timing = row.timing().unwrap_or_else(|| panic!("{row:?}"));
                assert_eq!((row.kernel.as_str(), timing.verified.as_str()), (part, "every cell"));
            }
        }
    }

    #[test]
    fn a_twentieth_of_the_cells_has_no_data() {
        let plan = plan(400, 500);
        let share = |levels| {
            let cells = plan.grid((400, 500), levels, true).unwrap();
            cells.as_slice().iter().filter(|&&cell| cell == NODATA).count() as f64 / 200_000.0
        };
        assert!((share(16) - 0.05).abs() < 0.003 && (share(256) - (0.05 + 0.95 / 256.0)).abs() < 0.003);
        assert!(plan.grid((400, 500), 16, false).unwrap().as_slice().iter().all(|&cell| cell < 16));
    }

    #[test]
    fn settings_that_cannot_be_are_refused_before_any_work() {
        let mut plan = plan(20, 20);
        plan.axes.sizes.push(4);
        let error = run(&Settings::new(&plan, &Target::Cpu), None, &mut |_| panic!("it begins"), &()).unwrap_err();
        assert!(matches!(error, Error::Entropy(entropy::Error::Size(4))));
        plan.axes.sizes = vec![3];
        plan.axes.levels.push(257);
        let error = run(&Settings::new(&plan, &Target::Cpu), None, &mut |_| (), &()).unwrap_err();
        assert!(matches!(error, Error::Entropy(entropy::Error::Levels(257))));
    }
}
