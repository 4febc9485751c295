//! Arrays that lie in a GPU's memory: CuPy's, PyTorch's, whatever has the CUDA array interface or DLPack.
//!
//! Python's side describes such an array by a dict, the same whichever protocol it came by: the address, the shape, the strides in bytes, the type
//! string, the number of the GPU, and the streams on which work may still be writing to it. Here these streams are waited for, and then the
//! library works on the memory as it is ([`measure_on_device`](halotile::entropy::Entropy::measure_on_device)). When a function returns,
//! everything is done, so that results may be used on any stream.

use std::marker::PhantomData;
use std::sync::Arc;

use halotile::classes::{BinRule, Classes as Inner, ClassesError};
use halotile::entropy::{Error, Kernel, Report};
use halotile::exec::{ArrayError, Device, DeviceGrid, DeviceGridMut};
use halotile::io::Nodata;
use halotile::numbers::Real;
use halotile::numbers::ValueType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::array::value_type;
use crate::classes::{Classes, nodata_of};
use crate::devices::gpu;
use crate::entropy::Plan;
use crate::error::Fault;
use crate::log;
use crate::run::{Watch, run};

/// An array on a GPU, as Python describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GpuArray {
    address: u64,
    shape: (usize, usize),
    /// In bytes.
    strides: (isize, isize),
    typestr: String,
    gpu: usize,
    streams: Vec<u64>,
}

/// An array whose type and alignment have been checked.
struct CheckedArray<'a> {
    source: &'a GpuArray,
    values: ValueType,
    strides: (isize, isize),
}

impl GpuArray {
    fn check(&self) -> PyResult<CheckedArray<'_>> {
        let wrong =
            || PyTypeError::new_err(format!("an array of type {} holds no integers or real numbers", self.typestr));
        let values = value_type(&self.typestr).ok_or_else(wrong)?;
        let bytes = values.bytes() as isize;
        let (down, right) = self.strides;
        if down % bytes != 0 || right % bytes != 0 {
            return Err(PyValueError::new_err("the numbers of the array are not aligned; copy it first"));
        }
        Ok(CheckedArray { source: self, values, strides: (down / bytes, right / bytes) })
    }
}

/// The GPU of the arrays, after their streams have been waited for.
fn synchronized_device<'a>(
    ordinal: usize,
    arrays: impl Iterator<Item = &'a CheckedArray<'a>>,
) -> Result<Arc<dyn Device>, Fault> {
    let device = gpu(ordinal)?;
    // Mostly all of them name the same one.
    let mut streams: Vec<u64> = arrays.flat_map(|array| &array.source.streams).copied().collect();
    streams.sort_unstable();
    streams.dedup();
    for stream in streams {
        // SAFETY: the array's owner says that it is a stream of this device.
        unsafe { device.wait_for_stream(stream) }?;
    }
    Ok(device)
}

fn array_error(error: ArrayError) -> Fault {
    Fault::Value(error.to_string())
}

impl<'a> CheckedArray<'a> {
    fn grid(&self, device: &Arc<dyn Device>) -> Result<DeviceGrid<'a>, Fault> {
        let (rows, cols) = self.source.shape;
        // SAFETY: the caller of the functions below holds the array until they return, and nothing writes to it: its streams have been waited
        // for.
        unsafe { DeviceGrid::new(device, self.source.address, self.values, rows, cols, self.strides) }
            .map_err(array_error)
    }

    fn grid_mut<T: Real>(&self, device: &Arc<dyn Device>) -> Result<DeviceGridMut<'a, T>, Fault> {
        let (rows, cols) = self.source.shape;
        if self.values.bytes() != size_of::<T>() || !self.values.is_real() {
            return Err(Fault::Value("the results' arrays are of one type, float32 or float64".into()));
        }
        // SAFETY: as above; the results' arrays are new, or the caller's to be written.
        unsafe { DeviceGridMut::new(device, self.source.address, rows, cols, self.strides) }.map_err(array_error)
    }
}

/// Cells times the window's longer side up to which a GPU is done in some hundredths of a second, and signals need not be looked for.
const AT_ONCE: u64 = 1 << 33;

/// Does work on a GPU without the GIL: by this thread where it does not last, because waking another one takes as long as the kernels.
fn on_gpu<R: Send>(
    py: Python<'_>,
    (rows, cols): (usize, usize),
    size: usize,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<R, Fault> + Send,
) -> PyResult<R> {
    let cells = rows as u64 * cols as u64;
    if progress.is_some() || cells.saturating_mul(size as u64) > AT_ONCE {
        return run(py, cells, None, progress, work);
    }
    log::update_level(py)?;
    let result = py.detach(|| work(&Watch::default()));
    log::flush(py)?;
    Ok(result?)
}

/// Classes of an array on a GPU, found there.
fn find_classes(
    py: Python<'_>,
    array: &GpuArray,
    mask: Option<&GpuArray>,
    find: impl FnOnce(&DeviceGrid<'_>, Option<&DeviceGrid<'_>>) -> Result<Inner, ClassesError> + Send,
) -> PyResult<Inner> {
    let (cells, mask) = (array.check()?, mask.map(GpuArray::check).transpose()?);
    on_gpu(py, array.shape, 1, None, |_: &Watch| {
        let device = synchronized_device(array.gpu, [&cells].into_iter().chain(&mask))?;
        let mask = mask.map(|mask| mask.grid(&device)).transpose()?;
        Ok(find(&cells.grid(&device)?, mask.as_ref())?)
    })
}

/// The value that is no data, if a number of the array can be it.
fn nodata_in(array: &GpuArray, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Nodata>> {
    let values = array.check()?.values;
    Ok(nodata_of(nodata)?.filter(|&nodata| values.can_be(nodata)))
}

/// The values that occur in an array on a GPU, where the mask lets them be seen.
#[pyfunction]
#[pyo3(signature = (array, mask, nodata))]
pub fn survey_on_gpu(
    py: Python<'_>,
    array: GpuArray,
    mask: Option<GpuArray>,
    nodata: Option<&Bound<'_, PyAny>>,
) -> PyResult<Classes> {
    let nodata = nodata_in(&array, nodata)?;
    let inner = find_classes(py, &array, mask.as_ref(), |grid, mask| Inner::survey_on(grid, mask, nodata))?;
    Ok(Classes::of_survey(inner, nodata))
}

/// Bins over what occurs in an array on a GPU.
#[pyfunction]
#[pyo3(signature = (array, bins, quantile, mask, nodata))]
pub fn bins_on_gpu(
    py: Python<'_>,
    array: GpuArray,
    bins: usize,
    quantile: bool,
    mask: Option<GpuArray>,
    nodata: Option<&Bound<'_, PyAny>>,
) -> PyResult<Classes> {
    let nodata = nodata_in(&array, nodata)?;
    let rule = if quantile { BinRule::Quantile } else { BinRule::EqualWidth };
    let inner = find_classes(py, &array, mask.as_ref(), |grid, mask| Inner::bins_on(grid, mask, bins, rule, nodata))?;
    Ok(Classes::of_bins(inner, nodata))
}

/// A call, whichever the type of its results.
struct Task<'a, T> {
    array: CheckedArray<'a>,
    mask: Option<CheckedArray<'a>>,
    outs: Vec<CheckedArray<'a>>,
    classes: Option<&'a Inner>,
    entropy: halotile::entropy::Entropy,
    result: PhantomData<fn() -> T>,
}

impl<T: Real> Task<'_, T> {
    fn run(&self, watch: &Watch) -> Result<(String, Report), Fault> {
        let arrays = [&self.array].into_iter().chain(&self.mask).chain(&self.outs);
        let device = synchronized_device(self.array.source.gpu, arrays)?;
        let mask = self.mask.as_ref().map(|mask| mask.grid(&device)).transpose()?;
        let outs = self.outs.iter().map(|out| out.grid_mut::<T>(&device)).collect::<Result<Vec<_>, _>>()?;
        let cells = self.array.grid(&device)?;
        let report = self.entropy.measure_on_device(&cells, self.classes, mask.as_ref(), outs, watch)?;
        Ok((device.name(), report))
    }
}

/// The measures of every cell of an array on a GPU into arrays on the same one, one a measure. Without classes the array is of bytes, which are
/// their own classes; `nodata` is one of them then.
#[pyfunction]
#[pyo3(signature = (array, outs, classes, mask, nodata, plan, whole, progress))]
#[allow(clippy::too_many_arguments)]
pub fn entropy_on_gpu<'py>(
    py: Python<'py>,
    array: GpuArray,
    outs: Vec<GpuArray>,
    classes: Option<&Bound<'py, Classes>>,
    mask: Option<GpuArray>,
    nodata: Option<u8>,
    plan: &Bound<'py, Plan>,
    whole: Option<(usize, usize)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, classes) = (plan.get(), classes.map(|classes| &classes.get().inner));
    // Without classes nothing is normalised: that takes their number.
    let entropy = plan.entropy(classes.map_or(1, Inner::levels), whole);
    let entropy = if classes.is_none() { entropy.nodata(nodata.map(u16::from)) } else { entropy };
    let (shape, size) = (array.shape, plan.side());
    let arrays = outs.iter().map(GpuArray::check).collect::<PyResult<Vec<_>>>()?;
    let values = arrays.first().map(|array| array.values);
    let (array, mask) = (array.check()?, mask.as_ref().map(GpuArray::check).transpose()?);
    let (name, report) = match values {
        Some(ValueType::F32) => {
            let task = Task::<f32> { array, mask, outs: arrays, classes, entropy, result: PhantomData };
            on_gpu(py, shape, size, progress.as_ref(), |watch| task.run(watch))
        }
        Some(ValueType::F64) => {
            let task = Task::<f64> { array, mask, outs: arrays, classes, entropy, result: PhantomData };
            on_gpu(py, shape, size, progress.as_ref(), |watch| task.run(watch))
        }
        _ => return Err(Fault::from(Error::Measures(outs.len())).into()),
    }?;
    let info = PyDict::new(py);
    info.set_item("device", name)?;
    info.set_item("kernel", report.kernel.map(Kernel::name))?;
    info.set_item("kernel_seconds", report.kernel_seconds)?;
    Ok(info)
}

/// The part of DLPack's tensor that comes first, in all of its versions without a header (DLPack, `dlpack.h`).
#[repr(C)]
struct Tensor {
    data: *mut u8,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    /// In numbers; null where there are no gaps.
    strides: *const i64,
    byte_offset: u64,
}

/// What a DLPack capsule says of its array: `address`, `shape`, `strides` (bytes) and `typestr`, as the array interface has them. The capsule is not
/// used up: it holds the array as long as it lives.
#[pyfunction]
pub fn of_dlpack<'py>(py: Python<'py>, capsule: &Bound<'py, PyCapsule>) -> PyResult<Bound<'py, PyDict>> {
    let tensor = capsule.pointer_checked(Some(c_str!("dltensor")))?.cast::<Tensor>();
    // SAFETY: a capsule of this name points to a `DLManagedTensor`, which begins with its tensor and lives as long as the capsule.
    let tensor = unsafe { tensor.as_ref() };
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    let numbers = |start: *const i64| {
        // SAFETY: the tensor has as many extents as dimensions, and as many strides unless there are none.
        (!start.is_null() && ndim > 0).then(|| unsafe { std::slice::from_raw_parts(start, ndim) }.to_vec())
    };
    let shape = numbers(tensor.shape).unwrap_or_default();
    let bytes = i64::from(tensor.bits / 8);
    let strides = numbers(tensor.strides).unwrap_or_else(|| {
        let mut strides = vec![1; ndim];
        (1..ndim).rev().for_each(|axis| strides[axis - 1] = strides[axis] * shape[axis]);
        strides
    });
    let kind = match (tensor.code, tensor.lanes) {
        (0, 1) => 'i',
        (1, 1) => 'u',
        (2, 1) => 'f',
        (6, 1) => 'b',
        // Complex numbers, and types that no array of NumPy's has.
        _ => 'V',
    };
    let dict = PyDict::new(py);
    dict.set_item("address", tensor.data.expose_provenance() as u64 + tensor.byte_offset)?;
    dict.set_item("shape", shape)?;
    dict.set_item("strides", strides.iter().map(|stride| stride * bytes).collect::<Vec<_>>())?;
    dict.set_item("typestr", format!("<{kind}{bytes}"))?;
    dict.set_item("gpu", tensor.device_id)?;
    Ok(dict)
}
