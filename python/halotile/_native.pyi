# What of the package is in Rust (python/src). It is private: only the package calls it.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str

class DeviceError(RuntimeError): ...
class NegativeCycleError(ValueError): ...

# The least and largest finite number, whether there are infinite ones, whether there are cells without data.
_Extent: TypeAlias = tuple[tuple[float, float] | None, bool, bool]

@final
class Classes:
    @staticmethod
    def survey(
        array: NDArray[Any], mask: NDArray[Any] | None = None, nodata: float | None = None, threads: int | None = None
    ) -> Classes: ...
    @staticmethod
    def of_values(values: Sequence[int], occurs: bool, nodata: float | None = None) -> Classes: ...
    @staticmethod
    def of_levels(levels: int, nodata: float | None = None) -> Classes: ...
    @staticmethod
    def of_list(text: str, nodata: float | None = None) -> Classes: ...
    @staticmethod
    def binned(
        array: NDArray[Any],
        bins: int,
        quantile: bool,
        mask: NDArray[Any] | None = None,
        nodata: float | None = None,
        threads: int | None = None,
    ) -> Classes: ...
    @staticmethod
    def of_edges(edges: Sequence[float], occurs: bool, nodata: float | None = None) -> Classes: ...
    @staticmethod
    def of_extents(extents: Sequence[_Extent], bins: int, nodata: float | None = None) -> Classes: ...
    @staticmethod
    def extent(
        array: NDArray[Any], mask: NDArray[Any] | None = None, nodata: float | None = None, threads: int | None = None
    ) -> _Extent: ...
    @property
    def levels(self) -> int: ...
    @property
    def nodata_occurs(self) -> bool: ...
    @property
    def values(self) -> list[int] | None: ...
    @property
    def edges(self) -> list[float] | None: ...
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Paths:
    @property
    def dtype(self) -> str: ...
    def distances(self, out: NDArray[np.int32] | NDArray[np.float32] | NDArray[np.float64]) -> None: ...
    def predecessors(self, out: NDArray[np.int32]) -> None: ...

def apsp(
    matrix: NDArray[Any] | None,
    edges: tuple[int, NDArray[np.uint64], NDArray[np.uint64], NDArray[Any]] | None,
    *,
    directed: bool,
    predecessors: bool,
    weight: str,
    device: str,
    threads: int | None,
) -> tuple[Paths, dict[str, Any]]: ...
@final
class Plan:
    def __new__(cls, options: dict[str, Any]) -> Plan: ...
    @property
    def window(self) -> tuple[int, int, int]: ...

def entropy(
    array: NDArray[Any],
    outs: Sequence[NDArray[np.float32] | NDArray[np.float64]],
    classes: Classes,
    mask: NDArray[Any] | None,
    plan: Plan,
    whole: tuple[int, int] | None,
    progress: Callable[[int, int], object] | None,
) -> dict[str, Any]: ...
def admit(vertices: int, results: int, *, predecessors: bool, weight: str, device: str) -> None: ...
def cores() -> int: ...
def gpus() -> int: ...
def devices() -> tuple[list[dict[str, Any]], str | None]: ...

# An array on a GPU: address, shape, strides in bytes, typestr, gpu, streams.
_Remote: TypeAlias = dict[str, Any]

def survey_on_gpu(array: _Remote, mask: _Remote | None, nodata: float | None) -> Classes: ...
def bins_on_gpu(array: _Remote, bins: int, quantile: bool, mask: _Remote | None, nodata: float | None) -> Classes: ...
def entropy_on_gpu(
    array: _Remote,
    outs: Sequence[_Remote],
    classes: Classes | None,
    mask: _Remote | None,
    nodata: int | None,
    plan: Plan,
    whole: tuple[int, int] | None,
    progress: Callable[[int, int], object] | None,
) -> dict[str, Any]: ...
def of_dlpack(capsule: Any) -> dict[str, Any]: ...
