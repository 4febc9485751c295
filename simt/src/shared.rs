//! Shared memory: what the threads of one block share, declared (`shared!`) or sized at launch.
//!
//! Indices count elements. The emulator reports an index outside, a word that two threads touch
//! between two barriers (one of them writing), and a read of memory that was not written.

use core::marker::PhantomData;

use crate::backend;
use crate::scalar::{Scalar, Word};

/// A static shared array, declared by [`shared!`](crate::shared!).
pub trait Symbol {
    /// The element type.
    type Item: Scalar;
    /// The PTX name.
    const NAME: &'static str;
    /// Number of elements.
    const LEN: u32;
    /// Address of the first element in the shared window.
    #[cfg(target_arch = "nvptx64")]
    fn address() -> u32;
}

/// A handle to shared memory: an address in the block's shared window and a length in elements.
pub struct Shared<T> {
    address: u32,
    len: u32,
    item: PhantomData<*mut T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

/// The static array `S`.
#[inline(always)]
#[track_caller]
pub fn array<S: Symbol>() -> Shared<S::Item> {
    Shared { address: backend::shared_array::<S>(), len: S::LEN, item: PhantomData }
}

/// The dynamic shared memory of the launch, as elements of type `T`.
#[inline(always)]
#[track_caller]
pub fn dynamic<T: Scalar>() -> Shared<T> {
    let (address, bytes) = backend::shared_dynamic();
    Shared { address, len: bytes / size_of::<T>() as u32, item: PhantomData }
}

impl<T: Scalar> Shared<T> {
    /// Elements `start..start + len` as an array of their own.
    #[inline(always)]
    #[track_caller]
    pub fn slice(self, start: u32, len: u32) -> Shared<T> {
        backend::check_shared_slice(self.address, start, len, self.len);
        Shared { address: self.address + start * size_of::<T>() as u32, len, item: PhantomData }
    }

    /// The same bytes as elements of another type.
    #[inline(always)]
    pub fn cast<U: Scalar>(self) -> Shared<U> {
        let bytes = self.len * size_of::<T>() as u32;
        Shared { address: self.address, len: bytes / size_of::<U>() as u32, item: PhantomData }
    }

    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, index: u32) -> T {
        T::load_shared(self.at(index, 1))
    }

    /// Sets element `index` to `value`.
    #[inline(always)]
    #[track_caller]
    pub fn store(self, index: u32, value: T) {
        T::store_shared(self.at(index, 1), value);
    }

    /// The element `bytes` bytes after the first: for kernels that keep precomputed byte offsets.
    #[inline(always)]
    #[track_caller]
    pub fn load_at(self, bytes: u32) -> T {
        backend::check_shared_offset(self.address, bytes, size_of::<T>() as u32, self.len * size_of::<T>() as u32);
        T::load_shared(self.address.wrapping_add(bytes))
    }

    /// Sets the element `bytes` bytes after the first to `value`: likewise.
    #[inline(always)]
    #[track_caller]
    pub fn store_at(self, bytes: u32, value: T) {
        backend::check_shared_offset(self.address, bytes, size_of::<T>() as u32, self.len * size_of::<T>() as u32);
        T::store_shared(self.address.wrapping_add(bytes), value);
    }

    /// The address of the first element in the block's shared memory, in bytes. With [`load_address`](Self::load_address) for
    /// kernels that compute addresses themselves.
    #[inline(always)]
    pub fn address(self) -> u32 {
        self.address
    }

    /// The element at `address`, which counts as [`address`](Self::address) does.
    #[inline(always)]
    #[track_caller]
    pub fn load_address(self, address: u32) -> T {
        let (bytes, len) = (address.wrapping_sub(self.address), self.len * size_of::<T>() as u32);
        backend::check_shared_offset(self.address, bytes, size_of::<T>() as u32, len);
        T::load_shared(address)
    }

    /// Address of element `index`; the emulator checks that `count` elements start there.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn at(self, index: u32, count: u32) -> u32 {
        backend::check_shared(self.address, index, count, self.len);
        self.address.wrapping_add(index.wrapping_mul(size_of::<T>() as u32))
    }
}

impl<T: Word> Shared<T> {
    /// Elements `index..index + 4` in one 16-byte access; `index` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn load4(self, index: u32) -> [T; 4] {
        T::load4_shared(self.at(index, 4))
    }

    /// Writes elements `index..index + 4` in one 16-byte access; `index` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn store4(self, index: u32, values: [T; 4]) {
        T::store4_shared(self.at(index, 4), values);
    }
}
