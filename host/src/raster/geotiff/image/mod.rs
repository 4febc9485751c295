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
//!
//! Here is the choice; `read` has the three ways, and `permits` limits how many threads decode at once.

use std::fmt;
use std::sync::Mutex;

use tiff_core as tag;
use tiff_reader::source::SharedSource;
use tiff_reader::{Ifd, TiffFile};

mod permits;
mod read;

use permits::Permits;

use super::blocks::Blocks;
use super::damaged;
use super::decode::block::Decoder;
use super::decode::cache::Cache;
use super::decode::codec::{Codec, zstd_window};
use super::decode::stored::CHUNK;
use super::decode::stream::{self, Cursor};
use super::layout::{Layout, number};
use super::tables::Tables;
use crate::io::{FormatError, Place, Problem};
use crate::numbers::ValueType;

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
        self.share_cache_bytes(bytes, 1)
    }

    /// The same where so many images share `all` bytes. What decodes blocks at a time is threads, not images: where there is room for all of them, each image
    /// lets all decode, and only what is held is shared.
    ///
    /// # Errors
    /// As above.
    pub(super) fn share_cache_bytes(&mut self, all: usize, shares: usize) -> Result<(), FormatError> {
        let bytes = all / shares.max(1);
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
        let codec = self.window.saturating_mul(2).saturating_add(256 << 10);
        let state =
            codec.saturating_add(CHUNK as u64 + (128 << 10)).saturating_add(format.row_bytes().saturating_mul(2));
        let streams = !matches!(self.layout.codec, Codec::Lerc(_));
        let one = if streams {
            // All of it with what is stored of it, where it is decoded at once.
            block.saturating_add(state).saturating_add(2 * self.decoder.whole().unwrap_or(0))
        } else {
            // The blob, its numbers and its mask for all bands, and the band.
            let all = format.row_bytes().saturating_mul(height as u64);
            all.saturating_mul(2)
                .saturating_add(block)
                .saturating_add(width as u64 * height as u64)
                .saturating_add(state)
        };
        let cursor = state.saturating_add((256 << 10) + 2 * row);
        let cursors = if streams { cursor.saturating_mul(across) } else { u64::MAX };
        let small = block <= SMALL;
        if small && all as u64 / 2 / one >= threads {
            let cache = (all as u64 - threads * one) / shares.max(1) as u64;
            self.mode = Mode::Whole { cache: Cache::new(cache as usize), permits: Permits::new(threads as usize) };
            return Ok(());
        }
        let at_once = (budget / 2 / one).min(threads);
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

    /// A block's number in the file.
    fn index(&self, band: usize, block: usize) -> usize {
        if self.layout.planes { band * self.blocks.count() + block } else { block }
    }

    /// Which of the samples side by side is the band's.
    fn sample(&self, band: usize) -> usize {
        if self.layout.planes { 0 } else { band }
    }
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
