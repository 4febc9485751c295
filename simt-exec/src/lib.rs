//! Executors: the devices that run the kernels of [`simt`], behind one trait.
//!
//! A [`Device`] is a CUDA GPU ([`cuda`]) or the emulator ([`emulator`]). Code that plans launches, splits work and moves data is written
//! once, over the trait. The CUDA driver is opened at run time, so one binary runs on machines with a GPU and without one. The cargo
//! feature `cuda`, on by default, can be left out: then the emulator is the only device, and nothing depends on the driver's crate.
//!
//! | module | what |
//! |---|---|
//! | `device` | the trait, its limits and errors |
//! | `buffer`, `rows` | memory on a device, and where rows of bytes lie in it |
//! | [`queue`] | copies and launches that go on beside the caller |
//! | `host_memory`, `mapped`, [`staged`] | page-locked memory, memory that kernels reach over the bus, large copies from ordinary memory |
//! | `texture` | texture objects |
//! | `context` | the calling thread's CUDA context, restored |
//! | [`cuda`], [`emulator`] | the two devices |
//! | [`profile`] | what devices and threads did, and when |
//! | [`occupancy`], [`resources`] | blocks that fit on a multiprocessor; registers, shared memory and spills as `ptxas` reported them |
//! | [`machine`] | memory of this machine |
//!
//! A kernel's [`KernelEntry`](simt::launch::KernelEntry) leads to the PTX of its crate ([`Module`](simt::launch::Module)), so the
//! kernels of any crate can be launched. Nothing here knows of rasters or graphs.
#![deny(missing_docs)]
// Pages link to the module `cuda`.
#![cfg_attr(not(feature = "cuda"), allow(rustdoc::broken_intra_doc_links))]

mod buffer;
mod context;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
pub mod emulator;
mod host_memory;
pub mod machine;
mod mapped;
pub mod occupancy;
pub mod profile;
pub mod queue;
pub mod resources;
mod rows;
pub mod staged;
mod texture;

pub use buffer::{Buffer, Part};
pub use context::ContextGuard;
pub use device::{Device, DeviceError, Limits};
pub use host_memory::{HostKind, HostMemory};
pub use mapped::Mapped;
pub use rows::Rows;
pub use texture::{TexelFormat, Texture, TextureShape};
