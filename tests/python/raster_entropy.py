"""`halotile entropy` from GeoTIFF to GeoTIFF, beside what numpy counts from the definition."""

import math
import subprocess

import numpy as np
import rasterio
from raster_bench import NAMES, PLACE, TILES, Skipped, cells, check, same
from rasterio.rpc import RPC
from rasterio.windows import Window


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
def entropy_says_what_it_is(bench):
    """What was computed, of what, in which units, as `gdalinfo` shows it."""
    source = bench.make(cells("uint8") % 16, **TILES, compress="deflate", nodata=3)
    sides = {f"{side}_{of}": 5.0 for side in ("line", "samp", "lat", "long", "height") for of in ("off", "scale")}
    coefficients = {f"{side}_{part}_coeff": [0.5] * 20 for side in ("line", "samp") for part in ("num", "den")}
    with rasterio.open(source, "r+") as file:
        file.update_tags(YEAR="2024", SOURCE='made by <a> & "b"', HALOTILE_EDGE="old")
        file.update_tags(ns="OTHER", INSIDE="not ours")
        file.update_tags(1, STATISTICS_MEAN="7")
        file.rpcs = RPC(**sides, **coefficients)
    options = ["--measure", "shannon,richness,renyi:2", "--base", "2", "--edge", "reflect"]
    path, _, names = entropy(bench, source, *options, "--shape", "disk", "--size", "7", "--min-valid", "0.5")
    with rasterio.open(path) as file:
        tags, units, rpcs = file.tags(), file.units, file.rpcs
        # Not what is said of the input's numbers.
        assert set(file.tags(1)) == {f"STATISTICS_{name}" for name in ("MAXIMUM", "MEAN", "MINIMUM", "STDDEV", "VALID_PERCENT")}
        assert file.tags(1)["STATISTICS_MEAN"] != "7" and not file.tags(ns="OTHER"), file.tags(1)
    assert rpcs.line_num_coeff == [0.5] * 20 and rpcs.samp_scale == 5, rpcs
    assert (tags.pop("YEAR"), tags.pop("SOURCE")) == ("2024", 'made by <a> & "b"'), tags
    assert names == ("shannon", "richness", "renyi:2") and units == ("bits", None, "bits"), (names, units)
    assert tags.pop("TIFFTAG_SOFTWARE").startswith("halotile "), tags
    assert tags.pop("AREA_OR_POINT") == "Area"
    expected = {"INPUT": source.name, "BAND": "1", "NODATA": "3", "WINDOW": "disk, 7 x 7, 29 cells"}
    expected |= {"EDGE": "reflect", "MIN_VALID": "0.5"}
    assert tags == {f"HALOTILE_{name}": value for name, value in expected.items()}, tags
    # Names that XML has to escape; numbers without a unit.
    odd = source.with_name('a & "b" <c>é.tif')
    odd.write_bytes(source.read_bytes())
    path, _, _ = entropy(bench, odd, "--normalize", "--levels", "16", "--nodata", "none", "--fill-nodata")
    with rasterio.open(path) as file:
        tags, units = file.tags(), file.units
    assert units == (None,) and tags["HALOTILE_INPUT"] == odd.name, (units, tags)
    assert tags["HALOTILE_NODATA"] == "none" and tags["HALOTILE_LEVELS"] == "16", tags
    assert tags["HALOTILE_NORMALIZE"] == "YES" and tags["HALOTILE_FILL_NODATA"] == "YES", tags


@check
def entropy_in_whole_numbers(bench):
    """Numbers of steps, which the scale of each band turns into results; blocks that are left out are no data."""
    made = cells("uint8") % 16
    made[:, :96, :128] = 3  # One class of 16 is no data.
    source = bench.make(made, **TILES, compress="deflate", nodata=3)
    names = "shannon,richness,hill:2"
    expected = measured(made[0], 3, names.split(","))
    most = {"uint8": (254, 255), "uint16": (65534, 65535), "int16": (32767, -32768)}
    for dtype, (largest, nodata) in most.items():
        path = bench.path()
        options = ["--measure", names, "--type", NAMES[dtype], "--co", "SPARSE_OK=YES", "--co", "BLOCKXSIZE=64", "--co", "BLOCKYSIZE=48"]
        bench.run(bench.halotile, "entropy", source, path, *options)
        with rasterio.open(path) as file:
            assert set(file.dtypes) == {dtype} and set(file.nodatavals) == {nodata}, file.profile
            assert file.offsets == (0, 0, 0) and file.descriptions == tuple(names.split(",")), file.offsets
            bounds = (math.log(15), largest, 15)
            assert np.allclose(file.scales, np.array(bounds) / largest, rtol=1e-12, atol=0), file.scales
            numbers, scales = file.read(masked=True), file.scales
        for got, wanted, scale in zip(numbers, expected, scales):
            missing = np.isnan(wanted)
            assert np.array_equal(np.ma.getmaskarray(got), missing), f"{dtype}: other cells have no data"
            off = np.abs(got.data[~missing] * scale - wanted[~missing]).max()
            assert off <= (0 if scale == 1 else scale / 2 + 4e-6), f"{dtype}: {off}, and a step is {scale}"
    # In bits, and as a share of the largest value.
    for options, bound in [(["--base", "2"], math.log2(15)), (["--normalize", "--levels", "16"], 1)]:
        path = bench.path()
        bench.run(bench.halotile, "entropy", source, path, "--type", "u16", *options)
        with rasterio.open(path) as file:
            assert np.isclose(file.scales[0] * 65534, bound), file.scales
    said = bench.fails(bench.halotile, "entropy", source, bench.path(), "--type", "u8", "--measure", "richness", "--levels", "300", "--size", "21")
    assert "there may be 300 classes in a window" in said, said


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
