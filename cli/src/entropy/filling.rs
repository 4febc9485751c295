//! A hint at a value that looks like no data and is counted as a class.
//!
//! Maps whose cells are bytes often have 0 or 255 where there is no map, and say so nowhere. Such a value fills a good part of the cells and lies
//! along a whole edge, which a class of the map seldom does. Its count is the survey's; the edges are read once more, a block at a time, and only as
//! far as they have nothing else. A raster in a few large blocks is left alone, and so is one that is decoded as a stream: to read their edges would
//! be to decode all of them again.

use std::ops::Range;

use halotile::io::FormatError;
use halotile::numbers::ValueType;
use halotile::raster::{Raster, Values};

use super::classing::Classing;
use super::input::InputRaster;
use crate::args::EntropyArgs;
use crate::console::Console;

/// Cells of the largest blocks of which an edge is read.
const LARGEST_BLOCK: usize = 1 << 22;

/// Tells of such a value, if nothing was said of no data.
pub fn hint(
    input: &InputRaster,
    classing: &Classing,
    args: &EntropyArgs,
    console: &Console,
) -> Result<(), FormatError> {
    let raster = input.raster.as_ref();
    let (rows, cols) = (raster.rows(), raster.cols());
    let (height, width) = raster.block();
    let said = args.nodata.is_some() || args.mask.is_some() || input.nodata.is_some() || raster.has_mask();
    // The edge of a grid of one or two rows is the grid.
    if said
        || raster.value_type() != ValueType::U8
        || rows.min(cols) < 3
        || height.saturating_mul(width) > LARGEST_BLOCK
        || raster.in_order()
    {
        return Ok(());
    }
    for value in [0u8, 255] {
        let cells = classing.cells_of(value).unwrap_or(0);
        let all = rows as u64 * cols as u64;
        if cells > all / 10 && cells < all && fills_an_edge(raster, value)? {
            console.note(&format!(
                "{}: value {value} fills {:.0} % of the cells and a whole edge; if it means no data, give --nodata {value}",
                raster.name(),
                cells as f64 / all as f64 * 100.0
            ));
        }
    }
    Ok(())
}

/// Whether all cells of the first or last row or column have this value.
fn fills_an_edge(raster: &dyn Raster, value: u8) -> Result<bool, FormatError> {
    let (rows, cols) = (raster.rows(), raster.cols());
    for row in [0, rows - 1] {
        if filled(raster, value, row..row + 1, 0..cols)? {
            return Ok(true);
        }
    }
    'columns: for col in [0, cols - 1] {
        let step = raster.block().0.max(1);
        for first in (0..rows).step_by(step) {
            if !filled(raster, value, first..rows.min(first + step), col..col + 1)? {
                continue 'columns;
            }
        }
        return Ok(true);
    }
    Ok(false)
}

fn filled(raster: &dyn Raster, value: u8, rows: Range<usize>, cols: Range<usize>) -> Result<bool, FormatError> {
    Ok(match raster.read(rows, cols)? {
        Values::U8(cells) => cells.iter().all(|&cell| cell == value),
        _ => false,
    })
}
