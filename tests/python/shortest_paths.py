"""Shortest paths between scipy and `halotile apsp`.

`cargo xtask graph-test` runs this with a Python that has scipy. Graphs of all kinds go through the program, in every type, on the CPU and in the
emulator, and every distance must be the one that scipy finds, integer for integer. Predecessors need not be scipy's, as there may be
several shortest paths: they must lead back, over edges that add up to the distance. Graphs of a shape are compared with formulas. And
scipy's own tests, as they are in the installed wheel, run with its functions replaced by ones that call the program. The last line counts:
`N passed, N failed`.

A check is a function with `@check`, or one for each value with `@checks`; it gets a `Bench` and fails by raising.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np
import pytest
import scipy
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse import csgraph

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


# Graphs: matrices of weights, infinite where there is no edge, 0 on the diagonal.


def joined(vertices, density, low, high, seed):
    random = np.random.default_rng([vertices, seed])
    weights = random.integers(low, high, (vertices, vertices), endpoint=True).astype(float)
    weights[random.random((vertices, vertices)) >= density] = np.inf
    np.fill_diagonal(weights, 0)
    return weights


def disconnected(vertices):
    weights = joined(vertices, 0.3, 1, 50, 3)
    part = np.arange(vertices) % 3
    weights[part[:, None] != part] = np.inf
    return weights


def fractions(vertices):
    weights = joined(vertices, 0.3, 1, 50, 6)
    return weights * np.random.default_rng(vertices).random(weights.shape)


def negative(vertices):
    """Weights of both signs without a negative cycle: on every cycle the potentials cancel."""
    potential = np.random.default_rng(vertices).integers(-300, 300, vertices)
    weights = joined(vertices, 4 / vertices + 0.05, 0, 100, 4) + potential[:, None] - potential
    np.fill_diagonal(weights, 0)
    return weights


GRAPHS = {
    "sparse": lambda vertices: joined(vertices, 3 / vertices, 1, 100, 1),
    "dense": lambda vertices: joined(vertices, 0.7, 1, 1000, 2),
    "disconnected": disconnected,
    "zero-weight": lambda vertices: joined(vertices, 5 / vertices, 0, 2, 5),
    "heavy": lambda vertices: joined(vertices, 0.5, 1, 2**29, 7),
    "fractions": fractions,
    "negative": negative,
}
SIZES = (1, 2, 63, 65, 200, 500)


def sparse(weights):
    """As scipy takes it: an edge of weight 0 is an entry that is there."""
    sources, targets, values = edges(weights)
    beside = sources != targets
    return csr_array((values[beside], (sources[beside], targets[beside])), shape=weights.shape)


def expected(weights):
    """The distances by two ways of scipy, which agree."""
    graph = sparse(weights)
    ways = [csgraph.floyd_warshall, csgraph.johnson if weights.min() < 0 else csgraph.dijkstra]
    one, other = (way(graph) for way in ways)
    assert np.allclose(one, other, rtol=1e-12, atol=0)
    return one


def same(got, wanted, relative=0):
    assert got.shape == wanted.shape
    with np.errstate(invalid="ignore"):
        right = (got == wanted) | (np.abs(got - wanted) <= relative * np.abs(wanted))
    wrong = np.argwhere(~right)
    if len(wrong):
        i, j = wrong[0]
        raise AssertionError(f"{len(wrong)} distances differ; from {i} to {j} it is {wanted[i, j]}, not {got[i, j]}")


def leads_back(weights, distances, before, relative=0):
    """Every walk ends, its edges are there, and their lengths add up to the distance."""
    vertices = len(weights)
    row, column = np.indices(weights.shape)
    reached = np.isfinite(distances) & (row != column)
    assert before.dtype == np.int32 and (before[~reached] == NONE).all(), "-9999 is where there is no predecessor"
    assert ((0 <= before[reached]) & (before[reached] < vertices)).all(), "a predecessor is a vertex"
    last = np.where(reached, before, row)
    assert np.isfinite(weights[last, column][reached]).all(), "there is no such edge"
    lengths = np.where(reached, weights[last, column], 0.0)
    # Twice as many steps at a time.
    for _ in range(max(1, vertices.bit_length())):
        lengths, last = lengths + lengths[row, last], last[row, last]
    assert (last[reached] == row[reached]).all(), "a walk does not end"
    same(lengths[reached][None], distances[reached][None], relative)


# Rounding: of as many sums as a path has edges, in 24 bits.
def rounding(kind, vertices):
    return vertices * 2.0**-23 if kind == "fractions" else 0


def compared(bench, kind, vertices, *options):
    weights = GRAPHS[kind](vertices)
    wanted = expected(weights)
    distances, before = bench.solve(bench.graph(weights), *options, paths=True)
    same(distances, wanted, rounding(kind, vertices))
    leads_back(weights, distances, before, rounding(kind, vertices))


# Fractions are for f32 alone, and sums of heavy weights for i32.
ONLY = {"fractions": ("auto", "f32"), "heavy": ("auto", "i32")}


@checks(*((kind, weight) for kind in GRAPHS for weight in ONLY.get(kind, ("auto", "i32", "i16", "f32"))))
def as_scipy_on_the_cpu(bench, value):
    kind, weight = value
    for vertices in SIZES:
        compared(bench, kind, vertices, "--weight", weight, "--device", "cpu")


@check
def weights_that_a_type_cannot_hold(bench):
    for kind, weight in [("fractions", "i32"), ("fractions", "i16"), ("heavy", "i16")]:
        graph, output = bench.graph(GRAPHS[kind](20)), bench.path("npy")
        ended = bench.ended("apsp", graph, output, "--weight", weight, "-q")
        assert ended.returncode == 1 and ended.stderr.count(b"\n") == 1, (kind, weight, ended)
        assert str(graph).encode() in ended.stderr and not output.exists(), (kind, weight, ended)


@checks("sparse", "zero-weight", "negative")
def as_scipy_by_the_rung_on_the_cpu(bench, value):
    for vertices in (1, 65, 200):
        compared(bench, value, vertices, "--weight", "i32", "--device", "cpu", "--kernel", "threads")


@checks(*itertools.product(["naive", "blocked32", "blocked64", "tiled"], ["sparse", "disconnected", "zero-weight", "negative"]))
def as_scipy_in_the_emulator(bench, value):
    kernel, kind = value
    for vertices in (1, 65):
        compared(bench, kind, vertices, "--weight", "i32", "--device", "emulator", "--kernel", kernel)


@checks(*itertools.product(["dense", "zero-weight"], ["i16", "f32"]))
def as_scipy_in_the_emulator_by_auto(bench, value):
    kind, weight = value
    compared(bench, kind, 65, "--weight", weight, "--device", "emulator")


@checks(*itertools.product(["blocked64", "tiled"], [2, 3, 4]))
def as_scipy_on_emulated_devices(bench, value):
    kernel, devices = value
    for kind in ("sparse", "negative"):
        compared(bench, kind, 130, "--weight", "i32", "--device", f"emulator:{devices}", "--kernel", kernel)


@check
def distances_of_a_thousand_vertices(bench):
    weights = GRAPHS["dense"](1000)
    same(bench.solve(bench.graph(weights)), csgraph.dijkstra(sparse(weights)))


@check
def walks_of_the_program_are_those_of_the_file(bench):
    weights = GRAPHS["sparse"](63)
    distances, file = bench.path("npy"), bench.path("npy")
    bench.run("apsp", bench.graph(weights), distances, "--paths", file, "-q")
    distances, before = np.load(distances), np.load(file)
    assert (distances == UNREACHABLE).any()
    for i, j in [(0, 0), (3, 60), (17, 4), *np.argwhere(distances == UNREACHABLE)[:2]]:
        ended = bench.ended("path", file, i, j, "--json")
        if distances[i, j] == UNREACHABLE:
            assert ended.returncode == 1 and not ended.stdout, ended
            continue
        walk, at = [int(j)], j
        while at != i:
            at = before[i, at]
            walk.insert(0, int(at))
        assert json.loads(ended.stdout)["path"] == walk, (i, j)


# Shapes.


def places(shape, i, j, vertices):
    """Edges on the way from i to j; infinite where there is none."""
    if shape == "chain":
        return np.where(j >= i, j - i, np.inf)
    if shape == "ring":
        return (j - i) % vertices
    if shape == "grid":
        side = next(side for side in itertools.count(1) if side * side >= vertices)
        return np.abs(i // side - j // side) + np.abs(i % side - j % side)
    if shape == "hypercube":
        return np.bitwise_count(i ^ j)
    if shape == "star":
        return np.where(i == j, 0, np.where((i == 0) | (j == 0), 1, 2))
    return (i != j).astype(int)


@checks(*itertools.product(["chain", "ring", "grid", "hypercube", "star", "complete"], [1, 2, 63, 64, 65, 1000, 4097]))
def closed_form(bench, value):
    shape, vertices = value
    graph, output = bench.path("bin"), bench.path("bin")
    bench.run("generate", "graph", "--vertices", vertices, "--shape", shape, "--weights", "3..3", graph, "-q")
    bench.run("apsp", graph, output, "--device", "cpu", "-q")
    distances = np.memmap(output, "<i4", "r", shape=(vertices, vertices))
    assert output.stat().st_size == 4 * vertices**2
    columns = np.arange(vertices)
    for start in range(0, vertices, 256):
        rows = np.arange(start, min(start + 256, vertices))[:, None]
        steps = places(shape, rows, columns, vertices)
        same(distances[start : start + 256], np.where(np.isinf(steps), UNREACHABLE, 3 * steps))


# Negative cycles.


def with_cycle(vertices, length, seed):
    """A graph with one negative cycle and no other, and the vertices on it.

    Every edge costs at least 1 beside what the potentials cancel, those of the cycle nothing, and its last one -1: no way back to where that
    begins costs less than 1, but the cycle's own.
    """
    random = np.random.default_rng([vertices, length, seed])
    weights = joined(vertices, 0.1, 1, 100, seed)
    cycle = random.permutation(vertices)[:length]
    weights[cycle[:-1], cycle[1:]] = 0
    weights[cycle[-1], cycle[0]] = -1
    potential = random.integers(-300, 300, vertices)
    off = ~np.eye(vertices, dtype=bool)
    weights[off] += (potential[:, None] - potential)[off]
    return weights, set(map(int, cycle))


def refuses(bench, graph, cycle, *options):
    output, paths = bench.path("npy"), bench.path("npy")
    ended = bench.ended("apsp", graph, output, "--paths", paths, "-q", *options)
    said = ended.stderr.decode()
    assert ended.returncode == 1 and said.count("\n") == 1, (ended.returncode, said)
    named = re.search(r"vertex (\d+) is on a cycle of negative length", said)
    assert named and int(named[1]) in cycle, f"{said.strip()}; on the cycle are {sorted(cycle)}"
    assert not output.exists() and not paths.exists(), "there is an output"
    assert not [path for path in bench.directory.iterdir() if path.stem.startswith(".")], "something is left"


@checks(2, 3, 10, 64)
def negative_cycle_of(bench, value):
    for vertices, seed in [(64, 1), (65, 2), (200, 3)]:
        weights, cycle = with_cycle(vertices, value, seed)
        with pytest.raises(csgraph.NegativeCycleError):
            csgraph.floyd_warshall(sparse(weights))
        for weight in ("auto", "f32"):
            refuses(bench, bench.graph(weights), cycle, "--weight", weight)


@check
def negative_loop_and_negative_edge_both_ways(bench):
    loop = bench.path("csv")
    loop.write_text("0,1,5\n3,3,-1\n1,2,0\n")
    refuses(bench, loop, {3})
    edge = bench.path("csv")
    edge.write_text("0,1,5\n1,2,-2\n2,3,7\n")
    assert bench.solve(edge)[0].tolist() == [0, 5, 3, 10]
    refuses(bench, edge, {1, 2}, "--undirected")


# Formats.


@check
def every_format_of_graphs_gives_the_same(bench):
    weights = GRAPHS["zero-weight"](70)
    sources, targets, values = edges(weights)
    # Loops that count for nothing, and heavier edges beside others, first and last.
    extra = ([0, 5, 69, 1, 69], [0, 5, 69, 2, 3], [4, 0, 1, 9, 8])
    lightest = weights.copy()
    np.minimum.at(lightest, (extra[0][3:], extra[1][3:]), extra[2][3:])
    listed = [np.concatenate([more[:4], some, more[4:]]).astype(float) for more, some in zip(extra, (sources, targets, values))]
    listed = (listed[0].astype(int), listed[1].astype(int), listed[2])
    for undirected in ([], ["--undirected"]):
        wanted = expected(np.minimum(lightest, lightest.T) if undirected else lightest)
        for ending, write in WRITERS.items():
            path = bench.path(ending)
            write(path, 70, *listed)
            same(bench.solve(path, *undirected), wanted)


@check
def every_type_of_matrix_gives_the_same(bench):
    weights = GRAPHS["sparse"](30)
    wanted = expected(weights)
    for dtype in ("<f8", ">f8", "<f4", "<i4", ">i4", "<i8"):
        made = np.where(np.isinf(weights), UNREACHABLE, weights) if dtype[1] == "i" else weights
        for order in "CF":
            path = bench.path("npy")
            np.save(path, np.asarray(made.astype(dtype), order=order))
            same(bench.solve(path), wanted)


@check
def every_format_of_distances_says_the_same(bench):
    weights = GRAPHS["negative"](40)
    wanted = expected(weights)
    assert np.isinf(wanted).any() or (wanted < 0).any()
    graph = bench.graph(weights)
    binary, table = bench.path("bin"), bench.path("csv")
    bench.run("apsp", graph, binary, "-q")
    bench.run("apsp", graph, table, "-q")
    # Whatever negative edges do, unreachable stays 2^30 - 1.
    whole = np.where(np.isinf(wanted), UNREACHABLE, wanted).astype("<i4")
    assert binary.read_bytes() == whole.tobytes()
    same(np.loadtxt(table, delimiter=",", ndmin=2), wanted)
    same(bench.solve(graph), wanted)


@check
def a_graph_from_standard_input(bench):
    weights = GRAPHS["dense"](40)
    for ending, name in [("bin", "binary"), ("gr", "dimacs"), ("csv", "edge-list"), ("mtx", "matrix-market"), ("npy", "npy")]:
        data = bench.graph(weights, ending).read_bytes()
        out = bench.run("apsp", "-", "-", "--if", name, "--of", "csv", "-q", input=data)
        same(np.loadtxt(io.BytesIO(out), delimiter=","), expected(weights))


# scipy's own tests.


class AsScipy:
    """scipy's functions for shortest paths, by the program."""

    def __init__(self, bench, weight):
        self.bench, self.weight = bench, weight
        self.calls = 0

    def solve(self, graph, directed, unweighted):
        self.calls += 1
        graph = graph if issparse(graph) else csgraph.csgraph_from_dense(np.ma.asarray(graph, float))
        entries = coo_array(csr_array(graph, dtype=float))
        file = self.bench.path("npy")
        ones = np.ones_like(entries.data)
        write_npy(file, graph.shape[0], *entries.coords, ones if unweighted else entries.data)
        try:
            return self.bench.solve(file, "--weight", self.weight, *([] if directed else ["--undirected"]), paths=True)
        except AssertionError as failed:
            if "negative length" in str(failed):
                raise csgraph.NegativeCycleError(str(failed)) from None
            raise

    def shortest_path(self, csgraph, method="auto", directed=True, return_predecessors=False, unweighted=False, overwrite=False, indices=None):
        if method == "FW" and indices is not None:
            raise ValueError("Floyd and Warshall's algorithm is from all vertices")
        distances, before = self.solve(csgraph, directed, unweighted)
        if indices is not None:
            distances, before = distances[indices], before[indices]
        return (distances, before) if return_predecessors else distances

    def one_method(self, csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False):
        return self.shortest_path(csgraph, "auto", directed, return_predecessors, unweighted, indices=indices)

    def dijkstra(self, csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False, limit=np.inf, min_only=False):
        distances, before = self.solve(csgraph, directed, unweighted)
        before[distances > limit] = NONE
        distances[distances > limit] = np.inf
        indices = np.arange(len(distances)) if indices is None else np.asarray(indices)
        if not min_only:
            return (distances[indices], before[indices]) if return_predecessors else distances[indices]
        columns, indices = np.arange(len(distances)), indices.ravel()
        sources = indices[distances[indices].argmin(axis=0)]
        distances, before = distances[sources, columns], before[sources, columns]
        sources = np.where(np.isinf(distances), NONE, sources)
        return (distances, before, sources) if return_predecessors else distances

    def functions(self):
        one = dict.fromkeys(("johnson", "bellman_ford"), self.one_method)
        return {"shortest_path": self.shortest_path, "dijkstra": self.dijkstra, **one}


# What we do not offer, by how the names of its tests begin.
LEFT_OUT = {"test_yen_": "the k shortest paths between two vertices"}


class Runner:
    """Lets pytest run tests with other functions, and counts."""

    def __init__(self, functions):
        self.functions = functions
        self.ran, self.failed, self.left_out = {}, [], {}

    def pytest_collection_modifyitems(self, items):
        kept = []
        for item in items:
            reason = next((reason for start, reason in LEFT_OUT.items() if item.name.startswith(start)), None)
            if reason:
                self.left_out[item.originalname] = reason
            else:
                kept.append(item)
            for name, function in self.functions.items():
                assert hasattr(item.module, name), f"{item.module} has no {name}"
                setattr(item.module, name, function)
        items[:] = kept

    def pytest_runtest_logreport(self, report):
        name = report.location[2].split("[")[0]
        if report.when == "call":
            self.ran[name] = self.ran.get(name, 0) + 1
        if report.outcome != "passed":
            self.failed.append(f"{report.nodeid} {report.outcome}\n{report.longreprtext}")


@checks("auto", "f32")
def own_tests_of_scipy(bench, value):
    file = pathlib.Path(csgraph.__file__).parent / "tests/test_shortest_path.py"
    ours = AsScipy(bench, value)
    runner = Runner(ours.functions())
    # Nothing of scipy's own settings for its tests is wanted, and nothing is written.
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "--rootdir", str(file.parent), "--import-mode=importlib"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = pytest.main([str(file), *options], plugins=[runner])
    for name, count in runner.ran.items():
        print(f"        ran {name}" + (f", {count} cases" if count > 1 else ""))
    for name, reason in runner.left_out.items():
        print(f"        left out {name}: {reason}")
    assert not runner.failed, "\n".join(runner.failed)
    assert code == 0 and ours.calls >= sum(runner.ran.values()) >= 80, printed.getvalue()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halotile", required=True, type=pathlib.Path)
    parser.add_argument("only", nargs="*", help="words that the names of checks to run contain")
    arguments = parser.parse_args()
    print(f"scipy {scipy.__version__}, numpy {np.__version__}")
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
