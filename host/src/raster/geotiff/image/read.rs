//! Rectangles of a band: rows by position, blocks that are decoded whole and kept, or blocks that are decoded as streams.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

use super::permits::Permits;
use super::{Image, Mode};
use crate::io::{FormatError, Place, Problem};
use crate::numbers::ValueType;
use crate::profile::stage;
use crate::raster::Values;
use crate::raster::geotiff::blocks::{Block, Blocks};
use crate::raster::geotiff::decode::Fault;
use crate::raster::geotiff::decode::cache::Cache;
use crate::raster::geotiff::decode::rows::Format;
use crate::raster::geotiff::decode::stream::{Column, Cursor};
use crate::raster::geotiff::{damaged, explain};

/// Blocks of a batch, for each thread.
const BATCH: usize = 8;

impl Image {
    /// The numbers of a rectangle of a band, counted from 0. The rectangle must be inside, and not empty.
    ///
    /// # Errors
    /// Blocks that cannot be read or decoded, with their place, and too little memory.
    pub(in crate::raster::geotiff) fn read(
        &self,
        band: usize,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> Result<Values, FormatError> {
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
                let _stage = stage("decode block");
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
fn row_bytes_of_eight(format: &Format) -> u64 {
    Format { width: 8, ..*format }.row_bytes()
}

fn no_memory(bytes: usize) -> Problem {
    Problem::new(format!("there is not enough memory for {bytes} bytes"), "ask for less at a time")
}
