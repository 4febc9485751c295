//! A call from page-locked memory to page-locked memory, on all devices together: what the streaming plan adds to the bus.
//!
//! Copies in both directions, kernels and the host's own work overlap, so that the bus is the limit, and of its two directions the one
//! that results take: they have four bytes a cell. Copying as many bytes back and nothing else is the ceiling
//! ([`copy_back`](crate::bench::ceiling::copy_back)). Ordinary memory costs a copy more on the host: the times from host to host of
//! [`AUTO`](super::AUTO).

use std::time::Instant;

use rayon::prelude::*;

use super::{Running, Subject, SubjectFacts, UNWRITTEN, Values, bytes};
use crate::bench::case::{Details, Way};
use crate::bench::entropy::Plan;
use crate::bench::target::Target;
use crate::bench::verify::tolerance;
use halotile::codes::CodesView;
use halotile::entropy::{Engine, Entropy, Error, Kernel, Place};
use halotile::exec::{PinnedError, PinnedGrid};
use halotile::observe::Observer;

/// The name of a call from page-locked memory to page-locked memory.
pub const PINNED: &str = "pinned";

pub(super) struct Pinned {
    entropy: Entropy,
    target: Target,
}

impl Pinned {
    pub fn new(plan: &Plan, target: &Target) -> Self {
        Self { entropy: plan.entropy(), target: target.clone() }
    }
}

impl Subject for Pinned {
    fn name(&self) -> &str {
        PINNED
    }

    fn facts(&self) -> SubjectFacts {
        SubjectFacts {
            place: Place::Device,
            before: None,
            idea: Some("a call from page-locked memory to page-locked memory, on all devices".to_owned()),
            tolerance: tolerance(None, false),
            f64: false,
            usage: None,
            ways: &[Way::HostToHost],
            over_bus: true,
        }
    }

    fn start<'a>(&'a self, _: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
        let device = self.target.devices().into_iter().next().ok_or(Error::KernelOnCpu(PINNED))?;
        let cells = bytes(PINNED, cells)?;
        let (rows, cols) = (cells.rows(), cells.cols());
        let mut copy = PinnedGrid::<u8>::zeros(&device, rows, cols).map_err(no_memory)?;
        copy.view_mut()
            .as_strided_mut()
            .par_chunks_mut(cols)
            .enumerate()
            .for_each(|(row, to)| to.copy_from_slice(cells.row(row)));
        let mut out = PinnedGrid::<f32>::zeros(&device, rows, cols).map_err(no_memory)?;
        let unwritten = f32::from_ne_bytes([UNWRITTEN; 4]);
        out.view_mut().as_strided_mut().par_chunks_mut(1 << 16).for_each(|part| part.fill(unwritten));
        Ok(Box::new(Locked { entropy: &self.entropy, engine: self.target.engine(), cells: copy, out, kernel: None }))
    }
}

fn no_memory(error: PinnedError) -> Error {
    match error {
        PinnedError::Shape(error) => error.into(),
        PinnedError::Device(error) => error.into(),
        error => Error::KernelMisfit { kernel: PINNED, reason: error.to_string() },
    }
}

struct Locked<'a> {
    entropy: &'a Entropy,
    engine: Engine,
    cells: PinnedGrid<u8>,
    out: PinnedGrid<f32>,
    kernel: Option<Kernel>,
}

impl Running for Locked<'_> {
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let start = Instant::now();
        let report = self.entropy.compute_into(&self.engine, self.cells.view(), self.out.view_mut(), observer)?;
        let seconds = start.elapsed().as_secs_f64();
        self.kernel = report.kernel;
        Ok(seconds)
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        Ok(self.out.view().into())
    }

    fn details(&self) -> Details {
        Details { chosen: self.kernel.map(|kernel| kernel.name().to_owned()), ..Details::default() }
    }
}
