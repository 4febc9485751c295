from typing import Any

import dask.array as da
from numpy.typing import ArrayLike

__all__ = ["entropy"]

# The other arguments are those of `halotile.entropy`, but for `out` and `progress`.
def entropy(array: da.Array, size: int = 5, *, mask: da.Array | ArrayLike | None = None, **options: Any) -> da.Array: ...
