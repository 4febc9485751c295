"""Times the field's local entropy: scikit-image's `filters.rank.entropy` on the CPU, cuCIM's on the GPU.

    python rank_entropy.py skimage 2560 3
    python rank_entropy.py cucim 10240 3

Arguments: program, side of the square grid, runs. Values are random, uint8; windows are squares. Both give bits
(base 2); scikit-image clips the window at the border as halotile does, cuCIM reflects. Before a program is timed, a
patch in the middle of its result is compared with the definition. Prints one JSON object.
"""

import json
import sys
import time

import numpy as np


def definition(cells, y, x, size):
    r = size // 2
    _, n = np.unique(cells[y - r : y + r + 1, x - r : x + r + 1], return_counts=True)
    p = n / n.sum()
    return float(-(p * np.log2(p)).sum())


def main():
    program, side, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if program == "cucim":
        import cucim
        import cupy
        from cucim.skimage.filters.rank import entropy

        version, ones = cucim.__version__, cupy.ones
        put, get, done = cupy.asarray, cupy.asnumpy, cupy.cuda.runtime.deviceSynchronize
    else:
        import skimage
        from skimage.filters.rank import entropy

        version, ones = skimage.__version__, np.ones
        put, get, done = np.asarray, np.asarray, lambda: None
    results = []
    kinds = [(5, 16, "uint8"), (21, 16, "uint8"), (21, 256, "uint8")]
    if program == "skimage":
        # With 16-bit cells it keeps as many bins as there are values: its faster path.
        kinds += [(5, 16, "uint16"), (21, 16, "uint16")]
    for size, levels, dtype in kinds:
        cells = np.random.default_rng(1).integers(0, levels, (side, side)).astype(dtype)
        image, footprint = put(cells), ones((size, size), dtype="uint8")
        out = get(entropy(image, footprint))
        for y, x in [(side // 2, side // 2), (size, side - size - 1), (side // 3, size)]:
            assert abs(out[y, x] - definition(cells, y, x, size)) < 1e-4, (size, levels, y, x)
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            entropy(image, footprint)
            done()
            seconds.append(time.perf_counter() - start)
        median = sorted(seconds)[len(seconds) // 2]
        results.append(
            {
                "size": size,
                "levels": levels,
                "cells": dtype,
                "side": side,
                "median_ms": median * 1e3,
                "mcells_per_s": side * side / median / 1e6,
                "raw_ms": [s * 1e3 for s in seconds],
            }
        )
    print(json.dumps({"program": program, "version": version, "runs": runs, "results": results}))


main()
