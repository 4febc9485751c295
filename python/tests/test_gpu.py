"""Arrays that lie on a GPU, of CuPy's and PyTorch's, against the same numbers in NumPy's arrays on the same GPU: bit for bit.

Runs where there are a GPU and CuPy; elsewhere only the refusals that need neither.
"""

import itertools

import numpy as np
import pytest

import halotile

GPU = len(halotile.devices()) > 2
try:
    import cupy
except ImportError:
    cupy = None

on_gpu = pytest.mark.skipif(not GPU or cupy is None, reason="there is no GPU, or no CuPy")


def same(remote, host):
    got = cupy.asnumpy(cupy.asarray(remote))
    assert got.shape == host.shape and got.dtype == host.dtype
    bits = np.uint32 if host.dtype == np.float32 else np.uint64
    # A NaN is a NaN, whatever its bits.
    equal = (got.view(bits) == host.view(bits)) | (np.isnan(got) & np.isnan(host))
    assert equal.all(), f"{(~equal).sum()} cells, first at {np.argwhere(~equal)[0]}"


def cells(shape=(123, 260), levels=9, seed=1):
    return np.random.default_rng(seed).integers(0, levels, shape, dtype=np.uint8)


class Foreign:
    """An array of no library that we know, by the interface."""

    def __init__(self, shape=(3, 3), typestr="|u1"):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (4096, True), "version": 3}


def test_what_is_no_grid_of_numbers_is_refused_before_anything_is_done():
    with pytest.raises(TypeError, match="complex64"):
        halotile.entropy(Foreign(typestr="<c8"))
    with pytest.raises(ValueError, match="3 dimensions"):
        halotile.entropy(Foreign(shape=(2, 3, 4)))
    with pytest.raises(ValueError, match="lies on cuda:0"):
        halotile.entropy(Foreign(), device="cpu")


@on_gpu
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?", "f2"])
def test_every_type(dtype):
    array = cells(levels=2 if dtype == "?" else 9).astype(dtype)
    here = halotile.entropy(cupy.asarray(array))
    assert isinstance(here, cupy.ndarray)
    same(here, halotile.entropy(array, device="cuda"))


@on_gpu
@pytest.mark.parametrize("most", [2, 15, 16, 255])
@pytest.mark.parametrize("levels", [None, 256, 16])
def test_bytes_that_are_guessed_to_be_few(most, levels):
    # Large enough for the kernel that goes by the guess. One cell is what the guess is about.
    array = cells((700, 1024), 2)
    array[350, 1023] = most
    if levels == 16 and most > 15:
        with pytest.raises(ValueError, match="row 350, column 1023"):
            halotile.entropy(cupy.asarray(array), levels=levels)
        return
    same(halotile.entropy(cupy.asarray(array), levels=levels), halotile.entropy(array, levels=levels, device="cuda"))


@on_gpu
def test_no_data_of_a_half_is_the_nearest_half():
    array = np.random.default_rng(2).choice([0.1, 1.0, 2.0], (50, 60)).astype("f2")
    here = halotile.entropy(cupy.asarray(array), bins=[0.5, 1.5], nodata=0.1)
    assert cupy.isnan(here).any()
    same(here, halotile.entropy(array, bins=[0.5, 1.5], nodata=0.1, device="cuda"))


@on_gpu
@pytest.mark.parametrize("edge, size", itertools.product(["shrink", "nodata", "symmetric", "reflect", "replicate"], [3, 5, 21]))
def test_every_edge(edge, size):
    array = cells()
    same(halotile.entropy(cupy.asarray(array), size, edge=edge), halotile.entropy(array, size, edge=edge, device="cuda"))


@on_gpu
@pytest.mark.parametrize(
    "options",
    [
        {"levels": 9},
        {"levels": 9, "normalize": True},
        {"nodata": 4},
        {"nodata": 4, "fill_nodata": True},
        {"nodata": 255},
        {"bins": 4},
        {"bins": 4, "binning": "quantile"},
        {"bins": [2.5, 5.5]},
        {"classes": {0: "a", 1: "a", 2: "b", "*": None}},
        {"footprint": "disk", "size": 7},
        {"footprint": [[0, 1, 0], [1, 1, 1], [0, 0, 0]]},
        {"measure": ["shannon", "simpson", "hill:2"]},
        {"measure": ["richness"], "min_valid": 0.9},
        {"base": 2, "dtype": "float64"},
    ],
    ids=str,
)
def test_every_option(options):
    array = cells()
    same(halotile.entropy(cupy.asarray(array), **options), halotile.entropy(array, device="cuda", **options))


@on_gpu
def test_scattered_values_and_masks():
    array = (cells().astype(np.int32) * 1000 - 3000)
    mask = cells(levels=5, seed=2) > 0
    whole = halotile.entropy(array, mask=mask, device="cuda")
    same(halotile.entropy(cupy.asarray(array), mask=cupy.asarray(mask)), whole)
    # A mask may lie on the host.
    same(halotile.entropy(cupy.asarray(array), mask=mask), whole)


@on_gpu
def test_every_layout():
    array = cells((130, 264))
    for view in [
        np.s_[:, :],
        np.s_[::-1],
        np.s_[:, ::-1],
        np.s_[::2, ::3],
        np.s_[1:-1, 1:-2],
        np.s_[3:4],
        np.s_[:, 7:8],
        np.s_[:0],
    ]:
        same(halotile.entropy(cupy.asarray(array)[view]), halotile.entropy(array[view], device="cuda"))
    same(halotile.entropy(cupy.asarray(array).T), halotile.entropy(array.T, device="cuda"))


@on_gpu
def test_out_and_streams_and_the_device_of_the_thread():
    array = cells((2000, 3000))
    wanted = halotile.entropy(array, device="cuda")
    out = cupy.empty(array.shape, np.float32)
    assert halotile.entropy(cupy.asarray(array), out=out) is out
    same(out, wanted)
    # Work that another stream has not done yet is waited for.
    for _ in range(20):
        with cupy.cuda.Stream(non_blocking=True):
            later = cupy.zeros(array.shape, np.uint8)
            for _ in range(50):
                later += 1
            later[...] = cupy.asarray(array)
            here = halotile.entropy(later)
        same(here, wanted)
    assert cupy.cuda.runtime.getDevice() == 0
    with pytest.raises(ValueError, match="out"):
        halotile.entropy(cupy.asarray(array), out=np.empty(array.shape, np.float32))
    with pytest.raises(ValueError, match="row 0, column"):
        halotile.entropy(cupy.asarray(array), levels=3)


@on_gpu
def test_tensors_of_pytorch_stay_tensors():
    torch = pytest.importorskip("torch")
    array = cells()
    tensor = torch.as_tensor(array, device="cuda")
    here = halotile.entropy(tensor, measure=["shannon", "simpson"])
    assert isinstance(here, torch.Tensor) and here.is_cuda
    same(cupy.asarray(here), halotile.entropy(array, measure=["shannon", "simpson"], device="cuda"))
    same(cupy.asarray(halotile.entropy(tensor.half())), halotile.entropy(array, device="cuda"))


@on_gpu
def test_what_has_only_dlpack():
    class Packed:
        """An array that says nothing but DLPack."""

        def __init__(self, array):
            self._array, self.dtype = array, array.dtype

        def __dlpack__(self, stream=None):
            return self._array.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    array = cells().astype(np.int16)
    for view in (array, array[::2, 3:], array.T):
        same(halotile.entropy(Packed(cupy.asarray(array)[::2, 3:] if view.shape[0] < 100 else cupy.asarray(view))), halotile.entropy(view, device="cuda"))


@on_gpu
def test_the_drop_in_and_dask_on_the_gpu():
    from halotile.skimage import entropy

    array, window = cells(), np.ones((5, 5))
    mask = cells(levels=5, seed=2) > 0
    # cuCIM's users have their neighbourhoods on the GPU, too.
    for over, given in itertools.product((None, mask), (window, cupy.asarray(window))):
        here = entropy(cupy.asarray(array), given, mask=None if over is None else cupy.asarray(over))
        assert np.allclose(cupy.asnumpy(here), entropy(array, window, mask=over), rtol=0, atol=1e-12)
    da = pytest.importorskip("dask.array")
    from halotile import dask as on_dask

    chunks = da.from_array(cupy.asarray(array), chunks=(50, 70), asarray=False)
    for edge in ("shrink", "reflect"):
        here = on_dask.entropy(chunks, edge=edge).compute(scheduler="synchronous")
        assert isinstance(here, cupy.ndarray)
        same(here, halotile.entropy(array, edge=edge, device="cuda"))
