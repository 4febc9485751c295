//! Kernels as the driver compiles them: each in a module of its own, when it is first asked for.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::PoisonError;

use cudarc::driver::{result, sys};
use simt::launch::{Constant, KernelEntry, Module};

use super::CudaDevice;
use super::driver::message;
use super::recorder::Activity;
use crate::profile::Direction;
use crate::{Device as _, DeviceError};

/// Resources of a kernel as the driver compiled it for the device at hand; NVIDIA's assembler may have reported others
/// ([`resources`](crate::resources)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compiled {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// Thread-private memory outside registers, in bytes a thread.
    pub local_bytes: u32,
}

/// The kernels that the driver has compiled, by their crate's module and name. All kernels of a crate together would take the driver a second, of which most
/// runs need a fraction.
#[derive(Default)]
pub(super) struct Kernels(pub(super) HashMap<(usize, &'static str), (sys::CUmodule, sys::CUfunction)>);

// SAFETY: module and function handles belong to the context, not to a thread.
unsafe impl Send for Kernels {}

impl CudaDevice {
    /// A kernel's resources as the driver compiled it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where the driver cannot compile it.
    pub fn compiled(&self, kernel: &KernelEntry) -> Result<Compiled, DeviceError> {
        self.enter()?;
        let (_, function) = self.function(kernel)?;
        self.compiled_function(function)
    }

    pub(super) fn compiled_function(&self, function: sys::CUfunction) -> Result<Compiled, DeviceError> {
        use sys::CUfunction_attribute_enum as attribute;
        let get = |attribute| self.attribute(function, attribute).map(i32::unsigned_abs);
        Ok(Compiled {
            registers: get(attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: get(attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }

    fn attribute(
        &self,
        function: sys::CUfunction,
        attribute: sys::CUfunction_attribute_enum,
    ) -> Result<i32, DeviceError> {
        // SAFETY: the function belongs to a module of ours.
        unsafe { result::function::get_function_attribute(function, attribute) }
            .map_err(self.fail("cuFuncGetAttribute"))
    }

    pub(super) fn function(&self, kernel: &KernelEntry) -> Result<(sys::CUmodule, sys::CUfunction), DeviceError> {
        // Two crates may have kernels of one name.
        let key = (std::ptr::from_ref(kernel.module).addr(), kernel.name);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = kernels.0.get(&key) {
            return Ok(known);
        }
        let Some(ptx) = ptx_of(kernel) else {
            return Err(DeviceError::Absent(format!(
                "the crate of kernel {} has no PTX of it: it runs in the emulator only",
                kernel.name
            )));
        };
        let module = load(&self.name(), &ptx)?;
        let name = CString::new(kernel.name).expect("a kernel's name is an identifier");
        // SAFETY: the module has just been loaded, and lives as long as `self` or until it is unloaded below.
        let found = unsafe { result::module::get_function(module, name) }.map_err(self.fail("cuModuleGetFunction"));
        match found.and_then(|function| self.allow_shared(function).map(|()| function)) {
            Ok(function) => {
                kernels.0.insert(key, (module, function));
                Ok((module, function))
            }
            Err(error) => {
                // SAFETY: ours, and its function has not been handed out.
                let _ = unsafe { result::module::unload(module) };
                Err(error)
            }
        }
    }

    /// Sets a variable in the constant memory of a module, on the stream that kernels run on.
    pub(super) fn set(&self, module: sys::CUmodule, constant: &Constant) -> Result<(), DeviceError> {
        let name = CString::new(constant.name).expect("a variable's name is an identifier");
        // SAFETY: the module is one of ours.
        let (address, bytes) =
            unsafe { result::module::get_global(module, name) }.map_err(self.fail("cuModuleGetGlobal"))?;
        assert!(constant.bytes.len() <= bytes, "{} has {bytes} bytes, not {}", constant.name, constant.bytes.len());
        self.traced(self.stream, Activity::copy(Direction::HostToDevice, constant.bytes.len()), || {
            // SAFETY: the variable is that long, and the driver has copied pageable memory when it returns.
            unsafe { result::memcpy_htod_async(address, &constant.bytes, self.stream) }
                .map_err(self.fail("cuMemcpyHtoDAsync"))
        })
    }

    /// Allows the function all the dynamic shared memory that the device has for it. Once and for all: two threads that
    /// set what they need before each launch would overwrite each other's limit.
    fn allow_shared(&self, function: sys::CUfunction) -> Result<(), DeviceError> {
        use sys::CUfunction_attribute_enum as attribute;
        let own = self.attribute(function, attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        let most = self.description.shared_per_block as i32 - own;
        let dynamic = attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a module of ours.
        unsafe { result::function::set_function_attribute(function, dynamic, most) }
            .map_err(self.fail("cuFuncSetAttribute"))
    }
}

/// The part of a crate's PTX that one kernel needs: everything before the first entry (version, target, shared and constant
/// variables) and its own entry; the whole text if there are functions that entries may call. `None` where the module has no such kernel.
pub fn ptx_of(kernel: &KernelEntry) -> Option<String> {
    part_of(kernel.module, kernel.name)
}

fn part_of(module: &Module, kernel: &str) -> Option<String> {
    const ENTRY: &str = "\n.visible .entry ";
    module.ptx.iter().find_map(|text| {
        let mut pieces = text.split(ENTRY);
        let head = pieces.next().unwrap_or_default();
        let own = pieces.find(|piece| piece.strip_prefix(kernel).is_some_and(|rest| rest.starts_with('(')))?;
        let calls = text.contains("\n.func") || text.contains("\n.visible .func");
        Some(if calls { (*text).to_owned() } else { format!("{head}{ENTRY}{own}") })
    })
}

/// Has the driver compile PTX; a failure carries the compiler's log.
fn load(label: &str, ptx: &str) -> Result<sys::CUmodule, DeviceError> {
    let image = CString::new(ptx).expect("PTX is text");
    let mut log = vec![0u8; 16 * 1024];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes option values as pointers, numbers included.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: a context is current; image, options and log outlive the call, and the lengths are theirs.
    let code = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    code.result().map_err(|error| {
        let log = CStr::from_bytes_until_nul(&log).map_or("".into(), CStr::to_string_lossy);
        DeviceError::Driver {
            device: label.into(),
            call: "cuModuleLoadDataEx",
            message: format!("{} {}", message(error), log.trim().replace('\n', "; ")).trim().into(),
        }
    })?;
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 6.3\n.shared .align 16 .b8 TILE[64];\n";

    #[test]
    fn a_kernels_ptx_is_the_head_and_its_entry() {
        let one = format!("{HEAD}\n.visible .entry one(\n){{ret;}}\n\n.visible .entry one_more(\n){{exit;}}\n");
        let calls = format!("{one}\n.func helper(){{ret;}}\n");
        let (one, calls): (&'static str, &'static str) = (one.leak(), calls.leak());
        let alone = Module { ptx: vec![one].leak(), resources: "" };
        assert_eq!(part_of(&alone, "one_more").unwrap(), format!("{HEAD}\n.visible .entry one_more(\n){{exit;}}\n"));
        assert_eq!(part_of(&alone, "one").unwrap(), format!("{HEAD}\n.visible .entry one(\n){{ret;}}\n"));
        assert_eq!((part_of(&alone, "on"), part_of(&Module::EMULATED, "one")), (None, None));
        // What an entry may call has to come with it.
        let whole = Module { ptx: vec!["", calls].leak(), resources: "" };
        assert_eq!(part_of(&whole, "one").as_deref(), Some(calls));
    }
}
