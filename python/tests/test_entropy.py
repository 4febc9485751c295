"""`halotile.entropy`: results against the definition, for every option, type of numbers and layout of memory; against the program, bit for
bit; and how it behaves while it works: other threads, forks, Ctrl-C, progress, logging.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import halotile
from conftest import NODATA, disk
from halotile import _native

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
REALS = ["f2", "f4", "f8"]
MEASURES = ["shannon", "simpson", "richness", "evenness", "renyi:0", "renyi:0.5", "renyi:1", "renyi:1.01", "renyi:2", "renyi:3.5", "renyi:inf"]
MEASURES += ["hill:0", "hill:0.3", "hill:1", "hill:0.99", "hill:2", "hill:7", "hill:inf"]
EDGES = ["shrink", "nodata", "symmetric", "reflect", "replicate"]
# No two of its symmetries are the same.
HOOK = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 0]])


@pytest.fixture
def codes(rng):
    """Classes 0 to 6, all of which occur, in 13 rows of 17."""
    return rng.permutation(np.arange(13 * 17) % 7).reshape(13, 17)


def close(got, expected, tolerance=1e-12):
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance, equal_nan=True)


def same(got, expected):
    """Equal bit for bit, but for the bits of NaN."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    bits = f"u{got.itemsize}"
    both = np.isnan(got) & np.isnan(expected)
    assert (both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(expected).view(bits))).all()


# Against the definition.


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_its_definition(codes, definition, measure):
    close(halotile.entropy(codes, 5, measure=measure, dtype="float64"), definition(codes, 5, measure), 1e-10)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("size", [1, 3, 5, 9, 39])
def test_every_edge_is_as_np_pad_has_it(codes, definition, edge, size):
    close(halotile.entropy(codes, size, edge=edge, dtype="float64"), definition(codes, size, edge=edge))


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("footprint", [HOOK, HOOK[::-1], HOOK.T, HOOK[:, ::-1] > 0, np.eye(7), np.ones((1, 9)), np.ones((9, 1)), [[1]]])
def test_a_footprint_is_applied_as_it_is_and_not_flipped(codes, definition, edge, footprint):
    close(halotile.entropy(codes, footprint=footprint, edge=edge, dtype="float64"), definition(codes, np.asarray(footprint), edge=edge))


@pytest.mark.parametrize("size", [1, 3, 5, 7, 11])
def test_the_disk_holds_the_cells_within_its_radius(codes, definition, size):
    close(halotile.entropy(codes, size, footprint="disk", dtype="float64"), definition(codes, disk(size)))


def test_a_footprint_without_its_centre_still_needs_data_in_the_centre(codes, definition):
    ring = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    cells = np.where(codes == 3, NODATA, codes)
    close(halotile.entropy(cells, footprint=ring, nodata=NODATA, dtype="float64"), definition(cells, ring))


def test_size_is_of_no_account_beside_a_footprint(codes):
    same(halotile.entropy(codes, 255, footprint=HOOK), halotile.entropy(codes, footprint=HOOK))


def test_the_square_is_the_window_without_a_footprint(codes):
    same(halotile.entropy(codes, 7, footprint="square"), halotile.entropy(codes, 7))


@pytest.mark.parametrize("dtype", INTEGERS + REALS)
def test_nodata_is_not_counted_and_has_no_result(codes, definition, dtype):
    cells = np.where(codes == 2, NODATA, codes)
    given = np.where(codes == 2, 99, codes).astype(dtype)
    close(halotile.entropy(given, nodata=99, dtype="float64"), definition(cells))


@pytest.mark.parametrize("dtype", REALS)
def test_nan_is_no_data(codes, definition, dtype):
    given = np.where(codes == 2, np.nan, codes).astype(dtype)
    close(halotile.entropy(given, dtype="float64"), definition(np.where(codes == 2, NODATA, codes)))


@pytest.mark.parametrize("nodata", [300, -1, 1.5, np.nan, np.inf, 10**40, None])
def test_a_nodata_value_that_no_number_of_the_type_is_makes_no_difference(codes, nodata):
    same(halotile.entropy(codes.astype("u1"), nodata=nodata), halotile.entropy(codes.astype("u1")))


@pytest.mark.parametrize("nodata", [2, 2.0, np.uint8(2), np.float32(2), np.int64(2)])
def test_nodata_may_be_any_kind_of_number(codes, definition, nodata):
    close(halotile.entropy(codes, nodata=nodata, dtype="float64"), definition(np.where(codes == 2, NODATA, codes)))


@pytest.mark.parametrize("dtype, nodata", [("u8", 2**64 - 1), ("i8", -(2**63)), ("f4", np.finfo("f4").min), ("f8", 1e308), ("f8", np.inf)])
def test_nodata_at_the_ends_of_a_type(dtype, nodata):
    given = np.array([[0, 1, nodata]], dtype)
    close(halotile.entropy(given, 3, nodata=nodata, dtype="float64"), np.array([[np.log(2), np.log(2), np.nan]]))


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_nodata_is_rounded_to_the_type_of_the_numbers(dtype):
    given = np.array([[0.1, 0.5, 0.7]], dtype)
    assert np.isnan(halotile.entropy(given, bins=[0.6], nodata=0.1)).tolist() == [[True, False, False]]


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f4", "f8"])
def test_cells_that_a_mask_covers_have_no_data(codes, definition, rng, dtype):
    mask = rng.random(codes.shape) < 0.7
    given = mask.astype(dtype) * (1 if dtype == "?" else 3)
    close(halotile.entropy(codes, mask=given, dtype="float64"), definition(np.where(mask, codes, NODATA)))


def test_nan_in_a_mask_covers(codes):
    mask = np.where(codes == 1, np.nan, 1.0)
    same(halotile.entropy(codes, mask=mask), halotile.entropy(codes, mask=codes != 1))


def test_what_a_masked_array_masks_has_no_data(codes):
    masked = np.ma.masked_equal(codes, 3)
    same(halotile.entropy(masked), halotile.entropy(codes, mask=codes != 3))


def test_the_mask_of_an_array_and_a_mask_both_hide(codes, rng):
    mask = rng.random(codes.shape) < 0.7
    expected = halotile.entropy(codes, mask=mask & (codes != 3))
    masked = np.ma.masked_equal(codes, 3)
    for given in (mask, mask * 2.5, np.where(mask, 1.0, np.nan), np.ma.masked_array(np.ones(codes.shape), mask=~mask)):
        same(halotile.entropy(masked, mask=given), expected)
    same(halotile.entropy(np.ma.masked_array(codes)), halotile.entropy(codes))
    same(halotile.entropy(np.asfortranarray(codes).view(np.ma.MaskedArray), mask=mask), halotile.entropy(np.asfortranarray(codes), mask=mask))


def test_a_masked_array_of_which_all_is_masked_gives_nan(codes):
    assert np.isnan(halotile.entropy(np.ma.masked_array(codes, mask=True))).all()


def test_values_that_only_the_mask_covers_are_no_classes():
    values = np.arange(400).reshape(20, 20)
    got = halotile.entropy(values, 3, mask=values < 200, measure="richness")
    assert np.nanmax(got) == 9 and np.isnan(got[10:]).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mask_order", ["C", "F"])
def test_array_and_mask_may_lie_in_different_orders(codes, definition, rng, order, mask_order):
    mask = rng.random(codes.shape) < 0.7
    got = halotile.entropy(np.asarray(codes, order=order), mask=np.asarray(mask, order=mask_order)[::1], dtype="float64")
    close(got, definition(np.where(mask, codes, NODATA)))


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("min_valid", [0, 0.3, 0.64, 1])
def test_windows_with_too_few_valid_cells_have_no_result(codes, definition, rng, edge, min_valid):
    cells = np.where(rng.random(codes.shape) < 0.3, NODATA, codes)
    got = halotile.entropy(cells, nodata=NODATA, edge=edge, min_valid=min_valid, dtype="float64")
    close(got, definition(cells, edge=edge, min_valid=min_valid))


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4"])
def test_an_array_in_which_all_is_nodata_gives_nan(dtype):
    assert np.isnan(halotile.entropy(np.full((4, 5), 7, dtype), nodata=7)).all()


def test_an_array_of_nan_gives_nan():
    assert np.isnan(halotile.entropy(np.full((4, 5), np.nan))).all()


def test_a_mask_that_covers_all_gives_nan(codes):
    assert np.isnan(halotile.entropy(codes, mask=np.zeros(codes.shape, bool))).all()


@pytest.mark.parametrize("how", [{"levels": 7}, {"bins": 4}, {"bins": 4, "binning": "quantile"}, {"bins": [2.0]}, {"classes": {1: 0}}])
def test_where_nothing_is_valid_whatever_classes_are_gives_nan(how):
    assert np.isnan(halotile.entropy(np.full((4, 5), np.nan), **how)).all()


@pytest.mark.parametrize("base, unit", [("e", np.e), (np.e, np.e), (2, 2), (10, 10), ("2", 2), (np.int64(10), 10)])
def test_entropies_come_in_the_unit_of_the_base(codes, definition, base, unit):
    got = halotile.entropy(codes, base=base, measure=["shannon", "renyi:2", "hill:2", "evenness"], dtype="float64")
    for plane, measure in zip(got, ["shannon", "renyi:2", "hill:2", "evenness"]):
        close(plane, definition(codes, 5, measure, base=unit), 1e-11)


@pytest.mark.parametrize("base", [2.0, 10.0])
def test_a_base_may_be_a_floating_point_number(codes, base):
    same(halotile.entropy(codes, base=base), halotile.entropy(codes, base=int(base)))


@pytest.mark.parametrize("how, levels", [({"levels": 7}, 7), ({"levels": 256}, 256), ({"bins": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]}, 7)])
def test_normalize_divides_by_the_logarithm_of_the_number_of_classes(codes, definition, how, levels):
    close(halotile.entropy(codes, normalize=True, dtype="float64", **how), definition(codes, levels=levels))


def test_normalize_of_one_class_is_0():
    assert (halotile.entropy(np.zeros((3, 3), "u1"), levels=1, normalize=True) == 0).all()


def test_a_window_of_one_class_gives_exactly_0(codes):
    got = halotile.entropy(np.full((9, 9), 5), 3, measure=["shannon", "simpson", "evenness", "renyi:3"])
    assert (got == 0).all() and not np.signbit(got).any()


def test_float32_is_within_its_bound_and_float64_too(rng, definition):
    values = rng.integers(0, 200, (40, 50), dtype=np.uint8)
    for size in (3, 15):
        expected = definition(values, size)
        close(halotile.entropy(values, size), expected, 2e-6)
        close(halotile.entropy(values, size, dtype="float64"), expected, 1e-12)


# What the classes are.


@pytest.mark.parametrize("bins", [1, 2, 5, 30])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f2", "f4", "f8"])
def test_equal_bins_are_equally_wide(rng, definition, bins, dtype):
    values = (rng.random((12, 15)) * 100).astype(dtype)
    numbers = values.astype("f8")
    edges = np.linspace(numbers.min(), numbers.max(), bins + 1)[1:-1]
    close(halotile.entropy(values, bins=bins, dtype="float64"), definition(np.digitize(numbers, edges)))


@pytest.mark.parametrize("bins", [2, 5, 16])
def test_quantile_bins_are_equally_full(rng, definition, bins):
    values = rng.permutation(16 * 15).reshape(16, 15) ** 2 / 7.0
    expected = values.ravel().argsort().argsort().reshape(values.shape) * bins // values.size
    close(halotile.entropy(values, bins=bins, binning="quantile", dtype="float64"), definition(expected))


@pytest.mark.parametrize("edges", [[3], [0.5, 2, 4.25], (1, 2, 5), np.array([-10.0, 3.0, 99.0]), np.array([2, 3], "u1"), range(1, 6)])
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_edges_are_those_of_np_digitize(codes, definition, edges, dtype):
    values = codes.astype(dtype)
    if dtype.startswith("f"):
        values = values * values.dtype.type(0.75)
    close(halotile.entropy(values, bins=edges, dtype="float64"), definition(np.digitize(values, np.asarray(edges, float))))


def test_bins_leave_nan_and_nodata_out(codes, definition):
    values = codes / 2
    values[3, 4], values[6, 7] = np.nan, 1e30
    cells = np.digitize(values, [1.0, 2.0])
    cells[3, 4] = cells[6, 7] = NODATA
    close(halotile.entropy(values, bins=[1.0, 2.0], nodata=1e30, dtype="float64"), definition(cells))


def test_65535_edges_leave_no_room_for_nodata_and_the_message_says_so():
    with pytest.raises(ValueError) as caught:
        halotile.entropy(np.arange(12.0).reshape(3, 4), bins=list(range(65535)), nodata=3)
    assert "file" not in str(caught.value) and "65536" in str(caught.value)


@pytest.mark.parametrize("dtype", ["u2", "i4", "f8"])
@pytest.mark.parametrize("nodata", [None, 300])
def test_classes_may_be_more_than_bytes(rng, definition, dtype, nodata):
    codes = rng.integers(0, 1500, (30, 40))
    cells = np.where(codes == 7, 300, codes * 11 % 65521) if nodata else codes * 11 % 65521
    values = cells.astype(dtype)
    expected = definition(np.where(cells == 300, NODATA, cells) if nodata else cells, 9)
    close(halotile.entropy(values, 9, nodata=nodata), expected, 2e-6)
    close(halotile.entropy(values.T, 9, nodata=nodata, dtype="float64").T, expected, 1e-12)


def test_levels_and_bins_may_be_more_than_bytes(rng, definition):
    codes = rng.integers(0, 1000, (25, 35))
    close(halotile.entropy(codes.astype("u2"), levels=1000, normalize=True, dtype="float64"), definition(codes, levels=1000))
    values = rng.random((25, 35)) * 100
    edges = np.linspace(values.min(), values.max(), 801)[1:-1]
    close(halotile.entropy(values, bins=800, dtype="float64"), definition(np.digitize(values, edges)))


def test_a_device_counts_words_for_measures_from_sums_and_says_so(definition):
    codes = np.arange(400).reshape(20, 20)
    close(halotile.entropy(codes, device="emulator"), definition(codes), 2e-6)
    close(halotile.entropy(codes, device="emulator", dtype="float64"), definition(codes), 1e-12)
    with pytest.raises(halotile.DeviceError, match="no kernel that can do this: it computes no measures that need powers of counts"):
        halotile.entropy(codes, device="emulator", measure="hill:1.5")


def test_classes_merge_values(codes, definition):
    got = halotile.entropy(codes, classes={0: "a", 1: "b", 2: "a", 3: None, 4: ("any", "thing"), 5: "b", 6: 6}, dtype="float64")
    close(got, definition(np.array([0, 1, 0, NODATA, 2, 1, 3])[codes]))


def test_a_star_stands_for_all_other_values(codes, definition):
    close(halotile.entropy(codes, classes={1: "one", "*": "other"}, dtype="float64"), definition((codes == 1) * 1))
    close(halotile.entropy(codes, classes={1: 1, 2: 2, "*": None}, dtype="float64"), definition(np.array([NODATA, 0, 1] + [NODATA] * 4)[codes]))


def test_names_of_classes_are_only_compared(codes):
    """Names that the syntax of a list would take for something else."""
    names = {0: "nodata", 1: "*", 2: "a # b", 3: "x\ny", 4: ",", 5: "", 6: "nodata"}
    same(halotile.entropy(codes, classes=names), halotile.entropy(codes, classes={v: v % 6 for v in range(7)}))


def test_a_list_of_classes_may_be_a_file(codes, tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("0..2,low # three\n3,nodata\n*,high\n")
    expected = halotile.entropy(codes, classes={0: 1, 1: 1, 2: 1, 3: None, "*": 2})
    same(halotile.entropy(codes, classes=path), expected)
    same(halotile.entropy(codes, classes=str(path)), expected)


def test_levels_are_classes_from_0(codes):
    same(halotile.entropy(codes, levels=7), halotile.entropy(codes))
    close(halotile.entropy(codes, levels=256), halotile.entropy(codes), 2e-6)
    with pytest.raises(ValueError, match="row 0, column .*the value [56] is no level from 0 to 4"):
        halotile.entropy(np.sort(codes, axis=None)[::-1].reshape(codes.shape), levels=5)


def test_the_place_of_a_wrong_value_is_said_as_the_caller_counts(codes):
    for order in "CF":
        given = np.asarray(codes, order=order).copy(order)
        given[4, 11] = 77
        with pytest.raises(ValueError, match="row 4, column 11 .*77"):
            halotile.entropy(given, levels=7)
        with pytest.raises(ValueError, match=r"row 12, column 0 .*77"):
            halotile.entropy(np.vstack([given[:4], [[0] * 17] * 8, [[77] + [0] * 16]])[:, :1] * 1, levels=7)


# Arrays, whatever their type and however they lie.


@pytest.mark.parametrize("dtype", ["?"] + [order + kind for kind in INTEGERS + REALS for order in "<>"])
def test_every_type_of_numbers(codes, definition, dtype):
    values = codes.astype(dtype)
    cells = codes if dtype != "?" else (codes > 0) * 1
    close(halotile.entropy(values, dtype="float64"), definition(cells))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "f4", "f8"])
def test_classes_may_be_any_numbers(codes, definition, dtype):
    values = np.array([-3, 127, 0, 11, -128, 95, 1])[codes].astype(dtype)
    close(halotile.entropy(values, dtype="float64"), definition(codes))


def layouts(values):
    """The same numbers, each time lying otherwise in memory: name and array."""
    rows, cols = values.shape
    wide = np.zeros((2 * rows, 3 * cols), values.dtype)
    wide[::2, ::3] = values
    yield "steps", wide[::2, ::3]
    yield "C", values.copy("C")
    yield "Fortran", values.copy("F")
    yield "rows backwards", values[::-1].copy()[::-1]
    yield "columns backwards", values[:, ::-1].copy()[:, ::-1]
    yield "both backwards", values[::-1, ::-1].copy()[::-1, ::-1]
    yield "Fortran backwards", values[::-1, ::-1].copy("F")[::-1, ::-1]
    yield "a layer of an image", np.repeat(values[..., np.newaxis], 3, axis=2)[..., 0]
    yield "the last layer, planes first", np.stack([values * 0, values])[1]
    yield "part of a larger one", np.pad(values, 3)[3:-3, 3:-3]
    yield "part of a larger one, Fortran", np.pad(values, 3).copy("F")[3:-3, 3:-3]
    buffer = np.zeros(values.nbytes + 1, "u1")
    unaligned = buffer[1:].view(values.dtype).reshape(values.shape)
    unaligned[...] = values
    yield "unaligned", unaligned
    readonly = values.copy()
    readonly.flags.writeable = False
    yield "read-only", readonly
    yield "a matrix", np.asmatrix(values)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "f4", "f8"])
@pytest.mark.parametrize("edge", ["shrink", "reflect"])
def test_every_layout_gives_the_same(codes, dtype, edge):
    values = codes.astype(dtype)
    expected = halotile.entropy(values, footprint=HOOK, edge=edge)
    for name, given in layouts(values):
        assert (np.asarray(given) == values).all()
        before = given.copy()
        got = halotile.entropy(given, footprint=HOOK, edge=edge)
        np.testing.assert_array_equal(got, expected, err_msg=name)
        assert type(got) is np.ndarray and (given == before).all()


def test_broadcast_rows_and_columns(codes, definition):
    for given in (np.broadcast_to(codes[:1], codes.shape), np.broadcast_to(codes[:, :1], codes.shape), np.broadcast_to(np.uint8(3), (6, 7))):
        for dtype in ("i8", "u1"):
            cells = given if dtype == "i8" else np.broadcast_to(given[:1].astype(dtype) if given.strides[0] == 0 else given.astype(dtype), given.shape)
            close(halotile.entropy(cells, dtype="float64"), definition(given))


def test_the_result_lies_as_the_array_does(codes):
    assert halotile.entropy(codes).flags.c_contiguous
    assert halotile.entropy(np.asfortranarray(codes)).flags.f_contiguous
    planes = halotile.entropy(np.asfortranarray(codes), measure=["shannon", "richness"])
    assert planes.shape == (2, 13, 17) and planes[1].flags.f_contiguous


def test_bytes_that_are_codes_in_part_of_a_larger_array(codes, definition):
    """These are taken without a copy, with a stride."""
    large = np.full((40, 50), 200, "u1")
    large[5:18, 6:23] = codes
    close(halotile.entropy(large[5:18, 6:23], dtype="float64"), definition(codes))
    close(halotile.entropy(large.copy("F")[5:18, 6:23], dtype="float64"), definition(codes))


def test_a_file_in_memory(codes, tmp_path):
    np.save(tmp_path / "codes.npy", codes.astype("i2"))
    same(halotile.entropy(np.load(tmp_path / "codes.npy", mmap_mode="r")), halotile.entropy(codes))


def test_booleans_with_other_bytes_than_0_and_1_are_true(codes):
    odd = codes.astype("u1").view(bool)
    same(halotile.entropy(odd), halotile.entropy(codes != 0))
    same(halotile.entropy(codes, mask=odd), halotile.entropy(codes, mask=codes != 0))
    same(halotile.entropy(odd, nodata=1), halotile.entropy(codes != 0, nodata=True))


def test_no_dtype_and_the_kernel_auto_are_the_defaults(codes):
    same(halotile.entropy(codes, dtype=None, kernel="auto"), halotile.entropy(codes))


def test_steps_of_the_ladders_are_in_the_program_only(codes):
    with pytest.raises(ValueError, match=r"^kernel: one of naive, .*, not \"v10\"; the steps .* in the program"):
        halotile.entropy(codes, kernel="v10")


def test_lists_and_array_likes(codes):
    class Like:
        def __array__(self, dtype=None, copy=None):
            return codes

    same(halotile.entropy(codes.tolist()), halotile.entropy(codes))
    same(halotile.entropy(Like()), halotile.entropy(codes))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3)])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("size", [1, 3, 21])
def test_small_arrays_and_windows_that_exceed_them(rng, definition, shape, edge, size):
    values = rng.integers(0, 3, shape)
    close(halotile.entropy(values, size, edge=edge, dtype="float64"), definition(values, size, edge=edge))


def test_the_largest_window(rng, definition):
    values = rng.integers(0, 3, (4, 5))
    for size in (255, 301):
        close(halotile.entropy(values, size, dtype="float64"), definition(values, size))
        close(halotile.entropy(values, size, edge="reflect", dtype="float64"), definition(values, size, edge="reflect"))
    # Of so large a window few cells are valid.
    close(halotile.entropy(values, 4095, dtype="float64"), definition(values, 9), 6e-12)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_arrays_without_cells(shape, dtype):
    empty = np.zeros(shape, dtype)
    assert halotile.entropy(empty).shape == shape
    assert halotile.entropy(empty, measure=["shannon", "richness"], dtype="float64").shape == (2, *shape)
    assert halotile.entropy(empty, bins=5, mask=empty).shape == shape
    out = np.empty(shape, "f4")
    assert halotile.entropy(empty, out=out) is out


@pytest.mark.parametrize("array", [np.zeros((0, 5), "u1"), np.zeros((3, 3), "u1")])
@pytest.mark.parametrize("how", [{"measure": "foo"}, {"edge": "wrap"}, {"base": 3}, {"device": "gpu"}, {"kernel": "foo"}, {"measure": []}])
def test_wrong_options_are_errors_also_of_arrays_without_cells(array, how):
    with pytest.raises(ValueError):
        halotile.entropy(array, **how)


# Several measures, and places for results.


def test_several_measures_are_planes_in_their_order(codes):
    names = ["richness", "shannon", "hill:2", "shannon"]
    got = halotile.entropy(codes, measure=names)
    assert got.shape == (4, 13, 17)
    for plane, name in zip(got, names):
        close(plane, halotile.entropy(codes, measure=name), 2e-6)
    assert halotile.entropy(codes, measure=("shannon",)).shape == (1, 13, 17)


def outs(shape, dtype):
    """Places for results, each lying otherwise: name and array."""
    yield "C", np.empty(shape, dtype)
    yield "Fortran", np.empty(shape, dtype, order="F")
    yield "steps", np.empty((*shape[:-2], shape[-2] * 2, shape[-1] * 2), dtype)[..., ::2, ::2]
    yield "rows with gaps", np.empty((*shape[:-1], shape[-1] + 3), dtype)[..., 3:]
    yield "rows backwards", np.empty(shape, dtype)[..., ::-1, :]
    yield "columns backwards", np.empty(shape, dtype)[..., ::-1]
    yield "a subclass", np.empty(shape, dtype).view(np.recarray)
    if len(shape) == 3:
        yield "planes last", np.empty((*shape[1:], shape[0]), dtype).transpose(2, 0, 1)
        yield "planes backwards", np.empty(shape, dtype)[::-1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("measure", ["shannon", ["shannon", "richness"]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_go_where_they_are_wanted(codes, order, measure, dtype):
    given = np.asarray(codes, order=order)
    expected = halotile.entropy(given, footprint=HOOK, measure=measure, dtype=dtype)
    for name, out in outs(expected.shape, dtype):
        out[...] = -1
        assert halotile.entropy(given, footprint=HOOK, measure=measure, dtype=dtype, out=out) is out
        np.testing.assert_array_equal(out, expected, err_msg=name)


def test_nothing_beside_out_is_written(codes):
    frame = np.full((19, 23), -5.0, "f4")
    halotile.entropy(codes, out=frame[3:16, 3:20])
    frame[3:16, 3:20] = -5
    assert (frame == -5).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_out_may_overlap_the_array_and_the_mask(codes, order):
    values = np.asarray(codes, "f4", order=order).copy(order)
    expected = halotile.entropy(codes)
    assert halotile.entropy(values, out=values) is values
    same(values, expected)
    shifted = np.zeros((14, 17), "f4")
    shifted[:13] = codes
    same(halotile.entropy(shifted[:13], out=shifted[1:]), expected)
    mask = (codes != 3).astype("f4")
    expected = halotile.entropy(codes, mask=mask)
    same(halotile.entropy(codes, mask=mask, out=mask), expected)


def test_a_broadcast_place_is_refused(codes):
    """As everywhere in NumPy, a broadcast place cannot be written."""
    out = np.broadcast_to(np.empty((13, 17), "f4"), (2, 13, 17))
    with pytest.raises(ValueError, match="out"):
        halotile.entropy(codes, measure=["shannon", "richness"], out=out)


@pytest.mark.parametrize(
    "out",
    [np.empty((13, 16), "f4"), np.empty((17, 13), "f4"), np.empty((1, 13, 17), "f4"), np.empty((13, 17), "f8"), np.empty((13, 17), ">f4"), np.empty(221, "f4")],
)
def test_places_of_the_wrong_shape_or_type_are_refused(codes, out):
    with pytest.raises(ValueError, match=r"out: .*\(13, 17\).*float32"):
        halotile.entropy(codes, out=out)


def test_a_place_that_cannot_be_written_or_is_no_array_is_refused(codes):
    out = np.zeros((13, 17), "f4")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="written"):
        halotile.entropy(codes, out=out)
    assert (out == 0).all()
    for out in ([[0.0]], "out", 3):
        with pytest.raises((TypeError, ValueError), match="out"):
            halotile.entropy(codes, out=out)


def test_planes_that_overlap_are_no_place_to_work_in(codes):
    """The last plane is what remains, as where NumPy copies."""
    expected = halotile.entropy(codes, measure=["shannon", "richness"])
    memory = np.zeros(13 * 17 + 17, "f4")
    out = np.lib.stride_tricks.as_strided(memory, (2, 13, 17), (17 * 4, 17 * 4, 4))
    assert halotile.entropy(codes, measure=["shannon", "richness"], out=out) is out
    memory_too = np.zeros_like(memory)
    np.lib.stride_tricks.as_strided(memory_too, (2, 13, 17), (17 * 4, 17 * 4, 4))[...] = expected
    np.testing.assert_array_equal(memory, memory_too)
    rows_between = np.zeros((13, 2, 17), "f4").transpose(1, 0, 2)
    np.testing.assert_array_equal(halotile.entropy(codes, measure=["shannon", "richness"], out=rows_between), expected)


@pytest.mark.parametrize("dtype", [bool, "u1"])
def test_a_place_in_the_mask_s_memory(codes, dtype):
    memory = np.ones(13 * 17 * 4, "u1")
    mask = memory[: 13 * 17].view(dtype).reshape(13, 17)
    expected = halotile.entropy(codes, mask=mask.copy())
    same(halotile.entropy(codes, mask=mask, out=memory.view("f4").reshape(13, 17)).copy(), expected)


def test_an_unaligned_place_is_written(codes):
    out = np.zeros(13 * 17 * 4 + 1, "u1")[1:].view("f4").reshape(13, 17)
    same(halotile.entropy(codes, out=out).copy(), halotile.entropy(codes))


# Against the program.

OPTIONS = [
    ({}, []),
    ({"size": 3}, ["--size", 3]),
    ({"size": 21, "footprint": "disk"}, ["--size", 21, "--shape", "disk"]),
    ({"measure": "simpson"}, ["--measure", "simpson"]),
    ({"measure": "richness"}, ["--measure", "richness"]),
    ({"measure": "evenness"}, ["--measure", "evenness"]),
    ({"measure": "renyi:0.5", "base": 2}, ["--measure", "renyi:0.5", "--base", 2]),
    ({"measure": "hill:2"}, ["--measure", "hill:2"]),
    ({"base": 10}, ["--base", 10]),
    ({"levels": 40, "normalize": True}, ["--levels", 40, "--normalize"]),
    ({"edge": "nodata"}, ["--edge", "nodata"]),
    ({"edge": "symmetric", "size": 31}, ["--edge", "symmetric", "--size", 31]),
    ({"edge": "reflect"}, ["--edge", "reflect"]),
    ({"edge": "replicate"}, ["--edge", "replicate"]),
    ({"nodata": 3, "min_valid": 0.7}, ["--nodata", 3, "--min-valid", 0.7]),
    ({"bins": 5}, ["--bins", 5]),
    ({"bins": 5, "binning": "quantile", "nodata": 2}, ["--bins", 5, "--binning", "quantile", "--nodata", 2]),
    ({"threads": 1, "size": 9}, ["--threads", 1, "--size", 9]),
    ({"kernel": "tiled", "device": "emulator", "bins": 5}, ["--kernel", "tiled", "--device", "emulator", "--bins", 5]),
]


@pytest.mark.parametrize("keywords, options", OPTIONS, ids=[" ".join(map(str, options)) or "defaults" for _, options in OPTIONS])
def test_options_give_the_program_s_results(by_program, rng, keywords, options):
    values = rng.integers(0, 30, (61, 73), dtype=np.uint8)
    for dtype in ["float32"] if "kernel" in keywords else ["float32", "float64"]:
        expected = by_program(values, *options, "--precision", f"f{dtype[-2:]}")
        same(halotile.entropy(values, dtype=dtype, **keywords), expected)
        same(halotile.entropy(np.asfortranarray(values), dtype=dtype, **keywords), expected)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8", ">i4", ">f8"])
def test_types_give_the_program_s_results(by_program, rng, dtype):
    values = (rng.integers(0, 25, (40, 37)) * 5).astype(dtype)
    if values.dtype.kind == "f":
        values[5:9, 7] = np.nan
    same(halotile.entropy(values, 7, nodata=10), by_program(values, "--size", 7, "--nodata", 10, "--precision", "f32"))
    got = halotile.entropy(values, 7, bins=9, dtype="float64")
    same(got, by_program(values, "--size", 7, "--bins", 9, "--precision", "f64"))


def test_arrays_in_columns_give_the_program_s_results(by_program, rng):
    values = np.asfortranarray(rng.integers(0, 9, (40, 37)))
    same(halotile.entropy(values, footprint="disk", edge="reflect"), by_program(values, "--shape", "disk", "--edge", "reflect", "--precision", "f32"))


def test_a_footprint_is_the_program_s_shape_of_a_file(by_program, rng, tmp_path):
    values = rng.integers(0, 9, (30, 27), dtype=np.uint8)
    (tmp_path / "shape.txt").write_text("\n".join(" ".join(map(str, row)) for row in HOOK))
    got = halotile.entropy(values, footprint=HOOK, edge="symmetric")
    same(got, by_program(values, "--shape", tmp_path / "shape.txt", "--edge", "symmetric", "--precision", "f32"))


def test_a_mask_and_a_list_are_the_program_s(by_program, rng, tmp_path):
    values = rng.integers(0, 9, (30, 27), dtype=np.int16)
    mask = rng.random(values.shape) < 0.8
    np.save(tmp_path / "mask.npy", mask.astype("u1"))
    (tmp_path / "list.csv").write_text("1..3,a\n4,nodata\n*,b\n")
    expected = by_program(values, "--mask", tmp_path / "mask.npy", "--classes", tmp_path / "list.csv", "--precision", "f32")
    same(halotile.entropy(values, mask=mask, classes=tmp_path / "list.csv"), expected)
    same(halotile.entropy(values, mask=mask, classes={1: 1, 2: 1, 3: 1, 4: None, "*": 2}), expected)


@pytest.mark.parametrize("binning", ["equal", "quantile"])
def test_normalized_bins_are_the_program_s(by_program, rng, binning):
    # Half of it is 0: of equally full bins fewer are made than are asked for, and those count.
    values = rng.integers(0, 12, (40, 37), dtype=np.uint8) * rng.integers(0, 2, (40, 37), dtype=np.uint8)
    options = ["--bins", 8, "--binning", binning, "--normalize", "--precision", "f64"]
    got = halotile.entropy(values, bins=8, binning=binning, normalize=True, dtype="float64")
    same(got, by_program(values, *options))
    same(halotile.entropy(values.astype("f4"), bins=8, binning=binning, normalize=True, dtype="float64"), got)


# Where and how the work is done.


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_threads_changes_no_bit(rng, threads, dtype):
    values = rng.integers(0, 50, (150, 170))
    same(halotile.entropy(values, 7, threads=threads, dtype=dtype), halotile.entropy(values, 7, dtype=dtype))


@pytest.mark.parametrize("how", [{}, {"edge": "reflect"}, {"footprint": HOOK}, {"nodata": 3}, {"measure": ["simpson", "hill:3"]}, {"dtype": "float64"}])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_emulator_agrees_with_the_cpu(codes, how, order):
    given = np.asarray(codes, order=order)
    close(halotile.entropy(given, device="emulator", **how), halotile.entropy(given, device="cpu", **how), 2e-6)


def test_a_device_that_is_not_there_is_an_error_of_its_own(codes):
    if any(device["device"].startswith("cuda") for device in halotile.devices()):
        device = "cuda:99"
    else:
        device = "cuda"
    with pytest.raises(halotile.DeviceError):
        halotile.entropy(codes, device=device)


def test_progress_is_told_and_grows(rng):
    told = []
    values = rng.integers(0, 200, (500, 600))
    halotile.entropy(values, 15, progress=lambda done, cells: told.append((done, cells)))
    assert told[-1] == (300_000, 300_000) and {cells for _, cells in told} == {300_000}
    assert told == sorted(told)


def test_progress_is_told_of_long_work_about_ten_times_a_second(rng):
    told = []
    values = rng.integers(0, 250, (700, 800), dtype=np.uint8)

    def tell(done, cells):
        told.append(done)

    start = time.perf_counter()
    halotile.entropy(values, 255, footprint="disk", threads=1, progress=tell)
    took = time.perf_counter() - start
    assert told == sorted(told)
    assert len(told) >= min(took, 3) * 4, f"{len(told)} in {took} s"


def test_what_progress_raises_stops_the_work(rng):
    values = rng.integers(0, 250, (6000, 6000), dtype=np.uint8)

    class Enough(Exception):
        pass

    def tell(done, cells):
        raise Enough(done)

    start = time.perf_counter()
    with pytest.raises(Enough):
        halotile.entropy(values, 255, footprint="disk", dtype="float64", progress=tell)
    assert time.perf_counter() - start < 4


def test_the_device_is_logged(codes, caplog):
    with caplog.at_level(logging.INFO, logger="halotile"):
        halotile.entropy(codes)
    assert any(record.name == "halotile" and "221 cells on cpu, because" in record.getMessage() for record in caplog.records)


def test_nothing_is_printed_where_nobody_listens(in_new_process):
    assert in_new_process("import halotile; halotile.entropy([[1, 2], [3, 4]])") == ""


def test_other_threads_of_python_go_on_meanwhile(rng):
    values = rng.integers(0, 250, (1500, 1500), dtype=np.uint8)
    done, steps = threading.Event(), []

    def count():
        while not done.wait(0.001):
            steps.append(time.perf_counter())

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    halotile.entropy(values, 51, footprint="disk", threads=1, dtype="float64")
    end = time.perf_counter()
    done.set()
    other.join()
    within = [start] + [step for step in steps if start <= step <= end] + [end]
    assert end - start > 0.1, "too short to tell"
    assert np.diff(within).max() < (end - start) / 2, "the GIL was held"


def test_several_threads_may_call_at_once(rng, definition):
    values = [rng.integers(0, 9, (60, 60)) for _ in range(6)]
    expected = [definition(value) for value in values]
    wrong = []

    def work(i):
        for _ in range(20):
            if not np.allclose(halotile.entropy(values[i], dtype="float64", threads=1 + i % 2), expected[i], rtol=0, atol=1e-12):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads) and not wrong


LONG = """
    import signal, sys, threading, time
    import numpy as np
    import halotile

    signal.signal(signal.SIGINT, signal.default_int_handler)
    values = np.random.default_rng(1).integers(0, 250, (20000, 4000), dtype=np.uint8)
    disk = np.hypot(*np.mgrid[-127:128, -127:128]) <= 127
"""


def interrupted(text):
    """Starts a process, interrupts it half a second after it says that it is ready; its exit code, what it says, and how long it takes to end."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG) + textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        said, errors = child.communicate(timeout=5)
        return child.returncode, said, errors, time.perf_counter() - start
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("how", ["footprint=disk, dtype='float64'", "size=255", "measure=['renyi:0.5', 'simpson'], size=255"])
def test_ctrl_c_stops_the_work(how):
    code, _, errors, took = interrupted(f"print('ready', flush=True)\nhalotile.entropy(values, {how})\n")
    assert code == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert took < 2


def test_ctrl_c_stops_the_emulator():
    # A block of it ends before it looks: with the largest windows that takes seconds.
    text = "print('ready', flush=True)\nhalotile.entropy(values[:2000], 31, footprint='disk', device='emulator')\n"
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_stops_work_on_few_cells():
    """Few cells, but a window and measures that make much work of them."""
    text = """
        small, noise = values[:512, :512], np.random.default_rng(1).random((255, 255)) < 0.5
        print("ready", flush=True)
        while True:
            halotile.entropy(small, footprint=noise, measure=[f"renyi:{i / 7 + 0.3}" for i in range(40)], dtype="float64")
    """
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_stops_the_look_at_values_too():
    text = "values = values.astype('f8')[:, :2000]\nprint('ready', flush=True)\nwhile True: halotile._native.Classes.survey(values)\n"
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_can_be_caught_and_work_goes_on():
    text = """
        print("ready", flush=True)
        try:
            halotile.entropy(values, footprint=disk, dtype="float64")
        except KeyboardInterrupt:
            print(halotile.entropy(values[:9, :9], 3).shape)
    """
    code, said, errors, took = interrupted(text)
    assert (code, said) == (0, "(9, 9)\n") and took < 2, errors


def test_ctrl_c_reaches_the_main_thread_while_another_works():
    text = """
        worker = threading.Thread(target=halotile.entropy, args=(values,), kwargs={"footprint": disk, "dtype": "float64"}, daemon=True)
        worker.start()
        print("ready", flush=True)
        try:
            worker.join()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.exit(3)
    """
    code, said, errors, took = interrupted(text)
    assert (code, said) == (3, "interrupted\n") and took < 2, errors


# Processes.

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@needs_fork
def test_a_child_that_was_forked_can_compute(in_new_process):
    said = in_new_process(
        """
        import os, signal, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (600, 600))
        expected = halotile.entropy(values)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            ok = (halotile.entropy(values) == expected).all() and (halotile.apsp(np.ones((70, 70))) <= 1).all()
            os._exit(0 if ok else 1)
        print(os.waitpid(child, 0)[1], (halotile.entropy(values) == expected).all())
        """
    )
    assert said == "0 True\n"


@needs_fork
def test_a_child_can_be_forked_while_another_thread_computes(in_new_process):
    said = in_new_process(
        """
        import os, signal, threading, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (300, 300))
        expected = halotile.entropy(values)
        done = threading.Event()
        def work():
            while not done.is_set():
                halotile.entropy(values)
        worker = threading.Thread(target=work)
        worker.start()
        codes = []
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                os._exit(0 if (halotile.entropy(values) == expected).all() else 1)
            codes.append(os.waitpid(child, 0)[1])
        done.set()
        worker.join()
        print(codes)
        """
    )
    assert said == f"{[0] * 15}\n"


def _one(seed):
    return halotile.entropy(np.random.default_rng(seed).integers(0, 9, (40, 50)))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes_can_compute(method):
    halotile.entropy(np.eye(600))
    with warnings.catch_warnings():
        # Python warns of forks where threads run.
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map_async(_one, range(4)).get(timeout=40)
    for seed, result in enumerate(results):
        same(result, _one(seed))


def test_classes_of_nothing():
    empty = np.zeros((0, 5))
    for classes in (
        _native.Classes.of_values([], False),
        _native.Classes.survey(empty),
        _native.Classes.survey(empty, empty, 7, 1),
        pickle.loads(pickle.dumps(_native.Classes.survey(empty))),
    ):
        assert (classes.values, classes.levels, classes.nodata_occurs) == ([], 1, False)
    assert _native.Classes.survey(np.full((2, 2), np.nan)).values == []
    for quantile in (False, True):
        for dtype in ("u1", "i2", "f4", "i8"):
            assert _native.Classes.binned(empty.astype(dtype), 5, quantile).edges == []
    assert _native.Classes.extent(empty) == (None, False, False)


@pytest.mark.parametrize(
    "classes",
    [
        lambda: _native.Classes.survey(np.array([[-3, 40000, 11, 255]]), None, 255),
        lambda: _native.Classes.survey(np.array([[1.0, np.nan]])),
        lambda: _native.Classes.of_levels(12, 3),
        lambda: _native.Classes.of_levels(256),
        lambda: _native.Classes.of_levels(40000),
        lambda: _native.Classes.survey(np.arange(1000).reshape(10, 100), None, 12),
        lambda: _native.Classes.of_list("1..3,a\n4,nodata\n*,b\n", None),
        lambda: _native.Classes.of_edges([0.5, 1.25, 1e300], True, float("nan")),
        lambda: _native.Classes.binned(np.array([[0.1, 0.2, 0.9]]), 3, True, None, 0.9, 1),
        lambda: _native.Classes.binned(np.array([[0.1, np.inf, 0.9]]), 3, False),
    ],
)
def test_classes_go_through_pickle(classes):
    before = classes()
    after = pickle.loads(pickle.dumps(before))
    assert (after.levels, after.values, after.edges, after.nodata_occurs, repr(after)) == (
        before.levels,
        before.values,
        before.edges,
        before.nodata_occurs,
        repr(before),
    )
    assert pickle.dumps(after) == pickle.dumps(before)


def test_many_calls_keep_no_memory(in_new_process):
    said = in_new_process(
        """
        import resource, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (60, 1000))
        def call(n):
            for _ in range(n):
                halotile.entropy(values, 3)
                halotile.entropy(values, bins=4, mask=values)
                try:
                    halotile.entropy(values, levels=2)
                except ValueError:
                    pass
        call(50)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call(300)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    assert int(said) < 20_000
