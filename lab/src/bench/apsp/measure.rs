//! The loop: verify, warm up, time.

use std::time::Instant;

use super::edges::{Edges, GraphKind};
use super::oracle::Oracle;
use super::record::{Ceilings, Record, Row, Timing};
use crate::apsp::{self, Kernel};
use crate::bench::measure::repeat;
use crate::bench::{CPU_ENGINE, Clock, Effort, Outcome, Target, Times};
use halotile::apsp::device::{Report, SolveError};
use halotile::apsp::{Distance, Matrix, MatrixError, Weight, cpu};
use halotile::exec::DeviceError;
use halotile::observe::{Cancelled, Observer};

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
}

impl Subject {
    /// The CPU engine, then the ladder.
    pub fn all() -> impl Iterator<Item = Subject> {
        std::iter::once(Self::Cpu).chain(Kernel::ALL.map(Self::Kernel))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.kernel().map_or(CPU_ENGINE, Kernel::name)
    }

    /// Whether it runs on a device, and not on the CPU.
    pub fn on_device(self) -> bool {
        self.kernel().is_some_and(Kernel::on_device)
    }

    fn kernel(self) -> Option<Kernel> {
        match self {
            Self::Cpu => None,
            Self::Kernel(kernel) => Some(kernel),
        }
    }

    /// Makes distances of weights. What devices did is reported.
    fn solve<T: Distance>(
        self,
        matrix: &mut Matrix<T>,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<Option<Report>, SolveError> {
        match self {
            Self::Cpu => cpu::solve(matrix, observer)?,
            Self::Kernel(Kernel::Threads) => apsp::threads(matrix, observer)?,
            Self::Kernel(kernel) => {
                let devices = target.devices();
                if devices.is_empty() {
                    let reason = "it runs on a device (cuda, emulator)".into();
                    return Err(SolveError::Misfit { kernel: kernel.into(), reason });
                }
                return apsp::solve(matrix, kernel, &devices, observer).map(Some);
            }
        }
        Ok(None)
    }
}

/// Progress of the benchmark, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ceilings are known.
    Started {
        /// What is known before the first row.
        record: &'a Record,
        /// How many rows there will be.
        rows: usize,
    },
    /// A row begins.
    Begin {
        /// The subject.
        kernel: &'static str,
        /// Vertices of the graph.
        vertices: usize,
    },
    /// A row is done.
    Done(&'a Row),
}

/// Why there is no record.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// There is no such graph.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A device failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Distances that the type does not hold.
    #[error(
        "with {vertices} vertices there is a weight or distance of {distance}, and {weight} holds none above {most}"
    )]
    TooLong {
        /// Vertices of the graph.
        vertices: usize,
        /// One that is too long.
        distance: f64,
        /// The type.
        weight: &'static str,
        /// The longest that it holds.
        most: f64,
    },
}

/// Verifies and times every subject on every graph. `commit` is for the record only; the observer can stop it all between two runs,
/// and within those that ask it.
///
/// A subject that is wrong, or does not do the work, is in the record as such; an error is what stops everything: a device that
/// fails, a graph that cannot be, too little memory.
pub fn run(
    plan: &Plan,
    subjects: &[Subject],
    target: &Target,
    commit: Option<String>,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    match plan.weight {
        Weight::Auto | Weight::I32 => {
            Numbers { name: "i32", of: |weight| weight as i32, most: f64::from(i32::UNREACHABLE - 1), relative: 0.0 }
                .run(plan, subjects, target, commit, on_event, observer)
        }
        Weight::I16 => {
            Numbers { name: "i16", of: |weight| weight as u16, most: f64::from(u16::UNREACHABLE - 1), relative: 0.0 }
                .run(plan, subjects, target, commit, on_event, observer)
        }
        Weight::F32 => {
            Numbers { name: "f32", of: |weight| weight as f32, most: f64::from(f32::MAX), relative: ROUNDED }
                .run(plan, subjects, target, commit, on_event, observer)
        }
    }
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

impl<T: Distance> Numbers<T> {
    /// Refuses what the type does not hold.
    fn hold(&self, vertices: usize, distance: f64) -> Result<(), Error> {
        let &Self { name: weight, most, .. } = self;
        if distance > most { Err(Error::TooLong { vertices, distance, weight, most }) } else { Ok(()) }
    }

    /// [`run`] in these numbers.
    fn run(
        &self,
        plan: &Plan,
        subjects: &[Subject],
        target: &Target,
        commit: Option<String>,
        on_event: &mut dyn FnMut(Event<'_>),
        observer: &dyn Observer,
    ) -> Result<Record, Error> {
        // A weight beyond the type would become another number.
        self.hold(plan.vertices.first().copied().unwrap_or(1), f64::from(plan.weights.1))?;
        let mut record = Record::new(plan, target, commit, Ceilings::new::<T>(target));
        on_event(Event::Started { record: &record, rows: plan.vertices.len() * subjects.len() });
        for &vertices in &plan.vertices {
            let edges = Edges::new(plan, vertices, self.of);
            let mut matrix = Matrix::unreachable(vertices)?;
            let oracle = Oracle::new(&edges);
            self.hold(vertices, oracle.longest())?;
            for &subject in subjects {
                on_event(Event::Begin { kernel: subject.name(), vertices });
                let mut outcome =
                    Bench { subject, target, edges: &edges, oracle: &oracle, relative: self.relative, observer }
                        .measure(&mut matrix, &plan.effort)?;
                if let Outcome::Timed(timing) = &mut outcome {
                    let on_device = subject.on_device();
                    let ceiling = if on_device { record.ceilings.device } else { Some(record.ceilings.cpu) };
                    timing.relaxations_per_second = (vertices as f64).powi(3) / timing.time.median;
                    timing.share_of_ceiling = ceiling.map(|ceiling| timing.relaxations_per_second / ceiling);
                }
                let mut row = Row {
                    kernel: subject.name().to_owned(),
                    place: if subject.on_device() { "device" } else { "cpu" }.to_owned(),
                    before: subject.kernel().and_then(Kernel::before).map(|before| before.name().to_owned()),
                    idea: subject.kernel().map(|kernel| kernel.idea().to_owned()),
                    vertices,
                    outcome,
                };
                let before = row.before.as_deref().and_then(|before| record.row(before, vertices));
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
}

/// A subject and a graph.
struct Bench<'a, T> {
    subject: Subject,
    target: &'a Target,
    edges: &'a Edges<T>,
    oracle: &'a Oracle,
    relative: f64,
    observer: &'a dyn Observer,
}

impl<T: Distance> Bench<'_, T> {
    /// Seconds by the wall clock, and what devices reported, of one run from the weights.
    fn run(&self, matrix: &mut Matrix<T>) -> Result<(f64, Option<Report>), SolveError> {
        self.edges.fill(matrix);
        let start = Instant::now();
        let report = self.subject.solve(matrix, self.target, self.observer)?;
        Ok((start.elapsed().as_secs_f64(), report))
    }

    fn measure(&self, matrix: &mut Matrix<T>, effort: &Effort) -> Result<Outcome<Timing>, Error> {
        let first = match self.run(matrix) {
            Ok((seconds, _)) => seconds,
            // The emulator has found a mistake in the kernel, which a GPU would have kept to itself.
            Err(SolveError::Device(DeviceError::Fault(fault))) => return Ok(Outcome::Wrong { reason: fault }),
            // The kernel's name stands beside it.
            Err(SolveError::Misfit { reason, .. }) => return Ok(Outcome::Skipped { reason }),
            Err(SolveError::Device(error @ DeviceError::OutOfMemory { .. })) => {
                return Ok(Outcome::Skipped { reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        };
        if let Err(reason) = self.oracle.check(self.edges, matrix, self.relative) {
            return Ok(Outcome::Wrong { reason });
        }
        let mut run = || self.run(matrix).map_err(Error::from);
        repeat(&effort.warmup, 0, first, self.observer, &mut run)?;
        let runs = repeat(&effort.timed, 1, 0.0, self.observer, &mut run)?;
        let wall = Times::new(Clock::Wall, runs.iter().map(|(seconds, _)| *seconds).collect());
        let reported = |seconds: fn(&Report) -> f64| {
            let raw: Option<Vec<f64>> = runs.iter().map(|(_, report)| report.as_ref().map(seconds)).collect();
            raw.map(|raw| Times::new(Clock::Device, raw))
        };
        let (compute, copies) = (reported(|report| report.compute), reported(|report| report.copies));
        Ok(Outcome::Timed(Box::new(Timing {
            host_to_host: compute.is_some().then(|| wall.clone()),
            time: compute.unwrap_or(wall),
            copies,
            // Known when the row is.
            relaxations_per_second: 0.0,
            share_of_ceiling: None,
            speedup: None,
            verified: self.oracle.covers(),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(weight: Weight) -> Plan {
        Plan { vertices: vec![70, 33], weights: (1, 50), weight, effort: Effort::runs(1, 2), ..Plan::default() }
    }

    #[test]
    fn both_subjects_of_the_cpu_are_timed_in_all_numbers_and_kernels_of_devices_are_skipped() {
        for weight in Weight::ALL {
            let subjects: Vec<Subject> = Subject::all().collect();
            let mut seen = Vec::new();
            let mut watch = |event: Event<'_>| {
                if let Event::Begin { kernel, vertices } = event {
                    seen.push((kernel, vertices));
                }
            };
            let record = run(&plan(weight), &subjects, &Target::Cpu, None, &mut watch, &()).unwrap();
            assert_eq!((seen.len(), seen[0], seen[1]), (12, ("cpu", 70), ("threads", 70)));
            for row in &record.results {
                match &row.outcome {
                    Outcome::Timed(timing) => {
                        assert!(row.place == "cpu" && timing.host_to_host.is_none(), "{row:?}");
                        assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (2, "every cell"));
                        let rate = (row.vertices as f64).powi(3) / timing.time.median;
                        assert_eq!(timing.relaxations_per_second, rate);
                        assert_eq!(timing.share_of_ceiling, Some(rate / record.ceilings.cpu));
                    }
                    Outcome::Skipped { reason } => {
                        assert_eq!(
                            (row.place.as_str(), reason.as_str()),
                            ("device", "it runs on a device (cuda, emulator)")
                        );
                    }
                    Outcome::Wrong { reason } => panic!("{}: {reason}", row.kernel),
                }
            }
            let json = serde_json::to_string(&record).unwrap();
            assert!(serde_json::from_str::<Record>(&json).unwrap() == record);
        }
    }

    #[test]
    fn what_16_bits_do_not_hold_is_refused() {
        let heavy = Plan { weights: (1, 40_000), ..plan(Weight::I16) };
        let sparse = Plan { weights: (32_000, 32_001), graph: GraphKind::Sparse, ..heavy.clone() };
        for plan in [heavy, sparse] {
            let refused = run(&plan, &[Subject::Cpu], &Target::Cpu, None, &mut |_| (), &()).unwrap_err();
            assert!(matches!(refused, Error::TooLong { vertices: 70, most: 32_766.0, .. }), "{refused}");
        }
    }

    /// A row that was not solved is wrong, and has no time.
    #[test]
    fn a_wrong_result_is_not_timed() {
        let plan = plan(Weight::I32);
        let edges = Edges::new(&plan, 70, |weight| weight as i32);
        // Distances in another graph are the wrong ones.
        let oracle = Oracle::new(&Edges::new(&Plan { seed: 9, ..plan.clone() }, 70, |weight| weight as i32));
        let bench = Bench {
            subject: Subject::Cpu,
            target: &Target::Cpu,
            edges: &edges,
            oracle: &oracle,
            relative: 0.0,
            observer: &(),
        };
        let outcome = bench.measure(&mut Matrix::unreachable(70).unwrap(), &plan.effort).unwrap();
        let Outcome::Wrong { reason } = outcome else { panic!("{outcome:?}") };
        assert!(reason.starts_with("from 0 to ") && reason.ends_with(" was expected"), "{reason}");
    }
}
