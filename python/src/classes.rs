//! What numbers mean: the library's `Classes`, made from arrays or from what is known of them, as an object that tasks of a cluster can be
//! sent.
//!
//! It is sent as what it was made of: values, levels, the text of a list, edges. To make it again costs less than its tables would.

use halotile::classes::{BinRule, Classes as Inner, ClassesError, Extent};
use halotile::io::Nodata;
use halotile::raster::{MaskedRaster, Raster};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::error::Fault;
use crate::run::{Watch, run};

/// What it was made of.
#[derive(Clone)]
enum Recipe {
    Values(Vec<i128>, bool),
    Levels(usize),
    List(String),
    /// The flag: cells without data may occur.
    Edges(Vec<f64>, bool),
}

/// An extent as a tuple: the least and largest finite number, whether there are infinite ones, whether there are cells without data.
type Found = (Option<(f64, f64)>, bool, bool);

/// From numbers to codes of classes.
#[pyclass(frozen, module = "halotile._native")]
pub struct Classes {
    pub inner: Inner,
    recipe: Recipe,
    nodata: Option<Nodata>,
}

/// A value for no data: a whole number of any size, another number, or none.
pub fn nodata_of(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Nodata>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    if let Ok(whole) = value.extract::<i128>() {
        return Ok(Some(Nodata::Whole(whole)));
    }
    match value.extract::<f64>() {
        Ok(real) => Ok(Some(Nodata::from(real))),
        Err(_) => Err(PyTypeError::new_err(format!("nodata is a number or None, not {}", value.get_type().name()?))),
    }
}

/// A nodata value as Python has it.
fn shown<'py>(py: Python<'py>, nodata: Option<Nodata>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match nodata {
        None => py.None().into_bound(py),
        Some(Nodata::Whole(whole)) => whole.into_pyobject(py)?.into_any(),
        Some(Nodata::Fraction(real)) => real.into_pyobject(py)?.into_any(),
        Some(Nodata::Nan) => f64::NAN.into_pyobject(py)?.into_any(),
    })
}

/// An array and its mask.
struct MaskedArray {
    array: Array,
    mask: Option<Array>,
    nodata: Option<Nodata>,
}

impl Classes {
    /// Those that a survey has found.
    pub fn of_survey(inner: Inner, nodata: Option<Nodata>) -> Self {
        let values = inner.values().unwrap_or_default();
        let recipe = Recipe::Values(values, inner.nodata_code().is_some());
        Self { inner, recipe, nodata }
    }

    /// Bins that were laid over what occurs.
    pub fn of_bins(inner: Inner, nodata: Option<Nodata>) -> Self {
        let recipe = Recipe::Edges(inner.edges().unwrap_or_default(), inner.nodata_code().is_some());
        Self { inner, recipe, nodata }
    }
}

impl MaskedArray {
    fn new(array: &Bound<'_, PyAny>, mask: Option<&Bound<'_, PyAny>>, nodata: Option<Nodata>) -> PyResult<Self> {
        let array = Array::of(array)?;
        let mask = mask.map(Array::of).transpose()?;
        // A value that no number of this type is, is no value for no data.
        let nodata = nodata.filter(|&nodata| array.values().can_be(nodata));
        Ok(Self { array, mask, nodata })
    }

    fn cells(&self) -> u64 {
        self.array.rows() as u64 * self.array.cols() as u64
    }

    fn with_raster<R>(&self, work: impl FnOnce(&dyn Raster) -> Result<R, ClassesError>) -> Result<R, Fault> {
        // SAFETY: the caller of a function of this file holds the arrays until it returns.
        let raster = unsafe { self.array.raster("array", self.nodata) };
        let Some(mask) = self.mask else { return Ok(work(&raster)?) };
        // SAFETY: as above.
        let mask = unsafe { mask.raster("mask", None) };
        match MaskedRaster::new(&raster, &mask) {
            Some(masked_raster) => Ok(work(&masked_raster)?),
            None => Err(Fault::Value(format!(
                "the mask has the shape ({}, {}), and the array ({}, {})",
                mask.rows(),
                mask.cols(),
                raster.rows(),
                raster.cols()
            ))),
        }
    }
}

#[pymethods]
impl Classes {
    /// The values that occur in the array, where the mask lets them be seen.
    #[staticmethod]
    #[pyo3(signature = (array, mask=None, nodata=None, threads=None))]
    fn survey(
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
        nodata: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let masked = MaskedArray::new(array, mask, nodata_of(nodata)?)?;
        let (inner, _) = run(py, masked.cells(), threads, None, |watch: &Watch| {
            masked.with_raster(|raster| Inner::survey(raster, masked.nodata, watch))
        })?;
        Ok(Self::of_survey(inner, masked.nodata))
    }

    /// These values, and no data if it `occurs`.
    #[staticmethod]
    #[pyo3(signature = (values, occurs, nodata=None))]
    fn of_values(values: Vec<i128>, occurs: bool, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nodata = nodata_of(nodata)?;
        let inner = Inner::of_values(values, nodata, occurs).map_err(Fault::from)?;
        let values = inner.values().expect("every class is a value");
        Ok(Self { inner, recipe: Recipe::Values(values, occurs), nodata })
    }

    /// The numbers from 0 up to `levels`.
    #[staticmethod]
    #[pyo3(signature = (levels, nodata=None))]
    fn of_levels(levels: usize, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nodata = nodata_of(nodata)?;
        let inner = Inner::identity(levels, nodata).map_err(Fault::from)?;
        Ok(Self { inner, recipe: Recipe::Levels(levels), nodata })
    }

    /// Those of a list.
    #[staticmethod]
    #[pyo3(signature = (text, nodata=None))]
    fn of_list(text: String, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nodata = nodata_of(nodata)?;
        let inner = Inner::parse(&text, "classes", nodata).map_err(Fault::from)?;
        Ok(Self { inner, recipe: Recipe::List(text), nodata })
    }

    /// Bins over what occurs in the array, equally wide or (`quantile`) equally full.
    #[staticmethod]
    #[pyo3(signature = (array, bins, quantile, mask=None, nodata=None, threads=None))]
    fn binned(
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        bins: usize,
        quantile: bool,
        mask: Option<&Bound<'_, PyAny>>,
        nodata: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let masked = MaskedArray::new(array, mask, nodata_of(nodata)?)?;
        let rule = if quantile { BinRule::Quantile } else { BinRule::EqualWidth };
        let cells = masked.cells() * rule.passes(masked.array.values(), bins) as u64;
        let inner = run(py, cells, threads, None, |watch: &Watch| {
            masked.with_raster(|raster| Inner::bins(raster, bins, rule, masked.nodata, watch))
        })?;
        Ok(Self::of_bins(inner, masked.nodata))
    }

    /// Bins between these edges; `occurs`: there may be cells without data.
    #[staticmethod]
    #[pyo3(signature = (edges, occurs, nodata=None))]
    fn of_edges(edges: Vec<f64>, occurs: bool, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nodata = nodata_of(nodata)?;
        let inner = Inner::of_edges(edges.clone(), nodata, occurs).map_err(Fault::from)?;
        Ok(Self { inner, recipe: Recipe::Edges(edges, occurs), nodata })
    }

    /// Bins of equal width over extents of parts, as `extent` gives them.
    #[staticmethod]
    #[pyo3(signature = (extents, bins, nodata=None))]
    fn of_extents(extents: Vec<Found>, bins: usize, nodata: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let nodata = nodata_of(nodata)?;
        let part = |(finite, infinite, nodata)| Extent { finite, infinite, nodata };
        let extent = extents.into_iter().map(part).fold(Extent::default(), Extent::and);
        let inner = Inner::of_extent(extent, bins, nodata).map_err(Fault::from)?;
        let edges = inner.edges().expect("bins have edges");
        Ok(Self { inner, recipe: Recipe::Edges(edges, extent.nodata), nodata })
    }

    /// The least and largest finite number, whether there are infinite ones, and whether there are cells without data.
    #[staticmethod]
    #[pyo3(signature = (array, mask=None, nodata=None, threads=None))]
    fn extent(
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
        nodata: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Found> {
        let masked = MaskedArray::new(array, mask, nodata_of(nodata)?)?;
        let extent = run(py, masked.cells(), threads, None, |watch: &Watch| {
            masked.with_raster(|raster| Extent::of(raster, masked.nodata, watch))
        })?;
        Ok((extent.finite, extent.infinite, extent.nodata))
    }

    /// Codes are below this.
    #[getter]
    fn levels(&self) -> usize {
        self.inner.levels()
    }

    /// Whether there may be cells without data.
    #[getter]
    fn nodata_occurs(&self) -> bool {
        self.inner.nodata_code().is_some()
    }

    /// The values, where each class is one; else `None`.
    #[getter]
    fn values(&self) -> Option<Vec<i128>> {
        self.inner.values()
    }

    /// The inner edges, where the classes are bins; else `None`.
    #[getter]
    fn edges(&self) -> Option<Vec<f64>> {
        self.inner.edges()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (class, nodata) = (py.get_type::<Self>(), shown(py, self.nodata)?);
        Ok(match &self.recipe {
            Recipe::Values(values, occurs) => {
                (class.getattr("of_values")?, (values.clone(), *occurs, nodata).into_pyobject(py)?)
            }
            Recipe::Levels(levels) => (class.getattr("of_levels")?, (*levels, nodata).into_pyobject(py)?),
            Recipe::List(text) => (class.getattr("of_list")?, (text.clone(), nodata).into_pyobject(py)?),
            Recipe::Edges(edges, occurs) => {
                (class.getattr("of_edges")?, (edges.clone(), *occurs, nodata).into_pyobject(py)?)
            }
        })
    }

    fn __repr__(&self) -> String {
        format!("Classes({} levels{})", self.levels(), if self.nodata_occurs() { " and no data" } else { "" })
    }
}
