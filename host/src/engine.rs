//! Where work is done, for all that can be done on the CPU and on devices.

use std::sync::Arc;

use crate::exec::Device;

/// Where the work is done.
#[derive(Clone)]
pub enum Engine {
    /// The CPU engine, on the current rayon thread pool.
    Cpu,
    /// Devices, side by side, each taking the next piece when it has time for one. At least one.
    Devices(Vec<Arc<dyn Device>>),
}
