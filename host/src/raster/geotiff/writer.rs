//! Rectangles of cells to blocks of a TIFF, as they come.
//!
//! A rectangle is made of whole blocks. They are cut out one by one (`cutter`), prepared (predictor) and compressed by all threads (`encoders`), and
//! handed to the file in their order (`file`); some may be on their way when the next rectangle comes. Rectangles go on to the overviews, whose blocks go the
//! same way when a row of them is whole.

use std::fmt;
use std::io::{ErrorKind, Seek, Write};

use bytemuck::NoUninit;
use rayon::prelude::*;
use tiff_core::{Compression, PlanarConfiguration, Tag};
use tiff_writer::{Error, ImageBuilder, TiffWriteSample};

use super::blocks::Blocks;
use super::cutter::{Conversion, Cutter, Piece, Summed};
use super::encode::Coding;
use super::encoders::{Encoders, Room};
use super::file::{TiffFile, Variant};
use super::options::{BigTiff, CreationOptions, TILE};
use super::overviews::{Halve, Overviews, shapes};
use super::statistics::Statistics;
use super::stored::StoredType;
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
    /// Tags of the image, and those of its overviews too.
    pub(super) tags: Vec<Tag>,
    pub(super) shared: Vec<Tag>,
    /// What blocks hold beyond the grid's edge.
    pub(super) beyond: T,
    /// Whether a cell may be left out under `SPARSE_OK`: readers will see in its place what this is true for.
    pub(super) is_nothing: fn(T) -> bool,
    /// How cells are stored; as they are without it.
    pub(super) stored: Option<Conversion<T>>,
    /// Whether numbers are summed up, and which.
    pub(super) summed: Option<Summed>,
    /// How overviews are made.
    pub(super) halve: Halve<T>,
}

/// The image and its overviews.
struct Images<T, W: Write + Seek> {
    file: TiffFile<W>,
    name: String,
    planes: usize,
    /// Of each image.
    cutters: Vec<Cutter<T>>,
    stored: Option<Conversion<T>>,
    encoders: Encoders,
    /// Of each row of blocks of the first image, plane after plane, where they are asked for: a row's blocks come from left to right, in whatever pieces.
    statistics: Vec<Statistics>,
}

/// Writes the blocks of one image, and those of its overviews.
pub(super) struct BlockWriter<T, W: Write + Seek> {
    images: Images<T, W>,
    overviews: Overviews<T>,
}

impl<T, W: Write + Seek> fmt::Debug for BlockWriter<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Images { name, planes, cutters, encoders, .. } = &self.images;
        let blocks: Vec<Blocks> = cutters.iter().map(|cutter| cutter.blocks).collect();
        write!(f, "BlockWriter({name:?}, {planes} planes, {blocks:?}, {:?})", encoders.coding().compression)
    }
}

impl<T: TiffWriteSample + NoUninit + Send + Sync, W: Write + Seek> BlockWriter<T, W> {
    pub(super) fn new(out: W, image: Image<'_, T>, options: &CreationOptions) -> Result<Self, FormatError> {
        let Image { name, rows, cols, planes, tags, shared, beyond, is_nothing, stored, summed, halve } = image;
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
            BigTiff::Yes => Variant::Big,
            BigTiff::No => Variant::Classic,
            BigTiff::IfSafer if bytes > 2_000_000_000 => Variant::Big,
            BigTiff::IfSafer | BigTiff::IfNeeded => Variant::AsNeeded,
        };
        // Found now rather than after 4 GiB.
        if variant == Variant::Classic && options.compression == Compression::None && bytes > u128::from(u32::MAX) {
            return Err(too_long(name));
        }
        let blocks = blocks(rows, cols, size, options);
        let coding = Coding { compression: options.compression, predictor, level: options.level() };
        let mut last = Vec::new();
        match &stored {
            Some(Conversion { bands, push }) if !bands.is_empty() => push(bands[0], &[beyond], &mut last),
            _ => last.extend_from_slice(bytemuck::bytes_of(&beyond)),
        }
        let mut outside = [0; 8];
        outside[..size].copy_from_slice(&last);
        let is_nothing = options.sparse.then_some(is_nothing);
        let whole = Cutter { blocks, tiled: options.tiled, size, beyond: outside, is_nothing, summed };
        let smaller = if options.has_overviews() { shapes(blocks) } else { Vec::new() };
        let overviews = Overviews::new(&smaller, planes, beyond, halve, name);
        let cutters: Vec<Cutter<T>> = std::iter::once(whole)
            .chain(smaller.into_iter().map(|blocks| Cutter { blocks, summed: None, ..whole }))
            .collect();
        let encoders = Encoders::new(coding, (blocks.width * size, size), blocks.height);
        let scratch = options.scratch().map_err(|e| write_failed(name, e))?;
        let mut file = TiffFile::new(out, variant, scratch).map_err(|e| explain(e, name))?;
        for (i, Cutter { blocks: Blocks { rows, cols, height, width }, .. }) in cutters.iter().enumerate() {
            // All of these are below 2^31.
            let builder = ImageBuilder::new(*cols as u32, *rows as u32);
            let builder = match converted {
                Some(of) => of.build(builder),
                None => builder.sample_type::<T>(),
            };
            let mut builder = builder.samples_per_pixel(bands).compression(options.compression).predictor(predictor);
            if bands > 1 {
                builder = builder.planar_configuration(PlanarConfiguration::Planar);
            }
            let (height, width) = (*height as u32, *width as u32);
            builder = if options.tiled { builder.tiles(width, height) } else { builder.strips(height) };
            builder = if i > 0 { builder.overview() } else { builder };
            let own = if i > 0 { &[][..] } else { &tags[..] };
            builder = shared.iter().chain(own).cloned().fold(builder, ImageBuilder::tag);
            file.add(builder).map_err(|e| explain(e, name))?;
        }
        let summed = if summed.is_some() { planes * blocks.down() } else { 0 };
        let statistics = vec![Statistics::default(); summed];
        let images = Images { file, name: name.to_owned(), planes, cutters, stored, encoders, statistics };
        Ok(Self { images, overviews })
    }

    pub(super) fn block(&self) -> (usize, usize) {
        let Blocks { height, width, .. } = self.images.cutters[0].blocks;
        (height, width)
    }

    pub(super) fn is_tiled(&self) -> bool {
        self.images.cutters[0].tiled
    }

    /// Bytes that are kept from rectangle to rectangle.
    pub(super) fn kept_bytes(&self) -> usize {
        self.overviews.bytes()
    }

    /// Writes a rectangle of whole blocks.
    pub(super) fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let Self { images, overviews } = self;
        images.check(top, left, planes)?;
        images.write(0, (top, left), planes)?;
        overviews.add((top, left), planes, &mut |image, top, planes| images.write(image, (top, 0), planes))
    }

    /// Writes the tags, with those that follow from what the numbers of each band are alike, if that was asked for, and gives the file back. Blocks
    /// that did not come are an error.
    pub(super) fn finish(self, tags: impl FnOnce(&[Statistics]) -> Vec<Tag>) -> Result<W, FormatError> {
        let Images { mut file, name, mut encoders, statistics, cutters, .. } = self.images;
        while append(&mut file, &mut encoders, &name, true)? {}
        let of_plane = |blocks: &[Statistics]| blocks.iter().copied().fold(Statistics::default(), Statistics::with);
        let statistics: Vec<Statistics> = statistics.chunks(cutters[0].blocks.down()).map(of_plane).collect();
        file.finish(tags(&statistics)).map_err(|e| explain(e, &name))
    }
}

impl<T: TiffWriteSample + NoUninit + Send + Sync, W: Write + Seek> Images<T, W> {
    /// Writes a rectangle of whole blocks of an image.
    fn write(
        &mut self,
        image: usize,
        (top, left): (usize, usize),
        planes: &[GridView<'_, T>],
    ) -> Result<(), FormatError> {
        let Self { file, name, cutters, stored, encoders, statistics, .. } = self;
        let cutter = cutters[image];
        let blocks = cutter.blocks;
        let (rows, cols) = (top..top + planes[0].rows(), left..left + planes[0].cols());
        let conversion = |p: usize| stored.as_ref().map(|stored| (stored.bands[p], stored.push));
        let of_plane = |(p, &plane)| {
            let conversion = conversion(p);
            blocks.over(&rows, &cols).map(move |block| (p * blocks.count() + block.index, plane, block, conversion))
        };
        let all: Vec<_> = planes.iter().enumerate().flat_map(of_plane).collect();
        let mut left_over = all.as_slice();
        while !left_over.is_empty() {
            while append(file, encoders, name, false)? {}
            let mut rooms = encoders.rooms(left_over.len());
            while rooms.is_empty() {
                append(file, encoders, name, true)?;
                rooms = encoders.rooms(left_over.len());
            }
            let (now, later) = left_over.split_at(rooms.len());
            left_over = later;
            let cut = |((_, plane, block, conversion), room): (&Piece<'_, T>, &mut Room)| {
                cutter.cut(*plane, (top, left), block, *conversion, &mut room.cells)
            };
            // Mostly one has come back. Several are cut out by all threads: one thread's copying would hold up blocks that take no encoding.
            let made: Vec<(bool, Statistics)> = match now {
                [_] => now.iter().zip(&mut rooms).map(cut).collect(),
                _ => now.par_iter().zip(&mut rooms).map(cut).collect(),
            };
            for (((kept, alike), &(index, ..)), room) in made.into_iter().zip(now).zip(rooms) {
                if cutter.summed.is_some() {
                    let row = index / blocks.across();
                    statistics[row] = statistics[row].with(alike);
                }
                if kept {
                    encoders.begin((image, index), room);
                } else {
                    encoders.leave_out((image, index));
                    encoders.give_back(room);
                }
            }
        }
        Ok(())
    }

    fn check(&self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let Blocks { rows, cols, height, width } = self.cutters[0].blocks;
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
}

/// Appends the block that comes next to the file, if there is one and it is encoded or to be waited for.
fn append<W: Write + Seek>(
    file: &mut TiffFile<W>,
    encoders: &mut Encoders,
    name: &str,
    wait: bool,
) -> Result<bool, FormatError> {
    let Some(((image, index), encoded)) = encoders.next(wait) else { return Ok(false) };
    let written = encoded.and_then(|room| match room {
        Some(room) => {
            file.put(image, index, room.bytes())?;
            encoders.give_back(room);
            Ok(())
        }
        None => file.leave_out(image, index),
    });
    written.map_err(|e| explain(e, name))?;
    Ok(true)
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
