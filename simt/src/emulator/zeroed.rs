//! A slice of zeros whose pages cost nothing until they are touched.
//!
//! Shadow memory is several times as large as the memory it describes, and a launch touches little of it.
//! `alloc_zeroed` hands out pages that the system fills on first use; a `Vec` of a struct would write them all.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// A type for which all bytes zero is a value.
///
/// # Safety
/// That it is.
pub(super) unsafe trait ZeroIsValid: Copy {}

/// `len` values, initially zero.
pub(super) struct Zeroed<T> {
    pointer: NonNull<T>,
    len: usize,
}

impl<T: ZeroIsValid> Zeroed<T> {
    pub fn new(len: usize) -> Self {
        let layout = Layout::array::<T>(len).expect("shadow memory fits the address space");
        if layout.size() == 0 {
            return Self { pointer: NonNull::dangling(), len };
        }
        // SAFETY: the layout is not empty.
        let pointer = unsafe { alloc_zeroed(layout) }.cast::<T>();
        Self { pointer: NonNull::new(pointer).unwrap_or_else(|| handle_alloc_error(layout)), len }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, index: usize) -> &mut T {
        assert!(index < self.len);
        // SAFETY: the index is inside, zeros are a valid `T`, and the borrow is exclusive.
        unsafe { &mut *self.pointer.as_ptr().add(index) }
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        let layout = Layout::array::<T>(self.len).expect("it was allocated with this layout");
        if layout.size() != 0 {
            // SAFETY: `new` allocated it with this layout.
            unsafe { dealloc(self.pointer.as_ptr().cast(), layout) }
        }
    }
}

// SAFETY: it owns its values, as a `Vec` does.
unsafe impl<T: Send> Send for Zeroed<T> {}
// SAFETY: shared references give no access at all.
unsafe impl<T: Sync> Sync for Zeroed<T> {}
