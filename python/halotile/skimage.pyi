from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halotile import _OnCuda

__all__ = ["entropy"]

_Out = TypeVar("_Out", bound=NDArray[Any])

# On a GPU: an array of the library that made the image.
@overload
def entropy(
    image: _OnCuda,
    footprint: NDArray[Any] | _OnCuda,
    out: Any = None,
    mask: Any = None,
    shift_x: int = 0,
    shift_y: int = 0,
    shift_z: int = 0,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> Any: ...

# In the host's memory.
@overload
def entropy(
    image: ArrayLike,
    footprint: NDArray[Any],
    out: None = None,
    mask: ArrayLike | None = None,
    shift_x: int = 0,
    shift_y: int = 0,
    shift_z: int = 0,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> NDArray[np.float64]: ...
@overload
def entropy(
    image: ArrayLike,
    footprint: NDArray[Any],
    out: _Out,
    mask: ArrayLike | None = None,
    shift_x: int = 0,
    shift_y: int = 0,
    shift_z: int = 0,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> _Out: ...
