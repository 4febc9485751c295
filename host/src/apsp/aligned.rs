//! Cache-line-aligned memory for many numbers.
//!
//! The CPU's vectors are as long as a cache line. One that crosses two lines is loaded and stored in two parts, and rows of a matrix are
//! multiples of lines: where the first is aligned, all are. The allocator guarantees no such alignment for a vector of numbers.

use std::collections::TryReserveError;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use rayon::prelude::*;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Numbers that a thread writes at a time.
const TASK: usize = 1 << 18;

/// A fixed count of numbers.
pub(super) struct Aligned<T> {
    memory: Vec<T>,
    start: usize,
    count: usize,
}

impl<T: Pod + Send + Sync> Aligned<T> {
    /// `count` copies of a number.
    pub fn filled(count: usize, number: T) -> Result<Self, TryReserveError> {
        let with_gap = count.saturating_add(LINE / size_of::<T>());
        let mut memory: Vec<T> = Vec::new();
        memory.try_reserve_exact(with_gap)?;
        // The page faults of new memory are taken by all threads.
        let all = (0..with_gap).into_par_iter().with_min_len(TASK).map(|_| number);
        all.collect_into_vec(&mut memory);
        Ok(Self { start: memory.as_ptr().align_offset(LINE), memory, count })
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..][..self.count]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..][..self.count]
    }
}

impl<T: Clone> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut memory: Vec<T> = Vec::with_capacity(self.memory.len());
        let start = memory.as_ptr().align_offset(LINE);
        // Filler before the first number and behind the last.
        memory.extend_from_slice(&self.memory[..start]);
        memory.extend_from_slice(self);
        Self { memory, start, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Pod + Send + Sync + PartialEq + std::fmt::Debug>(number: T) {
        for count in [1, 5, 100_003] {
            let first = Aligned::filled(count, number).unwrap();
            for numbers in [first.clone(), first] {
                assert_eq!((numbers.as_ptr().addr() % LINE, numbers.len()), (0, count));
                assert!(numbers.iter().all(|&n| n == number));
            }
        }
    }

    #[test]
    fn numbers_begin_a_line_and_so_do_copies() {
        check(7i32);
        check(7u16);
        check(0.5f32);
    }

    #[test]
    fn too_many_are_an_error() {
        assert!(Aligned::filled(usize::MAX / 2, 0i32).is_err());
    }
}
