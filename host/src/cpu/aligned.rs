//! Memory that starts on a cache line: registers that lie across two lines cost twice.

use std::ops::{Deref, DerefMut};

/// Bytes of a line of the cache, and of the largest register.
const LINE: usize = 64;

/// A vector whose first element lies on a cache line.
#[derive(Debug)]
pub struct Aligned<V> {
    memory: Vec<V>,
    skip: usize,
    len: usize,
}

impl<V: Copy + Default> Aligned<V> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { memory: Vec::new(), skip: 0, len: 0 }
    }

    /// Makes it this long. What lies there may be from before.
    #[inline(always)]
    pub fn resize(&mut self, len: usize) {
        let most = LINE / size_of::<V>();
        self.memory.resize(len + most, V::default());
        self.skip = self.memory.as_ptr().align_offset(LINE).min(most);
        self.len = len;
    }
}

impl<V> Deref for Aligned<V> {
    type Target = [V];

    #[inline(always)]
    fn deref(&self) -> &[V] {
        &self.memory[self.skip..][..self.len]
    }
}

impl<V> DerefMut for Aligned<V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [V] {
        &mut self.memory[self.skip..][..self.len]
    }
}
