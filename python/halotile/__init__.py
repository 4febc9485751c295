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

The four modules at the end import the packages that they are for, and are imported by their names: ``import halotile.dask``.
"""

from halotile._apsp import apsp
from halotile._devices import devices
from halotile._entropy import entropy
from halotile._native import DeviceError, NegativeCycleError, __version__

__all__ = ["DeviceError", "NegativeCycleError", "__version__", "apsp", "devices", "entropy"]
