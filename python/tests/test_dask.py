"""`halotile.dask`: results of chunks of every kind against `halotile.entropy` on the whole, bit for bit; what is computed when; what is refused; and a
cluster of processes one of which is killed while it works.
"""

import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import halotile

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import halotile.dask

# Of 23 rows and 31 columns.
CHUNKS = {
    "one": (23, 31),
    "even": (8, 8),
    "uneven": ((1, 9, 2, 11), (7, 1, 1, 20, 2)),
    "rows": (1, 31),
    "columns": (23, 1),
    "cells": (2, 1),
    "ends": ((1, 21, 1), (1, 29, 1)),
}
EDGES = ["shrink", "nodata", "symmetric", "reflect", "replicate"]
# Wider than high, and no two of its symmetries are the same.
HOOK = np.array([[1, 1, 0, 0, 0, 1, 1], [1, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0]])


@pytest.fixture
def cells(rng):
    return rng.integers(0, 7, (23, 31)).astype(np.uint8)


@pytest.fixture
def mask(rng):
    return rng.random((23, 31)) < 0.8


def same(got, expected):
    """Equal bit for bit, but for the bits of NaN."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    bits = f"u{got.itemsize}"
    both = np.isnan(got) & np.isnan(expected)
    assert (both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(expected).view(bits))).all()


def check(cells, chunks, size=5, *, mask=None, scheduler="synchronous", masks=None, **options):
    """The result by chunks is that of the whole; what Dask knows before it computes is true."""
    lazy = halotile.dask.entropy(da.from_array(cells, chunks=chunks), size, mask=mask if masks is None else da.from_array(mask, chunks=masks), **options)
    got = lazy.compute(scheduler=scheduler)
    assert (lazy.shape, lazy.dtype) == (got.shape, got.dtype)
    same(got, halotile.entropy(cells, size, mask=mask, **options))
    return lazy


# Chunks of every kind.


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("chunks", CHUNKS)
def test_chunks_make_no_difference(cells, chunks, edge):
    check(cells, CHUNKS[chunks], 7, edge=edge, nodata=3)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("size", [1, 3, 21, 45])
def test_windows_may_be_larger_than_chunks_and_than_the_array(cells, size, edge):
    check(cells, CHUNKS["uneven"], size, edge=edge)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("footprint", ["disk", HOOK, HOOK.T, [[1] * 9], [[1]] * 9], ids=["disk", "hook", "upright", "flat", "high"])
def test_windows_of_any_shape(cells, footprint, edge):
    check(cells, CHUNKS["uneven"], 7, footprint=footprint, edge=edge)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("measure", ["shannon", "simpson", "richness", "evenness", "renyi:0.5", "hill:2", ["hill:1", "shannon", "renyi:inf"], ["simpson"]], ids=str)
def test_every_measure_and_type(cells, measure, dtype):
    lazy = check(cells, CHUNKS["uneven"], measure=measure, dtype=dtype, nodata=0)
    assert lazy.ndim == (2 if isinstance(measure, str) else 3)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("masks", [None, CHUNKS["uneven"], CHUNKS["rows"]], ids=["numpy", "same", "other"])
def test_masks(cells, mask, masks, edge):
    check(cells, CHUNKS["uneven"], mask=mask, masks=masks, edge=edge, measure=["shannon", "richness"])


@pytest.mark.parametrize("how", [{"min_valid": 0.7}, {"fill_nodata": True}, {"min_valid": 0.7, "fill_nodata": True, "edge": "reflect"}], ids=str)
def test_windows_with_little_in_them(cells, mask, how):
    check(cells, CHUNKS["uneven"], mask=mask, nodata=2, **how)


@pytest.mark.parametrize(
    "how",
    [
        {"levels": 7},
        {"levels": 256, "normalize": True},
        {"classes": {0: "a", 1: "b", 2: "a", 3: None, "*": "c"}, "normalize": True},
        {"bins": 3},
        {"bins": 4, "normalize": True, "base": 2},
        {"bins": [1.5, 2, 5.25]},
        {"base": 10},
    ],
    ids=str,
)
def test_classes_are_those_of_the_whole_array(cells, how):
    for nodata in (None, 1):
        check(cells, CHUNKS["uneven"], nodata=nodata, **how)


def test_classes_that_occur_in_one_chunk_only(rng):
    # The survey puts together more chunks than it does at a time.
    cells = np.arange(12 * 20).reshape(12, 20) * 1000 - 7
    check(cells, (1, 3), 5, dtype="float64")


@pytest.mark.parametrize("bins", [5, [-1.0, 0.0, 0.5]], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_real_numbers_in_bins(rng, dtype, bins):
    cells = rng.normal(size=(23, 31)).astype(dtype)
    cells[3, 4], cells[0, 0], cells[22, 30] = np.nan, np.inf, -np.inf
    check(cells, CHUNKS["uneven"], bins=bins)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4", ">i2"])
def test_every_type_of_numbers(cells, dtype):
    check((cells % 2 if dtype == "?" else cells).astype(dtype), CHUNKS["uneven"])


def test_no_data_of_a_half_is_the_nearest_half(rng):
    cells = rng.choice([0.1, 1.0, 2.0], (23, 31)).astype("f2")
    lazy = check(cells, CHUNKS["uneven"], bins=[0.0, 0.5, 1.5], nodata=0.1)
    assert np.isnan(lazy.compute(scheduler="synchronous")[cells == np.float16(0.1)]).all()


@pytest.mark.parametrize("bins", [None, 3], ids=str)
@pytest.mark.parametrize("edge", ["shrink", "symmetric"])
def test_what_a_masked_array_masks_has_no_data(cells, mask, rng, edge, bins):
    # Under its own mask lies what would be classes, and bins, of their own.
    cells[~mask] = 200
    over = rng.random(cells.shape) < 0.9
    # The whole, whatever Dask makes of it, is of masked arrays too.
    check(np.ma.array(cells, mask=~mask), CHUNKS["uneven"], edge=edge, bins=bins)
    lazy = check(np.ma.array(cells, mask=~mask), CHUNKS["uneven"], mask=over, edge=edge, bins=bins)
    assert not np.ma.isMaskedArray(lazy._meta)
    # Chunks of which none, or all, is masked.
    cells = np.ma.array(cells % 7, mask=np.zeros(cells.shape, bool))
    cells.mask[:10, :9] = True
    check(cells, (5, 5), edge=edge, bins=bins)


def test_columns_that_lie_together(cells):
    check(np.asfortranarray(cells), CHUNKS["uneven"], edge="symmetric", measure=["shannon", "simpson"])


def test_chunks_without_any_data(cells):
    cells[:10] = 9
    lazy = check(cells, (5, 5), nodata=9)
    assert np.isnan(lazy.compute(scheduler="synchronous")[:5]).all()


def test_an_array_of_nothing_but_nodata(cells):
    assert np.isnan(check(np.full_like(cells, 9), (5, 5), nodata=9).compute(scheduler="synchronous")).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("measure", ["shannon", ["shannon", "simpson"]], ids=str)
def test_no_cells(shape, measure):
    check(np.empty(shape, np.uint8), -1, measure=measure)


def test_threads(rng):
    cells = rng.integers(0, 16, (300, 300)).astype(np.uint8)
    check(cells, (40, 70), 9, scheduler="threads", edge="symmetric", measure=["shannon", "hill:2"])


# What is computed when.


def counting(cells):
    """`cells` in 12 chunks, and a list that grows by one whenever a chunk is computed."""
    seen = []

    def note(block):
        seen.append(block.shape)
        return block

    # With a meta, or Dask would try the function out.
    return da.from_array(cells, chunks=(8, 8)).map_blocks(note, dtype=cells.dtype, meta=np.empty((0, 0), cells.dtype)), seen


@pytest.mark.parametrize("how", [{"levels": 7}, {"classes": {"*": 1, 2: 2}}, {"bins": [1, 2]}], ids=str)
def test_nothing_is_computed_before_its_time(cells, how):
    counted, seen = counting(cells)
    lazy = halotile.dask.entropy(counted, mask=counted > 0, **how)
    assert not seen
    same(lazy.compute(scheduler="synchronous"), halotile.entropy(cells, mask=cells > 0, **how))
    assert len(seen) == 12


def test_only_chunks_that_are_needed_are_computed(cells):
    counted, seen = counting(cells)
    corner = halotile.dask.entropy(counted, levels=7)[:8, :8]
    same(corner.compute(scheduler="synchronous"), halotile.entropy(cells)[:8, :8])
    assert len(seen) == 4


def test_the_pass_that_finds_classes_sees_every_chunk_once(cells):
    counted, seen = counting(cells)
    with dask.config.set(scheduler="synchronous"):
        halotile.dask.entropy(counted)
    assert len(seen) == 12


def test_names_tell_what_is_computed(cells, mask):
    def keys(cells=cells, **options):
        return halotile.dask.entropy(da.from_array(cells, chunks=(8, 8)), **options).__dask_keys__()

    assert keys() == keys()
    assert keys(mask=mask, measure=["hill:2"]) == keys(mask=mask.copy(), measure=("hill:2",))
    others = [{}, {"size": 7}, {"mask": mask}, {"mask": ~mask}, {"nodata": 3}, {"edge": "reflect"}, {"levels": 7}, {"bins": 2}, {"dtype": "float64"}]
    assert len({str(keys(**options)) for options in [*others, {"cells": cells + 1}]}) == len(others) + 1


def test_results_are_arrays_of_dask_s_like_others(cells):
    lazy = halotile.dask.entropy(da.from_array(cells, chunks=(8, 8)), measure=["shannon", "simpson"], edge="nodata")
    whole = halotile.entropy(cells, measure=["shannon", "simpson"], edge="nodata")
    got = da.nanmax(lazy.rechunk((2, 23, 31)).transpose(0, 2, 1), axis=(1, 2)).compute(scheduler="synchronous")
    same(got, np.nanmax(whole, axis=(1, 2)))


# What is refused.


@pytest.mark.parametrize("array", [np.zeros((3, 3)), [[1, 2]], None])
def test_arrays_that_are_not_dask_s(array):
    with pytest.raises(TypeError, match="array: a dask array, not .*; halotile.entropy takes others"):
        halotile.dask.entropy(array)


def test_chunks_of_unknown_sizes(cells):
    array = da.from_array(cells, chunks=(8, 8))
    with pytest.raises(ValueError, match="unknown sizes; call compute_chunk_sizes"):
        halotile.dask.entropy(array[array[:, 0] > 2])


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4)])
def test_arrays_of_other_than_two_dimensions(shape):
    with pytest.raises(ValueError, match=f"array: it has {len(shape)} dimensions"):
        halotile.dask.entropy(da.zeros(shape))


def test_arrays_of_no_numbers():
    with pytest.raises(TypeError, match="array: its type is complex128"):
        halotile.dask.entropy(da.zeros((3, 3), dtype=complex))


@pytest.mark.parametrize("mask", [np.ones((3, 4)), da.ones((3, 4))], ids=["numpy", "dask"])
def test_masks_of_another_shape(cells, mask):
    with pytest.raises(ValueError, match=r"mask: its shape is \(3, 4\), and the array's \(23, 31\)"):
        halotile.dask.entropy(da.from_array(cells), mask=mask)


def test_bins_that_are_equally_full(cells):
    with pytest.raises(NotImplementedError, match="quantile.*needs all cells at once; give the edges"):
        halotile.dask.entropy(da.from_array(cells, chunks=8), bins=3, binning="quantile")


@pytest.mark.parametrize("how", [{"size": 4}, {"edge": "wrap"}, {"measure": "foo"}, {"device": "gpu"}, {"base": 3}], ids=str)
def test_arguments_are_looked_at_before_anything_is_computed(cells, how):
    with pytest.raises(ValueError, match=next(iter(how))):
        halotile.dask.entropy(da.from_array(cells, chunks=8), **{"levels": 7, **how})


@pytest.mark.parametrize("name", ["out", "progress", "sise"])
def test_arguments_that_there_are_not(cells, name):
    with pytest.raises(TypeError, match=name):
        halotile.dask.entropy(da.from_array(cells, chunks=8), levels=7, **{name: None})


def place_of(message):
    """The row and column in the whole array that an error names."""
    row, column, first_row, first_column = map(int, re.search(r"^row (-?\d+), column (-?\d+): .* counted from \((-?\d+), (-?\d+)\)", message).groups())
    return row + first_row, column + first_column


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("place", [(0, 0), (22, 30), (13, 17), (16, 8)])
def test_values_that_are_no_classes_are_named_by_their_place(cells, place, edge):
    cells[place] = 99
    lazy = halotile.dask.entropy(da.from_array(cells, chunks=(8, 8)), levels=7, edge=edge)
    with pytest.raises(ValueError, match="99") as caught:
        lazy.compute(scheduler="synchronous")
    assert place_of(str(caught.value)) == place


def test_more_classes_than_there_may_be():
    array = da.from_array(np.arange(90_000).reshape(300, 300), chunks=(150, 100))
    with pytest.raises(ValueError, match="65536"):
        halotile.dask.entropy(array)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_classes_than_bytes(rng, dtype):
    # Chunks of some hundred classes, and of one; a window that sees more than bytes have codes for.
    cells = (rng.integers(0, 30, (40, 60)) + 40 * (np.arange(60) // 3)).astype("u2")
    cells[:20, :15] = 5
    for size in (5, 31):
        array = da.from_array(cells, chunks=(20, 15))
        same(halotile.dask.entropy(array, size, dtype=dtype).compute(), halotile.entropy(cells, size, dtype=dtype))


# A cluster.


# In a process of its own: workers that are spawned import the main module anew. The client's process reports, line by line.
KILLED = """
    import os, signal, time

    import dask.array as da
    import numpy as np
    from dask.distributed import Client, LocalCluster

    import halotile.dask

    def slow(block):
        time.sleep(0.1)
        return block

    if __name__ == "__main__":
        cells = np.random.default_rng(1).integers(0, 9, (180, 210)).astype(np.uint8)
        options = {"size": 9, "edge": "reflect", "measure": ["shannon", "simpson"]}
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            array = da.from_array(cells, chunks=(30, 30)).map_blocks(slow, dtype=cells.dtype)
            lazy = halotile.dask.entropy(array, levels=9, **options)
            before = client.run(os.getpid)
            future = client.compute(lazy)
            # Until it has results, which are lost with it, and others are still to be computed: 84 tasks, half a task in 0.1 s.
            address, victim = next(iter(before.items()))
            while len(client.has_what()[address]) < 4:
                time.sleep(0.01)
            print("before:", future.status)
            os.kill(victim, signal.SIGKILL)
            got = future.result(timeout=60)
            deaths = [event for _, event in client.get_events("all") if event.get("action") == "remove-worker"]
            print("lost:", [event.get("worker") for event in deaths] == [address] or deaths)
            after = client.run(os.getpid)
            print("gone:", victim not in after.values())
            whole = halotile.entropy(cells, **options)
            print("equal:", got.dtype == whole.dtype and got.shape == whole.shape and got.tobytes() == whole.tobytes())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_worker_that_is_killed_loses_nothing(tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["before: pending", "lost: True", "gone: True", "equal: True"], done.stdout + done.stderr
