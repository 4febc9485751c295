//! Warp operations in PTX.

use core::arch::asm;

#[inline(always)]
pub fn lane_id() -> u32 {
    let lane;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u32 {l}, %laneid;", l = out(reg32) lane, options(pure, nomem, nostack)) }
    lane
}

#[inline(always)]
pub fn sync_warp(mask: u32) {
    // SAFETY: a barrier of the warp; that the lanes of the mask reach it is the kernel's promise.
    unsafe { asm!("bar.warp.sync {m};", m = in(reg32) mask, options(nostack)) }
}

#[inline(always)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    let lanes;
    // SAFETY: as `sync_warp`; touches no memory.
    unsafe {
        asm!("{{", ".reg .pred %p;", "setp.ne.u32 %p, {p}, 0;", "vote.sync.ballot.b32 {l}, %p, {m};", "}}",
            p = in(reg32) u32::from(predicate), l = out(reg32) lanes, m = in(reg32) mask, options(nomem, nostack));
    }
    lanes
}

macro_rules! shuffles {
    ($($name:ident $mode:literal $clamp:literal;)*) => {$(
        #[inline(always)]
        pub fn $name(mask: u32, word: u32, lanes: u32, width: u32) -> (u32, bool) {
            let (result, inside): (u32, u32);
            // The third operand: segment mask in bits 8..13, clamp in bits 0..5.
            let segment = (32 - width) << 8 | $clamp;
            // SAFETY: as `sync_warp`; touches no memory.
            unsafe {
                asm!("{{", ".reg .pred %p;",
                    concat!("shfl.sync.", $mode, ".b32 {r}|%p, {w}, {l}, {c}, {m};"),
                    "selp.u32 {i}, 1, 0, %p;", "}}",
                    r = out(reg32) result, i = out(reg32) inside, w = in(reg32) word, l = in(reg32) lanes,
                    c = in(reg32) segment, m = in(reg32) mask, options(nomem, nostack));
            }
            (result, inside != 0)
        }
    )*};
}
shuffles! {
    shuffle_idx "idx" 0x1F;
    shuffle_up "up" 0;
    shuffle_down "down" 0x1F;
    shuffle_xor "bfly" 0x1F;
}
