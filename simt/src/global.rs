//! Global memory: the buffers that a launch hands to a kernel.
//!
//! An [`In`] is read only for the whole launch, so its loads go through the read-only cache
//! (`ld.global.nc`). An [`Out`] may be read and written, and by several threads if atomically. Indices
//! count elements. Nothing is checked on the GPU; the emulator checks bounds, alignment and races.

use core::marker::PhantomData;

use crate::backend::{self, Global};
use crate::scalar::{Scalar, Word};

/// A buffer of `T` that nobody writes during the launch.
#[repr(transparent)]
pub struct In<T>(Global, PhantomData<*const T>);

/// A buffer of `T` that the kernel may write.
#[repr(transparent)]
pub struct Out<T>(Global, PhantomData<*mut T>);

macro_rules! handle {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T: Scalar> $name<T> {
            /// Wraps what the backend knows of a buffer.
            #[inline(always)]
            #[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
            pub(crate) fn from_backend(global: Global) -> Self {
                Self(global, PhantomData)
            }

            /// The same bytes as elements of another type, `index` in the new type's elements.
            #[inline(always)]
            pub fn cast<U: Scalar>(self) -> $name<U> {
                $name(self.0, PhantomData)
            }
        }
    };
}
handle!(In);
handle!(Out);

impl<T: Scalar> In<T> {
    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, index: usize) -> T {
        T::load_global_readonly(self.0, index)
    }
}

impl<T: Word> In<T> {
    /// Elements `index..index + 4` in one 16-byte access; `index` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn load4(self, index: usize) -> [T; 4] {
        T::load4_global_readonly(self.0, index)
    }
}

impl<T: Scalar> Out<T> {
    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, index: usize) -> T {
        T::load_global(self.0, index)
    }

    /// Makes element `index` be `value`.
    #[inline(always)]
    #[track_caller]
    pub fn store(self, index: usize, value: T) {
        T::store_global(self.0, index, value);
    }

    pub(crate) fn backend(self) -> backend::Global {
        self.0
    }
}

impl<T: Word> Out<T> {
    /// Writes elements `index..index + 4` in one 16-byte access; `index` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn store4(self, index: usize, values: [T; 4]) {
        T::store4_global(self.0, index, values);
    }

    /// [`store4`](Self::store4) if `condition` holds, by a predicate and not by a branch: what computes
    /// `values` stays common to all lanes.
    #[inline(always)]
    #[track_caller]
    pub fn store4_if(self, condition: bool, index: usize, values: [T; 4]) {
        T::store4_global_if(condition, self.0, index, values);
    }

    /// Writes elements `index..index + 2` in one 8-byte access if `condition` holds, by a predicate;
    /// `index` is a multiple of 2.
    #[inline(always)]
    #[track_caller]
    pub fn store2_if(self, condition: bool, index: usize, values: [T; 2]) {
        T::store2_global_if(condition, self.0, index, values);
    }
}
