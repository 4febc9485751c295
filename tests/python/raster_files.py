"""GeoTIFFs that rasterio makes, read by the library; results of the library, read by rasterio."""

import logging
import math
import time

import numpy as np
import odd_tiffs
import rasterio
from raster_bench import PLACE, TILES, cells, check, compare, keeps_place, loud, same
from rasterio.crs import CRS
from rasterio.transform import Affine, from_origin
from rasterio.windows import Window


def reads(name, dtype, shape=(1, 203, 317), high=None, **profile):
    """Adds a check that files of a kind are read."""

    def run(bench):
        made = cells(dtype, shape, high)
        path = bench.make(made, **profile)
        compare(bench, path, made)
        keeps_place(bench, path)

    run.__name__ = f"read: {name}"
    check(run)


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
