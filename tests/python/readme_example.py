"""Runs the examples of READMEs: their blocks of Python, in their order, each README's in one namespace and in a folder of its own.

    readme_example.py README.md "From Python"    the blocks under a heading
    readme_example.py python/README.md           all of them

`cargo xtask python-test` runs this with a Python that has the package and NumPy and nothing else, as after `pip install halotile`: a block that needs more
is tagged `py`. What a block prints must be what the block ```text after it shows, if there is one. The last line counts the blocks.
"""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<shown>.*?)^```$)?", re.DOTALL | re.MULTILINE)


def section(text, title):
    """The part under a heading, up to the next heading of its level or a higher one."""
    # Comments in blocks are no headings.
    fenced = False
    level, start, at = None, None, 0
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(#+) (.*)", line)
        if heading and start is None and heading[2].strip() == title:
            level, start = len(heading[1]), at + len(line)
        elif heading and start is not None and len(heading[1]) <= level:
            return text[start:at]
        at += len(line)
    return None if start is None else text[start:]


def main():
    readme, *title = sys.argv[1:]
    text = pathlib.Path(readme).read_text(encoding="utf-8")
    where = f'{readme}, section "{title[0]}"' if title else readme
    text = section(text, title[0]) if title else text
    if text is None:
        sys.exit(f"{where}: there is no such heading")
    blocks = list(BLOCK.finditer(text))
    if not blocks:
        sys.exit(f"{where}: there is no block ```python")
    namespace = {"__name__": "__main__"}
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, block in enumerate(blocks, 1):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block["code"], f"{where}, block {number}", "exec"), namespace)
            print(printed.getvalue(), end="")
            if block["shown"] is not None and printed.getvalue().strip() != block["shown"].strip():
                sys.exit(f"{where}: block {number} shows\n{block['shown']}and prints\n{printed.getvalue()}")
        os.chdir(start)
    if "halotile" not in sys.modules:
        sys.exit(f"{where}: none of the blocks has imported halotile")
    print(f"{where}: {len(blocks)} blocks ran")


if __name__ == "__main__":
    main()
