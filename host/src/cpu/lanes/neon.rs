//! [`Lanes`] by NEON, and what is made of them.

use std::arch::aarch64::*;

use super::{Lanes, changes, lookups};
use crate::cpu::count::Count;
use crate::cpu::lookup::Group;
use crate::cpu::table::Tables;

/// Two registers, a lane each. Every AArch64 has them.
#[derive(Clone, Copy)]
struct Registers([uint8x16_t; 2]);

/// An instruction on both lanes of two operands, which it sees as words of some width.
macro_rules! both {
    ($self:expr, $other:expr, $instruction:ident, $from:ident, $to:ident) => {{
        let (a, b) = ($self.0, $other.0);
        // SAFETY: every AArch64 that Rust has a standard library for has NEON.
        Registers(unsafe { [$to($instruction($from(a[0]), $from(b[0]))), $to($instruction($from(a[1]), $from(b[1])))] })
    }};
}

/// An expression of each lane. (`array::map` would not be inlined.)
macro_rules! each {
    ($self:expr, |$lane:ident| $value:expr) => {{
        let [a, b] = $self.0;
        // SAFETY: as in `both`.
        Registers(unsafe {
            [
                {
                    let $lane = a;
                    $value
                },
                {
                    let $lane = b;
                    $value
                },
            ]
        })
    }};
}

impl Lanes for Registers {
    type Index = Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as in `both`.
        Self(unsafe { [vdupq_n_u8(0); 2] })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller says that there are 32 bytes.
        Self(unsafe { [vld1q_u8(from), vld1q_u8(from.add(16))] })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller says that there are 32 bytes.
        unsafe {
            vst1q_u8(to, self.0[0]);
            vst1q_u8(to.add(16), self.0[1]);
        }
    }
    #[inline(always)]
    fn add16(self, other: Self) -> Self {
        both!(self, other, vaddq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16)
    }
    #[inline(always)]
    fn sub16(self, other: Self) -> Self {
        both!(self, other, vsubq_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16)
    }
    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        both!(self, other, vaddq_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32)
    }
    #[inline(always)]
    fn sub16_all(self, word: u16) -> Self {
        each!(self, |lane| vreinterpretq_u8_u16(vsubq_u16(vreinterpretq_u16_u8(lane), vdupq_n_u16(word))))
    }
    #[inline(always)]
    fn shift_right16(self, bits: u32) -> Self {
        // A shift by a negative number is one to the right.
        each!(self, |lane| vreinterpretq_u8_u16(vshlq_u16(vreinterpretq_u16_u8(lane), vdupq_n_s16(-(bits as i16)))))
    }
    #[inline(always)]
    fn shift_left32(self, bits: u32) -> Self {
        each!(self, |lane| vreinterpretq_u8_u32(vshlq_u32(vreinterpretq_u32_u8(lane), vdupq_n_s32(bits as i32))))
    }
    #[inline(always)]
    fn low_bits16(self, bits: u32) -> Self {
        each!(self, |lane| vandq_u8(lane, vreinterpretq_u8_u16(vdupq_n_u16(((1u32 << bits) - 1) as u16))))
    }
    #[inline(always)]
    fn zip8(self, other: Self) -> [Self; 2] {
        [both!(self, other, vzip1q_u8, u8s, u8s), both!(self, other, vzip2q_u8, u8s, u8s)]
    }
    #[inline(always)]
    fn zip16(self, other: Self) -> [Self; 2] {
        [
            both!(self, other, vzip1q_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16),
            both!(self, other, vzip2q_u16, vreinterpretq_u16_u8, vreinterpretq_u8_u16),
        ]
    }
    #[inline(always)]
    fn zip32(self, other: Self) -> [Self; 2] {
        [
            both!(self, other, vzip1q_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32),
            both!(self, other, vzip2q_u32, vreinterpretq_u32_u8, vreinterpretq_u8_u32),
        ]
    }
    #[inline(always)]
    fn zip64(self, other: Self) -> [Self; 2] {
        [
            both!(self, other, vzip1q_u64, vreinterpretq_u64_u8, vreinterpretq_u8_u64),
            both!(self, other, vzip2q_u64, vreinterpretq_u64_u8, vreinterpretq_u8_u64),
        ]
    }
    #[inline(always)]
    fn lanes(self, other: Self) -> [Self; 2] {
        [Self([self.0[0], other.0[0]]), Self([self.0[1], other.0[1]])]
    }
    #[inline(always)]
    fn widen(self) -> [Self; 2] {
        [wide(self.0[0]), wide(self.0[1])]
    }
    #[inline(always)]
    fn below_64(self) -> bool {
        let [a, b] = self.0;
        // SAFETY: as in `both`.
        unsafe { vmaxvq_u16(vorrq_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))) < 64 }
    }
    #[inline(always)]
    fn narrow(self, other: Self) -> Self {
        // The lower byte of each word.
        both!(self, other, vuzp1q_u8, u8s, u8s)
    }
    #[inline(always)]
    fn index(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn look_up(table: *const u8, index: Self) -> Self {
        // SAFETY: the caller says that there are 64 bytes.
        let table = unsafe { vld1q_u8_x4(table) };
        each!(index, |lane| vqtbl4q_u8(table, lane))
    }
}

/// Bytes as such, where other instructions see words.
#[inline(always)]
fn u8s(lane: uint8x16_t) -> uint8x16_t {
    lane
}

/// Signed 16-bit words as 32-bit ones.
#[inline(always)]
fn wide(lane: uint8x16_t) -> Registers {
    // SAFETY: as in `both`.
    Registers(unsafe {
        let words = vreinterpretq_s16_u8(lane);
        [vreinterpretq_u8_s32(vmovl_s16(vget_low_s16(words))), vreinterpretq_u8_s32(vmovl_high_s16(words))]
    })
}

/// [`lookups::small`].
///
/// # Safety
/// As there, but for the instruction set.
pub unsafe fn small(counts: &[u8], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    // SAFETY: passed on.
    unsafe { lookups::small::<Registers>(counts, group, tables, sums) }
}

/// [`lookups::large`].
///
/// # Safety
/// As there, but for the instruction set.
pub unsafe fn large(counts: &[u16], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    // SAFETY: passed on.
    unsafe { lookups::large::<Registers>(counts, group, tables, sums) }
}

/// [`changes::add`].
///
/// # Safety
/// As there, but for the instruction set.
pub unsafe fn add_changes<C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    // SAFETY: passed on.
    unsafe { changes::add::<Registers, C>(counts, stride, offsets, size) }
}
