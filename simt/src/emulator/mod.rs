//! A SIMT machine on the CPU: runs kernels lane by lane and checks what a GPU does not check.
//!
//! ```text
//! for each block, in any order
//!     for each lane: a coroutine, which runs the kernel until it has to wait for others
//!     when all lanes of a synchronisation point have arrived, they continue
//! ```
//!
//! Because every access to memory goes through `simt`, each one is checked: the index and the alignment, whether
//! the bytes were written, and whether another thread touches them with nothing between the two that
//! orders them (a race). A barrier or a warp operation that some lane never reaches ends in a state where
//! no lane can continue, and that is detected. The first fault ends the launch, with an error that names the thread, the place and the cause.
//!
//! It can also count what a kernel's accesses cost on the hardware ([`Options::accesses`]): bank conflicts, sectors.
//!
//! It models neither time nor weak memory. Lanes run one after another between synchronisation points, and blocks one
//! after another. A lane that spins until another one writes spins for ever, as lanes of one warp do on old
//! GPUs; `Options::spin_limit` ends it. (Waiting for an earlier block is fine while blocks run in order.)
//!
//! # Example
//! ```
//! use simt::emulator::{Memory, Options, launch};
//! use simt::global::{In, Out};
//! use simt::launch::{LaunchConfig, Module};
//! use simt::{kernel, thread};
//!
//! /// The PTX of this crate's kernels: none.
//! static MODULE: Module = Module::EMULATED;
//!
//! /// # Safety
//! /// `input` and `output` have at least `n` elements.
//! #[kernel]
//! pub unsafe fn double(input: In<f32>, output: Out<f32>, n: u32) {
//!     let i = thread::index_x();
//!     if i < n {
//!         output.store(i as usize, 2.0 * input.load(i as usize));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut memory = Memory::new(None);
//! let input = memory.alloc(8)?;
//! let output = memory.alloc(8)?;
//! memory.write(input, 0, &[1.5f32.to_ne_bytes(), 4.0f32.to_ne_bytes()].concat());
//! let arguments = [input.arg::<f32>(false), output.arg::<f32>(true), 2u32.into()];
//! launch(&mut memory, &double::ENTRY, &LaunchConfig::linear(1, 32), &arguments, &Options::default())?;
//! assert_eq!(memory.bytes(output), [3.0f32.to_ne_bytes(), 8.0f32.to_ne_bytes()].concat());
//! # Ok(())
//! # }
//! ```

mod accesses;
pub(crate) mod backend;
mod block;
mod fault;
mod lane;
mod machine;
mod memory;
mod mma;
mod options;
mod order;
mod shadow;
mod shared;
mod start;
mod tally;
mod texture;
mod warp;
mod wavefronts;
mod zeroed;

pub use accesses::{Accesses, Site, Totals};
pub use fault::{
    Absence, AccessKind, Fault, FaultKind, LaunchError, OtherAccess, Region, SourceLocation, Space, SyncPoint, Unit,
};
pub use memory::{ALIGNMENT, Buffer, Memory, OutOfMemory, POISON};
pub use options::{Observer, Options, Order, Report};
pub use start::launch;
pub use texture::{TexelFormat, Texture};
