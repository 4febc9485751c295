//! What of the Python package `halotile` is in Rust: the module `halotile._native`, which only the package's own Python calls.
//!
//! ```text
//! array      NumPy's arrays and those in a device's memory, by the protocols that both have, as rasters
//! classes    what numbers mean
//! cuda       arrays in a GPU's memory
//! entropy    entropy of an array into arrays
//! apsp       shortest paths of a matrix, dense or sparse
//! devices    devices that stay open, and the choice of one
//! run        work without the GIL, on threads of its own, that Ctrl-C stops
//! log        what the library tells of by `tracing`, to Python's `logging`
//! error      the library's errors as Python's
//! ```
//!
//! The Python side (`python/halotile`) sees to arguments, defaults and documentation; what comes here has been normalised: arrays of native
//! byte order, aligned, of two dimensions. Errors in values are reported here, since only here the values are read.

mod apsp;
mod array;
mod classes;
mod cuda;
mod devices;
mod entropy;
mod error;
mod log;
mod run;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::apsp::{Paths, admit, apsp};
    #[pymodule_export]
    use crate::classes::Classes;
    #[pymodule_export]
    use crate::cuda::{bins_on_gpu, entropy_on_gpu, of_dlpack, survey_on_gpu};
    #[pymodule_export]
    use crate::devices::{cores, devices, gpus};
    #[pymodule_export]
    use crate::entropy::{Plan, entropy};
    #[pymodule_export]
    use crate::error::{DeviceError, NegativeCycleError};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::log::listen();
        let end = pyo3::wrap_pyfunction!(crate::run::end, module)?;
        module.py().import("atexit")?.call_method1("register", (end,))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
