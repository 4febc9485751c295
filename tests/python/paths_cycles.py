"""Graphs with cycles of negative length are refused, and a vertex on one is named."""

import re

import numpy as np
import pytest
from paths_bench import check, checks
from paths_graphs import joined, sparse
from scipy.sparse import csgraph


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
