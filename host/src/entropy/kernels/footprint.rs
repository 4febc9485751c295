//! The kernels for windows of any shape, of up to 193 columns, on the tensor cores.

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry};

use super::measures::window;
use super::one_sum::{self, OneSum};
use super::share::share_units;
use super::{Block, Candidate, Common, Descriptor, Facts, Launch, Put, Question, Ready, Sides, Work};
use crate::entropy::frame::Frame;
use crate::exec::{Buffer, DeviceError, Limits};
use crate::measure;
use crate::measure::fixed::Nested;

/// Of maps with and without nodata.
pub(in crate::entropy) static FOOTPRINT: Footprint = Footprint {
    facts: Facts {
        candidate: Candidate::Windows,
        sides: Sides::UpTo(ONES[ONES.len() - 1].0),
        levels: one_sum::LEVELS,
        one_sum: true,
        shapes: true,
        counts_nodata: false,
        ..Facts::new(
            "footprint",
            kernels::entropy_footprint_7::ENTRY,
            "windows of any shape of up to 193 x 193 and 48 classes, bit by bit on the tensor cores",
        )
    },
};

/// The kernels, by the longer side of the windows that they are for.
static ONES: [(usize, Bits, KernelEntry); 7] = [
    (7, Bits::Registers { places: 8 }, kernels::entropy_footprint_7::ENTRY),
    (15, Bits::Registers { places: 16 }, kernels::entropy_footprint_15::ENTRY),
    (23, Bits::Registers { places: 24 }, kernels::entropy_footprint_23::ENTRY),
    (kernels::FOOTPRINT_COLS as usize, Bits::Registers { places: 32 }, kernels::entropy_footprint_31::ENTRY),
    (kernels::footprint_wide_cols(1) as usize, Bits::Shared { halo: 1 }, kernels::entropy_footprint_wide_65::ENTRY),
    (kernels::footprint_wide_cols(2) as usize, Bits::Shared { halo: 2 }, kernels::entropy_footprint_wide_129::ENTRY),
    (kernels::footprint_wide_cols(3) as usize, Bits::Shared { halo: 3 }, kernels::entropy_footprint_wide_193::ENTRY),
];

/// Where a kernel keeps bits of cells.
#[derive(Clone, Copy)]
enum Bits {
    /// In registers, of so many rows.
    Registers { places: u32 },
    /// In shared memory, with so many words of 32 columns on each side of a strip.
    Shared { halo: u32 },
}

impl Bits {
    /// The blocks for windows of so many cells in so many rows.
    fn block(self, cells: u32, rows: u32) -> Block {
        let (threads, shared_bytes) = match self {
            Self::Registers { places } => (kernels::footprint_threads(places), kernels::footprint_bytes(cells, places)),
            Self::Shared { halo } => {
                let entries = cells + 1 + FINER + 1;
                (kernels::FOOTPRINT_WIDE_THREADS, kernels::footprint_wide_bytes(entries, rows, halo))
            }
        };
        Block { threads, near: 0, shared_bytes }
    }

    /// Units that a block works on at a time, of windows of so many rows, the multiple that their rows had best be, and how many rows' worth of work a unit is
    /// besides its own.
    fn units(self, rows: u32) -> (u32, u32, u32) {
        match self {
            // A row that only enters takes a third of one that has results.
            Self::Registers { places } => {
                (kernels::footprint_threads(places) / (32 * kernels::FOOTPRINT_TEAM), 2, rows / 3 + 2)
            }
            Self::Shared { .. } => (1, kernels::FOOTPRINT_BATCH, rows / 8 + 4),
        }
    }

    /// The words of a row of a window, and the centre's bit.
    fn row(self) -> (usize, usize) {
        match self {
            Self::Registers { .. } => (1, kernels::FOOTPRINT_HALO as usize),
            Self::Shared { halo } => (kernels::footprint_wide_words(halo) as usize, 32 * halo as usize + 31),
        }
    }
}

/// Valid cells up to which windows of kernels with bits in shared memory have a finer table of F: with more, half a unit a class is less than 1e-6 of a window.
const FINER: u32 = 511;

pub(in crate::entropy) struct Footprint {
    facts: Facts,
}

/// The first compute capability without products of bits.
const NO_BITS: u32 = 100;

/// The one for windows whose longer side is `size`.
fn one(size: usize) -> &'static (usize, Bits, KernelEntry) {
    ONES.iter().find(|(most, ..)| size <= *most).unwrap_or(&ONES[ONES.len() - 1])
}

impl Descriptor for Footprint {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn entry(&self, work: &Work) -> KernelEntry {
        one(work.size).2
    }

    fn misfit(&self, _work: &Work, limits: &Limits) -> Option<String> {
        let why = "it is for tensor cores that count bits, as those of compute capability 8.0 to 9.0 do";
        (limits.arch >= NO_BITS).then(|| why.into())
    }

    fn cost(&self, work: &Work) -> f64 {
        let march = match one(work.size).1 {
            // Of cells that are all of one group, and valid, fewer bits are made.
            Bits::Registers { places } => {
                (1.3 + 0.045 * f64::from(places)) * if work.nodata || work.sweeps() > 1 { 2.0 } else { 1.0 }
            }
            Bits::Shared { halo } => {
                // Eight rows and 32 columns at a time.
                let parts = (work.size + 1).div_ceil(8) as f64 * f64::from(2 * halo + 1);
                (4.0 + 0.35 * parts) * if work.nodata { 1.2 } else { 1.0 }
            }
        };
        // A square's sums along rows and columns are cheaper than its cells; for small grids too, where other kernels' costs are less certain.
        let square = if work.square { 4.0 } else { 1.0 };
        work.launches() * square * march * work.sweeps() as f64
    }

    fn shared_needed(&self, work: &Work) -> u32 {
        self.block(work, 0).shared_bytes
    }

    fn block(&self, work: &Work, _shared_per_block: u32) -> Block {
        one(work.size).1.block(work.cells as u32, work.size as u32)
    }

    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError> {
        let work = &question.work;
        let &(_, bits, entry) = one(work.size);
        let rows = Rows::of(window(question).footprint(), bits);
        let common = Common::of_entry(entry, question, bits.block(rows.full, rows.count))?;
        let cells = matches!(bits, Bits::Shared { .. }).then(|| (FINER as usize).min(work.cells));
        let tables = Nested::of(work.size, work.largest, work.levels, cells.map(|cells| [0, cells]));
        let [_, fine_units, units] = tables.units;
        // No window has more cells than those of its shape.
        let (all, fine) = tables.entries.split_at(work.size * work.size + 1);
        let fine = cells.map_or(&[][..], |cells| &fine[..=cells]);
        let sums = OneSum::all(question, (&[&all[..=work.cells], fine].concat(), units), put)?;
        let finer = cells.map(|cells| (cells as u32, fine_units / units));
        let words = put(bytemuck::cast_slice(&rows.words))?;
        Ok(Box::new(Shapes { common, bits, rows, words, sums, finer }))
    }
}

/// A window as the kernels take it.
struct Rows {
    /// A bit a cell, some words for each row.
    words: Vec<u32>,
    /// Rows.
    count: u32,
    /// Cells.
    full: u32,
    /// Rows or columns from the centre to the furthest one.
    radius: u32,
}

impl Rows {
    fn of(shape: &measure::Footprint, bits: Bits) -> Self {
        let (rows, cols) = (shape.rows(), shape.cols());
        let (each, centre) = bits.row();
        let mut words = vec![0; rows * each];
        for (row, words) in words.chunks_mut(each).enumerate() {
            for col in (0..cols).filter(|&col| shape.contains(row, col)) {
                let bit = centre + col - cols / 2;
                words[bit / 32] |= 1 << (bit % 32);
            }
        }
        Self { words, count: rows as u32, full: shape.count() as u32, radius: (rows / 2).max(cols / 2) as u32 }
    }
}

struct Shapes {
    common: Common,
    bits: Bits,
    rows: Rows,
    /// Those of them that are on the device.
    words: Buffer,
    sums: Vec<OneSum>,
    /// Cells that the finer table is for, and how many times as fine it is; where the kernel takes one.
    finer: Option<(u32, f64)>,
}

impl Shapes {
    fn launch(&self, sum: &OneSum, frame: &Frame<'_>) -> Launch {
        let Common { nodata, resident, .. } = &self.common;
        let &Rows { count: window_rows, full, radius, .. } = &self.rows;
        let (at_once, multiple, startup) = self.bits.units(window_rows);
        let Frame { rows, cols, first, count, .. } = *frame;
        let rounded =
            |(inner, border): (u32, u32)| (inner.next_multiple_of(multiple), border.next_multiple_of(multiple));
        let units = |each| kernels::footprint_units((rows, cols), (first, count), radius, rounded(each));
        let (each, units) = share_units(frame, startup, resident * at_once, units);
        let (inner, border) = rounded(each);
        let mut args = self.common.arguments(frame.cells, frame, [sum.entries()]);
        args.push(self.words.input::<u32>());
        args.extend([window_rows, radius, full, *nodata, inner, border].map(Arg::U32));
        args.extend(sum.args());
        if let Some((cells, times)) = self.finer {
            args.extend(sum.finer(cells, times));
        }
        self.common.launch([units.div_ceil(at_once).clamp(1, *resident), 1, 1], args)
    }
}

impl Ready for Shapes {
    fn common(&self) -> &Common {
        &self.common
    }

    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch> {
        one_sum::launches(&self.sums, frame, |sum, frame| self.launch(sum, frame))
    }
}
