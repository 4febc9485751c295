"""`halotile.entropy` of several measures, and into places for results."""

import numpy as np
import pytest

import halotile
from conftest import HOOK, close, same


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
