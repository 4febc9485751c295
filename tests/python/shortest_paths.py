"""Shortest paths between scipy and `halotile apsp`.

`cargo xtask graph-test` runs this with a Python that has scipy. Graphs of all kinds go through the program, in every type, on the CPU and in the
emulator, and every distance must be the one that scipy finds, integer for integer. Predecessors need not be scipy's, as there may be
several shortest paths: they must lead back, over edges that add up to the distance. Graphs of a shape are compared with formulas. And
scipy's own tests, as they are in the installed wheel, run with its functions replaced by ones that call the program. The last line counts:
`N passed, N failed`.

A check is a function with `@check`, or one for each value with `@checks`, in one of the modules below; it gets a `Bench` and fails by raising.
"""

import argparse
import importlib
import pathlib
import sys
import tempfile
import time
import traceback

import numpy as np
import scipy
from paths_bench import CHECKS, Bench

# Modules of checks, in the order in which they are made.
MODULES = ["paths_distances", "paths_cycles", "paths_files", "paths_scipy"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halotile", required=True, type=pathlib.Path)
    parser.add_argument("only", nargs="*", help="words that the names of checks to run contain")
    arguments = parser.parse_args()
    print(f"scipy {scipy.__version__}, numpy {np.__version__}")
    for module in MODULES:
        importlib.import_module(module)
    passed, failed = 0, 0
    for name, function in CHECKS:
        if not all(word in name for word in arguments.only):
            continue
        start = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as directory:
                function(Bench(pathlib.Path(directory), arguments.halotile))
            passed += 1
            print(f"ok      {name}, {time.monotonic() - start:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
