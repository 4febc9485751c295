//! Executors, and the grids that they copy from and to.
//!
//! Devices are those of the crate `simt-exec`, which knows nothing of grids: [`Device`] over [`cuda`] and [`emulator`], buffers, queues and
//! page-locked memory. Here are the grids over such memory: [`PinnedGrid`] on the host, [`DeviceGrid`] and [`DeviceGridMut`] on a device.

mod array;
mod pinned;

pub(crate) use array::Layout;
pub use array::{ArrayError, DeviceGrid, DeviceGridMut};
pub use pinned::{PinnedError, PinnedGrid};
#[cfg(feature = "cuda")]
pub use simt_exec::cuda;
pub use simt_exec::{
    Buffer, ContextGuard, Device, DeviceError, HostKind, HostMemory, Limits, Mapped, Rows, TexelFormat, Texture,
    TextureShape, emulator, queue, staged,
};
