//! The calling thread's CUDA context, put back after work on it.
//!
//! CUDA keeps a current context for every thread, and other libraries (torch, CuPy) take it for the device that the user has
//! chosen. Work on a device makes its context current; work on a caller's thread restores what was there.

use crate::Device;

/// Restores the calling thread's current context when dropped, on the same thread.
///
/// ```
/// use simt_exec::{ContextGuard, emulator::EmulatedDevice};
/// let device = EmulatedDevice::new(0, None);
/// let context = ContextGuard::of(&device);
/// // Work on the device.
/// drop(context);
/// ```
#[must_use = "dropping it restores the context"]
pub struct ContextGuard<'d> {
    device: &'d dyn Device,
    context: u64,
    // What it restores is a thread's.
    _thread: std::marker::PhantomData<*const ()>,
}

impl<'d> ContextGuard<'d> {
    /// Saves the current context, which has to live until this is dropped, as contexts of other libraries do.
    pub fn of(device: &'d dyn Device) -> Self {
        Self { device, context: device.thread_context(), _thread: std::marker::PhantomData }
    }
}

impl Drop for ContextGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: saved on this thread by `of`, and still live.
        unsafe { self.device.set_thread_context(self.context) };
    }
}
