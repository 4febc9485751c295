"""`halotile.entropy` against the program, bit for bit."""

import numpy as np
import pytest

import halotile
from conftest import HOOK, same

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
