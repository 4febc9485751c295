# What the names mean is said where they are defined, in the modules beside this file.

from collections.abc import Callable, Hashable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, overload, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halotile import csgraph as csgraph
from halotile import dask as dask
from halotile import skimage as skimage
from halotile import xarray as xarray
from halotile._native import DeviceError as DeviceError
from halotile._native import NegativeCycleError as NegativeCycleError
from halotile._native import __version__ as __version__

__all__ = ["DeviceError", "NegativeCycleError", "__version__", "apsp", "devices", "entropy"]

_Footprint: TypeAlias = Literal["disk", "square"] | ArrayLike
_Classes: TypeAlias = Mapping[Any, Hashable] | str | PathLike[str]
_Bins: TypeAlias = int | Sequence[float] | NDArray[np.floating[Any] | np.integer[Any]]
_Binning: TypeAlias = Literal["equal", "quantile"]
_Measures: TypeAlias = str | Sequence[str]
_Base: TypeAlias = Literal["e", "2", "10", 2, 10] | float
_Edge: TypeAlias = Literal["shrink", "nodata", "symmetric", "reflect", "replicate"]
# The type of results by name or as NumPy has it. NumPy's class float64 is a float, so that mypy takes it and float32 for types that one class could be
# both of; hence the remarks on overloads below. No class is.
_F32: TypeAlias = Literal["float32", "f4"] | type[np.float32] | np.dtype[np.float32]
_F64: TypeAlias = Literal["float64", "f8"] | type[np.float64] | np.dtype[np.float64]
_I32: TypeAlias = Literal["int32", "i4"] | type[np.int32] | np.dtype[np.int32]

# xarray's DataArray and Dask's arrays by what no others have, without a need of the packages.
@type_check_only
class _DataArray(Protocol):
    def to_unstacked_dataset(self, dim: Hashable, level: int | Hashable = 0) -> Any: ...

@type_check_only
class _DaskArray(Protocol):
    def compute_chunk_sizes(self) -> Any: ...
    def to_zarr(self, *args: Any, **kwargs: Any) -> Any: ...

_Labelled = TypeVar("_Labelled", bound=_DataArray)
_Lazy = TypeVar("_Lazy", bound=_DaskArray)

# An array that lies on a GPU, as CuPy and Numba show it.
@type_check_only
class _OnCuda(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

# scipy's sparse matrices and arrays, without a need of scipy.
@type_check_only
class _Sparse(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nnz(self) -> int: ...
    def tocoo(self) -> Any: ...
    def tocsr(self) -> Any: ...

@type_check_only
class _Device(TypedDict, total=False):
    device: str
    threads: int
    cuda: str | None
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory: int
    memory_free: int
    error: str

# As `halotile.xarray.entropy` and `halotile.dask.entropy`.
@overload
def entropy(
    array: _Labelled,
    size: int = 5,
    *,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
    nodata: float | None = None,
    mask: Any = None,
    measure: _Measures = "shannon",
    base: _Base = "e",
    normalize: bool = False,
    edge: _Edge = "shrink",
    min_valid: float = 0.0,
    fill_nodata: bool = False,
    device: str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dtype: _F32 | _F64 = "float32",
) -> _Labelled: ...
@overload
def entropy(
    array: _Lazy,
    size: int = 5,
    *,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
    nodata: float | None = None,
    mask: Any = None,
    measure: _Measures = "shannon",
    base: _Base = "e",
    normalize: bool = False,
    edge: _Edge = "shrink",
    min_valid: float = 0.0,
    fill_nodata: bool = False,
    device: str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dtype: _F32 | _F64 = "float32",
) -> _Lazy: ...

# On a GPU: an array of the library that made the one given.
@overload
def entropy(
    array: _OnCuda,
    size: int = 5,
    *,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
    nodata: float | None = None,
    mask: Any = None,
    measure: _Measures = "shannon",
    base: _Base = "e",
    normalize: bool = False,
    edge: _Edge = "shrink",
    min_valid: float = 0.0,
    fill_nodata: bool = False,
    device: str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dtype: _F32 | _F64 = "float32",
    out: Any = None,
    progress: Callable[[int, int], object] | None = None,
) -> Any: ...

# In the host's memory.
@overload
def entropy(  # type: ignore[overload-overlap]
    array: ArrayLike,
    size: int = 5,
    *,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
    nodata: float | None = None,
    mask: ArrayLike | None = None,
    measure: _Measures = "shannon",
    base: _Base = "e",
    normalize: bool = False,
    edge: _Edge = "shrink",
    min_valid: float = 0.0,
    fill_nodata: bool = False,
    device: str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dtype: _F64,
    out: NDArray[np.float64] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[np.float64]: ...
@overload
def entropy(
    array: ArrayLike,
    size: int = 5,
    *,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
    nodata: float | None = None,
    mask: ArrayLike | None = None,
    measure: _Measures = "shannon",
    base: _Base = "e",
    normalize: bool = False,
    edge: _Edge = "shrink",
    min_valid: float = 0.0,
    fill_nodata: bool = False,
    device: str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dtype: _F32 = "float32",
    out: NDArray[np.float32] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[np.float32]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[False] = False,
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: None = None,
) -> NDArray[np.int32] | NDArray[np.float32]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[True],
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: None = None,
) -> tuple[NDArray[np.int32] | NDArray[np.float32], NDArray[np.int32]]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[False] = False,
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _I32,
) -> NDArray[np.int32]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[True],
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _I32,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
@overload
def apsp(  # type: ignore[overload-overlap]
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[False] = False,
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _F64,
) -> NDArray[np.float64]: ...
@overload
def apsp(  # type: ignore[overload-overlap]
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[True],
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _F64,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[False] = False,
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _F32,
) -> NDArray[np.float32]: ...
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: Literal[True],
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _F32,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...

# What is asked for is not known before it runs.
@overload
def apsp(
    graph: ArrayLike | _Sparse,
    return_predecessors: bool = False,
    *,
    directed: bool = True,
    weight: Literal["auto", "i32", "f32"] = "auto",
    device: str = "auto",
    threads: int | None = None,
    dtype: _I32 | _F32 | _F64 | None = None,
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.int32]]: ...
def devices() -> list[_Device]: ...
def __dir__() -> list[str]: ...
