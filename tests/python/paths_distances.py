"""Distances and walks beside scipy's, on the CPU and in the emulator, and of shapes beside formulas."""

import itertools
import json

import numpy as np
from paths_bench import UNREACHABLE, check, checks
from paths_graphs import GRAPHS, SIZES, compared, same, sparse
from scipy.sparse import csgraph

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
