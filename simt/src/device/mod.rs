//! The GPU's side of `simt`: every function is one PTX instruction, or a few.
//!
//! Accessors are written in assembly because rustc's NVPTX backend turns pointers into generic
//! addresses, and ptxas then cannot know that an access goes to shared memory. Loads from
//! read-only memory are `pure`, so that unused or repeated ones vanish; what orders memory is
//! left without `nomem`, so that no access moves across it. Shuffles and votes order none.
//!
//! `asm!` cannot tell LLVM that an operation is convergent (must not be moved under a branch that only some
//! lanes take). The barrier is an intrinsic, which can. Warp operations are `asm!`: a kernel calls them where
//! all lanes of the mask pass, outside branches that LLVM could thread; the GPU test is what shows that it held.

use core::arch::asm;
use core::arch::nvptx;

use crate::{constant, shared};

mod access;
mod mma;
mod warp;

pub use access::{Access, AccessWord};
pub use mma::*;
pub use warp::*;

/// A pointer to global memory.
pub type Global = *mut u8;

/// A texture object.
pub type TextureHandle = u64;

/// Which atomic operation; used as a const parameter, by number.
pub enum AtomicOp {
    Add,
    Min,
    Max,
    Or,
    Exchange,
}

macro_rules! registers {
    ($($name:ident $intrinsic:ident;)*) => {$(
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reads a special register.
            unsafe { nvptx::$intrinsic() as u32 }
        }
    )*};
}
registers! {
    thread_idx_x _thread_idx_x;
    thread_idx_y _thread_idx_y;
    thread_idx_z _thread_idx_z;
    block_idx_x _block_idx_x;
    block_idx_y _block_idx_y;
    block_idx_z _block_idx_z;
    block_dim_x _block_dim_x;
    block_dim_y _block_dim_y;
    block_dim_z _block_dim_z;
    grid_dim_x _grid_dim_x;
    grid_dim_y _grid_dim_y;
    grid_dim_z _grid_dim_z;
}

#[inline(always)]
pub fn sync_threads() {
    // The compiler's intrinsic, not `asm!`: it is known to be convergent, and so is not copied into branches.
    // SAFETY: a barrier; that all threads reach it is the kernel's promise.
    unsafe { nvptx::_syncthreads() }
}

#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    let count;
    // SAFETY: as `sync_threads`.
    unsafe {
        asm!("{{", ".reg .pred %p;", "setp.ne.u32 %p, {p}, 0;", "bar.red.popc.u32 {c}, 0, %p;", "}}",
            p = in(reg32) u32::from(predicate), c = out(reg32) count, options(nostack));
    }
    count
}

#[inline(always)]
pub fn block_fence() {
    // SAFETY: a fence.
    unsafe { asm!("membar.cta;", options(nostack)) }
}

#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence.
    unsafe { asm!("membar.gl;", options(nostack)) }
}

#[inline(always)]
pub fn clock_cycles() -> u64 {
    let cycles;
    // SAFETY: reads a special register; not pure, two readings differ.
    unsafe { asm!("mov.u64 {c}, %clock64;", c = out(reg64) cycles, options(nostack)) }
    cycles
}

#[inline(always)]
pub fn clock_nanoseconds() -> u64 {
    let nanoseconds;
    // SAFETY: reads a special register; not pure, two readings differ.
    unsafe { asm!("mov.u64 {n}, %globaltimer;", n = out(reg64) nanoseconds, options(nostack)) }
    nanoseconds
}

#[inline(always)]
pub fn shared_array<S: shared::Symbol>() -> u32 {
    S::address()
}

core::arch::global_asm!(".extern .shared .align 16 .b8 simt_dynamic_shared[];");

#[inline(always)]
pub fn shared_dynamic() -> (u32, u32) {
    let (address, bytes);
    // SAFETY: reads an address and a special register.
    unsafe {
        asm!("mov.u32 {a}, simt_dynamic_shared;", a = out(reg32) address, options(pure, nomem, nostack));
        asm!("mov.u32 {b}, %dynamic_smem_size;", b = out(reg32) bytes, options(pure, nomem, nostack));
    }
    (address, bytes)
}

#[inline(always)]
pub fn check_shared(_address: u32, _index: u32, _count: u32, _len: u32) {}

#[inline(always)]
pub fn check_shared_offset(_address: u32, _offset: u32, _bytes: u32, _len: u32) {}

#[inline(always)]
pub fn check_shared_slice(_address: u32, _start: u32, _count: u32, _len: u32) {}

#[inline(always)]
pub fn constant_load<S: constant::Symbol>(index: u32) -> S::Item {
    <S::Item as Access>::load_constant(S::address() as *const S::Item, index)
}

#[inline(always)]
pub fn texture_fetch_1d(texture: TextureHandle, x: i32) -> u32 {
    let word;
    // SAFETY: a fetch from a texture object; coordinates outside give the border value.
    unsafe {
        asm!("{{", ".reg .b32 %t<3>;", "tex.1d.v4.u32.s32 {{{w}, %t0, %t1, %t2}}, [{t}, {{{x}}}];", "}}",
            w = out(reg32) word, t = in(reg64) texture, x = in(reg32) x, options(pure, readonly, nostack));
    }
    word
}

#[inline(always)]
pub fn texture_fetch_2d(texture: TextureHandle, x: i32, y: i32) -> u32 {
    let word;
    // SAFETY: a fetch from a texture object; coordinates outside give the border value.
    unsafe {
        asm!("{{", ".reg .b32 %t<3>;", "tex.2d.v4.u32.s32 {{{w}, %t0, %t1, %t2}}, [{t}, {{{x}, {y}}}];", "}}",
            w = out(reg32) word, t = in(reg64) texture, x = in(reg32) x, y = in(reg32) y,
            options(pure, readonly, nostack));
    }
    word
}

/// The buffer at an address that a buffer of pointers holds.
#[inline(always)]
pub fn dereference(_pointers: Global, _index: usize, address: u64) -> Global {
    core::ptr::with_exposed_provenance_mut(address as usize)
}

macro_rules! atomics {
    ($name:ident, $address:ty, $register:ident, $space:literal) => {
        #[inline(always)]
        fn $name<const OP: u8>(address: $address, value: u32) -> u32 {
            let old;
            const ADD: u8 = AtomicOp::Add as u8;
            const MIN: u8 = AtomicOp::Min as u8;
            const MAX: u8 = AtomicOp::Max as u8;
            const OR: u8 = AtomicOp::Or as u8;
            // SAFETY: the caller's handle makes the address one of a live 32-bit word.
            unsafe {
                match OP {
                    ADD => asm!(concat!("atom.", $space, ".add.u32 {o}, [{a}], {v};"),
                        o = out(reg32) old, a = in($register) address, v = in(reg32) value, options(nostack)),
                    MIN => asm!(concat!("atom.", $space, ".min.u32 {o}, [{a}], {v};"),
                        o = out(reg32) old, a = in($register) address, v = in(reg32) value, options(nostack)),
                    MAX => asm!(concat!("atom.", $space, ".max.u32 {o}, [{a}], {v};"),
                        o = out(reg32) old, a = in($register) address, v = in(reg32) value, options(nostack)),
                    OR => asm!(concat!("atom.", $space, ".or.b32 {o}, [{a}], {v};"),
                        o = out(reg32) old, a = in($register) address, v = in(reg32) value, options(nostack)),
                    _ => asm!(concat!("atom.", $space, ".exch.b32 {o}, [{a}], {v};"),
                        o = out(reg32) old, a = in($register) address, v = in(reg32) value, options(nostack)),
                }
            }
            old
        }
    };
}
atomics!(atomic_at_global, *mut u32, reg64, "global");
atomics!(atomic_at_shared, u32, reg32, "shared");

#[inline(always)]
pub fn atomic_global<const OP: u8>(buffer: Global, index: usize, value: u32) -> u32 {
    atomic_at_global::<OP>(buffer.cast::<u32>().wrapping_add(index), value)
}

#[inline(always)]
pub fn atomic_shared<const OP: u8>(address: u32, value: u32) -> u32 {
    atomic_at_shared::<OP>(address, value)
}

#[inline(always)]
pub fn atomic_cas_global(buffer: Global, index: usize, expected: u32, value: u32) -> u32 {
    let old;
    let address = buffer.cast::<u32>().wrapping_add(index);
    // SAFETY: the caller's handle makes the address one of a live 32-bit word.
    unsafe {
        asm!("atom.global.cas.b32 {o}, [{a}], {e}, {v};", o = out(reg32) old, a = in(reg64) address,
            e = in(reg32) expected, v = in(reg32) value, options(nostack));
    }
    old
}

#[inline(always)]
pub fn atomic_cas_global_u64(buffer: Global, index: usize, expected: u64, value: u64) -> u64 {
    let old;
    let address = buffer.cast::<u64>().wrapping_add(index);
    // SAFETY: the caller's handle makes the address one of a live 64-bit word.
    unsafe {
        asm!("atom.global.cas.b64 {o}, [{a}], {e}, {v};", o = out(reg64) old, a = in(reg64) address,
            e = in(reg64) expected, v = in(reg64) value, options(nostack));
    }
    old
}

#[inline(always)]
pub fn atomic_cas_shared(address: u32, expected: u32, value: u32) -> u32 {
    let old;
    // SAFETY: the caller's handle makes the address one of a live 32-bit word.
    unsafe {
        asm!("atom.shared.cas.b32 {o}, [{a}], {e}, {v};", o = out(reg32) old, a = in(reg32) address,
            e = in(reg32) expected, v = in(reg32) value, options(nostack));
    }
    old
}
