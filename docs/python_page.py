#!/usr/bin/env python3
"""Runs the page docs/python.md: its blocks of Python, in their order, in one namespace, in a folder of their own.

    docs/python_page.py            writes what blocks print, and the pictures, into the page
    docs/python_page.py --check    compares, and exits 1 where the page is stale

A block of Python that prints something is followed by a block ```text with what it prints, and nothing else is. A block after the comment
<!-- not run: REASON --> is left out, and listed. Pictures are what blocks save as python-*.png; they are compared by their pixels, and a little of a
difference is allowed, because text is not drawn the same way everywhere.

It needs the package and numpy, matplotlib, scipy, scikit-image, dask, distributed, xarray and rioxarray. --page names another page, for instance one that is
to be seen failing.
"""

import argparse
import contextlib
import io
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback

DOCS = pathlib.Path(__file__).resolve().parent

# The last group is the output that the page shows.
BLOCK = re.compile(
    r"(?P<comment><!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?P<shown>\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)

# Of pixels that differ by more than LEAST of 255, also from the neighbours of those in the other picture, this share is allowed: text takes up a
# few per cent of a picture, and where it is a little wider all else moves by a pixel.
LEAST, SHARE = 24, 0.03
# What a picture may take.
BYTES = 300_000


class Stale(Exception):
    """A block that failed, with its place."""


def run(page, name):
    """The page with what its blocks print, and the reasons why blocks were left out. Pictures are in the current folder."""
    namespace = {"__name__": "__page__"}
    left_out = []

    def block(found):
        line = page.count("\n", 0, found.start("code")) + 1
        if found["reason"]:
            left_out.append(f"{name}:{line}: not run: {found['reason']}")
            return found[0]
        printed = io.StringIO()
        # Empty lines before it, so that tracebacks have the page's lines.
        code = compile("\n" * (line - 1) + found["code"], name, "exec")
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise Stale(f"{name}:{line}: the block failed\n{traceback.format_exc()}") from None
        # Markdown's blocks do not end in spaces.
        output = "".join(text.rstrip() + "\n" for text in printed.getvalue().splitlines())
        block = f"```python\n{found['code']}```\n"
        return block + (f"\n```text\n{output}```\n" if output else "")

    return BLOCK.sub(block, page), left_out


def compact(picture):
    """Drops what depends on the version of matplotlib, and what a picture without transparency does not need."""
    from PIL import Image

    with Image.open(picture) as image:
        pixels = image.convert("RGB")
    pixels.save(picture, optimize=True)


def difference(old, new):
    """What is different between two pictures, as a line of text; None where it is next to nothing."""
    import numpy as np
    from PIL import Image

    if not old.exists():
        return "it is not there"
    with Image.open(old) as first, Image.open(new) as second:
        first, second = (np.asarray(image.convert("RGB"), int) for image in (first, second))
    if first.shape != second.shape:
        return f"its shape is {first.shape}, and {second.shape} was made"
    rows, cols = first.shape[:2]
    around = np.pad(first, ((1, 1), (1, 1), (0, 0)), mode="edge")
    moved = (around[down : down + rows, right : right + cols] for down in range(3) for right in range(3))
    share = (np.min([np.abs(each - second).max(axis=2) for each in moved], axis=0) > LEAST).mean()
    return f"{share:.1%} of its pixels differ" if share > SHARE else None


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments.add_argument("--page", type=pathlib.Path, default=DOCS / "python.md")
    given = arguments.parse_args()
    path = given.page.resolve()
    page = path.read_text(encoding="utf-8")

    os.environ["MPLBACKEND"] = "Agg"
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.rcParams["savefig.dpi"] = 100

    stale = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(DOCS.parent / "examples", pathlib.Path(folder, "examples"))
        before = pathlib.Path.cwd()
        os.chdir(folder)
        try:
            made, left_out = run(page, path.name)
        except Stale as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            os.chdir(before)
        pictures = sorted(pathlib.Path(folder).glob("python-*.png"))
        for picture in pictures:
            compact(picture)
            if picture.stat().st_size > BYTES:
                stale.append(f"{picture.name}: it takes {picture.stat().st_size} bytes, and {BYTES} are allowed")
            if f"]({picture.name})" not in page:
                stale.append(f"{picture.name}: the page does not show it")
            place = path.parent / picture.name
            if different := difference(place, picture):
                if given.check:
                    stale.append(f"{picture.name}: {different}")
                else:
                    shutil.copyfile(picture, place)
                    print(f"wrote {picture.name}, {picture.stat().st_size} bytes")
        names = {picture.name for picture in pictures}
        for shown in re.findall(r"\]\((python-[^)]*\.png)\)", page):
            if shown not in names:
                stale.append(f"{shown}: no block makes it")
    if made != page:
        if given.check:
            import difflib

            lines = difflib.unified_diff(page.splitlines(), made.splitlines(), "the page", "what its blocks print", lineterm="", n=2)
            stale.append("\n".join(lines))
        else:
            path.write_text(made, encoding="utf-8")
            print(f"wrote {path.name}")
    for line in left_out + stale:
        print(line)
    ran = len(BLOCK.findall(page)) - len(left_out)
    print(f"{ran} blocks run, {len(left_out)} not run, pictures: {len(pictures)}; {'stale' if stale else 'up to date'}")
    if given.check and stale:
        print("docs/python_page.py brings the page up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
