//! Numbers for cases, their types, and sets of buffers that runs take in turn.

use std::fmt;

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elements {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits, signed.
    I32,
    /// 32 bits.
    U32,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Elements {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::U8, Self::U16, Self::I32, Self::U32, Self::F32, Self::F64];

    /// Rust's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A random word for every place: the same for the same seed (the finaliser of MurmurHash3 over a counter).
///
/// ```
/// use halotile_lab::primer::random;
/// assert_eq!(random(7, 3), random(7, 3));
/// assert_ne!(random(7, 3), random(8, 3));
/// ```
pub fn random(seed: u64, at: usize) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at as u64);
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Sets of buffers that runs take in turn, so that a cache does not flatter.
pub(super) struct Turns<T> {
    sets: Vec<T>,
    current: usize,
}

impl<T> Turns<T> {
    /// At least one set.
    pub(super) fn new(sets: Vec<T>) -> Self {
        assert!(!sets.is_empty(), "runs need a set of buffers");
        Self { sets, current: 0 }
    }

    /// The set for the next run.
    pub(super) fn next(&mut self) -> &T {
        self.current = (self.current + 1) % self.sets.len();
        &self.sets[self.current]
    }

    /// The set for the next run, which writes to what lies on the host.
    pub(super) fn next_mut(&mut self) -> &mut T {
        self.current = (self.current + 1) % self.sets.len();
        &mut self.sets[self.current]
    }

    /// The set of the last run; the first before any.
    pub(super) fn current(&self) -> &T {
        &self.sets[self.current]
    }

    /// The same, to be written.
    pub(super) fn current_mut(&mut self) -> &mut T {
        &mut self.sets[self.current]
    }
}
