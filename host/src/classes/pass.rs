//! A map-reduce over all of a raster, in bounded memory.
//!
//! The raster is cut into pieces made of whole blocks, so that none is decoded twice, and of about [`PIECE`] cells. A wave of
//! pieces is mapped by all threads; the results are reduced in reading order, so that neither a count nor an
//! error depends on which thread was faster.
//!
//! Threads read the pieces that they map, but for rasters that are decoded as streams: there one piece is read after the other, and then a few of
//! them are mapped together. They are smaller, since all threads hold theirs at the same time.

use std::ops::Range;

use rayon::prelude::*;

use super::ClassesError;
use crate::io::Place;
use crate::observe::{Cancelled, Observer};
use crate::raster::cell::each;
use crate::raster::{Raster, Values};

/// Cells of a piece, unless a block has more.
const PIECE: usize = 1 << 20;

/// Bytes of the pieces that are read one after the other and mapped together.
const TOGETHER: usize = 16 << 20;

/// A rectangle of a raster and its numbers.
pub(super) struct Piece<'r> {
    raster: &'r dyn Raster,
    rows: Range<usize>,
    cols: Range<usize>,
    pub values: Values,
    /// Where each of them was, if some have been left out.
    kept: Option<Vec<usize>>,
}

impl Piece<'_> {
    /// Where a number of the piece is.
    pub fn place(&self, index: usize) -> Place {
        let index = self.kept.as_ref().map_or(index, |kept| kept[index]);
        self.raster.place(self.rows.start + index / self.cols.len(), self.cols.start + index % self.cols.len())
    }

    /// The raster's name.
    pub fn name(&self) -> String {
        self.raster.name().to_owned()
    }
}

/// Calls `map` for every piece, in parallel, and `reduce` with the results, in order.
pub(super) fn map_reduce<R: Send>(
    raster: &dyn Raster,
    observer: &dyn Observer,
    map: impl Fn(&Piece<'_>) -> Result<R, ClassesError> + Sync,
    mut reduce: impl FnMut(R) -> Result<(), ClassesError>,
) -> Result<(), ClassesError> {
    let threads = rayon::current_num_threads();
    let read = |rows: &Range<usize>, cols: &Range<usize>| -> Result<Piece<'_>, ClassesError> {
        if observer.cancelled() {
            return Err(Cancelled.into());
        }
        let mut values = raster.read(rows.clone(), cols.clone())?;
        let kept = raster.masked(rows.clone(), cols.clone())?.map(|masked| {
            let mut flags = masked.iter();
            each!(&mut values, values => values.retain(|_| !flags.next().is_some_and(|&masked| masked)));
            (0..masked.len()).filter(|&i| !masked[i]).collect()
        });
        Ok(Piece { raster, rows: rows.clone(), cols: cols.clone(), values, kept })
    };
    let map = |piece: &Piece<'_>| {
        let found = map(piece);
        observer.advance((piece.rows.len() * piece.cols.len()) as u64);
        found
    };
    if raster.in_order() {
        let cells = TOGETHER / threads / raster.value_type().bytes();
        let mut pieces = pieces(raster, cells.clamp(1 << 14, PIECE));
        while let Some(wave) = next(&mut pieces, threads) {
            let read: Vec<_> = wave.iter().map(|(rows, cols)| read(rows, cols)).collect();
            let found: Vec<_> = read.into_par_iter().map(|piece| map(&piece?)).collect();
            found.into_iter().try_for_each(|found| reduce(found?))?;
        }
        return Ok(());
    }
    let mut pieces = pieces(raster, PIECE);
    while let Some(wave) = next(&mut pieces, 4 * threads) {
        let found: Vec<_> = wave.par_iter().map(|(rows, cols)| map(&read(rows, cols)?)).collect();
        found.into_iter().try_for_each(|found| reduce(found?))?;
    }
    Ok(())
}

/// Rows and columns.
type Rect = (Range<usize>, Range<usize>);

/// Rectangles of about so many cells that cover the raster, in reading order by their first cells.
fn pieces(raster: &dyn Raster, cells: usize) -> impl Iterator<Item = Rect> + use<> {
    let (rows, cols) = (raster.rows(), raster.cols());
    let (block_rows, block_cols) = raster.block();
    let (block_rows, block_cols) = (block_rows.clamp(1, rows.max(1)), block_cols.clamp(1, cols.max(1)));
    let step = |block: usize, others: usize, len: usize| {
        let blocks = cells / block.saturating_mul(others).max(1);
        block.saturating_mul(blocks.max(1)).min(len)
    };
    let width = step(block_cols, block_rows, cols.max(1));
    let height = if width < cols { block_rows } else { step(block_rows, cols, rows.max(1)) };
    let starts = (0..rows).step_by(height).flat_map(move |row| (0..cols).step_by(width).map(move |col| (row, col)));
    starts.map(move |(row, col)| (row..rows.min(row + height), col..cols.min(col + width)))
}

/// The next so many, or fewer; none at the end.
fn next(pieces: &mut impl Iterator<Item = Rect>, most: usize) -> Option<Vec<Rect>> {
    Some(pieces.take(most).collect::<Vec<_>>()).filter(|wave| !wave.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::Numbers;
    use super::*;

    /// A raster that insists on its order.
    struct Stream(Numbers, std::sync::atomic::AtomicUsize);

    impl Raster for Stream {
        fn name(&self) -> &str {
            self.0.name()
        }
        fn rows(&self) -> usize {
            self.0.rows()
        }
        fn cols(&self) -> usize {
            self.0.cols()
        }
        fn value_type(&self) -> crate::numbers::ValueType {
            self.0.value_type()
        }
        fn block(&self) -> (usize, usize) {
            self.0.block()
        }
        fn nodata(&self) -> Option<crate::io::Nodata> {
            None
        }
        fn georeference(&self) -> Option<&crate::raster::Georeference> {
            None
        }
        fn in_order(&self) -> bool {
            true
        }
        fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, crate::io::FormatError> {
            let before = self.1.swap(rows.end, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(before, rows.start, "in order");
            self.0.read(rows, cols)
        }
    }

    #[test]
    fn streams_are_read_in_order_and_found_the_same() {
        let (rows, cols) = (3000, 700);
        let values: Vec<f64> = (0..rows * cols).map(|i| (i / 7 % 200) as f64).collect();
        let numbers = || Numbers::new(rows, cols, Values::F64(values.clone()));
        let found = |raster: &dyn Raster| {
            let mut all = Vec::new();
            let map = |piece: &Piece<'_>| Ok((piece.place(0).row, piece.place(0).col, piece.values.len()));
            map_reduce(raster, &(), map, |found| {
                all.push(found);
                Ok(())
            })
            .unwrap();
            all
        };
        let pieces = found(&Stream(numbers(), 0.into()));
        assert_eq!(pieces.iter().map(|(.., cells)| cells).sum::<usize>(), rows * cols);
        assert!(pieces.is_sorted() && pieces.len() > 2, "{pieces:?}");
        assert!(found(&numbers()).len() > 1);
    }

    #[test]
    fn pieces_are_whole_blocks_and_cover_everything_once() {
        for (shape, block) in [
            ((1, 1), (1, 1)),
            ((5000, 3000), (1, 3000)),
            ((3000, 5000), (256, 256)),
            ((300, 20_000), (256, 512)),
            ((5000, 300), (5000, 300)),
            ((70, 70), (1000, 16)),
        ] {
            let raster =
                Numbers::new(shape.0, shape.1, Values::U8(vec![0; shape.0 * shape.1])).blocks(block.0, block.1);
            let mut seen = vec![false; shape.0 * shape.1];
            for (rows, cols) in pieces(&raster, PIECE) {
                assert!(rows.start % block.0 == 0 && cols.start % block.1 == 0, "{block:?}: {rows:?} {cols:?}");
                assert!(rows.len() * cols.len() <= PIECE.max(block.0 * block.1), "{block:?}: {rows:?} {cols:?}");
                for r in rows {
                    for seen in &mut seen[r * shape.1..][cols.clone()] {
                        assert!(!std::mem::replace(seen, true), "twice");
                    }
                }
            }
            assert!(!seen.contains(&false), "{shape:?} {block:?}");
        }
    }
}
