"""What memory runs take, whatever the blocks of their files.

At most what `--memory` allows and 16 MiB, as the operating system saw it, or a refusal that names the least.
"""

import json
import re
import zlib

import numpy as np
import rasterio
from raster_bench import PLACE, check
from rasterio.windows import Window


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
        ran = bench.ended(bench.halotile, "entropy", source, "-o", out, "--memory", f"{limit}MiB", "--device", "cpu", "--json", "-q", *options)
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
def memory_of_a_cog(bench):
    source = mapped(bench, 9_000, 16_000, tiled=True, blockxsize=512, blockysize=512, compress="deflate")
    bounded(bench, source, "--of", "cog", "--measure", "shannon,richness")


@check
def memory_of_a_mosaic(bench):
    whole = mapped(bench, 9_000, 8_000, tiled=True, blockxsize=512, blockysize=512, compress="deflate")
    stored = {"driver": "GTiff", "dtype": "uint8", "count": 1, "compress": "deflate", "tiled": True, "blockxsize": 512, "blockysize": 512}
    for high, wide in [(2_250, 1_000), (250, 8_000)]:
        tiles = []
        with rasterio.open(whole) as file:
            for top in range(0, 9_000, high):
                for left in range(0, 8_000, wide):
                    window = Window(left, top, wide, high)
                    place = {"crs": file.crs, "transform": file.window_transform(window)}
                    tiles.append(bench.path())
                    with rasterio.open(tiles[-1], "w", height=high, width=wide, **stored, **place) as tile:
                        tile.write(file.read(1, window=window), 1)
        bounded(bench, tiles[0], *tiles[1:], "--size", "21")


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
