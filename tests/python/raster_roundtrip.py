"""GeoTIFFs between rasterio (GDAL) and halotile, both ways, and through `halotile entropy`.

`cargo xtask raster-test` runs this with a Python that has rasterio. Files that rasterio makes are read through the library (the
program `raster-io` of the tests) and must come out with the same type, nodata value, place and cells; results that the library
writes are opened with rasterio and must say the same. Last, `halotile entropy` takes GeoTIFFs to GeoTIFFs, and every result is
compared with one that numpy counts from the definition. The last line counts: `N passed, N failed, N skipped`.

A check is a function with `@check`; it gets a `Bench` and fails by raising. One that cannot be made here raises `Skipped`, which says
why, and has not passed.
"""

import argparse
import json
import logging
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib

import numpy as np
import odd_tiffs
import rasterio
from rasterio.crs import CRS
from rasterio.enums import ColorInterp
from rasterio.errors import NotGeoreferencedWarning
from rasterio.transform import Affine, from_origin
from rasterio.windows import Window

CHECKS = []
# Checks of files about which GDAL has something to say.
LOUD = []
PLACE = {"crs": CRS.from_epsg(3035), "transform": from_origin(4_321_000.5, 3_210_000.25, 30, 25)}
NAMES = {"int8": "i8", "uint8": "u8"} | {f"{kind}{bits}": f"{kind[0]}{bits}" for bits in (16, 32, 64) for kind in ("int", "uint", "float")}


def check(function):
    CHECKS.append(function)
    return function


def loud(function):
    LOUD.append(function)
    return function


class Skipped(Exception):
    """A check that cannot be made on this machine."""


class Bench:
    """A directory, and the programs under test."""

    def __init__(self, directory, raster_io, halotile):
        self.directory, self.raster_io, self.halotile = directory, raster_io, halotile
        self.files = 0

    def path(self, ending="tif"):
        self.files += 1
        return self.directory / f"{self.files}.{ending}"

    def ended(self, program, *arguments):
        # Backtraces would be more than the one line of error.
        environment = os.environ | {"RUST_BACKTRACE": "0"}
        command = [str(program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)

    def run(self, program, *arguments):
        """Standard output of a program that succeeds."""
        ran = self.ended(program, *arguments)
        assert ran.returncode == 0, f"{program} {arguments}: {ran.stderr}"
        return ran.stdout

    def fails(self, program, *arguments):
        """Standard error of a program that fails, one line."""
        ran = self.ended(program, *arguments)
        assert ran.returncode in (1, 2), f"{program} {arguments}: exit code {ran.returncode}, {ran.stderr}"
        assert ran.stderr.count("\n") == 1, ran.stderr
        return ran.stderr

    def read(self, path, band, window=None):
        """What the library sees in a band: a dictionary, and the cells."""
        numbers = self.path("bin")
        limits = ["--window", *window] if window else []
        info = json.loads(self.run(self.raster_io, "read", path, band, numbers, *limits))
        cells = np.fromfile(numbers, dtype=np.dtype({v: k for k, v in NAMES.items()}[info["type"]]).newbyteorder("<"))
        rows, cols = (window[1] - window[0], window[3] - window[2]) if window else (info["rows"], info["cols"])
        return info, cells.reshape(rows, cols)

    def write(self, bands, like=None, options=(), descriptions=None):
        """Results written by the library."""
        path = self.path()
        arguments = []
        for i, band in enumerate(bands):
            numbers = self.path("npy")
            np.save(numbers, band)
            arguments += ["--band", numbers, descriptions[i] if descriptions else f"band {i}"]
        arguments += ["--like", like] if like else []
        arguments += [word for option in options for word in ("--co", option)]
        self.run(self.raster_io, "write", path, *arguments)
        return path

    def make(self, cells, **profile):
        """A GeoTIFF of `cells` (bands, rows, columns) made by rasterio."""
        path = self.path()
        bands, rows, cols = cells.shape
        profile = {"driver": "GTiff", "dtype": cells.dtype.name, **PLACE, **profile}
        colours, tags = profile.pop("colours", None), profile.pop("tags", {})
        with rasterio.open(path, "w", count=bands, height=rows, width=cols, **profile) as file:
            file.write(cells)
            file.update_tags(**tags)
            if colours:
                file.write_colormap(1, colours)
        return path


def same(a, b):
    """Equal to the bit, but any NaN is any other."""
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def cells(dtype, shape=(1, 203, 317), high=None, seed=1):
    """Patches of classes, with the type's extremes among them."""
    random = np.random.default_rng(seed)
    bands, rows, cols = shape
    info = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    patches = random.integers(0, 40, (bands, -(-rows // 9), -(-cols // 13))).repeat(9, 1).repeat(13, 2)
    made = patches[:, :rows, :cols].astype(dtype)
    speckled = random.random(made.shape) < 0.02
    extremes = [0, high] if high else [info.min, info.max]
    made[speckled] = random.choice(np.array(extremes, dtype), speckled.sum())
    if high:
        made %= high + 1
    return made


def compare(bench, path, expected=None):
    """Every band of a file, through the library and through rasterio."""
    with rasterio.open(path) as file:
        for band in range(1, file.count + 1):
            info, got = bench.read(path, band)
            theirs = file.read(band)
            assert info["type"] == NAMES[file.dtypes[band - 1]], f"type {info['type']}, not {file.dtypes}"
            assert (info["rows"], info["cols"], info["bands"]) == (*file.shape, file.count), info
            assert tuple(info["block"]) == file.block_shapes[band - 1], f"{info['block']}, {file.block_shapes}"
            nodata = info["nodata"] and float(info["nodata"])
            both_nan = nodata is not None and file.nodata is not None and math.isnan(nodata) and math.isnan(file.nodata)
            assert both_nan or nodata == file.nodata, f"nodata {nodata}, not {file.nodata}"
            assert same(got, theirs), f"band {band}: {(got != theirs).sum()} cells differ"
            if expected is not None:
                assert same(got, expected[band - 1]), f"band {band} is not what was written"


def keeps_place(bench, path):
    """Results of a file lie where the file lies."""
    with rasterio.open(path) as file:
        rows, cols = file.shape
        results = np.random.default_rng(5).random((rows, cols), np.float32)
        made = bench.write([results], like=path)
        with rasterio.open(made) as ours:
            assert ours.crs == file.crs, f"{ours.crs} is not {file.crs}"
            assert ours.transform == file.transform, f"{ours.transform} is not {file.transform}"
            area = [f.tags().get("AREA_OR_POINT") for f in (ours, file)]
            assert area[0] == area[1], area
            assert same(ours.read(1), results)


def reads(name, dtype, shape=(1, 203, 317), high=None, **profile):
    """Adds a check that files of a kind are read."""

    def run(bench):
        made = cells(dtype, shape, high)
        path = bench.make(made, **profile)
        compare(bench, path, made)
        keeps_place(bench, path)

    run.__name__ = f"read: {name}"
    check(run)


TILES = {"tiled": True, "blockxsize": 64, "blockysize": 48}
reads("u8, GDAL's defaults", "uint8")
reads("u8, tiles, deflate, BigTIFF, predictor 2", "uint8", **TILES, compress="deflate", predictor=2, bigtiff="yes")
reads("i16, big-endian, LZW, strips, predictor 2", "int16", compress="lzw", predictor=2, endianness="big", nodata=-32768)
reads("u16 codes, zstd, tiles", "uint16", **TILES, compress="zstd", nodata=65535)
reads("u16, zstd, predictor 2, big-endian BigTIFF", "uint16", **TILES, compress="zstd", predictor=2, endianness="big", bigtiff="yes")
reads("i8", "int8", compress="deflate", nodata=-128)
reads("u8, PackBits, strips of 5", "uint8", compress="packbits", blockysize=5, nodata=0)
reads("u32, uncompressed tiles, big-endian", "uint32", **TILES, endianness="big", nodata=4294967295)
reads("i32, LZW, predictor 2", "int32", **TILES, compress="lzw", predictor=2, nodata=-2147483648)
reads("u64, deflate", "uint64", **TILES, compress="deflate", predictor=2)
reads("i64, deflate, big-endian", "int64", compress="deflate", predictor=2, endianness="big")
reads("f32, deflate, predictor 3, lowest value as nodata", "float32", **TILES, compress="deflate", predictor=3, nodata=float(np.finfo("f4").min))
reads("f32, zstd, predictor 3, big-endian strips, NaN as nodata", "float32", compress="zstd", predictor=3, endianness="big", nodata=math.nan)
reads("f64, LZW, predictor 3", "float64", **TILES, compress="lzw", predictor=3, nodata=-1e300)
reads("3 bands, pixel-interleaved", "uint8", (3, 203, 317), **TILES, interleave="pixel", photometric="minisblack", compress="lzw", predictor=2)
reads("3 bands as colours", "uint8", (3, 203, 317), interleave="pixel", photometric="rgb", compress="deflate")
reads("4 bands, band-interleaved", "uint16", (4, 203, 317), **TILES, interleave="band", photometric="minisblack", compress="deflate")
reads("2 bands, big-endian strips in planes", "int16", (2, 203, 317), interleave="band", endianness="big", compress="deflate", predictor=2)
reads("f32, LERC", "float32", **TILES, compress="lerc")
reads("i32, LERC and deflate", "int32", **TILES, compress="lerc_deflate")
reads("u8, LERC and zstd", "uint8", **TILES, compress="lerc_zstd")
reads("1 bit", "uint8", high=1, nbits=1)
reads("4 bits with colours", "uint8", high=15, nbits=4, colours={i: (i, 2 * i, 3 * i, 255) for i in range(16)})
reads("12 bits", "uint16", high=4095, nbits=12, **TILES, compress="deflate")
reads("u8 with colours", "uint8", **TILES, compress="deflate", colours={i: (i, 255 - i, 7, 255) for i in range(256)})
reads("cells that are points", "uint8", tags={"AREA_OR_POINT": "Point"})
reads("turned", "uint8", transform=Affine(30, 5, 4e6, 4, -25, 3e6))
reads("degrees", "uint8", crs=CRS.from_epsg(4326), transform=from_origin(-10, 60, 0.25, 0.2))
reads("a system of its own", "uint8", crs=CRS.from_proj4("+proj=laea +lat_0=47.5 +lon_0=13.25 +x_0=400000 +y_0=400000 +ellps=bessel +units=m"))
reads("a cell", "uint8", (1, 1, 1))
reads("a row", "int16", (1, 1, 5000), compress="deflate")
reads("a column", "int16", (1, 5000, 1), compress="deflate")


@check
def read_cloud_optimized(bench):
    """A COG: its first image is read, not its overviews."""
    made = cells("uint8", (1, 1200, 900))
    path = bench.make(made, driver="COG", compress="deflate", predictor="yes", nodata=255)
    compare(bench, path, made)


@check
def read_sparse(bench):
    """Blocks that are not in the file hold the nodata value."""
    for dtype, nodata in [("uint8", 255), ("int16", -9999), ("float32", math.nan), ("uint16", None), ("float64", 0.5)]:
        for interleave in ("band", "pixel"):
            path = bench.path()
            profile = {"driver": "GTiff", "dtype": dtype, "count": 2, "height": 200, "width": 300, **TILES, **PLACE}
            profile |= {"sparse_ok": True, "nodata": nodata, "interleave": interleave, "compress": "zstd"}
            with rasterio.open(path, "w", **profile) as file:
                file.write(np.full((2, 48, 64), 7, dtype), window=Window(64, 48, 64, 48))
            compare(bench, path)
            _, got = bench.read(path, 2)
            assert got[48, 64] == 7 and not same(got[:1, :1], np.full((1, 1), 7, dtype))


@check
def read_a_hundred_thousand_million_cells(bench):
    """Tables of a million blocks and more; memory and time are for the window."""
    side = 316_228
    path = bench.path()
    profile = {"driver": "GTiff", "dtype": "uint8", "count": 1, "height": side, "width": side, **PLACE, "nodata": 9}
    profile |= {"tiled": True, "blockxsize": 256, "blockysize": 256, "sparse_ok": True, "compress": "deflate", "bigtiff": "yes"}
    made = cells("uint8", (1, 300, 300))
    with rasterio.open(path, "w", **profile) as file:
        file.write(made, window=Window(side - 300, side - 300, 300, 300))
    start = time.monotonic()
    info, got = bench.read(path, 1, (side - 300, side, side - 300, side))
    assert same(got, made[0]) and info["rows"] == side
    _, got = bench.read(path, 1, (100_000, 100_010, 0, 3000))
    assert (got == 9).all()
    assert time.monotonic() - start < 20, "it took long"


@check
@loud
def reads_odd_files(bench):
    """Files that no writer in use makes, as GDAL reads them; what GDAL cannot read is refused."""
    wrong, path, numbers = [], bench.path(), bench.path("bin")
    # GDAL complains of most of them.
    logging.getLogger("rasterio").disabled = True
    try:
        for name, made in odd_tiffs.FILES.items():
            if name in odd_tiffs.OTHERWISE:
                continue
            path.write_bytes(made)
            try:
                with rasterio.open(path) as file:
                    expected = file.read()
            except rasterio.errors.RasterioError:
                error = bench.ended(bench.raster_io, "read", path, 1, numbers)
                if error.returncode not in (1, 2) or error.stderr.count("\n") != 1:
                    wrong.append(f"{name}: GDAL refuses it: {error}")
                continue
            for band, theirs in enumerate(expected, 1):
                try:
                    _, ours = bench.read(path, band)
                except AssertionError as error:
                    wrong.append(f"{name}: {error}")
                    continue
                if ours.dtype != theirs.dtype or not same(ours, theirs):
                    wrong.append(f"{name}, band {band}: {(ours != theirs).sum()} cells differ, {ours.dtype} {theirs.dtype}")
    finally:
        logging.getLogger("rasterio").disabled = False
    assert not wrong, "\n".join(wrong)


@check
def names_what_it_does_not_read(bench):
    path = bench.path()
    for name, (made, words) in odd_tiffs.REFUSED.items():
        path.write_bytes(made)
        error = bench.fails(bench.raster_io, "read", path, 1, bench.path("bin"))
        assert words in error and "gdal_translate" in error, f"{name}: {error}"


@check
def refuses_what_it_does_not_read(bench):
    for profile, words in [
        ({"compress": "jpeg"}, "compressed with JPEG"),
        ({"compress": "lzma"}, "compressed with LZMA"),
        ({"dtype": "complex64"}, "complex numbers"),
    ]:
        dtype = profile.pop("dtype", "uint8")
        path = bench.make(np.ones((1, 64, 64), dtype), **profile)
        error = bench.fails(bench.raster_io, "read", path, 1, bench.path("bin"))
        assert words in error and "gdal_translate" in error, error
    error = bench.fails(bench.raster_io, "read", bench.make(cells("uint8")), 2, bench.path("bin"))
    assert "there is no band 2: the file has 1 band" in error, error


def results(dtype, shape=(700, 900), seed=3):
    """Smooth values with NaN here and there, a large hole, infinities and zeros of both signs."""
    random = np.random.default_rng(seed)
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    made = (np.sin(rows / 37 + seed) * np.cos(cols / 23) + random.random(shape) * 1e-3).astype(dtype)
    made[random.random(shape) < 0.01] = math.nan
    made[:300, :400] = math.nan
    made[-1, -4:] = [math.inf, -math.inf, 0.0, -0.0]
    return made


def writes(name, dtype, options, bands=1, shape=(700, 900), **image):
    """Adds a check that results written with these creation options are what rasterio opens."""

    def run(bench):
        like = bench.make(cells("uint8", (1, 64, 64)))
        planes = [results(dtype, shape, seed) for seed in range(bands)]
        descriptions = [f'measure {i}: H < "{i}" & é' for i in range(bands)]
        path = bench.write(planes, like, options, descriptions)
        with rasterio.open(path) as file:
            assert file.crs == PLACE["crs"] and file.transform == PLACE["transform"], file.profile
            assert file.dtypes == (dtype,) * bands and file.shape == shape, file.profile
            assert all(math.isnan(nodata) for nodata in file.nodatavals), file.nodatavals
            assert file.descriptions == tuple(descriptions), file.descriptions
            structure = file.tags(ns="IMAGE_STRUCTURE")
            for key, value in image.items():
                got = file.block_shapes[0] if key == "block" else structure.get(key)
                assert got == value, f"{key} is {got}, not {value}"
            for band, plane in enumerate(planes, 1):
                got = file.read(band)
                assert same(got, plane), f"band {band}: {(got != plane).sum()} cells differ"
                assert (np.signbit(got) == np.signbit(plane))[~np.isnan(plane)].all(), "signs of zeros"
        big = path.read_bytes()[2] == 43
        assert big == any(option in ("BIGTIFF=YES", "BIGTIFF=IF_SAFER") for option in options), "BigTIFF or not"
        # And back again.
        compare(bench, path, np.stack(planes))

    run.__name__ = f"write: {name}"
    check(run)


writes("f32, the defaults", "float32", [], COMPRESSION="DEFLATE", PREDICTOR="3", block=(512, 512))
writes("f32, BigTIFF, deflate 9", "float32", ["BIGTIFF=YES", "COMPRESS=DEFLATE", "ZLEVEL=9", "PREDICTOR=3"], PREDICTOR="3")
writes("f64, the defaults, 3 bands", "float64", [], 3, COMPRESSION="DEFLATE", PREDICTOR="3", INTERLEAVE="BAND")
writes("f32, zstd, 2 bands, small tiles", "float32", ["COMPRESS=ZSTD", "BLOCKXSIZE=64", "BLOCKYSIZE=32"], 2, COMPRESSION="ZSTD", block=(32, 64))
writes("f64, zstd", "float64", ["COMPRESS=ZSTD"], COMPRESSION="ZSTD", PREDICTOR="3")
writes("f32, LZW, no predictor", "float32", ["COMPRESS=LZW", "PREDICTOR=1"], COMPRESSION="LZW")
writes("f64, LZW", "float64", ["COMPRESS=LZW"], COMPRESSION="LZW", PREDICTOR="3")
writes("f32, uncompressed", "float32", ["COMPRESS=NONE"], 2, COMPRESSION=None)
writes("f32, strips", "float32", ["TILED=NO"], 2, block=(291, 900))
writes("f64, strips of 7, LZW, BigTIFF", "float64", ["TILED=NO", "BLOCKYSIZE=7", "COMPRESS=LZW", "BIGTIFF=YES"], block=(7, 900))
writes("f32, sparse", "float32", ["SPARSE_OK=YES", "BLOCKXSIZE=128", "BLOCKYSIZE=128"], 2)
writes("f32, smaller than a tile", "float32", [], 1, (40, 50), block=(48, 64))
writes("f32, a row", "float32", [], 1, (1, 3000), block=(16, 512))
writes("11 bands", "float32", ["BLOCKXSIZE=256", "BLOCKYSIZE=256"], 11, (300, 500))


@check
def generated_grids_open_somewhere(bench):
    grid = ["generate", "grid", "--rows", 1300, "--cols", 700, "--pattern", "clustered", "--seed", 4]
    plain = bench.path("npy")
    bench.run(bench.halotile, *grid, plain)
    for options in [[], ["COMPRESS=ZSTD", "BLOCKXSIZE=64", "BLOCKYSIZE=64"], ["TILED=NO", "PREDICTOR=2", "BIGTIFF=YES"]]:
        path = bench.path()
        bench.run(bench.halotile, *grid, path, *[word for option in options for word in ("--co", option)])
        with rasterio.open(path) as file:
            assert same(file.read(1), np.load(plain)) and file.dtypes == ("uint8",), file.profile
            assert file.crs == CRS.from_epsg(3035), file.crs
            assert file.transform == from_origin(4_321_000 - 350 * 30, 3_210_000 + 650 * 30, 30, 30), file.transform
            assert file.tags()["AREA_OR_POINT"] == "Area" and file.nodata is None
        compare(bench, path)
        assert bench.run(bench.halotile, "compare", plain, path, "--tolerance", 0).startswith("no difference")


def measured(numbers, nodata=None, names=("shannon",), shape=None, edge="shrink", min_valid=0, mask=None):
    """What `halotile entropy` is to compute, from the definition: counts of every class in every window, in f64.

    Windows are clipped, or the grid goes on as `numpy.pad` has it. `shape` is true where a cell belongs to the window.
    """
    shape = np.ones((5, 5), bool) if shape is None else shape
    valid = np.ones(numbers.shape, bool) if nodata is None else numbers != nodata
    if numbers.dtype.kind == "f":
        valid &= ~np.isnan(numbers)
    if mask is not None:
        valid &= mask != 0
    rows, cols = numbers.shape
    halo = [(side // 2, side // 2) for side in shape.shape]
    beyond = {"mode": "constant"} if edge == "shrink" else {"mode": edge}
    offsets = np.argwhere(shape)
    counts = []
    for value in np.unique(numbers[valid]):
        seen = np.pad(((numbers == value) & valid).astype(np.int64), halo, **beyond)
        counts.append(sum(seen[top : top + rows, left : left + cols] for top, left in offsets))
    counts = np.array(counts)
    total = counts.sum(0)
    result = valid & (total > 0) & (total >= min_valid * len(offsets))
    shares = counts / np.maximum(total, 1)
    shannon = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(0)
    richness = (counts > 0).sum(0)
    squares = np.where(total > 0, (shares**2).sum(0), 1)
    measures = {"shannon": shannon, "simpson": 1 - squares, "richness": richness, "hill:2": 1 / squares}
    measures["evenness"] = np.where(richness > 1, shannon / np.log(np.maximum(richness, 2)), 0)
    return [np.where(result, measures[name], math.nan) for name in names]


def near(got, expected):
    """Within 2e-6, of itself where a value is larger than 1, and NaN where NaN is due."""
    assert got.shape == expected.shape, f"{got.shape}, not {expected.shape}"
    missing = np.isnan(expected)
    assert np.array_equal(np.isnan(got), missing), f"{(np.isnan(got) != missing).sum()} cells are NaN or not"
    difference = np.abs(got.astype(np.float64) - expected)[~missing] / np.maximum(1, np.abs(expected[~missing]))
    assert missing.all() or difference.max() <= 2e-6, f"differs by {difference.max()}"


def entropy(bench, source, *options):
    """The bands of `halotile entropy`, in a file as the options say by default, where the input lies."""
    path = bench.path()
    bench.run(bench.halotile, "entropy", source, path, *options)
    with rasterio.open(source) as given, rasterio.open(path) as file:
        assert file.crs == given.crs and file.transform == given.transform, file.profile
        assert file.shape == given.shape and set(file.dtypes) == {"float32"}, file.profile
        assert all(math.isnan(nodata) for nodata in file.nodatavals), file.nodatavals
        # Sides of tiles are multiples of 16, which tells one large tile from a strip.
        assert file.block_shapes[0] == tuple(min(512, -(-side // 16) * 16) for side in file.shape), file.profile
        assert file.compression.name == "deflate", file.profile
        return path, file.read(), file.descriptions


@check
def entropy_of_tiles_in_a_big_tiff(bench):
    made = cells("uint8")
    source = bench.make(made, **TILES, compress="deflate", bigtiff="yes", nodata=255)
    expected = measured(made[0], 255)[0]
    assert 100 < np.isnan(expected).sum() < expected.size / 2, "the check has cells without data"
    path, (got,), _ = entropy(bench, source)
    near(got, expected)
    assert path.read_bytes()[2] == 42, "a BigTIFF that was not asked for"
    path, (again,), _ = entropy(bench, source, "--co", "PREDICTOR=3", "--co", "BIGTIFF=YES")
    assert same(again, got) and path.read_bytes()[2] == 43
    with rasterio.open(path) as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["PREDICTOR"] == "3", file.tags(ns="IMAGE_STRUCTURE")


@check
def entropy_of_land_cover_codes(bench):
    """Codes far above 255, in big-endian LZW strips."""
    codes = np.array([0, 11, 21, 22, 31, 41, 42, 52, 71, 82, 90, 95, 256, 999, 40000, 65535], "uint16")
    made = codes[cells("uint8") % len(codes)]
    source = bench.make(made, compress="lzw", endianness="big", nodata=0, predictor=2)
    _, (got,), _ = entropy(bench, source)
    near(got, measured(made[0], 0)[0])
    # Without nodata, the same code is a class.
    _, (got,), _ = entropy(bench, source, "--nodata", "none")
    near(got, measured(made[0])[0])


@check
def entropy_of_negative_codes(bench):
    made = cells("int8")
    made[(made >= 0) & (made < 40)] -= 20
    assert {-128, -20, -3, 19, 127} <= set(made.flat)
    for nodata in (-128, -3, None):
        _, (got,), _ = entropy(bench, bench.make(made, compress="deflate", nodata=nodata))
        near(got, measured(made[0], nodata)[0])


@check
def entropy_of_zstd(bench):
    made = cells("int32")
    _, (got,), _ = entropy(bench, bench.make(made, **TILES, compress="zstd", predictor=2, nodata=-2147483648))
    near(got, measured(made[0], -2147483648)[0])


@check
def entropy_of_a_sparse_file(bench):
    """Blocks that are not there have no data; windows beside them see only what is there."""
    path = bench.path()
    profile = {"driver": "GTiff", "dtype": "uint8", "count": 1, "height": 200, "width": 300, **TILES, **PLACE}
    with rasterio.open(path, "w", **profile, sparse_ok=True, nodata=9, compress="deflate") as file:
        file.write(cells("uint8", (1, 48, 128), high=9), window=Window(64, 48, 128, 48))
    with rasterio.open(path) as file:
        made = file.read(1)
    expected = measured(made, 9)[0]
    assert np.isnan(expected[:48]).all() and not np.isnan(expected[48:96, 64:192]).all()
    _, (got,), _ = entropy(bench, path)
    near(got, expected)


@check
def entropy_of_a_band(bench):
    made = cells("uint8", (3, 203, 317))
    for interleave in ("pixel", "band"):
        source = bench.make(made, **TILES, interleave=interleave, photometric="minisblack", compress="deflate", nodata=7)
        for band in (1, 2, 3):
            _, (got,), _ = entropy(bench, source, "--band", band)
            near(got, measured(made[band - 1], 7)[0])
    error = bench.fails(bench.halotile, "entropy", source, bench.path(), "--band", 4)
    assert "there is no band 4: the file has 3 bands" in error, error


@check
def entropy_and_other_measures_in_bands(bench):
    made = cells("uint8")
    names = ["shannon", "simpson", "richness", "evenness", "hill:2"]
    _, got, descriptions = entropy(bench, bench.make(made, nodata=255), "--measure", ",".join(names))
    assert descriptions == tuple(names), descriptions
    for plane, expected in zip(got, measured(made[0], 255, names), strict=True):
        near(plane, expected)


@check
def entropy_in_other_windows(bench):
    made = cells("uint8")
    made[:, 60:90, 100:160] = 255
    source = bench.make(made, nodata=255)
    mask = (cells("uint8", seed=8) % 5 > 0).astype("uint8")
    masked = bench.make(mask)
    rows, cols = np.mgrid[-3:4, -3:4]
    disk = rows**2 + cols**2 <= 9
    reflect, least, hidden = {"edge": "reflect"}, {"min_valid": 0.5}, {"mask": mask[0]}
    for options, meant in [
        (["--shape", "disk", "--size", 7], {"shape": disk}),
        (["--size", 9], {"shape": np.ones((9, 9), bool)}),
        (["--edge", "reflect"], reflect),
        (["--min-valid", 0.5], least),
        (["--mask", masked], hidden),
        (["--shape", "disk", "--size", 7, "--edge", "reflect", "--min-valid", 0.5, "--mask", masked], {"shape": disk} | reflect | least | hidden),
    ]:
        expected = measured(made[0], 255, **meant)[0]
        assert not np.array_equal(expected, measured(made[0], 255)[0], equal_nan=True), "the option changes nothing"
        _, (got,), _ = entropy(bench, source, *options)
        try:
            near(got, expected)
        except AssertionError as error:
            raise AssertionError(f"{options}: {error}") from None


@check
def entropy_on_emulated_devices(bench):
    made = cells("uint8", (1, 64, 64))
    source = bench.make(made, nodata=255)
    _, (cpu,), _ = entropy(bench, source, "--device", "cpu")
    _, (two,), _ = entropy(bench, source, "--device", "emulator:2")
    _, (three,), _ = entropy(bench, source, "--device", "emulator:3")
    near(two, cpu)
    near(two, measured(made[0], 255)[0])
    assert same(two, three), f"{(two != three).sum()} cells depend on the number of devices"


@check
def entropy_in_little_memory(bench):
    made = cells("uint8", (1, 3000, 3000))
    source = bench.make(made, tiled=True, compress="deflate", nodata=255)
    _, (got,), _ = entropy(bench, source, "--device", "cpu")
    _, (frugal,), _ = entropy(bench, source, "--device", "cpu", "--memory", "130MiB")
    assert same(got, frugal), f"{(got != frugal).sum()} cells depend on the memory"
    near(got[:200, :200], measured(made[0, :202, :202], 255)[0][:200, :200])
    near(got[-200:, -200:], measured(made[0, -202:, -202:], 255)[0][-200:, -200:])


@check
def entropy_on_a_full_disk(bench):
    """One line that names the file and says what to do, and nothing stays behind. (Had it to choose a device, it would say so.)"""
    source = bench.make(np.random.default_rng(2).integers(0, 16, (1, 1200, 1200), "uint8"))
    small = bench.directory / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True)
    except OSError as error:
        raise Skipped(f"no small disk can be made: {error}") from None
    if mounted.returncode != 0:
        raise Skipped(f"no small disk can be made: {mounted.stderr.strip()}")
    try:
        path = small / "out.tif"
        for options in ([], ["--co", "COMPRESS=NONE"], ["--co", "TILED=NO"]):
            ran = bench.ended(bench.halotile, "entropy", source, path, "--device", "cpu", *options)
            left = sorted(file.name for file in small.iterdir())
            assert ran.returncode == 1 and ran.stderr.count("\n") == 1, f"{options}: {ran}"
            assert str(path) in ran.stderr and "make room or choose another disk" in ran.stderr, ran.stderr
            assert not left, f"{options}: {left} is left"
    finally:
        subprocess.run(["umount", str(small)], check=True)


@check
def entropy_of_fractions_takes_bins(bench):
    rows, cols = np.mgrid[:203, :317]
    made = (np.sin(rows / 17) * np.cos(cols / 23) * 100 + np.random.default_rng(6).random(rows.shape)).astype("float32")
    made[20:40, 50:80] = -9999
    made[100, 100:120] = math.nan
    source = bench.make(made[None], **TILES, compress="deflate", predictor=3, nodata=-9999)
    path = bench.path()
    error = bench.fails(bench.halotile, "entropy", source, path)
    assert str(source) in error and "--bins N" in error, error
    assert not path.exists()
    valid = np.isfinite(made) & (made != -9999)
    edges = np.histogram_bin_edges(made[valid].astype(np.float64), 8)
    bins = np.where(valid, np.digitize(made, edges[1:-1]), 255).astype("uint8")
    _, (got,), _ = entropy(bench, source, "--bins", 8)
    near(got, measured(bins, 255)[0])


# What says that cells have no data, and where they lie: masks, alpha, and files beside the raster. `--size 1 --measure richness` gives 1 wherever
# there is data.


def agrees(bench, source, band=1, options=(), nodata_too=True):
    """The cells without data, and the place, are those that rasterio sees. A declared value counts beside a mask."""
    path = bench.path()
    bench.run(bench.halotile, "entropy", source, path, "--size", 1, "--measure", "richness", "--band", band, *options)
    with rasterio.open(source) as given, rasterio.open(path) as file:
        missing = given.read_masks(band) == 0
        nodata = given.nodatavals[band - 1]
        if nodata_too and nodata is not None:
            cells = given.read(band)
            missing |= np.isnan(cells) if math.isnan(nodata) else cells == nodata
        assert missing.any() and not missing.all(), "a poor case"
        got = np.isnan(file.read(1))
        assert np.array_equal(got, missing), f"{got.sum()} cells without data, rasterio sees {missing.sum()}"
        assert file.crs == given.crs, (file.crs, given.crs)
        assert file.transform.almost_equals(given.transform, 1e-9), (file.transform, given.transform)


def shown(shape, seed=5):
    """A mask as rasterio takes it: 255 where there is data."""
    return np.where(np.random.default_rng(seed).random(shape) < 0.8, 255, 0).astype("uint8")


@check
def masks_inside_the_file_and_beside_it(bench):
    for inside in (True, False):
        for bands, dtype, profile in (
            (1, "uint8", {}),
            (1, "int16", {**TILES, "compress": "deflate"}),
            (3, "uint8", {"interleave": "band", "photometric": "minisblack"}),
            (1, "float32", {"compress": "lzw", "blockysize": 203}),
        ):
            for nodata in (None, 7):
                made = cells("uint8", (bands, 203, 317), high=30).astype(dtype)
                path = bench.path()
                with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=inside):
                    profile = {"driver": "GTiff", "dtype": dtype, "count": bands, "height": 203, "width": 317, **PLACE, **profile}
                    with rasterio.open(path, "w", nodata=nodata, **profile) as file:
                        file.write(made)
                        file.write_mask(shown((203, 317)))
                assert path.with_suffix(".tif.msk").exists() != inside
                agrees(bench, path, bands)


@check
def alpha_bands(bench):
    for bands, dtype in ((2, "uint8"), (4, "uint8"), (4, "uint16"), (2, "uint16")):
        made = cells("uint8", (bands, 203, 317), high=30).astype(dtype)
        made[-1] = shown((203, 317)) // 3
        path = bench.make(made, photometric="rgb" if bands == 4 else "minisblack", alpha="unspecified")
        with rasterio.open(path, "r+") as file:
            colours = [ColorInterp.gray] if bands == 2 else [ColorInterp.red, ColorInterp.green, ColorInterp.blue]
            file.colorinterp = [*colours, ColorInterp.alpha]
        for band in range(1, bands):
            agrees(bench, path, band)


@check
def what_an_aux_xml_says_comes_first(bench):
    made = cells("uint8", high=30)
    wkt = CRS.from_epsg(32633).to_wkt()
    quoted = wkt.replace('"', "&quot;")
    for text in (
        '<PAMRasterBand band="1"><NoDataValue>3</NoDataValue></PAMRasterBand>',
        '<PAMRasterBand band="1"><NoDataValue le_hex_equiv="0000000000000840">2.9</NoDataValue></PAMRasterBand>',
        "<GeoTransform> 500000, 20, 0, 5000000, 0, -20</GeoTransform>",
        "<GeoTransform> 500000, 20, 1, 5000000, 2, -20</GeoTransform>",
        f"<SRS>{quoted}</SRS>",
        f'<SRS dataAxisToSRSAxisMapping="1,2">{wkt}</SRS><GeoTransform>1,2,0,3,0,-4</GeoTransform>'
        '<PAMRasterBand band="1"><NoDataValue>0</NoDataValue></PAMRasterBand>',
    ):
        for profile in ({"nodata": 5}, {"nodata": 5, "crs": None, "transform": None}):
            path = bench.make(made, **profile)
            path.with_suffix(".tif.aux.xml").write_text(f"<PAMDataset>{text}</PAMDataset>")
            agrees(bench, path)


@check
def world_files_place_what_has_no_place(bench):
    made = cells("uint8", high=30)
    for ending in ("tfw", "tifw", "wld", "TFW"):
        for place in ({"crs": None, "transform": None}, {"crs": CRS.from_epsg(3035), "transform": None}, {}):
            path = bench.make(made, nodata=5, **place)
            path.with_suffix(f".{ending}").write_text("30\n0.5\n0.25\n-20\n4000015\n3000005\n")
            agrees(bench, path)


@check
def microsofts_infinities(bench):
    for text, value in ((b"-1.#INF", -np.inf), (b"1.#INF", np.inf), (b"1.#QNAN", np.nan), (b"-1.#IND", np.nan)):
        made = cells("float32", high=30)
        made[0, 5:9, 7:80] = value
        path = bench.make(made, nodata=-1234567)
        whole = path.read_bytes()
        assert b"-1234567\0" in whole
        path.write_bytes(whole.replace(b"-1234567\0", text.ljust(8) + b"\0"))
        agrees(bench, path, nodata_too=False)


@check
def nodata_options_and_masks(bench):
    """`--nodata V` replaces the declared value and leaves the mask; `--nodata none` turns all of it off."""
    made = cells("uint8", high=30)
    mask = shown((203, 317))
    path = bench.path()
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(path, "w", driver="GTiff", dtype="uint8", count=1, height=203, width=317, nodata=7, **PLACE) as file:
            file.write(made)
            file.write_mask(mask)
    for options, missing in (
        ((), (mask == 0) | (made[0] == 7)),
        (("--nodata", 9), (mask == 0) | (made[0] == 9)),
        (("--nodata", "none"), np.zeros((203, 317), bool)),
    ):
        out = bench.path()
        bench.run(bench.halotile, "entropy", path, out, "--size", 1, "--measure", "richness", *options)
        with rasterio.open(out) as file:
            assert np.array_equal(np.isnan(file.read(1)), missing), options


@check
def masks_of_another_place_are_refused(bench):
    made = cells("uint8", high=30)
    source, mask = bench.make(made), cells("uint8", high=1)
    for place, word in (
        ({"transform": from_origin(4_421_000.5, 3_210_000.25, 30, 25)}, "upper left corner"),
        ({"transform": from_origin(4_321_000.5, 3_210_000.25, 30, 25.01)}, "lower left corner"),
        ({"crs": CRS.from_epsg(32633)}, "EPSG:32633, and that of"),
    ):
        error = bench.fails(bench.halotile, "entropy", source, bench.path(), "--mask", bench.make(mask, **place))
        assert "the mask lies elsewhere" in error and word in error, error
    bench.run(bench.halotile, "entropy", source, bench.path(), "--mask", bench.make(mask))


# What memory runs take, whatever the blocks of their files: at most what `--memory` allows and 16 MiB, as the operating system saw it, or a refusal
# that names the least.


def patches(rows, cols, first=0):
    """A band of a map of 12 classes."""
    row, col = np.arange(first, first + rows)[:, None], np.arange(cols)[None, :]
    return ((row // 37 * 7 + col // 53 * 5 + (row // 11 + col // 17) % 3) % 12).astype("uint8")


def mapped(bench, rows, cols, dtype="uint8", fractions=False, band=1000, **profile):
    """A large GeoTIFF, made band by band."""
    path = bench.path()
    profile = {"driver": "GTiff", "dtype": dtype, "count": 1, "height": rows, "width": cols, **PLACE, **profile}
    with rasterio.open(path, "w", **profile) as file:
        for first in range(0, rows, band):
            made = patches(min(band, rows - first), cols, first).astype(dtype)
            if fractions:
                made += np.arange(made.size).reshape(made.shape) % 1009 / 1024
            file.write(made, 1, window=Window(0, first, cols, made.shape[0]))
    return path


def bounded(bench, source, *options, least=512):
    """Runs under three limits; those of `least` MiB and above must not be refused."""
    results = set()
    for limit in (128, 256, 512):
        out = bench.path()
        ran = bench.ended(bench.halotile, "entropy", source, out, "--memory", f"{limit}MiB", "--device", "cpu", "--json", "-q", *options)
        if ran.returncode == 0:
            peak = json.loads(ran.stdout)["peak_memory"] / 2**20
            assert peak <= limit + 16, f"{peak:.0f} MiB resident of {limit} allowed: {source} {options}"
            results.add(zlib.crc32(rasterio.open(out).read(1).tobytes()))
            took = f"{peak:.0f} MiB"
        else:
            assert ran.returncode == 1 and limit < least, ran.stderr
            assert re.search(r"takes [0-9]+ MiB of memory at least", ran.stderr), ran.stderr
            took = "refused"
        print(f"        --memory {limit}MiB: {took}")
        out.unlink(missing_ok=True)
    # The limit changes no bit.
    assert len(results) == 1, results


@check
def memory_of_a_strip(bench):
    bounded(bench, mapped(bench, 12_000, 12_000, blockysize=12_000, compress="deflate"), "--size", 21)
    bounded(bench, mapped(bench, 12_000, 12_000, blockysize=12_000), "--size", 21)


@check
def memory_of_a_tile(bench):
    tile = {"tiled": True, "blockxsize": 12_000, "blockysize": 12_000}
    bounded(bench, mapped(bench, 12_000, 12_000, **tile, compress="zstd", zstd_level=1))


@check
def memory_of_fractions_in_one_strip(bench):
    source = mapped(bench, 4_000, 12_000, "float64", fractions=True, blockysize=4_000, compress="deflate", predictor=3, zlevel=1)
    bounded(bench, source, "--bins", 12, "--binning", "quantile", least=1 << 20)


@check
def memory_of_eight_strips_and_threads(bench):
    source = mapped(bench, 16_000, 12_000, "float64", blockysize=2_000, compress="zstd", zstd_level=1)
    for threads in (1, 8):
        bounded(bench, source, "--threads", threads)


@check
def memory_of_a_mask_in_one_strip(bench):
    source = mapped(bench, 12_000, 12_000, tiled=True, compress="deflate")
    mask = mapped(bench, 12_000, 12_000, blockysize=12_000, compress="deflate")
    bounded(bench, source, "--mask", mask, "--levels", 12)


@check
def memory_of_columns_after_columns(bench):
    path = bench.path("npy")
    np.save(path, np.asfortranarray(patches(12_000, 12_000)))
    bounded(bench, path)


class Heard(logging.Handler):
    """What GDAL complains about."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raster-io", required=True, type=pathlib.Path)
    parser.add_argument("--halotile", required=True, type=pathlib.Path)
    parser.add_argument("only", nargs="*", help="words that the names of checks to run contain")
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    for harmless in (NotGeoreferencedWarning, DeprecationWarning, PendingDeprecationWarning):
        warnings.simplefilter("ignore", harmless)
    heard = Heard()
    logging.getLogger("rasterio").addHandler(heard)
    logging.getLogger("rasterio").propagate = False
    print(f"rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}")
    passed, failed, skipped = 0, 0, 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        if not all(word in name for word in arguments.only):
            continue
        heard.said.clear()
        try:
            with tempfile.TemporaryDirectory() as directory, rasterio.Env():
                function(Bench(pathlib.Path(directory), arguments.raster_io, arguments.halotile))
            assert not heard.said or function in LOUD, f"GDAL says: {heard.said}"
            passed += 1
            print(f"ok      {name}")
        except Skipped as why:
            skipped += 1
            print(f"skipped {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
