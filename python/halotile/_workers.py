"""Which GPU is whose, where several processes of a cluster work on one machine.

A worker that was given its GPUs by ``CUDA_VISIBLE_DEVICES``, as dask-cuda does, takes the first of them. Otherwise workers claim one each: a GPU
belongs to the worker that holds the lock on a file named after it. The system lets go of the lock when the process ends, however it ends, so that
the worker that takes its place finds the GPU free.
"""

import contextlib
import errno
import functools
import logging
import os
import tempfile

from halotile import _native

_log = logging.getLogger("halotile")


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


# Descriptors, open as long as the process lives.
_LOCKS = []


def _locked(ordinal):
    """Whether this process has locked the file of a GPU."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        file = _lock_file(ordinal)
    except OSError as error:
        _log.warning("workers may share GPUs: %s", error)
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    _LOCKS.append(file)
    return True


def _lock_file(ordinal):
    """The descriptor of a GPU's lock file, in a folder of this user's in the folder for temporary files, which is shared.

    Others know the names, and may have put a link or a folder of theirs there first. Links are not followed, and a folder or a file that is
    another user's, or that others can write, is refused.
    """
    path = os.path.join(tempfile.gettempdir(), f"halotile-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check_own(folder, path)
        name = f"gpu-{ordinal}.lock"
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _check_own(file, os.path.join(path, name))
    except OSError:
        os.close(file)
        raise
    return file


def _check_own(descriptor, path):
    """A PermissionError for what is not this user's alone."""
    status = os.fstat(descriptor)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "it is another user's, or others can write it; remove it", path)
