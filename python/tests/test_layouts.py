"""`halotile.entropy` of arrays of every type, however they lie in memory, of any size."""

import numpy as np
import pytest

import halotile
from conftest import EDGES, HOOK, INTEGERS, REALS, close, same


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
