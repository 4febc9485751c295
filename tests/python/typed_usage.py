"""Code that uses the Python package and has types: `cargo xtask python-test` has mypy look at it, strictly, and does not run it.

Each `assert_type` says what a call returns. Where a line says `type: ignore`, it is one that mypy has to refuse: it complains of remarks that it does not need.
"""

from typing import Any, assert_type

import dask.array as da
import numpy as np
import xarray as xr
from numpy.typing import NDArray

import halotile
import halotile.csgraph
import halotile.dask
import halotile.skimage
import halotile.xarray

Pixels = NDArray[np.uint8]
Real32 = NDArray[np.float32]
Real64 = NDArray[np.float64]


def entropies(cells: Pixels, mask: NDArray[np.bool_]) -> None:
    assert_type(halotile.entropy(cells), Real32)
    assert_type(halotile.entropy([[1, 2], [3, 4]], 3, base=2), Real32)
    assert_type(halotile.entropy(cells, dtype="float64"), Real64)
    assert_type(halotile.entropy(cells, dtype=np.float64), Real64)
    halotile.entropy(cells, 21, footprint="disk", bins=[0.5, 1.5], nodata=255, mask=mask, measure=["shannon", "hill:2"], edge="reflect")
    halotile.entropy(cells, classes={11: "water", 12: None, "*": "land"}, normalize=True, min_valid=0.5, device="cpu", threads=2)
    halotile.entropy(cells, out=np.empty(cells.shape, np.float32), progress=lambda done, cells: print(done / cells))


def refused(cells: Pixels, pieces: da.Array, landcover: xr.DataArray) -> None:
    halotile.entropy(cells, edge="wrap")  # type: ignore[call-overload]
    halotile.entropy(cells, "5")  # type: ignore[call-overload]
    halotile.entropy(cells, sise=5)  # type: ignore[call-overload]
    halotile.entropy(cells, dtype="int32")  # type: ignore[call-overload]
    halotile.entropy(landcover, mesure="shannon")  # type: ignore[call-overload]
    halotile.dask.entropy(pieces, mesure="shannon")  # type: ignore[call-arg]
    halotile.xarray.entropy(landcover, mesure="shannon")  # type: ignore[call-arg]
    halotile.xarray.entropy(landcover, edge="wrap")  # type: ignore[arg-type]
    halotile.dask.entropy(cells)  # type: ignore[arg-type]
    halotile.xarray.entropy(cells)  # type: ignore[arg-type]


def paths(weights: Real32) -> None:
    assert_type(halotile.apsp(weights, dtype="float64"), Real64)
    distances, before = halotile.apsp(weights, True, directed=False, weight="i32", dtype="int32")
    assert_type(distances, NDArray[np.int32])
    assert_type(before, NDArray[np.int32])
    assert_type(halotile.csgraph.floyd_warshall(weights), Real64)
    lengths, before = halotile.csgraph.floyd_warshall(weights, return_predecessors=True)
    assert_type(lengths, Real64)
    try:
        halotile.apsp([[0, -1], [0, 0]])
    except halotile.NegativeCycleError as error:
        assert_type(error.args, tuple[Any, ...])


def others(pieces: da.Array, landcover: xr.DataArray, image: Pixels, out: Real32) -> None:
    assert_type(halotile.entropy(landcover, 21, measure="simpson"), xr.DataArray)
    assert_type(halotile.entropy(pieces, 21, levels=16), da.Array)
    assert_type(halotile.dask.entropy(pieces, 21, levels=16, mask=pieces > 0), da.Array)
    assert_type(halotile.xarray.entropy(landcover, 21, dim=("y", "x")), xr.DataArray)
    assert_type(halotile.skimage.entropy(image, np.ones((3, 3)), shift_x=1), Real64)
    assert_type(halotile.skimage.entropy(image, np.ones((3, 3)), out), Real32)
    names: list[str] = [device["device"] for device in halotile.devices()]
    print(halotile.__version__, names)
