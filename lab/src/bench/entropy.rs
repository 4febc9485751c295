//! The benchmark of moving-window entropy: every subject on grids of every shape, compared with the definition.
//!
//! Times of a kernel alone are the device's own (events), and launches take several copies of the grid in turn, so that a small grid
//! does not come out of the cache ([`Resident`](halotile::entropy::Resident)). Times from memory to memory are of
//! [`Entropy::compute_into`](halotile::entropy::Entropy::compute_into), by the wall clock.

use super::case::{Case, Checked, Details, Error, Run, Suite, Way, is_misfit};
use super::ceiling::cpu_copy;
use super::fields::Fields;
use super::measure::Effort;
use super::record::{Ceilings, Options, Outcome, Row, Unit, Usage};
use super::subject::{Running, Subject, SubjectFacts};
use super::target::Target;
use super::verify::Oracle;
use crate::generate::{Generator, Pattern};
use halotile::codes::{self, Code, CodesGrid, CodesView};
use halotile::entropy::{self, Entropy, Place};
use halotile::exec::DeviceError;
use halotile::grid::Grid;
use halotile::observe::Observer;

/// Bytes that every entropy in f32 at least moves for a cell: one read, four written. Shares of the copy ceiling count
/// these, whatever a kernel moves.
pub const BYTES_PER_CELL: usize = 5;

/// How the ceilings are measured, in words.
const CEILING: &str = "device: copy within device memory, bytes read + written; cpu: 1 byte read, 4 written a cell; \
                       transferred: copies from all devices to page-locked memory at once";

/// What to benchmark: the grids, the window, how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Rows and columns of the grids.
    pub shapes: Vec<(usize, usize)>,
    /// What their cells are like.
    pub pattern: Pattern,
    /// What their cells depend on.
    pub seed: u64,
    /// Cells are below this: 1 to 65,536. They are bytes, or words where there are more than 256.
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

    fn grid(&self, rows: usize, cols: usize) -> Result<CodesGrid, entropy::Error> {
        let Self { pattern, seed, levels, .. } = *self;
        Ok(match codes::width(levels, None) {
            1 => grid::<u8>(pattern, seed, levels, (rows, cols))?.into(),
            _ => grid::<u16>(pattern, seed, levels, (rows, cols))?.into(),
        })
    }

    /// Why `subject` does not do this work, found out with the first few rows of each shape; `None` when it does. So a misfit shows
    /// before hours of work.
    pub fn misfit(&self, subject: &dyn Subject) -> Result<Option<entropy::Error>, entropy::Error> {
        for &(rows, cols) in &self.shapes {
            let cells = self.grid(rows.min(16), cols)?;
            for &way in subject.facts().ways {
                match subject.start(way, cells.view()).and_then(|mut run| run.run(&())) {
                    Ok(_) | Err(entropy::Error::Device(DeviceError::Fault(_))) => {}
                    Err(error) if is_misfit(&error) => return Ok(Some(error)),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(None)
    }
}

/// A grid of this pattern.
pub(super) fn grid<C: Code>(
    pattern: Pattern,
    seed: u64,
    levels: usize,
    (rows, cols): (usize, usize),
) -> Result<Grid<C>, entropy::Error> {
    // Its only error is about the levels, and they have been checked.
    let generator = Generator::new(pattern, seed, levels).map_err(|_| entropy::Error::Levels(levels))?;
    Ok(generator.grid(rows, cols)?)
}

/// The copies that entropy is measured against; those over the bus where something is.
pub(super) fn copies(target: &Target, over_bus: bool) -> Result<Ceilings, Error> {
    let results = if over_bus { target.copy_back()? } else { None };
    let limits = [
        ("device", Unit::Bytes, target.copy()?),
        ("cpu", Unit::Bytes, Some(cpu_copy())),
        ("device", Unit::Transferred, results),
    ];
    Ok(Ceilings::new(CEILING, limits))
}

/// Subjects on the grids of a plan.
pub struct Kernels<'a> {
    /// The grids, the window, how often.
    pub plan: &'a Plan,
    /// What is timed.
    pub subjects: &'a [Box<dyn Subject>],
    /// What the subjects run on.
    pub target: &'a Target,
}

impl Suite for Kernels<'_> {
    fn what(&self) -> &'static str {
        "entropy"
    }

    fn target(&self) -> &Target {
        self.target
    }

    fn options(&self) -> Options {
        let Plan { size, levels, pattern, seed, effort, .. } = *self.plan;
        let work = Fields::default().with("size", size).with("levels", levels).with("pattern", pattern.name());
        Options { work, seed, effort }
    }

    fn check(&self) -> Result<(), Error> {
        Ok(self.plan.entropy().validate()?)
    }

    fn ceilings(&self) -> Result<Ceilings, Error> {
        copies(self.target, self.subjects.iter().any(|subject| subject.facts().over_bus))
    }

    fn rows(&self) -> usize {
        self.plan.shapes.len() * self.subjects.len()
    }

    fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
        for &(rows, cols) in &self.plan.shapes {
            let cells = self.plan.grid(rows, cols)?;
            let oracle = Oracle::new(cells.view(), self.plan.size, self.plan.levels);
            for subject in self.subjects {
                let (subject, facts) = (subject.as_ref(), subject.facts());
                measure(&OnGrid { subject, facts, cells: cells.view(), oracle: &oracle, target: self.target })?;
            }
        }
        Ok(())
    }
}

/// A subject on a grid.
struct OnGrid<'a> {
    subject: &'a dyn Subject,
    facts: SubjectFacts,
    cells: CodesView<'a>,
    oracle: &'a Oracle<'a>,
    target: &'a Target,
}

impl Case for OnGrid<'_> {
    fn row(&self) -> Row {
        let place = match self.facts.place {
            Place::Device => "device",
            Place::Cpu => "cpu",
            Place::Both => "both",
        };
        Row {
            of: Fields::default().with("rows", self.cells.rows()).with("cols", self.cells.cols()),
            kernel: self.subject.name().to_owned(),
            place: place.to_owned(),
            parameters: Fields::default(),
            before: self.facts.before.clone(),
            idea: self.facts.idea.clone(),
            outcome: Outcome::nothing(),
        }
    }

    fn ways(&self) -> &[Way] {
        self.facts.ways
    }

    fn work(&self) -> (Unit, f64) {
        (Unit::Cells, (self.cells.rows() * self.cells.cols()) as f64)
    }

    fn ceiling(&self, ceilings: &Ceilings) -> Option<f64> {
        if self.facts.over_bus {
            let results = ceilings.of("device", Unit::Transferred);
            return results.map(|rate| rate / size_of::<f32>() as f64);
        }
        let place = match self.facts.place {
            Place::Device => "device",
            Place::Both if !matches!(self.target, Target::Cpu) => return None,
            Place::Cpu | Place::Both => "cpu",
        };
        ceilings.of(place, Unit::Bytes).map(|rate| rate / BYTES_PER_CELL as f64)
    }

    fn usage(&self) -> Option<Usage> {
        self.facts.usage
    }

    fn start<'a>(&'a self, way: Way, _: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error> {
        let running = self.subject.start(way, self.cells)?;
        Ok(Box::new(Verifiable { running, oracle: self.oracle, tolerance: self.facts.tolerance }))
    }
}

/// A subject that runs, and what its results are compared with.
struct Verifiable<'a> {
    running: Box<dyn Running + 'a>,
    oracle: &'a Oracle<'a>,
    tolerance: f64,
}

impl Run for Verifiable<'_> {
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        Ok(self.running.run(observer)?)
    }

    fn check(&mut self) -> Result<Checked, Error> {
        self.oracle.checked(self.running.as_mut(), self.tolerance)
    }

    fn details(&mut self) -> Result<Details, Error> {
        Ok(self.running.details())
    }
}

impl Oracle<'_> {
    /// Compares the result of the last run.
    pub(super) fn checked(&self, running: &mut dyn Running, tolerance: f64) -> Result<Checked, Error> {
        let found = self.check(&running.result()?, tolerance);
        let difference = found.map_err(|cell| Error::Wrong(cell.to_string()))?;
        Ok(Checked { covers: self.covers(), difference: Some(difference) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bench::subject::WORDS;
    use crate::bench::{AUTO, CPU_ENGINE, Clock, HUANG, PINNED, Values, cpu_engine, names, run, subject};
    use halotile::exec::emulator::EmulatedDevice;
    use halotile::grid::GridView;

    /// The CPU engine with `wrong` added to one cell of every result.
    struct Planted {
        inner: Box<dyn Subject>,
        wrong: f64,
    }

    struct PlantedRun<'a> {
        inner: Box<dyn Running + 'a>,
        wrong: f64,
        out: Grid<f64>,
    }

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> SubjectFacts {
            SubjectFacts { before: Some("cpu".into()), ..self.inner.facts() }
        }
        fn start<'a>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, entropy::Error> {
            let inner = self.inner.start(way, cells)?;
            Ok(Box::new(PlantedRun { inner, wrong: self.wrong, out: Grid::zeros(cells.rows(), cells.cols())? }))
        }
    }

    impl Running for PlantedRun<'_> {
        fn run(&mut self, observer: &dyn Observer) -> Result<f64, entropy::Error> {
            self.inner.run(observer)
        }
        fn result(&mut self) -> Result<Values<'_>, entropy::Error> {
            let Values::F32(grid) = self.inner.result()? else { panic!("the CPU engine gives f32") };
            let cols = grid.cols();
            self.out = Grid::from_fn(grid.rows(), cols, |r, c| f64::from(grid.row(r)[c])).unwrap();
            self.out.as_mut_slice()[3 * cols + 5] += self.wrong;
            Ok(Values::F64(self.out.view()))
        }
    }

    /// Everything that the CPU is timed by: wrong in a cell, it would be no row with times.
    #[test]
    fn the_parts_of_the_cpu_engine_and_its_peer_are_right_and_stand_beside_it() {
        let effort = Effort::runs(0, 2);
        for (size, levels) in [(5, 16), (7, 256), (31, 3)] {
            let shapes = vec![(70, 90), (3, 200), (40, 1)];
            let plan = &Plan { shapes, pattern: Pattern::Clustered, seed: 3, levels, size, effort };
            let subjects: Vec<_> =
                names().take_while(|name| *name != AUTO).filter_map(|name| subject(name, plan, &Target::Cpu)).collect();
            let suite = Kernels { plan, subjects: &subjects, target: &Target::Cpu };
            let record = run(&suite, None, &mut |_| (), &()).unwrap();
            for rows in record.tables() {
                let names: Vec<_> = rows.iter().map(|row| row.kernel.as_str()).collect();
                assert_eq!(names[..3], [HUANG, CPU_ENGINE, "planes-portable"]);
                let time = |row: &Row| row.timing().unwrap_or_else(|| panic!("{row:?}")).time.median;
                let speedup = rows[1].timing().and_then(|timing| timing.speedup);
                assert_eq!(speedup, Some(time(&rows[0]) / time(&rows[1])));
                for row in &rows[2..] {
                    // Of another machine's instruction set, which is how the part's name ends.
                    let set = row.kernel.rsplit('-').next().unwrap_or_default();
                    match &row.outcome {
                        Outcome::Timed(timing) => assert!(timing.speedup.is_some(), "{row:?}"),
                        Outcome::Skipped { reason } => {
                            assert_ne!(set, "portable");
                            assert_eq!(reason.to_lowercase(), format!("this machine does not have {set}"));
                        }
                        Outcome::Wrong { reason } => panic!("{}: {reason}", row.kernel),
                    }
                }
            }
        }
    }

    /// A call on arrays in a device's memory, one in ordinary memory, one in page-locked memory, on two devices.
    #[test]
    fn calls_of_the_library_are_right_on_every_way() {
        let effort = Effort::runs(0, 2);
        let plan = &Plan { shapes: vec![(50, 61)], pattern: Pattern::Random, seed: 3, levels: 16, size: 5, effort };
        let target = &Target::Emulator((0..2).map(|i| Arc::new(EmulatedDevice::new(i, None))).collect());
        let subjects: Vec<_> = [AUTO, PINNED].into_iter().filter_map(|name| subject(name, plan, target)).collect();
        let record = run(&Kernels { plan, subjects: &subjects, target }, None, &mut |_| (), &()).unwrap();
        let told = |row: &Row| {
            let timing = row.timing().unwrap_or_else(|| panic!("{row:?}"));
            assert_eq!((timing.time.clock, timing.verified.as_str()), (Clock::Wall, "every cell"));
            (row.kernel.clone(), timing.host_to_host.is_some(), timing.chosen.clone())
        };
        let chosen = Some("sliding".to_owned());
        let expected = [(AUTO.to_owned(), true, chosen.clone()), (PINNED.to_owned(), false, chosen)];
        assert_eq!(record.results.iter().map(told).collect::<Vec<_>>(), expected);
        assert_eq!(record.results[0].timing().map(|timing| timing.readings[0].name.as_str()), Some("kernels"));
        // Results are four bytes a cell of what the bus can do; in the emulator there is no bus.
        let of = |rate| Ceilings::new("", [("device", Unit::Transferred, rate)]);
        let cells = CodesView::Bytes(GridView::new(&[0], 1, 1).unwrap());
        let oracle = &Oracle::new(cells, 5, 16);
        let case = OnGrid { subject: subjects[1].as_ref(), facts: subjects[1].facts(), cells, oracle, target };
        assert_eq!((case.ceiling(&of(Some(4e9))), case.ceiling(&of(None))), (Some(1e9), None));
    }

    #[test]
    fn arrays_of_all_types_are_right_however_their_classes_are_found() {
        let effort = Effort::runs(0, 1);
        for levels in [16, 900] {
            let (size, pattern) = (5, Pattern::Random);
            let plan = &Plan { shapes: vec![(40, 61)], pattern, seed: 3, levels, size, effort };
            let target = &Target::Emulator(vec![Arc::new(EmulatedDevice::new(0, None))]);
            let named: Vec<_> = names().skip_while(|name| *name != AUTO).take_while(|name| *name != PINNED).collect();
            assert_eq!(named.len(), 7);
            let subjects: Vec<_> = named.iter().filter_map(|name| subject(name, plan, target)).collect();
            let record = run(&Kernels { plan, subjects: &subjects, target }, None, &mut |_| (), &()).unwrap();
            for row in &record.results {
                let of_bytes = row.kernel == "occurring" || row.kernel.ends_with("-u8");
                match &row.outcome {
                    Outcome::Timed(timing) => assert!(timing.verified == "every cell" && timing.chosen.is_some()),
                    Outcome::Skipped { reason } => assert!(levels > 256 && of_bytes && reason == WORDS, "{row:?}"),
                    Outcome::Wrong { reason } => panic!("{}: {reason}", row.kernel),
                }
            }
        }
    }

    /// Cells are words then: the CPU engine takes them, and on devices the library's choice; kernels by name count bytes.
    #[test]
    fn maps_of_many_classes_are_timed_too() {
        let effort = Effort::runs(0, 2);
        let plan = &Plan { shapes: vec![(40, 70)], pattern: Pattern::Clustered, seed: 3, levels: 900, size: 7, effort };
        let target = &Target::Emulator(vec![Arc::new(EmulatedDevice::new(0, None))]);
        let subjects: Vec<_> = [HUANG, CPU_ENGINE, AUTO, PINNED, "columns"]
            .into_iter()
            .filter_map(|name| subject(name, plan, target))
            .collect();
        let record = run(&Kernels { plan, subjects: &subjects, target }, None, &mut |_| (), &()).unwrap();
        for row in &record.results {
            match &row.outcome {
                Outcome::Timed(timing) => {
                    assert!([CPU_ENGINE, AUTO].contains(&row.kernel.as_str()) && timing.verified == "every cell");
                }
                outcome => assert_eq!(*outcome, Outcome::Skipped { reason: WORDS.to_owned() }, "{}", row.kernel),
            }
        }
        assert_eq!(record.results.iter().filter(|row| row.timing().is_some()).count(), 2);
    }

    #[test]
    fn a_wrong_subject_is_not_timed_and_a_right_one_stands_beside_the_one_before_it() {
        let shapes = vec![(20, 30), (7, 9)];
        let effort = Effort::runs(2, 4);
        let plan = &Plan { shapes, pattern: Pattern::Random, seed: 3, levels: 16, size: 5, effort };
        for (wrong, target) in [(1e-3, &Target::Cpu), (0.0, &Target::Cpu)] {
            let subjects = &[cpu_engine(plan), Box::new(Planted { inner: cpu_engine(plan), wrong })];
            let record = run(&Kernels { plan, subjects, target }, None, &mut |_| (), &()).unwrap();
            assert_eq!((record.results.len(), record.tables().count()), (4, 2));
            for rows in record.tables() {
                let theirs = rows[0].timing().unwrap();
                let limit = record.ceilings.of("cpu", Unit::Bytes).unwrap() / 5.0;
                assert_eq!(theirs.share_of_ceiling, Some(theirs.per_second / limit));
                match &rows[1].outcome {
                    Outcome::Wrong { reason } if wrong > 0.0 => {
                        assert!(reason.starts_with("row 3, column 5: ") && reason.contains(" was expected ("));
                    }
                    Outcome::Timed(ours) if wrong == 0.0 => {
                        assert_eq!(ours.speedup, Some(theirs.time.median / ours.time.median));
                        assert_eq!((ours.time.raw.len(), ours.verified.as_str()), (4, "every cell"));
                    }
                    outcome => panic!("{outcome:?}"),
                }
            }
        }
    }
}
