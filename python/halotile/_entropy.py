"""Entropy of NumPy's arrays, and of arrays that lie on a GPU. DataArrays and Dask's arrays are handed to the modules that are for them.

NumPy would make a plain array of either: without what a DataArray says of no data and of its place, and with all of a Dask array in memory at once.
"""

import functools
import logging

import numpy as np

from halotile import _arguments, _gpu, _native

_log = logging.getLogger("halotile")


def _instead(array):
    """The function that `array` is for, if it is another than this one."""
    if isinstance(array, (np.ndarray, list, tuple)):
        return None
    if isinstance(array, _arguments.loaded("xarray", "DataArray")):
        from halotile import xarray

        return xarray.entropy
    if isinstance(array, _arguments.loaded("dask.array", "Array")):
        from halotile import dask

        return dask.entropy
    for name in ("Dataset", "DataTree"):
        if isinstance(array, _arguments.loaded("xarray", name)):
            raise TypeError(f"array: it is a {name} of xarray's, which may hold several arrays; give one, such as array[\"landcover\"]")
    if isinstance(array, _arguments.loaded("xarray", "Variable")):
        raise TypeError("array: it is a Variable of xarray's; give a DataArray, or its data")
    return None


def _handed_on(function):
    """The same function, which hands on what is for another one."""

    @functools.wraps(function)
    def call(*args, **options):
        instead = _instead(args[0] if args else options.get("array"))
        if instead is None:
            return function(*args, **options)
        for name in ("out", "progress"):
            if options.pop(name, None) is not None:
                raise TypeError(f"{name}: arrays of this type take none; leave it out")
        return instead(*args, **options)

    return call


@_arguments.public("halotile.entropy")
@_handed_on
def entropy(
    array,
    size=5,
    *,
    footprint=None,
    levels=None,
    classes=None,
    bins=None,
    binning="equal",
    nodata=None,
    mask=None,
    measure="shannon",
    base="e",
    normalize=False,
    edge="shrink",
    min_valid=0.0,
    fill_nodata=False,
    device="auto",
    kernel=None,
    threads=None,
    dtype="float32",
    out=None,
    progress=None,
):
    """Moving-window entropy: for every cell, how mixed the classes are in the window around it.

    Parameters
    ----------
    array : array_like, shape (rows, cols)
        Integers, booleans, or floating-point numbers. The values that occur are the classes (65,536 at most, 65,535 where no data occurs; of more than 256 a GPU computes squares, and no Rényi's or Hill's numbers of orders other than 0, 1 and 2),
        unless `levels`, `classes` or `bins` says otherwise; floating-point numbers must be whole then. NaN is no data.
        What a masked array masks is no data. NumPy arrays may have any strides; bytes that number the classes 0, 1, 2, ... in rows (or in columns) are not copied, everything else
        is, once, as one byte a cell, or two for more than 256 classes. Arrays that lie on a GPU (CuPy's, PyTorch's, whatever has
        ``__cuda_array_interface__`` or ``__dlpack__``) are worked on there, and the result lies there too. A DataArray of xarray's is handed to
        `halotile.xarray.entropy`, and gives a DataArray; a Dask array to `halotile.dask.entropy`, and gives one that is not computed yet.
    size : int, default 5
        The window is `size` x `size` cells: odd, 1 to 4095 (on a GPU 1023 for Shannon's entropy of up to 256 classes in float32, else 255). It may exceed the array.
    footprint : "disk", "square" or array_like, optional
        The shape of the window: a disk `size` cells across, or a two-dimensional array with odd sides of up to 4095, not 0 where a cell
        belongs to the window. Then `size` is of no account.
    levels : int, optional
        The numbers are classes from 0 up to `levels` (1 to 65,536); others than that and `nodata` are an error. Saves a look through the array.
    classes : mapping or path, optional
        From values to classes: values with the same class (any hashable object) are counted together, ``None`` is no data, and the key ``"*"``
        stands for all other values. Or the name of a file with lines ``value,class`` or ``first..last,class``.
    bins : int or sequence of float, optional
        Sorts numbers into so many bins (1 to 65,536), or into those between these ascending edges, as `numpy.digitize` does.
    binning : {"equal", "quantile"}
        Whether that many bins are equally wide or equally full.
    nodata : number, optional
        The value that is no data: such cells are not counted, and give NaN.
    mask : array_like, shape (rows, cols), optional
        Cells where it is 0, False or NaN have no data, beside those that `array` masks.
    measure : str or sequence of str, default "shannon"
        ``"shannon"``, ``"simpson"`` (1 - sum p^2), ``"richness"``, ``"evenness"``, ``"renyi:ALPHA"``, ``"hill:Q"``. Of several the result has a
        plane each.
    base : {"e", 2, 10}
        The unit of entropies: nats, bits or hartleys.
    normalize : bool
        Divides Shannon's entropy by the logarithm of the number of classes, which `levels`, `classes` or `bins` has to give.
    edge : {"shrink", "nodata", "symmetric", "reflect", "replicate"}
        What windows see beyond the array: nothing (they are clipped, and only cells inside count); nothing, and there is no result; the array
        mirrored with its edge cells twice, or once; its edge cells.
    min_valid : float
        Windows of which less than this share, 0 to 1, is valid give NaN.
    fill_nodata : bool
        Whether cells without data have results too: those of the valid cells in their windows.
    device : str, default "auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:0,1"`` (several share the work), ``"emulator"``. ``"auto"`` estimates what is faster; what it chose, and
        why, is logged under the name ``halotile`` at the level INFO.
    kernel : str, optional
        A kernel by its name, as ``halotile kernels`` lists them; the fastest that fits by default. The steps of the ladders are in the program only.
    threads : int, optional
        Threads of the CPU, 1 to 1024; as many as there are cores by default.
    dtype : {"float32", "float64"}
        The type of the result. float32 is within 2e-6 of the definition (in nats), float64 within 1e-12.
    out : ndarray, optional
        Where the result goes: an array of its shape.
    progress : callable, optional
        Called about ten times a second as ``progress(cells_done, cells)``. Whatever it raises stops the work.

    Returns
    -------
    ndarray, shape (rows, cols) or (measures, rows, cols)
        Of `dtype`; in the order of `array` (C or Fortran). An array without cells gives one without cells. DataArrays and Dask's arrays give their like.

    Raises
    ------
    TypeError
        The array's numbers are not real, or an argument is of a wrong type.
    ValueError
        The array has not two dimensions, or an argument or a cell's value is not what it may be; cells are named by row and column.
    DeviceError
        The device asked for is not there, or failed.
    MemoryError
        There is no memory for the result.
    KeyboardInterrupt
        Ctrl-C: the work stops within a fraction of a second. The GIL is not held while it goes on.

    Notes
    -----
    With p_i the share of class i among the valid cells of the window, Shannon's entropy is H = -sum p_i ln p_i. A window of one class gives
    exactly 0. The result is that of ``halotile entropy`` on the same cells in a file, bit for bit.

    References
    ----------
    .. [1] C. E. Shannon, A Mathematical Theory of Communication (1948), section 6.
    .. [2] K. McGarigal, B. J. Marks, FRAGSTATS (1995): Shannon's diversity index.

    Examples
    --------
    >>> import numpy as np
    >>> import halotile
    >>> landcover = np.array([[11, 11, 41], [11, 41, 41], [90, 90, 255]], dtype=np.uint8)
    >>> halotile.entropy(landcover, 3, nodata=255, base=2).round(3)
    array([[0.811, 1.   , 0.811],
           [1.459, 1.561, 1.371],
           [1.5  , 1.522,   nan]], dtype=float32)
    """
    plan, meaning = _arguments.options(
        size,
        footprint=footprint,
        levels=levels,
        classes=classes,
        bins=bins,
        binning=binning,
        nodata=nodata,
        measure=measure,
        base=base,
        normalize=normalize,
        edge=edge,
        min_valid=min_valid,
        fill_nodata=fill_nodata,
        device=device,
        kernel=kernel,
        threads=threads,
        dtype=dtype,
    )
    return compute(array, _arguments.mask_of(mask), plan, meaning, out=out, progress=progress)


def compute(array, mask, plan, meaning, *, classes=None, whole=None, out=None, progress=None):
    """What `entropy` does when its arguments have been looked at.

    `classes` are those of a whole grid of the shape `whole`, of which `array` is a part.
    """
    if _gpu.is_remote(array):
        return _gpu.compute(
            array, mask, plan, meaning, classes=classes, whole=whole, out=out, progress=progress
        )
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={progress!r}: a callable, not {type(progress).__name__}")
    # Those of np.ma stay what they are.
    array = np.asanyarray(array)
    if meaning is not None:
        meaning = meaning.of_type(array.dtype)
    array, mask = _arguments.grid_and_mask(array, mask)
    planes = None if out is None else _writable_planes(out, array, mask, plan)
    results = _empty_results(array, plan) if planes is None else planes
    if classes is None:
        classes = meaning.classes(array, mask, plan.threads)
    if array.size > 0:
        info = _native.entropy(array, list(results), classes, mask, plan.native(), whole, progress)
        _log.info("%d cells on %s%s", array.size, info["device"], f", because {info['why']}" if info["why"] else "")
    result = results[0] if plan.single else results
    if out is None:
        return result
    if planes is None:
        out[...] = result
    return out


def _is_fortran_ordered(array):
    """Whether columns are contiguous, as in Fortran."""
    down, right = map(abs, array.strides)
    return min(array.shape) > 1 and down < right


def _empty_results(array, plan):
    """New arrays for results, a plane a measure, in the memory order of `array`."""
    planes, (rows, cols) = len(plan.measures), array.shape
    if _is_fortran_ordered(array):
        return np.empty((planes, cols, rows), plan.dtype).transpose(0, 2, 1)
    return np.empty((planes, rows, cols), plan.dtype)


def _writable_planes(out, array, mask, plan):
    """The planes of `out`, if results can be written there at once, else None."""
    shape = array.shape if plan.single else (len(plan.measures), *array.shape)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != plan.dtype or not out.flags.writeable:
        raise ValueError(f"out: an array that can be written, of the shape {shape} and the type {plan.dtype}")
    planes = out[np.newaxis] if plan.single else out
    order = -1 if _is_fortran_ordered(array) else 1
    (high, wide), (down, right) = array.shape[::order], planes.strides[1:][::order]
    # Rows without gaps, and neither rows nor planes that overlap.
    in_rows = right == planes.itemsize and down >= wide * planes.itemsize
    in_planes = plan.single or abs(planes.strides[0]) >= high * down
    read = [given for given in (array, mask) if given is not None]
    direct = in_rows and in_planes and out.flags.aligned and not any(np.may_share_memory(out, given) for given in read)
    return planes if direct else None
