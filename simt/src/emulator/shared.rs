//! The shared memory of a block: one window of bytes, reused by every block.
//!
//! The dynamic part comes first, at address 0; a static array is allocated when a lane first names it.
//! (On the GPU it is the other way round. Here a kernel's arrays are not known before it runs.)

use std::cell::{Cell, RefCell};

use super::memory::POISON;
use super::shadow::Shadow;

/// The limit of static arrays: more is an error of `ptxas`.
pub(super) const STATIC_LIMIT: u32 = 48 * 1024;

/// Alignment of every array, as `shared!` declares it.
const ALIGNMENT: u32 = 16;

/// The bytes and their shadow.
pub(super) struct Arena {
    data: Vec<u128>,
    shadow: Shadow,
}

impl Arena {
    pub fn new(bytes: u32) -> Self {
        let words = bytes.div_ceil(ALIGNMENT) as usize;
        Self { data: vec![u128::from_ne_bytes([POISON; 16]); words], shadow: Shadow::new(words * 16) }
    }

    pub fn bytes(&self) -> usize {
        self.data.len() * 16
    }
}

/// A launch's view of the arena.
pub(super) struct Window {
    data: *mut u8,
    pub shadow: *mut Shadow,
    limit: u32,
    dynamic: u32,
    used: Cell<u32>,
    arrays: RefCell<Vec<Array>>,
}

#[derive(Clone, Copy)]
struct Array {
    name: &'static str,
    address: u32,
}

impl Window {
    /// For a launch with this many dynamic bytes. The arena has at least `limit` bytes.
    pub fn new(arena: &mut Arena, limit: u32, dynamic: u32) -> Self {
        debug_assert!(arena.bytes() >= limit as usize);
        Self {
            data: arena.data.as_mut_ptr().cast(),
            shadow: std::ptr::from_mut(&mut arena.shadow),
            limit,
            dynamic,
            used: Cell::new(dynamic.next_multiple_of(ALIGNMENT)),
            arrays: RefCell::default(),
        }
    }

    pub fn dynamic_bytes(&self) -> u32 {
        self.dynamic
    }

    pub fn static_bytes(&self) -> u32 {
        self.used.get() - self.dynamic.next_multiple_of(ALIGNMENT)
    }

    /// A new block: the contents of the one before are lost.
    pub fn clear(&self) {
        self.poison(0, self.used.get());
    }

    fn poison(&self, start: u32, end: u32) {
        // SAFETY: what is used lies inside the arena, and only the running lane touches it.
        unsafe { self.data.add(start as usize).write_bytes(POISON, (end - start) as usize) }
    }

    /// The address of a static array. `Err`: the bytes that a block would have, and the limit that is below.
    #[inline]
    pub fn array(&self, name: &'static str, bytes: usize) -> Result<u32, (u64, u64)> {
        let arrays = self.arrays.borrow();
        // The same constant nearly always has the same address; names are unique in any case.
        if let Some(array) = arrays.iter().find(|array| std::ptr::eq(array.name, name) || array.name == name) {
            return Ok(array.address);
        }
        drop(arrays);
        self.declare(name, bytes)
    }

    #[cold]
    fn declare(&self, name: &'static str, bytes: usize) -> Result<u32, (u64, u64)> {
        let address = self.used.get();
        let wanted = u64::from(self.static_bytes()) + bytes as u64;
        if wanted > u64::from(STATIC_LIMIT) {
            return Err((wanted, u64::from(STATIC_LIMIT)));
        }
        let end = u64::from(address) + bytes as u64;
        if end > u64::from(self.limit) {
            return Err((end, u64::from(self.limit)));
        }
        let end = (end as u32).next_multiple_of(ALIGNMENT);
        self.arrays.borrow_mut().push(Array { name, address });
        self.used.set(end);
        self.poison(address, end);
        Ok(address)
    }

    /// A pointer to `bytes` bytes, if the block has them.
    #[inline(always)]
    pub fn pointer(&self, address: u32, bytes: usize) -> Option<*mut u8> {
        (address as usize + bytes <= self.used.get() as usize).then(|| self.data.wrapping_add(address as usize))
    }

    /// The array at an address, and the offset in it.
    pub fn describe(&self, address: u32) -> (&'static str, u32) {
        let arrays = self.arrays.borrow();
        let array = arrays.iter().rev().find(|array| array.address <= address);
        array.map_or(("(dynamic)", address), |array| (array.name, address - array.address))
    }
}
