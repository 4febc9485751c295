"""The package as a whole: modules that are loaded on first use, arrays that are handed to the module that is for them, signatures that have every option,
and the lock files by which workers share the GPUs of a machine.
"""

import importlib.util
import inspect
import logging
import os
import pathlib
import stat

import numpy as np
import pytest

import halotile
from halotile import _workers

NODATA = 250


@pytest.fixture
def cells(rng):
    """Some without data."""
    cells = rng.integers(0, 6, (12, 15)).astype(np.uint8)
    cells[rng.random(cells.shape) < 0.1] = NODATA
    return cells


def same(got, expected):
    """Equal bit for bit, but for the bits of NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    bits = f"u{got.itemsize}"
    both = np.isnan(got) & np.isnan(expected)
    assert (both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(expected).view(bits))).all()


# Modules.


@pytest.mark.parametrize("name, package", [("dask", "dask"), ("xarray", "xarray"), ("skimage", "skimage"), ("csgraph", "scipy")])
def test_modules_are_loaded_on_first_use(in_new_process, name, package):
    pytest.importorskip(package)
    said = in_new_process(
        f"""
        import sys
        import halotile
        print("halotile.{name}" in sys.modules, {package!r} in sys.modules, {name!r} in dir(halotile))
        print(halotile.{name}.__name__, halotile.{name} is sys.modules["halotile.{name}"])
        """
    )
    assert said.splitlines() == ["False False True", f"halotile.{name} True"]


def test_modules_whose_packages_are_not_there_are_not_listed(in_new_process):
    said = in_new_process(
        """
        import importlib.util, inspect, sys
        import halotile
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "dask" else found(name, *rest)
        sys.modules["dask"] = None
        print("dask" in dir(halotile), len(inspect.getmembers(halotile)) > 0)
        try:
            halotile.dask
        except ModuleNotFoundError as error:
            print("dask" in str(error))
        """
    )
    assert said.splitlines() == ["False True", "True"]


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'halotile' has no attribute 'dusk'"):
        halotile.dusk
    assert not hasattr(halotile, "numpy_") and {"entropy", "apsp", "__version__"} <= set(dir(halotile))


# Arrays of other libraries.


def test_a_data_array_gives_a_data_array(cells):
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(cells, dims=("y", "x"), coords={"x": np.arange(15.0)}, attrs={"_FillValue": np.uint8(NODATA)})
    got = halotile.entropy(array, 3, base=2)
    assert isinstance(got, xr.DataArray) and got.attrs["units"] == "bits"
    xr.testing.assert_identical(got, halotile.xarray.entropy(array, 3, base=2))
    # What has no data is what the array says.
    same(got, halotile.entropy(cells, 3, base=2, nodata=NODATA))
    same(halotile.entropy(array=array, size=7, out=None), halotile.entropy(cells, 7, nodata=NODATA))


def test_a_dask_array_gives_a_dask_array_that_is_not_computed(cells):
    da = pytest.importorskip("dask.array")
    seen = []
    array = da.from_array(cells, chunks=6).map_blocks(lambda block: (seen.append(1), block)[1], dtype=cells.dtype, meta=np.empty((0, 0), "u1"))
    got = halotile.entropy(array, 3, levels=6, nodata=NODATA)
    assert isinstance(got, da.Array) and not seen
    same(got.compute(scheduler="synchronous"), halotile.entropy(cells, 3, levels=6, nodata=NODATA))


def test_a_data_array_over_dask_stays_lazy(cells):
    xr, da = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    got = halotile.entropy(xr.DataArray(da.from_array(cells, chunks=6), attrs={"missing_value": NODATA}), levels=6)
    assert isinstance(got, xr.DataArray) and isinstance(got.data, da.Array)
    same(got, halotile.entropy(cells, nodata=NODATA))


def test_what_such_arrays_have_no_place_for_is_refused(cells):
    xr = pytest.importorskip("xarray")
    for name, value in [("out", np.empty(cells.shape, "f4")), ("progress", print)]:
        with pytest.raises(TypeError, match=f"{name}: arrays of this type take none"):
            halotile.entropy(xr.DataArray(cells), **{name: value})
    with pytest.raises(TypeError, match=r"array: it is a Dataset of xarray's.*give one, such as array\["):
        halotile.entropy(xr.Dataset({"landcover": (("y", "x"), cells)}))
    with pytest.raises(TypeError, match="array: it is a Variable of xarray's; give a DataArray"):
        halotile.entropy(xr.Variable(("y", "x"), cells))


def test_neither_package_is_imported_for_arrays_of_numpy_s(in_new_process):
    said = in_new_process(
        """
        import sys
        import halotile, numpy
        halotile.entropy(numpy.zeros((3, 3)), mask=[[1, 1, 1]] * 3)
        print("xarray" in sys.modules, "dask" in sys.modules)
        """
    )
    assert said == "False False\n"


@pytest.mark.parametrize("kind", ["numpy", "xarray", "dask"])
def test_a_mask_with_labels_has_no_data_where_it_says_so(cells, kind):
    xr = pytest.importorskip("xarray")
    over = np.ones(cells.shape, "u1")
    over[2:5] = 0
    over[8:] = 255
    mask = xr.DataArray(over, dims=("y", "x"), attrs={"_FillValue": 255})
    array = {"numpy": lambda: cells, "xarray": lambda: xr.DataArray(cells, dims=("y", "x"))}
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        array["dask"] = lambda: da.from_array(cells, chunks=6)
    same(halotile.entropy(array[kind](), mask=mask, nodata=NODATA), halotile.entropy(cells, mask=over == 1, nodata=NODATA))


def test_a_mask_that_lies_elsewhere_is_refused(cells):
    xr = pytest.importorskip("xarray")

    def at(values, x):
        return xr.DataArray(values, dims=("y", "x"), coords={"x": x + 30.0 * np.arange(15)})

    array, mask = at(cells, 400_000.0), np.ones(cells.shape, "u1")
    same(array.halotile.entropy(mask=at(mask, 400_000.2)), array.halotile.entropy())
    with pytest.raises(ValueError, match="mask: its coordinates x are 500000.0 to 500420.0, and the array's 400000.0 to 400420.0; give a mask of"):
        array.halotile.entropy(mask=at(mask, 500_000.0))
    # A mask without coordinates is one of the same cells.
    same(array.halotile.entropy(mask=mask), array.halotile.entropy(mask=xr.DataArray(mask, dims=("y", "x"))))


# Signatures.


OPTIONS = list(inspect.signature(halotile.entropy).parameters)


def functions():
    """Functions that take the options of `entropy`, by what users call them."""
    yield "halotile.entropy", halotile.entropy
    there = [package for package in ("dask", "xarray") if importlib.util.find_spec(package) is not None]
    for package in there:
        yield f"halotile.{package}.entropy", importlib.import_module(f"halotile.{package}").entropy
    if "xarray" in there:
        import xarray as xr

        yield "DataArray.halotile.entropy", xr.DataArray(np.zeros((3, 3), "u1")).halotile.entropy


@pytest.mark.parametrize("name, function", [pytest.param(*each, id=each[0]) for each in functions()])
def test_signatures_have_every_option(name, function):
    parameters = inspect.signature(function).parameters
    assert not any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in parameters.values())
    assert set(OPTIONS) - {"array", "out", "progress"} <= set(parameters)
    for one in parameters.values():
        if one.name in OPTIONS:
            assert one.default == inspect.signature(halotile.entropy).parameters[one.name].default, one


@pytest.mark.parametrize("name, function", [pytest.param(*each, id=each[0]) for each in functions()])
def test_misspelt_options_are_told_by_the_function_that_was_called(name, function):
    arguments = {"halotile.entropy": [[[1]]], "DataArray.halotile.entropy": []}.get(name)
    if name == "halotile.dask.entropy":
        arguments = [pytest.importorskip("dask.array").zeros((3, 3), dtype="u1")]
    elif name == "halotile.xarray.entropy":
        arguments = [pytest.importorskip("xarray").DataArray(np.zeros((3, 3), "u1"))]
    for wrong, meant in [("mesure", "; did you mean 'measure'?"), ("no_data", "; did you mean 'nodata'?"), ("zzzz", "")]:
        with pytest.raises(TypeError) as caught:
            function(*arguments, **{wrong: 1})
        assert str(caught.value) == f"{name}() got an unexpected keyword argument '{wrong}'{meant}"


def test_misspelt_options_of_handed_arrays_are_told_too(cells):
    xr = pytest.importorskip("xarray")
    for option in ("mesure", "dim"):
        with pytest.raises(TypeError, match=rf"^halotile\.entropy\(\) got an unexpected keyword argument '{option}'"):
            halotile.entropy(xr.DataArray(cells), **{option: "shannon"})


def test_misspelt_options_of_other_functions():
    with pytest.raises(TypeError, match=r"^halotile\.apsp\(\) got an unexpected keyword argument 'wieght'; did you mean 'weight'\?$"):
        halotile.apsp([[0]], wieght="i32")
    if "csgraph" in dir(halotile):
        with pytest.raises(TypeError, match=r"^halotile\.csgraph\.floyd_warshall\(\) got .* 'unweigthed'; did you mean 'unweighted'\?$"):
            halotile.csgraph.floyd_warshall([[0]], unweigthed=True)
    with pytest.raises(TypeError, match=r"^halotile\.skimage\.entropy\(\) got .* 'footprnt'; did you mean 'footprint'\?$"):
        halotile.skimage.entropy(np.zeros((3, 3), "u1"), footprnt=None)


# Lock files.


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The folder for temporary files, in which others can write."""
    if not hasattr(os, "O_NOFOLLOW"):
        pytest.skip("there are no such locks here")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(_workers, "_LOCKS", [])
    return tmp_path


def own(shared):
    return shared / f"halotile-{os.getuid()}"


def test_lock_files_lie_in_a_folder_of_the_user_s_own(shared):
    assert _workers._locked(0) and _workers._locked(1)
    # By another description of the same file.
    assert not _workers._locked(0)
    assert sorted(path.name for path in own(shared).iterdir()) == ["gpu-0.lock", "gpu-1.lock"]
    assert stat.S_IMODE(own(shared).stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in own(shared).iterdir())
    for descriptor in _workers._LOCKS:
        os.close(descriptor)


@pytest.mark.parametrize("name", ["folder", "file", "old"])
def test_links_that_were_planted_are_not_followed(shared, caplog, name):
    target = shared / "precious"
    (shared / "elsewhere").mkdir()
    if name == "folder":
        own(shared).symlink_to(shared / "elsewhere")
    elif name == "file":
        own(shared).mkdir(mode=0o700)
        (own(shared) / "gpu-0.lock").symlink_to(target)
    else:
        # Where such a file lay before.
        pathlib.Path(shared, f"halotile-{os.getuid()}-gpu-0.lock").symlink_to(target)
    with caplog.at_level(logging.WARNING, "halotile"):
        assert _workers._locked(0) == (name == "old")
    assert not target.exists() and not list((shared / "elsewhere").iterdir())
    assert ("workers may share GPUs" in caplog.text) == (name != "old")
    for descriptor in _workers._LOCKS:
        os.close(descriptor)


def test_a_folder_that_others_can_write_is_refused(shared, caplog):
    own(shared).mkdir()
    own(shared).chmod(0o777)
    assert not _workers._locked(0)
    assert "others can write it; remove it" in caplog.text and not list(own(shared).iterdir())


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can make what is another user's")
def test_a_folder_of_another_user_s_is_refused(shared, caplog):
    own(shared).mkdir(mode=0o700)
    os.chown(own(shared), 12345, 12345)
    assert not _workers._locked(0)
    assert "it is another user's" in caplog.text
