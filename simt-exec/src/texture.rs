//! Textures over buffers: read-only arrays that a kernel fetches through the texture unit.

use std::sync::Arc;

pub use simt::emulator::TexelFormat;
use simt::launch::Arg;

use crate::{Buffer, Device, DeviceError, Rows};

/// The layout of a texture in its buffer, from the first byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextureShape {
    /// One dimension.
    Line {
        /// Elements.
        width: u32,
    },
    /// Two dimensions.
    Plane {
        /// Elements of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from a row to the next: on GPUs a multiple of 32.
        pitch: usize,
    },
}

/// A texture over a buffer. A fetch outside gives 0.
pub struct Texture<'a> {
    device: Arc<dyn Device>,
    handle: u64,
    dimensions: u8,
    // The texture reads the buffer's memory.
    _buffer: &'a Buffer,
}

impl<'a> Texture<'a> {
    /// A texture of `format` elements over `buffer`, which must be long enough.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn new(buffer: &'a Buffer, format: TexelFormat, shape: TextureShape) -> Result<Self, DeviceError> {
        let (dimensions, width, height, pitch) = match shape {
            TextureShape::Line { width } => (1, width, 1, width as usize * format.bytes()),
            TextureShape::Plane { width, height, pitch } => (2, width, height, pitch),
        };
        let width = width as usize * format.bytes();
        Rows { start: 0, pitch, width, rows: height as usize }.check_buffer(buffer.bytes());
        let handle = buffer.device().create_texture(buffer, format, shape)?;
        Ok(Self { device: Arc::clone(buffer.device()), handle, dimensions, _buffer: buffer })
    }

    /// The texture as an argument for a parameter `Texture1d` or `Texture2d`.
    pub fn arg(&self) -> Arg {
        Arg::Texture { handle: self.handle, dimensions: self.dimensions }
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        self.device.destroy_texture(self.handle);
    }
}
