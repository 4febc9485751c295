//! Memory on a device, owned or borrowed, and how it is an argument of a kernel.

use std::marker::PhantomData;
use std::sync::Arc;

use simt::launch::{Arg, BufferArg, element_name};
use simt::scalar::Scalar;

use crate::device::{Device, DeviceError};
use crate::rows::Rows;

/// Memory on a device, freed when dropped, on any thread and at any time: freeing waits for all work that may still use it
/// ([`Device::release`]). So results may be handed to other libraries in it.
pub struct Buffer {
    device: Arc<dyn Device>,
    address: u64,
    bytes: usize,
    /// The memory is external: its owner frees it.
    borrowed: bool,
}

impl Buffer {
    /// `bytes` bytes of new memory, aligned to 256.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::Driver`].
    pub fn new(device: &Arc<dyn Device>, bytes: usize) -> Result<Self, DeviceError> {
        let address = device.allocate(bytes)?;
        Ok(Self { device: Arc::clone(device), address, bytes, borrowed: false })
    }

    /// External memory, which its owner frees.
    ///
    /// # Safety
    /// As long as the buffer is there, and until every queue that it was used on has been waited for, the memory is `bytes` bytes long and nothing
    /// writes to it but this buffer; nothing else reads what this buffer writes.
    pub unsafe fn borrowed(device: &Arc<dyn Device>, address: u64, bytes: usize) -> Self {
        Self { device: Arc::clone(device), address, bytes, borrowed: true }
    }

    /// The bytes from `start` on, where their owner does not matter.
    ///
    /// # Panics
    /// When they are not all inside.
    pub fn part(&self, start: usize, bytes: usize) -> Part<'_> {
        assert!(start.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{bytes} bytes from {start} on");
        // SAFETY: they are the buffer's own, which is borrowed and frees them; copies through both are ordered by their callers' waits, as through one.
        unsafe { Part::borrowed(&self.device, self.address + start as u64, bytes) }
    }

    /// The device that it is on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// New memory that holds `data`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and of [`write`](Self::write).
    pub fn from_slice<T: bytemuck::Pod>(device: &Arc<dyn Device>, data: &[T]) -> Result<Self, DeviceError> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let buffer = Self::new(device, bytes.len())?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    }

    /// Its contents, to the last whole element.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn to_vec<T: bytemuck::Pod>(&self) -> Result<Vec<T>, DeviceError> {
        let mut data = vec![T::zeroed(); self.bytes / size_of::<T>()];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
        self.read(0, bytes)?;
        Ok(data)
    }

    /// Copies `bytes` to byte `start` on, and waits.
    ///
    /// # Errors
    /// Those of [`Device::upload`].
    ///
    /// # Panics
    /// When they are not all inside.
    pub fn write(&self, start: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.device.upload(self, Rows::contiguous(start, bytes.len()), bytes, bytes.len())
    }

    /// Copies what is from byte `start` on to `bytes`, and waits.
    ///
    /// # Errors
    /// Those of [`Device::download`].
    ///
    /// # Panics
    /// When not all of it is inside.
    pub fn read(&self, start: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.download(self, Rows::contiguous(start, bytes.len()), bytes, bytes.len())
    }

    /// Device address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The buffer as an argument for a parameter `In<T>`.
    pub fn input<T: Scalar>(&self) -> Arg {
        self.arg::<T>(false)
    }

    /// The buffer as an argument for a parameter `Out<T>`.
    pub fn output<T: Scalar>(&self) -> Arg {
        self.arg::<T>(true)
    }

    /// The buffer, which holds addresses in the buffer of `into`, as an argument for a parameter `Pointers`.
    ///
    /// # Panics
    /// When `into` is no buffer, or already an array of pointers to pointers.
    pub fn pointers(&self, into: &Arg) -> Arg {
        let array = BufferArg { address: self.address, element: "u64", bytes: self.bytes, writable: false };
        match *into {
            Arg::Buffer(target) => Arg::Pointers { array, into: [Some(target), None] },
            Arg::Pointers { array: between, into: [target, None] } => {
                Arg::Pointers { array, into: [Some(between), target] }
            }
            _ => panic!("pointers lead to a buffer, by way of one array of pointers at most"),
        }
    }

    fn arg<T: Scalar>(&self, writable: bool) -> Arg {
        buffer_arg::<T>(self.address, self.bytes, writable)
    }
}

/// Memory at a device's address as an argument.
pub(crate) fn buffer_arg<T: Scalar>(address: u64, bytes: usize, writable: bool) -> Arg {
    Arg::Buffer(BufferArg { address, element: element_name::<T>(), bytes, writable })
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !self.borrowed {
            self.device.release(self.address);
        }
    }
}

/// A part of a buffer, used as one.
pub struct Part<'a> {
    buffer: Buffer,
    _of: PhantomData<&'a Buffer>,
}

impl Part<'_> {
    /// # Safety
    /// As for [`Buffer::borrowed`], for as long as what is borrowed.
    pub unsafe fn borrowed(device: &Arc<dyn Device>, address: u64, bytes: usize) -> Self {
        // SAFETY: passed on to the caller.
        Self { buffer: unsafe { Buffer::borrowed(device, address, bytes) }, _of: PhantomData }
    }
}

impl std::ops::Deref for Part<'_> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        &self.buffer
    }
}
