//! What stands in for `cuda` where the cargo feature `cuda` is left out: there are no GPUs, and the error names the feature.

use std::sync::Arc;

use crate::exec::{Device, DeviceError};

pub(super) fn open(_ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
    Err(DeviceError::Absent(
        "CUDA is off: halotile was compiled without it; compile it with the cargo feature cuda".into(),
    ))
}

pub(super) fn count() -> Result<usize, DeviceError> {
    open(0).map(|_| 0)
}
