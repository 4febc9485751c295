//! The plan for a grid in a device's memory whose results go there too: bands of rows, one after another, and
//! nothing is copied to the host but records of what kernels have found.
//!
//! ```text
//! bytes that are codes as they are, in rows as kernels read them      a scan of which bytes occur; kernels read the array itself
//! anything else                                                       codes are made of the cells that a band sees, on the device
//! results of a single plane, in rows as kernels write them            kernels write the array itself
//! anything else                                                       results are copied from there, on the device
//! ```
//!
//! Kernels require codes below the number of levels. So the scan of an array that they read itself is waited for, which costs a
//! round trip to the device; but the kernels that count on the tensor cores take any bytes, and are enqueued speculatively behind the scan, on
//! the guess that it finds no byte above 15 but nodata (the kernel reads what was found, and does nothing otherwise). Where codes are made, a
//! number without a code gets a valid one, and the error is found when the band has been waited for.
//!
//! The kernel, its table and the windows that cells are given are those of [`Entropy::stream`] (and, without classes, of
//! [`Entropy::measure_into`]) on the same device; bands change no bit, and so the results are the same.
//!
//! Here is how it is decided what kernels read; `bands` has the launches, and the memory that they take.

use super::Plan;
use crate::arrays::{Cells, PresenceScan};
use crate::classes::device::{cells as paired, show};
use crate::classes::steps::Steps;
use crate::classes::{Classes, UnknownValue};
use crate::codes::{self, Code};
use crate::entropy::census::{Coding, FEW, WordCoding};
use crate::entropy::choice::pick;
use crate::entropy::{BYTE_LEVELS, Entropy, Error, Kernel, Report};
use crate::exec::queue::{Queue, scope};
use crate::exec::{ContextGuard, DeviceGrid, DeviceGridMut};
use crate::io::Place;
use crate::numbers::Real;
use crate::numbers::ValueType;
use crate::observe::Observer;

mod bands;
#[cfg(test)]
mod tests;

use bands::Input;

impl Entropy {
    /// All measures of every cell of a grid in a device's memory, by that device, into arrays in the same memory: one for each measure in
    /// their order, each of the grid's shape. Neither cells nor results are copied through the host.
    ///
    /// With `classes` the codes of cells are theirs, and levels and nodata too; cells at which `mask` is 0 or NaN have no data. The result is, bit
    /// for bit, that of [`stream`](Self::stream) on the same device for the same numbers and mask. Without, the grid's numbers are bytes that are
    /// levels, there is no mask, and the result is that of [`measure_into`](Self::measure_into).
    ///
    /// Fastest are bytes that are their own codes, in rows of a multiple of 4 columns that begin at multiples of 4 bytes, next to each other; and
    /// for results of one measure rows that begin at multiples of 16 bytes. Such arrays are read and written by the entropy kernels
    /// themselves, unless the [edge](Self::edge) extends the grid; for others there is scratch memory on the device, up to 1 GiB, and as much where there are
    /// more than 16 classes.
    ///
    /// When this returns, also with an error, the device has nothing of it in flight. After an error the contents of the results are
    /// unspecified. The observer is notified of finished cells and may stop the work. The calling thread's current CUDA context is left unchanged.
    ///
    /// # Errors
    /// Those of [`measure_into`](Self::measure_into); a number that is no class, with its row and column; a mask or an output of another
    /// shape, or on another device.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::classes::Classes;
    /// use halotile::entropy::Entropy;
    /// use halotile::exec::{Buffer, Device, DeviceGrid, DeviceGridMut, emulator::EmulatedDevice};
    /// use halotile::numbers::ValueType;
    ///
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let (theirs, out) = (Buffer::from_slice(&device, &[11i32, 11, 95, 95])?, Buffer::new(&device, 4 * 8)?);
    /// // SAFETY: the buffers outlive the grids, and nothing else uses them.
    /// let (grid, place) = unsafe {
    ///     (
    ///         DeviceGrid::new(&device, theirs.address(), ValueType::I32, 2, 2, (2, 1))?,
    ///         DeviceGridMut::<f64>::new(&device, out.address(), 2, 2, (2, 1))?,
    ///     )
    /// };
    /// let classes = Classes::survey_on(&grid, None, None)?;
    /// let report = Entropy::new().measure_on_device(&grid, Some(&classes), None, vec![place], &())?;
    /// assert_eq!(report.levels, 2);
    /// assert!(out.to_vec::<f64>()?.iter().all(|h| (h - 2f64.ln()).abs() < 1e-12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure_on_device<T: Real>(
        &self,
        cells: &DeviceGrid<'_>,
        classes: Option<&Classes>,
        mask: Option<&DeviceGrid<'_>>,
        outs: Vec<DeviceGridMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.validate()?;
        self.check_place(true)?;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel {
            let reason = "it takes grids in the host's memory".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        for out in &outs {
            self.check::<T>((cells.rows(), cells.cols()), (out.rows(), out.cols()), true)?;
            cells.device().check_same(out.device())?;
        }
        if outs.len() != self.measures.len() {
            return Err(Error::Measures(outs.len()));
        }
        let cells = paired(cells, mask)?;
        let _context = ContextGuard::of(&**cells.device());
        let work = |queues: &mut [Queue<'_>]| match classes {
            Some(classes) => self.of_classes(&mut queues[0], cells, classes.clone(), &outs, observer),
            None => self.of_levels(&mut queues[0], cells, &outs, observer),
        };
        scope(cells.device(), 0, 1, work)?
    }

    /// The same by classes.
    fn of_classes<T: Real>(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        mut classes: Classes,
        outs: &[DeviceGridMut<'_, T>],
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        // As a `CodedRaster` does.
        if cells.mask.is_some() {
            classes.reserve()?;
        }
        classes.reserve_for(cells.grid.value_type());
        let (levels, nodata) = (classes.levels(), classes.nodata_code());
        if codes::width(levels, nodata) > 1 {
            return self.of_words(queue, cells, &classes, outs, observer);
        }
        let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
        let plan = self.plan::<T>((cells.grid.rows(), cells.grid.cols()), &coding, observer);
        let steps = classes.steps(cells.grid.value_type());
        let is_code = |byte: u8| steps.code(byte.into()) == Some(byte.into());
        let (mut directly, mut their_plan) = (None, None);
        let mut scan_seconds = 0.0;
        if let Some(pitch) = plan.readable(cells).filter(|_| (0..=255).any(is_code)) {
            let scan = PresenceScan::new(queue, cells)?;
            let likely = (0..coding.levels).all(|code| is_code(code as u8));
            let guess = if likely { plan.guess(queue, cells, pitch, outs, &scan)? } else { None };
            let present = scan.finish(queue)?;
            let mut others = (0..=255).filter(|&byte| present.bytes[usize::from(byte)] && !is_code(byte));
            let (other, more) = (others.next(), others.next().is_some());
            if let Some(prepared) = guess.filter(|_| other.is_none()) {
                return Ok(plan.guessed(&prepared, &present, self.levels.unwrap_or(coding.levels)));
            }
            // Where nodata alone has another code than itself, most kernels take it as it is.
            let is_nodata = |&byte: &u8| coding.nodata.is_some_and(|code| steps.code(byte.into()) == Some(code.into()));
            // Another byte that means nodata too, and is its own code, would be counted.
            let twice = coding.nodata.is_some_and(|code| present.bytes[usize::from(code)]);
            if let Some(byte) = other.filter(is_nodata).filter(|_| !more && !twice) {
                let theirs = Coding { nodata: Some(byte), ..coding.clone() };
                their_plan = self.plan_as_they_are::<T>(&theirs, cells, observer)?;
            }
            let as_it_is = other.is_none() || their_plan.is_some();
            (directly, scan_seconds) = (as_it_is.then_some(pitch), present.seconds);
        }
        let plan = their_plan.as_ref().unwrap_or(&plan);
        let input = match directly {
            Some(pitch) => Input::InPlace(pitch),
            None => Input::Coded(&steps),
        };
        let report = plan.over_arrays(queue, cells, input, outs, &unknown(cells, &classes))?;
        let kernel_seconds = scan_seconds + report.kernel_seconds;
        Ok(Report { levels: self.levels.unwrap_or(coding.levels), kernel_seconds, ..report })
    }

    /// The same where codes are words.
    fn of_words<T: Real>(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        classes: &Classes,
        outs: &[DeviceGridMut<'_, T>],
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let coding = WordCoding::below(classes.levels(), classes.nodata_code());
        let plan = self.plan_words::<T>((cells.grid.rows(), cells.grid.cols()), coding, observer);
        let steps = classes.steps(cells.grid.value_type());
        let report = plan.over_arrays(queue, cells, Input::Coded(&steps), outs, &unknown(cells, classes))?;
        Ok(Report { levels: self.levels.unwrap_or(coding.levels), ..report })
    }

    /// The plan for codes that the cells are, if the kernel takes nodata where it is: some count it like a level, so that it has to be next to those. To make
    /// other codes takes as long as some kernels.
    fn plan_as_they_are<'o, T: Real>(
        &self,
        coding: &Coding,
        cells: Cells<'_>,
        observer: &'o dyn Observer,
    ) -> Result<Option<Plan<'o>>, Error> {
        let plan = self.plan::<T>((cells.grid.rows(), cells.grid.cols()), coding, observer);
        let is_near = coding.nodata.is_none_or(|code| usize::from(code) <= coding.levels);
        let fits = is_near || !pick(self.kernel, &plan.work, cells.device())?.facts().counts_nodata;
        Ok(fits.then_some(plan))
    }

    /// The same of bytes that are levels.
    fn of_levels<T: Real>(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        outs: &[DeviceGridMut<'_, T>],
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        if cells.mask.is_some() || cells.grid.value_type() != ValueType::U8 {
            return Err(Error::NoClasses);
        }
        let shape = (cells.grid.rows(), cells.grid.cols());
        let scan = PresenceScan::new(queue, cells)?;
        // As many levels as the kernel takes: with fewer the result is the same.
        let levels = self.levels.unwrap_or(FEW).min(BYTE_LEVELS);
        let few = Coding { levels, nodata: self.nodata_byte(), codes: None };
        let supposed = self.plan::<T>(shape, &few, observer);
        // Where no cell is nodata after all, the result is the same too.
        let guess = match supposed.readable(cells) {
            Some(pitch) => supposed.guess(queue, cells, pitch, outs, &scan)?,
            None => None,
        };
        let present = scan.finish(queue)?;
        let is_level =
            |byte: u8| Some(byte) == self.nodata_byte() || self.levels.is_none_or(|levels| usize::from(byte) < levels);
        let above = |row: usize, col: usize| -> Result<Error, Error> {
            let value = cells.grid.bits(row, col)? as u8;
            Ok(Error::Value { row, col, value: value.into(), levels: self.levels.unwrap_or(BYTE_LEVELS) })
        };
        let valid = (0..=255u8).all(|byte| !present.bytes[usize::from(byte)] || is_level(byte));
        let coding_of = |compact| Coding::of_present(&present.bytes, self.nodata_byte(), compact);
        let mut coding = Coding::promised(self.levels, self.nodata_byte()).unwrap_or_else(|| coding_of(false));
        if let Some(prepared) = guess.filter(|_| valid && coding.levels <= FEW && coding.codes.is_none()) {
            return Ok(supposed.guessed(&prepared, &present, self.levels.unwrap_or(coding.levels)));
        }
        let plan = match self.plan_as_they_are::<T>(&coding, cells, observer)? {
            Some(plan) => plan,
            None => {
                coding = coding_of(true);
                self.plan::<T>(shape, &coding, observer)
            }
        };
        // Where there is an error, encoding finds the cell.
        let code =
            |byte: u8| is_level(byte).then(|| coding.codes.as_ref().map_or(byte, |codes| codes[usize::from(byte)]));
        let steps = Steps::of_bytes(code);
        let input = match plan.readable(cells).filter(|_| valid && coding.codes.is_none()) {
            Some(pitch) => Input::InPlace(pitch),
            None => Input::Coded(&steps),
        };
        let report = plan.over_arrays(queue, cells, input, outs, &above)?;
        let kernel_seconds = present.seconds + report.kernel_seconds;
        Ok(Report { levels: self.levels.unwrap_or(coding.levels), kernel_seconds, ..report })
    }
}

/// The error for a cell whose number is no class.
fn unknown<'a>(cells: Cells<'a>, classes: &'a Classes) -> impl Fn(usize, usize) -> Result<Error, Error> + 'a {
    move |row, col| {
        let unknown = UnknownValue { index: col, value: show(cells.grid, row, col)? };
        Ok(classes.problem(&unknown).at("the array", Place::cell(row, col)).into())
    }
}
