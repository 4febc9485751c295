//! Classes of numbers that lie in a device's memory: found there, by kernels, so that only records of what was found come to the host.
//!
//! What is found is what [`Classes::survey`] and [`Classes::bins`] find for the same numbers, and so are the errors; but a number that is not
//! whole is one whatever else is wrong, while a scan of a raster stops at more than 65,536 values before such a number.

use super::bins::{self, Digits, Extent, Passes};
use super::steps::first_key;
use super::survey::MOST;
use super::{BinRule, Classes, ClassesError};
use crate::arrays::{self, Cells, Numbers};
use crate::codes::MAX_LEVELS;
use crate::exec::queue::{Queue, scope};
use crate::exec::{ContextGuard, DeviceError, DeviceGrid};
use crate::io::{Nodata, Place, Value};
use crate::numbers::ValueType;
use crate::raster::MaskError;
use crate::raster::cell::{Cell, of_type};
use std::sync::{Mutex, PoisonError};

/// What messages call an array, which has no name of its own.
const NAME: &str = "the array";

impl Classes {
    /// The values that occur in a grid on a device, 65,536 at most with no data, are the classes, as [`survey`](Self::survey) says; cells that `mask`
    /// hides, where it is 0 or NaN, count for nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::classes::Classes;
    /// use halotile::exec::{Buffer, Device, DeviceGrid, emulator::EmulatedDevice};
    /// use halotile::numbers::ValueType;
    ///
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let theirs = Buffer::from_slice(&device, &[11.0f32, 95.0, f32::NAN, 21.0])?;
    /// // SAFETY: the buffer outlives the grid, and nothing writes to it.
    /// let grid = unsafe { DeviceGrid::new(&device, theirs.address(), ValueType::F32, 2, 2, (2, 1))? };
    /// let classes = Classes::survey_on(&grid, None, None)?;
    /// assert_eq!((classes.levels(), classes.nodata_code()), (3, Some(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ClassesError`]: more than 65,536 classes, a number that is not whole, a mask of another shape or device, or a device that fails.
    pub fn survey_on(
        grid: &DeviceGrid<'_>,
        mask: Option<&DeviceGrid<'_>>,
        nodata: Option<Nodata>,
    ) -> Result<Self, ClassesError> {
        let cells = cells(grid, mask)?;
        let _context = ContextGuard::of(&**grid.device());
        let survey =
            |queues: &mut [Queue<'_>]| of_type!(grid.value_type(), T => survey::<T>(&mut queues[0], cells, nodata));
        let (mut values, occurs) = scope(grid.device(), 0, 1, survey)??;
        values.sort_unstable();
        Self::of_values(values, nodata, occurs)
    }

    /// Bins of the numbers of a grid on a device, 65,536 at most, as [`bins`](Self::bins) says; cells that `mask` hides, where it is 0 or NaN, count for
    /// nothing. Quantiles of wide numbers bring counters of 4 MiB to the host in every pass, of more than 256 bins 16 MiB.
    ///
    /// # Errors
    /// [`ClassesError`], as for [`bins`](Self::bins), and where a device fails.
    pub fn bins_on(
        grid: &DeviceGrid<'_>,
        mask: Option<&DeviceGrid<'_>>,
        bins: usize,
        rule: BinRule,
        nodata: Option<Nodata>,
    ) -> Result<Self, ClassesError> {
        if !(1..=MAX_LEVELS).contains(&bins) {
            return Err(ClassesError::Count { what: "bins", most: MAX_LEVELS, got: bins });
        }
        let cells = cells(grid, mask)?;
        let _context = ContextGuard::of(&**grid.device());
        let edges = scope(grid.device(), 0, 1, |queues| {
            let numbers = numbers(grid.value_type(), nodata);
            bins::find(&ArrayPasses { queue: Mutex::new(&mut queues[0]), cells, numbers }, bins, rule)
        })??;
        Self::of_bins(edges, rule, nodata)
    }
}

/// A grid and its mask, if they belong together.
pub(crate) fn cells<'a>(grid: &'a DeviceGrid<'a>, mask: Option<&'a DeviceGrid<'a>>) -> Result<Cells<'a>, ClassesError> {
    if let Some(mask) = mask {
        grid.device().check_same(mask.device())?;
        if (mask.rows(), mask.cols()) != (grid.rows(), grid.cols()) {
            return Err(ClassesError::Mask(MaskError::Shape {
                mask: "the mask".into(),
                mask_rows: mask.rows(),
                mask_cols: mask.cols(),
                name: NAME.into(),
                rows: grid.rows(),
                cols: grid.cols(),
            }));
        }
    }
    Ok(Cells { grid, mask })
}

/// The keys that kernels go by.
fn numbers(values: ValueType, nodata: Option<Nodata>) -> Numbers {
    of_type!(values, T => Numbers {
        bounds: (T::BOUNDS.0.key(), T::BOUNDS.1.key()),
        finite: (T::FINITE.0.key(), T::FINITE.1.key()),
        nodata: nodata.and_then(T::nodata).map(T::key),
    })
}

/// The values that occur, and whether no data does.
fn survey<T: Cell>(
    queue: &mut Queue<'_>,
    cells: Cells<'_>,
    nodata: Option<Nodata>,
) -> Result<(Vec<i128>, bool), ClassesError> {
    let values = cells.grid.value_type();
    let number = numbers(values, nodata);
    let whole = |key: u64| T::of_key(key).value().whole();
    if values.bytes() == 1 {
        let present = arrays::present(queue, cells)?;
        let keys = (0..256).filter(|&bits| present.bytes[bits as usize]).map(|bits| T::of_bits(bits).key());
        let (without, keys): (Vec<_>, Vec<_>) = keys.partition(|&key| Some(key) == number.nodata);
        return Ok((keys.into_iter().filter_map(whole).collect(), !without.is_empty()));
    }
    // From a magnitude on no number is as good as whole: of floating-point numbers, those beyond what whole numbers are kept in.
    let zero = T::of_bits(0).key();
    let is_large = |key: u64| matches!(T::of_key(key).value(), Value::Real(_));
    let within = T::exact(1 << 53).map_or(zero, T::key);
    let large = first_key(within, number.bounds.1, is_large).map_or(u64::MAX, |key| key - zero);
    let found = arrays::distinct(queue, cells, &number, large)?;
    if let Some((row, col)) = found.fraction {
        let value = T::of_bits(cells.grid.bits(row, col)?).value().show();
        return Err(ClassesError::Fraction { name: NAME.into(), place: Place::cell(row, col).into(), value });
    }
    if found.count + usize::from(found.nodata) > MAX_LEVELS {
        let (seen, more, nodata) = (found.count.min(MOST), found.count > MOST, found.nodata);
        return Err(ClassesError::TooMany { name: NAME.into(), seen, more, nodata, most: MAX_LEVELS });
    }
    Ok((found.keys.into_iter().filter_map(whole).collect(), found.nodata))
}

/// What a number is called in messages.
pub(crate) fn show(grid: &DeviceGrid<'_>, row: usize, col: usize) -> Result<String, DeviceError> {
    let bits = grid.bits(row, col)?;
    Ok(of_type!(grid.value_type(), T => T::of_bits(bits).value().show()))
}

/// Numbers in a device's memory, for a search for bins.
struct ArrayPasses<'q, 'm, 'a> {
    queue: Mutex<&'q mut Queue<'m>>,
    cells: Cells<'a>,
    numbers: Numbers,
}

impl Passes for ArrayPasses<'_, '_, '_> {
    fn name(&self) -> &str {
        NAME
    }

    fn value_type(&self) -> ValueType {
        self.cells.grid.value_type()
    }

    fn extent(&self) -> Result<Extent, ClassesError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ([low, high, finite_low, finite_high], nodata) = arrays::extent(&mut queue, self.cells, &self.numbers)?;
        Ok(Extent { finite: (finite_low, finite_high), all: (low, high), nodata })
    }

    fn count(&self, digits: &Digits<'_>, counts: &mut [u64]) -> Result<bool, ClassesError> {
        let &Digits { low, span, rest, more, prefixes } = digits;
        let digits = arrays::Digits { low, span, rest, more, prefixes };
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(arrays::digits(&mut queue, self.cells, &self.numbers, &digits, counts)?)
    }
}
