"""What devices there are."""

from halotile import _native


def devices():
    """What ``device=`` can be on this machine.

    Returns
    -------
    list of dict
        An entry a device. Each has ``device``, the name to give (``"cpu"``, ``"cuda:0"``, ``"emulator"``). A GPU also has ``name``,
        ``compute_capability`` (major, minor), ``multiprocessors``, ``memory`` and ``memory_free`` (bytes), or ``error`` where it cannot be
        used. The CPU also has ``threads``, and ``cuda``: why there is no GPU, or ``None``.

    Notes
    -----
    GPUs are opened, which takes some tenths of a second the first time; they stay open as long as the process lives.

    Examples
    --------
    >>> import halotile
    >>> halotile.devices()[0]["device"]
    'cpu'
    """
    gpus, off = _native.devices()
    cpu = {"device": "cpu", "threads": _native.cores(), "cuda": off}
    return [cpu, *gpus, {"device": "emulator"}]
