//! Global memory: the buffers of a launch.
//!
//! An [`In`] is read only for the whole launch, so its loads go through the read-only cache
//! (`ld.global.nc`). An [`Out`] may be read and written, and by several threads if atomically. Indices
//! count elements. Nothing is checked on the GPU; the emulator checks bounds, alignment and races.
//!
//! [`Pointers`] is a buffer of pointers to others: an array of rows, or a structure with a pointer in it.

use core::marker::PhantomData;

use crate::backend::{self, Access, Global};
use crate::scalar::{Scalar, Word};

/// A buffer of `T` that nothing writes during the launch.
#[repr(transparent)]
pub struct In<T>(Global, PhantomData<*const T>);

/// A buffer of `T` that the kernel may write.
#[repr(transparent)]
pub struct Out<T>(Global, PhantomData<*mut T>);

/// A buffer of pointers that nothing writes during the launch, each to what an `H` is: `Pointers<In<f64>>` to read-only
/// rows of f64, `Pointers<Pointers<In<f64>>>` to arrays of such.
///
/// The argument names the buffer that the pointers lead into; the emulator rejects others. What
/// a pointer leads to ends with that buffer, since a pointer has no length.
#[repr(transparent)]
pub struct Pointers<H>(Global, PhantomData<*const H>);

impl<H> Clone for Pointers<H> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Pointers<H> {}

/// What a pointer in global memory may lead to: [`In`], [`Out`] or [`Pointers`].
pub trait Pointee: Copy {
    /// The pointers still to dereference, the element type after them, and whether a kernel may write it.
    #[cfg(not(target_arch = "nvptx64"))]
    const POINTEE: (u8, &'static str, bool);
    /// Wraps the backend's description of a buffer.
    #[doc(hidden)]
    fn wrap(global: Global) -> Self;
}

impl<T: Scalar> Pointee for In<T> {
    #[cfg(not(target_arch = "nvptx64"))]
    const POINTEE: (u8, &'static str, bool) = (0, crate::launch::element_name::<T>(), false);
    #[inline(always)]
    fn wrap(global: Global) -> Self {
        Self(global, PhantomData)
    }
}

impl<T: Scalar> Pointee for Out<T> {
    #[cfg(not(target_arch = "nvptx64"))]
    const POINTEE: (u8, &'static str, bool) = (0, crate::launch::element_name::<T>(), true);
    #[inline(always)]
    fn wrap(global: Global) -> Self {
        Self(global, PhantomData)
    }
}

impl<H: Pointee> Pointee for Pointers<H> {
    #[cfg(not(target_arch = "nvptx64"))]
    const POINTEE: (u8, &'static str, bool) = (H::POINTEE.0 + 1, H::POINTEE.1, H::POINTEE.2);
    #[inline(always)]
    fn wrap(global: Global) -> Self {
        Self(global, PhantomData)
    }
}

impl<H: Pointee> Pointers<H> {
    /// What pointer `index` leads to: a load of the address. The target is not accessed.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, index: usize) -> H {
        let address = u64::load_global_readonly(self.0, index);
        H::wrap(backend::dereference(self.0, index, address))
    }

    /// The same bytes as numbers: the fields of a structure beside its pointers.
    #[inline(always)]
    pub fn numbers<T: Scalar>(self) -> In<T> {
        In(self.0, PhantomData)
    }
}

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
            /// Wraps the backend's description of a buffer.
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

    /// Sets element `index` to `value`.
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
    /// Elements `index..index + 4` in one 16-byte access; `index` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn load4(self, index: usize) -> [T; 4] {
        T::load4_global(self.0, index)
    }

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
