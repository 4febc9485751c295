//! Copies of rows between host and device, as the driver takes them.

use std::ffi::c_void;
use std::sync::PoisonError;

use cudarc::driver::{DriverError, result, sys};

use super::CudaDevice;
use super::recorder::Activity;
use crate::profile::Direction;
use crate::{Buffer, Device as _, DeviceError, Rows};

impl CudaDevice {
    /// Copies rows between host and device by the driver's two-dimensional copy, on the stream that kernels run on: the
    /// plain copy may return before the last bytes have arrived, and no other stream would wait for them.
    ///
    /// # Safety
    /// Both sides are large enough for the rows, and live until the stream has been waited for.
    unsafe fn copy_rows(&self, copy: &sys::CUDA_MEMCPY2D, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemcpy2DAsync_v2(copy, stream) }.result().map_err(self.fail("cuMemcpy2DAsync"))
    }

    /// Puts a copy of rows to the device on a stream.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows).
    pub(super) unsafe fn copy_to_device(
        &self,
        to: &Buffer,
        rows: Rows,
        source: &[u8],
        source_pitch: usize,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        rows.check_host(source.len(), source_pitch);
        rows.check_buffer(to.bytes());
        self.enter()?;
        self.traced(stream, Activity::copy(Direction::HostToDevice, rows.bytes()), || {
            if rows.rows != 1 {
                let copy = to_device(to, rows, source, source_pitch);
                // SAFETY: just checked, and the caller's promise.
                return unsafe { self.copy_rows(&copy, stream) };
            }
            // A single row may be longer than the driver's limit for rows.
            let source = &source[..rows.width];
            // SAFETY: as above.
            unsafe { result::memcpy_htod_async(to.address() + rows.start as u64, source, stream) }
                .map_err(self.fail("cuMemcpyHtoDAsync"))
        })
    }

    /// Puts a copy of rows from the device on a stream.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows), and the target is used by nothing else until then.
    pub(super) unsafe fn copy_to_host(
        &self,
        from: &Buffer,
        rows: Rows,
        target: &mut [u8],
        target_pitch: usize,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        rows.check_host(target.len(), target_pitch);
        rows.check_buffer(from.bytes());
        self.enter()?;
        self.traced(stream, Activity::copy(Direction::DeviceToHost, rows.bytes()), || {
            if rows.rows != 1 {
                let copy = to_host(from, rows, target, target_pitch);
                // SAFETY: just checked, and the caller's promise.
                return unsafe { self.copy_rows(&copy, stream) };
            }
            let target = &mut target[..rows.width];
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(target, from.address() + rows.start as u64, stream) }
                .map_err(self.fail("cuMemcpyDtoHAsync"))
        })
    }

    /// True when the driver copies to and from this memory directly: both ends are page-locked. A context is current.
    pub(super) fn is_page_locked(memory: &[u8]) -> bool {
        // Asked for several attributes at once, if only of one, the driver reports no value for memory that it does not know;
        // asked for one alone it returns an error, which debuggers report.
        let locked = |byte: &u8| {
            let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            let address = std::ptr::from_ref(byte).addr() as u64;
            // SAFETY: this attribute is a u32.
            let kind = unsafe { pointer_attribute(attribute, address, 0u32) };
            kind.is_ok_and(|kind| kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32)
        };
        memory.first().is_some_and(locked) && memory.last().is_some_and(locked)
    }

    /// The context whose memory an address is of.
    pub(super) fn context_of(&self, address: u64) -> Result<sys::CUcontext, DeviceError> {
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        let none: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: this attribute is a context.
        unsafe { pointer_attribute(attribute, address, none) }.map_err(self.fail("cuPointerGetAttributes"))
    }

    /// Gives this device access to the memory of another, once. Where it cannot, the driver copies through the host.
    pub(super) fn enable_peer_access(&self, there: sys::CUcontext) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if !peers.insert(there as usize) {
            return;
        }
        // SAFETY: a context is current, and the other is live: it has memory.
        let code = unsafe { sys::cuCtxEnablePeerAccess(there, 0) };
        if !matches!(code, sys::CUresult::CUDA_SUCCESS | sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            tracing::info!("{} copies to another device by way of the host: {code:?}", self.name());
        }
    }
}

/// The driver's description of a copy of rows to a device.
fn to_device(to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: source.as_ptr().cast(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: source_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: to.address() + rows.start as u64,
        dstArray: std::ptr::null_mut(),
        dstPitch: rows.pitch,
        WidthInBytes: rows.width,
        Height: rows.rows,
    }
}

/// The driver's description of a copy of rows from a device.
fn to_host(from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: from.address() + rows.start as u64,
        srcArray: std::ptr::null_mut(),
        srcPitch: rows.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: target.as_mut_ptr().cast(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        dstPitch: target_pitch,
        WidthInBytes: rows.width,
        Height: rows.rows,
    }
}

/// An attribute that the driver has of an address. `none` is the value where it has none.
///
/// # Safety
/// The attribute is a `T`.
unsafe fn pointer_attribute<T>(
    mut attribute: sys::CUpointer_attribute,
    address: u64,
    none: T,
) -> Result<T, DriverError> {
    let mut answer = none;
    let mut pointer: *mut c_void = (&raw mut answer).cast();
    // SAFETY: one attribute and live memory for it, of its type; the driver takes any address.
    unsafe { sys::cuPointerGetAttributes(1, &raw mut attribute, &raw mut pointer, address) }.result()?;
    Ok(answer)
}
