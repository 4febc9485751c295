from collections.abc import Hashable
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

__all__ = ["entropy"]

# The other arguments are those of `halotile.entropy`, but for `out` and `progress`.
def entropy(
    array: xr.DataArray,
    size: int = 5,
    *,
    dim: tuple[Hashable, Hashable] | None = None,
    mask: xr.DataArray | ArrayLike | None = None,
    nodata: float | None = None,
    **options: Any,
) -> xr.DataArray: ...
