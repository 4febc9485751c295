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

use std::ops::Range;
use std::sync::Arc;

use super::Plan;
use crate::arrays::{self, Cells, Encoder, Encoding, PresenceScan, Present, Rows, Selection};
use crate::classes::device::{cells as paired, show};
use crate::classes::steps::Steps;
use crate::classes::{Classes, UnknownValue};
use crate::codes::{self, Code};
use crate::entropy::algorithm::Launcher as _;
use crate::entropy::census::{Coding, FEW, WordCoding};
use crate::entropy::choice::pick;
use crate::entropy::frame::{Frame, pitch};
use crate::entropy::kernel::Own;
use crate::entropy::launch::Prepared;
use crate::entropy::{BYTE_LEVELS, Entropy, Error, Kernel, Report};
use crate::exec::queue::{Queue, scope};
use crate::exec::{Buffer, ContextGuard, Device, DeviceError, DeviceGrid, DeviceGridMut};
use crate::io::Place;
use crate::numbers::Real;
use crate::numbers::ValueType;
use crate::observe::{Cancelled, Observer};

/// Bytes of codes, and of results, that are on the device beside the caller's arrays, unless a single row takes more.
const SCRATCH: usize = 1 << 29;

/// Bytes that are left for records and small tables.
const SPARE: usize = 1 << 18;

/// Rows of a band at most: kernels count rows and cells in 32 bits.
const ROWS: usize = 1 << 19;

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

/// What the kernels read.
#[derive(Clone, Copy)]
enum Input<'a> {
    /// The array itself, with so many bytes from row to row.
    InPlace(usize),
    /// Codes, made first.
    Coded(&'a Steps),
}

/// Codes of some of the rows that bands see.
struct Codes {
    encoder: Encoder,
    memory: Buffer,
    /// Codes from a row to the next, and bytes.
    pitch: usize,
    row: usize,
    /// Rows that fit.
    room: usize,
    /// Rows that are present; beyond the edges where the grid is extended.
    rows: Range<isize>,
    /// What the encoder uses until the queue is waited for.
    in_flight: Option<Encoding>,
}

impl Plan<'_> {
    /// Bytes between the rows of an array of bytes that kernels can read as it is.
    fn readable(&self, cells: Cells<'_>) -> Option<usize> {
        let bytes = cells.grid.value_type() == ValueType::U8 && cells.mask.is_none();
        if bytes && !self.edge.extends() { cells.grid.layout.pitch(4) } else { None }
    }

    /// Numbers between the rows of results that kernels can write as they are: of one plane, or of several one behind the other where
    /// all rows are computed at once.
    fn writable<T: Real>(&self, outs: &[DeviceGridMut<'_, T>], at_once: bool) -> Option<usize> {
        let pitch = outs.first()?.layout.pitch(16)?;
        let fits = outs.len() == 1 || (at_once && DeviceGridMut::are_planes(outs, pitch));
        (fits && !self.edge.extends()).then_some(pitch)
    }

    /// Rows that windows see, all of them.
    fn all_seen(&self) -> Range<isize> {
        self.seen(&(0..self.grid.0), &(0..1)).0
    }

    /// Memory for codes, in rows of `cols`: for as many rows as there may be, and at least those that one row of results sees.
    fn room_for_codes(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        steps: &Steps,
        cols: usize,
    ) -> Result<Codes, Error> {
        let device = cells.device();
        // The code of masked cells, of which there are none without a mask.
        let encoder = Encoder::new(queue, device, &steps.starts, &steps.codes, self.nodata.unwrap_or(0), self.width)?;
        let (pitch, all) = (pitch(cols), self.all_seen().len());
        let row = pitch * self.width;
        let least = (2 * self.radius.0 + 1).min(all);
        // A row of results has to fit too.
        let (spare, rows) = (self.planes * pitch * size_of::<f64>(), (SCRATCH / row).clamp(least, all.max(least)));
        let (memory, room) = shrinking(device, row, rows, least, spare)?;
        Ok(Codes { encoder, memory, pitch, row, room, rows: 0..0, in_flight: None })
    }

    /// Makes the codes of the rows in `seen`, unless they are present, and of as many rows after them as fit.
    fn encode(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        codes: &mut Codes,
        seen: &Range<isize>,
    ) -> Result<(), Error> {
        if codes.rows.start <= seen.start && seen.end <= codes.rows.end {
            return Ok(());
        }
        let rows = seen.start..self.all_seen().end.min(seen.start + codes.room as isize);
        let (_, cols) = self.seen(&(0..1), &(0..self.grid.1));
        let shape = (rows.len(), cols.len());
        let named = |range: &Range<isize>, len: usize| -> Vec<u32> {
            range.clone().filter_map(|at| self.edge.seen(at, len)).map(|at| at as u32).collect()
        };
        let (of_rows, of_cols);
        let selection = if self.edge.extends() {
            (of_rows, of_cols) = (named(&rows, self.grid.0), named(&cols, self.grid.1));
            Selection::Indices(&of_rows, &of_cols)
        } else {
            Selection::Window(rows.start as usize, 0)
        };
        codes.in_flight = Some(codes.encoder.encode(queue, cells, &selection, shape, &codes.memory, codes.pitch)?);
        codes.rows = rows;
        Ok(())
    }

    /// The kernel with its tables put on the queue.
    fn prepared(&self, queue: &mut Queue<'_>, own: Own, device: &Arc<dyn Device>) -> Result<Prepared, Error> {
        let mut put = |bytes: &[u8]| arrays::table(queue, device, bytes);
        Ok(Prepared::new(own, &self.question(device), &mut put)?)
    }

    /// As many rows as a launch should take.
    fn rows_at_once(&self, prepared: &Prepared, device: &Arc<dyn Device>, seen_cols: usize) -> usize {
        let launch = device.limits().launch_cells as f64 / prepared.cost();
        ((launch / seen_cols as f64) as usize).clamp(1, ROWS.min(prepared.rows_at_most())).min(self.grid.0)
    }

    /// Memory for what a launch over `most` rows makes first, or over fewer where there is not enough; how many.
    fn room_for_scratch(
        &self,
        prepared: &Prepared,
        device: &Arc<dyn Device>,
        cols: usize,
        most: usize,
    ) -> Result<(Option<Buffer>, usize), Error> {
        let (bytes, halo, all) = (prepared.bytes_per_row(cols), 2 * self.radius.0, self.all_seen().len());
        if bytes == 0 {
            return Ok((None, most));
        }
        let seen = |rows: usize| (rows + halo).min(all);
        // A row of codes and one of results have to fit too.
        let (spare, wanted) = ((1 + self.planes * size_of::<f64>()) * pitch(cols), (SCRATCH / bytes).min(seen(most)));
        // Where one launch takes everything, it is known what that needs.
        let whole = prepared.scratch_for(all, cols, self.grid.0);
        if most == self.grid.0 && whole <= 2 * SCRATCH {
            match shrinking(device, whole, 1, 1, spare) {
                Ok((memory, _)) => return Ok((Some(memory), most)),
                Err(DeviceError::OutOfMemory { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (memory, room) = shrinking(device, bytes, wanted.max(seen(1)), seen(1), spare)?;
        Ok((Some(memory), if room < seen(most) { room - halo } else { most }))
    }

    /// Enqueues everything behind a scan that is on the queue, in case it finds no byte above 15 but nodata, where a single launch of the kernel that
    /// takes any bytes does it. The returned value is kept until the queue has been waited for; `None` where nothing was enqueued.
    fn guess<T: Real>(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        stride: usize,
        outs: &[DeviceGridMut<'_, T>],
        scan: &PresenceScan,
    ) -> Result<Option<Prepared>, Error> {
        let device = cells.device();
        let (rows, cols) = self.grid;
        let own = pick(self.kernel, &self.work, device).ok().filter(|own| own.facts().guarded);
        let (Some(out_pitch), Some(own), None) = (self.writable(outs, true), own, self.border()) else {
            return Ok(None);
        };
        let prepared = self.prepared(queue, own, device)?;
        if self.rows_at_once(&prepared, device, cols) < rows || self.observer.cancelled() {
            return Ok(None);
        }
        let from = cells.grid.layout.rows_from(0, rows, stride);
        let to = match outs {
            [out] => out.layout.rows_from(0, rows, out_pitch),
            outs => DeviceGridMut::planes(outs, out_pitch),
        };
        let frame = Frame {
            cells: &from,
            out: &to,
            scratch: None,
            rows: rows as u32,
            cols: cols as u32,
            stride: stride as u32,
            first: 0,
            count: rows as u32,
            out_stride: out_pitch as u32,
        };
        tracing::debug!(device = device.name(), kernel = own.kernel.name(), rows, "arrays on a device, at once");
        Ok(prepared.launch_guarded_on(queue, &frame, scan)?.then_some(prepared))
    }

    /// The report where the guess was right.
    fn guessed(&self, prepared: &Prepared, present: &Present, levels: usize) -> Report {
        self.observer.advance((self.grid.0 * self.grid.1) as u64);
        Report {
            kernel: Some(prepared.kernel()),
            kernel_seconds: present.seconds,
            bands: 1,
            levels,
            ..Report::default()
        }
    }

    /// Computes everything, band by band. `problem` is the error for a cell whose number has no code.
    fn over_arrays<T: Real>(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        input: Input<'_>,
        outs: &[DeviceGridMut<'_, T>],
        problem: &dyn Fn(usize, usize) -> Result<Error, Error>,
    ) -> Result<Report, Error> {
        let device = cells.device();
        let own = pick(self.kernel, &self.work, device)?;
        let prepared = self.prepared(queue, own, device)?;
        let (rows, cols) = self.grid;
        let (_, across) = self.seen(&(0..1), &(0..cols));
        let (seen_cols, skip) = (across.len(), across.start.unsigned_abs());
        let mut codes = match input {
            Input::InPlace(_) => None,
            Input::Coded(steps) => Some(self.room_for_codes(queue, cells, steps, seen_cols)?),
        };
        let most = self.rows_at_once(&prepared, device, seen_cols);
        // They see no more rows than there are codes.
        let most = match &codes {
            Some(codes) if codes.room < self.all_seen().len() => most.min(codes.room - 2 * self.radius.0),
            _ => most,
        };
        let (scratch, most) = self.room_for_scratch(&prepared, device, seen_cols, most)?;
        let in_place = self.writable(outs, most == rows);
        let out_pitch = in_place.unwrap_or_else(|| pitch(seen_cols));
        let (staged, band) = match in_place {
            Some(_) => (None, most),
            None => {
                let row = self.planes * out_pitch * size_of::<T>();
                let (staged, band) = shrinking(device, row, (SCRATCH / row).clamp(1, most), 1, 0)?;
                (Some(staged), band)
            }
        };
        // Fewer rows than there is scratch memory for may be cut into shorter pieces, which overlap more.
        let seen_by = |count: usize| (count + 2 * self.radius.0).min(self.all_seen().len());
        let counts = [band.min(rows), rows % band].into_iter().filter(|&count| count > 0);
        let needed = counts.map(|count| prepared.scratch_for(seen_by(count), seen_cols, count)).max().unwrap_or(0);
        let scratch = match scratch {
            Some(memory) if memory.bytes() < needed => {
                drop(memory);
                Some(Buffer::new(device, needed)?)
            }
            scratch => scratch,
        };
        tracing::debug!(
            device = device.name(),
            kernel = own.kernel.name(),
            rows = band,
            reads_itself = codes.is_none(),
            writes_itself = staged.is_none(),
            "arrays on a device"
        );
        let mut report = Report { kernel: Some(own.kernel), ..Report::default() };
        for top in (0..rows).step_by(band) {
            if self.observer.cancelled() {
                return Err(Cancelled.into());
            }
            let own = top..rows.min(top + band);
            let (seen, _) = self.seen(&own, &(0..cols));
            let (from, stride) = match (&mut codes, input) {
                (Some(codes), _) => {
                    self.encode(queue, cells, codes, &seen)?;
                    let before = (seen.start - codes.rows.start) as usize;
                    (codes.memory.part(before * codes.row, seen.len() * codes.row), codes.pitch)
                }
                (None, Input::InPlace(stride)) => {
                    (cells.grid.layout.rows_from(seen.start as usize, seen.len(), stride), stride)
                }
                (None, Input::Coded(_)) => unreachable!("there is room for the codes"),
            };
            let to = match &staged {
                Some(staged) => staged.part(0, staged.bytes()),
                None if outs.len() > 1 => DeviceGridMut::planes(outs, out_pitch),
                None => outs[0].layout.rows_from(own.start, own.len(), out_pitch),
            };
            let frame = Frame {
                cells: &from,
                out: &to,
                scratch: scratch.as_ref(),
                rows: seen.len() as u32,
                cols: seen_cols as u32,
                stride: stride as u32,
                first: (own.start as isize - seen.start) as u32,
                count: own.len() as u32,
                out_stride: out_pitch as u32,
            };
            prepared.launch_on(queue, &frame)?;
            if let Some(staged) = &staged {
                for (plane, out) in outs.iter().enumerate() {
                    // The halo columns on the left have results too, which are not those of their own windows.
                    let first = plane * own.len() * out_pitch + skip;
                    arrays::copy_results(
                        queue,
                        staged,
                        Rows { first, pitch: out_pitch, rows: own.len() },
                        out,
                        own.start,
                    )?;
                }
            }
            if let Some(border) = self.border().filter(|_| own.end == rows) {
                let mut nan = [0; 8];
                nan[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&T::NAN));
                outs.iter().try_for_each(|out| arrays::fill_border(queue, out, border, u64::from_le_bytes(nan)))?;
            }
            let (unmatched, seconds) = arrays::wait_for_codes(queue, cols)?;
            if let Some((row, col)) = unmatched {
                return Err(problem(row, col)?);
            }
            report.kernel_seconds += seconds;
            report.bands += 1;
            self.observer.advance((own.len() * cols) as u64);
        }
        Ok(report)
    }
}

/// Memory for `rows` rows of so many bytes, halved repeatedly where that fails, but no fewer than `least`, such that `spare` bytes and some for
/// records are left. How many it was.
fn shrinking(
    device: &Arc<dyn Device>,
    bytes: usize,
    mut rows: usize,
    least: usize,
    spare: usize,
) -> Result<(Buffer, usize), DeviceError> {
    let make = |rows: usize| {
        let memory = Buffer::new(device, rows * bytes)?;
        Buffer::new(device, SPARE + spare)?;
        Ok(memory)
    };
    loop {
        match make(rows) {
            Ok(memory) => return Ok((memory, rows)),
            Err(DeviceError::OutOfMemory { .. }) if rows > least => rows = rows.div_ceil(2).max(least),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
