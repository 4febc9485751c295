"""Entropy of Dask's arrays: chunk by chunk, in memory that chunks set the bounds of, on threads, processes or a cluster.

    import halotile.dask
    h = halotile.dask.entropy(landcover, size=21, levels=16)    # landcover: a dask.array
    h.to_zarr("entropy.zarr")

How it goes:

    survey     unless `levels`, `classes` or edges say it: a pass over the chunks finds what occurs, as one small object
    overlap    every chunk with the cells around it that its windows see, none beyond the edge of the array
    block      the same function as for NumPy's arrays, told of the whole array's shape and classes; then the halo is cut off

The classes of all chunks are those of the whole array, and so is the unit of the sums: the result is that of `halotile.entropy` on the whole, bit
for bit, whatever the chunks. The survey is computed at once, as the divisions of a data frame are by `set_index`: in one graph with the second
pass it would have all chunks wait in memory for what they hold together.

On workers of a cluster ``device="auto"`` and ``"cuda"`` take one GPU a worker: the first that ``CUDA_VISIBLE_DEVICES`` shows, or one that no other
worker has. A task that dies with its worker is one that another does again.
"""

import dataclasses

import dask
import dask.array as da
import numpy as np
from dask.array.overlap import overlap

from halotile import _arguments, _native, _workers
from halotile._entropy import compute

__all__ = ["entropy"]

# What np.pad calls the edges that go on.
_PADDED = {"symmetric": "symmetric", "reflect": "reflect", "replicate": "edge"}

# Surveys that are put together at a time.
_TOGETHER = 32


@_arguments.public("halotile.dask.entropy")
def entropy(array, size=5, *, mask=None, **options):
    """Moving-window entropy of a Dask array, chunk by chunk.

    Parameters
    ----------
    array : dask.array.Array, shape (rows, cols)
        Chunks of any shape; those smaller than half a window are put together with others. Chunks may lie on a GPU (CuPy).
    size : int, default 5
        The window is `size` x `size` cells.
    mask : dask.array.Array or array_like, shape (rows, cols), optional
        Cells where it is 0, False or NaN have no data.
    footprint, levels, classes, bins, binning, nodata
    measure, base, normalize, edge, min_valid, fill_nodata
    device, kernel, threads, dtype
        As for `halotile.entropy`. Bins that are equally full need all cells at once; give the edges between them instead.

    Returns
    -------
    dask.array.Array, shape (rows, cols) or (measures, rows, cols)
        Not computed yet, but for the pass that finds the classes. Give `levels` (or `classes`, or edges) where they are known, and there is no
        such pass.

    Raises
    ------
    TypeError, ValueError
        As for `halotile.entropy`; cells that are no class are found when they are met, and named by row and column in their block.

    Examples
    --------
    >>> import dask.array as da
    >>> import halotile.dask
    >>> cells = da.from_array([[1, 1, 2, 2], [1, 1, 2, 2], [3, 1, 2, 2]], chunks=(2, 2))
    >>> h = halotile.dask.entropy(cells, 3, base=2, dtype="float64")
    >>> h.compute()[2].round(3).tolist()
    [0.811, 1.459, 0.918, 0.0]
    """
    plan, meaning = _arguments.options(size, **options)
    if not isinstance(array, da.Array):
        raise TypeError(f"array: a dask array, not {type(array).__name__}; halotile.entropy takes others")
    _arguments.check_grid(array)
    meaning = meaning.of_type(array.dtype)
    if np.isnan(array.shape).any():
        raise ValueError("array: its chunks have unknown sizes; call compute_chunk_sizes() first")
    if mask is not None:
        mask = _arguments.mask_of(mask)
        mask = mask if isinstance(mask, da.Array) else np.asarray(mask)
        _arguments.check_grid(mask, "mask")
        _arguments.check_mask(mask, array)
        mask = mask.rechunk(array.chunks) if isinstance(mask, da.Array) else da.from_array(mask, chunks=array.chunks)
    if 0 in array.shape:
        shape = array.shape if plan.single else (len(plan.measures), *array.shape)
        return da.zeros(shape, dtype=plan.dtype)

    classes = meaning.known(array.dtype)
    if classes is None:
        classes = _surveyed(array, mask, meaning)

    depth = dict(enumerate(plan.radius))
    seen = [overlap(each, depth, "none") for each in (array, mask) if each is not None]
    # Overlapping may have put chunks together.
    own = tuple(
        tuple(length - radius * ((i > 0) + (i < len(lengths) - 1)) for i, length in enumerate(lengths))
        for lengths, radius in zip(seen[0].chunks, plan.radius)
    )
    planes = () if plan.single else ((len(plan.measures),),)
    # What np.ma masks is NaN in a plain array.
    meta = (array._meta.data if np.ma.isMaskedArray(array._meta) else array._meta).astype(plan.dtype)
    return da.map_blocks(
        _block,
        *seen,
        plan=plan,
        classes=classes,
        shape=array.shape,
        starts=tuple(tuple(np.cumsum((0, *lengths)).tolist()) for lengths in own),
        chunks=(*planes, *own),
        new_axis=None if plan.single else 0,
        dtype=plan.dtype,
        meta=meta if plan.single else meta[np.newaxis],
        name="halotile-entropy-" + dask.base.tokenize(array, mask, plan, meaning),
    )


def _surveyed(array, mask, meaning):
    """The classes of all chunks."""
    blocks = array.to_delayed().ravel()
    masks = [None] * len(blocks) if mask is None else mask.to_delayed().ravel()
    if meaning.bins is None:
        look, join, finish = _values, _values_together, _classes_of_values
    elif meaning.quantile:
        raise NotImplementedError(
            'binning="quantile" needs all cells at once; give the edges between the bins as bins=, for instance '
            "from dask.array.percentile"
        )
    else:
        look, join, finish = _extent, _extents_together, _classes_of_extents
    found = [dask.delayed(look, pure=True)(block, over, meaning) for block, over in zip(blocks, masks)]
    while len(found) > 1:
        found = [
            dask.delayed(join, pure=True)(found[i : i + _TOGETHER]) for i in range(0, len(found), _TOGETHER)
        ]
    return finish(found[0].compute(), meaning)


def _on_host(block, mask):
    """A chunk and its mask as NumPy arrays; those on a GPU are copied."""
    block, mask = (each.get() if hasattr(each, "get") else each for each in (block, mask))
    return _arguments.grid_and_mask(block, mask)


def _values(block, mask, meaning):
    block, mask = _on_host(block, mask)
    if block.size == 0:
        return set(), False
    classes = _native.Classes.survey(block, mask, meaning.nodata)
    return set(classes.values), classes.nodata_occurs


def _values_together(found):
    return set().union(*(values for values, _ in found)), any(nodata for _, nodata in found)


def _classes_of_values(found, meaning):
    values, nodata = found
    return _native.Classes.of_values(sorted(values), nodata, meaning.nodata)


def _extent(block, mask, meaning):
    block, mask = _on_host(block, mask)
    return [_native.Classes.extent(block, mask, meaning.nodata)] if block.size else []


def _extents_together(found):
    return sum(found, [])


def _classes_of_extents(found, meaning):
    return _native.Classes.of_extents(found, meaning.bins, meaning.nodata)


def _block(block, mask=None, *, plan, classes, shape, starts, block_id):
    """The results of one chunk. `block` is the chunk with what its windows see; `starts` are the rows and columns at which chunks begin."""
    if np.ma.isMaskedArray(block) or np.ma.isMaskedArray(mask):
        # What is added beyond the edge has no masks.
        block, mask = _arguments.grid_and_mask(block, mask)
    place = block_id[-2:]
    first = [starts[axis][i] for axis, i in enumerate(place)]
    end = [starts[axis][i + 1] for axis, i in enumerate(place)]
    # How many cells of the halo there are above and to the left of the chunk.
    halo = [min(radius, at) for radius, at in zip(plan.radius, first)]
    whole, seen, inner = shape, (block, mask), plan
    origin = tuple(at - cells for at, cells in zip(first, halo))
    if plan.edge in _PADDED:
        beyond = [
            (radius if at == 0 else 0, radius if to == all else 0)
            for radius, at, to, all in zip(plan.radius, first, end, shape)
        ]
        block = np.pad(block, beyond, mode=_PADDED[plan.edge])
        mask = None if mask is None else np.pad(mask, beyond, mode=_PADDED[plan.edge])
        halo = [cells + before for cells, (before, _) in zip(halo, beyond)]
        whole = tuple(all + 2 * radius for all, radius in zip(shape, plan.radius))
        plan = dataclasses.replace(plan, edge="shrink")
    if plan.device in ("auto", "cuda"):
        gpu = _workers.gpu()
        device = f"cuda:{gpu}" if plan.device == "cuda" else "auto"
        plan = dataclasses.replace(plan, device=device, gpu=gpu)
    try:
        result = compute(block, mask, plan, None, classes=classes, whole=whole)
    except ValueError as error:
        try:
            # Once more without what was added beyond the edge, where the place named may lie.
            compute(*seen, dataclasses.replace(inner, edge="shrink"), None, classes=classes, whole=shape)
        except ValueError as inside:
            error = inside
        raise ValueError(f"{error} (rows and columns counted from {origin} of the whole array)") from error
    own = tuple(slice(cells, cells + to - at) for cells, at, to in zip(halo, first, end))
    return result[(..., *own)]
