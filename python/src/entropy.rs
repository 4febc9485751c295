//! Entropy of an array into arrays.
//!
//! ```text
//! bytes that are codes, in rows      taken where they are
//! all else                           made into codes, a byte a cell, or two for more than 256 classes, by all threads
//! columns that lie together          the same of the transpose: rows for columns, in the window and the results too
//! ```
//!
//! Then it is the library's [`measure_codes_into`](halotile::entropy::Entropy::measure_codes_into), whose results are those of the program
//! over the same cells in a file.

use halotile::choice::{Devices, Workload};
use halotile::classes::CodedRaster;
use halotile::codes::Code;
use halotile::entropy::{Base, Codes, Engine, Entropy, Error, Kernel, Report};
use halotile::grid::{Grid, GridViewMut};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::numbers::Real;
use halotile::observe::Observer;
use halotile::raster::{Cells, Raster};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Array, Number};
use crate::classes::Classes;
use crate::devices::{named, open};
use crate::error::Fault;
use crate::run::{WorkEstimate, run};

/// The window, the measures and what else goes into a result, as Python gives it: text where the program's options are text.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EntropyOptions {
    size: usize,
    /// `disk`, or the rows, columns and cells of a shape; `None` for the square of `size`.
    footprint: Option<Shape>,
    measures: Vec<String>,
    base: String,
    normalize: bool,
    edge: String,
    min_valid: f64,
    fill_nodata: bool,
    kernel: Option<String>,
    device: String,
    /// The GPU that `auto` means.
    gpu: usize,
    threads: Option<usize>,
}

#[derive(FromPyObject)]
pub enum Shape {
    Cells(usize, usize, Vec<bool>),
    /// The only name that comes here is that of the disk.
    #[allow(dead_code, reason = "it is told from the other by its type")]
    Disk(String),
}

fn value_error(argument: &str, error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {error}"))
}

impl EntropyOptions {
    fn window(&self) -> PyResult<Footprint> {
        match &self.footprint {
            None => Footprint::square(self.size).map_err(|_| value_error("size", Error::Size(self.size))),
            Some(Shape::Disk(_)) => Footprint::disk(self.size).map_err(|_| value_error("size", Error::Size(self.size))),
            Some(Shape::Cells(rows, cols, cells)) => {
                Footprint::new(*rows, *cols, cells.clone()).map_err(|error| value_error("footprint", error))
            }
        }
    }

    fn entropy(&self, window: Footprint) -> PyResult<Entropy> {
        let measures = self.measures.iter().map(|text| text.parse::<Measure>());
        let measures = measures.collect::<Result<Vec<_>, _>>().map_err(|error| value_error("measure", error))?;
        let base = match self.base.as_str() {
            "e" => Base::E,
            "2" => Base::Two,
            "10" => Base::Ten,
            other => return Err(value_error("base", format!("\"e\", 2 or 10, not {other}"))),
        };
        let edge: Edge = self.edge.parse().map_err(|error| value_error("edge", error))?;
        let kernel = self.kernel.as_deref().map(|name| {
            Kernel::from_name(name).ok_or_else(|| {
                let names: Vec<_> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
                let names = names.join(", ");
                let said = format!(
                    "one of {names}, not {name:?}; the steps of the ladders are in the program (`halotile kernels` lists them)"
                );
                value_error("kernel", said)
            })
        });
        let entropy = Entropy::new()
            .footprint(window)
            .measures(measures)
            .base(base)
            .edge(edge)
            .min_valid(self.min_valid)
            .fill(self.fill_nodata)
            .kernel(kernel.transpose()?);
        entropy.validate().map_err(Fault::from)?;
        Ok(entropy)
    }
}

/// Validated [`EntropyOptions`]. Errors are raised also where there is nothing to compute.
#[pyclass(frozen, module = "halotile._native")]
pub struct Plan {
    window: Footprint,
    entropy: Entropy,
    measures: usize,
    normalize: bool,
    devices: Devices,
    gpu: usize,
    threads: Option<usize>,
}

#[pymethods]
impl Plan {
    #[new]
    fn new(options: EntropyOptions) -> PyResult<Self> {
        let window = options.window()?;
        let entropy = options.entropy(window.clone())?;
        let EntropyOptions { measures, normalize, gpu, threads, .. } = options;
        let devices = named(&options.device)?;
        Ok(Self { window, entropy, measures: measures.len(), normalize, devices, gpu, threads })
    }

    /// Rows, columns and cells of the window.
    #[getter]
    fn window(&self) -> (usize, usize, usize) {
        (self.window.rows(), self.window.cols(), self.window.count())
    }
}

impl Plan {
    /// The window's longer side.
    pub fn side(&self) -> usize {
        self.window.rows().max(self.window.cols())
    }

    /// What is computed, with so many levels, of a part of a grid of `whole` rows and columns.
    pub fn entropy(&self, levels: usize, whole: Option<(usize, usize)>) -> Entropy {
        let levels = self.normalize.then_some(levels);
        self.entropy.clone().levels(levels).normalize(self.normalize).part_of(whole)
    }
}

/// The transposed shape.
fn transposed(window: &Footprint) -> Footprint {
    let (rows, cols) = (window.rows(), window.cols());
    let cells = (0..cols).flat_map(|col| (0..rows).map(move |row| window.contains(row, col)));
    Footprint::new(cols, rows, cells.collect()).expect("the transpose of a window is a window")
}

/// What is done, whichever the type of the results.
struct Task<'a> {
    array: Array,
    mask: Option<Array>,
    classes: &'a Classes,
    entropy: Entropy,
    outs: Vec<Array>,
}

impl Task<'_> {
    /// The same with rows for columns.
    fn transposed(self, window: &Footprint, whole: Option<(usize, usize)>) -> Self {
        Self {
            array: self.array.transposed(),
            mask: self.mask.map(Array::transposed),
            entropy: self.entropy.footprint(transposed(window)).part_of(whole.map(|(rows, cols)| (cols, rows))),
            outs: self.outs.into_iter().map(Array::transposed).collect(),
            ..self
        }
    }

    /// The array as a raster of codes; `transposed` where the caller counts rows and columns the other way round.
    fn coded(&self, transposed: bool) -> Result<CodedRaster, Fault> {
        let oriented = |array: Array| if transposed { array.transposed() } else { array };
        // SAFETY: the caller of `entropy` holds the arrays until it returns, and this does not outlive it.
        let raster = unsafe { oriented(self.array).raster("array", None) };
        let mask = self.mask.map(|mask| -> Box<dyn Raster> {
            // SAFETY: as above.
            Box::new(unsafe { oriented(mask).raster("mask", None) })
        });
        Ok(CodedRaster::new(Box::new(raster), self.classes.inner.clone(), mask)?)
    }

    fn run<T: Real + Number>(&self, engine: &Engine, transposed: bool, watch: &dyn Observer) -> Result<Report, Fault> {
        // SAFETY: as above; the results' arrays are new, or the caller's to be written.
        let outs: Option<Vec<GridViewMut<'_, T>>> = self.outs.iter().map(|out| unsafe { out.view_mut() }).collect();
        let outs = outs.ok_or_else(|| Fault::Value("the results' arrays have rows with gaps".into()))?;
        let inner = &self.classes.inner;
        // SAFETY: as above.
        let bytes = (self.mask.is_none() && inner.width() == 1).then(|| unsafe { self.array.view() }).flatten();
        if let (Some(cells), Some(nodata)) = (bytes, inner.bytes_are_codes()) {
            // Kernels have counters for the codes up to the one of no data.
            if matches!(engine, Engine::Cpu) || nodata.is_none_or(|nodata| usize::from(nodata) <= inner.levels()) {
                let codes = Codes { cells, levels: inner.levels(), nodata };
                return Ok(self.entropy.measure_codes_into(engine, codes, outs, watch)?);
            }
        }
        let coded = self.coded(false)?;
        match coded.classes().width() {
            1 => self.run_coded::<T, u8>(&coded, engine, outs, transposed, watch),
            _ => self.run_coded::<T, u16>(&coded, engine, outs, transposed, watch),
        }
    }

    /// The same of codes that are made first.
    fn run_coded<T: Real + Number, C: Code>(
        &self,
        coded: &CodedRaster,
        engine: &Engine,
        outs: Vec<GridViewMut<'_, T>>,
        transposed: bool,
        watch: &dyn Observer,
    ) -> Result<Report, Fault> {
        let (rows, cols) = (coded.rows(), coded.cols());
        let mut cells = Grid::<C>::zeros(rows, cols)?;
        if let Err(error) = coded.read_into(0..rows, 0..cols, cells.view_mut().into()) {
            // Where a number is no class, its place is said as the caller counts.
            return Err(match transposed {
                true => whole(&self.coded(true)?).err().unwrap_or(error.into()),
                false => error.into(),
            });
        }
        let nodata = coded.nodata_code().and_then(C::of);
        let codes = Codes { cells: cells.view(), levels: coded.levels(), nodata };
        Ok(self.entropy.measure_codes_into(engine, codes, outs, watch)?)
    }
}

/// Reads all of a raster for what is wrong with it.
fn whole(coded: &CodedRaster) -> Result<(), Fault> {
    let mut cells = Grid::<u16>::zeros(coded.rows(), coded.cols())?;
    Ok(coded.read_into(0..coded.rows(), 0..coded.cols(), cells.view_mut().into())?)
}

/// The measures of every cell of `array` into `outs`, arrays of its shape, one a measure; where the array's columns lie together, so do
/// theirs. Returns what was done.
#[pyfunction]
#[pyo3(signature = (array, outs, classes, mask, plan, whole, progress))]
#[allow(clippy::too_many_arguments)]
pub fn entropy<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    outs: Vec<Bound<'py, PyAny>>,
    classes: &Bound<'py, Classes>,
    mask: Option<&Bound<'py, PyAny>>,
    plan: &Bound<'py, Plan>,
    whole: Option<(usize, usize)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, classes) = (plan.get(), classes.get());
    let entropy = plan.entropy(classes.inner.levels(), whole);
    let array = Array::of(array)?;
    let mask = mask.map(Array::of).transpose()?;
    let outs = outs.iter().map(Array::of).collect::<PyResult<Vec<_>>>()?;
    let values = outs.first().map(Array::values);
    let cells = array.rows() * array.cols();
    let bytes = outs.iter().map(|out| out.values().bytes()).sum();
    let sums = entropy.comes_from_sums();
    let workload = Workload { cells, size: plan.side(), levels: classes.inner.levels(), bytes, sums };

    let transposed = array.is_fortran_ordered();
    let mut task = Task { array, mask, classes, entropy, outs };
    if transposed {
        task = task.transposed(&plan.window, whole);
    }
    let of_type = match values {
        Some(halotile::numbers::ValueType::F32) => Task::run::<f32>,
        Some(halotile::numbers::ValueType::F64) => Task::run::<f64>,
        _ => return Err(PyTypeError::new_err("results are float32 or float64")),
    };
    // A window is counted where a tile begins, and levels are looked at for each measure of some; the emulator takes its time with all.
    let cell = plan.window.count() + plan.measures * classes.inner.levels();
    let operations = if matches!(plan.devices, Devices::Emulator(_)) {
        u64::MAX
    } else {
        (cells as u64).saturating_mul(cell as u64)
    };
    let estimate = WorkEstimate { steps: cells as u64, operations };
    let (opened, report) = run(py, estimate, plan.threads, progress.as_ref(), |watch| {
        let recommendation = |open| workload.recommend(rayon::current_num_threads(), open);
        let mut opened = open(&plan.devices, plan.gpu, watch, recommendation)?;
        let mut result = of_type(&task, &opened.engine, transposed, watch);
        // The CPU takes anything.
        if let Err(Fault::Entropy(error)) = &result
            && error.is_for_cpu()
            && let Some(cpu) = opened.fall_back(error.to_string())
        {
            opened = cpu;
            result = of_type(&task, &opened.engine, transposed, watch);
        }
        Ok((opened, result?))
    })?;
    let info = PyDict::new(py);
    info.set_item("device", opened.name)?;
    info.set_item("why", opened.automatic.map(|automatic| automatic.why))?;
    info.set_item("kernel", report.kernel.map(Kernel::name))?;
    info.set_item("levels", report.levels)?;
    info.set_item("kernel_seconds", report.kernel_seconds)?;
    Ok(info)
}
