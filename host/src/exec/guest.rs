//! Working on a thread of the caller's without changing its current CUDA context.
//!
//! CUDA keeps a current context for every thread, and other libraries (torch, CuPy) treat it as the device that the user has
//! chosen. Work on a device makes its context current; code that works on a caller's thread restores the one that was there.

use super::Device;

/// Restores the calling thread's current context when dropped, on the same thread.
///
/// ```
/// use halotile::exec::{Guest, emulator::EmulatedDevice};
/// let device = EmulatedDevice::new(0, None);
/// let guest = Guest::of(&device);
/// // Work on the device.
/// drop(guest);
/// ```
#[must_use = "dropping it restores the context"]
pub struct Guest<'d> {
    device: &'d dyn Device,
    context: u64,
    // What it restores is a thread's.
    _thread: std::marker::PhantomData<*const ()>,
}

impl<'d> Guest<'d> {
    /// Records the current context. It has to outlive the guest, as contexts of other libraries do.
    pub fn of(device: &'d dyn Device) -> Self {
        Self { device, context: device.thread_context(), _thread: std::marker::PhantomData }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // SAFETY: recorded on this thread when the guest was made, and still alive.
        unsafe { self.device.set_thread_context(self.context) };
    }
}
