"""`halotile.xarray`: values are those of `halotile.entropy`, layer by layer; coordinates, attributes and the place on the earth are kept; GeoTIFFs and NetCDF
files through rioxarray and xarray, and the same GeoTIFF through the program, bit for bit.
"""

import subprocess

import numpy as np
import pytest

import halotile

xr = pytest.importorskip("xarray")

import halotile.xarray

NODATA = 250


@pytest.fixture
def cells(rng):
    """Of 12 rows and 15 columns, some without data."""
    cells = rng.integers(0, 6, (12, 15)).astype(np.uint8)
    cells[rng.random(cells.shape) < 0.1] = NODATA
    return cells


@pytest.fixture
def landcover(cells):
    coords = {
        "y": np.linspace(100.0, 12.0, 12),
        "x": np.linspace(5.0, 33.0, 15),
        "time": np.datetime64("2026-11-22", "ns"),
        "longitude": (("y", "x"), np.arange(180.0).reshape(12, 15)),
    }
    attrs = {"_FillValue": NODATA, "source": "somewhere", "units": "1", "scale_factor": 1.0, "long_name": "land cover"}
    return xr.DataArray(cells, coords, ("y", "x"), "landcover", attrs)


@pytest.fixture
def geotiff(cells, tmp_path):
    """A GeoTIFF with a place on the earth, a value that is no data, and two bands, the second of which is the first upside down."""
    rasterio = pytest.importorskip("rasterio")
    pytest.importorskip("rioxarray")
    path = tmp_path / "landcover.tif"
    shape = {"driver": "GTiff", "width": 15, "height": 12, "count": 2, "dtype": "uint8"}
    place = {"crs": "EPSG:32633", "transform": rasterio.Affine(30.0, 0.0, 400_000.0, 0.0, -30.0, 5_000_000.0)}
    with rasterio.open(path, "w", nodata=NODATA, **shape, **place) as file:
        file.write(np.stack([cells, cells[::-1]]))
    return path


def same(got, expected):
    """Equal bit for bit, but for the bits of NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    bits = f"u{got.itemsize}"
    both = np.isnan(got) & np.isnan(expected)
    assert (both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(expected).view(bits))).all()


# Arrays.


def test_what_is_kept_and_what_is_not(landcover, cells):
    before = landcover.copy(deep=True)
    h = halotile.xarray.entropy(landcover, 3, base=2)
    same(h, halotile.entropy(cells, 3, base=2, nodata=NODATA))
    assert h.dims == ("y", "x") and h.name == "shannon"
    assert set(h.coords) == {"y", "x", "time", "longitude"}
    for name in h.coords:
        xr.testing.assert_identical(h.coords[name].variable, landcover.coords[name].variable)
    made = {"TIFFTAG_SOFTWARE": f"halotile {halotile.__version__}", "HALOTILE_NODATA": "250", "HALOTILE_EDGE": "shrink"}
    made |= {"HALOTILE_WINDOW": "square, 3 x 3, 9 cells", "long_name": "shannon", "units": "bits"}
    assert h.attrs == {"source": "somewhere"} | made
    assert np.isnan(h.encoding["_FillValue"]) and h.encoding["_FillValue"].dtype == np.float32
    xr.testing.assert_identical(landcover, before)


@pytest.mark.parametrize(
    "options, units",
    [
        ({}, "nats"),
        ({"base": 2}, "bits"),
        ({"base": 10, "measure": "renyi:2"}, "hartleys"),
        ({"base": "2"}, "bits"),
        ({"measure": "simpson"}, None),
        ({"measure": "hill:1"}, None),
        ({"measure": ["shannon"]}, None),
        ({"normalize": True, "levels": 6}, None),
    ],
    ids=str,
)
def test_units(landcover, options, units):
    assert landcover.halotile.entropy(3, **options).attrs.get("units") == units


@pytest.mark.parametrize(
    "options, says",
    [
        ({"bins": 4}, {"BINS": "4, equal"}),
        ({"bins": 4, "binning": "quantile"}, {"BINS": "4, quantile"}),
        ({"bins": [1.5, 3]}, {"BINS": "3, edges"}),
        ({"levels": 7, "normalize": True}, {"LEVELS": 7, "NORMALIZE": "YES"}),
        ({"classes": {"*": "a", 3: "b"}, "mask": np.ones((12, 15))}, {"CLASSES": "mapping", "MASK": "array"}),
        ({"min_valid": 0.5, "fill_nodata": True}, {"MIN_VALID": 0.5, "FILL_NODATA": "YES"}),
        ({"footprint": [[1, 1, 0]], "edge": "reflect"}, {"WINDOW": "footprint, 1 x 3, 2 cells", "EDGE": "reflect"}),
    ],
    ids=str,
)
def test_what_was_computed_is_said(landcover, options, says):
    landcover.attrs |= {"HALOTILE_INPUT": "of another run", "STATISTICS_MEAN": 3.0}
    attrs = landcover.halotile.entropy(3, **options).attrs
    made = {"NODATA": "250", "WINDOW": "square, 3 x 3, 9 cells", "EDGE": "shrink"} | says
    names = ("HALOTILE_", "STATISTICS_")
    assert {name: value for name, value in attrs.items() if name.startswith(names)} == {
        f"HALOTILE_{name}": value for name, value in made.items()
    }


@pytest.mark.parametrize(
    "nodata, said",
    [(None, "none"), (250, "250"), (250.0, "250"), (0.5, "0.5"), (np.nan, "nan"), (-9999, "-9999"), (True, "1")]
    + [(float(np.finfo(np.float32).min), "-340282346638528860000000000000000000000")],
    ids=str,
)
def test_no_data_is_said_as_the_program_says_it(cells, nodata, said):
    assert xr.DataArray(cells).halotile.entropy(nodata=nodata).attrs["HALOTILE_NODATA"] == said


def test_the_accessor_is_the_function(landcover):
    options = {"footprint": "disk", "edge": "reflect", "dtype": "float64", "min_valid": 0.5, "measure": "evenness"}
    xr.testing.assert_identical(landcover.halotile.entropy(5, **options), halotile.xarray.entropy(landcover, 5, **options))


@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
def test_no_data_is_what_the_array_says(cells, name):
    array = xr.DataArray(cells, attrs={name: np.uint8(NODATA)})
    same(array.halotile.entropy(), halotile.entropy(cells, nodata=NODATA))
    # What is asked for comes first.
    same(array.halotile.entropy(nodata=2), halotile.entropy(cells, nodata=2))
    same(xr.DataArray(cells).halotile.entropy(), halotile.entropy(cells))


def test_masked_cells_are_no_data(cells):
    masked = xr.DataArray(cells).where(cells != NODATA)
    assert masked.dtype.kind == "f"
    same(masked.halotile.entropy(), halotile.entropy(cells, nodata=NODATA))


def test_several_measures_are_a_dimension(landcover, cells):
    names = ["richness", "hill:2"]
    h = landcover.halotile.entropy(5, measure=names, dtype="float64")
    assert h.dims == ("measure", "y", "x") and h.name == "diversity" and list(h.coords["measure"].values) == names
    same(h, halotile.entropy(cells, 5, measure=names, nodata=NODATA, dtype="float64"))
    same(h.sel(measure="hill:2"), halotile.entropy(cells, 5, measure="hill:2", nodata=NODATA, dtype="float64"))


def test_dimensions_by_name(landcover, cells):
    h = landcover.halotile.entropy(footprint=[[1, 1, 1, 1, 1]], dim=("x", "y"))
    assert h.dims == ("x", "y")
    same(h, halotile.entropy(cells.T, footprint=[[1, 1, 1, 1, 1]], nodata=NODATA))
    xr.testing.assert_identical(h.coords["x"], landcover.coords["x"].drop_vars("time").assign_coords(time=landcover.time))


@pytest.mark.parametrize("measure", ["shannon", ["shannon", "simpson"]], ids=str)
def test_layers_one_by_one(rng, measure):
    # Every layer has classes of its own: together there are more than 256.
    cells = rng.integers(0, 5, (2, 3, 7, 9)) + 1000 * np.arange(6).reshape(2, 3, 1, 1) + 100 * np.arange(9)
    array = xr.DataArray(cells, dims=("time", "band", "y", "x"), coords={"time": [10, 20], "band": ["r", "g", "b"]})
    h = array.halotile.entropy(3, measure=measure)
    assert h.dims == (() if measure == "shannon" else ("measure",)) + array.dims
    for time in range(2):
        for band in range(3):
            same(h.isel(time=time, band=band), halotile.entropy(cells[time, band], 3, measure=measure))
    assert list(h.coords["band"].values) == ["r", "g", "b"]


def test_layers_that_are_no_first_dimension(rng):
    cells = rng.integers(0, 5, (7, 9, 2))
    h = xr.DataArray(cells, dims=("y", "x", "band")).halotile.entropy(3, dim=("y", "x"))
    assert h.dims == ("band", "y", "x")
    for band in range(2):
        same(h.isel(band=band), halotile.entropy(cells[..., band], 3))


def test_masks(landcover, cells, rng):
    mask = rng.random(cells.shape) < 0.7
    expected = halotile.entropy(cells, mask=mask, nodata=NODATA)
    same(landcover.halotile.entropy(mask=mask), expected)
    same(landcover.halotile.entropy(mask=xr.DataArray(mask, dims=("y", "x"))), expected)
    # By names of dimensions, not by their order.
    same(landcover.halotile.entropy(mask=xr.DataArray(mask.T, dims=("x", "y"))), expected)


def test_masks_of_layers(rng):
    cells, masks = rng.integers(0, 5, (3, 7, 9)), rng.random((3, 7, 9)) < 0.7
    array = xr.DataArray(cells, dims=("band", "y", "x"))
    for mask, of in [(masks, lambda band: masks[band]), (masks[0], lambda band: masks[0])]:
        for given in (mask, xr.DataArray(mask, dims=array.dims[-mask.ndim :])):
            h = array.halotile.entropy(3, mask=given)
            for band in range(3):
                same(h[band], halotile.entropy(cells[band], 3, mask=of(band)))


@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("measure", ["shannon", ["shannon", "hill:0"]], ids=str)
def test_arrays_of_dask_s_stay_lazy(rng, layers, measure):
    da = pytest.importorskip("dask.array")
    cells = rng.integers(0, 5, (2, 17, 19))
    seen = []
    lazy = da.from_array(cells, chunks=(1, 5, 8)).map_blocks(lambda block: (seen.append(1), block)[1], dtype=cells.dtype, meta=np.empty((0, 0, 0), cells.dtype))
    array = xr.DataArray(lazy, dims=("band", "y", "x"), coords={"x": np.arange(19.0)}, attrs={"_FillValue": 3})
    array = array if layers else array.isel(band=0)
    mask = rng.random((17, 19)) < 0.9
    h = array.halotile.entropy(7, levels=5, mask=mask, measure=measure, edge="symmetric")
    assert not seen and h.chunks is not None
    expected = array.compute().halotile.entropy(7, levels=5, mask=mask, measure=measure, edge="symmetric")
    xr.testing.assert_identical(h.compute(scheduler="synchronous"), expected)
    first = expected[..., 0, :, :] if layers else expected
    same(first, halotile.entropy(cells[0], 7, levels=5, nodata=3, mask=mask, measure=measure, edge="symmetric"))


@pytest.mark.parametrize(
    "how, error, message",
    [
        ({"dim": ("y", "z")}, ValueError, r"dim=\('y', 'z'\): two of the array's dimensions"),
        ({"dim": ("y", "y")}, ValueError, "dim="),
        ({"dim": ("y",)}, ValueError, "dim="),
        ({"mask": np.ones((3, 4))}, ValueError, r"mask: its shape is \(3, 4\), and the array's \(12, 15\)"),
        ({"size": 4}, ValueError, "size=4"),
        ({"out": np.empty((12, 15), np.float32)}, TypeError, "out"),
    ],
    ids=str,
)
def test_what_is_refused(landcover, how, error, message):
    with pytest.raises(error, match=message):
        landcover.halotile.entropy(**how)


def test_arrays_that_are_not_xarray_s(cells):
    with pytest.raises(TypeError, match="array: a DataArray, not ndarray"):
        halotile.xarray.entropy(cells)


def test_arrays_without_two_dimensions():
    with pytest.raises(ValueError, match="dim"):
        halotile.xarray.entropy(xr.DataArray([1, 2, 3]))


# Files.


@pytest.mark.parametrize("how", [{}, {"masked": True}, {"chunks": {"x": 4, "y": 5}}, {"masked": True, "chunks": {"x": 4, "y": 5}}], ids=str)
def test_geotiffs(geotiff, cells, tmp_path, how):
    rioxarray = pytest.importorskip("rioxarray")
    import rasterio

    result = tmp_path / "entropy.tif"
    with rioxarray.open_rasterio(geotiff, **how) as array:
        h = array.halotile.entropy(5)
        assert h.dims == ("band", "y", "x") and (h.chunks is not None) == ("chunks" in how)
        assert h.rio.crs == array.rio.crs and h.rio.transform() == array.rio.transform()
        assert np.isnan(h.rio.nodata)
        h.rio.to_raster(result)
    expected = np.stack([halotile.entropy(layer, 5, nodata=NODATA) for layer in (cells, cells[::-1])])
    with rasterio.open(geotiff) as before, rasterio.open(result) as after:
        assert (after.crs, after.transform, after.shape, after.count) == (before.crs, before.transform, before.shape, 2)
        assert after.crs.to_epsg() == 32633 and after.dtypes == ("float32", "float32")
        assert np.isnan(after.nodata)
        same(after.read(), expected)
    with rioxarray.open_rasterio(result) as reopened:
        xr.testing.assert_equal(reopened.drop_vars("band"), h.compute().drop_vars("band"))


def test_one_band_of_a_geotiff(geotiff, cells, tmp_path):
    rioxarray = pytest.importorskip("rioxarray")
    with rioxarray.open_rasterio(geotiff) as array:
        h = array.sel(band=1, drop=True).halotile.entropy(5, measure="simpson")
    assert h.dims == ("y", "x") and h.rio.crs.to_epsg() == 32633
    same(h, halotile.entropy(cells, 5, measure="simpson", nodata=NODATA))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "options, flags",
    [
        ({}, []),
        ({"size": 7, "edge": "symmetric", "base": 2}, ["--size", 7, "--edge", "symmetric", "--base", 2]),
        ({"size": 9, "footprint": "disk", "measure": "hill:2"}, ["--size", 9, "--shape", "disk", "--measure", "hill:2"]),
    ],
    ids=["plain", "mirrored", "disk"],
)
def test_the_program_has_the_same_results(program, geotiff, tmp_path, masked, options, flags):
    rioxarray = pytest.importorskip("rioxarray")
    result = tmp_path / "by-program.tif"
    command = [program, "entropy", geotiff, result, "--band", 1, "--quiet", "--device", "cpu", *flags]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with rioxarray.open_rasterio(geotiff, masked=masked) as array, rioxarray.open_rasterio(result) as theirs:
        h = array.sel(band=1).halotile.entropy(device="cpu", **options)
        same(h, theirs.sel(band=1))
        assert (h.rio.crs, h.rio.transform()) == (theirs.rio.crs, theirs.rio.transform())
        assert np.isnan(h.rio.nodata) and np.isnan(theirs.rio.nodata)
        ours, said = (
            {name: str(value) for name, value in each.attrs.items() if name.startswith(("HALOTILE_", "TIFFTAG_", "long_name", "units"))}
            for each in (h, theirs)
        )
        # What the program alone knows; and what xarray has masked is NaN, and nothing is left to be said.
        for name in ("HALOTILE_INPUT", "HALOTILE_BAND", *(["HALOTILE_NODATA"] if masked else [])):
            ours.pop(name, None), said.pop(name)
        assert ours == said


def test_netcdf(landcover, tmp_path):
    pytest.importorskip("scipy")
    h = landcover.halotile.entropy(3, measure=["shannon", "simpson"])
    h.to_netcdf(tmp_path / "entropy.nc", engine="scipy")
    with xr.open_dataarray(tmp_path / "entropy.nc", engine="scipy") as reopened:
        same(reopened.astype(reopened.dtype.newbyteorder("=")), h)
        assert reopened.name == "diversity" and reopened.attrs["source"] == "somewhere"
        assert [str(name) for name in reopened["measure"].values] == ["shannon", "simpson"]


def test_netcdf_and_back_again(landcover, cells, tmp_path):
    pytest.importorskip("scipy")
    # As files have it: what is no data is written from the encoding, and masked when it is read.
    stored = landcover.astype(np.int16).drop_attrs(deep=False)
    stored.encoding["_FillValue"] = np.int16(NODATA)
    stored.to_netcdf(tmp_path / "landcover.nc", engine="scipy")
    for masked in (False, True):
        with xr.open_dataarray(tmp_path / "landcover.nc", engine="scipy", mask_and_scale=masked) as array:
            same(array.halotile.entropy(3), halotile.entropy(cells, 3, nodata=NODATA))
