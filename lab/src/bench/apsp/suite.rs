//! The subjects on the graphs: in the numbers that the plan asks for, each from the weights in every run.

use std::borrow::Cow;
use std::time::Instant;

use super::edges::{Edges, GraphKind};
use super::oracle::Oracle;
use crate::apsp::{self, Kernel};
use crate::bench::case::NEEDS_DEVICE;
use crate::bench::{
    Beside, CPU_ENGINE, Case, Ceilings, Checked, DeviceInfo, Effort, Error, Fields, Options, Outcome, Row, Run, Suite,
    Target, Unit, Way,
};
use halotile::apsp::device::{self, Report, SolveError};
use halotile::apsp::{Distance, Matrix, Weight, cpu};
use halotile::observe::Observer;

/// Relaxations of 32 bits that a multiprocessor of a GPU does in a clock at most: sum and minimum as one instruction (VIADDMNMX), as
/// compute capability 9.0 and later have it. Of 16 bits they are twice as many.
pub const PER_CLOCK: f64 = 64.0;

/// Where the ceilings are from, in words.
const CEILING: &str = "device: multiprocessors x clock x 64 relaxations (of 16 bits 128), computed from the clock; \
                       cpu: sums and minima in registers on all threads, measured";

/// Share of a distance that sums in f32 may be off by: every edge rounds, in another order.
const ROUNDED: f64 = 1e-5;

/// What to benchmark: the graphs, the numbers, how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Vertices of the graphs, each at least 1.
    pub vertices: Vec<usize>,
    /// Which edges there are.
    pub graph: GraphKind,
    /// The least and the largest weight, of which the first is not the larger. All whole numbers between are equally likely.
    pub weights: (u32, u32),
    /// What the graphs depend on.
    pub seed: u64,
    /// The type of weights and distances; auto is i32.
    pub weight: Weight,
    /// How often everything runs.
    pub effort: Effort,
}

impl Default for Plan {
    /// A complete graph of 1024 vertices, with weights from 1 to 100.
    fn default() -> Self {
        Self {
            vertices: vec![1024],
            graph: GraphKind::Complete,
            weights: (1, 100),
            seed: 0,
            weight: Weight::Auto,
            effort: Effort::default(),
        }
    }
}

/// What can be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The CPU engine.
    Cpu,
    /// A rung of the ladder, or the kernels for use.
    Kernel(Kernel),
    /// The kernels for use in blocks of so many vertices, as where the devices' memory does not hold the matrix.
    Blocks(usize),
}

/// Before the side in the names of [`Subject::Blocks`].
const BLOCKS: &str = "blocks-";
/// Sides of blocks are multiples of this.
const BLOCK_STEP: usize = 256;

impl Subject {
    /// The CPU engine, then the ladder. Blocks of any side are there beside them.
    pub fn all() -> impl Iterator<Item = Subject> {
        std::iter::once(Self::Cpu).chain(Kernel::ALL.map(Self::Kernel))
    }

    /// Its name: "tiled", "blocks-8192".
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Cpu => CPU_ENGINE.into(),
            Self::Kernel(kernel) => kernel.name().into(),
            Self::Blocks(side) => format!("{BLOCKS}{side}").into(),
        }
    }

    /// The one of this name.
    ///
    /// ```
    /// use halotile_lab::bench::apsp::Subject;
    /// assert_eq!(Subject::named("blocks-512"), Some(Subject::Blocks(512)));
    /// assert_eq!(Subject::named("blocks-500"), None, "500 is no multiple of 256");
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        let side = || name.strip_prefix(BLOCKS)?.parse().ok().filter(|&side| side > 0 && side % BLOCK_STEP == 0);
        Self::all().find(|subject| subject.name() == name).or_else(|| side().map(Self::Blocks))
    }

    /// Whether it runs on a device, and not on the CPU.
    pub fn on_device(self) -> bool {
        match self {
            Self::Cpu => false,
            Self::Kernel(kernel) => kernel.on_device(),
            Self::Blocks(_) => true,
        }
    }

    /// The subject that it changes something about.
    fn before(self) -> Option<&'static str> {
        match self {
            Self::Cpu => None,
            Self::Kernel(kernel) => kernel.before().map(Kernel::name),
            Self::Blocks(_) => Some(Kernel::Tiled.name()),
        }
    }

    /// What it changes.
    fn idea(self) -> Option<&'static str> {
        match self {
            Self::Cpu => None,
            Self::Kernel(kernel) => Some(kernel.idea()),
            Self::Blocks(_) => Some("the matrix in the host's memory, a block of it at a time on a device"),
        }
    }

    /// Makes distances of weights. What devices did is reported.
    fn solve<T: Distance>(
        self,
        matrix: &mut Matrix<T>,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<Option<Report>, SolveError> {
        let devices = target.devices();
        let needs_device =
            |kernel: Kernel| Err(SolveError::Misfit { kernel: kernel.into(), reason: NEEDS_DEVICE.to_owned() });
        match self {
            Self::Cpu => cpu::solve(matrix, observer)?,
            Self::Kernel(Kernel::Threads) => apsp::threads(matrix, observer)?,
            Self::Kernel(kernel) if devices.is_empty() => return needs_device(kernel),
            Self::Blocks(_) if devices.is_empty() => return needs_device(Kernel::Tiled),
            Self::Kernel(kernel) => return apsp::solve(matrix, kernel, &devices, observer).map(Some),
            Self::Blocks(side) => return device::solve_in_blocks(matrix, &devices, side, observer).map(Some),
        }
        Ok(None)
    }
}

/// Subjects on the graphs of a plan.
pub struct Paths<'a> {
    /// The graphs, the numbers, how often.
    pub plan: &'a Plan,
    /// What is timed.
    pub subjects: &'a [Subject],
    /// What the subjects run on.
    pub target: &'a Target,
}

impl Paths<'_> {
    /// In the plan's numbers.
    fn numbers(&self) -> Box<dyn InNumbers> {
        match self.plan.weight {
            Weight::Auto | Weight::I32 => Box::new(Numbers {
                name: "i32",
                of: |weight| weight as i32,
                most: f64::from(i32::UNREACHABLE - 1),
                relative: 0.0,
            }),
            Weight::I16 => Box::new(Numbers {
                name: "i16",
                of: |weight| weight as u16,
                most: f64::from(u16::UNREACHABLE - 1),
                relative: 0.0,
            }),
            Weight::F32 => Box::new(Numbers {
                name: "f32",
                of: |weight| weight as f32,
                most: f64::from(f32::MAX),
                relative: ROUNDED,
            }),
        }
    }
}

impl Suite for Paths<'_> {
    fn what(&self) -> &'static str {
        "apsp"
    }

    fn target(&self) -> &Target {
        self.target
    }

    fn options(&self) -> Options {
        let Plan { graph, weights: (least, most), seed, weight, effort, .. } = *self.plan;
        let weight = if weight == Weight::Auto { Weight::I32 } else { weight };
        let work = Fields::default().with("graph", graph.name()).with("weights", vec![least, most]);
        Options { work: work.with("weight", weight.name()), seed, effort }
    }

    fn check(&self) -> Result<(), Error> {
        // A weight beyond the type would become another number.
        let vertices = self.plan.vertices.first().copied().unwrap_or(1);
        self.numbers().hold(vertices, f64::from(self.plan.weights.1))
    }

    fn ceilings(&self) -> Result<Ceilings, Error> {
        Ok(self.numbers().ceilings(self.target))
    }

    fn rows(&self) -> usize {
        self.plan.vertices.len() * self.subjects.len()
    }

    fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
        self.numbers().cases(self, measure)
    }
}

/// What depends on the type of weights and distances.
trait InNumbers {
    /// Refuses what the type does not hold.
    fn hold(&self, vertices: usize, distance: f64) -> Result<(), Error>;

    fn ceilings(&self, target: &Target) -> Ceilings;

    fn cases(&self, suite: &Paths<'_>, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error>;
}

/// A type of weights and distances.
struct Numbers<T> {
    name: &'static str,
    /// A weight.
    of: fn(u32) -> T,
    /// The longest distance.
    most: f64,
    /// The share of it that a distance may be off by.
    relative: f64,
}

impl<T: Distance> InNumbers for Numbers<T> {
    fn hold(&self, vertices: usize, distance: f64) -> Result<(), Error> {
        let &Self { name: weight, most, .. } = self;
        if distance > most { Err(Error::TooLong { vertices, distance, weight, most }) } else { Ok(()) }
    }

    fn ceilings(&self, target: &Target) -> Ceilings {
        let of = |info: &DeviceInfo| Some(info.clocks()? * PER_CLOCK * (4 / size_of::<T>()) as f64);
        let device = target.infos().iter().map(of).sum::<Option<f64>>().filter(|&sum| sum > 0.0);
        let cpu = halotile::apsp::cpu::ceiling::measure::<T>();
        Ceilings::new(CEILING, [("device", Unit::Relaxations, device), ("cpu", Unit::Relaxations, Some(cpu))])
    }

    fn cases(&self, suite: &Paths<'_>, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
        for &vertices in &suite.plan.vertices {
            let edges = &Edges::new(suite.plan, vertices, self.of);
            // Refuses what memory does not hold before the oracle takes its time.
            drop(Matrix::<T>::unreachable(vertices)?);
            let oracle = &Oracle::new(edges);
            self.hold(vertices, oracle.longest())?;
            for &subject in suite.subjects {
                measure(&OnGraph { subject, target: suite.target, edges, oracle, relative: self.relative })?;
            }
        }
        Ok(())
    }
}

/// A subject and a graph.
struct OnGraph<'a, T> {
    subject: Subject,
    target: &'a Target,
    edges: &'a Edges<T>,
    oracle: &'a Oracle,
    relative: f64,
}

impl<T> OnGraph<'_, T> {
    fn place(&self) -> &'static str {
        if self.subject.on_device() { "device" } else { "cpu" }
    }
}

impl<T: Distance> Case for OnGraph<'_, T> {
    fn row(&self) -> Row {
        Row {
            of: Fields::default().with("vertices", self.edges.vertices),
            kernel: self.subject.name().into_owned(),
            place: self.place().to_owned(),
            parameters: Fields::default(),
            before: self.subject.before().map(str::to_owned),
            idea: self.subject.idea().map(str::to_owned),
            outcome: Outcome::nothing(),
        }
    }

    fn ways(&self) -> &[Way] {
        if self.subject.on_device() { &[Way::Kernel] } else { &[Way::HostToHost] }
    }

    fn work(&self) -> (Unit, f64) {
        (Unit::Relaxations, (self.edges.vertices as f64).powi(3))
    }

    fn ceiling(&self, ceilings: &Ceilings) -> Option<f64> {
        ceilings.of(self.place(), Unit::Relaxations)
    }

    fn start<'a>(&'a self, _: Way, _: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error> {
        let matrix = Matrix::unreachable(self.edges.vertices)?;
        Ok(Box::new(Solved { case: self, matrix, beside: Beside::default() }))
    }
}

/// A subject, and the matrix that it makes distances in.
struct Solved<'a, T> {
    case: &'a OnGraph<'a, T>,
    matrix: Matrix<T>,
    beside: Beside,
}

impl<T: Distance> Run for Solved<'_, T> {
    /// Seconds of the computation on devices; of the whole on the CPU.
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let OnGraph { subject, target, edges, .. } = self.case;
        edges.fill(&mut self.matrix);
        let start = Instant::now();
        let report = subject.solve(&mut self.matrix, target, observer)?;
        let wall = start.elapsed().as_secs_f64();
        let Some(Report { compute, copies, .. }) = report else { return Ok(wall) };
        self.beside = Beside { host_to_host: Some(wall), transfers: Some(copies) };
        Ok(compute)
    }

    fn beside(&self) -> Beside {
        self.beside
    }

    fn check(&mut self) -> Result<Checked, Error> {
        let OnGraph { edges, oracle, relative, .. } = self.case;
        oracle.check(edges, &self.matrix, *relative).map_err(Error::Wrong)?;
        Ok(Checked { covers: oracle.covers(), difference: None })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bench::{Event, Record, run};
    use halotile::exec::emulator::EmulatedDevice;

    fn plan(weight: Weight) -> Plan {
        Plan { vertices: vec![70, 33], weights: (1, 50), weight, effort: Effort::runs(1, 2), ..Plan::default() }
    }

    #[test]
    fn both_subjects_of_the_cpu_are_timed_in_all_numbers_and_kernels_of_devices_are_skipped() {
        for &weight in Weight::ALL {
            let subjects: Vec<Subject> = Subject::all().collect();
            let mut seen = Vec::new();
            let mut watch = |event: Event<'_>| {
                if let Event::Begin { row, .. } = event {
                    seen.push((row.kernel.clone(), row.of.number("vertices")));
                }
            };
            let suite = Paths { plan: &plan(weight), subjects: &subjects, target: &Target::Cpu };
            let record = run(&suite, None, &mut watch, &()).unwrap();
            assert_eq!((seen.len(), &seen[0], &seen[1]), (12, &("cpu".into(), 70), &("threads".into(), 70)));
            for row in &record.results {
                match &row.outcome {
                    Outcome::Timed(timing) => {
                        assert!(row.place == "cpu" && timing.host_to_host.is_none(), "{row:?}");
                        assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (2, "every cell"));
                        let rate = (row.of.number("vertices") as f64).powi(3) / timing.time.median;
                        assert_eq!(timing.per_second, rate);
                        let ceiling = record.ceilings.of("cpu", Unit::Relaxations).unwrap();
                        assert_eq!(timing.share_of_ceiling, Some(rate / ceiling));
                    }
                    Outcome::Skipped { reason } => {
                        assert_eq!((row.place.as_str(), reason.as_str()), ("device", NEEDS_DEVICE));
                    }
                    Outcome::Wrong { reason } => panic!("{}: {reason}", row.kernel),
                }
            }
            let json = serde_json::to_vec(&record).unwrap();
            assert!(Record::read(&json).unwrap() == record);
        }
    }

    /// Blocks are wanted for graphs that no device holds; here they are cut from one that the emulator does, over two devices.
    #[test]
    fn blocks_stand_beside_the_whole_matrix() {
        let plan = Plan { vertices: vec![300], effort: Effort::runs(0, 1), ..plan(Weight::I16) };
        let emulated = &Target::Emulator((0..2).map(|i| Arc::new(EmulatedDevice::new(i, None))).collect());
        let suite = |subjects, target| run(&Paths { plan: &plan, subjects, target }, None, &mut |_| (), &()).unwrap();
        let subjects = [Subject::Kernel(Kernel::Tiled), Subject::Blocks(256)];
        let record = suite(&subjects, emulated);
        let [whole, blocks] = &record.results[..] else { panic!("{:?}", record.results) };
        assert_eq!((blocks.kernel.as_str(), blocks.before.as_deref()), ("blocks-256", Some("tiled")));
        let [whole, blocks] = [whole, blocks].map(|row| row.timing().unwrap_or_else(|| panic!("{row:?}")));
        assert_eq!(blocks.speedup, Some(whole.time.median / blocks.time.median));
        assert!(blocks.host_to_host.is_some() && blocks.verified == "every cell");
        let alone = suite(&subjects[1..], &Target::Cpu);
        assert_eq!(alone.results[0].outcome, Outcome::Skipped { reason: NEEDS_DEVICE.to_owned() });
    }

    #[test]
    fn what_16_bits_do_not_hold_is_refused() {
        let heavy = Plan { weights: (1, 40_000), ..plan(Weight::I16) };
        let sparse = Plan { weights: (32_000, 32_001), graph: GraphKind::Sparse, ..heavy.clone() };
        for plan in [heavy, sparse] {
            let suite = Paths { plan: &plan, subjects: &[Subject::Cpu], target: &Target::Cpu };
            let refused = run(&suite, None, &mut |_| (), &()).unwrap_err();
            assert!(matches!(refused, Error::TooLong { vertices: 70, most: 32_766.0, .. }), "{refused}");
        }
    }

    /// A row that was not solved is wrong, and has no time.
    #[test]
    fn a_wrong_result_is_told_with_its_place() {
        let plan = plan(Weight::I32);
        let edges = &Edges::new(&plan, 70, |weight| weight as i32);
        // Distances in another graph are the wrong ones.
        let oracle = &Oracle::new(&Edges::new(&Plan { seed: 9, ..plan.clone() }, 70, |weight| weight as i32));
        let case = OnGraph { subject: Subject::Cpu, target: &Target::Cpu, edges, oracle, relative: 0.0 };
        let mut started = case.start(Way::HostToHost, &()).unwrap();
        started.run(&()).unwrap();
        let Err(Error::Wrong(reason)) = started.check() else { panic!("it is wrong") };
        assert!(reason.starts_with("from 0 to ") && reason.ends_with(" was expected"), "{reason}");
    }
}
