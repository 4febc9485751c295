"""What the checks of shortest paths share: the program under test, and files of graphs."""

import functools
import os
import subprocess

import numpy as np

CHECKS = []
NONE = -9999
UNREACHABLE = 2**30 - 1


def check(function):
    CHECKS.append((function.__name__.replace("_", " "), function))
    return function


def checks(*values):
    """A check for each of the values."""

    def each(function):
        for value in values:
            name = " ".join([function.__name__.replace("_", " ") + ":", *map(str, value if isinstance(value, tuple) else [value])])
            CHECKS.append((name, functools.partial(function, value=value)))
        return function

    return each


class Bench:
    """A directory, and the program under test."""

    def __init__(self, directory, halotile):
        self.directory, self.halotile = directory, halotile
        self.files = 0

    def path(self, ending):
        self.files += 1
        return self.directory / f"{self.files}.{ending}"

    def ended(self, *arguments, **more):
        environment = os.environ | {"RUST_BACKTRACE": "0"}
        command = [str(self.halotile), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=300, env=environment, **more)

    def run(self, *arguments, **more):
        """Standard output of the program, which succeeds."""
        ran = self.ended(*arguments, **more)
        assert ran.returncode == 0, f"{arguments}: exit code {ran.returncode}, {ran.stderr.decode()}"
        return ran.stdout

    def solve(self, graph, *options, paths=False):
        """Distances as floating-point numbers, infinite where there is no path; and predecessors, if asked for."""
        output, before = self.path("npy"), self.path("npy")
        self.run("apsp", graph, output, "-q", *options, *(["--paths", before] if paths else []))
        distances = np.load(output)
        nowhere = {"int16": 2**15 - 1, "int32": UNREACHABLE, "float32": np.inf}[distances.dtype.name]
        distances = np.where(distances == nowhere, np.inf, distances.astype(float))
        return (distances, np.load(before)) if paths else distances

    def graph(self, weights, ending="npy"):
        """A file of a matrix of weights, infinite where there is no edge."""
        path = self.path(ending)
        WRITERS[ending](path, len(weights), *edges(weights))
        return path


def edges(weights):
    """The edges of a matrix: from, to, weight."""
    sources, targets = np.nonzero(np.isfinite(weights))
    return sources, targets, weights[sources, targets]


def number(weight):
    return repr(int(weight)) if weight == int(weight) else repr(float(weight))


def write_lines(path, edges, line):
    path.write_text("".join(line(s, t, number(w)) + "\n" for s, t, w in zip(*edges)))


def write_npy(path, vertices, sources, targets, weights):
    matrix = np.full((vertices, vertices), np.inf)
    np.minimum.at(matrix, (sources, targets), weights)
    np.save(path, matrix)


def write_bin(path, vertices, *edges):
    header = np.array([vertices, len(edges[0])], "<i4")
    path.write_bytes(header.tobytes() + np.column_stack(edges).astype("<i4").tobytes())


def write_gr(path, vertices, *edges):
    write_lines(path, edges, lambda s, t, w: f"a {s + 1} {t + 1} {w}")
    path.write_text(f"c of a test\np sp {vertices} {len(edges[0])}\n" + path.read_text())


def write_mtx(path, vertices, *edges):
    write_lines(path, edges, lambda s, t, w: f"{s + 1} {t + 1} {w}")
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{vertices} {vertices} {len(edges[0])}\n" + path.read_text())


def write_csv(path, _, *edges):
    write_lines(path, edges, lambda s, t, w: f"{s},{t},{w}")


def write_tsv(path, _, *edges):
    write_lines(path, edges, lambda s, t, w: f"{s}\t{t}\t{w}")
    path.write_text("from\tto\tweight\n" + path.read_text())


WRITERS = {"npy": write_npy, "bin": write_bin, "gr": write_gr, "mtx": write_mtx, "csv": write_csv, "tsv": write_tsv}
