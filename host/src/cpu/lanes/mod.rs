//! Counts that slide, and table lookups, where registers are lanes of 16 bytes: AVX2 and NEON.
//!
//! AVX-512 looks 64 words up at a time and permutes across 64 bytes; it has code of its own ([`super::x86`], [`super::x86_sliding_counts`]).
//! What is left to the others is the permutation of bytes within 16: `vpshufb` looks 32 bytes up in 16, four of them in 64; `tbl` looks 16 up
//! in 64. So an entry of the table is four bytes, each in a table of its own, and the stretch of 64 entries around the counts of 32 cells
//! ([`super::x86::Stretches`] has the idea) is four lookups.
//!
//! Both sets see a register as two lanes ([`Lanes`]): of NEON it is two registers. Everything above that trait is written once, and compiled for
//! each:
//!
//! | file | what |
//! |---|---|
//! | `lookups` | Σ F(n) of a group of levels, from counts of 8 and of 16 bits |
//! | `changes` | the changes of 16 levels along a row, transposed and added to their counts |
//! | `avx2`, `neon` | the operations, and the functions above compiled with them |

mod changes;
mod lookups;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
pub use avx2::{add_changes, large, small};
#[cfg(target_arch = "aarch64")]
pub use neon::{add_changes, large, small};

/// 32 bytes in two lanes of 16: what permutes does so within a lane.
///
/// A value exists only where the machine has the instruction set, for what makes one out of nothing is unsafe; that is what makes all other
/// operations sound. They have to be inlined into a function that is compiled for the set, or each is a call: no closure, no
/// iterator and no `array::map` between them, which stay functions of their own, without the set.
trait Lanes: Copy {
    /// What is looked up, as the instructions take it.
    type Index: Copy;

    /// All zero.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn zero() -> Self;
    /// The bytes at an address.
    ///
    /// # Safety
    /// The machine must have the instruction set, and 32 bytes must be readable there.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes the bytes to an address.
    ///
    /// # Safety
    /// 32 bytes must be writable there.
    unsafe fn store(self, to: *mut u8);
    /// Sums of 16-bit words.
    fn add16(self, other: Self) -> Self;
    /// Differences of 16-bit words.
    fn sub16(self, other: Self) -> Self;
    /// Sums of 32-bit words.
    fn add32(self, other: Self) -> Self;
    /// All 16-bit words less one.
    fn sub16_all(self, word: u16) -> Self;
    /// 16-bit words shifted to the right by less than 16.
    fn shift_right16(self, bits: u32) -> Self;
    /// 32-bit words shifted to the left by less than 32.
    fn shift_left32(self, bits: u32) -> Self;
    /// The lowest bits of 16-bit words.
    fn low_bits16(self, bits: u32) -> Self;
    /// Bytes of both in turn, those of the lower halves of the lanes and those of the upper ones.
    fn zip8(self, other: Self) -> [Self; 2];
    /// The same of 16-bit words.
    fn zip16(self, other: Self) -> [Self; 2];
    /// The same of 32-bit words.
    fn zip32(self, other: Self) -> [Self; 2];
    /// The same of 64-bit words.
    fn zip64(self, other: Self) -> [Self; 2];
    /// The lower lanes of both, and the upper ones.
    fn lanes(self, other: Self) -> [Self; 2];
    /// Signed 16-bit words as 32-bit ones, in order.
    fn widen(self) -> [Self; 2];
    /// Whether all 16-bit words are below 64.
    fn below_64(self) -> bool;
    /// Words below 64 as bytes: those of `self` in the lower halves of the lanes, those of `other` in the upper ones.
    fn narrow(self, other: Self) -> Self;
    /// To look bytes below 64 up.
    fn index(self) -> Self::Index;
    /// The bytes of a table that lie so far behind its start.
    ///
    /// # Safety
    /// 64 bytes must be readable there.
    unsafe fn look_up(table: *const u8, index: Self::Index) -> Self;
}
