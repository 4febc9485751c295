//! Textures over buffers, with border addressing: a fetch outside gives 0.

use super::memory::Buffer;
use crate::launch::Arg;

/// The format of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TexelFormat {
    /// 8-bit unsigned.
    U8,
    /// 32-bit unsigned.
    U32,
    /// 32-bit floating-point.
    F32,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::F32 => 4,
        }
    }
}

/// A texture of an emulated device. Like [`Buffer`], only a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Texture {
    pub(super) handle: u64,
    pub(super) dimensions: u8,
}

impl Texture {
    /// An argument of a launch.
    pub fn arg(self) -> Arg {
        Arg::Texture { handle: self.handle, dimensions: self.dimensions }
    }
}

/// The layout of a texture in its buffer.
#[derive(Clone, Copy)]
pub(super) struct TextureImage {
    pub buffer: Buffer,
    pub format: TexelFormat,
    pub dimensions: u8,
    pub width: u32,
    pub height: u32,
    pub pitch: usize,
}

impl TextureImage {
    pub fn new(buffer: Buffer, format: TexelFormat, dimensions: u8, width: u32, height: u32, pitch: usize) -> Self {
        let row = width as usize * format.bytes();
        assert!(width > 0 && height > 0, "a texture has at least one texel");
        assert!(pitch >= row, "a pitch of {pitch} bytes is shorter than a row of {row}");
        assert!(
            buffer.address.is_multiple_of(format.bytes() as u64) && pitch.is_multiple_of(format.bytes()),
            "the buffer or the pitch is not aligned for its texels"
        );
        let needed = pitch.checked_mul(height as usize - 1).and_then(|bytes| bytes.checked_add(row));
        assert!(
            needed.is_some_and(|needed| needed <= buffer.bytes),
            "{height} rows of {width} texels do not fit a buffer of {} bytes",
            buffer.bytes
        );
        Self { buffer, format, dimensions, width, height, pitch }
    }

    /// Byte offset of a texel, if it is inside.
    #[inline]
    pub fn offset(&self, x: i32, y: i32) -> Option<usize> {
        let x = u32::try_from(x).ok().filter(|&x| x < self.width)?;
        let y = u32::try_from(y).ok().filter(|&y| y < self.height)?;
        Some(y as usize * self.pitch + x as usize * self.format.bytes())
    }
}
