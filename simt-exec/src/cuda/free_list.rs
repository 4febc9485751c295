//! Memory that was given back and is handed out again: allocating device memory, and locking host memory, takes milliseconds in which
//! the device stands still.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys;

use crate::host_memory::Owner;

/// Memory that was given back, by its length, for the next allocation of the same length.
pub(super) struct FreeList {
    /// The most bytes that are pooled: none once an allocation has failed, because what is pooled is missing elsewhere, as to streams
    /// and to the driver's own needs.
    pub(super) capacity: usize,
    /// Addresses by length.
    free: HashMap<usize, Vec<u64>>,
    /// Bytes of all of them.
    pub(super) bytes: usize,
    /// The length of what is in use, by address.
    pub(super) in_use: HashMap<u64, usize>,
}

/// The most bytes that are pooled, of device memory and of page-locked memory each.
const MAX_POOLED_BYTES: usize = 1 << 30;

impl Default for FreeList {
    fn default() -> Self {
        Self { capacity: MAX_POOLED_BYTES, free: HashMap::new(), bytes: 0, in_use: HashMap::new() }
    }
}

impl FreeList {
    pub(super) fn take(&mut self, bytes: usize) -> Option<u64> {
        let address = self.free.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        self.in_use.insert(address, bytes);
        Some(address)
    }

    /// Puts the memory at an address into the pool; false where it should be freed.
    pub(super) fn recycle(&mut self, address: u64) -> bool {
        let Some(bytes) = self.in_use.remove(&address) else { return false };
        if self.bytes + bytes > self.capacity {
            return false;
        }
        self.bytes += bytes;
        self.free.entry(bytes).or_default().push(address);
        true
    }

    /// All that is pooled, which is so no longer.
    pub(super) fn clear(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.free.drain().flat_map(|(_, addresses)| addresses).collect()
    }
}

/// Frees page-locked memory of the kinds that are rarely asked for, which are not pooled.
pub(super) struct Freed;

impl Owner for Freed {
    fn take_back(&self, address: NonNull<u8>, _: usize) {
        // SAFETY: it came from `cuMemHostAlloc`, and its owner has given it back.
        unsafe { free_host(address.as_ptr()) };
    }
}

/// Returns page-locked memory of the usual kind to the pool.
pub(super) struct PinnedPool(pub(super) Arc<Mutex<FreeList>>);

impl Owner for PinnedPool {
    fn take_back(&self, address: NonNull<u8>, _: usize) {
        let address = address.as_ptr();
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).recycle(address.expose_provenance() as u64) {
            // SAFETY: it came from `cuMemHostAlloc`, and its owner has given it back.
            unsafe { free_host(address) };
        }
    }
}

/// Frees memory from `cuMemHostAlloc`.
///
/// # Safety
/// The address came from there, and the memory is used no longer.
pub(super) unsafe fn free_host(address: *mut u8) {
    // SAFETY: the caller's promise. The driver knows the memory by its address, whatever context is current; nothing
    // could be done about a failure.
    let _ = unsafe { sys::cuMemFreeHost(address.cast()) };
}
