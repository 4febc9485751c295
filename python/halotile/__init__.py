"""Moving-window entropy of 2-D arrays and all-pairs shortest paths, on CPUs and NVIDIA GPUs.

    >>> import numpy as np
    >>> import halotile
    >>> cells = np.array([[1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7]])
    >>> halotile.entropy(cells, dtype="float64").round(5)[0].tolist()
    [1.52296, 1.70455, 1.70455, 1.52296]

============================  =================================================================
`entropy`                     local entropy and other measures of diversity
`apsp`                        the distance from every vertex of a graph to every other
`devices`                     what ``device=`` can be on this machine
`halotile.xarray`             the same of DataArrays, which keep their coordinates
`halotile.dask`               the same of Dask's arrays, piece by piece, also on a cluster
`halotile.skimage`            scikit-image's ``filters.rank.entropy``
`halotile.csgraph`            scipy's ``sparse.csgraph.floyd_warshall``
============================  =================================================================

The four modules at the end import the packages that they are for, and so are loaded when they are first used. `halotile.xarray` also makes
`entropy` a method of DataArrays, from when it is loaded on: ``import halotile.xarray``.
"""

import importlib.util
import sys

from halotile._apsp import apsp
from halotile._devices import devices
from halotile._entropy import entropy
from halotile._native import DeviceError, NegativeCycleError, __version__

__all__ = ["DeviceError", "NegativeCycleError", "__version__", "apsp", "devices", "entropy"]

# Modules that are loaded on first use, and the packages that they are for.
_MODULES = {"csgraph": "scipy", "dask": "dask", "skimage": "skimage", "xarray": "xarray"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"halotile.{name}")
    raise AttributeError(f"module 'halotile' has no attribute '{name}'", name=name, obj=sys.modules[__name__])


def __dir__():
    # Tools look at everything that is listed: what cannot be loaded is not.
    there = (name for name, package in _MODULES.items() if importlib.util.find_spec(package) is not None)
    return sorted({*globals(), *there})
