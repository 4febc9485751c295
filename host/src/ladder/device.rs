//! The rungs that are kernels: what each is launched with.
//!
//! A rung says how its kernel reaches cells and table and in which blocks; `launch` makes buffers, textures and
//! arguments of that.

use halotile_kernels::ladder::{LADDER_V9_INNER, ladder_v0, ladder_v1, ladder_v2, ladder_v3, ladder_v4};
use halotile_kernels::ladder::{ladder_v5, ladder_v6, ladder_v7, ladder_v8, ladder_v9};
use simt::launch::KernelEntry;

use super::{How, Rung};

/// A rung that is a kernel.
#[derive(Debug)]
pub(crate) struct DeviceRung {
    pub(super) entry: KernelEntry,
    /// Threads of a block along x and y.
    pub(super) block: [u32; 2],
    /// Cells that a block writes along x and y.
    pub(super) tile: [u32; 2],
    pub(super) cells: Cells,
    pub(super) table: Table,
}

/// How a kernel reaches the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cells {
    /// A buffer of u8.
    Bytes,
    /// A two-dimensional texture of u8.
    Texture,
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
}

impl DeviceRung {
    const fn new(entry: KernelEntry, block: [u32; 2]) -> Self {
        Self { entry, block, tile: block, cells: Cells::Bytes, table: Table::Own }
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

    /// Its kernel.
    pub fn entry(&self) -> KernelEntry {
        self.entry
    }

    /// Whether its results are f64.
    pub fn is_f64(&self) -> bool {
        false
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
];
