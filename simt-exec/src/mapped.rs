//! Host memory that kernels access in place.
//!
//! A GPU's kernels read and write mapped memory over the bus, with no copy before or after ("zero-copy"): worth it for data that is
//! touched once, in whole lines. A device whose kernels cannot reach the host uses device memory instead, copied each time the host
//! has written or wants to read; for the user of the memory only the time differs.

use std::sync::Arc;

use simt::launch::Arg;
use simt::scalar::Scalar;

use crate::buffer::buffer_arg;
use crate::{Buffer, Device, DeviceError, HostKind, HostMemory};

/// Host memory that kernels of a device access in place.
///
/// ```
/// use std::sync::Arc;
/// use simt_exec::{Device, Mapped, emulator::EmulatedDevice};
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let mut mapped = Mapped::new(&device, 3)?;
/// mapped.write(|bytes| bytes.copy_from_slice(&[1, 2, 3]))?;
/// assert_eq!(mapped.read()?, [1, 2, 3]);
/// # Ok::<(), simt_exec::DeviceError>(())
/// ```
pub struct Mapped {
    memory: HostMemory,
    /// Its device address, or that of the copy.
    address: u64,
    /// Device memory that kernels use instead, on a device that does not reach the host's.
    copy: Option<Buffer>,
    /// Freed after the memory.
    _device: Arc<dyn Device>,
}

impl Mapped {
    /// `bytes` bytes. Their contents are unspecified until they are [written](Self::write).
    ///
    /// # Errors
    /// [`DeviceError::HostMemory`], [`DeviceError::OutOfMemory`], [`DeviceError::Driver`].
    pub fn new(device: &Arc<dyn Device>, bytes: usize) -> Result<Self, DeviceError> {
        let memory = device.host_memory_of(HostKind::Mapped, bytes)?;
        let (address, copy) = match device.mapped_address(&memory)? {
            Some(address) => (address, None),
            None => {
                let copy = Buffer::new(device, memory.len())?;
                (copy.address(), Some(copy))
            }
        };
        Ok(Self { memory, address, copy, _device: Arc::clone(device) })
    }

    /// Lets the host write it. No kernel uses it meanwhile: code that enqueues one promises that.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where a copy to the device fails.
    pub fn write(&mut self, write: impl FnOnce(&mut [u8])) -> Result<(), DeviceError> {
        write(&mut self.memory);
        match &self.copy {
            Some(copy) => copy.write(0, &self.memory),
            None => Ok(()),
        }
    }

    /// What kernels and the host have written. No kernel writes it meanwhile, as for [`write`](Self::write).
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where a copy from the device fails.
    pub fn read(&mut self) -> Result<&[u8], DeviceError> {
        if let Some(copy) = &self.copy {
            copy.read(0, &mut self.memory)?;
        }
        Ok(&self.memory)
    }

    /// The memory as an argument for a parameter `In<T>`.
    pub fn input<T: Scalar>(&self) -> Arg {
        buffer_arg::<T>(self.address, self.memory.len(), false)
    }

    /// The memory as an argument for a parameter `Out<T>`.
    pub fn output<T: Scalar>(&self) -> Arg {
        buffer_arg::<T>(self.address, self.memory.len(), true)
    }
}
