//! How the columns kernels cut a frame, and what their launches make first, in memory that comes with it: row histograms at the heads of strips for large
//! windows, codes of tiles for more than 16 classes.
//!
//! A frame's strips are tiles too, a few of them side by side: both are cut here.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, LaunchConfig};

use super::share::{SHORT_WAIT, share_rows};
use super::{Common, Launch, Work, scratch_of};
use crate::entropy::frame::Frame;

/// Columns by whose [`scratch_bytes`](super::Descriptor::scratch_bytes) those of wider rows are estimated: two tiles.
pub(in crate::entropy) fn scratch_cols(work: &Work) -> usize {
    2 * (kernels::COLUMNS_STRIP * tile_strips(work)) as usize
}

/// Bytes of heads of strips for each row of so many cells.
pub(super) fn head_bytes_of_row(cols: usize) -> usize {
    cols.div_ceil(kernels::COLUMNS_STRIP as usize) * kernels::COLUMNS_HEAD as usize * size_of::<u32>()
}

/// Bytes of codes of tiles for each row of so many cells that a frame has, however many those are.
pub(super) fn code_bytes_of_row(work: &Work, cols: usize) -> usize {
    let strips = tile_strips(work);
    let across = cols.div_ceil((kernels::COLUMNS_STRIP * strips) as usize);
    let words = kernels::columns_tile_words(work.size as u32, strips) as usize;
    let tiles = across * (work.planes() * words.min(cols.div_ceil(4)) + 1);
    // A piece of `count` rows has at most 1 + count / least tiles; and where there is more than one of them, that is 2 · count / least.
    let overlap = 1.0 + 2.0 * work.size as f64 / f64::from(tile_rows_least(work));
    ((tiles * size_of::<u32>()) as f64 * overlap) as usize + kernels::COLUMNS_HEADER as usize * size_of::<u32>()
}

/// Strips of a tile of codes: a tile is about as wide as what windows see beside it, or wider.
fn tile_strips(work: &Work) -> u32 {
    (work.size as u32 / 2 * 2).div_ceil(kernels::COLUMNS_STRIP).max(1)
}

/// Rows of a tile of codes at least, where there are several below each other: tiles overlap by the size of a window.
fn tile_rows_least(work: &Work) -> u32 {
    (work.size as u32 * 2 / 3).max(24)
}

/// Cost of the codes of tiles.
pub(super) const RECODING: f64 = 0.5;

/// How a frame is cut, and the planes of codes that a launch takes.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Blocks of them, which have a strip a warp.
    pub blocks: u32,
    /// Rows of a strip, and of a tile.
    pub rows_each: u32,
    /// Tiles of codes, and strips of each.
    pub tiles: u32,
    pub strips_each: u32,
    /// Sweeps of the tiles that a survey looks at, up to which they are made.
    pub most: u32,
    /// Planes of codes: the first one, and how many are in memory.
    pub plane: u32,
    pub planes: u32,
}

impl Cut {
    /// How a frame of so many columns is cut, `count` rows of which are computed.
    pub fn of(common: &Common, cols: u32, count: u32) -> Self {
        Self::by_rows(common, cols, count, common.work.is_coded())
    }

    /// The same where strips are no tiles.
    pub fn of_strips(common: &Common, cols: u32, count: u32) -> Self {
        Self::by_rows(common, cols, count, false)
    }

    /// With strips whose rows are those of tiles, or not.
    fn by_rows(common: &Common, cols: u32, count: u32, are_tiles: bool) -> Self {
        let Common { work, resident, .. } = common;
        let (across, warps) = (cols.div_ceil(kernels::COLUMNS_STRIP), kernels::COLUMNS_THREADS / 32);
        let size = work.size as u32;
        // A row of the first window costs about a sixth of an output row. On the tensor cores it costs two fifths, tiles overlap by the size of a window, and
        // those at two sides of the grid take twice as long.
        let small = work.has_small_windows() && are_tiles;
        let (startup, sides) = if small { (size * 3 / 4 + 2, across.min(2)) } else { (size / 6 + 1, 0) };
        // Tiles there may take twice as long as others.
        let wait = if small { 1.0 } else { SHORT_WAIT };
        let mut rows_each = share_rows(count, across + sides, resident * warps, startup, wait);
        let least = if are_tiles { tile_rows_least(work) } else { 1 };
        if rows_each < least {
            rows_each = count.div_ceil(count.div_ceil(least));
        }
        let (pieces, strips_each) = (count.div_ceil(rows_each), tile_strips(work));
        let tiles = cols.div_ceil(kernels::COLUMNS_STRIP * strips_each) * pieces;
        let (blocks, planes) = ((across * pieces).div_ceil(warps), work.planes() as u32);
        Self { blocks, rows_each, tiles, strips_each, most: u32::MAX, plane: 0, planes }
    }

    /// The same for each of the launches that a frame takes, one after another: all planes of codes that a tile may have, as many at a time as there is
    /// memory for.
    pub fn passes(self, work: &Work, frame: &Frame<'_>) -> impl Iterator<Item = Self> + use<> {
        let (width, height) = self.tile(work, frame.rows as usize, frame.cols as usize);
        let classes = work.levels.min(4 * width * height);
        let planes = if work.is_coded() { classes.div_ceil(kernels::COLUMNS_PLANE as usize) } else { 1 };
        (0..planes.max(1) as u32).step_by(self.planes as usize).map(move |plane| Self { plane, ..self })
    }

    /// Words of a row of a tile's codes, and rows, at most.
    fn tile(&self, work: &Work, rows: usize, cols: usize) -> (usize, usize) {
        let words = kernels::columns_tile_words(work.size as u32, self.strips_each) as usize;
        (words.min(cols.div_ceil(4)), (self.rows_each as usize + work.size - 1).min(rows))
    }

    /// Bytes of the codes of a frame: often much less than by [`code_bytes_of_row`].
    pub fn code_bytes(&self, work: &Work, rows: usize, cols: usize) -> usize {
        let (width, height) = self.tile(work, rows, cols);
        let tile = 1 + work.planes() * width * height;
        (kernels::COLUMNS_HEADER as usize + self.tiles as usize * tile) * size_of::<u32>()
    }

    /// The launches that make codes of tiles; a survey of some of them comes before where it decides.
    pub fn codes(&self, common: &Common, frame: &Frame<'_>, survey: bool) -> Vec<Launch> {
        let work = &common.work;
        let there = scratch_of(frame).bytes();
        let needed = self.code_bytes(work, frame.rows as usize, frame.cols as usize);
        assert!(there >= needed, "{needed} bytes for codes, not {there}");
        if let Some(span) = work.words {
            return vec![self.words(common, frame, span as u32)];
        }
        let surveys: &[bool] = if survey { &[true, false] } else { &[false] };
        surveys.iter().map(|&survey| self.bytes(common, frame, survey)).collect()
    }

    /// Makes codes of cells that are bytes, or surveys them.
    fn bytes(&self, common: &Common, frame: &Frame<'_>, survey: bool) -> Launch {
        let mut args = vec![frame.cells.input::<u8>()];
        args.extend(self.coded(common, frame));
        args.extend([survey.into(), self.most].map(Arg::U32));
        let blocks = if survey { kernels::COLUMNS_SURVEY } else { self.tiles };
        (kernels::entropy_columns_recode::ENTRY, LaunchConfig::linear(blocks, kernels::COLUMNS_THREADS), args)
    }

    /// Makes codes of cells that are words below `span`.
    fn words(&self, common: &Common, frame: &Frame<'_>, span: u32) -> Launch {
        let mut args = vec![frame.cells.input::<u16>()];
        args.extend(self.coded(common, frame));
        args.extend([span, self.plane, self.planes].map(Arg::U32));
        let shared_bytes = kernels::columns_recode_bytes(span);
        let config = LaunchConfig { shared_bytes, ..LaunchConfig::linear(self.tiles, kernels::COLUMNS_THREADS) };
        (kernels::entropy_columns_recode_words::ENTRY, config, args)
    }

    /// What both are given: where codes go, and how the frame is cut for them.
    fn coded(&self, common: &Common, frame: &Frame<'_>) -> impl Iterator<Item = Arg> + use<> {
        let Frame { rows, cols, stride, first, count, .. } = *frame;
        let size = common.work.size as u32;
        let shape = [rows, cols, stride, first, count, size, common.nodata, self.rows_each, self.strips_each];
        std::iter::once(scratch_of(frame).output::<u32>()).chain(shape.map(Arg::U32))
    }
}

/// Makes heads of strips.
pub(super) fn heads(common: &Common, frame: &Frame<'_>) -> Launch {
    let Frame { cells, rows, cols, stride, .. } = *frame;
    let (size, across) = (common.work.size as u32, cols.div_ceil(kernels::COLUMNS_STRIP));
    // Eight threads count a strip's window, or slide from one to the next: the cells that enter and leave are two strips' worth.
    let strips_each = if size <= 2 * kernels::COLUMNS_STRIP { 1 } else { (size / 64).min(across) };
    let threads = u64::from(rows) * u64::from(across.div_ceil(strips_each)) * 8;
    let blocks = threads.div_ceil(u64::from(kernels::COLUMNS_THREADS)) as u32;
    let mut args = vec![cells.input::<u8>(), scratch_of(frame).output::<u32>()];
    args.extend([rows, cols, stride, size, common.nodata, strips_each].map(Arg::U32));
    (kernels::entropy_columns_heads::ENTRY, LaunchConfig::linear(blocks, kernels::COLUMNS_THREADS), args)
}
