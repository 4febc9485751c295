"""Times `halotile.entropy` in Python beside the package that its users come from, in one run, and compares their results before.

    python python_entropy.py cpu 4096       scikit-image's filters.rank.entropy, on NumPy arrays
    python python_entropy.py gpu 10240      cuCIM's filters.rank.entropy, on CuPy arrays

Arguments: where, side of the square grid, and, if wanted, how often each is timed (peers: a third as often). Values are random; 5 x 5 with 16 levels, and
21 x 21 with 16 and 256. Results are in bits. scikit-image clips windows as halotile does, and all cells are compared; cuCIM reflects the grid, and the cells
are compared whose windows lie inside. halotile is timed from an array to a new array, classes found on the way, with both types of results, float32 and (as
the peers have it, by the drop-in `halotile.skimage`) float64. Prints one JSON object with every time.
"""

import json
import os
import platform
import sys
import time

import numpy as np

import halotile
import halotile.skimage


def times(call, runs, done=lambda: None):
    """Seconds of every run, after one that is not counted."""
    call()
    seconds = []
    for _ in range(runs):
        done()
        start = time.perf_counter()
        call()
        done()
        seconds.append(time.perf_counter() - start)
    return seconds


def median(seconds):
    return sorted(seconds)[len(seconds) // 2]


def main():
    where, side = sys.argv[1], int(sys.argv[2])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    if where == "gpu":
        import cucim
        import cupy
        from cucim.skimage.filters.rank import entropy as peer

        xp, name, version = cupy, "cuCIM", cucim.__version__
        done = cupy.cuda.runtime.deviceSynchronize
        machine = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    else:
        import skimage
        from skimage.filters.rank import entropy as peer

        xp, name, version, done = np, "scikit-image", skimage.__version__, lambda: None
        machine = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}"
    results = []
    kinds = [(5, 16, "uint8"), (5, 16, "uint16"), (21, 16, "uint8"), (21, 256, "uint8")]
    for size, levels, dtype in kinds if where == "cpu" else [kind for kind in kinds if kind[2] == "uint8"]:
        cells = np.random.default_rng(1).integers(0, levels, (side, side)).astype(dtype)
        image, footprint = xp.asarray(cells), xp.ones((size, size), dtype="uint8")
        ours = halotile.entropy(image, size, base=2)
        drop_in = halotile.skimage.entropy(image, np.ones((size, size), dtype="uint8"))
        start = time.perf_counter()
        theirs = peer(image, footprint)
        done()
        first = time.perf_counter() - start
        inner = slice(size // 2, side - size // 2) if where == "gpu" else slice(None)
        worst = float(abs(ours[inner, inner] - theirs[inner, inner]).max())
        worst_drop_in = float(abs(drop_in[inner, inner] - theirs[inner, inner]).max())
        assert worst < 4e-6 and worst_drop_in < 1e-5 if where == "gpu" else worst < 4e-6 and worst_drop_in < 1e-12, (worst, worst_drop_in)
        del theirs, ours, drop_in
        # Where it takes long once is enough; the first run is one of them. On a GPU that may have been its compiler's.
        peers = [first] if first > 10 and where == "cpu" else times(lambda: peer(image, footprint), max(runs // 3, 1), done)
        seconds = times(lambda: halotile.entropy(image, size, base=2), runs, done)
        known = times(lambda: halotile.entropy(image, size, base=2, levels=levels), runs, done)
        dropped = times(lambda: halotile.skimage.entropy(image, np.ones((size, size), dtype="uint8")), runs, done)
        result = {
            "size": size,
            "levels": levels,
            "cells": dtype,
            "side": side,
            "largest_difference": worst,
            "peer_ms": [s * 1e3 for s in peers],
            "halotile_ms": [s * 1e3 for s in seconds],
            "halotile_levels_given_ms": [s * 1e3 for s in known],
            "halotile_drop_in_ms": [s * 1e3 for s in dropped],
        }
        for key in ("halotile", "halotile_levels_given", "halotile_drop_in"):
            result[f"times_as_fast_{key}"] = median(peers) * 1e3 / median(result[f"{key}_ms"])
        results.append(result)
        print(
            f"{size} x {size}, {levels} levels, {dtype}: {name} {median(peers) * 1e3:.1f} ms, "
            f"halotile {median(seconds) * 1e3:.3f} ms ({result['times_as_fast_halotile']:.0f} x), "
            f"levels given {median(known) * 1e3:.3f} ms ({result['times_as_fast_halotile_levels_given']:.0f} x), "
            f"drop-in {median(dropped) * 1e3:.3f} ms ({result['times_as_fast_halotile_drop_in']:.0f} x)",
            file=sys.stderr,
        )
    print(
        json.dumps(
            {"peer": name, "version": version, "machine": machine, "halotile": halotile.__version__, "numpy": np.__version__, "results": results}
        )
    )


main()
