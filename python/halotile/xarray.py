"""Entropy of xarray's DataArrays, which keep their coordinates, their attributes and their place on the earth.

    import rioxarray, halotile.xarray
    landcover = rioxarray.open_rasterio("nlcd.tif").squeeze("band")
    h = landcover.halotile.entropy(21)                 # or halotile.xarray.entropy(landcover, 21)
    h.rio.to_raster("shdi.tif")

What is no data is what the array says: its `_FillValue` or `missing_value`, as rioxarray and NetCDF have it; a masked array has NaN there, which is no data
anyway. Arrays of Dask's stay lazy, arrays on a GPU stay there.
"""

import os

import numpy as np
import xarray as xr

import halotile
from halotile import _arguments

__all__ = ["entropy"]

# What attributes say of the numbers of the input, and would be wrong of the results.
_OF_NUMBERS = ("_FillValue", "missing_value", "scale_factor", "add_offset", "valid_min", "valid_max", "valid_range", "flag_values", "flag_meanings", "flag_masks", "units", "long_name", "standard_name")

# What attributes say of how the input was made, and would be wrong of the results.
_OF_MAKING = ("HALOTILE_", "STATISTICS_", "INTERNAL_MASK_FLAGS_")

_UNITS = {"e": "nats", "2": "bits", "10": "hartleys"}


@_arguments.public("halotile.xarray.entropy")
def entropy(array, size=5, *, dim=None, mask=None, nodata=None, **options):
    """Moving-window entropy of a DataArray.

    Parameters
    ----------
    array : xarray.DataArray
        Over NumPy's arrays, Dask's, or those on a GPU. What it has beside the two dimensions of the window (bands, times) is taken layer by layer.
    size : int, default 5
        The window is `size` x `size` cells.
    dim : (str, str), optional
        The dimensions of rows and columns; by default the last two.
    mask : DataArray or array_like, optional
        Cells where it is 0, False, NaN or what it says is no data have none; of rows and columns alone, or of all dimensions of the array.
        The coordinates of a DataArray are the array's, but for a hundredth of a cell.
    nodata : number, optional
        The value that is no data; by default what the array says.
    footprint, levels, classes, bins, binning
    measure, base, normalize, edge, min_valid, fill_nodata
    device, kernel, threads, dtype
        As for `halotile.entropy`. Classes are found for each layer by itself.

    Returns
    -------
    xarray.DataArray
        With the dimensions, coordinates and attributes of `array`, but for the attributes that tell of its numbers. Other attributes say what was
        computed, by the names that a GeoTIFF of the program has them by: ``TIFFTAG_SOFTWARE``, ``HALOTILE_WINDOW``, ``HALOTILE_EDGE`` and so on;
        ``long_name`` and ``units`` are those of the measure. Of several measures there is a first dimension ``measure``. NaN is no data.

    Raises
    ------
    TypeError, ValueError
        As for `halotile.entropy`; and where a dimension is not there, or the mask lies elsewhere.

    Examples
    --------
    >>> import xarray as xr
    >>> import halotile.xarray
    >>> cells = xr.DataArray([[1, 1, 2], [1, 2, 2]], dims=("y", "x"), coords={"x": [10.0, 20.0, 30.0]})
    >>> h = cells.halotile.entropy(3, base=2, dtype="float64")
    >>> h.sel(x=10.0).round(3).values.tolist(), h.name, h.attrs["units"]
    ([0.811, 0.811], 'shannon', 'bits')
    """
    if not isinstance(array, xr.DataArray):
        raise TypeError(f"array: a DataArray, not {type(array).__name__}; halotile.entropy takes others")
    dim = tuple(array.dims[-2:] if dim is None else dim)
    if len(set(dim)) != 2 or len(dim) != 2 or not set(dim) <= set(array.dims):
        raise ValueError(f"dim={dim}: two of the array's dimensions, which are {array.dims}")
    nodata = _nodata(array) if nodata is None else nodata
    plan, meaning = _arguments.options(size, nodata=nodata, **options)
    array = array.transpose(..., *dim)
    if mask is not None:
        labelled = isinstance(mask, xr.DataArray)
        mask = mask.transpose(..., *dim) if labelled else mask
        if np.shape(mask) not in (array.shape, array.shape[-2:]):
            raise ValueError(f"mask: its shape is {np.shape(mask)}, and the array's {array.shape}")
        if labelled:
            _check_place(mask, array)
            mask = mask_of(mask)

    layers = array.shape[:-2]
    results = {
        layer: _layer(array.data[layer], size, _mask_of(mask, layer, array.ndim), nodata, options)
        for layer in np.ndindex(layers)
    }
    data = results[()] if not layers else _stacked(results, layers, plan)
    dims = array.dims if plan.single else ("measure", *array.dims)
    coords = dict(array.coords) if plan.single else {**array.coords, "measure": list(plan.measures)}
    kept = {
        name: value
        for name, value in array.attrs.items()
        if name not in _OF_NUMBERS and not str(name).startswith(_OF_MAKING)
    }
    attrs = kept | _made(plan, meaning, options.get("classes"), mask is not None) | _unit(plan)
    result = xr.DataArray(data, coords, dims, plan.measures[0] if plan.single else "diversity", attrs)
    # What rioxarray and NetCDF write as the value that is no data.
    result.encoding["_FillValue"] = np.dtype(plan.dtype).type(np.nan)
    grid_mapping = array.encoding.get("grid_mapping", array.attrs.get("grid_mapping"))
    if grid_mapping is not None:
        result.attrs.pop("grid_mapping", None)
        result.encoding["grid_mapping"] = grid_mapping
    return result


def _nodata(array):
    """The value that is no data, if the array has one. Where it has been masked cells are NaN, and nothing is left to be said."""
    for name in ("_FillValue", "missing_value"):
        value = array.attrs.get(name)
        if value is not None:
            return value
    return None


def mask_of(mask):
    """The numbers of a mask, 0 where it says that it has no data."""
    nodata = _nodata(mask)
    return mask.data if nodata is None else mask.data * (mask.data != nodata)


def _check_place(mask, array):
    """Refuses a mask whose coordinates are others than the array's."""
    for dim in set(mask.dims) & set(array.dims) & set(mask.indexes) & set(array.indexes):
        theirs, ours = mask.indexes[dim], array.indexes[dim]
        if theirs.equals(ours):
            continue
        if ours.dtype.kind in "iuf" and theirs.dtype.kind in "iuf":
            cell = abs(ours[-1] - ours[0]) / max(len(ours) - 1, 1)
            if np.abs(theirs.values - ours.values).max(initial=0) <= cell / 100:
                continue
        raise ValueError(
            f"mask: its coordinates {dim} are {theirs[0]} to {theirs[-1]}, and the array's {ours[0]} to {ours[-1]}; "
            "give a mask of the same cells, as reindex_like makes one"
        )


def _layer(layer, size, mask, nodata, options):
    """The results of one layer, wherever it lies."""
    if hasattr(layer, "dask"):
        # Only now: Dask may not be installed beside xarray.
        from halotile import dask

        return dask.entropy(layer, size, mask=mask, nodata=nodata, **options)
    return halotile.entropy(layer, size, mask=mask, nodata=nodata, **options)


def _mask_of(mask, layer, ndim):
    return mask[layer] if mask is not None and np.ndim(mask) == ndim else mask


def _stacked(results, layers, plan):
    """Results of layers as one array, measures first."""
    first = next(iter(results.values()), None)
    if first is None:
        raise ValueError(f"array: it has no layers, its other dimensions are {layers}")
    if hasattr(first, "dask"):
        import dask.array as xp
    else:
        import sys

        xp = sys.modules[type(first).__module__.partition(".")[0]] if not isinstance(first, np.ndarray) else np
    stacked = xp.stack(list(results.values())).reshape((*layers, *first.shape))
    return stacked if plan.single else xp.moveaxis(stacked, len(layers), 0)


def _unit(plan):
    """What results are, and their unit where they have one."""
    if not plan.single:
        return {}
    measure = plan.measures[0]
    entropy = measure.startswith("renyi") or measure == "shannon" and not plan.normalize
    return {"long_name": measure} | ({"units": _UNITS[plan.base]} if entropy else {})


def _made(plan, meaning, classes, masked):
    """What was computed, as a GeoTIFF of the program says it and rioxarray reads it."""
    rows, cols, cells = plan.native().window
    shape = "square" if plan.footprint is None else plan.footprint if isinstance(plan.footprint, str) else "footprint"
    items = {
        "NODATA": "none" if meaning.nodata is None else _shown(meaning.nodata),
        "MASK": "array" if masked else None,
        "LEVELS": meaning.levels,
        "CLASSES": None if classes is None else os.path.basename(classes) if isinstance(classes, (str, os.PathLike)) else "mapping",
        "BINS": _bins(meaning),
        "WINDOW": f"{shape}, {rows} x {cols}, {cells} cells",
        "EDGE": plan.edge,
        "MIN_VALID": plan.min_valid or None,
        "FILL_NODATA": "YES" if plan.fill_nodata else None,
        "NORMALIZE": "YES" if plan.normalize else None,
    }
    software = {"TIFFTAG_SOFTWARE": f"halotile {halotile.__version__}"}
    return software | {f"HALOTILE_{name}": value for name, value in items.items() if value is not None}


def _shown(number):
    """A number in as few digits as tell it from others, without an exponent, as the program shows it."""
    return np.format_float_positional(number, trim="-") if isinstance(number, float) else str(int(number))


def _bins(meaning):
    if meaning.bins is None:
        return None
    if isinstance(meaning.bins, tuple):
        return f"{len(meaning.bins) + 1}, edges"
    return f"{meaning.bins}, {'quantile' if meaning.quantile else 'equal'}"


@xr.register_dataarray_accessor("halotile")
class _Accessor:
    """`DataArray.halotile`: `entropy` as a method."""

    def __init__(self, array):
        self._array = array

    @_arguments.public("DataArray.halotile.entropy")
    def entropy(self, size=5, *, dim=None, mask=None, nodata=None, **options):
        return entropy(self._array, size, dim=dim, mask=mask, nodata=nodata, **options)


_Accessor.entropy.__doc__ = entropy.__doc__
