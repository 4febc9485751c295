//! halotile's kernels, one family a module.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![deny(missing_docs)]

pub mod apsp;
pub mod arrays;
pub mod entropy;
#[cfg(not(target_arch = "nvptx64"))]
mod ptx;
pub mod selftest;

/// The PTX of all kernels, made by `cargo xtask build-ptx`, unless the feature `ptx` is left out; and what `ptxas` reported of them.
#[cfg(not(target_arch = "nvptx64"))]
pub static MODULE: simt::launch::Module =
    simt::launch::Module { ptx: ptx::TEXTS, resources: include_str!("../ptx/resources.json") };

/// All kernels, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const FAMILIES: &[&[simt::launch::KernelEntry]] =
    &[entropy::KERNELS, arrays::KERNELS, apsp::tiled::KERNELS, selftest::KERNELS];

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
