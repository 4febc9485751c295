"""What several test files share: the definition of every measure in plain NumPy, comparisons, and the program `halotile`.

The environment variable HALOTILE names the program. Where it is not set, tests that compare with it are skipped.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

_PAD = {"shrink": "constant", "nodata": "constant", "symmetric": "symmetric", "reflect": "reflect", "replicate": "edge"}
# Codes of the oracle: cells without data, and places that are no cells.
NODATA, BEYOND = -1, -2

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
REALS = ["f2", "f4", "f8"]
MEASURES = ["shannon", "simpson", "richness", "evenness", "renyi:0", "renyi:0.5", "renyi:1", "renyi:1.01", "renyi:2", "renyi:3.5", "renyi:inf"]
MEASURES += ["hill:0", "hill:0.3", "hill:1", "hill:0.99", "hill:2", "hill:7", "hill:inf"]
EDGES = ["shrink", "nodata", "symmetric", "reflect", "replicate"]
# No two of its symmetries are the same.
HOOK = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 0]])


def disk(size):
    """Cells at most size // 2 from the centre."""
    y, x = np.mgrid[: size, : size] - size // 2
    return y * y + x * x <= (size // 2) ** 2


def _renyi(order, p):
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if order == 0:
            return np.log((p > 0).sum(axis=-1))
        if order == 1:
            return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=-1)
        if order == np.inf:
            return -np.log(p.max(axis=-1))
        return np.log(np.where(p > 0, np.where(p > 0, p, 1) ** order, 0).sum(axis=-1)) / (1 - order)


def _measure(name, p):
    kind, _, order = name.partition(":")
    if kind == "shannon":
        return _renyi(1, p)
    if kind == "simpson":
        return 1 - (p * p).sum(axis=-1)
    if kind == "richness":
        return (p > 0).sum(axis=-1).astype(float)
    if kind == "evenness":
        classes = (p > 0).sum(axis=-1)
        return np.where(classes > 1, _renyi(1, p) / np.log(np.maximum(classes, 2)), 0.0)
    found = _renyi(float(order), p)
    return np.exp(found) if kind == "hill" else found


def oracle(codes, footprint=5, measure="shannon", *, edge="shrink", base=np.e, levels=None, min_valid=0.0):
    """A measure of every window, in float64, from the definition.

    `codes` are classes from 0 on, or NODATA; `footprint` is a size or an array; `levels` is given to normalise.
    """
    codes = np.asarray(codes, np.int64)
    shape = np.ones((footprint, footprint), bool) if np.ndim(footprint) == 0 else np.asarray(footprint) != 0
    reach = [(side // 2, side // 2) for side in shape.shape]
    more = {"constant_values": BEYOND} if _PAD[edge] == "constant" else {}
    padded = np.pad(codes, reach, mode=_PAD[edge], **more)
    # Cell (i, j) of the footprint lies over the cell that is i - rows // 2 rows and j - cols // 2 columns away: not flipped.
    windows = np.lib.stride_tricks.sliding_window_view(padded, shape.shape)[..., shape]
    counts = np.stack([(windows == code).sum(axis=-1) for code in range(codes.max(initial=0) + 1)], axis=-1)
    total = counts.sum(axis=-1)
    p = counts / np.maximum(total, 1)[..., np.newaxis]
    result = _measure(measure, p)
    if measure == "shannon" and levels is not None:
        result = result / np.log(max(levels, 2))
    elif measure == "shannon" or measure.startswith("renyi"):
        result = result / np.log(base)
    nothing = (codes == NODATA) | (total == 0) | (total / shape.sum() < min_valid)
    if edge == "nodata":
        nothing |= (windows == BEYOND).any(axis=-1)
    return np.where(nothing, np.nan, result)


def close(got, expected, tolerance=1e-12):
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance, equal_nan=True)


def same(got, expected):
    """Equal bit for bit, but for the bits of NaN."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    bits = f"u{got.itemsize}"
    both = np.isnan(got) & np.isnan(expected)
    assert (both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(expected).view(bits))).all()


@pytest.fixture(scope="session")
def definition():
    return oracle


@pytest.fixture
def rng():
    return np.random.default_rng(20261122)


@pytest.fixture
def codes(rng):
    """Classes 0 to 6, all of which occur, in 13 rows of 17."""
    return rng.permutation(np.arange(13 * 17) % 7).reshape(13, 17)


@pytest.fixture(scope="session")
def program():
    """The path of the program."""
    path = os.environ.get("HALOTILE")
    if not path:
        pytest.skip("the environment variable HALOTILE does not name the program")
    return path


@pytest.fixture
def by_program(program, tmp_path):
    """Entropy by the program: of an array and its options, through files."""

    def run(array, *options):
        source, result = tmp_path / "in.npy", tmp_path / "out.npy"
        np.save(source, array)
        device = [] if "--device" in options else ["--device", "cpu"]
        command = [program, "entropy", source, result, "--quiet", "--overwrite", *device, *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return np.load(result)

    return run


@pytest.fixture
def in_new_process():
    """Runs a program of Python in a process of its own, and returns what it prints; fails if it takes longer than a minute."""

    def run(text, timeout=60):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
