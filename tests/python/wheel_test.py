"""What is in the wheel of the Python package, and what pip has made of it.

`cargo xtask python-test` runs this with the Python that the wheel is installed in. One build is for every Python from 3.10 on; the wheel has all modules
as they are in the sources, types, licences and nothing else; and what is imported is what it brought. The last line is `the wheel is whole`.
"""

import argparse
import email
import importlib.metadata
import pathlib
import re
import sysconfig
import zipfile

PUBLIC = ["__init__", "_native", "csgraph", "dask", "skimage", "xarray"]
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path, help="the workspace")
    arguments = parser.parse_args()
    wheel, root = arguments.wheel, arguments.root

    named = re.fullmatch(r"halotile-(\d+\.\d+\.\d+)-cp310-abi3-(\w+)\.whl", wheel.name)
    assert named, f"{wheel.name} is not for every Python from 3.10 on"
    version = named[1]
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    print(f"{wheel.name}, {wheel.stat().st_size} bytes, {len(files)} files")
    info = f"halotile-{version}.dist-info"

    sources = root / "python/halotile"
    kept = [path for path in sources.iterdir() if path.suffix in (".py", ".pyi") or path.name == "py.typed"]
    for path in kept:
        assert files.get(f"halotile/{path.name}") == path.read_bytes(), f"halotile/{path.name} is not what it is in the sources"
    for name in ["py.typed", *(f"{module}.pyi" for module in PUBLIC)]:
        assert f"halotile/{name}" in files, f"the wheel has no halotile/{name}"
    modules = [name for name in files if name.startswith("halotile/_native.") and name.endswith((".so", ".pyd"))]
    assert len(modules) == 1, f"native modules: {modules}"
    # Where Python's library is linked, the module loads in that Python only.
    assert b"libpython" not in files[modules[0]], f"{modules[0]} names libpython"

    for name in LICENCES:
        text = [files[path] for path in files if path.startswith(f"{info}/") and path.endswith(f"/{name}")]
        assert text == [(root / name).read_bytes()], f"the wheel has no {name}, or another than the workspace"
    metadata = email.message_from_string(files[f"{info}/METADATA"].decode())
    expected = {"Name": "halotile", "Version": version, "License-Expression": "MIT OR Apache-2.0", "Requires-Python": ">=3.10"}
    for field, value in expected.items():
        assert metadata[field] == value, f"{field}: {metadata[field]}, not {value}"
    assert metadata.get_payload().strip() == (root / "python/README.md").read_text(encoding="utf-8").strip(), "the description is not README.md"
    tag = email.message_from_bytes(files[f"{info}/WHEEL"])["Tag"]
    assert tag.startswith("cp310-abi3-"), tag

    known = {f"halotile/{path.name}" for path in kept} | set(modules)
    other = [name for name in files if name not in known and not name.startswith(f"{info}/")]
    assert not other, f"not needed: {other}"

    import halotile

    place = pathlib.Path(halotile.__file__).parent
    assert place == pathlib.Path(sysconfig.get_path("platlib"), "halotile"), f"halotile is imported from {place}"
    assert halotile.__version__ == importlib.metadata.version("halotile") == version
    for name in known:
        assert (place.parent / name).read_bytes() == files[name], f"{name} is installed otherwise"
    print("the wheel is whole")


if __name__ == "__main__":
    main()
