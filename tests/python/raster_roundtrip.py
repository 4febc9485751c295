"""GeoTIFFs between rasterio (GDAL) and halotile, both ways, and through `halotile entropy`.

`cargo xtask raster-test` runs this with a Python that has rasterio. Files that rasterio makes are read through the library (the
program `raster-io` of the tests) and must come out with the same type, nodata value, place and cells; results that the library
writes are opened with rasterio and must say the same. Last, `halotile entropy` takes GeoTIFFs to GeoTIFFs, and every result is
compared with one that numpy counts from the definition. The last line counts: `N passed, N failed, N skipped`.

A check is a function with `@check` in one of the modules below; it gets a `Bench` and fails by raising. One that cannot be made here raises
`Skipped`, which says why, and has not passed.
"""

import argparse
import importlib
import logging
import pathlib
import sys
import tempfile
import traceback
import warnings

import rasterio
from raster_bench import CHECKS, LOUD, Bench, Skipped
from rasterio.errors import NotGeoreferencedWarning

# Modules of checks, in the order in which they are made.
MODULES = ["raster_files", "raster_entropy", "raster_cogs", "raster_mosaics", "raster_masks", "raster_memory"]


class Heard(logging.Handler):
    """What GDAL complains about."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raster-io", required=True, type=pathlib.Path)
    parser.add_argument("--halotile", required=True, type=pathlib.Path)
    parser.add_argument("only", nargs="*", help="words that the names of checks to run contain")
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    for harmless in (NotGeoreferencedWarning, DeprecationWarning, PendingDeprecationWarning):
        warnings.simplefilter("ignore", harmless)
    heard = Heard()
    logging.getLogger("rasterio").addHandler(heard)
    logging.getLogger("rasterio").propagate = False
    print(f"rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}")
    for module in MODULES:
        importlib.import_module(module)
    passed, failed, skipped = 0, 0, 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        if not all(word in name for word in arguments.only):
            continue
        heard.said.clear()
        try:
            with tempfile.TemporaryDirectory() as directory, rasterio.Env():
                function(Bench(pathlib.Path(directory), arguments.raster_io, arguments.halotile))
            assert not heard.said or function in LOUD, f"GDAL says: {heard.said}"
            passed += 1
            print(f"ok      {name}")
        except Skipped as why:
            skipped += 1
            print(f"skipped {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
