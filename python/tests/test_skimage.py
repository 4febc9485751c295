"""`halotile.skimage.entropy` against `skimage.filters.rank.entropy`: images, neighbourhoods, shifts and masks of all kinds; what is left to
scikit-image; what is refused. scikit-image's own tests are run by `tests/python/rank_tests.py`.
"""

import warnings

import numpy as np
import pytest

import halotile

rank = pytest.importorskip("skimage.filters.rank")
from skimage.morphology import ball, diamond, disk

import halotile.skimage
from halotile.skimage import entropy

FOOTPRINTS = {
    "square": np.ones((3, 3)),
    "even": np.ones((4, 4)),
    "wide": np.ones((2, 5)),
    "row": np.ones((1, 6)),
    "column": np.ones((6, 1)),
    "one": np.ones((1, 1)),
    "disk": disk(4),
    "diamond": diamond(3),
    "hook": np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]),
    "hole": np.pad(np.zeros((3, 3)), 2, constant_values=1),
    "numbers": np.array([[0, 2, -1], [0.5, 3, 0], [-2, 0, 7]]),
    "booleans": disk(3) > 0,
    "beyond": np.ones((61, 81)),
}


@pytest.fixture
def image(rng):
    return rng.integers(0, 9, (17, 22)).astype(np.uint8)


def quiet(function, *arguments, **options):
    """The result, without scikit-image's remarks on types and speed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def check(image, footprint, *, result=None, **options):
    got = quiet(entropy, image, footprint, **options)
    expected = quiet(rank.entropy, image, footprint, **options)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    # A neighbourhood of one value has exactly 0; scikit-image has -0 there.
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)
    return got


@pytest.fixture
def not_by_skimage(monkeypatch):
    """Has a test fail that leaves to scikit-image what halotile does."""

    def fail(*arguments):
        raise AssertionError(f"left to scikit-image: {arguments[-1]}")

    monkeypatch.setattr(halotile.skimage, "_by_skimage", fail)


@pytest.fixture
def left_to_skimage(monkeypatch):
    """The reasons why images were left to scikit-image."""
    reasons, really = [], halotile.skimage._by_skimage

    def note(*arguments):
        reasons.append(arguments[-1])
        return really(*arguments)

    monkeypatch.setattr(halotile.skimage, "_by_skimage", note)
    return reasons


@pytest.mark.parametrize("footprint", FOOTPRINTS.values(), ids=FOOTPRINTS)
def test_neighbourhoods(not_by_skimage, image, footprint):
    check(image, footprint)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("values", [1, 2, 40, 256])
def test_images(not_by_skimage, rng, dtype, values):
    check(rng.integers(0, values, (31, 43)).astype(dtype) * (1 if dtype == np.uint8 else 255), disk(5))


def test_lists_are_images_too(image):
    np.testing.assert_array_equal(quiet(entropy, image.tolist(), disk(3)), quiet(entropy, image.astype(int), disk(3)))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f4", "f8", ">u2"])
def test_other_types_are_converted(rng, dtype):
    image = rng.random((13, 17)) if dtype.startswith("f") else rng.integers(0, 100, (13, 17))
    check(image.astype(dtype), disk(3))


def test_the_warning_of_a_conversion_names_the_caller_s_line():
    with pytest.warns(UserWarning, match="Possible precision loss converting image of type float64 to uint8") as caught:
        entropy(np.linspace(0, 1, 20).reshape(4, 5), np.ones((3, 3)))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda image: image[::-2, 1::3], lambda image: image.T], ids=["upright", "part", "turned"])
def test_images_however_they_lie(image, layout):
    check(layout(image), np.ones((3, 4)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 20), (20, 1), (3, 3)])
def test_images_smaller_than_the_neighbourhood(not_by_skimage, rng, shape):
    check(rng.integers(0, 4, shape).astype(np.uint8), np.ones((6, 9)))


@pytest.mark.parametrize("shape, shift_y, shift_x", [((5, 7), 1, -2), ((5, 7), -2, 3), ((4, 6), 1, 2), ((4, 6), -2, -3), ((1, 5), 0, 2), ((3, 3), -1, 0)])
def test_shifts(not_by_skimage, rng, image, shape, shift_y, shift_x):
    footprint = rng.random(shape) < 0.6
    footprint[0, 0] = True
    check(image, footprint, shift_x=shift_x, shift_y=shift_y)


def test_the_sides_of_shifts_are_not_mixed_up(image):
    footprint = np.ones((5, 5))
    results = [entropy(image, footprint, shift_x=x, shift_y=y) for x, y in [(0, 0), (2, 0), (-2, 0), (0, 2), (0, -2)]]
    for i, one in enumerate(results):
        for other in results[:i]:
            assert (one != other).any()


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("footprint", ["square", "even", "hole", "hook"])
def test_masks(not_by_skimage, rng, image, footprint, share):
    mask = rng.random(image.shape) < share
    check(image, FOOTPRINTS[footprint], mask=mask)


def test_pixels_that_a_mask_hides_have_results(image):
    mask = np.ones(image.shape, bool)
    mask[5:8, 5:8] = False
    got = check(image, np.ones((5, 5)), mask=mask)
    assert (got[5:8, 5:8] > 0).all()
    alone = np.zeros_like(mask)
    alone[0, 0] = True
    # One pixel, or none: 0, and never NaN.
    assert (check(image, np.ones((3, 3)), mask=alone) == 0).all()


def test_masks_are_what_is_greater_than_0(image, rng):
    mask = rng.random(image.shape) < 0.6
    expected = quiet(rank.entropy, image, disk(3), mask=mask)
    for given in (mask.astype(np.uint8), mask * 255, mask.astype(float) * 0.3, mask.tolist(), np.where(mask, 7, -3)):
        np.testing.assert_allclose(entropy(image, disk(3), mask=given), expected, rtol=1e-13, atol=1e-15)


def test_masks_with_shifts(not_by_skimage, image, rng):
    check(image, rng.random((5, 6)) < 0.7, mask=rng.random(image.shape) < 0.3, shift_x=-2, shift_y=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_out(image, dtype):
    out = np.full(image.shape, 7, dtype)
    assert entropy(image, disk(3), out=out) is out
    np.testing.assert_allclose(out, quiet(rank.entropy, image, disk(3)), rtol=1e-13 if dtype == np.float64 else 1e-6, atol=1e-15)


@pytest.mark.parametrize("footprint", [np.zeros((3, 3)), np.full((3, 3), -1)], ids=["zeros", "negative"])
def test_neighbourhoods_without_pixels_have_0(image, footprint):
    assert (check(image, footprint) == 0).all()
    out = np.full(image.shape, 7.0)
    assert entropy(image, footprint, out=out) is out and (out == 0).all()


@pytest.mark.parametrize("how", [{"device": "cpu"}, {"threads": 2}, {"device": "emulator"}], ids=str)
def test_where_it_is_computed(image, how):
    np.testing.assert_array_equal(entropy(image, np.ones((3, 4)), **how), entropy(image, np.ones((3, 4)), device="cpu"))


# What is left to scikit-image.


def test_volumes(left_to_skimage, rng):
    volume = rng.integers(0, 9, (7, 8, 9)).astype(np.uint8)
    mask = rng.random(volume.shape) < 0.5
    for options in ({}, {"mask": mask}, {"shift_x": 1, "shift_y": -1, "shift_z": 1}):
        np.testing.assert_array_equal(entropy(volume, ball(2), **options), rank.entropy(volume, ball(2), **options))
    assert left_to_skimage == ["it is a volume"] * 3


@pytest.mark.parametrize("values", [257, 4000, 65_536])
def test_images_of_16_bits(not_by_skimage, rng, values):
    image = rng.permutation(np.arange(3000) % values).reshape(60, 50).astype(np.uint16) * np.uint16(65_536 // values)
    check(image, disk(9))
    check(image, np.ones((3, 31)), mask=rng.random(image.shape) < 0.9)


def test_masked_images_of_all_values(monkeypatch, rng):
    """There is no code left for what the mask hides."""
    image = np.append(rng.permutation(65_536), np.zeros(256)).reshape(257, 256).astype(np.uint16)
    monkeypatch.setattr(halotile.skimage, "_by_skimage", lambda *arguments: arguments[-1])
    assert entropy(image, disk(1)).max() == pytest.approx(np.log2(5))
    mask = np.ones(image.shape, bool)
    mask[256, 7] = False
    assert "65536 classes and no data take 65537 codes" in entropy(image, disk(1), mask=mask)


def test_warnings_of_scikit_image_name_the_caller_s_line(rng):
    volume = rng.integers(0, 60_000, (5, 6, 7)).astype(np.uint16)
    with pytest.warns(UserWarning, match="Bad rank filter performance") as caught:
        entropy(volume, ball(1))
    assert [warning.filename for warning in caught] == [__file__]


def test_large_neighbourhoods(left_to_skimage, image):
    check(image, np.ones((3, 257)))
    assert not left_to_skimage
    check(image, np.ones((1, 4097)))
    assert len(left_to_skimage) == 1
    # With its centre in a corner it reaches as far as a larger one.
    check(image, np.ones((1, 4001)), shift_x=100)
    assert len(left_to_skimage) == 2


# What is refused.


@pytest.mark.parametrize(
    "image, footprint",
    [
        (np.arange(10, dtype=np.uint8), disk(1)),
        (np.zeros((2, 2, 2, 2), np.uint8), disk(1)),
        (np.zeros((5, 5), bool), disk(1)),
        (np.zeros((5, 5), np.uint8), ball(1)),
        (np.zeros((5, 5), np.uint8), np.ones(3)),
        (np.zeros((5, 5), np.uint8), diamond(3, decomposition="sequence")),
    ],
    ids=["row", "four", "booleans", "volume", "line", "sequence"],
)
def test_what_scikit_image_refuses_too(image, footprint):
    for function in (entropy, rank.entropy):
        with pytest.raises(ValueError):
            quiet(function, image, footprint)


@pytest.mark.parametrize("shape, name, shift", [((3, 3), "shift_x", 2), ((3, 3), "shift_y", -2), ((4, 4), "shift_x", 2), ((4, 1), "shift_y", -3)])
def test_shifts_out_of_the_neighbourhood(image, shape, name, shift):
    with pytest.raises(ValueError, match=f"{name}={shift}: the centre is outside the footprint"):
        entropy(image, np.ones(shape), **{name: shift})
    # A failed assertion in scikit-image.
    with pytest.raises(AssertionError):
        rank.entropy(image, np.ones(shape), **{name: shift})


def test_in_place(image):
    for function in (entropy, rank.entropy):
        with pytest.raises(NotImplementedError, match="in place"):
            function(image, disk(1), out=image)


def test_masks_of_another_shape(image):
    with pytest.raises(ValueError, match="mask"):
        entropy(image, disk(1), mask=np.ones((3, 3)))


def test_errors_of_devices_are_not_taken_for_images_of_many_values(image):
    with pytest.raises(ValueError, match="device"):
        entropy(image, disk(1), device="gpu")
