//! v11: v10 with a table of logarithms.
//!
//! A window has at most 25 cells, so 26 logarithms are all that is ever needed. With 0 in place of ln 0 no count needs
//! a branch either. The table is 208 bytes, which stay in the first-level cache. Expect several times v10's pace (the source
//! saw six times).

use super::{ENTRIES, LEVELS, Part, Task, Window, each_window};
use halotile::entropy::Error;

pub(super) fn run(task: &Task<'_>, part: Part<'_, f32>) -> Result<(), Error> {
    let table: [f64; ENTRIES] = std::array::from_fn(|n| (n.max(1) as f64).ln());
    Ok(each_window(task.cells, part, task.observer, |window| (entropy(window, &table) * task.scale) as f32)?)
}

#[inline]
fn entropy(window: &Window<'_, u8>, table: &[f64; ENTRIES]) -> f64 {
    let mut counts = [0i32; LEVELS];
    for row in window.rows() {
        for &value in row {
            counts[usize::from(value)] += 1;
        }
    }
    let mut sum = 0.0;
    for n in counts {
        sum += f64::from(n) * table[n as usize];
    }
    let total = window.total();
    (total as f64 * table[total] - sum) / total as f64
}
