"""What is refused, with which error and in which words; and that the documentation is whole: examples run, every parameter is named.
"""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re

import numpy as np
import pytest

import halotile
from halotile import _arguments

CELLS = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize(
    "dtype", [complex, np.complex64, object, "U3", "S3", "V4", "M8[s]", "m8[s]", [("a", "i4")], np.longdouble], ids=str
)
@pytest.mark.parametrize("shape", [(3, 3), (0, 3), (3,)])
def test_arrays_of_what_is_no_number_are_type_errors(dtype, shape):
    with pytest.raises(TypeError, match="array: its type is .*; halotile takes integers"):
        halotile.entropy(np.zeros(shape, dtype))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (1, 2, 3, 4)])
def test_arrays_of_other_than_two_dimensions_are_value_errors(shape):
    with pytest.raises(ValueError, match=rf"array: it has {len(shape)} dimensions, and halotile takes arrays of 2"):
        halotile.entropy(np.zeros(shape, "u1"))


@pytest.mark.parametrize("array", [None, "text", {}, [["a"]], [[None]]])
def test_what_is_no_array_is_a_type_error(array):
    with pytest.raises(TypeError, match="array"):
        halotile.entropy(array)


def test_what_has_no_array_in_it_is_no_unclear_error():
    with pytest.raises((TypeError, ValueError)):
        halotile.entropy([[1, 2], [3]])


@pytest.mark.parametrize("size", [0, -1, 2, 256, 4096, 4097, 10**30])
def test_a_size_is_odd_and_from_1_to_4095(size):
    with pytest.raises(ValueError, match=f"size={size}: an odd number from 1 to 4095"):
        halotile.entropy(CELLS, size)


@pytest.mark.parametrize("name", ["size", "levels", "threads"])
@pytest.mark.parametrize("value", ["5", 5.0, [5]])
def test_numbers_that_are_not_whole_are_type_errors(name, value):
    with pytest.raises(TypeError, match=re.escape(f"{name}={value!r}: a whole number")):
        halotile.entropy(CELLS, **{name: value})


@pytest.mark.parametrize("name", ["size", "levels", "threads", "bins"])
def test_numbers_may_be_numpy_s(name):
    given, plain = (halotile.entropy(CELLS % 3, **{name: kind(3)}) for kind in (np.uint8, int))
    assert (given == plain).all()


@pytest.mark.parametrize("threads", [0, -1, 10**30, 10**5, 1025])
def test_a_number_of_threads_that_no_machine_has_is_a_value_error(in_new_process, threads):
    said = in_new_process(
        f"""
        import halotile
        try:
            halotile.entropy([[1]], threads={threads})
        except ValueError as error:
            print(str(error).startswith("threads={threads}"))
        """,
        timeout=4,
    )
    assert said == "True\n"


def test_pools_of_threads_are_not_kept_for_ever(in_new_process):
    said = in_new_process(
        """
        import os, halotile
        if os.path.isdir("/proc/self/task"):
            for threads in range(1, 41):
                halotile.entropy([[1]], threads=threads)
            print(len(os.listdir("/proc/self/task")))
        else:
            print(0)
        """
    )
    assert int(said) < 200


@pytest.mark.parametrize(
    "footprint, message",
    [
        ("circle", "footprint='circle'"),
        (np.ones((2, 3)), "odd"),
        (np.ones((3, 0)), "odd"),
        (np.ones((3, 4097)), "4095"),
        (np.zeros((3, 3)), "no cell belongs"),
        ([1, 1, 1], "1 dimensions"),
        (np.ones((3, 3, 3)), "3 dimensions"),
        (5, "0 dimensions"),
    ],
)
def test_what_is_no_window(footprint, message):
    with pytest.raises(ValueError, match=message) as caught:
        halotile.entropy(CELLS, footprint=footprint)
    assert "footprint" in str(caught.value)


@pytest.mark.parametrize("footprint", [[["a"]], [[1j]], [[None]]])
def test_a_window_of_no_numbers_is_a_type_error(footprint):
    with pytest.raises(TypeError, match="footprint"):
        halotile.entropy(CELLS, footprint=footprint)


def test_options_are_made_once_for_windows_that_are_the_same():
    window = np.eye(3, dtype=int)
    plan, _ = _arguments.options(footprint=window)
    assert _arguments.options(footprint=window.astype(bool))[0] is plan
    # What an array is now counts, not which one it is.
    window[0, 0] = 0
    assert _arguments.options(footprint=window)[0] != plan
    assert _arguments.options(footprint=window.reshape(1, 9))[0].radius == (0, 4)


@pytest.mark.parametrize("measure", ["foo", "", "Shannon", "renyi", "renyi:-1", "hill:nan", "shannon:1", [], ["shannon", "foo"], ["shannon"] * 65])
def test_measures_that_are_none(measure):
    with pytest.raises(ValueError, match="measure"):
        halotile.entropy(CELLS, measure=measure)


@pytest.mark.parametrize("measure", [None, 3, b"shannon", [3], [None]])
def test_measures_of_a_wrong_type_are_named(measure):
    with pytest.raises(TypeError, match="measure"):
        halotile.entropy(CELLS, measure=measure)


@pytest.mark.parametrize(
    "how, error, message",
    [
        ({"base": 3}, ValueError, 'base: "e", 2 or 10'),
        ({"base": None}, ValueError, "base"),
        ({"edge": "wrap"}, ValueError, "edge: .*shrink, nodata, symmetric, reflect, replicate"),
        ({"min_valid": 1.01}, ValueError, "min_valid=1.01: a share from 0 to 1"),
        ({"min_valid": -0.1}, ValueError, "min_valid"),
        ({"min_valid": float("nan")}, ValueError, "min_valid"),
        ({"min_valid": None}, TypeError, "min_valid"),
        ({"min_valid": [0.5]}, TypeError, "min_valid"),
        ({"device": "gpu"}, ValueError, "device"),
        ({"device": "cuda:x"}, ValueError, "device"),
        ({"kernel": "foo"}, ValueError, "kernel"),
        ({"kernel": 3}, TypeError, "kernel"),
        ({"dtype": "float16"}, TypeError, "dtype=float16: results are float32 or float64"),
        ({"dtype": ">f4"}, TypeError, "dtype"),
        ({"dtype": int}, TypeError, "dtype=int64"),
        ({"levels": 0}, ValueError, "levels=0: from 1 to 65536"),
        ({"levels": 65537}, ValueError, "levels=65537: from 1 to 65536"),
        ({"bins": 0}, ValueError, "bins=0: from 1 to 65536"),
        ({"bins": 65537}, ValueError, "bins=65537: from 1 to 65536"),
        ({"bins": 3.0}, TypeError, "bins=3.0"),
        ({"bins": "5"}, TypeError, "bins='5'"),
        ({"bins": ["a"]}, (TypeError, ValueError), "bins"),
        ({"bins": [[1, 2], [3, 4]]}, (TypeError, ValueError), "bins"),
        ({"bins": [3, 2]}, ValueError, "bins"),
        ({"bins": [2, 2]}, ValueError, "bins"),
        ({"bins": [np.nan]}, ValueError, "bins"),
        ({"bins": range(65536)}, ValueError, "bins"),
        ({"bins": 3, "binning": "equally"}, ValueError, "binning='equally'"),
        ({"bins": 3, "levels": 5}, ValueError, "give one of them"),
        ({"bins": 3, "classes": {1: 1}}, ValueError, "give one of them"),
        ({"normalize": True}, ValueError, "give levels=, bins= or classes="),
        ({"classes": [1, 2]}, TypeError, "classes: the name of a file or a mapping"),
        ({"classes": {}}, ValueError, "classes"),
        ({"classes": {"*": None}}, ValueError, "classes"),
        ({"classes": {1: 1}}, ValueError, "value 0 is not listed"),
        ({"classes": {1.5: 1}}, TypeError, "classes"),
        ({"classes": {"1": 1}}, TypeError, "classes"),
        ({"classes": {1: [1]}}, TypeError, "unhashable"),
        ({"classes": "no such file"}, FileNotFoundError, "no such file"),
        ({"nodata": "x"}, TypeError, "nodata"),
        ({"nodata": [1, 2]}, TypeError, "nodata"),
        ({"nodata": 1j}, TypeError, "nodata"),
        ({"mask": np.ones((4, 3))}, ValueError, r"mask: its shape is \(4, 3\), and the array's \(3, 4\)"),
        ({"mask": np.ones(12)}, ValueError, "mask: it has 1 dimensions"),
        ({"mask": np.full((3, 4), "x")}, TypeError, "mask: its type is"),
        ({"progress": 3}, TypeError, "callable"),
        ({"threads": "2"}, TypeError, "threads"),
    ],
    ids=lambda value: next(iter(value.items())).__repr__()[:40] if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_said_of_the_argument(how, error, message):
    with pytest.raises(error, match=message):
        halotile.entropy(CELLS, **how)


def test_values_that_are_no_classes_are_named_by_their_place():
    with pytest.raises(ValueError, match=r"array: row 1, column 2 .*0.5 is not a whole number.*bins="):
        halotile.entropy(np.where(CELLS == 6, 0.5, 1.0))
    with pytest.raises(ValueError, match=r"more than 65536 different values.*classes=.*bins="):
        halotile.entropy(np.arange(90_000).reshape(300, 300))


@pytest.mark.parametrize("nodata", [10**400, -(10**400)], ids=["large", "small"])
def test_a_nodata_value_beyond_all_numbers_is_that_of_no_cell(nodata):
    for dtype in ("u1", "f8"):
        assert not np.isnan(halotile.entropy(CELLS.astype(dtype), nodata=nodata)).any()


@pytest.mark.parametrize("how", [{"bins": [3, 2]}, {"classes": {}}, {"progress": 3}, {"nodata": "x"}, {"normalize": True}, {"threads": 0}, {"out": 3}])
def test_what_is_wrong_is_said_also_where_there_are_no_cells(how):
    with pytest.raises((TypeError, ValueError), match=next(iter(how))):
        halotile.entropy(CELLS[:0], **how)


def test_a_footprint_that_is_too_large_is_named_and_not_the_size():
    with pytest.raises(ValueError, match="^footprint: .* 3 x 4097"):
        halotile.entropy(CELLS, footprint=np.ones((3, 4097)))


def test_values_without_a_class_are_told_what_a_mapping_can_say():
    with pytest.raises(ValueError, match=r'"\*": None'):
        halotile.entropy(CELLS, classes={1: 1})


def test_no_code_is_left_beside_65536_bins():
    with pytest.raises(ValueError, match="65536 classes and no data take 65537 codes"):
        halotile.entropy(CELLS, bins=range(65535), nodata=3)


def test_options_of_entropy_are_given_by_their_names():
    with pytest.raises(TypeError):
        halotile.entropy(CELLS, 5, "disk")


def test_messages_name_no_options_of_the_program():
    for how in ({"levels": 3}, {"classes": {1: 1}}, {"kernel": "naive"}, {"bins": [1, 0]}, {"size": 5, "min_valid": 3}):
        with pytest.raises(ValueError) as caught:
            halotile.entropy(CELLS, **how)
        assert "--" not in str(caught.value) and "line *,nodata" not in str(caught.value)


# Documentation.

# Those whose packages are not there are not looked at.
MODULES = ["halotile", *(f"halotile.{module.name}" for module in pkgutil.iter_modules(halotile.__path__))]
for needed, name in [("dask", "dask"), ("xarray", "xarray"), ("skimage", "skimage"), ("scipy", "csgraph")]:
    if importlib.util.find_spec(needed) is None:
        MODULES.remove(f"halotile.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def public():
    """Every public function of the package's modules."""
    for name in MODULES:
        module = importlib.import_module(name)
        if any(part.startswith("_") for part in name.split(".")):
            continue
        for attribute in getattr(module, "__all__", []):
            value = getattr(module, attribute)
            if inspect.isfunction(value) and value.__module__.startswith("halotile"):
                yield pytest.param(value, id=f"{name}.{attribute}")


def test_there_are_public_functions_to_look_at():
    assert {"halotile.entropy", "halotile.apsp", "halotile.devices", "halotile.csgraph.floyd_warshall"} <= {one.id for one in public()}


@pytest.mark.parametrize("function", list(public()))
def test_every_parameter_is_documented_and_no_other(function):
    text = inspect.getdoc(function)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.S | re.M)
    lines = re.findall(r"^([\w*][\w, *]*?)(?: : .*)?$", section.group(1), re.M) if section else []
    documented = [name.strip() for line in lines for name in line.split(",")]
    signature = inspect.signature(function).parameters.values()
    assert documented == [("**" if one.kind is one.VAR_KEYWORD else "") + one.name for one in signature]


@pytest.mark.parametrize("function", list(public()))
def test_every_public_function_has_an_example_and_says_what_it_returns(function):
    text = inspect.getdoc(function)
    assert ">>> " in text and "Returns\n-------" in text


@pytest.mark.parametrize("name", halotile.__all__)
def test_everything_public_is_documented(name):
    value = getattr(halotile, name)
    assert name.startswith("__") or inspect.getdoc(value)
    if inspect.isfunction(value):
        assert f"`{name}`" in halotile.__doc__


def test_all_is_what_is_public():
    assert halotile.__all__ == sorted(halotile.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", halotile.__version__)
    assert "halotile" in repr(halotile.DeviceError) and issubclass(halotile.DeviceError, RuntimeError)
