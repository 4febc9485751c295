//! One image of a TIFF file: its blocks, and how they become cells.
//!
//! There are three ways to read, and [`Image::set_cache_bytes`] chooses by the memory that it is given:
//!
//! ```text
//! Direct   uncompressed            rows, or stretches of them, by position; nothing is held
//! Whole    blocks that fit         decoded by all threads, and kept in a cache of so many bytes
//! Stream   blocks that do not      a cursor a column of blocks, from top to bottom, and the last rows (`decode::stream`)
//! ```
//!
//! Blocks fit if each thread can have one and a row of blocks can be kept besides: windows are rarely as high as a large block, and would
//! have it decoded again and again. Blocks of a few MiB at most are whole in any case, by fewer threads at once if need be, because what
//! their windows share is small.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;
use tiff_core as tag;
use tiff_reader::source::SharedSource;
use tiff_reader::{Ifd, TiffFile};

use super::blocks::{Block, Blocks};
use super::decode::Fault;
use super::decode::block::Decoder;
use super::decode::cache::Cache;
use super::decode::codec::{Codec, zstd_window};
use super::decode::stored::CHUNK;
use super::decode::stream::{self, Column, Cursor};
use super::layout::{Layout, number};
use super::tables::Tables;
use super::{damaged, explain};
use crate::io::{FormatError, Place, Problem};
use crate::numbers::ValueType;
use crate::raster::Values;

/// Bytes that an image may take before [`Image::set_cache_bytes`] says otherwise.
pub(super) const BUDGET: usize = 256 << 20;
/// Bytes that may be taken whatever the budget is. Nothing is refused that fits in them.
const FLOOR: u64 = 16 << 20;
/// Decoded bytes of a block that is worth no cursor.
const SMALL: u64 = 4 << 20;
/// Bytes of a unit, where blocks are read in parts.
const UNIT: usize = 1 << 20;
/// Rows that two windows of the largest size share, and that a stream holds if they fit in [`FLOOR`].
const OVERLAP: u64 = 256;
/// Blocks of a batch, for each thread.
const BATCH: usize = 8;

/// How cells are read.
enum Mode {
    Direct {
        /// Bytes of the file that a thread reads at once.
        piece: usize,
    },
    Whole {
        cache: Cache,
        permits: Permits,
    },
    Stream {
        cursors: Vec<Mutex<Cursor>>,
        /// Rows that each holds.
        held: usize,
    },
}

/// One image of a file.
pub(super) struct Image {
    name: String,
    layout: Layout,
    blocks: Blocks,
    tables: Tables,
    decoder: Decoder,
    /// Bytes of history that a decoder needs.
    window: u64,
    mode: Mode,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout: Layout { bands, value_type, .. }, blocks, .. } = self;
        write!(f, "{bands} bands, {value_type:?}, {blocks:?}")
    }
}

impl Image {
    /// The image of a directory of the file.
    ///
    /// # Errors
    /// What is not read, is damaged, or cannot be decoded in [`BUDGET`] bytes.
    pub(super) fn open(source: &SharedSource, file: &TiffFile, ifd: &Ifd, name: &str) -> Result<Self, FormatError> {
        let at_file = |problem: Problem| problem.at(name, Place::FILE);
        let big_endian = file.byte_order() == tag::ByteOrder::BigEndian;
        let layout = Layout::of(ifd, big_endian, name).map_err(at_file)?;
        let blocks = blocks(ifd, &layout).map_err(at_file)?;
        let format = layout.format(blocks.width);
        let tables = Tables::of(ifd, &layout, blocks, format.row_bytes(), source.len()).map_err(at_file)?;
        let decoder = Decoder {
            source: source.clone(),
            codec: layout.codec,
            reversed: layout.reversed,
            format,
            height: blocks.height,
        };
        let window = match layout.codec {
            Codec::Zstd => (0..blocks.count()).find_map(|i| tables.place(i)).map_or(0, |place| {
                let (at, length) = tables.within(place);
                let mut frame = source.read_exact_at(at, length.min(18) as usize).unwrap_or_default();
                if layout.reversed {
                    frame.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
                }
                zstd_window(&frame)
            }),
            _ => 0,
        };
        let mode = Mode::Direct { piece: UNIT };
        let mut image = Self { name: name.to_owned(), layout, blocks, tables, decoder, window, mode };
        image.set_cache_bytes(BUDGET)?;
        Ok(image)
    }

    /// How many bands it has.
    pub(super) fn bands(&self) -> usize {
        self.layout.bands
    }

    pub(super) fn rows(&self) -> usize {
        self.blocks.rows
    }

    pub(super) fn cols(&self) -> usize {
        self.blocks.cols
    }

    pub(super) fn value_type(&self) -> ValueType {
        self.layout.value_type
    }

    /// The blocks of a plane.
    pub(super) fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Whether a block is in the file. Those that are not hold zeros.
    pub(super) fn is_stored(&self, band: usize, block: usize) -> bool {
        self.tables.place(self.index(band, block)).is_some()
    }

    /// Rows and columns of what is read at once: blocks, or parts of them where they are never held.
    pub(super) fn unit(&self) -> (usize, usize) {
        let Blocks { height, width, .. } = self.blocks;
        match self.mode {
            Mode::Whole { .. } => (height, width),
            Mode::Direct { .. } | Mode::Stream { .. } => {
                let row = width.saturating_mul(self.decoder.format.size());
                (height.min((UNIT / row).max(1)), width)
            }
        }
    }

    /// True where blocks are decoded as streams.
    pub(super) fn in_order(&self) -> bool {
        matches!(self.mode, Mode::Stream { .. })
    }

    /// Takes at most `bytes` from now on, or 16 MiB, for blocks and rows that are held and what decoding them needs.
    ///
    /// # Errors
    /// Blocks that cannot be decoded in that.
    pub(super) fn set_cache_bytes(&mut self, bytes: usize) -> Result<(), FormatError> {
        let budget = bytes as u64;
        let threads = rayon::current_num_threads().max(1) as u64;
        if self.layout.codec == Codec::None {
            self.mode = Mode::Direct { piece: (bytes / (2 * threads as usize)).clamp(UNIT / 16, UNIT) };
            return Ok(());
        }
        let Blocks { rows, height, width, .. } = self.blocks;
        let across = self.blocks.across() as u64;
        let format = &self.decoder.format;
        let row = width as u64 * format.size() as u64;
        let block = row.saturating_mul(height.min(rows) as u64);
        // A chunk of the file, a group of rows as they are stored, the codec's own, and what allocators leave.
        let codec = self.window.saturating_mul(2) + (256 << 10);
        let state = (CHUNK as u64 + (128 << 10) + codec).saturating_add(format.row_bytes().saturating_mul(2));
        let streams = !matches!(self.layout.codec, Codec::Lerc(_));
        let one = if streams {
            block.saturating_add(state)
        } else {
            // The blob, its numbers and its mask for all bands, and the band.
            let all = format.row_bytes().saturating_mul(height as u64);
            all.saturating_mul(2)
                .saturating_add(block)
                .saturating_add(width as u64 * height as u64)
                .saturating_add(state)
        };
        let cursors = if streams { (state + (256 << 10) + 2 * row).saturating_mul(across) } else { u64::MAX };
        let at_once = (budget / 2 / one).min(threads);
        let small = block <= SMALL;
        let whole_row = block.saturating_mul(across).saturating_add(at_once * one) <= budget;
        let whole = at_once >= 1 && (small || at_once == threads && whole_row);
        self.mode = if whole || (!streams || cursors > budget && cursors >= one) && one <= budget.max(FLOOR) {
            let at_once = at_once.max(1);
            let cache = budget.saturating_sub(at_once.saturating_mul(one));
            Mode::Whole { cache: Cache::new(cache as usize), permits: Permits::new(at_once as usize) }
        } else if streams && cursors <= budget.max(FLOOR) {
            // Without the rows that windows share, each would begin its block again.
            let rows = |bytes: u64| bytes.saturating_sub(cursors) / across / (row + stream::ROW as u64);
            let held = rows(budget).max(rows(FLOOR).min(OVERLAP));
            let cursors = (0..across).map(|_| Mutex::default()).collect();
            Mode::Stream { cursors, held: held as usize }
        } else {
            let least = one.min(cursors).div_ceil(1 << 20);
            let Blocks { height, width, .. } = self.blocks;
            return Err(Problem::new(
                format!(
                    "its blocks of {height} x {width} cells take {least} MiB of memory while they are decoded, and {} MiB \
                     are there for that",
                    budget.max(FLOOR) >> 20
                ),
                "allow more memory, or cut it into smaller blocks, as with gdal_translate -co TILED=YES",
            )
            .at(&self.name, Place::FILE));
        };
        Ok(())
    }

    /// The numbers of a rectangle of a band, counted from 0. The rectangle must be inside, and not empty.
    ///
    /// # Errors
    /// Blocks that cannot be read or decoded, with their place, and too little memory.
    pub(super) fn read(&self, band: usize, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        fn of<T: Pod>(
            image: &Image,
            band: usize,
            rows: &Range<usize>,
            cols: &Range<usize>,
        ) -> Result<Vec<T>, FormatError> {
            let count = rows.len().saturating_mul(cols.len());
            let mut values = Vec::new();
            let room = values.try_reserve_exact(count);
            room.map_err(|_| no_memory(count.saturating_mul(size_of::<T>())).at(&image.name, Place::FILE))?;
            values.resize(count, T::zeroed());
            image.fill(band, rows, cols, bytemuck::cast_slice_mut(&mut values))?;
            Ok(values)
        }
        let (rows, cols) = (&rows, &cols);
        Ok(match self.layout.value_type {
            ValueType::U8 => Values::U8(of(self, band, rows, cols)?),
            ValueType::I8 => Values::I8(of(self, band, rows, cols)?),
            ValueType::U16 => Values::U16(of(self, band, rows, cols)?),
            ValueType::I16 => Values::I16(of(self, band, rows, cols)?),
            ValueType::U32 => Values::U32(of(self, band, rows, cols)?),
            ValueType::I32 => Values::I32(of(self, band, rows, cols)?),
            ValueType::U64 => Values::U64(of(self, band, rows, cols)?),
            ValueType::I64 => Values::I64(of(self, band, rows, cols)?),
            ValueType::F32 => Values::F32(of(self, band, rows, cols)?),
            ValueType::F64 => Values::F64(of(self, band, rows, cols)?),
        })
    }

    /// A block's number in the file.
    fn index(&self, band: usize, block: usize) -> usize {
        if self.layout.planes { band * self.blocks.count() + block } else { block }
    }

    /// Which of the samples side by side is the band's.
    fn sample(&self, band: usize) -> usize {
        if self.layout.planes { 0 } else { band }
    }

    /// Fills zeros with a rectangle's cells; blocks that are not in the file are left as they are.
    fn fill(&self, band: usize, rows: &Range<usize>, cols: &Range<usize>, out: &mut [u8]) -> Result<(), FormatError> {
        let row_bytes = cols.len() * self.decoder.format.size();
        if let Mode::Stream { cursors, held } = &self.mode {
            return self.stream(band, rows, cols, out, (cursors, *held));
        }
        // A batch of whole rows of blocks, enough for all threads.
        let Blocks { height, .. } = self.blocks;
        let across = cols.end.div_ceil(self.blocks.width) - cols.start / self.blocks.width;
        let down = (BATCH * rayon::current_num_threads()).div_ceil(across).saturating_mul(height);
        // Rows of a block that is not decoded go to all threads.
        let at_once = match self.mode {
            Mode::Direct { piece } => (2 * piece / row_bytes.max(1)).max(1),
            _ => height,
        };
        let mut out = out;
        let mut top = rows.start;
        while top < rows.end {
            let bottom = (top / height * height).saturating_add(down).min(rows.end);
            let (part, rest) = out.split_at_mut((bottom - top) * row_bytes);
            let mut columns: Vec<_> = self.columns(cols, part).into_iter().map(Vec::into_iter).collect();
            let mut tasks = Vec::new();
            for (i, block) in self.blocks.over(&(top..bottom), cols).enumerate() {
                let inside = block.rows.start.max(top)..block.rows.end.min(bottom);
                for first in inside.clone().step_by(at_once) {
                    let rows = first..inside.end.min(first + at_once);
                    let lines: Vec<_> = columns[i % across].by_ref().take(rows.len()).collect();
                    tasks.push((block.clone(), rows, lines));
                }
            }
            let failed = tasks.into_par_iter().map(|(block, inside, mut lines)| {
                let read = match &self.mode {
                    Mode::Direct { piece } => self.direct(band, &block, &inside, cols, *piece, &mut lines),
                    Mode::Whole { cache, permits } => {
                        self.whole(band, &block, &inside, cols, (cache, permits), &mut lines)
                    }
                    Mode::Stream { .. } => Ok(()),
                };
                read.map_err(|fault| self.failed(block.index, fault))
            });
            // The first in the file's order, whichever thread was faster.
            if let Some(error) = failed.find_map_first(Result::err) {
                return Err(error);
            }
            (out, top) = (rest, bottom);
        }
        Ok(())
    }

    /// A rectangle's rows, cut where columns of blocks end.
    fn columns<'o>(&self, cols: &Range<usize>, out: &'o mut [u8]) -> Vec<Vec<&'o mut [u8]>> {
        let (width, size) = (self.blocks.width, self.decoder.format.size());
        let first = cols.start / width;
        let count = cols.end.div_ceil(width) - first;
        let rows = out.len() / (cols.len() * size);
        let mut columns: Vec<Vec<&mut [u8]>> = (0..count).map(|_| Vec::with_capacity(rows)).collect();
        for mut row in out.chunks_exact_mut(cols.len() * size) {
            let mut left = cols.start;
            for (i, column) in columns.iter_mut().enumerate() {
                let right = (first + i + 1).saturating_mul(width).min(cols.end);
                let (part, rest) = std::mem::take(&mut row).split_at_mut((right - left) * size);
                column.push(part);
                (row, left) = (rest, right);
            }
        }
        columns
    }

    /// Rows of an uncompressed block, by position.
    fn direct(
        &self,
        band: usize,
        block: &Block,
        rows: &Range<usize>,
        cols: &Range<usize>,
        piece: usize,
        out: &mut [&mut [u8]],
    ) -> Result<(), Fault> {
        let Some((start, length)) = self.tables.place(self.index(band, block.index)) else { return Ok(()) };
        let (format, sample) = (&self.decoder.format, self.sample(band));
        let row_bytes = format.row_bytes();
        let top = block.rows.start;
        if let Some(length) = length.filter(|&length| (rows.end - top) as u64 * row_bytes > length) {
            return Err(Fault::data(format_args!("uncompressed: it has only {length} bytes")));
        }
        // Cells of the block, from one on that begins with a byte.
        let step = if format.stored_size().is_some() { 1 } else { 8 };
        let wanted =
            cols.start.max(block.cols.start) - block.cols.start..cols.end.min(block.cols.end) - block.cols.start;
        let bytes_of = |cells: usize| (cells as u64 * row_bytes_of_eight(format)).div_ceil(8);
        let mut scratch = Vec::new();
        let read = |at: u64, length: u64| {
            let mut bytes = self.decoder.source.read_exact_at(at, length as usize).map_err(Fault::Source)?;
            if self.layout.reversed {
                bytes.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            Ok::<_, Fault>(bytes)
        };
        let at = |row: usize| start.saturating_add((row - top) as u64 * row_bytes);
        if row_bytes <= piece as u64 && 4 * wanted.len() >= format.width {
            // Many rows at once, with what lies beside them.
            let at_once = piece / row_bytes.max(1) as usize;
            for (i, lines) in out.chunks_mut(at_once).enumerate() {
                let first = rows.start + i * at_once;
                let mut bytes = read(at(first), lines.len() as u64 * row_bytes)?;
                for (row, line) in bytes.chunks_exact_mut(row_bytes as usize).zip(lines) {
                    format.prepare(row, &mut scratch);
                    format.pick(row, sample, wanted.start, line);
                }
            }
            return Ok(());
        }
        let cells = (piece as u64 * 8 / row_bytes_of_eight(format)).max(1) as usize;
        let cells = cells.next_multiple_of(step);
        for (row, line) in rows.clone().zip(out) {
            let mut from = wanted.start / step * step;
            while from < wanted.end {
                let to = (from + cells).min(wanted.end);
                let (begin, end) = (bytes_of(from), bytes_of(to));
                let mut bytes = read(at(row) + begin, end - begin)?;
                format.prepare(&mut bytes, &mut scratch);
                let inside = from.max(wanted.start)..to;
                let size = format.size();
                let places = (inside.start - wanted.start) * size..(inside.end - wanted.start) * size;
                format.pick(&bytes, sample, inside.start - from, &mut line[places]);
                from = to;
            }
        }
        Ok(())
    }

    /// A part of a block that is decoded whole, or has been.
    fn whole(
        &self,
        band: usize,
        block: &Block,
        rows: &Range<usize>,
        cols: &Range<usize>,
        (cache, permits): (&Cache, &Permits),
        out: &mut [&mut [u8]],
    ) -> Result<(), Fault> {
        let index = self.index(band, block.index);
        let Some(place) = self.tables.place(index) else { return Ok(()) };
        let (place, key) = (self.tables.within(place), (index, band));
        let size = self.decoder.format.size();
        let copy = |cells: &[u8], out: &mut [&mut [u8]]| {
            let left = (cols.start.max(block.cols.start) - block.cols.start) * size;
            let lines = cells.chunks_exact(block.cols.len() * size).skip(rows.start - block.rows.start);
            lines.zip(out).for_each(|(line, out)| out.copy_from_slice(&line[left..left + out.len()]));
        };
        if let Some(cells) = cache.get(key) {
            copy(&cells, out);
            return Ok(());
        }
        let _permit = permits.take();
        // Another may have decoded it meanwhile.
        let cells = match cache.get(key) {
            Some(cells) => cells,
            None => {
                let shape = (block.rows.len(), block.cols.len());
                let cells = Arc::new(self.decoder.block(place, self.sample(band), shape)?);
                cache.put(key, &cells);
                cells
            }
        };
        copy(&cells, out);
        Ok(())
    }

    /// A rectangle of blocks that are decoded as streams.
    fn stream(
        &self,
        band: usize,
        rows: &Range<usize>,
        cols: &Range<usize>,
        out: &mut [u8],
        (cursors, held): (&[Mutex<Cursor>], usize),
    ) -> Result<(), FormatError> {
        let Blocks { width, .. } = self.blocks;
        let across = self.blocks.across();
        let first = cols.start / width;
        let failed = self.columns(cols, out).into_par_iter().enumerate().map(|(i, mut lines)| {
            let column = first + i;
            let place = |down: usize| {
                let place = self.tables.place(self.index(band, down * across + column));
                place.map(|place| self.tables.within(place))
            };
            let inside = self.blocks.block(column).cols;
            let of = Column { decoder: &self.decoder, place: &place, rows: self.blocks.rows, cols: inside.len() };
            let left = cols.start.max(inside.start) - inside.start;
            let mut cursor = cursors[column].lock().unwrap_or_else(PoisonError::into_inner);
            let read = cursor.read(&of, self.sample(band), (rows.clone(), left), held, &mut lines);
            read.map_err(|(down, fault)| (down * across + column, fault))
        });
        // The first in the file's order.
        match failed.filter_map(Result::err).min_by_key(|(block, _)| *block) {
            None => Ok(()),
            Some((block, fault)) => Err(self.failed(block, fault)),
        }
    }

    fn failed(&self, block: usize, fault: Fault) -> FormatError {
        let block = self.blocks.block(block);
        let place = Place::cell(block.rows.start, block.cols.start);
        match fault {
            Fault::Source(error) => explain(error, &self.name).placed(place),
            Fault::Data(reason) => {
                damaged(format!("the block that begins there cannot be decoded ({reason})")).at(&self.name, place)
            }
            Fault::Memory(bytes) => no_memory(bytes).at(&self.name, place),
        }
    }
}

/// Bits of a cell as it is stored, in all samples.
fn row_bytes_of_eight(format: &super::decode::rows::Format) -> u64 {
    super::decode::rows::Format { width: 8, ..*format }.row_bytes()
}

fn no_memory(bytes: usize) -> Problem {
    Problem::new(format!("there is not enough memory for {bytes} bytes"), "ask for less at a time")
}

/// The blocks of a plane.
fn blocks(ifd: &Ifd, layout: &Layout) -> Result<Blocks, Problem> {
    let Layout { rows, cols, .. } = *layout;
    let size = |code, default: usize| usize::try_from(number(ifd, code, default as u64)).unwrap_or(usize::MAX);
    let (height, width) = if ifd.is_tiled() {
        (size(tag::TAG_TILE_LENGTH, 0), size(tag::TAG_TILE_WIDTH, 0))
    } else {
        (size(tag::TAG_ROWS_PER_STRIP, rows).min(rows), cols)
    };
    if height == 0 || width == 0 || height.max(width) > u32::MAX as usize {
        return Err(damaged(format!("its blocks have {height} rows and {width} columns")));
    }
    Ok(Blocks { rows, cols, height, width })
}

/// So many at once, and no more.
struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

struct Permit<'a>(&'a Permits);

impl Permits {
    fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
