//! v10, the first on the CPU: v0's arithmetic, parallel over the cells.
//!
//! Every cell counts its window into 16 `i32` and calls the logarithm, in f64, for every count that is not 0: up to 16 calls
//! of some tens of cycles each beside 25 additions. Expect the logarithms to be nearly all of the time, and cells of one
//! level to be many times faster than random ones.

use super::{LEVELS, Part, Task, Window, each_window};
use halotile::entropy::Error;

pub(super) fn run(task: &Task<'_>, part: Part<'_, f32>) -> Result<(), Error> {
    Ok(each_window(task.cells, part, task.observer, |window| (entropy(window) * task.scale) as f32)?)
}

#[inline]
fn entropy(window: &Window<'_, u8>) -> f64 {
    let mut counts = [0i32; LEVELS];
    for row in window.rows() {
        for &value in row {
            counts[usize::from(value)] += 1;
        }
    }
    let mut sum = 0.0;
    for n in counts {
        if n > 0 {
            sum += f64::from(n) * f64::from(n).ln();
        }
    }
    let total = window.total() as f64;
    (total * total.ln() - sum) / total
}
