"""Mosaics: files side by side, by their own places and as a VRT says, beside the whole raster and what GDAL reads of the VRT."""

import numpy as np
import rasterio
from raster_bench import PLACE, cells, check, same
from raster_entropy import measured, near
from rasterio.transform import from_origin


def cut(bench, made, high, wide, **profile):
    """A raster's tiles as files, and where each begins."""
    tiles = []
    transform = PLACE["transform"]
    for top in range(0, made.shape[1], high):
        for left in range(0, made.shape[2], wide):
            part = made[:, top : top + high, left : left + wide]
            place = from_origin(transform.c + left * transform.a, transform.f + top * transform.e, transform.a, -transform.e)
            tiles.append((bench.make(part, **profile, transform=place), top, left, part.shape[1:]))
    return tiles


def vrt(bench, tiles, shape, dtype="Byte", nodata=None):
    """What `gdalbuildvrt` writes."""
    t, crs = PLACE["transform"], PLACE["crs"].to_wkt()
    kind = "SimpleSource" if nodata is None else "ComplexSource"
    text = f'<VRTDataset rasterXSize="{shape[1]}" rasterYSize="{shape[0]}">\n<SRS dataAxisToSRSAxisMapping="2,1">{crs}</SRS>\n'
    text += f"<GeoTransform> {t.c!r}, {t.a!r}, 0.0, {t.f!r}, 0.0, {t.e!r}</GeoTransform>\n"
    text += f'<VRTRasterBand dataType="{dtype}" band="1">\n' + (f"<NoDataValue>{nodata}</NoDataValue>\n" if nodata is not None else "")
    for path, top, left, (rows, cols) in tiles:
        text += f'<{kind}><SourceFilename relativeToVRT="1">{path.name}</SourceFilename><SourceBand>1</SourceBand>'
        text += f'<SourceProperties RasterXSize="{cols}" RasterYSize="{rows}" DataType="{dtype}" BlockXSize="{cols}" BlockYSize="5" />'
        text += f'<SrcRect xOff="0" yOff="0" xSize="{cols}" ySize="{rows}" /><DstRect xOff="{left}" yOff="{top}" xSize="{cols}" ySize="{rows}" />'
        text += (f"<NODATA>{nodata}</NODATA>" if nodata is not None else "") + f"</{kind}>\n"
    path = bench.path("vrt")
    path.write_text(text + "</VRTRasterBand>\n</VRTDataset>\n")
    return path


def entropies(bench, *words):
    path = bench.path()
    bench.run(bench.halotile, "entropy", *words, "-o", path, "--size", "9", "--measure", "shannon,richness")
    with rasterio.open(path) as file:
        return file.read(), file.transform, file.crs


@check
def mosaics_of_sixteen_tiles(bench):
    """The whole, the list of its tiles and a VRT of them give the same bits, halos across all seams, with no data and without."""
    for nodata in (None, 255):
        made = cells("uint8", (1, 402, 518)) if nodata else cells("uint8", (1, 402, 518)) % 9
        whole = bench.make(made, tiled=True, compress="deflate", nodata=nodata)
        tiles = cut(bench, made, 101, 130, compress="deflate", nodata=nodata)
        assert len(tiles) == 16
        expected = entropies(bench, whole)
        near(expected[0][0], measured(made[0], nodata, shape=np.ones((9, 9), bool))[0])
        virtual = vrt(bench, tiles, made.shape[1:], nodata=nodata)
        with rasterio.open(virtual) as file:
            assert same(file.read(), made)
        paths = [tile[0] for tile in tiles]
        for words in ([virtual], paths, paths[::-1], [*paths, "--memory", "160MiB", "--threads", "2"], [virtual, "--device", "emulator:2"]):
            got = entropies(bench, *words)
            if "--device" in words:
                near(got[0][0], expected[0][0])
            else:
                assert same(got[0], expected[0]), f"{words[1:]}: {(got[0] != expected[0]).sum()} cells differ"
            assert got[1].almost_equals(expected[1], 1e-6) and got[2] == expected[2], got[1:]


@check
def mosaics_with_gaps(bench):
    """Where no file is there is no data, be there a value for it or not; of a VRT without one it is 0, as GDAL has it."""
    for nodata in (None, 255):
        made = cells("uint8", (1, 200, 260)) % 9 + 1
        tiles = cut(bench, made, 50, 65, nodata=nodata)
        del tiles[6], tiles[9]
        seen = np.zeros(made.shape[1:], bool)
        for _, top, left, (rows, cols) in tiles:
            seen[top : top + rows, left : left + cols] = True
        expected = measured(np.where(seen, made[0], 0), 0, shape=np.ones((9, 9), bool))
        got, _, _ = entropies(bench, *[tile[0] for tile in tiles])
        near(got[0], expected[0])
        virtual = vrt(bench, tiles, made.shape[1:], nodata=nodata)
        with rasterio.open(virtual) as file:
            as_gdal = file.read(1)
        got, _, _ = entropies(bench, virtual)
        near(got[0], measured(as_gdal, nodata, shape=np.ones((9, 9), bool))[0])
    # A world of nothing but gaps.
    empty = vrt(bench, [], (300, 400), nodata=7)
    got, _, crs = entropies(bench, empty)
    assert np.isnan(got).all() and got.shape == (2, 300, 400) and crs == PLACE["crs"]


@check
def gaps_whatever_is_no_data(bench):
    """Gaps of a list are no data also where the value for it is NaN, none that cells can have, none of both files', or another one by option."""
    random = np.random.default_rng(3)
    for dtype, (first, second), options, valued in [
        ("float32", ("nan", "nan"), [], None),
        ("float32", (None, None), [], None),
        ("float32", (-9999, -9999), [], None),
        ("float64", (1e300, -1), [], None),
        ("int16", (None, -1), [], None),
        ("uint8", (0, 0), ["--nodata", "none"], ()),
        ("uint8", (0, 0), ["--nodata", "5"], (5,)),
        ("uint8", (0, 9), [], None),
        ("uint8", (0, 9), ["--nodata", "none"], ()),
    ]:
        parts, laid = [], np.zeros((80, 90), bool)
        for nodata, (top, left) in zip((first, second), ((0, 0), (40, 45))):
            part = random.integers(1, 5, (1, 40, 45)).astype(dtype)
            hole = float("nan") if nodata == "nan" else nodata
            if hole is not None:
                part[:, 3:9, 5:11] = hole
            if dtype.startswith("float"):
                part[:, 20:22, 5:11] = float("nan")
            place = from_origin(PLACE["transform"].c + left * 30, PLACE["transform"].f - top * 25, 30, 25)
            parts.append(bench.make(part, transform=place, nodata=hole))
            seen = np.ones(part.shape[1:], bool) & ~np.isnan(part[0].astype(float))
            if valued is None and hole is not None:
                seen &= part[0] != hole
            for value in valued or ():
                seen &= part[0] != value
            laid[top : top + 40, left : left + 45] = seen
        path = bench.path()
        bench.run(bench.halotile, "entropy", *parts, "-o", path, "--size", "1", "--type", "f32", *options)
        with rasterio.open(path) as file:
            got = ~np.isnan(file.read(1))
        assert np.array_equal(got, laid), f"{dtype}, {first}, {second}, {options}: {(got != laid).sum()} cells"
    # A value that bytes cannot have.
    tiles = cut(bench, cells("uint8", (1, 80, 90)) % 9, 40, 45)
    for path, *_ in tiles:
        path.with_name(path.name + ".aux.xml").write_text('<PAMDataset><PAMRasterBand band="1"><NoDataValue>-9999</NoDataValue></PAMRasterBand></PAMDataset>')
    got, _, _ = entropies(bench, tiles[0][0], tiles[3][0])
    assert np.isnan(got[0]).sum() == 2 * 40 * 45, np.isnan(got[0]).sum()


@check
def mosaics_with_masks_and_overlaps(bench):
    made = cells("uint8", (1, 120, 160)) % 9
    # The files overlap by 20 columns, and differ there: the last one is seen, but for its cells without data.
    left, right = made[:, :, :90].copy(), made[:, :, 70:].copy()
    right[:, :, :20] = (right[:, :, :20] + 3) % 9
    right[:, 30:60, :20] = 255
    x = PLACE["transform"].c + 70 * PLACE["transform"].a
    a = bench.make(left, nodata=255)
    b = bench.make(right, nodata=255, transform=from_origin(x, PLACE["transform"].f, 30, 25))
    laid = made.copy()
    laid[:, :, 70:] = np.where(right == 255, made[:, :, 70:], right)
    got, _, _ = entropies(bench, a, b)
    near(got[0], measured(laid[0], 255, shape=np.ones((9, 9), bool))[0])
    # A mask within a file counts.
    mask = cells("uint8", (1, 120, 90), seed=5)[0] % 5 > 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(a, "r+") as file:
        file.write_mask(mask)
    with rasterio.open(a) as file:
        assert (file.read_masks(1) > 0).sum() < mask.size
    c = bench.make(made[:, :, 90:], nodata=255, transform=from_origin(PLACE["transform"].c + 90 * 30, PLACE["transform"].f, 30, 25))
    shown = np.ones(made.shape[1:], "uint8")
    shown[:, :90] = mask
    got, _, _ = entropies(bench, a, c)
    near(got[0], measured(made[0], 255, mask=shown, shape=np.ones((9, 9), bool))[0])
    # What the mask of the upper file hides, the lower one shows.
    below = bench.make(made[:, :, :90], nodata=255)
    for paths, hidden in [((below, a), np.ones(made.shape[1:], "uint8")), ((a, below), np.ones(made.shape[1:], "uint8"))]:
        got, _, _ = entropies(bench, *paths, c)
        near(got[0], measured(made[0], 255, mask=hidden, shape=np.ones((9, 9), bool))[0])


@check
def mosaics_are_not_written_over_their_files(bench):
    made = cells("uint8", (1, 40, 50)) % 9
    tiles = cut(bench, made, 20, 50)
    before = tiles[1][0].read_bytes()
    virtual = vrt(bench, tiles, made.shape[1:])
    for words in ([virtual, tiles[1][0]], [tiles[0][0], tiles[1][0], "-o", tiles[1][0]], [tiles[0][0], tiles[1][0], "--mask", virtual]):
        words = words if "--mask" not in words else [tiles[0][0], *words[2:], "-o", tiles[1][0]]
        said = bench.fails(bench.halotile, "entropy", *words, "--overwrite")
        assert "are one file" in said or "the mask has" in said, said
        assert tiles[1][0].read_bytes() == before


@check
def mosaics_that_do_not_fit(bench):
    made = cells("uint8", (1, 40, 50)) % 9
    a = bench.make(made)
    b = bench.make(made.astype("uint16"))
    said = bench.fails(bench.halotile, "entropy", a, b, "-o", bench.path())
    assert "its numbers are u16" in said, said
    said = bench.fails(bench.halotile, "entropy", a, bench.make(made, crs="EPSG:32633"), "-o", bench.path())
    assert "EPSG:32633" in said and "EPSG:3035" in said, said
