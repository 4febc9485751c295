"""`halotile.entropy` against the definition: measures, windows, edges, no data, masks, units, classes and bins."""

import numpy as np
import pytest

import halotile
from conftest import EDGES, HOOK, INTEGERS, MEASURES, NODATA, REALS, close, disk, same


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
