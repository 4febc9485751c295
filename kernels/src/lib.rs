//! halotile's kernels, one family a module.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![deny(missing_docs)]

pub mod apsp;
pub mod arrays;
pub mod entropy;
pub mod ladder;
pub mod primer;
pub mod selftest;
mod unroll;

/// All kernels, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const FAMILIES: &[&[simt::launch::KernelEntry]] = &[
    entropy::KERNELS,
    arrays::KERNELS,
    ladder::KERNELS,
    apsp::ladder::KERNELS,
    apsp::tiled::KERNELS,
    primer::copy::KERNELS,
    primer::banks::KERNELS,
    primer::reduce::KERNELS,
    primer::transpose::KERNELS,
    primer::matmul::KERNELS,
    primer::instructions::float::KERNELS,
    primer::instructions::integer::KERNELS,
    primer::instructions::special::KERNELS,
    primer::instructions::memory::KERNELS,
    primer::instructions::threads::KERNELS,
    primer::instructions::atomic::KERNELS,
    primer::divergence::KERNELS,
    primer::transfer::KERNELS,
    primer::overlap::KERNELS,
    primer::clock::KERNELS,
    selftest::KERNELS,
];

/// The kernel of this name, in any family.
///
/// ```
/// let kernel = halotile_kernels::find("entropy_naive").unwrap();
/// assert_eq!(kernel.params[0].name, "cells");
/// ```
#[cfg(not(target_arch = "nvptx64"))]
pub fn find(name: &str) -> Option<&'static simt::launch::KernelEntry> {
    FAMILIES.iter().copied().flatten().find(|kernel| kernel.name == name)
}

/// Without an operating system a panic can only stop the thread. Kernels are written so that none is left in
/// the PTX.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
