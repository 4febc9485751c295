//! From rows to tiles and back, in place.
//!
//! A band of [`SIDE`] rows is contiguous, and its tiles one behind the other are as many cells: each band is permuted by itself, through
//! a copy. The bands are dealt out to as many tasks as there are threads, each with one copy, whatever the size of the matrix.

use rayon::prelude::*;

use super::tile::CELLS;
use crate::apsp::{Distance, SIDE};

/// From rows to tiles: those of a band one behind the other, and in each its rows. `across` is the number of tiles in a row.
pub(super) fn to_tiles<T: Distance>(cells: &mut [T], across: usize) {
    for_each_band(cells, across, |from, to| {
        let (tiles, _) = to.as_chunks_mut::<CELLS>();
        for (number, tile) in tiles.iter_mut().enumerate() {
            for (row, to) in tile.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                to.copy_from_slice(&from[row * across * SIDE + number * SIDE..][..SIDE]);
            }
        }
    });
}

/// The way back.
pub(super) fn to_rows<T: Distance>(cells: &mut [T], across: usize) {
    for_each_band(cells, across, |from, to| {
        let (tiles, _) = from.as_chunks::<CELLS>();
        for (row, to) in to.chunks_exact_mut(across * SIDE).enumerate() {
            for (to, tile) in to.as_chunks_mut::<SIDE>().0.iter_mut().zip(tiles) {
                to.copy_from_slice(&tile[row * SIDE..][..SIDE]);
            }
        }
    });
}

/// Calls `permute` with a copy of every band, and the band.
fn for_each_band<T: Distance>(cells: &mut [T], across: usize, permute: impl Fn(&[T], &mut [T]) + Sync) {
    let band = across * CELLS;
    let share = across.div_ceil(rayon::current_num_threads());
    cells.par_chunks_mut(share * band).for_each(|bands| {
        let mut copy = vec![T::ZERO; band];
        for band in bands.chunks_exact_mut(band) {
            copy.copy_from_slice(band);
            permute(&copy, band);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_where_they_should_be_and_rows_come_back() {
        for across in [1, 2, 5] {
            let pitch = across * SIDE;
            let rows: Vec<i32> = (0..pitch * pitch).map(|at| at as i32).collect();
            let mut cells = rows.clone();
            to_tiles(&mut cells, across);
            for (at, &cell) in rows.iter().enumerate() {
                let (i, j) = (at / pitch, at % pitch);
                let tile = i / SIDE * across + j / SIDE;
                assert_eq!(cells[tile * CELLS + i % SIDE * SIDE + j % SIDE], cell, "{i}, {j}");
            }
            to_rows(&mut cells, across);
            assert_eq!(cells, rows);
        }
    }
}
