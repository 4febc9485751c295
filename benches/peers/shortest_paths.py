"""Times all-pairs shortest paths in Python's packages, and in halotile beside them.

    python shortest_paths.py 2048 3 [path/to/halotile]

Arguments: vertices, runs, and the program if it is to be timed too. The graph is complete, weights are random whole numbers
from 1 to 100. Packages: scipy's `floyd_warshall`, and those of networkx (with numpy), igraph and rustworkx that are
installed; what is not is left out. Before a package is timed its distances in a graph of 100 vertices are compared with three plain
loops. Prints one JSON object with every time.
"""

import importlib
import json
import subprocess
import sys
import time

import numpy as np


def weights(vertices, seed):
    matrix = np.random.default_rng(seed).integers(1, 101, (vertices, vertices)).astype(np.float64)
    np.fill_diagonal(matrix, 0)
    return matrix


def definition(matrix):
    d = matrix.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


# Each takes the matrix and returns what makes distances of it: only that is timed.
def scipy(matrix):
    from scipy.sparse.csgraph import floyd_warshall

    return lambda: floyd_warshall(matrix)


def networkx(matrix):
    import networkx

    graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    return lambda: networkx.floyd_warshall_numpy(graph)


def igraph(matrix):
    import igraph

    graph = igraph.Graph.Weighted_Adjacency(matrix, mode="directed", loops="ignore")
    return lambda: np.array(graph.distances(weights="weight", algorithm="dijkstra"))


def rustworkx(matrix):
    import rustworkx

    graph = rustworkx.PyDiGraph.from_adjacency_matrix(matrix)
    return lambda: rustworkx.digraph_floyd_warshall_numpy(graph, weight_fn=float)


def timed(vertices, runs, make):
    small = weights(100, 1)
    assert np.array_equal(make(small)(), definition(small)), make.__name__
    solve = make(weights(vertices, 2))
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        solve()
        seconds.append(time.perf_counter() - start)
    return seconds


def halotile(program, vertices, runs):
    command = f"{program} bench apsp -q --device cpu --kernels cpu --vertices {vertices} --runs {runs} --export-json -"
    record = json.loads(subprocess.run(command.split(), check=True, capture_output=True).stdout)
    return record["results"][0]["time"]["raw"], record["halotile"]


def main():
    vertices, runs = int(sys.argv[1]), int(sys.argv[2])
    found = []
    for make in [scipy, networkx, igraph, rustworkx]:
        try:
            version = importlib.import_module(make.__name__).__version__
        except ModuleNotFoundError:
            continue
        found.append((make.__name__, version, timed(vertices, runs, make)))
    if len(sys.argv) > 3:
        seconds, version = halotile(sys.argv[3], vertices, max(runs, 10))
        found.append(("halotile", version, seconds))
    results = []
    for name, version, seconds in found:
        median = float(np.median(seconds))
        results.append(
            {
                "program": name,
                "version": version,
                "median_ms": median * 1e3,
                "grelax_per_s": vertices**3 / median / 1e9,
                "raw_ms": [s * 1e3 for s in seconds],
            }
        )
    print(json.dumps({"vertices": vertices, "runs": runs, "results": results}))


main()
