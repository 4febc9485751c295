//! Thread-private memory: small arrays of a single thread.
//!
//! An array that is indexed by a number known only at run time cannot be in registers, which cannot be indexed. It
//! is in what CUDA calls local memory: device memory of each thread, cached, interleaved so
//! that the same element of a warp's threads is contiguous. Rust's own arrays do the same; this
//! type adds two things that kernels need. An index is not checked on the GPU (the emulator reports one
//! that is outside), so that no panic is left in the PTX; and [`Private::write`] makes a table that each thread really writes.

use crate::scalar::Scalar;

/// `N` elements of a single thread.
pub struct Private<T, const N: usize>([T; N]);

impl<T: Scalar, const N: usize> Private<T, N> {
    /// All elements `value`.
    #[inline(always)]
    pub fn new(value: T) -> Self {
        Self([value; N])
    }

    /// Sets the elements to these values, each by a store of its own.
    ///
    /// From an array that is only ever read the compiler would make one constant for all threads, in
    /// global memory; the writes are volatile to prevent that. (A constructor would be the natural form. But what was
    /// written in that way is not moved without writing it again.)
    #[inline(always)]
    pub fn write(&mut self, values: &[T; N]) {
        let mut i = 0;
        while i < N {
            // SAFETY: `i` is inside both arrays.
            unsafe { self.0.as_mut_ptr().add(i).write_volatile(values[i]) };
            i += 1;
        }
    }

    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, index: u32) -> T {
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: the kernel's promise that the index is inside, as for every other memory.
            unsafe { *self.0.get_unchecked(index as usize) }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.0[index as usize]
    }

    /// Sets element `index` to `value`.
    #[inline(always)]
    #[track_caller]
    pub fn store(&mut self, index: u32, value: T) {
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: as in `load`.
            unsafe { *self.0.get_unchecked_mut(index as usize) = value };
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.0[index as usize] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_where_they_were_put() {
        let mut array = Private::new(0.0);
        array.write(&[1.0f32, 2.0, 3.0]);
        array.store(1, 5.0);
        assert_eq!([0, 1, 2].map(|i| array.load(i)), [1.0, 5.0, 3.0]);
        assert_eq!(Private::<i8, 4>::new(-3).load(3), -3);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_index_outside_is_found_on_the_host() {
        Private::<u8, 3>::new(0).load(3);
    }
}
