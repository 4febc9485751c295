//! The memory of one emulated device: buffers that the host fills and kernels use.
//!
//! Buffers live at made-up device addresses, counted up from [`FIRST_ADDRESS`] and never used twice, so
//! that a message reads the same in every run and a buffer used after it was freed is found. New memory is
//! filled with a poison byte: an output that a kernel did not write shows.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::BTreeMap;
use std::ptr::NonNull;

use super::shadow::Shadow;
use super::texture::{TexelFormat, Texture, TextureImage};
use crate::launch::{Arg, BufferArg, element_name};
use crate::scalar::Scalar;

/// The byte that new memory is filled with.
pub const POISON: u8 = 0xCD;

/// Where buffers begin, as on a device: at multiples of this.
pub const ALIGNMENT: usize = 256;

/// The address of the first buffer.
const FIRST_ADDRESS: u64 = 0x7000_0000_0000;

/// Not enough memory left on the emulated device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the emulated device has no memory for {wanted} bytes: {free} are free")]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub wanted: usize,
    /// Bytes free.
    pub free: usize,
}

/// A buffer in the memory of an emulated device, or a part of one. It is only a handle: it does not
/// free anything, and it outlives the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer {
    pub(super) address: u64,
    pub(super) bytes: usize,
}

impl Buffer {
    /// Its device address.
    pub fn address(self) -> u64 {
        self.address
    }

    /// Its length in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// The `bytes` bytes from `offset` on.
    ///
    /// # Panics
    /// When they are not all inside.
    pub fn slice(self, offset: usize, bytes: usize) -> Self {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "bytes {offset}.. of length {bytes} are outside a buffer of {} bytes",
            self.bytes
        );
        Self { address: self.address + offset as u64, bytes }
    }

    /// An argument of a launch: elements of type `T`, which the kernel may write if `writable`.
    pub fn arg<T: Scalar>(self, writable: bool) -> Arg {
        Arg::Buffer(BufferArg { address: self.address, element: element_name::<T>(), bytes: self.bytes, writable })
    }
}

/// The bytes of one buffer and their records.
pub(super) struct Allocation {
    address: u64,
    data: NonNull<u8>,
    bytes: usize,
    /// A bit for each byte that the host or a kernel wrote.
    written: Vec<u64>,
    /// Made by the first launch that may write the buffer and looks for races.
    shadow: Option<Box<Shadow>>,
}

// SAFETY: it owns the bytes, as a `Vec` does.
unsafe impl Send for Allocation {}
// SAFETY: shared references only read.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn layout(bytes: usize) -> Layout {
        // One byte more than none, so that an empty buffer needs no special case.
        Layout::from_size_align(bytes.max(1), ALIGNMENT).expect("the size is below the limit of allocations")
    }

    fn new(address: u64, bytes: usize) -> Self {
        let layout = Self::layout(bytes);
        // SAFETY: the layout is not empty.
        let data = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: just allocated, at least `bytes` long.
        unsafe { data.write_bytes(POISON, bytes) };
        Self { address, data, bytes, written: vec![0; bytes.div_ceil(64)], shadow: None }
    }

    fn as_slice(&self) -> &[u8] {
        // SAFETY: allocated and filled by `new`.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.bytes) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: allocated and filled by `new`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.bytes) }
    }

    /// Pointers for a launch: the bytes, the bitmap of written bytes, and, if asked for, the shadow.
    pub fn pointers(&mut self, watched: bool) -> (*mut u8, *mut u64, *mut Shadow) {
        let bytes = self.bytes;
        let shadow = if watched {
            std::ptr::from_mut(self.shadow.get_or_insert_with(|| Box::new(Shadow::new(bytes))).as_mut())
        } else {
            std::ptr::null_mut()
        };
        (self.data.as_ptr(), self.written.as_mut_ptr(), shadow)
    }

    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.data.as_ptr(), Self::layout(self.bytes)) }
    }
}

/// The memory of one emulated device.
///
/// Launches go through [`launch`](super::launch()), which borrows it for their duration.
pub struct Memory {
    limit: Option<usize>,
    used: usize,
    next_address: u64,
    buffers: BTreeMap<u64, Allocation>,
    textures: Vec<Option<TextureImage>>,
    /// The number of the next phase; see `shadow`.
    pub(super) phase: u64,
    /// The shared memory of a block, made by the first launch.
    pub(super) shared: Option<Box<super::shared::Arena>>,
}

impl Memory {
    /// A device with this many bytes, or with as many as the host has.
    pub fn new(limit: Option<usize>) -> Self {
        Self {
            limit,
            used: 0,
            next_address: FIRST_ADDRESS,
            buffers: BTreeMap::new(),
            textures: Vec::new(),
            phase: 1,
            shared: None,
        }
    }

    /// A new buffer, full of [`POISON`]. It takes a multiple of [`ALIGNMENT`] of the device's memory.
    pub fn alloc(&mut self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        let free = self.bytes_free();
        let refuse = OutOfMemory { wanted: bytes, free };
        let taken = bytes.checked_next_multiple_of(ALIGNMENT).filter(|&taken| taken <= free).ok_or(refuse)?;
        let address = self.next_address;
        self.buffers.insert(address, Allocation::new(address, bytes));
        self.used += taken;
        // A gap, so that an empty buffer has an address of its own.
        self.next_address += (taken + ALIGNMENT) as u64;
        Ok(Buffer { address, bytes })
    }

    /// Frees a buffer's memory.
    ///
    /// # Panics
    /// When `buffer` is not what `alloc` returned, or was freed before.
    pub fn free(&mut self, buffer: Buffer) {
        let allocation = self.buffers.remove(&buffer.address).expect("the buffer is no live buffer of this memory");
        self.used -= allocation.bytes.next_multiple_of(ALIGNMENT);
    }

    /// Bytes that can still be allocated; without a limit, what an allocation may have at most.
    pub fn bytes_free(&self) -> usize {
        self.limit.map_or(isize::MAX as usize - ALIGNMENT, |limit| limit.saturating_sub(self.used))
    }

    /// Copies `source` into the buffer from byte `offset` on.
    ///
    /// # Panics
    /// When it does not fit, or the buffer was freed.
    pub fn write(&mut self, buffer: Buffer, offset: usize, source: &[u8]) {
        let part = buffer.slice(offset, source.len());
        let (allocation, start) = self.find_mut(part).expect("the buffer is no live buffer of this memory");
        allocation.as_mut_slice()[start..start + source.len()].copy_from_slice(source);
        mark(&mut allocation.written, start, source.len());
    }

    /// Copies the buffer's bytes from `offset` on into `target`.
    ///
    /// # Panics
    /// When there are not enough, or the buffer was freed.
    pub fn read(&self, buffer: Buffer, offset: usize, target: &mut [u8]) {
        target.copy_from_slice(self.bytes(buffer.slice(offset, target.len())));
    }

    /// The buffer's bytes.
    ///
    /// # Panics
    /// When the buffer was freed.
    pub fn bytes(&self, buffer: Buffer) -> &[u8] {
        let (allocation, start) = self.find(buffer).expect("the buffer is no live buffer of this memory");
        &allocation.as_slice()[start..start + buffer.bytes]
    }

    /// A one-dimensional texture over the first `width` texels of a buffer.
    ///
    /// # Panics
    /// When the buffer is too short or not aligned for the format.
    pub fn texture_1d(&mut self, buffer: Buffer, format: TexelFormat, width: u32) -> Texture {
        self.texture(TextureImage::new(buffer, format, 1, width, 1, width as usize * format.bytes()))
    }

    /// A two-dimensional texture: `height` rows of `width` texels, each row `pitch` bytes after the one before.
    ///
    /// # Panics
    /// When the buffer is too short or not aligned for the format, or the pitch shorter than a row.
    pub fn texture_2d(
        &mut self,
        buffer: Buffer,
        format: TexelFormat,
        width: u32,
        height: u32,
        pitch: usize,
    ) -> Texture {
        self.texture(TextureImage::new(buffer, format, 2, width, height, pitch))
    }

    fn texture(&mut self, image: TextureImage) -> Texture {
        let dimensions = image.dimensions;
        self.textures.push(Some(image));
        Texture { handle: self.textures.len() as u64, dimensions }
    }

    /// Removes a texture; its buffer stays.
    ///
    /// # Panics
    /// When it is no texture of this memory, or was freed before.
    pub fn free_texture(&mut self, texture: Texture) {
        let slot = self.textures.get_mut((texture.handle - 1) as usize);
        slot.and_then(Option::take).expect("the texture is no live texture of this memory");
    }

    /// The texture of a handle.
    pub(super) fn image(&self, handle: u64) -> Option<&TextureImage> {
        self.textures.get(usize::try_from(handle).ok()?.checked_sub(1)?)?.as_ref()
    }

    fn find(&self, part: Buffer) -> Option<(&Allocation, usize)> {
        let allocation = self.buffers.range(..=part.address).next_back()?.1;
        let start = (part.address - allocation.address) as usize;
        (start.checked_add(part.bytes)? <= allocation.bytes).then_some((allocation, start))
    }

    /// The allocation that a part of a buffer lies in, and where in it.
    pub(super) fn find_mut(&mut self, part: Buffer) -> Option<(&mut Allocation, usize)> {
        let allocation = self.buffers.range_mut(..=part.address).next_back()?.1;
        let start = (part.address - allocation.address) as usize;
        (start.checked_add(part.bytes)? <= allocation.bytes).then_some((allocation, start))
    }
}

/// Sets `len` bits from `start` on.
fn mark(bits: &mut [u64], start: usize, len: usize) {
    let mut at = start;
    while at < start + len {
        let count = (64 - at % 64).min(start + len - at);
        bits[at / 64] |= u64::MAX >> (64 - count) << (at % 64);
        at += count;
    }
}
