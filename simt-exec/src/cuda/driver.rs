//! The driver's library: whether it is there, its version, and its errors as text.
//!
//! cudarc opens libcuda when a function is first called, and panics where it lacks one. So the library is looked for, and all functions
//! that this crate calls are looked up, before any call.

use std::ffi::CStr;
use std::sync::OnceLock;

use cudarc::driver::{DriverError, result, sys};

use crate::DeviceError;

/// The CUDA version that the installed driver supports: major, minor. An error when CUDA is off.
///
/// # Errors
/// [`DeviceError::Absent`] where there is no driver, [`DeviceError::Driver`] where it does not say.
pub fn driver_version() -> Result<(u32, u32), DeviceError> {
    open()?;
    let mut version = 0;
    // SAFETY: `open` has found the library; the pointer is to a live integer.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    code.result().map_err(|error| driver_error("the CUDA driver", "cuDriverGetVersion", error))?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// How many CUDA devices there are. An error when CUDA is off: its text says why.
///
/// # Errors
/// [`DeviceError::Absent`] where there is no driver or no GPU, [`DeviceError::Driver`] where the driver cannot count them.
pub fn count() -> Result<usize, DeviceError> {
    open()?;
    let count =
        result::device::get_count().map_err(|error| driver_error("the CUDA driver", "cuDeviceGetCount", error))?;
    if count == 0 {
        return Err(DeviceError::Absent("CUDA is off: the driver is there, and no GPU that it can use".into()));
    }
    Ok(count.unsigned_abs() as usize)
}

/// The driver's functions that this crate calls, as the library names them.
const NEEDED: [&str; 47] = [
    "cuCtxEnablePeerAccess",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleGetGlobal_v2",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuPointerGetAttributes",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
];

/// Whether there is a driver: its library with all functions. Does not initialise it; an error says what was tried. A driver once found is cached:
/// looking for the library takes longer than a small kernel.
///
/// # Errors
/// [`DeviceError::Absent`] where there is none, or an old one.
pub fn driver() -> Result<(), DeviceError> {
    static THERE: OnceLock<()> = OnceLock::new();
    if THERE.get().is_some() {
        return Ok(());
    }
    // SAFETY: only tries to open libcuda; its initialisers are the driver's own.
    if !unsafe { sys::is_culib_present() } {
        let file = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so or libcuda.so.1" };
        return Err(DeviceError::Absent(format!(
            "CUDA is off: no NVIDIA driver was found (looked for {file} on the library path)"
        )));
    }
    // cudarc panics on a function that the library lacks (a driver that is very old, or a stand-in for one).
    // SAFETY: the library has just been seen to open; the functions are looked up, not called.
    let missing =
        NEEDED.iter().find(|name| unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err());
    if let Some(name) = missing {
        return Err(DeviceError::Absent(format!(
            "CUDA is off: the NVIDIA driver lacks the function {name}; install a driver for CUDA 12 or later"
        )));
    }
    THERE.get_or_init(|| ());
    Ok(())
}

/// Opens and initialises the driver, once.
fn open() -> Result<(), DeviceError> {
    driver()?;
    result::init().map_err(|error| {
        DeviceError::Absent(format!("CUDA is off: the NVIDIA driver does not start: {}", message(error)))
    })
}

pub(super) fn message(error: DriverError) -> String {
    let name = error.error_name().map_or("unknown error".into(), CStr::to_string_lossy);
    let text = error.error_string().map_or("".into(), CStr::to_string_lossy);
    format!("{name} ({text})")
}

pub(super) fn driver_error(device: &str, call: &'static str, error: DriverError) -> DeviceError {
    DeviceError::Driver { device: device.into(), call, message: message(error) }
}
