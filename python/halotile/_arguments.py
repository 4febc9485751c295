"""Arguments as users give them, made into what the native module takes.

All functions over NumPy's arrays, xarray's, Dask's and those on GPUs take the same arguments, so they are looked at here once: `Plan` is
what there is to compute, `Meaning` is what numbers mean as classes, `grid` is an array as the native module takes it. `public` gives functions
that pass options on the signature that has all of them, and an error of their own for a name that is no option's.
"""

import dataclasses
import decimal
import functools
import inspect
import math
import numbers
import operator
import os
import sys
import typing
from collections.abc import Mapping

import numpy as np

from halotile import _native

# The longest side of a window; the native module refuses longer ones too.
MAX_SIZE = 4095

_KINDS = "biuf"

# More threads than any machine has use for, and few enough to be started.
_MOST_THREADS = 1024

# Codes of 16 bits.
_MOST_LEVELS = 65536


def whole_number(name, value):
    """`value` as an int; a TypeError where it is no whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: a whole number, not {type(value).__name__}") from None


def number(name, value):
    """`value` as a number of Python's; a TypeError where it is no real one."""
    if isinstance(value, np.generic) or isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (numbers.Real, decimal.Decimal)):
        raise TypeError(f"{name}={value!r}: a number, not {type(value).__name__}")
    return value


def thread_count(threads):
    """A number of threads, or None."""
    if threads is None:
        return None
    threads = whole_number("threads", threads)
    if not 1 <= threads <= _MOST_THREADS:
        raise ValueError(f"threads={threads}: from 1 to {_MOST_THREADS}")
    return threads


def public(name):
    """Decorates a function that users call as `name`.

    Where the function passes ``**options`` on, its signature has those of `options` in their place, so that `help`, editors and type checkers know
    them. An argument that there is not is a TypeError in the words of Python, which names the function by `name` and the nearest argument.
    """

    def decorate(function):
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        if len(own) < len(signature.parameters):
            names = {one.name for one in own}
            own += [one for one in inspect.signature(options).parameters.values() if one.name not in names]
        known = {one.name for one in own}

        @functools.wraps(function)
        def call(*args, **given):
            if not known.issuperset(given):
                unknown = next(each for each in given if each not in known)
                raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'{_nearest(unknown, known)}")
            return function(*args, **given)

        call.__signature__ = signature.replace(parameters=own)
        return call

    return decorate


def _nearest(unknown, known):
    """What may have been meant, for the end of a message."""
    import difflib

    near = difflib.get_close_matches(unknown, sorted(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def loaded(module, name):
    """A class of a package for `isinstance`, without importing the package: until it has been imported there is nothing of that class."""
    return getattr(sys.modules.get(module), name, ())


def check_grid(array, what="array"):
    """Refuses arrays that are no grid of numbers: by their type first, then by their dimensions."""
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > 8:
        raise TypeError(
            f"{what}: its type is {array.dtype}; halotile takes integers, booleans and real numbers of up to 64 bits"
        )
    if array.ndim != 2:
        hint = "; take one of its layers" if array.ndim > 2 else ""
        raise ValueError(f"{what}: it has {array.ndim} dimensions, and halotile takes arrays of 2{hint}")


def grid(array, what="array"):
    """A NumPy array as the native module takes it: of two dimensions, aligned, in this machine's byte order. Copied only if it is not."""
    array = np.asarray(array)
    check_grid(array, what)
    if array.dtype.kind == "b":
        # A boolean view of other memory may have bytes above 1, which are all True.
        codes = array.view(np.uint8)
        return array if codes.max(initial=0) <= 1 else codes != 0
    dtype = array.dtype.newbyteorder("=")
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    if array.dtype != dtype or not array.flags.aligned:
        array = array.astype(dtype)
    return array


def mask_of(mask):
    """A mask without labels: of a DataArray its numbers, with 0 where it says that it has no data."""
    if isinstance(mask, loaded("xarray", "DataArray")):
        from halotile import xarray

        return xarray.mask_of(mask)
    return mask


def check_mask(mask, array):
    """Refuses a mask of another shape than the array's."""
    if mask.shape != array.shape:
        raise ValueError(f"mask: its shape is {mask.shape}, and the array's {array.shape}")


def grid_and_mask(array, mask):
    """An array and its mask as the native module takes them. What the array itself masks, if it is one of np.ma, has no data either."""
    hidden = np.ma.getmask(array) if np.ma.isMaskedArray(array) else np.ma.nomask
    array = grid(array)
    if mask is not None:
        # What a mask does not say is no data.
        mask = grid(mask.filled(0) if np.ma.isMaskedArray(mask) else mask, "mask")
        check_mask(mask, array)
    if hidden is not np.ma.nomask:
        seen = ~hidden
        mask = seen if mask is None else seen & (mask != 0) & (mask == mask)
    return array, mask


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is computed of every window, and where. Its fields are those of `EntropyOptions` in ``python/src/entropy.rs``."""

    size: int
    footprint: "Window | str | None"
    measures: tuple
    base: str
    normalize: bool
    edge: str
    min_valid: float
    fill_nodata: bool
    kernel: str | None
    device: str
    # The GPU that "auto" means.
    gpu: int
    threads: int | None
    dtype: str
    # One measure that was given by itself: the result has no axis for measures.
    single: bool

    @classmethod
    def of(cls, *, size, footprint, measure, base, normalize, edge, min_valid, fill_nodata, kernel, device, threads, dtype):
        if isinstance(footprint, str):
            if footprint not in ("disk", "square"):
                raise ValueError(f'footprint={footprint!r}: "disk", "square" or an array')
            footprint = None if footprint == "square" else footprint
        elif footprint is not None:
            footprint = Window.of(footprint)
            # A footprint that is too large is refused as one.
            size = min(max(footprint.rows, footprint.cols) | 1, MAX_SIZE)
        size = whole_number("size", size)
        if not 1 <= size <= MAX_SIZE or size % 2 == 0:
            raise ValueError(f"size={size}: an odd number from 1 to {MAX_SIZE}")
        single = isinstance(measure, str)
        try:
            measures = (measure,) if single else tuple(measure)
        except TypeError:
            measures = (measure,)
        for name in measures:
            if not isinstance(name, str):
                raise TypeError(f"measure={measure!r}: a name or several")
        if not measures:
            raise ValueError("measure: there is none; give a name or several")
        if isinstance(base, numbers.Real):
            # 2.0 is 2, and math.e is e.
            base = "e" if math.isclose(base, math.e) else int(base) if base in (2, 10) else base
        min_valid = number("min_valid", min_valid)
        if not 0 <= min_valid <= 1:
            raise ValueError(f"min_valid={min_valid!r}: a share from 0 to 1")
        if kernel is not None and not isinstance(kernel, str):
            raise TypeError(f"kernel={kernel!r}: a name or None, not {type(kernel).__name__}")
        dtype = np.dtype(np.float32 if dtype is None else dtype)
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"dtype={dtype}: results are float32 or float64")
        plan = cls(
            size=size,
            footprint=footprint,
            measures=measures,
            base=str(base),
            normalize=bool(normalize),
            edge=str(edge),
            min_valid=float(min_valid),
            fill_nodata=bool(fill_nodata),
            kernel=None if kernel == "auto" else kernel,
            device=str(device),
            gpu=0,
            threads=thread_count(threads),
            dtype=dtype.name,
            single=single,
        )
        # What the native module knows better: measures, bases, edges, kernels, devices. Also where there is nothing to compute.
        plan.native()
        return plan

    @property
    def radius(self):
        """Rows and columns that a window reaches to each side."""
        window = self.footprint
        rows, cols = (window.rows, window.cols) if isinstance(window, Window) else (self.size, self.size)
        return rows // 2, cols // 2

    def native(self):
        """As the native module takes it."""
        return _native_plan(self)


# Most calls have the plan of the call before.
@functools.lru_cache(maxsize=32)
def _native_plan(plan):
    fields = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    if isinstance(plan.footprint, Window):
        fields["footprint"] = (plan.footprint.rows, plan.footprint.cols, list(map(bool, plan.footprint.cells)))
    return _native.Plan(fields | {"measures": list(plan.measures)})


def on_host(window):
    """An array of a window's cells as NumPy's. CuPy's are copied: they are few bytes, and the host decides where windows lie."""
    if hasattr(window, "__cuda_array_interface__") and hasattr(window, "get"):
        window = window.get()
    return np.asarray(window)


class Window(typing.NamedTuple):
    """An array of the cells of a window, as a value that does not change: options that have it can be kept."""

    rows: int
    cols: int
    # 1 where a cell belongs to the window, row by row.
    cells: bytes

    @classmethod
    def of(cls, footprint):
        """The window that an array of numbers or booleans draws."""
        if isinstance(footprint, cls):
            return footprint
        footprint = on_host(footprint)
        if footprint.dtype.kind not in _KINDS:
            raise TypeError(f"footprint: its type is {footprint.dtype}; give numbers or booleans")
        if footprint.ndim != 2:
            raise ValueError(f"footprint: it has {footprint.ndim} dimensions, and a window has 2")
        return cls(*footprint.shape, (footprint != 0).tobytes())


# Values of these types do not change, and two that are equal are the same.
_PLAIN = frozenset((int, float, bool, str, type, type(None), Window))


def _kept(function):
    """The same function, which keeps what it has made of plain arguments: most calls are like the one before."""
    kept = functools.lru_cache(maxsize=32, typed=True)(function)

    @functools.wraps(function)
    def call(*args, **options):
        if isinstance(options.get("footprint"), np.ndarray):
            options["footprint"] = Window.of(options["footprint"])
        plain = _PLAIN.issuperset(map(type, args)) and _PLAIN.issuperset(map(type, options.values()))
        # A file of classes may have changed since.
        return (kept if plain and options.get("classes") is None else function)(*args, **options)

    return call


@_kept
def options(
    size=5,
    *,
    footprint=None,
    levels=None,
    classes=None,
    bins=None,
    binning="equal",
    nodata=None,
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
):
    """What all functions named `entropy` take beside their array and its mask, as a `Plan` and a `Meaning`."""
    plan = Plan.of(
        size=size,
        footprint=footprint,
        measure=measure,
        base=base,
        normalize=normalize,
        edge=edge,
        min_valid=min_valid,
        fill_nodata=fill_nodata,
        kernel=kernel,
        device=device,
        threads=threads,
        dtype=dtype,
    )
    meaning = Meaning.of(
        levels=levels, classes=classes, bins=bins, binning=binning, nodata=nodata, normalize=normalize
    )
    return plan, meaning


@dataclasses.dataclass(frozen=True)
class Meaning:
    """What numbers mean: how their classes are found, and which are no data."""

    levels: int | None
    # The text of a list of classes.
    listed: str | None
    # A number of bins, or the edges between them.
    bins: int | tuple | None
    quantile: bool
    nodata: object

    @classmethod
    def of(cls, *, levels, classes, bins, binning, nodata, normalize):
        if sum(value is not None for value in (levels, classes, bins)) > 1:
            raise ValueError("levels, classes and bins each say what the classes are; give one of them")
        if levels is not None:
            levels = whole_number("levels", levels)
            if not 1 <= levels <= _MOST_LEVELS:
                raise ValueError(f"levels={levels}: from 1 to {_MOST_LEVELS}")
        if binning not in ("equal", "quantile"):
            raise ValueError(f'binning={binning!r}: "equal" or "quantile"')
        if bins is not None:
            if np.ndim(bins) == 0:
                bins = whole_number("bins", bins)
                if not 1 <= bins <= _MOST_LEVELS:
                    raise ValueError(f"bins={bins}: from 1 to {_MOST_LEVELS}, or the edges between them")
            else:
                bins = _edges(bins)
        if normalize and levels is None and classes is None and bins is None:
            raise ValueError("normalize=True divides by the logarithm of the number of classes; give levels=, bins= or classes=")
        listed = None if classes is None else _list_of_classes(classes)
        return cls(levels, listed, bins, binning == "quantile", None if nodata is None else _nodata(nodata))

    def of_type(self, dtype):
        """The same for an array of this type, which the native module may be given as another."""
        if self.nodata is None or dtype.kind != "f" or dtype.itemsize != 2:
            return self
        with np.errstate(over="ignore"):
            nodata = float(np.float16(self.nodata))
        # Beyond the type's numbers is none of them, infinity neither.
        return self if math.isinf(nodata) else dataclasses.replace(self, nodata=nodata)

    def known(self, dtype):
        """The classes, where they are known without scanning the numbers, which are of this type; else None."""
        nodata = nodata_of_type(self.nodata, dtype)
        if self.listed is not None:
            return _native.Classes.of_list(self.listed, nodata)
        if isinstance(self.bins, tuple):
            # NaN may occur where numbers are real; as many classes as there are codes leave none for it, which is an error where it is met.
            occurs = nodata is not None or dtype.kind == "f" and len(self.bins) < _MOST_LEVELS - 1
            return _native.Classes.of_edges(list(self.bins), occurs, nodata)
        if self.levels is not None:
            return _native.Classes.of_levels(self.levels, nodata)
        return None

    def classes(self, array, mask, threads):
        """The classes of the numbers of `array`."""
        known = self.known(array.dtype)
        if known is not None:
            return known
        if self.bins is not None:
            return _native.Classes.binned(array, self.bins, self.quantile, mask, self.nodata, threads)
        return _native.Classes.survey(array, mask, self.nodata, threads)


def nodata_of_type(nodata, dtype):
    """`nodata`, unless no number of the type is it: then it takes no code."""
    if nodata is None or dtype.kind == "f":
        return nodata
    if dtype.kind == "b":
        return nodata if nodata in (0, 1) else None
    info = np.iinfo(dtype)
    return nodata if nodata == nodata and info.min <= nodata <= info.max and nodata == int(nodata) else None


def _nodata(value):
    """A value that is no data; None where it is beyond all numbers, so that no cell has it."""
    value = number("nodata", value)
    try:
        return value if isinstance(value, int) and abs(value) < 2**127 else float(value)
    except OverflowError:
        return None


def _edges(bins):
    """The edges between bins as floating-point numbers."""
    try:
        edges = np.asarray(bins)
        edges = edges.astype(np.float64) if edges.dtype.kind in _KINDS + "O" else None
    except (TypeError, ValueError):
        edges = None
    if edges is None or edges.ndim != 1:
        raise TypeError(f"bins={bins!r}: a number of bins, or the edges between them one after the other")
    return tuple(edges.tolist())


def _list_of_classes(classes):
    """The text of a list: from a file that has it, or made of a mapping from values to names."""
    if isinstance(classes, (str, os.PathLike)):
        with open(classes, encoding="utf-8") as file:
            return file.read()
    if not isinstance(classes, Mapping):
        raise TypeError(f"classes: the name of a file or a mapping from values to classes, not {type(classes).__name__}")
    if all(name is None for name in classes.values()):
        raise ValueError("classes: no value has a class; give a mapping from values to classes")
    numbers = {}
    lines = []
    for value, name in classes.items():
        # What classes are called makes no difference, only which values share one.
        label = "nodata" if name is None else f"class {numbers.setdefault(name, len(numbers))}"
        key = "*" if value == "*" else whole_number("classes", value)
        lines.append(f"{key},{label}")
    return "\n".join(lines)
