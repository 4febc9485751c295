//! GPUs, by the CUDA driver of this machine.

use std::sync::Arc;

use crate::exec::cuda::{self, CudaDevice};
use crate::exec::{Device, DeviceError};

pub(super) fn open(ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
    Ok(Arc::new(CudaDevice::new(ordinal)?))
}

pub(super) fn count() -> Result<usize, DeviceError> {
    cuda::count()
}
