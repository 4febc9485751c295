from collections.abc import Hashable

import xarray as xr
from numpy.typing import ArrayLike

from halotile import _Base, _Binning, _Bins, _Classes, _Edge, _F32, _F64, _Footprint, _Measures

__all__ = ["entropy"]

def entropy(
    array: xr.DataArray,
    size: int = 5,
    *,
    dim: tuple[Hashable, Hashable] | None = None,
    mask: xr.DataArray | ArrayLike | None = None,
    nodata: float | None = None,
    footprint: _Footprint | None = None,
    levels: int | None = None,
    classes: _Classes | None = None,
    bins: _Bins | None = None,
    binning: _Binning = "equal",
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
) -> xr.DataArray: ...
def mask_of(mask: xr.DataArray) -> ArrayLike: ...
