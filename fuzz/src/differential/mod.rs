//! Two ways to one result: an engine beside the definition, a raster read in pieces beside a grid in memory, a file beside itself.
//!
//! Bytes choose a small case ([`Case`](crate::case::Case)); the other way is always the simpler one.

mod emulator;
mod entropy;
mod geotiff;
mod mask;
mod paths;
mod stream;

pub use emulator::emulator;
pub use entropy::{entropy, measures};
pub use geotiff::geotiff_written;
pub use mask::mask;
pub use paths::paths;
pub use stream::stream;

use std::sync::LazyLock;

use halotile::threads::Threads;

/// Threads for what starts threads of its own: these would wait for the calling thread if it were rayon's only one.
static POOL: LazyLock<Threads> = LazyLock::new(|| Threads::new(2).expect("the system starts two threads"));
