"""Cloud Optimized GeoTIFFs, overviews, and what numbers of a band are alike, as rasterio (GDAL) and rio-cogeo see them."""

import struct

import numpy as np
import rasterio
from raster_bench import cells, check, same
from rasterio.windows import Window
from rio_cogeo import cog_validate

# Names and what numpy computes.
ALIKE = {"MAXIMUM": np.max, "MEAN": np.mean, "MINIMUM": np.min, "STDDEV": np.std}


def averaged(level):
    """The averages of 2 x 2 cells that have data."""
    bands, rows, cols = level.shape
    whole = np.full((bands, rows + rows % 2, cols + cols % 2), np.nan)
    whole[:, :rows, :cols] = level
    fours = whole.reshape(bands, (rows + 1) // 2, 2, (cols + 1) // 2, 2)
    counts = (~np.isnan(fours)).sum((2, 4))
    return np.where(counts > 0, np.nansum(fours, (2, 4)) / np.maximum(counts, 1), np.nan)


def results(path, level=None):
    """The results that a file's numbers stand for, NaN without data."""
    with rasterio.open(path) as file:
        # GDAL does not pass these on to overviews.
        scales = np.array(file.scales)[:, None, None]
    with rasterio.open(path, **({} if level is None else {"overview_level": level})) as file:
        return np.ma.filled(file.read(masked=True).astype("float64") * scales, np.nan), scales


def overviews(path, average=True, within=2e-7):
    """All levels are there, and each is made of the one below."""
    with rasterio.open(path) as file:
        counts, shape = {len(file.overviews(band)) for band in file.indexes}, file.shape
    expected = 0
    while max(shape) > 512:
        shape = tuple((side + 1) // 2 for side in shape)
        expected += 1
    assert counts == {expected}, counts
    below, scales = results(path)
    for level in range(expected):
        got, _ = results(path, level)
        wanted = averaged(below) if average else below[:, ::2, ::2]
        assert got.shape == wanted.shape and np.array_equal(np.isnan(got), np.isnan(wanted)), f"level {level}"
        # Averages are of results as they were computed: those below are half a step off, and so is what became of them.
        steps = np.where(scales == 1, 0 if within else 1, scales)
        off = np.abs(got - wanted) - 1.001 * steps - within * np.abs(wanted)
        assert np.nanmax(off, initial=-1) <= within, f"level {level}: {np.nanmax(off)} off"
        below = got
    return expected


def led_and_trailed(path):
    """Blocks lie one after the other, from the smallest overview to the whole, each between its length and its last bytes."""
    raw = path.read_bytes()
    with rasterio.open(path) as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG", file.tags(ns="IMAGE_STRUCTURE")
        levels = [None, *range(len(file.overviews(1)))]
        count = file.count
    at = None
    for level in reversed(levels):
        with rasterio.open(path, **({} if level is None else {"overview_level": level})) as file:
            high, wide = file.block_shapes[0]
            down, across = -(-file.height // high), -(-file.width // wide)
        with rasterio.open(path) as file:
            ovr = {} if level is None else {"ovr": level}
            for band in range(1, count + 1):
                for row in range(down):
                    for col in range(across):
                        item = lambda name: file.get_tag_item(f"{name}_{col}_{row}", "TIFF", bidx=band, **ovr)
                        place, size = item("BLOCK_OFFSET"), item("BLOCK_SIZE")
                        if place is None:
                            continue  # Left out.
                        place, size = int(place), int(size)
                        assert at is None or place == at + 4, f"block {row}, {col} of band {band}, level {level}: at {place}, not {at + 4}"
                        assert struct.unpack_from("<I", raw, place - 4) == (size,)
                        assert raw[place + size - 4 : place + size] == raw[place + size : place + size + 4]
                        at = place + size + 4
    assert at == len(raw), f"{len(raw) - at} bytes follow"


def alike(path):
    """What GDAL's metadata say of the numbers is what numpy computes of them."""
    with rasterio.open(path) as file:
        for band in range(1, file.count + 1):
            numbers, tags = file.read(band, masked=True), file.tags(band)
            there = numbers.compressed().astype("float64")
            said = {name: float(tags[f"STATISTICS_{name}"]) for name in ALIKE} if there.size else {}
            for name, value in said.items():
                wanted = ALIKE[name](there)
                assert np.isclose(value, wanted, rtol=1e-9, atol=1e-12), f"band {band}, {name}: {value}, not {wanted}"
            share = 100 * there.size / numbers.size
            assert np.isclose(float(tags["STATISTICS_VALID_PERCENT"]), share, atol=1e-4), (tags, share)
            assert there.size or len(tags) == 1, tags


@check
def cogs_of_every_kind(bench):
    made = cells("uint8", (1, 1203, 1530)) % 7
    made[:, :300, :700] = 3  # No data, more than a block of it.
    source = bench.make(made, tiled=True, compress="deflate", nodata=3)
    measures = ["--measure", "shannon,richness"]
    for options in [
        [],
        ["--of", "geotiff", "--co", "LAYOUT=COG", "--co", "COMPRESS=NONE", *measures],
        ["--co", "BIGTIFF=YES", "--co", "COMPRESS=ZSTD", "--co", "BLOCKSIZE=256", "--co", "LEVEL=3", *measures],
        ["--co", "SPARSE_OK=YES", "--co", "BLOCKSIZE=128", "--precision", "f64", "--co", "PREDICTOR=YES"],
        ["--co", "COMPRESS=LZW", "--type", "u16", "--measure", "shannon,simpson"],
        ["--type", "u8", "--size", "21", "--co", "SPARSE_OK=YES", "--co", "BLOCKXSIZE=64", "--co", "BLOCKYSIZE=128"],
        ["--measure", "richness", "--co", "OVERVIEW_RESAMPLING=NEAREST"],
    ]:
        path = bench.path()
        bench.run(bench.halotile, "entropy", source, path, *([] if "--of" in options else ["--of", "COG"]), *options)
        valid, errors, warnings = cog_validate(path, strict=True, quiet=True)
        assert valid, (options, errors, warnings)
        assert overviews(path, average="OVERVIEW_RESAMPLING=NEAREST" not in options) == 2, options
        led_and_trailed(path)
        alike(path)
        # The same results as a plain file's.
        plain = bench.path()
        changed = {"LAYOUT=COG", "OVERVIEW_RESAMPLING=NEAREST"}
        ours = [word for word, after in zip(options, [*options[1:], ""]) if word not in changed and after not in changed]
        bench.run(bench.halotile, "entropy", source, plain, *ours)
        with rasterio.open(path) as cog, rasterio.open(plain) as other:
            assert same(cog.read(), other.read()), options
            assert cog.tags() == other.tags() and cog.transform == other.transform and cog.crs == other.crs
            assert not other.overviews(1) and [cog.tags(b) for b in cog.indexes] == [other.tags(b) for b in other.indexes]


@check
def cogs_of_odd_shapes(bench):
    for rows, cols in [(1, 1), (1, 5000), (2500, 3), (513, 1025)]:
        source = bench.make(cells("uint8", (1, rows, cols)) % 9)
        path = bench.path()
        bench.run(bench.halotile, "entropy", source, path, "--of", "cog", "--size", "9")
        valid, errors, warnings = cog_validate(path, strict=True, quiet=True)
        assert valid, (rows, cols, errors, warnings)
        overviews(path)
        led_and_trailed(path)
        alike(path)


@check
def cogs_of_classes(bench):
    path = bench.path()
    grid = ["--rows", "1100", "--cols", "700", "--pattern", "clustered", "--seed", "5"]
    bench.run(bench.halotile, "generate", "grid", path, *grid, "--co", "LAYOUT=COG")
    valid, errors, warnings = cog_validate(path, strict=True, quiet=True)
    assert valid, (errors, warnings)
    # Classes have no average.
    assert overviews(path, average=False) == 2
    led_and_trailed(path)


@check
def overviews_of_other_files(bench):
    source = bench.make(cells("uint8", (1, 1203, 830)) % 7, tiled=True, compress="deflate", nodata=3)
    path = bench.path()
    bench.run(bench.halotile, "entropy", source, path, "--co", "OVERVIEWS=AUTO", "--co", "STATISTICS=NO", "--measure", "shannon,hill:2")
    assert overviews(path) == 2
    with rasterio.open(path) as file:
        assert "LAYOUT" not in file.tags(ns="IMAGE_STRUCTURE") and not file.tags(1), file.tags(1)
    said = bench.fails(bench.halotile, "entropy", source, bench.path(), "--of", "cog", "--co", "TILED=NO")
    assert "a COG and overviews have tiles" in said, said


@check
def numbers_of_nothing_but_gaps(bench):
    source = bench.make(np.full((1, 700, 600), 9, "uint8"), nodata=9)
    path = bench.path()
    bench.run(bench.halotile, "entropy", source, path, "--of", "cog", "--co", "SPARSE_OK=YES")
    valid, errors, _ = cog_validate(path, quiet=True)
    assert valid, errors
    alike(path)
    with rasterio.open(path) as file:
        assert np.isnan(file.read(1, window=Window(0, 0, 600, 700))).all() and file.overviews(1) == [2]
    assert path.stat().st_size < 4000, path.stat().st_size
