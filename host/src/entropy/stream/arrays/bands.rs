//! Bands of a grid in a device's memory, one after another: codes where they are made, the launch, results where they are copied.
//!
//! ```text
//! room for codes, scratch and results     as much as there is, up to 512 MiB each; halved where the device refuses, down to one row of results
//! for each band                           codes of the rows it sees that are not there yet, the launch, copies of results, the border; wait
//! ```
//!
//! A guess is the same for all rows at once, enqueued behind a scan that is not waited for first.

use std::ops::Range;
use std::sync::Arc;

use super::Plan;
use crate::arrays::{self, Cells, Encoder, Encoding, PresenceScan, Present, Rows, Selection};
use crate::classes::steps::Steps;
use crate::entropy::algorithm::Launcher as _;
use crate::entropy::choice::pick;
use crate::entropy::frame::{Frame, pitch};
use crate::entropy::kernel::Own;
use crate::entropy::launch::Prepared;
use crate::entropy::{Error, Report};
use crate::exec::queue::Queue;
use crate::exec::{Buffer, Device, DeviceError, DeviceGridMut};
use crate::numbers::{Real, ValueType};
use crate::observe::Cancelled;

/// Bytes of codes, and of results, that are on the device beside the caller's arrays, unless a single row takes more.
const SCRATCH: usize = 1 << 29;

/// Bytes that are left for records and small tables.
const SPARE: usize = 1 << 18;

/// Rows of a band at most: kernels count rows and cells in 32 bits.
const ROWS: usize = 1 << 19;

/// What the kernels read.
#[derive(Clone, Copy)]
pub(super) enum Input<'a> {
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
    pub(super) fn readable(&self, cells: Cells<'_>) -> Option<usize> {
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
    pub(super) fn guess<T: Real>(
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
    pub(super) fn guessed(&self, prepared: &Prepared, present: &Present, levels: usize) -> Report {
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
    pub(super) fn over_arrays<T: Real>(
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
