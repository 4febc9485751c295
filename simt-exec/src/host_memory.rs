//! Host memory that a device copies to and from directly.
//!
//! A GPU copies by itself only from memory that the operating system does not move (page-locked, "pinned"). From any
//! other the driver first copies to such memory of its own, with one thread: a third of the bandwidth, and nothing overlaps
//! with it. Locking is slow (some 0.3 s for a gigabyte), so a device pools what it has allocated.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;

/// Kinds of host memory, which a GPU and the CPU reach at different speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    /// Ordinary memory, which the operating system may move.
    Pageable,
    /// Page-locked: what a device copies to and from by itself.
    Pinned,
    /// Page-locked and write-combined, not cached: to be written sequentially and copied up. Reads by the CPU are very slow.
    WriteCombined,
    /// Page-locked, and kernels reach it where it is, over the bus ([`Mapped`](crate::Mapped)).
    Mapped,
}

/// Bytes of host memory, aligned for every number. Made by [`Device::host_memory`](crate::Device::host_memory) and
/// [`Device::host_memory_of`](crate::Device::host_memory_of).
pub struct HostMemory {
    address: NonNull<u8>,
    bytes: usize,
    /// Where it is returned to; `None` where it was allocated here.
    owner: Option<Box<dyn Owner>>,
}

/// Takes back memory that it has handed out.
pub(crate) trait Owner: Send + Sync {
    /// The memory is no longer used: its address and length.
    fn take_back(&self, address: NonNull<u8>, bytes: usize);
}

// SAFETY: it owns its memory, like a `Vec`.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Ordinary memory, all zero.
    pub fn plain(bytes: usize) -> Self {
        let words: Box<[u64]> = vec![0; bytes.div_ceil(8)].into_boxed_slice();
        let address = NonNull::from(Box::leak(words)).cast();
        Self { address, bytes, owner: None }
    }

    /// Memory allocated by `owner`, which takes it back when it is dropped.
    ///
    /// # Safety
    /// `address` is of `bytes` bytes, all of them written once, aligned to 8, that nothing else uses until `owner` has them
    /// back.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "the emulator has ordinary memory only"))]
    pub(crate) unsafe fn from_raw_parts(address: NonNull<u8>, bytes: usize, owner: Box<dyn Owner>) -> Self {
        Self { address, bytes, owner: Some(owner) }
    }

    /// Its bytes as numbers; those at the end that make no whole number are left out.
    pub fn as_slice<T: Pod>(&self) -> &[T] {
        let whole = self.bytes / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self[..whole])
    }

    /// Its bytes as numbers to be written; those at the end that make no whole number are left out.
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        let whole = self.bytes / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self[..whole])
    }
}

impl Deref for HostMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: it owns so many bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.bytes) }
    }
}

impl DerefMut for HostMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.bytes) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        match &self.owner {
            Some(owner) => owner.take_back(self.address, self.bytes),
            None => {
                let words = self.bytes.div_ceil(8);
                let words = std::ptr::slice_from_raw_parts_mut(self.address.as_ptr().cast::<u64>(), words);
                // SAFETY: leaked in `plain` with this address and length.
                drop(unsafe { Box::from_raw(words) });
            }
        }
    }
}
