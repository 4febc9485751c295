//! Small matrix products of a warp on the tensor cores (mma).
//!
//! A warp multiplies a 16 × 32 matrix A by a 32 × 8 matrix B of bytes and adds a 16 × 8 matrix C of words. Each lane
//! holds a few elements of each, its fragments. With g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix fragments for
//! mma.m16n8k32"):
//!
//! | fragment | word | holds |
//! |---|---|---|
//! | A, row by row | 0 | row g, columns 4t .. 4t + 4 (the lowest byte first) |
//! | | 1 | row g + 8, the same columns |
//! | | 2 | row g, columns 16 + 4t .. 16 + 4t + 4 |
//! | | 3 | row g + 8, these columns |
//! | B | 0 | column g, rows 4t .. 4t + 4 |
//! | | 1 | column g, rows 16 + 4t .. 16 + 4t + 4 |
//! | C, result | 0, 1 | row g, columns 2t and 2t + 1 |
//! | | 2, 3 | row g + 8, these columns |
//!
//! Of bits it multiplies a 16 × 256 matrix by a 256 × 8 matrix, in as many words: what is said above of bytes 4t .. 4t + 4 and 16 + 4t .. 16 + 4t + 4 holds of
//! bits 32t .. 32t + 32 and 128 + 32t .. 128 + 32t + 32, the lowest bit first.
//!
//! The kernel chooses the meaning of A's rows and the order of its columns, as long as B's rows have the same order.

use crate::backend;

/// A·B + C for unsigned bytes, wrapping in 32 bits. All 32 lanes call it together.
///
/// Needs compute capability 8.0: a kernel that calls it says `#[kernel(arch = 80)]`.
#[inline(always)]
#[track_caller]
pub fn multiply_add_u8(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    backend::multiply_add_u8(a, b, c)
}

/// A·B + C for bits, of which a product is their conjunction: how many bits a row of A and a column of B have in common. All 32 lanes call it together.
///
/// Needs compute capability 8.0, as [`multiply_add_u8`]. Devices from 10.0 on have no such instruction: there it is eight products of bytes, and what makes
/// those of bits.
#[inline(always)]
#[track_caller]
pub fn multiply_add_b1(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    backend::multiply_add_b1(a, b, c)
}
