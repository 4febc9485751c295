"""Stands in for meson-python, so that pip hands over a source distribution that is built with it without asking how to build it.

pip wants to know a package's name and version even if it is only to download it, and would have Meson, Cython and a compiler tell them.
`cargo xtask python-test` wants scikit-image's tests, which are in no wheel, and builds nothing: it puts this directory into PYTHONPATH.
"""

import pathlib
import re


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # The current directory is that of the unpacked sources; their PKG-INFO says what a wheel's METADATA would.
    metadata = pathlib.Path("PKG-INFO").read_text(encoding="utf-8")
    name, version = (re.search(rf"^{field}: (\S+)$", metadata, re.MULTILINE)[1] for field in ("Name", "Version"))
    directory = pathlib.Path(metadata_directory, f"{name.replace('-', '_')}-{version}.dist-info")
    directory.mkdir()
    directory.joinpath("METADATA").write_text(metadata, encoding="utf-8")
    return directory.name
