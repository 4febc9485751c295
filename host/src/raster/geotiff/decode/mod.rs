//! From the bytes of a block to the cells of one of its bands.
//!
//! ```text
//! stored ─── bytes of the file, by position, some at a time, bits turned round
//!    │
//!  codec ─── a stream of decoded bytes: Deflate, LZW, PackBits, Zstandard, or none      lerc ─── a block whole
//!    │                                                                                    │
//!   rows ─── rows: predictor and byte order (`predict`), bits (`unpack`), small floats    │
//!    │                                                                                    │
//!    ├────── `block`: all rows of a block, for the `cache` ───────────────────────────────┘
//!    └────── `stream`: rows of blocks that are too large to be held, from top to bottom
//! ```
//!
//! A decoder is asked for the bytes that the block's shape makes, and for no more: what a codec would go on to produce is never produced, so
//! a short file cannot fill memory. Only rows inside the image are asked for, which is how libtiff reads the lowest blocks: they may
//! hold all their rows or only those inside.

pub(super) mod block;
pub(super) mod cache;
pub(super) mod codec;
mod float;
mod lerc;
mod lzw;
mod packbits;
pub(super) mod predict;
pub(super) mod rows;
pub(super) mod stored;
pub(super) mod stream;
mod unpack;

use tiff_reader::TiffError;

/// Why a block has no cells to give.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file could not be read there.
    Source(TiffError),
    /// What is there cannot be decoded.
    Data(String),
    /// So many bytes are not to be had.
    Memory(usize),
}

impl Fault {
    pub(super) fn data(reason: impl std::fmt::Display) -> Self {
        Self::Data(reason.to_string())
    }
}

/// Zeros, if memory is there for them.
pub(super) fn zeros(bytes: usize) -> Result<Vec<u8>, Fault> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|_| Fault::Memory(bytes))?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}
