"""Which GPU is whose, where several processes of a cluster work on one machine.

A worker that was given its GPUs by ``CUDA_VISIBLE_DEVICES``, as dask-cuda does, takes the first of them. Otherwise workers claim one each: whoever
holds the lock on a file that is named after it. The system lets go of the lock when the process ends, however it ends, so that
the worker that takes its place finds the GPU free.
"""

import functools
import os
import pathlib
import tempfile

from halotile import _native


def gpu():
    """The number of this process's GPU, if it is a worker of a Dask cluster; 0 otherwise."""
    try:
        from distributed import get_worker

        get_worker()
    except (ImportError, ValueError):
        return 0
    return _claim(os.getpid())


@functools.cache
def _claim(process):
    """The GPU of this process, which a child that was forked does not inherit."""
    count = 0 if os.environ.get("CUDA_VISIBLE_DEVICES") else _native.gpus()
    if count < 2:
        return 0
    for ordinal in range(count):
        if _locked(ordinal):
            return ordinal
    # More workers than GPUs.
    return process % count


# Open as long as the process lives.
_LOCKS = []


def _locked(ordinal):
    try:
        import fcntl
    except ImportError:
        return False
    path = pathlib.Path(tempfile.gettempdir(), f"halotile-{os.getuid()}-gpu-{ordinal}.lock")
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _LOCKS.append(file)
    return True
