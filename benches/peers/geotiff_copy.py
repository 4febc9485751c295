"""Times `halotile entropy` from file to file beside GDAL merely copying the finished result with the same creation options.

    python geotiff_copy.py HALOTILE [OLD ...] [--side 12000] [--runs 3] [--threads 2]

HALOTILE and OLD are programs: every one of them is timed in turn, run by run. The map is clustered land cover of 16 classes, compressed with Deflate;
windows are 5 x 5 and 21 x 21, results f32 in tiles of 512 x 512, without a predictor but for halotile's defaults. halotile's time is that of the whole program: reading, computing and writing. GDAL
(rasterio's, with as many threads) opens the result of the first program, copies it, and closes the copy. Files lie in a temporary folder; each is read once
before, so that neither waits for the disk, and what is written is a new file: to replace one takes the file system as long as some runs. What halotile has written is compared with its copy cell by cell. Prints a line for each option, then one JSON object
with every time and size.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import rasterio
import rasterio.shutil

OPTIONS = [
    ("default", []),
    ("Deflate 1", ["COMPRESS=DEFLATE", "ZLEVEL=1", "PREDICTOR=1"]),
    ("Deflate 6", ["COMPRESS=DEFLATE", "ZLEVEL=6", "PREDICTOR=1"]),
    ("ZSTD 1", ["COMPRESS=ZSTD", "ZSTD_LEVEL=1", "PREDICTOR=1"]),
    ("ZSTD 9", ["COMPRESS=ZSTD", "ZSTD_LEVEL=9", "PREDICTOR=1"]),
    ("LZW", ["COMPRESS=LZW", "PREDICTOR=1"]),
    ("none", ["COMPRESS=NONE"]),
]


def seconds(target, call):
    """What a call takes that writes `target`, which is not there."""
    os.unlink(target)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def entropy(program, source, target, size, options, threads):
    """A run of the program; False where it does not know the options."""
    command = [program, "entropy", source, target, "--size", str(size), "--overwrite", "-q", "--device", "cpu"]
    command += ["--threads", str(threads)] + [word for option in options for word in ("--co", option)]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def copy(source, target, options, threads):
    given = dict(option.split("=") for option in options) or {"COMPRESS": "DEFLATE", "PREDICTOR": "1"}
    if given["COMPRESS"] == "NONE":
        given.pop("PREDICTOR", None)
    tiles = {"TILED": "YES", "BLOCKXSIZE": "512", "BLOCKYSIZE": "512", "NUM_THREADS": str(threads)}
    rasterio.shutil.copy(source, target, driver="GTiff", **given, **tiles)


def same(a, b):
    with rasterio.open(a) as first, rasterio.open(b) as second:
        return np.array_equal(first.read(1), second.read(1), equal_nan=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--side", type=int, default=12_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 21])
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = str(folder / "map.tif")
        generate = [args.programs[0], "generate", "grid", source, "--rows", str(args.side), "--cols", str(args.side), "--levels", "16", "--pattern", "clustered", "-q"]
        subprocess.run(generate, check=True)
        for size in args.sizes:
            for name, options in OPTIONS:
                targets = [str(folder / f"{i}.tif") for i in range(len(args.programs))]
                known = [
                    entropy(program, source, target, size, options, args.threads)
                    for program, target in zip(args.programs, targets)
                ]
                if not known[0]:
                    sys.exit(f"{args.programs[0]} fails with {options}")
                copied = str(folder / "copy.tif")
                copy(targets[0], copied, options, args.threads)
                if not same(targets[0], copied):
                    sys.exit(f"the copy of {options} differs")
                times = {"copy": [], **{program: [] for program in args.programs}}
                for _ in range(args.runs):
                    for program, target, knows in zip(args.programs, targets, known):
                        if knows:
                            run = lambda: entropy(program, source, target, size, options, args.threads)
                            times[program].append(seconds(target, run))
                    times["copy"].append(seconds(copied, lambda: copy(targets[0], copied, options, args.threads)))
                sizes = {program: os.path.getsize(t) for program, t, knows in zip(args.programs, targets, known) if knows}
                sizes["copy"] = os.path.getsize(copied)
                rows.append({"size": size, "options": name, "times": times, "bytes": sizes})
                shown = [
                    f"{which} {sorted(each)[len(each) // 2]:.2f} s, {sizes[which] / 1e6:.1f} MB"
                    for which, each in times.items()
                    if each
                ]
                print(f"{size} x {size}, {name}: " + "; ".join(shown), flush=True)
    gdal = rasterio.__gdal_version__
    print(json.dumps({"side": args.side, "threads": args.threads, "gdal": gdal, "rows": rows}))


if __name__ == "__main__":
    main()
