//! Memory that was given back and is handed out again: allocating device memory, and locking host memory, takes milliseconds in which
//! the device stands still.

use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys;

use crate::host_memory::Owner;

/// Memory that was given back, by its length, for the next allocation of the same length.
pub(super) struct FreeList {
    /// The most bytes that are pooled: none once an allocation has failed, because what is pooled is missing elsewhere, as to streams
    /// and to the driver's own needs.
    pub(super) capacity: usize,
    /// Lengths and addresses, those first that were given back first.
    free: VecDeque<(usize, u64)>,
    /// Bytes of all of them.
    pub(super) bytes: usize,
    /// The length of what is in use, by address.
    pub(super) in_use: HashMap<u64, usize>,
}

/// The most bytes that are pooled, of device memory and of page-locked memory each.
const MAX_POOLED_BYTES: usize = 1 << 30;

impl Default for FreeList {
    fn default() -> Self {
        Self { capacity: MAX_POOLED_BYTES, free: VecDeque::new(), bytes: 0, in_use: HashMap::new() }
    }
}

impl FreeList {
    pub(super) fn take(&mut self, bytes: usize) -> Option<u64> {
        let last = self.free.iter().rposition(|&(length, _)| length == bytes)?;
        let (_, address) = self.free.remove(last)?;
        self.bytes -= bytes;
        self.in_use.insert(address, bytes);
        Some(address)
    }

    /// Puts the memory at an address into the pool. What is to be freed instead: it, if there is no room, or what has been there longest, so that lengths
    /// that nothing asks for any more do not keep out those that are asked for.
    pub(super) fn recycle(&mut self, address: u64) -> Vec<u64> {
        let Some(bytes) = self.in_use.remove(&address).filter(|&bytes| bytes <= self.capacity) else {
            return vec![address];
        };
        let mut freed = Vec::new();
        while self.bytes + bytes > self.capacity {
            let (length, oldest) = self.free.pop_front().expect("what is pooled takes that room");
            self.bytes -= length;
            freed.push(oldest);
        }
        self.bytes += bytes;
        self.free.push_back((bytes, address));
        freed
    }

    /// All that is pooled, which is so no longer.
    pub(super) fn clear(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.free.drain(..).map(|(_, address)| address).collect()
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
        let address = address.as_ptr().expose_provenance() as u64;
        let freed = self.0.lock().unwrap_or_else(PoisonError::into_inner).recycle(address);
        for freed in freed {
            // SAFETY: it came from `cuMemHostAlloc`, as all of this list, and its owner has given it back.
            unsafe { free_host(std::ptr::with_exposed_provenance_mut(freed as usize)) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_last_is_kept() {
        let mut list = FreeList { capacity: 100, ..FreeList::default() };
        let give_back = |list: &mut FreeList, address: u64, bytes: usize| {
            list.in_use.insert(address, bytes);
            list.recycle(address)
        };
        assert!(give_back(&mut list, 1, 60).is_empty());
        assert!(give_back(&mut list, 2, 30).is_empty());
        assert_eq!(give_back(&mut list, 3, 50), [1]);
        // More than all of it, and what is not known.
        assert_eq!(give_back(&mut list, 4, 101), [4]);
        assert_eq!(list.recycle(9), [9]);
        assert_eq!((list.take(60), list.take(50), list.take(50), list.bytes), (None, Some(3), None, 30));
        assert!(list.recycle(3).is_empty());
        assert_eq!((list.clear(), list.bytes), (vec![2, 3], 0));
        list.capacity = 0;
        assert_eq!(give_back(&mut list, 5, 10), [5]);
    }
}
