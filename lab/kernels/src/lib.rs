//! halotile's kernels for learning and measuring, one family a module: none of them is a step of the library's own work.
//!
//! | module | what |
//! |---|---|
//! | `ladder` | moving-window entropy, one idea a kernel |
//! | `apsp` | shortest paths: the rungs, from the obvious to the source's |
//! | `primer` | ladders and probes of a textbook's chapter on optimisation |
//!
//! They are a crate of their own because the PTX of a kernel crate has all of its kernels: what carries the kernels for use, as a Python wheel,
//! need not carry these. For the same reason neither crate of kernels depends on the other, which would compile every kernel into both files.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![deny(missing_docs)]

pub mod apsp;
pub mod ladder;
pub mod primer;

/// The PTX of all kernels, made by `cargo xtask build-ptx`, and what `ptxas` reported of them.
#[cfg(not(target_arch = "nvptx64"))]
pub static MODULE: simt::launch::Module = simt::launch::Module {
    ptx: &[include_str!("../ptx/halotile-lab.sm_75.ptx")],
    resources: include_str!("../ptx/resources.json"),
};

/// All kernels, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const FAMILIES: &[&[simt::launch::KernelEntry]] = &[
    ladder::KERNELS,
    apsp::KERNELS,
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
];

/// The kernel of this name, in whichever family.
///
/// ```
/// let kernel = halotile_lab_kernels::find("ladder_v0").unwrap();
/// assert_eq!(kernel.params[0].name, "cells");
/// ```
#[cfg(not(target_arch = "nvptx64"))]
pub fn find(name: &str) -> Option<&'static simt::launch::KernelEntry> {
    FAMILIES.iter().copied().flatten().find(|kernel| kernel.name == name)
}
