"""Arrays that lie on a GPU: worked on there, and the result lies there too.

Everything with `__cuda_array_interface__` (CuPy, PyTorch, Numba, JAX) or `__dlpack__` on a CUDA device is taken. The result is an array of the
library that the input came from where that is CuPy or PyTorch, and CuPy's otherwise; its memory comes from that library, whose pool it goes
back to.

Nothing is copied through the host but a mask or an `out` that lies there, and counters.
"""

import logging
import math
import sys

import numpy as np

from halotile import _arguments, _native

_log = logging.getLogger("halotile")

# DLPack's number for memory of a CUDA device.
_CUDA = 2

# The stream that DLPack's producers are asked to be done by: CUDA's default stream.
_DEFAULT_STREAM = 1


def is_remote(array):
    """Whether an array lies on a GPU. Costs nothing for NumPy's."""
    if isinstance(array, (np.ndarray, np.generic, list, tuple, int, float)):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] == _CUDA


def refuse(graph, what):
    """A TypeError for a matrix, dense or sparse, on a GPU: it would be copied to the host without a word, or not at all."""
    if is_remote(getattr(graph, "data", None) if hasattr(graph, "nnz") else graph):
        raise TypeError(f"{what}: it lies on a GPU, and shortest paths take matrices in the host's memory; copy it there (CuPy: get())")


def compute(array, mask, plan, meaning, *, classes=None, whole=None, out=None, progress=None):
    """What `halotile.entropy` does with an array on a GPU when its arguments have been looked at."""
    if _is_half(array):
        meaning = meaning and meaning.of_type(np.dtype(np.float16))
        array = array.float() if hasattr(array, "float") else array.astype(np.float32)
    cells = _describe(array, "array")
    gpu = cells["gpu"]
    if plan.device not in ("auto", "cuda", f"cuda:{gpu}"):
        raise ValueError(f"device={plan.device!r}: the array lies on cuda:{gpu}; copy it to the host to have others do the work")
    rows, cols = cells["shape"]
    dtype = np.dtype(cells["typestr"])
    library = _library(array)
    over = None
    if mask is not None:
        mask = mask if is_remote(mask) else library.on_gpu(np.ascontiguousarray(_arguments.grid(mask, "mask")), gpu)
        over = _describe(mask, "mask")
        if over["shape"] != cells["shape"]:
            raise ValueError(f"mask: its shape is {over['shape']}, and the array's {cells['shape']}")
    shape = (rows, cols) if plan.single else (len(plan.measures), rows, cols)
    if out is not None and not is_remote(out):
        raise ValueError("out: the array lies on a GPU, and so does its result; give an array there")
    result = library.empty(shape, plan.dtype, gpu)
    if rows and cols:
        nodata = _arguments.nodata_of_type(meaning.nodata, dtype) if meaning is not None else None
        if classes is None:
            classes = meaning.known(dtype)
        # Bytes that are taken as they are need no pass of their own.
        as_they_are = dtype == np.uint8 and mask is None and not plan.normalize
        if classes is None and meaning.bins is not None:
            classes = _native.bins_on_gpu(cells, meaning.bins, meaning.quantile, over, nodata)
        elif classes is None and not as_they_are:
            classes = _native.survey_on_gpu(cells, over, nodata)
        outputs = [_describe(result, "result")] if plan.single else [_describe(plane, "result") for plane in result]
        byte = int(nodata) if classes is None and nodata is not None else None
        info = _native.entropy_on_gpu(cells, outputs, classes, over, byte, plan.native(), whole, progress)
        _log.info("%d cells where they lie, on %s by kernel %s", rows * cols, info["device"], info["kernel"])
    if out is None:
        return result
    if tuple(out.shape) != shape:
        raise ValueError(f"out: its shape is {tuple(out.shape)}, and the result's {shape}")
    out[...] = result
    return out


def _is_half(array):
    """Whether its numbers are of a type of 16 bits that the native module does not know, and have to be made wider."""
    dtype = getattr(array, "dtype", None)
    # The name of a type takes longer to make than most of what is done here.
    return getattr(dtype, "itemsize", 2) == 2 and str(dtype).rpartition(".")[2] == "float16"


def _describe(array, what):
    """An array on a GPU as the native module takes it."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        capsule = array.__dlpack__(stream=_DEFAULT_STREAM)
        described = _native.of_dlpack(capsule) | {"streams": [_DEFAULT_STREAM], "capsule": capsule}
        shape, strides = tuple(described["shape"]), tuple(described["strides"])
    else:
        shape = tuple(interface["shape"])
        size = np.dtype(interface["typestr"]).itemsize
        strides = interface.get("strides") or tuple(size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        described = {"address": interface["data"][0], "typestr": interface["typestr"], "gpu": _gpu_of(array)}
        described["streams"] = _streams(array, interface)
    dtype = np.dtype(described["typestr"])
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype == np.float16:
        raise TypeError(f"{what}: its type is {dtype}; halotile takes integers, booleans and real numbers of up to 64 bits")
    if len(shape) != 2:
        hint = "; take one of its layers" if len(shape) > 2 else ""
        raise ValueError(f"{what}: it has {len(shape)} dimensions, and halotile takes arrays of 2{hint}")
    return described | {"shape": shape, "strides": tuple(strides)}


def _gpu_of(array):
    """The number of the GPU that an array lies on."""
    device = getattr(array, "__dlpack_device__", None)
    return int(device()[1]) if device is not None else 0


def _streams(array, interface):
    """The streams on which work may still be writing to an array."""
    stream = interface.get("stream")
    if stream is not None:
        return [int(stream)]
    if interface["version"] >= 3:
        # There is nothing to wait for.
        return []
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        # Its interface has no word for streams.
        return [torch.cuda.current_stream(array.device).cuda_stream]
    return [_DEFAULT_STREAM]


class _CuPy:
    """Arrays of CuPy's."""

    def __init__(self):
        try:
            import cupy
        except ImportError:
            raise TypeError("array: results for arrays of this library are CuPy's, which is not installed; install cupy") from None
        self._cupy = cupy

    def empty(self, shape, dtype, gpu):
        with self._cupy.cuda.Device(gpu):
            return self._cupy.empty(shape, dtype)

    def on_gpu(self, array, gpu):
        with self._cupy.cuda.Device(gpu):
            return self._cupy.asarray(array)


class _Torch:
    """Tensors of PyTorch's."""

    def __init__(self, torch):
        self._torch = torch

    def empty(self, shape, dtype, gpu):
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=f"cuda:{gpu}")

    def on_gpu(self, array, gpu):
        return self._torch.as_tensor(array, device=f"cuda:{gpu}")


def _library(array):
    """Who makes arrays for results."""
    torch = sys.modules.get("torch")
    return _Torch(torch) if torch is not None and isinstance(array, torch.Tensor) else _CuPy()
