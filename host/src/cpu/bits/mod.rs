//! Counts for windows of any shape: a bit a cell, 512 windows side by side, counted by adders made of logic.
//!
//! ```text
//! for each row that enters the ring, for each level:   a bit for each cell, 1 where the cell has the level
//! for each row of the tile, for each level:
//!     for each cell that enters or leaves a window:    512 windows' bits = the bits of its row, from its column on
//!         (inverted where it leaves)
//!     add them up: full adders on whole registers, their sums and carries being rows of bits again
//!     from 8 rows of bits to numbers, less the number of cells that leave:   count[level][x] += the change
//! ```
//!
//! A window that moves down a row changes by the ends of its runs ([`Window::entering`], [`Window::leaving`]): some 2 · size cells for a disk.
//! A comparison and an addition for each, for 64 windows at a time, would be 2 · 2 · size · levels / 64 operations a cell. A full adder
//! takes two rows of 512 bits in for two operations (a sum, a majority), and every pair of its carries the next one does; so there are some
//! five operations for *512* windows, two of which are shifts: a register starts at any bit of a row.
//!
//! A cell that leaves is the inverse of its bit added, and 1 too much in all windows alike. So there are no signs.
//!
//! Cells outside the grid have no bit in any level. Levels without a cell in the ring are skipped. `add` has the adders.

use super::aligned::Aligned;
use super::consumer::Consumer;
use super::count::is_wide;
use super::lookup::{BLOCK, Counts, GROUP, Group};
#[cfg(target_arch = "x86_64")]
use super::x86_bits;
use super::{Layout, TileRect};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;
use crate::measure::window::{Reach, Stretch, Window};
use crate::part::STRIP;

mod add;

use add::add;
pub use add::{AT_ONCE, BitOffset, WORDS};

/// Words of a row of bits, with the columns that the widest window reaches; more than it needs.
pub const ROW: usize = 16;

/// Cells between the counts of neighbouring levels, beyond those of a row (as in [`super::sliding_counts`]).
const PADDING: usize = 32;

/// Most cells that are counted together, so that a byte holds how many they are.
const TOGETHER: usize = 248;

/// A cell that enters a window, or leaves it.
#[derive(Debug, Clone, Copy)]
struct CellUpdate {
    /// Its row, counted from that of the windows' centres.
    row: isize,
    /// How far to the right of the first column that the windows reach.
    col: usize,
    leaves: bool,
}

/// How the windows of a shape change.
#[derive(Debug)]
pub struct WindowUpdates {
    reach: Reach,
    /// From nothing to a window.
    first: Vec<CellUpdate>,
    /// From a window to the next below.
    next: Vec<CellUpdate>,
}

/// Whether a row has room for what the windows of a shape reach, and 16 bits for their counts.
pub fn fits(window: &Window, largest: usize) -> bool {
    let copies = (window.reach.right - window.reach.left) as usize / 64 + 2;
    copies + WORDS <= ROW + 1 && !is_wide(largest)
}

impl WindowUpdates {
    /// For windows of a shape that [`fits`].
    pub fn new(window: &Window) -> Self {
        let list = |stretches: &[Stretch], down: isize, leaves: bool| -> Vec<CellUpdate> {
            let cells = stretches.iter().flat_map(|s| (0..s.len as isize).map(|i| (s.row, s.col + i)));
            let from = |col: isize| (col - window.reach.left) as usize;
            cells.map(|(row, col)| CellUpdate { row: row + down, col: from(col), leaves }).collect()
        };
        let mut next = list(&window.entering, 0, false);
        // What a window loses lies where the one above it has it.
        next.extend(list(&window.leaving, -1, true));
        Self { reach: window.reach, first: list(&window.cells, 0, false), next }
    }

    /// Rows that have to be in the ring: those of a window, and the one above.
    fn rows(&self) -> usize {
        (self.reach.bottom - self.reach.top) as usize + 2
    }

    /// Cells that change a window, and those that make one.
    pub fn cells(&self) -> (usize, usize) {
        (self.next.len(), self.first.len())
    }

    /// Words of a slot: those of all copies of a row.
    fn slot(&self) -> usize {
        ((self.reach.right - self.reach.left) as usize / 64 + 2) * WORDS
    }

    /// Bytes that a thread needs for the rows in the ring.
    pub fn bytes(&self, planes: usize) -> usize {
        planes * (self.rows() + 1) * self.slot() * size_of::<u64>()
    }
}

/// Memory that a thread needs for a tile.
#[derive(Debug)]
pub struct Scratch {
    /// The rows in the ring of all levels, level by level, each with a row of zeros behind its last. A row is there in several copies, each
    /// a word further: a register that lies across two lines of the cache costs twice.
    bits: Aligned<u64>,
    /// The window counts of all levels.
    counts: Aligned<u16>,
    /// Which rows in the ring have a bit, level by level, and how many have.
    some: Vec<bool>,
    alive: Vec<usize>,
    offsets: Vec<BitOffset>,
    nodata: Vec<u32>,
}

impl Scratch {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        let (bits, counts) = (Aligned::new(), Aligned::new());
        Self { bits, counts, some: Vec::new(), alive: Vec::new(), offsets: Vec::new(), nodata: Vec::new() }
    }
}

/// Computes a tile.
pub fn run<C: Consumer>(
    layout: &Layout<'_>,
    updates: &WindowUpdates,
    rect: TileRect,
    consumer: &mut C,
    scratch: &mut Scratch,
    isa: Isa,
) {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx2 => unsafe { avx2(layout, updates, rect, consumer, scratch, isa) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx512 => unsafe { avx512(layout, updates, rect, consumer, scratch, isa) },
        _ => body(layout, updates, rect, consumer, scratch, isa),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<C: Consumer>(
    l: &Layout<'_>,
    m: &WindowUpdates,
    rect: TileRect,
    consumer: &mut C,
    scratch: &mut Scratch,
    isa: Isa,
) {
    body(l, m, rect, consumer, scratch, isa);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<C: Consumer>(
    l: &Layout<'_>,
    m: &WindowUpdates,
    rect: TileRect,
    consumer: &mut C,
    scratch: &mut Scratch,
    isa: Isa,
) {
    body(l, m, rect, consumer, scratch, isa);
}

/// The engine, compiled once for each instruction set.
#[inline(always)]
fn body<C: Consumer>(
    layout: &Layout<'_>,
    updates: &WindowUpdates,
    rect: TileRect,
    consumer: &mut C,
    scratch: &mut Scratch,
    isa: Isa,
) {
    assert!(rect.width <= STRIP);
    let padded = rect.width.next_multiple_of(BLOCK);
    let (planes, levels) = (layout.planes.len(), layout.levels());
    let stride = STRIP + PADDING;
    let Scratch { bits, counts, some, alive, offsets, nodata } = scratch;
    let mut ring = RowRing::new(layout, updates, rect, bits, some, alive);
    counts.resize(planes * stride);
    counts.fill(0);
    consumer.reserve(1, padded);
    for row in updates.reach.top..updates.reach.bottom {
        ring.take(isa, rect.top as isize + row);
    }
    for i in 0..rect.height {
        let y = (rect.top + i) as isize;
        ring.take(isa, y + updates.reach.bottom);
        let list = if i == 0 { &updates.first } else { &updates.next };
        for list in list.chunks(TOGETHER) {
            offsets.clear();
            offsets.extend(list.iter().map(|m| ring.at(y, m)));
            offsets.resize(list.len().next_multiple_of(AT_ONCE), ring.nowhere());
            let less = list.iter().filter(|m| m.leaves).count() as u16;
            for plane in (0..planes).filter(|&plane| ring.alive[plane] > 0) {
                add(isa, ring.of(plane), offsets, less, &mut counts[plane * stride..][..STRIP]);
            }
        }
        let mut first = true;
        for group in (0..levels).step_by(GROUP) {
            let end = levels.min(group + GROUP);
            if ring.alive[group..end].iter().any(|&rows| rows > 0) {
                let counts = Counts::Large(&counts[group * stride..]);
                consumer.add(isa, 0, Group { counts, stride, levels: end - group, first });
                first = false;
            }
        }
        if first {
            consumer.add_empty(0);
        }
        nodata.clear();
        if planes > levels {
            nodata.extend(counts[levels * stride..][..padded].iter().map(|&n| u32::from(n)));
        }
        consumer.finish(0, i, (planes > levels).then_some(&**nodata));
    }
}

/// The rows that windows see now, as bits, in a ring of slots.
struct RowRing<'a> {
    layout: &'a Layout<'a>,
    bits: &'a mut [u64],
    some: &'a mut [bool],
    alive: &'a mut [usize],
    /// Rows in the ring; each has a slot, and behind the last slot of a level lies one of zeros.
    rows: usize,
    /// Words of a slot: those of all copies of a row.
    slot: usize,
    /// What takes slot 0.
    origin: isize,
    /// Columns of the grid that windows of the tile see, and the bit of the first.
    cols: std::ops::Range<usize>,
    lead: usize,
    /// 1 where a bit is of such a column.
    inside: [u64; ROW],
}

impl<'a> RowRing<'a> {
    #[inline(always)]
    fn new(
        layout: &'a Layout<'a>,
        updates: &WindowUpdates,
        rect: TileRect,
        bits: &'a mut Aligned<u64>,
        some: &'a mut Vec<bool>,
        alive: &'a mut Vec<usize>,
    ) -> Self {
        let (rows, planes, reach) = (updates.rows(), layout.planes.len(), updates.reach);
        let slot = updates.slot();
        bits.resize(updates.bytes(planes) / size_of::<u64>());
        bits.fill(0);
        some.clear();
        some.resize(planes * rows, false);
        alive.clear();
        alive.resize(planes, 0);
        let grid = layout.task.cells.cols() as isize;
        let first = rect.left as isize + reach.left;
        let (from, to) =
            (first.clamp(0, grid), (rect.left as isize + rect.width as isize + reach.right).clamp(0, grid));
        let lead = (from - first) as usize;
        let cols = from as usize..to.max(from) as usize;
        let mut inside = [0; ROW];
        for bit in lead..lead + cols.len() {
            inside[bit / 64] |= 1 << (bit % 64);
        }
        let origin = rect.top as isize + reach.top;
        Self { layout, bits, some, alive, rows, slot, origin, cols, lead, inside }
    }

    /// The slot of a row that is not above the first one taken.
    #[inline(always)]
    fn slot_of(&self, row: isize) -> usize {
        (row - self.origin) as usize % self.rows
    }

    /// Takes a row of the grid into sight, and the one that had its slot out of it.
    #[inline(always)]
    fn take(&mut self, isa: Isa, row: isize) {
        let slot = self.slot_of(row);
        let planes = self.layout.planes.len();
        let cells = self.layout.task.cells;
        if row < 0 || row >= cells.rows() as isize || self.cols.is_empty() {
            (0..planes).for_each(|plane| self.put(plane, slot, &[0; ROW]));
            return;
        }
        let values = &cells.row(row as usize)[self.cols.clone()];
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => {
                let mut row = [0; ROW * 64];
                row[self.lead..][..values.len()].copy_from_slice(values);
                for (plane, &value) in self.layout.planes.iter().enumerate() {
                    // SAFETY: an `Isa` of this kind exists only on machines that have the features.
                    let mut bits = unsafe { x86_bits::equal_avx512(&row, value) };
                    for (bits, inside) in bits.iter_mut().zip(&self.inside) {
                        *bits &= inside;
                    }
                    self.put(plane, slot, &bits);
                }
            }
            _ => {
                // Cell by cell: the work does not grow with the number of levels.
                let mut bits = [[0; ROW]; 257];
                for (i, &value) in values.iter().enumerate() {
                    let bit = self.lead + i;
                    bits[self.layout.slots[usize::from(value)]][bit / 64] |= 1 << (bit % 64);
                }
                for (plane, bits) in bits[..planes].iter().enumerate() {
                    self.put(plane, slot, bits);
                }
            }
        }
    }

    /// Puts the bits of a row into a slot of a level.
    #[inline(always)]
    fn put(&mut self, plane: usize, slot: usize, bits: &[u64; ROW]) {
        let at = (plane * (self.rows + 1) + slot) * self.slot;
        for (i, copy) in self.bits[at..][..self.slot].chunks_exact_mut(WORDS).enumerate() {
            copy.copy_from_slice(&bits[i..][..WORDS]);
        }
        let some = &mut self.some[plane * self.rows + slot];
        self.alive[plane] -= usize::from(*some);
        *some = bits.iter().fold(0, |any, &bits| any | bits) != 0;
        self.alive[plane] += usize::from(*some);
    }

    /// All rows in the ring of a level.
    #[inline(always)]
    fn of(&self, plane: usize) -> &[u64] {
        let each = (self.rows + 1) * self.slot;
        &self.bits[plane * each..][..each]
    }

    /// Where a cell lies, seen from the windows of row `y`.
    #[inline(always)]
    fn at(&self, y: isize, cell: &CellUpdate) -> BitOffset {
        BitOffset {
            word: (self.slot_of(y + cell.row) * self.slot + cell.col / 64 * WORDS) as u32,
            shift: (cell.col % 64) as u32,
            flip: if cell.leaves { u64::MAX } else { 0 },
        }
    }

    /// A place where all bits are 0.
    fn nowhere(&self) -> BitOffset {
        BitOffset { word: (self.rows * self.slot) as u32, shift: 0, flip: 0 }
    }
}
