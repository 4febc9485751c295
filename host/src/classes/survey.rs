//! The survey of a raster: which values it holds and how often.
//!
//! Numbers of 8 and 16 bits are counted in a table of all that there can be. Wider ones go through a small table of the values met
//! last (land cover comes in patches), and only what drops out of that is counted in a map, which grows up to as many values as there are
//! codes.

use std::collections::BTreeMap;

use super::{ClassesError, pass};
use crate::codes::MAX_LEVELS;
use crate::io::{Nodata, Value};
use crate::observe::Observer;
use crate::raster::cell::{Cell, each};
use crate::raster::{Raster, Values};

/// Different values after which counting is given up.
pub(super) const MOST: usize = MAX_LEVELS;

/// Values and how often they occur.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Ascending; no data is not among them.
    pub cells: BTreeMap<i128, u64>,
    pub nodata: u64,
}

/// Counts the values of a raster, all of which have to be whole numbers; more of them than there are codes are an error.
pub(super) fn survey(
    raster: &dyn Raster,
    nodata: Option<Nodata>,
    observer: &dyn Observer,
) -> Result<Found, ClassesError> {
    let mut all = Found::default();
    let too_many = |found: &Found, more| ClassesError::TooMany {
        name: raster.name().to_owned(),
        seen: found.cells.len().min(MOST),
        more,
        nodata: found.nodata > 0,
        most: MAX_LEVELS,
    };
    let scan = |piece: &pass::Piece<'_>| {
        let counted = each!(&piece.values, values => count(values, nodata));
        counted.map_err(|stop| match stop {
            Stop::Fraction(index, value) => {
                ClassesError::Fraction { name: piece.name(), place: piece.place(index).into(), value: value.show() }
            }
            Stop::TooMany(nodata) => ClassesError::TooMany {
                name: piece.name(),
                seen: MOST,
                more: true,
                nodata: nodata > 0,
                most: MAX_LEVELS,
            },
        })
    };
    pass::map_reduce(raster, observer, scan, |found| {
        all.nodata += found.nodata;
        for (value, cells) in found.cells {
            *all.cells.entry(value).or_default() += cells;
        }
        if all.cells.len() > MOST { Err(too_many(&all, true)) } else { Ok(()) }
    })?;
    let room = MAX_LEVELS - usize::from(all.nodata > 0);
    if all.cells.len() > room { Err(too_many(&all, false)) } else { Ok(all) }
}

/// Why a piece was not counted to its end.
enum Stop {
    Fraction(usize, Value),
    /// With the cells without data so far.
    TooMany(u64),
}

/// Tables that numbers of 8 and 16 bits are counted in, side by side.
const TABLES: usize = 4;

/// Values met last, by the high bits of a hash.
const SLOTS: usize = 256;

fn count<T: Cell>(values: &[T], nodata: Option<Nodata>) -> Result<Found, Stop> {
    let nodata = nodata.and_then(T::nodata);
    let mut keys: BTreeMap<u64, u64> = BTreeMap::new();
    let mut nodata_cells = 0;
    if T::WIDTH <= 16 {
        // Several tables in turn: in patches of one class every count would wait for the one before.
        let mut tables = vec![[0u64; TABLES]; 1 << T::WIDTH];
        let mut chunks = values.chunks_exact(TABLES);
        for chunk in &mut chunks {
            for (i, value) in chunk.iter().enumerate() {
                tables[value.key() as usize][i] += 1;
            }
        }
        chunks.remainder().iter().for_each(|value| tables[value.key() as usize][0] += 1);
        let cells = tables.iter().map(|cells| cells.iter().sum::<u64>());
        keys.extend((0..).zip(cells).filter(|(_, cells)| *cells > 0));
    } else {
        let mut slots = [(0u64, 0u64); SLOTS];
        for (i, &value) in values.iter().enumerate() {
            if value.is_nan() {
                nodata_cells += 1;
                continue;
            }
            let key = value.key();
            let slot = &mut slots[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize];
            if slot.0 == key {
                slot.1 += 1;
                continue;
            }
            if Some(value) != nodata && matches!(value.value(), Value::Real(_)) {
                return Err(Stop::Fraction(i, value.value()));
            }
            let (old, cells) = std::mem::replace(slot, (key, 1));
            if cells > 0 {
                *keys.entry(old).or_default() += cells;
                if keys.len() > MOST + 1 {
                    return Err(Stop::TooMany(nodata_cells));
                }
            }
        }
        slots.iter().filter(|(_, cells)| *cells > 0).for_each(|&(key, cells)| *keys.entry(key).or_default() += cells);
    }
    let nodata = nodata.map(Cell::key);
    let mut found = Found::default();
    for (key, cells) in keys {
        match T::of_key(key).value() {
            _ if Some(key) == nodata => nodata_cells += cells,
            Value::Whole(value) => _ = found.cells.insert(value, cells),
            // Passed above as no data and nothing else.
            Value::Real(_) => nodata_cells += cells,
        }
    }
    found.nodata = nodata_cells;
    Ok(found)
}
