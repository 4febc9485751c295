//! All-pairs shortest paths on the CPU.

use super::{Distance, Matrix};
use crate::observe::{Cancelled, Observer};

/// Makes distances of weights, in place. No weight is negative. `observer` hears of each finished vertex k: V of them in all.
pub fn solve<T: Distance>(matrix: &mut Matrix<T>, observer: &dyn Observer) -> Result<(), Cancelled> {
    let n = matrix.vertices();
    for k in 0..n {
        if observer.cancelled() {
            return Err(Cancelled);
        }
        let pivot = matrix.row(k).to_vec();
        for i in 0..n {
            let via = matrix.get(i, k);
            for (cell, &on) in matrix.row_mut(i).iter_mut().zip(&pivot) {
                *cell = cell.nearer(via.plus(on));
            }
        }
        observer.advance(1);
    }
    Ok(())
}
