//! The rungs that are kernels: what each is launched with.
//!
//! A rung says how its kernel reaches cells and table and in which blocks; `launch` makes buffers, textures and
//! arguments of that.

use halotile_lab_kernels::ladder::{LADDER_S_COLS, LADDER_S_ROWS, LADDER_S_THREADS, LADDER_S4_SHARED};
use halotile_lab_kernels::ladder::{LADDER_V9_INNER, ladder_v0, ladder_v1, ladder_v2, ladder_v3, ladder_v4};
use halotile_lab_kernels::ladder::{ladder_b0, ladder_b1, ladder_b2, ladder_b3, ladder_b4};
use halotile_lab_kernels::ladder::{ladder_b5, ladder_b6, ladder_b7, ladder_b8, ladder_b9};
use halotile_lab_kernels::ladder::{ladder_s1, ladder_s2, ladder_s3, ladder_s4};
use halotile_lab_kernels::ladder::{ladder_v5, ladder_v6, ladder_v7, ladder_v8, ladder_v9};
use simt::launch::KernelEntry;

use super::{How, Rung};

/// A rung that is a kernel.
#[derive(Debug)]
pub(super) struct DeviceRung {
    pub(super) entry: KernelEntry,
    /// Threads of a block along x and y.
    pub(super) block: [u32; 2],
    /// Cells that a block writes along x and y.
    pub(super) tile: [u32; 2],
    pub(super) cells: Cells,
    pub(super) table: Table,
    /// Dynamic shared memory of a block, in bytes.
    pub(super) shared_bytes: u32,
}

/// How a kernel reaches cells and results, and learns how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cells {
    /// Buffers of u8 and f32, as the production kernels.
    Bytes,
    /// A two-dimensional texture of u8; results as before.
    Texture,
    /// Matrices of f64: height, width and pointer to an array of pointers to rows.
    Rows,
    /// Matrices of f64: height, width and pointer to elements without a gap.
    Flat,
    /// Buffers of f64 without a gap, height and width in a third.
    Extent,
    /// Buffers of f64 without a gap, height and width in constant memory.
    Constant,
    /// The same with cells of i16 and results of f32.
    Narrow,
}

/// The element type of cells on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellType {
    U8,
    I16,
    F64,
}

impl CellType {
    /// Bytes of a cell.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::F64 => 8,
        }
    }
}

/// Where the table of logarithms is, if the kernel does not bring its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// The kernel brings its own, or needs none.
    Own,
    /// A buffer of f64.
    Global,
    /// A one-dimensional texture of f32.
    Texture,
    /// A buffer of F(n) = n·ln n in fixed point, as the production kernels'.
    Fixed,
}

impl DeviceRung {
    const fn new(entry: KernelEntry, block: [u32; 2]) -> Self {
        Self { entry, block, tile: block, cells: Cells::Bytes, table: Table::Own, shared_bytes: 0 }
    }

    const fn with_tile(self, tile: [u32; 2]) -> Self {
        Self { tile, ..self }
    }

    const fn with_cells(self, cells: Cells) -> Self {
        Self { cells, ..self }
    }

    const fn with_table(self, table: Table) -> Self {
        Self { table, ..self }
    }

    const fn with_shared(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }

    /// Its kernel.
    pub fn entry(&self) -> KernelEntry {
        self.entry
    }

    /// What its cells are on the device.
    pub fn cell_type(&self) -> CellType {
        match self.cells {
            Cells::Bytes | Cells::Texture => CellType::U8,
            Cells::Rows | Cells::Flat | Cells::Extent | Cells::Constant => CellType::F64,
            Cells::Narrow => CellType::I16,
        }
    }

    /// Whether its results are f64.
    pub fn is_f64(&self) -> bool {
        self.cell_type() == CellType::F64
    }
}

const fn rung(name: &'static str, before: Option<&'static str>, idea: &'static str, device: DeviceRung) -> Rung {
    Rung { name, before, idea, how: How::Device(device) }
}

const fn square(entry: KernelEntry) -> DeviceRung {
    DeviceRung::new(entry, [32, 32])
}

const fn line(entry: KernelEntry) -> DeviceRung {
    DeviceRung::new(entry, [512, 1])
}

const fn small(entry: KernelEntry, cells: Cells) -> DeviceRung {
    DeviceRung::new(entry, [8, 8]).with_cells(cells)
}

const fn swept(block: [u32; 2]) -> DeviceRung {
    DeviceRung::new(ladder_b9::ENTRY, block).with_cells(Cells::Narrow)
}

/// A kernel that marches down in strips.
const fn strips(entry: KernelEntry) -> DeviceRung {
    DeviceRung::new(entry, [LADDER_S_THREADS, 1]).with_tile([LADDER_S_COLS, LADDER_S_ROWS]).with_table(Table::Fixed)
}

pub(super) static RUNGS: &[Rung] = &[
    rung("v0", None, "one thread a cell, i32 counters, a logarithm in f64 for every count", square(ladder_v0::ENTRY)),
    rung("v1", Some("v0"), "v0 + a table of logarithms, thread-private", square(ladder_v1::ENTRY)),
    rung("v2", Some("v0"), "v0 + the table in shared memory", square(ladder_v2::ENTRY)),
    rung("v3", Some("v0"), "v0 + the table in constant memory", square(ladder_v3::ENTRY)),
    rung("v4", Some("v0"), "v0 + the table in global memory", square(ladder_v4::ENTRY).with_table(Table::Global)),
    rung(
        "v5",
        Some("v4"),
        "v4 + the table through a texture, as f32",
        square(ladder_v5::ENTRY).with_table(Table::Texture),
    ),
    rung("v6", Some("v1"), "v1 + counters of 8 bits", square(ladder_v6::ENTRY)),
    rung("v7", Some("v6"), "v6 + an f32 table, sums in f64; counters in shared memory", line(ladder_v7::ENTRY)),
    rung("v8", Some("v7"), "v7 + cells through a 2-D texture", line(ladder_v8::ENTRY).with_cells(Cells::Texture)),
    rung(
        "v9",
        Some("v7"),
        "v7 + cells from a halo tile in shared memory",
        square(ladder_v9::ENTRY).with_tile([LADDER_V9_INNER, LADDER_V9_INNER]),
    ),
    rung(
        "b0",
        None,
        "f64 cells behind pointers to rows, a logarithm for every count, blocks of 8 x 8",
        small(ladder_b0::ENTRY, Cells::Rows),
    ),
    rung(
        "b1",
        Some("b0"),
        "b0 + a table of logarithms in global memory",
        small(ladder_b1::ENTRY, Cells::Rows).with_table(Table::Global),
    ),
    rung("b2", Some("b0"), "b0 + the table thread-private", small(ladder_b2::ENTRY, Cells::Rows)),
    rung("b3", Some("b0"), "b0 + the table in shared memory", small(ladder_b3::ENTRY, Cells::Rows)),
    rung("b4", Some("b0"), "b0 + the table in constant memory", small(ladder_b4::ENTRY, Cells::Rows)),
    rung("b5", Some("b3"), "b3 + one array instead of pointers to rows", small(ladder_b5::ENTRY, Cells::Flat)),
    rung("b6", Some("b5"), "b5 + height and width from global memory", small(ladder_b6::ENTRY, Cells::Extent)),
    rung("b7", Some("b5"), "b5 + height and width in constant memory", small(ladder_b7::ENTRY, Cells::Constant)),
    rung("b8", Some("b7"), "b7 + i16 cells and counters, f32 results", small(ladder_b8::ENTRY, Cells::Narrow)),
    rung("b9", Some("b8"), "b8 in blocks of 256 x 4", swept([256, 4])),
    rung("b9-8x8", Some("b8"), "b8 as b9 is compiled, in blocks of 8 x 8", swept([8, 8])),
    rung("b9-16x16", Some("b8"), "b8 in blocks of 16 x 16", swept([16, 16])),
    rung("b9-32x32", Some("b8"), "b8 in blocks of 32 x 32", swept([32, 32])),
    rung("b9-64x16", Some("b8"), "b8 in blocks of 64 x 16", swept([64, 16])),
    rung("b9-128x8", Some("b8"), "b8 in blocks of 128 x 8", swept([128, 8])),
    rung("b9-512x2", Some("b8"), "b8 in blocks of 512 x 2", swept([512, 2])),
    rung(
        "s1",
        Some("v9"),
        "no tile, counters of 5 bits packed in registers, integer sums",
        DeviceRung::new(ladder_s1::ENTRY, [32, 8]).with_table(Table::Fixed),
    ),
    rung("s2", Some("s1"), "s1 + column histograms slide down, windows by shuffle", strips(ladder_s2::ENTRY)),
    rung("s3", Some("s2"), "s2 + a table of pairs: 8 look-ups instead of 16", strips(ladder_s3::ENTRY)),
    rung(
        "s4",
        Some("s3"),
        "s3 + a copy of the table for each lane, in its own bank",
        strips(ladder_s4::ENTRY).with_shared(LADDER_S4_SHARED),
    ),
];
