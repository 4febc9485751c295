//! The columns kernel: how windows change along a row, and sums of that over a warp, 16 classes at a time.
//!
//! It has an entry for small windows of up to 16 classes, others for larger ones, and for more classes those that read codes of tiles.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::codes::Codes;
use super::cut::{self, Cut, RECODING};
use super::groups::{self, Sweeping};
use super::{
    Block, Common, Descriptor, Facts, Launch, NO_NODATA, Put, Question, Ready, Sides, Work, scratch_of, shape_of,
};
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError, Limits};
use crate::measure::fixed::Nested;

/// Of all classes, however many sweeps that takes.
pub(in crate::entropy) static COLUMNS: Columns = Columns {
    facts: Facts {
        levels: usize::MAX,
        words: true,
        ..facts(
            "columns",
            kernels::entropy_columns::ENTRY,
            "histograms of columns and prefix sums, 16 classes at a time",
        )
    },
};

/// Those of kernels that are launched as this one. It sums 32 bits, and its tables are fine enough up to these sides: F of so many cells in units of
/// which 32 bits hold 256 classes.
const fn facts(name: &'static str, entry: KernelEntry, about: &'static str) -> Facts {
    let sides = Sides::UpTo(kernels::COLUMNS_WIDE_SIZE as usize);
    Facts { sides, counts_nodata: false, ..Facts::new(name, entry, about) }
}

pub(in crate::entropy) struct Columns {
    facts: Facts,
}

/// Static shared memory of the columns kernels: at most.
pub(super) const STATIC: u32 = 34_816;

/// The largest error in nats that sums of codes of 16 bits may have, f32's own not counted.
const WORST_ERROR: f64 = 1.8e-6;

/// Bytes of dynamic shared memory that leave room for two of their blocks on a multiprocessor.
pub(super) fn room(shared_per_block: u32) -> u32 {
    (shared_per_block / 2).saturating_sub(STATIC + 1024)
}

/// The least shared memory of a block, with that of what makes codes.
pub(super) fn shared_needed(work: &Work) -> u32 {
    // The kernel for words has a count a warp besides.
    let recode = |span| kernels::columns_recode_bytes(span as u32) + kernels::COLUMNS_THREADS / 32 * 4;
    STATIC.max(work.words.map_or(0, recode))
}

/// The code of nodata for kernels that read bytes: codes of tiles of words have one of their own.
pub(super) fn nodata_of_codes(common: &Common) -> u32 {
    match common.work.words {
        Some(_) if common.work.nodata => 255,
        Some(_) => NO_NODATA,
        None => common.nodata,
    }
}

/// The entry for such work.
pub(super) fn entry(work: &Work) -> KernelEntry {
    match (work.size as u32, work.is_coded()) {
        (..=kernels::COLUMNS_SMALL, false) => kernels::entropy_columns::ENTRY,
        (..=kernels::COLUMNS_SIZE, false) => kernels::entropy_columns_large::ENTRY,
        (_, false) => kernels::entropy_columns_wide::ENTRY,
        (..=kernels::COLUMNS_SIZE, true) => kernels::entropy_columns_many::ENTRY,
        (_, true) => kernels::entropy_columns_wide_many::ENTRY,
    }
}

/// Its blocks: with as many copies of the tables as keep the occupancy that registers allow.
pub(super) fn block(work: &Work, shared_per_block: u32) -> Block {
    // Addresses in them are numbers of 16 bits.
    let room = room(shared_per_block).min(1 << 16);
    let entries = Nested::len(work.size, work.finer()) as u32;
    let fits = |copies: &u32| work.size as u32 <= kernels::COLUMNS_SIZE && entries * 4 * copies <= room;
    let near = [32, 1].into_iter().find(fits).unwrap_or(0);
    Block { threads: kernels::COLUMNS_THREADS, near, shared_bytes: entries * 4 * near }
}

/// Bytes of what is made first for a row of so many cells.
pub(super) fn scratch_bytes(work: &Work, cols: usize) -> usize {
    if work.is_coded() {
        cut::code_bytes_of_row(work, cols)
    } else if has_heads(work) {
        cut::head_bytes_of_row(cols)
    } else {
        0
    }
}

/// True when a launch needs row histograms at the heads of strips, which another makes before.
fn has_heads(work: &Work) -> bool {
    !work.is_coded() && is_large(work)
}

impl Descriptor for Columns {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        if is_own(work) { kernels::entropy_columns_groups::ENTRY } else { entry(work) }
    }

    fn misfit(&self, work: &Work, _limits: &Limits) -> Option<String> {
        let Work { size, levels, .. } = *work;
        work.words?;
        let most = kernels::COLUMNS_SIZE;
        if size > most as usize {
            return Some(format!("of codes of 16 bits it takes windows of up to {most} x {most}, not {size} x {size}"));
        }
        let error = Nested::error(size, work.least(), levels, work.finer().unwrap_or_default());
        (error > WORST_ERROR)
            .then(|| format!("its 32-bit sums are too coarse for {levels} levels in {size} x {size} windows"))
    }

    fn cost(&self, work: &Work) -> f64 {
        let size = work.size as f64;
        if !work.is_coded() {
            return if has_heads(work) { 3.0 + 0.002 * size } else { 2.25 + 0.006 * size };
        }
        if is_own(work) {
            return work.sweeps() as f64 * own_cost(work, is_large(work));
        }
        if work.size as u32 > kernels::COLUMNS_SIZE {
            // Sums of 32 bits: twice the words.
            return work.sweeps() as f64 * (4.0 + 0.0133 * size);
        }
        // Of a map's many classes a tile has mostly fewer. Words are for maps with many classes in all, which are far fewer in one place.
        let sweeps = if work.words.is_some() { work.sweeps().min(4) } else { work.sweeps() };
        RECODING + sweeps as f64 * coded_cost(work)
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        shared_needed(work)
    }

    fn block(&self, work: &Work, shared_per_block: u32) -> Block {
        block(work, shared_per_block)
    }

    fn scratch_bytes(&self, work: &Work, cols: usize) -> usize {
        if is_own(work) { groups::bytes_of_row(work, cols) } else { scratch_bytes(work, cols) }
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let common = Common::new(self, question)?;
        let strips = Strips::new(common, question, put)?;
        Ok(if is_own(&question.work) { Box::new(Own(strips)) } else { Box::new(strips) })
    }
}

/// Whether there are groups of classes that are counted by their own codes.
fn is_own(work: &Work) -> bool {
    work.is_coded() && groups::is_own(work)
}

/// Windows for which strips need heads.
fn is_large(work: &Work) -> bool {
    work.size as u32 > kernels::COLUMNS_SMALL
}

/// Cost of a sweep of several over a map. Each counts the valid cells again.
fn own_cost(work: &Work, has_heads: bool) -> f64 {
    let nodata = if work.nodata { 1.13 } else { 1.0 };
    let size = work.size as f64;
    nodata * if has_heads { 3.35 + 0.0015 * size } else { 2.45 + 0.0065 * size }
}

/// The same over codes of tiles.
fn coded_cost(work: &Work) -> f64 {
    let nodata = if work.nodata { 1.25 } else { 1.0 };
    if work.has_small_windows() {
        return nodata * (1.5 + 0.002 * work.size as f64);
    }
    0.95 * nodata * (2.45 + 0.0097 * work.size as f64)
}

/// A strip a warp.
pub(super) struct Strips {
    pub common: Common,
    /// Tables of F; without them it is computed.
    tables: Option<Tables>,
    /// What sums are multiplied by.
    scale: f64,
}

/// F in units of 32 bits; where windows may have few valid cells, in finer units for those.
struct Tables {
    entries: Buffer,
    /// Valid cells up to which each of the finer tables is for, and what sums are multiplied by there.
    finer: [(u32, f64); 2],
    /// What counts codes of tiles of not too many classes in place of the sweep, where there is such.
    codes: Option<Codes>,
}

impl Strips {
    pub fn new(common: Common, question: &Question<'_>, put: Put<'_>) -> Result<Self, DeviceError> {
        let Question { work, scale, .. } = *question;
        if has_heads(&work) || work.size as u32 > kernels::COLUMNS_SIZE {
            // Logarithms are computed, in bits.
            return Ok(Self { common, tables: None, scale: scale * std::f64::consts::LN_2 });
        }
        let tables = Nested::of(work.size, work.largest, work.levels, work.finer());
        let [fine_scale, middle_scale, all] = tables.units.map(|units| scale / units);
        let finer = [(tables.cells[0] as u32, fine_scale), (tables.cells[1] as u32, middle_scale)];
        let entries = put(bytemuck::cast_slice(&tables.entries))?;
        let codes = Codes::new(question)?;
        Ok(Self { common, tables: Some(Tables { entries, finer, codes }), scale: all })
    }

    /// What a frame takes: codes of tiles first, all planes of them that a tile may have, as many at a time as there is memory for. A
    /// survey stops each where the sweeps of the tiles that it looks at are more than `most`, if there is one.
    pub fn launches(
        &self,
        frame: &Frame<'_>,
        most: Option<u32>,
        beside: impl Fn(&Cut) -> Option<Launch>,
    ) -> Vec<Launch> {
        let mut launches = Vec::new();
        let cut = Cut { most: most.unwrap_or(u32::MAX), ..Cut::of(&self.common, frame.cols, frame.count) };
        for cut in cut.passes(&self.common.work, frame) {
            if has_heads(&self.common.work) {
                launches.push(cut::heads(&self.common, frame));
            } else if self.common.work.is_coded() {
                launches.extend(cut.codes(&self.common, frame, most.is_some()));
            }
            launches.extend(self.counting(frame, &cut));
            launches.extend(beside(&cut));
        }
        launches
    }

    /// What counts a frame's cells.
    fn counting(&self, frame: &Frame<'_>, cut: &Cut) -> Vec<Launch> {
        let Some(Tables { entries, codes: Some(codes), .. }) = &self.tables else {
            return vec![self.launch(frame, cut, 0)];
        };
        // Tiles with more classes have other planes too.
        let tensor = (cut.plane == 0).then(|| codes.launch(frame, cut, entries, self.scale));
        let rest = codes.leaves().map(|least| self.launch(frame, cut, least));
        tensor.into_iter().chain(rest).collect()
    }

    /// The sweeps over a frame; over codes, of tiles of at least so many classes.
    fn launch(&self, frame: &Frame<'_>, cut: &Cut, least: u32) -> Launch {
        let work = &self.common.work;
        let &Cut { strips_each, most, plane, planes, .. } = cut;
        let cells = if work.is_coded() { scratch_of(frame) } else { frame.cells };
        let own = if has_heads(work) {
            vec![scratch_of(frame).input::<u32>()]
        } else if work.is_coded() {
            let tiles = [strips_each, most, plane, planes].into_iter();
            let has_least = work.size as u32 <= kernels::COLUMNS_SIZE;
            tiles.chain(has_least.then_some(least)).map(Arg::U32).collect()
        } else {
            Vec::new()
        };
        self.launch_of(entry(work), cells, own, frame, cut)
    }

    /// The launch of an entry, whose arguments behind the tables are `own`.
    fn launch_of(&self, entry: KernelEntry, cells: &Buffer, own: Vec<Arg>, frame: &Frame<'_>, cut: &Cut) -> Launch {
        let Common { work, block, .. } = &self.common;
        let &Cut { blocks, rows_each, .. } = cut;
        let mut args = vec![cells.input::<u8>(), self.common.out(frame)];
        args.extend(self.tables.iter().map(|tables| tables.entries.input::<u32>()));
        args.extend(own);
        args.extend(shape_of(frame));
        // Finer tables are for nodata.
        let nodata = if work.words.is_some() && work.finer().is_some() { 255 } else { nodata_of_codes(&self.common) };
        args.extend([work.size as u32, nodata].map(Arg::U32));
        match &self.tables {
            Some(Tables { finer: [(fine, fine_scale), (middle, middle_scale)], .. }) => {
                args.extend([block.near, rows_each, *fine, *middle].map(Arg::U32));
                args.extend([fine_scale, middle_scale].map(|&scale| self.common.factor(scale)));
            }
            None => args.push(Arg::U32(rows_each)),
        }
        args.push(self.common.factor(self.scale));
        self.common.launch_of(entry, [blocks, 1, 1], args)
    }
}

impl Ready for Strips {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        self.launches(frame, None, |_| None)
    }

    fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> Option<usize> {
        let work = &self.common.work;
        work.is_coded().then(|| Cut::of(&self.common, cols as u32, count as u32).code_bytes(work, rows, cols))
    }
}

/// Groups of classes by their own codes, or by those of tiles.
struct Own(Strips);

impl Sweeping for Own {
    fn has_heads(&self) -> bool {
        self.common().block.near == 0
    }

    fn sweep_costs(&self) -> [f64; 2] {
        let work = &self.common().work;
        [own_cost(work, self.has_heads()), coded_cost(work)]
    }

    fn own(&self, frame: &Frame<'_>, cut: &Cut, most: u32) -> Launch {
        let numbers = [self.common().work.sweeps() as u32, most].map(Arg::U32);
        let own = std::iter::once(groups::words(frame)).chain(numbers).collect();
        self.0.launch_of(kernels::entropy_columns_groups::ENTRY, frame.cells, own, frame, cut)
    }

    fn coded(&self, frame: &Frame<'_>, cut: &Cut) -> Vec<Launch> {
        self.0.counting(frame, cut)
    }
}

impl Ready for Own {
    fn common(&self) -> &Common {
        &self.0.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        groups::launches(self, frame)
    }

    fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> Option<usize> {
        Some(groups::bytes(&self.0.common, rows, cols, count))
    }
}
