"""What says that cells have no data, and where they lie: masks, alpha, and files beside the raster.

`--size 1 --measure richness` gives 1 wherever there is data.
"""

import math

import numpy as np
import rasterio
from raster_bench import PLACE, TILES, cells, check
from rasterio.crs import CRS
from rasterio.enums import ColorInterp
from rasterio.transform import from_origin


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
        got = file.read_masks(1) == 0
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
            assert np.array_equal(file.read_masks(1) == 0, missing), options


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
