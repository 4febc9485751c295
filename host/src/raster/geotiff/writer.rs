//! Rectangles of cells to blocks of a TIFF, as they come.
//!
//! A rectangle is made of whole blocks. They are cut out one by one, prepared (predictor) and compressed by all threads (`encoders`), and
//! appended to the file in their order; some may be on their way when the next rectangle comes. `tiff-writer` keeps where each block went and writes the tags
//! at the very end, when it is known whether the offsets fit 32 bits. It puts the tables of blocks number by number: hence the buffer.

use std::fmt;
use std::io::{BufWriter, ErrorKind, Seek, Write};

use bytemuck::NoUninit;
use rayon::prelude::*;
use tiff_core::{ByteOrder, Compression, PlanarConfiguration, Tag};
use tiff_writer::{Error, ImageBuilder, ImageHandle, TiffVariant, TiffWriteSample, TiffWriter, WriteOptions};

use super::blocks::{Block, Blocks};
use super::encode::Coding;
use super::encoders::{Encoders, Room};
use super::options::{BigTiff, CreationOptions, TILE};
use super::stored::{Stored, StoredType};
use crate::grid::GridView;
use crate::io::{FormatError, Place, Problem, write_failed};

/// Bytes of a strip whose height was not chosen.
const STRIP: usize = 1 << 20;
/// Rows and columns there can be: readers hold them as signed numbers of 32 bits.
const LONGEST_SIDE: usize = i32::MAX as usize;

/// What is to be written, besides the cells.
pub(super) struct Image<'a, T> {
    pub(super) name: &'a str,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) planes: usize,
    pub(super) tags: Vec<Tag>,
    /// What blocks hold beyond the grid's edge.
    pub(super) beyond: T,
    /// Whether a cell may be left out under `SPARSE_OK`: readers will see in its place what this is true for.
    pub(super) is_nothing: fn(T) -> bool,
    /// How cells are stored; as they are without it.
    pub(super) stored: Option<Conversion<T>>,
}

/// From cells to the numbers that are stored.
pub(super) struct Conversion<T> {
    /// Of each plane, in one type.
    pub(super) bands: Vec<Stored>,
    pub(super) push: fn(Stored, &[T], &mut Vec<u8>),
}

/// How a plane's cells are stored.
type Convert<T> = (Stored, fn(Stored, &[T], &mut Vec<u8>));

/// A block of a plane that comes: its index in the file, the plane, its place there.
type Piece<'a, T> = (usize, GridView<'a, T>, Block, Option<Convert<T>>);

/// Which cells make a block.
#[derive(Clone, Copy)]
struct Cutter<T> {
    blocks: Blocks,
    tiled: bool,
    /// Bytes of a stored number, and those of the one beyond the grid's edge.
    size: usize,
    beyond: [u8; 8],
    is_nothing: Option<fn(T) -> bool>,
}

/// Writes the blocks of one image.
pub(super) struct BlockWriter<T, W: Write + Seek> {
    tiff: TiffWriter<BufWriter<W>>,
    image: ImageHandle,
    name: String,
    planes: usize,
    cutter: Cutter<T>,
    stored: Option<Conversion<T>>,
    encoders: Encoders,
}

impl<T, W: Write + Seek> fmt::Debug for BlockWriter<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, planes, cutter: Cutter { blocks, .. }, encoders, .. } = self;
        write!(f, "BlockWriter({name:?}, {planes} planes, {blocks:?}, {:?})", encoders.coding().compression)
    }
}

impl<T: TiffWriteSample + NoUninit, W: Write + Seek> BlockWriter<T, W> {
    pub(super) fn new(out: W, image: Image<'_, T>, options: &CreationOptions) -> Result<Self, FormatError> {
        let Image { name, rows, cols, planes, tags, beyond, is_nothing, stored } = image;
        let refuse = |what: String, advice: &str| Problem::new(what, advice).at(name, Place::FILE);
        let converted = stored.as_ref().and_then(|stored| stored.bands.first()).map(|band| band.stored_type());
        let size = converted.map_or(T::BYTES_PER_SAMPLE, StoredType::bytes);
        let predictor = options
            .predictor_for(converted.map_or(T::SAMPLE_FORMAT == 3, StoredType::is_real))
            .map_err(|e| refuse(e.to_string(), "change the creation options"))?;
        if rows == 0 || cols == 0 || rows > LONGEST_SIDE || cols > LONGEST_SIDE {
            let what = format!("a GeoTIFF has 1 to {LONGEST_SIDE} rows and columns, not {rows} x {cols}");
            return Err(refuse(what, "choose another format or another grid"));
        }
        let bands = u16::try_from(planes).ok().filter(|&bands| bands > 0);
        let bands =
            bands.ok_or_else(|| refuse(format!("a GeoTIFF has 1 to 65535 bands, not {planes}"), "write several"))?;
        // Below 2^31 · 2^31 · 2^16 · 2^3.
        let bytes = (rows * cols) as u128 * planes as u128 * size as u128;
        let variant = match options.bigtiff {
            BigTiff::Yes => TiffVariant::BigTiff,
            BigTiff::No => TiffVariant::Classic,
            BigTiff::IfSafer if bytes > 2_000_000_000 => TiffVariant::BigTiff,
            BigTiff::IfSafer | BigTiff::IfNeeded => TiffVariant::Auto,
        };
        // Found now rather than after 4 GiB.
        if variant == TiffVariant::Classic && options.compression == Compression::None && bytes > u128::from(u32::MAX) {
            return Err(too_long(name));
        }
        let blocks = blocks(rows, cols, size, options);
        let coding = Coding { compression: options.compression, predictor, level: options.level() };
        let mut last = Vec::new();
        match &stored {
            Some(Conversion { bands, push }) if !bands.is_empty() => push(bands[0], &[beyond], &mut last),
            _ => last.extend_from_slice(bytemuck::bytes_of(&beyond)),
        }
        let mut beyond = [0; 8];
        beyond[..size].copy_from_slice(&last);
        let is_nothing = options.sparse.then_some(is_nothing);
        let cutter = Cutter { blocks, tiled: options.tiled, size, beyond, is_nothing };
        let encoders = Encoders::new(coding, (blocks.width * size, size), blocks.height);
        // All of these are below 2^31.
        let (height, width) = (blocks.height as u32, blocks.width as u32);
        let builder = ImageBuilder::new(cols as u32, rows as u32);
        let builder = match converted {
            Some(of) => of.build(builder),
            None => builder.sample_type::<T>(),
        };
        let mut builder = builder.samples_per_pixel(bands).compression(options.compression).predictor(predictor);
        if bands > 1 {
            builder = builder.planar_configuration(PlanarConfiguration::Planar);
        }
        builder = if options.tiled { builder.tiles(width, height) } else { builder.strips(height) };
        builder = tags.into_iter().fold(builder, ImageBuilder::tag);
        let out = BufWriter::with_capacity(1 << 18, out);
        let mut tiff = TiffWriter::new(out, WriteOptions { byte_order: ByteOrder::LittleEndian, variant })
            .map_err(|e| explain(e, name))?;
        let image = tiff.add_image(builder).map_err(|e| explain(e, name))?;
        Ok(Self { tiff, image, name: name.to_owned(), planes, cutter, stored, encoders })
    }

    pub(super) fn block(&self) -> (usize, usize) {
        (self.cutter.blocks.height, self.cutter.blocks.width)
    }

    pub(super) fn is_tiled(&self) -> bool {
        self.cutter.tiled
    }

    /// Writes a rectangle of whole blocks.
    pub(super) fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        self.check(top, left, planes)?;
        let Cutter { blocks, .. } = self.cutter;
        let (rows, cols) = (top..top + planes[0].rows(), left..left + planes[0].cols());
        let conversion = |p: usize| self.stored.as_ref().map(|stored| (stored.bands[p], stored.push));
        let of_plane = |(p, &plane)| {
            let conversion = conversion(p);
            blocks.over(&rows, &cols).map(move |block| (p * blocks.count() + block.index, plane, block, conversion))
        };
        let all: Vec<_> = planes.iter().enumerate().flat_map(of_plane).collect();
        let mut left_over = all.as_slice();
        while !left_over.is_empty() {
            while self.append(false)? {}
            let mut rooms = self.encoders.rooms(left_over.len());
            while rooms.is_empty() {
                self.append(true)?;
                rooms = self.encoders.rooms(left_over.len());
            }
            let (now, later) = left_over.split_at(rooms.len());
            left_over = later;
            let cutter = self.cutter;
            let cut = |((_, plane, block, conversion), room): (&Piece<'_, T>, &mut Room)| {
                cutter.cut(*plane, (top, left), block, *conversion, &mut room.cells)
            };
            // Mostly one has come back. Several are cut out by all threads: one thread's copying would hold up blocks that take no encoding.
            let kept: Vec<bool> = match now {
                [_] => now.iter().zip(&mut rooms).map(cut).collect(),
                _ => now.par_iter().zip(&mut rooms).map(cut).collect(),
            };
            for ((kept, &(index, ..)), room) in kept.into_iter().zip(now).zip(rooms) {
                if kept {
                    self.encoders.begin(index, room);
                } else {
                    self.encoders.leave_out(index);
                    self.encoders.give_back(room);
                }
            }
        }
        Ok(())
    }

    /// Appends the block that comes next to the file, if there is one and it is encoded or to be waited for.
    fn append(&mut self, wait: bool) -> Result<bool, FormatError> {
        let Some((index, encoded)) = self.encoders.next(wait) else { return Ok(false) };
        let written = encoded.and_then(|room| match room {
            Some(room) => {
                self.tiff.write_block_raw(&self.image, index, room.bytes())?;
                self.encoders.give_back(room);
                Ok(())
            }
            None => self.tiff.write_block_sparse(&self.image, index),
        });
        written.map_err(|e| explain(e, &self.name))?;
        Ok(true)
    }

    fn check(&self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let Blocks { rows, cols, height, width } = self.cutter.blocks;
        let misuse = |what: String| Err(write_failed(&self.name, std::io::Error::new(ErrorKind::InvalidInput, what)));
        if planes.len() != self.planes {
            return misuse(format!("{} planes came for {} bands", planes.len(), self.planes));
        }
        let (down, across) = (planes[0].rows(), planes[0].cols());
        if planes.iter().any(|plane| (plane.rows(), plane.cols()) != (down, across)) {
            return misuse("the planes are of different shapes".to_owned());
        }
        let whole = |start: usize, length: usize, block: usize, end: usize| {
            start.is_multiple_of(block)
                && start.checked_add(length).is_some_and(|e| e == end || (e < end && e.is_multiple_of(block)))
        };
        if !whole(top, down, height, rows) || !whole(left, across, width, cols) {
            return misuse(format!(
                "{down} x {across} cells at row {top}, column {left} are no whole blocks of {height} x {width}"
            ));
        }
        Ok(())
    }

    /// Writes the tags and gives the file back. Blocks that did not come are an error.
    pub(super) fn finish(mut self) -> Result<W, FormatError> {
        while self.append(true)? {}
        let out = self.tiff.finish().map_err(|e| explain(e, &self.name))?;
        out.into_inner().map_err(|e| write_failed(&self.name, e.into_error()))
    }
}

impl<T: NoUninit> Cutter<T> {
    /// Cuts a block's cells out of a plane whose first cell is at `corner`; false where it may be left out.
    fn cut(
        &self,
        plane: GridView<'_, T>,
        corner: (usize, usize),
        block: &Block,
        conversion: Option<Convert<T>>,
        cells: &mut Vec<u8>,
    ) -> bool {
        let Blocks { height, width, .. } = self.blocks;
        // Tiles are written whole, the last strip ends with the grid.
        let height = if self.tiled { height } else { block.rows.len() };
        let rows = (block.rows.start - corner.0)..(block.rows.end - corner.0);
        let cols = (block.cols.start - corner.1)..(block.cols.end - corner.1);
        let rows = rows.map(|row| &plane.row(row)[cols.clone()]);
        if self.is_nothing.is_some_and(|is_nothing| rows.clone().all(|row| row.iter().all(|&cell| is_nothing(cell)))) {
            return false;
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
        cells.extend(beyond((height - block.rows.len()) * width));
        if cfg!(target_endian = "big") {
            cells.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        true
    }
}

/// The blocks that the options ask for.
fn blocks(rows: usize, cols: usize, bytes: usize, options: &CreationOptions) -> Blocks {
    let (height, width) = if options.tiled {
        let side = |given: Option<usize>, whole: usize| given.unwrap_or_else(|| TILE.min(whole.next_multiple_of(16)));
        (side(options.block_rows, rows), side(options.block_cols, cols))
    } else {
        let height = options.block_rows.unwrap_or_else(|| STRIP / (cols * bytes).min(STRIP));
        (height.min(rows), cols)
    };
    Blocks { rows, cols, height, width }
}

fn too_long(name: &str) -> FormatError {
    let what = "the file would be longer than the 4 GiB that a classic TIFF may have";
    Problem::new(what, "allow a BigTIFF with BIGTIFF=IF_NEEDED").at(name, Place::FILE)
}

/// An error of `tiff-writer`, in one line.
fn explain(error: Error, name: &str) -> FormatError {
    let at_file = |what: String, advice: &str| Problem::new(what, advice).at(name, Place::FILE);
    match error {
        Error::Io(e) if e.kind() == ErrorKind::NotSeekable => {
            at_file("a GeoTIFF cannot be written to a pipe".to_owned(), "name a regular file, or choose another format")
        }
        Error::Io(e) => write_failed(name, e),
        Error::ClassicOffsetOverflow { .. } | Error::ClassicByteCountOverflow { .. } => too_long(name),
        other => write_failed(name, std::io::Error::new(ErrorKind::InvalidInput, other.to_string())),
    }
}
