//! The cells of a block, cut out of a rectangle as they are stored.

use bytemuck::NoUninit;

use super::blocks::{Block, Blocks};
use super::statistics::Statistics;
use super::stored::{Stored, StoredType};
use crate::grid::GridView;

/// From cells to the numbers that are stored.
pub(super) struct Conversion<T> {
    /// Of each plane, in one type.
    pub(super) bands: Vec<Stored>,
    pub(super) push: fn(Stored, &[T], &mut Vec<u8>),
}

/// How a plane's cells are stored.
pub(super) type Convert<T> = (Stored, fn(Stored, &[T], &mut Vec<u8>));

/// A block of a plane that comes: its number in its image, the plane, its place there.
pub(super) type Piece<'a, T> = (usize, GridView<'a, T>, Block, Option<Convert<T>>);

/// Whose numbers are summed up: their type, and the number for no data unless it is NaN.
pub(super) type Summed = (StoredType, Option<f64>);

/// Which cells of an image make a block.
#[derive(Clone, Copy)]
pub(super) struct Cutter<T> {
    pub(super) blocks: Blocks,
    pub(super) tiled: bool,
    /// Bytes of a stored number, and those of the one beyond the grid's edge.
    pub(super) size: usize,
    pub(super) beyond: [u8; 8],
    pub(super) is_nothing: Option<fn(T) -> bool>,
    pub(super) summed: Option<Summed>,
}

impl<T: NoUninit> Cutter<T> {
    /// Cuts a block's cells out of a plane whose first cell is at `corner`. Whether it is kept, or may be left out, and what its numbers are alike.
    pub(super) fn cut(
        &self,
        plane: GridView<'_, T>,
        corner: (usize, usize),
        block: &Block,
        conversion: Option<Convert<T>>,
        cells: &mut Vec<u8>,
    ) -> (bool, Statistics) {
        let Blocks { height, width, .. } = self.blocks;
        // Tiles are written whole, the last strip ends with the grid.
        let height = if self.tiled { height } else { block.rows.len() };
        let rows = (block.rows.start - corner.0)..(block.rows.end - corner.0);
        let cols = (block.cols.start - corner.1)..(block.cols.end - corner.1);
        let rows = rows.map(|row| &plane.row(row)[cols.clone()]);
        if self.is_nothing.is_some_and(|is_nothing| rows.clone().all(|row| row.iter().all(|&cell| is_nothing(cell)))) {
            return (false, Statistics::nothing(block.rows.len() * block.cols.len()));
        }
        let Self { size, beyond, .. } = *self;
        let beyond = |cells: usize| beyond[..size].iter().copied().cycle().take(cells * size);
        cells.clear();
        cells.reserve_exact(height * width * size);
        for row in rows {
            match conversion {
                Some((stored, push)) => push(stored, row, cells),
                None => cells.extend_from_slice(bytemuck::cast_slice(row)),
            }
            cells.extend(beyond(width - row.len()));
        }
        let statistics = self.summed.map(|(of, nodata)| {
            let inside = size * block.cols.len();
            Statistics::of(of, nodata, cells.chunks_exact(size * width).map(|row| &row[..inside]))
        });
        cells.extend(beyond((height - block.rows.len()) * width));
        if cfg!(target_endian = "big") {
            cells.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        (true, statistics.unwrap_or_default())
    }
}
