//! Seventeen to 64 classes in groups of sixteen, by their own codes, and what that shares: heads of all groups, and whether a map's tiles have so few
//! classes that numbering those first is faster, which a survey finds on the device.
//!
//! ```text
//! small grids:   heads, if the kernel needs them; the kernel that sweeps over the map
//! others:        a survey of tiles; codes of tiles, and the kernel that sweeps over those; heads, the kernel that sweeps over the map
//! ```
//!
//! All are launched, and those that the survey is against return at once.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, LaunchConfig};

use super::cut::{self, Cut};
use super::{Common, Launch, Ready, Work, scratch_of};
use crate::entropy::frame::Frame;

/// Cells of a grid from which on a survey of its classes and three more launches are worth their time.
pub(super) const SURVEYED_CELLS: usize = 1 << 19;

/// Cost of a survey and of codes of tiles, beside that of a sweep.
const CODES: f64 = 1.2;

/// Whether classes are counted by their own codes.
pub(super) fn is_own(work: &Work) -> bool {
    let words = work.words.is_some();
    !words && work.levels <= kernels::COLUMNS_OWN as usize && work.size <= kernels::COLUMNS_SIZE as usize
}

/// Bytes of the words that kernels of groups are given, for each row of so many cells: codes of tiles, or a survey and heads.
pub(super) fn bytes_of_row(work: &Work, cols: usize) -> usize {
    let heads = if is_own(work) { work.sweeps() * cut::head_bytes_of_row(cols) + survey_bytes() } else { 0 };
    cut::code_bytes_of_row(work, cols).max(heads)
}

/// The same for a frame of `rows` rows, `count` of which are computed.
pub(super) fn bytes(common: &Common, rows: usize, cols: usize, count: usize) -> usize {
    let work = &common.work;
    let codes = Cut::of(common, cols as u32, count as u32).code_bytes(work, rows, cols);
    let heads = if is_own(work) { work.sweeps() * rows * cut::head_bytes_of_row(cols) + survey_bytes() } else { 0 };
    codes.max(heads)
}

fn survey_bytes() -> usize {
    kernels::COLUMNS_SURVEY as usize * size_of::<u32>()
}

/// Makes heads of strips of all groups, unless a survey is against it.
fn heads(common: &Common, frame: &Frame<'_>, most: u32) -> Launch {
    let groups = common.work.sweeps() as u32;
    let (_, config, mut args) = cut::heads(common, frame);
    args.extend([groups, most].map(Arg::U32));
    let LaunchConfig { grid: [blocks, ..], .. } = config;
    (kernels::entropy_columns_heads_groups::ENTRY, LaunchConfig { grid: [blocks, groups, 1], ..config }, args)
}

/// A kernel that has an entry for classes by their own codes, and one for codes of tiles.
pub(super) trait Sweeping: Ready {
    /// Whether the first of them needs heads.
    fn has_heads(&self) -> bool;
    /// Cost of a sweep over the map, and over codes of tiles.
    fn sweep_costs(&self) -> [f64; 2];
    /// The launch of the first; nothing is done where a survey has found at most `most` sweeps, unless that is 0.
    fn own(&self, frame: &Frame<'_>, cut: &Cut, most: u32) -> Launch;
    /// What counts codes of tiles.
    fn coded(&self, frame: &Frame<'_>, cut: &Cut) -> Vec<Launch>;
}

/// What a frame takes.
pub(super) fn launches(kernel: &impl Sweeping, frame: &Frame<'_>) -> Vec<Launch> {
    let common = kernel.common();
    let work = &common.work;
    let coded = Cut::of(common, frame.cols, frame.count);
    let mut launches = Vec::new();
    let mut most = 0;
    if !is_own(work) {
        for cut in coded.passes(work, frame) {
            launches.extend(cut.codes(common, frame, false));
            launches.extend(kernel.coded(frame, &cut));
        }
        return launches;
    }
    if work.sweeps() > 1 && work.rows * work.cols >= SURVEYED_CELLS {
        most = sweeps_found(kernel, &coded);
        let cut = Cut { most, ..coded };
        launches.extend(cut.codes(common, frame, true));
        launches.extend(kernel.coded(frame, &cut));
    }
    if kernel.has_heads() {
        launches.push(heads(common, frame, most));
    }
    launches.push(kernel.own(frame, &Cut::of_strips(common, frame.cols, frame.count), most));
    launches
}

/// Sweeps of the tiles of a survey, up to which their codes are worth making.
fn sweeps_found(kernel: &impl Sweeping, cut: &Cut) -> u32 {
    let [own, coded] = kernel.sweep_costs();
    let sweeps = (kernel.common().work.sweeps() as f64 * own - CODES) / coded;
    (sweeps * f64::from(cut.tiles.min(kernels::COLUMNS_SURVEY))) as u32
}

/// The words of a frame's scratch memory as kernels read them.
pub(super) fn words(frame: &Frame<'_>) -> Arg {
    scratch_of(frame).input::<u32>()
}
