//! The operations of GPU kernels written in Rust.
//!
//! A kernel uses the functions of this crate for everything a CPU thread does not have: its index
//! in the launch, barriers, shared memory, warp operations, textures. Compiled for
//! `nvptx64-nvidia-cuda`, each is one PTX instruction or a few. Compiled for the host, a SIMT
//! emulator implements it: it runs a launch block by block, every lane a coroutine of its own, and
//! checks what a GPU does not check (see `emulator`). Names and meanings follow `cuda_std` wherever
//! it has the operation, so that a kernel moves between the two by changing its `use` lines.
//!
//! # Where the unsafety is
//! A handle to memory ([`global::In`], [`global::Out`], [`shared::Shared`]) is made only by a launch
//! or a declaration; its element accesses are ordinary safe calls, because a kernel would otherwise be
//! one long `unsafe` block that says nothing. Their soundness is argued in one place:
//! every kernel is an `unsafe fn` whose `# Safety` section gives the lengths its buffers must
//! have, and launching it is unsafe, because the caller has to check them. The emulator checks every
//! access, so a kernel that breaks its own contract is found on a machine without a GPU.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx, asm_experimental_arch))]
#![deny(missing_docs)]

// The macros write `::simt::...`, also inside this crate's own tests.
extern crate self as simt;

pub use simt_macros::{constant, kernel, shared};

pub mod atomic;
pub mod clock;
pub mod constant;
pub mod global;
pub mod math;
pub mod mma;
pub mod private;
pub mod scalar;
pub mod shared;
pub mod texture;
pub mod thread;
mod unroll;
pub mod warp;

#[cfg(target_arch = "nvptx64")]
#[path = "device/mod.rs"]
mod backend;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
#[cfg(not(target_arch = "nvptx64"))]
use emulator::backend;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;

/// Without an operating system a panic can only stop the thread. Kernels are written so that none is left in
/// the PTX. A crate of kernels has no handler of its own: there can be one, and this is it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
