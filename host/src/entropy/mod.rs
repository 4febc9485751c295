//! Moving-window Shannon entropy of a grid of classes.
//!
//! For every cell, H = −Σ p_i·ln p_i over the levels i in the square window centred on it, p_i being a
//! level's share of the window's cells. The window is clipped at the border: only cells inside the grid count, nothing
//! is padded, mirrored or wrapped. Nodata cells are not counted, and where the centre is nodata the result is
//! NaN. A window of one level gives exactly 0. [Other shapes](Entropy::footprint), [other measures](Entropy::measures) and
//! [other edges](Entropy::edge) can be asked for; their definitions are in [`measure`](crate::measure).
//!
//! A grid in memory is computed by [`Entropy::compute`], or with a choice of the engine by [`Entropy::compute_into`]; a raster that need
//! not fit in memory by [`Entropy::stream`].
//!
//! Sources: C. E. Shannon, A Mathematical Theory of Communication (1948), section 6; in landscape ecology the same
//! is Shannon's diversity index SHDI (McGarigal and Marks, FRAGSTATS, 1995), in image analysis local entropy.
//!
//! ```
//! use halotile::entropy::Entropy;
//! use halotile::grid::GridView;
//!
//! let cells = [1u8, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7];
//! let h = Entropy::new().size(5).compute::<f64>(GridView::new(&cells, 4, 4)?)?;
//! assert_eq!(format!("{:.5}", h.row(0)[1]), "1.70455");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
pub(crate) mod census;
mod choice;
mod compute;
mod error;
mod frame;
mod kernel;
mod kernels;
mod launch;
mod options;
mod program;
mod resident;
mod stream;

pub use crate::codes::{BYTE_LEVELS, MAX_LEVELS};
pub use crate::engine::Engine;
pub use crate::measure::{Base, MAX_SIZE};
pub use crate::numbers::{Planes, Real};
pub use algorithm::{Algorithm, Custom, Launcher, Task};
pub use error::Error;
pub use frame::Frame;
#[doc(hidden)]
pub use frame::{allocate, pitch};
pub use kernel::{Kernel, Place};
pub use options::Entropy;
pub use resident::Resident;

use crate::grid::GridView;

/// F(n) = n·ln n in fixed point for counts of 0 to `size`², and units of 1, for windows of which the largest has `largest` cells: what the
/// library's kernels for few classes have.
#[doc(hidden)]
pub fn fixed_table(size: usize, largest: usize) -> (Vec<u32>, f64) {
    crate::measure::fixed::table_u32(size * size + 1, largest)
}

/// The most measures at a time.
pub const MAX_MEASURES: usize = 64;

/// A grid in memory whose values are codes of classes, as [`Cells`](crate::raster::Cells) reads them of a raster: bytes, or 16-bit
/// words where there are more than 256.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a, C = u8> {
    /// The codes.
    pub cells: GridView<'a, C>,
    /// Codes are below this, 1 to [`Code::LEVELS`](crate::codes::Code::LEVELS), or the one for nodata.
    pub levels: usize,
    /// The code of cells without data, if there may be any. It may be below `levels`.
    pub nodata: Option<C>,
}

/// What was done, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Report {
    /// Levels: those given; or, where values are small, one more than the largest; or as many as occur.
    pub levels: usize,
    /// The kernel, where devices did the work, or the rung asked for by name. `None` for the CPU engine.
    pub kernel: Option<Kernel>,
    /// Bands that devices took, in all.
    pub bands: usize,
    /// Cells that the CPU computed: all, none, or its share where it works beside devices.
    pub cpu_cells: usize,
    /// Seconds that kernels ran, copies not counted; of the slowest device. 0 where no device took part.
    pub kernel_seconds: f64,
}
