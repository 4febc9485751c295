//! The peer of the CPU engine: a sliding histogram in plain Rust, as a program that is compiled just in time (numba) has it.
//!
//! ```text
//! for each row, on any thread:
//!     for each cell from left to right:
//!         every cell v of the column that enters:  S += F(n_v + 1) - F(n_v), n_v += 1      with F(n) = n ln n
//!         every cell v of the column that leaves:  S -= F(n_v) - F(n_v - 1), n_v -= 1
//!         H = ln N - S / N
//! ```
//!
//! After Huang, Yang and Tang (A fast two-dimensional median filtering algorithm, 1979), without anything beyond it: sums in f64, which drift a
//! little along a row, no vectors, no other algorithm where another is better.

use std::time::Instant;

use rayon::prelude::*;

use super::{Filled, Running, Subject, SubjectFacts, Values, bytes};
use crate::bench::Way;
use crate::bench::entropy::Plan;
use crate::bench::verify::tolerance;
use halotile::codes::CodesView;
use halotile::entropy::{Error, Place};
use halotile::grid::GridView;
use halotile::observe::{Cancelled, Observer};

/// The name of the peer among the subjects.
pub const HUANG: &str = "huang";

/// The peer, in windows of so many rows and columns.
pub(super) struct Huang {
    size: usize,
}

impl Huang {
    pub fn new(plan: &Plan) -> Self {
        Self { size: plan.size }
    }
}

impl Subject for Huang {
    fn name(&self) -> &str {
        HUANG
    }

    fn facts(&self) -> SubjectFacts {
        SubjectFacts {
            place: Place::Cpu,
            before: None,
            idea: Some("a histogram slides along each row: plain Rust, in f64".to_owned()),
            tolerance: tolerance(None, false),
            f64: false,
            usage: None,
            ways: &[Way::HostToHost],
            over_bus: false,
        }
    }

    fn start<'a>(&'a self, _: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
        let cells = bytes(HUANG, cells)?;
        Ok(Box::new(Sliding {
            tables: Tables::new(self.size, cells),
            radius: self.size / 2,
            cells,
            out: Filled::new(cells.rows(), cells.cols())?,
        }))
    }
}

/// n ln n and ln n of all counts that there can be.
struct Tables {
    f: Vec<f64>,
    ln: Vec<f64>,
}

impl Tables {
    fn new(size: usize, cells: GridView<'_, u8>) -> Self {
        // A window takes its new column before it gives the old one up.
        let most = size.min(cells.rows()) * (size + 1).min(cells.cols());
        let ln: Vec<f64> = (0..=most).map(|n| if n == 0 { 0.0 } else { (n as f64).ln() }).collect();
        Self { f: ln.iter().enumerate().map(|(n, ln)| n as f64 * ln).collect(), ln }
    }
}

struct Sliding<'a> {
    tables: Tables,
    radius: usize,
    cells: GridView<'a, u8>,
    out: Filled<f32>,
}

impl Running for Sliding<'_> {
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let Self { tables, radius, cells, out } = self;
        let start = Instant::now();
        let rows = out.0.as_mut_slice().par_chunks_mut(cells.cols()).enumerate();
        rows.try_for_each(|(row, out)| {
            slide(tables, *radius, *cells, row, out);
            if observer.cancelled() { Err(Cancelled) } else { Ok(()) }
        })?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        Ok(self.out.0.view().into())
    }
}

/// The entropies of a row.
fn slide(Tables { f, ln }: &Tables, radius: usize, cells: GridView<'_, u8>, row: usize, out: &mut [f32]) {
    let window = row.saturating_sub(radius)..cells.rows().min(row + radius + 1);
    let height = window.len();
    let mut counts = [0usize; 256];
    let (mut total, mut sum) = (0, 0.0);
    let enter = |col: usize, counts: &mut [usize; 256], sum: &mut f64| {
        for row in window.clone() {
            let count = &mut counts[usize::from(cells.row(row)[col])];
            *sum += f[*count + 1] - f[*count];
            *count += 1;
        }
    };
    for col in 0..radius.min(cells.cols()) {
        enter(col, &mut counts, &mut sum);
        total += height;
    }
    for (col, out) in out.iter_mut().enumerate() {
        if col + radius < cells.cols() {
            enter(col + radius, &mut counts, &mut sum);
            total += height;
        }
        if col > radius {
            for row in window.clone() {
                let count = &mut counts[usize::from(cells.row(row)[col - radius - 1])];
                sum -= f[*count] - f[*count - 1];
                *count -= 1;
            }
            total -= height;
        }
        *out = (ln[total] - sum / total as f64) as f32;
    }
}
