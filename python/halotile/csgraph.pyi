from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
# scipy has no types of its own; those of scipy-stubs are taken where they are.
from scipy.sparse.csgraph import NegativeCycleError as NegativeCycleError  # type: ignore[import-untyped, unused-ignore]

from halotile import _Sparse

__all__ = ["NegativeCycleError", "floyd_warshall"]

@overload
def floyd_warshall(
    csgraph: ArrayLike | _Sparse,
    directed: bool = True,
    return_predecessors: Literal[False] = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> NDArray[np.float64]: ...
@overload
def floyd_warshall(
    csgraph: ArrayLike | _Sparse,
    directed: bool = True,
    *,
    return_predecessors: Literal[True],
    unweighted: bool = False,
    overwrite: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
@overload
def floyd_warshall(
    csgraph: ArrayLike | _Sparse,
    directed: bool,
    return_predecessors: Literal[True],
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...

# Whether predecessors are asked for is not known before it runs.
@overload
def floyd_warshall(
    csgraph: ArrayLike | _Sparse,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.int32]]: ...
