"""What the checks of GeoTIFFs share: the programs under test, files that rasterio makes, and comparisons."""

import json
import math
import os
import subprocess

import numpy as np
import rasterio
from rasterio.crs import CRS
from rasterio.transform import from_origin

CHECKS = []
# Checks of files about which GDAL has something to say.
LOUD = []
PLACE = {"crs": CRS.from_epsg(3035), "transform": from_origin(4_321_000.5, 3_210_000.25, 30, 25)}
TILES = {"tiled": True, "blockxsize": 64, "blockysize": 48}
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
