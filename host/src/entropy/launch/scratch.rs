//! What a launch of the columns kernels makes first, in memory that comes with the band: row histograms at the heads of strips for large windows, codes of
//! tiles for more than 16 classes.
//!
//! A band's strips are tiles too, a few of them side by side: both are cut here.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::{Prepared, Work, share_rows};
use crate::entropy::Kernel;
use crate::entropy::frame::Frame;
use crate::exec::Buffer;

/// Columns by whose [`scratch_bytes`] those of wider rows are estimated: two tiles.
pub(in crate::entropy) fn scratch_cols(work: &Work) -> usize {
    2 * (kernels::COLUMNS_STRIP * tile_strips(work)) as usize
}

/// Bytes of what a launch makes first, for each row of `cols` cells that a frame has; 0 where it makes nothing.
pub(in crate::entropy) fn scratch_bytes(kernel: Kernel, work: &Work, cols: usize) -> usize {
    let word = size_of::<u32>();
    if kernel.has_heads(work) {
        cols.div_ceil(kernels::COLUMNS_STRIP as usize) * kernels::COLUMNS_HEAD as usize * word
    } else if kernel.has_codes(work) {
        let strips = tile_strips(work);
        let across = cols.div_ceil((kernels::COLUMNS_STRIP * strips) as usize);
        let words = kernels::columns_tile_words(work.size as u32, strips) as usize;
        let tiles = across * (work.planes() * words.min(cols.div_ceil(4)) + 1);
        // A piece of `count` rows has at most 1 + count / least tiles; and where there is more than one of them, that is 2 · count / least.
        let overlap = 1.0 + 2.0 * work.size as f64 / f64::from(tile_rows_least(work));
        ((tiles * word) as f64 * overlap) as usize + kernels::COLUMNS_SURVEY as usize * word
    } else {
        0
    }
}

/// Where what a launch makes first is.
pub(super) fn scratch_of<'a>(frame: &Frame<'a>) -> &'a Buffer {
    frame.scratch.expect("memory for what is made first")
}

/// Strips of a tile of codes: a tile is about as wide as what windows see beside it, or wider.
fn tile_strips(work: &Work) -> u32 {
    (work.size as u32 / 2 * 2).div_ceil(kernels::COLUMNS_STRIP).max(1)
}

/// Rows of a tile of codes at least, where there are several below each other: tiles overlap by the size of a window.
fn tile_rows_least(work: &Work) -> u32 {
    (work.size as u32 * 2 / 3).max(24)
}

/// Cells of a grid from which on a survey of its classes and three more launches are worth their time.
pub(super) const ADAPTIVE_CELLS: usize = 1 << 19;

/// Sweeps of a tile, on the average, from which on the histogram is faster.
///
/// Its cost is that of random cells. Where tiles have fewer classes than the map, cells are clustered: then neighbours update the same counters one
/// after another, and it takes up to 1.4 times as long (2.85 ms for 96 classes at 21 × 21, 10,240², where the columns kernel takes 2.40).
pub(super) fn adaptive_sweeps(work: &Work) -> f64 {
    let (all, histogram) = (work.sweeps() as f64, Kernel::Histogram.cost(work));
    let of = |histogram: f64| (histogram - RECODING) * all / (Kernel::Columns.cost(work) - RECODING);
    of(histogram.max(0.34 * work.size as f64)).min(all - 0.25).max(of(histogram))
}

/// Cost of the codes of tiles.
pub(super) const RECODING: f64 = 0.5;

/// How the columns kernels cut a frame, and the planes of codes that a launch takes.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Blocks of them, which have a strip a warp.
    pub(super) blocks: u32,
    /// Rows of a strip, and of a tile.
    pub(super) rows_each: u32,
    /// Tiles of codes, and strips of each.
    tiles: u32,
    pub(super) strips_each: u32,
    /// Sweeps of the tiles that a survey looks at, up to which they are made.
    pub(super) most: u32,
    /// Planes of codes: the first one, and how many are in memory.
    pub(super) plane: u32,
    pub(super) planes: u32,
}

impl Prepared {
    /// How a frame of so many columns is cut, `count` rows of which are computed.
    pub(super) fn cut(&self, cols: u32, count: u32) -> Cut {
        let (across, warps) = (cols.div_ceil(kernels::COLUMNS_STRIP), kernels::COLUMNS_THREADS / 32);
        // A row of the first window costs about a sixth of an output row.
        let startup = self.work.size as u32 / 6 + 1;
        let mut rows_each = share_rows(count, across, self.resident * warps, startup);
        if self.kernel.has_codes(&self.work) {
            let pieces = count.div_ceil(rows_each.max(tile_rows_least(&self.work)));
            rows_each = count.div_ceil(pieces);
        }
        let (pieces, strips_each) = (count.div_ceil(rows_each), tile_strips(&self.work));
        let tiles = cols.div_ceil(kernels::COLUMNS_STRIP * strips_each) * pieces;
        let surveyed = f64::from(tiles.min(kernels::COLUMNS_SURVEY));
        let most = if self.crowded.is_some() { (adaptive_sweeps(&self.work) * surveyed) as u32 } else { u32::MAX };
        let planes = self.work.planes() as u32;
        Cut { blocks: (across * pieces).div_ceil(warps), rows_each, tiles, strips_each, most, plane: 0, planes }
    }

    /// The same for each of the launches that a frame takes, one after another: all planes of codes that a tile may have, as many at a time as there is
    /// memory for.
    pub(super) fn passes(&self, frame: &Frame<'_>, cut: Cut) -> impl Iterator<Item = Cut> + use<> {
        let (width, height) = self.tile(&cut, frame.rows as usize, frame.cols as usize);
        let classes = self.work.levels.min(4 * width * height);
        let planes =
            if self.kernel.has_codes(&self.work) { classes.div_ceil(kernels::COLUMNS_PLANE as usize) } else { 1 };
        (0..planes.max(1) as u32).step_by(cut.planes as usize).map(move |plane| Cut { plane, ..cut })
    }

    /// Words of a row of a tile's codes, and rows, at most.
    fn tile(&self, cut: &Cut, rows: usize, cols: usize) -> (usize, usize) {
        let words = kernels::columns_tile_words(self.work.size as u32, cut.strips_each) as usize;
        (words.min(cols.div_ceil(4)), (cut.rows_each as usize + self.work.size - 1).min(rows))
    }

    /// Bytes of what is made first for a frame of so many rows, `count` of which are computed: often much less than by [`scratch_bytes`], which holds
    /// for any number of rows. Fewer rows may take more.
    pub(in crate::entropy) fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> usize {
        if !self.kernel.has_codes(&self.work) {
            return rows * scratch_bytes(self.kernel, &self.work, cols);
        }
        self.code_bytes(&self.cut(cols as u32, count as u32), rows, cols)
    }

    /// Bytes of the codes of a frame.
    fn code_bytes(&self, cut: &Cut, rows: usize, cols: usize) -> usize {
        let (width, height) = self.tile(cut, rows, cols);
        let tile = 1 + self.work.planes() * width * height;
        (kernels::COLUMNS_SURVEY as usize + cut.tiles as usize * tile) * size_of::<u32>()
    }

    /// The launches before that of the kernel itself.
    pub(super) fn launches_before(&self, frame: &Frame<'_>, cut: &Cut) -> Vec<(KernelEntry, LaunchConfig, Vec<Arg>)> {
        if self.kernel.has_heads(&self.work) {
            let (config, args) = self.head_arguments(frame);
            return vec![(kernels::entropy_columns_heads::ENTRY, config, args)];
        }
        if !self.kernel.has_codes(&self.work) {
            return Vec::new();
        }
        let (there, needed) =
            (scratch_of(frame).bytes(), self.code_bytes(cut, frame.rows as usize, frame.cols as usize));
        assert!(there >= needed, "{needed} bytes for codes, not {there}");
        if let Some(span) = self.work.words {
            let (config, args) = self.word_arguments(frame, cut, span as u32);
            return vec![(kernels::entropy_columns_recode_words::ENTRY, config, args)];
        }
        let recoding = |survey| {
            let (config, args) = self.code_arguments(frame, cut, survey);
            (kernels::entropy_columns_recode::ENTRY, config, args)
        };
        let surveys: &[bool] = if self.crowded.is_some() { &[true, false] } else { &[false] };
        surveys.iter().copied().map(recoding).collect()
    }

    /// The grid, the block and what the kernel is given that makes codes, or surveys them.
    fn code_arguments(&self, frame: &Frame<'_>, cut: &Cut, survey: bool) -> (LaunchConfig, Vec<Arg>) {
        let mut args = vec![frame.cells.input::<u8>()];
        args.extend(self.coded(frame, cut));
        args.extend([survey.into(), cut.most].map(Arg::U32));
        let blocks = if survey { kernels::COLUMNS_SURVEY } else { cut.tiles };
        (LaunchConfig::linear(blocks, kernels::COLUMNS_THREADS), args)
    }

    /// The same where cells are words below `span`.
    fn word_arguments(&self, frame: &Frame<'_>, cut: &Cut, span: u32) -> (LaunchConfig, Vec<Arg>) {
        let mut args = vec![frame.cells.input::<u16>()];
        args.extend(self.coded(frame, cut));
        args.extend([span, cut.plane, cut.planes].map(Arg::U32));
        let shared_bytes = kernels::columns_recode_bytes(span);
        (LaunchConfig { shared_bytes, ..LaunchConfig::linear(cut.tiles, kernels::COLUMNS_THREADS) }, args)
    }

    /// What both are given: where codes go, and how the frame is cut for them.
    fn coded(&self, frame: &Frame<'_>, cut: &Cut) -> impl Iterator<Item = Arg> + use<> {
        let Frame { rows, cols, stride, first, count, .. } = *frame;
        let (size, nodata) = (self.work.size as u32, self.nodata);
        let shape = [rows, cols, stride, first, count, size, nodata, cut.rows_each, cut.strips_each];
        std::iter::once(scratch_of(frame).output::<u32>()).chain(shape.map(Arg::U32))
    }

    /// The grid, the block and what the kernel is given that makes heads.
    fn head_arguments(&self, frame: &Frame<'_>) -> (LaunchConfig, Vec<Arg>) {
        let Frame { cells, rows, cols, stride, .. } = *frame;
        let (size, across) = (self.work.size as u32, cols.div_ceil(kernels::COLUMNS_STRIP));
        // Eight threads count a strip's window, or slide from one to the next: the cells that enter and leave are two strips' worth.
        let strips_each = if size <= 2 * kernels::COLUMNS_STRIP { 1 } else { (size / 64).min(across) };
        let threads = u64::from(rows) * u64::from(across.div_ceil(strips_each)) * 8;
        let blocks = threads.div_ceil(u64::from(kernels::COLUMNS_THREADS)) as u32;
        let mut args = vec![cells.input::<u8>(), scratch_of(frame).output::<u32>()];
        args.extend([rows, cols, stride, size, self.nodata, strips_each].map(Arg::U32));
        (LaunchConfig { grid: [blocks, 1, 1], block: [kernels::COLUMNS_THREADS, 1, 1], shared_bytes: 0 }, args)
    }
}
