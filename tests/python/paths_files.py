"""Every format of graphs and of distances, and every type of number in them, says the same."""

import io

import numpy as np
from paths_bench import UNREACHABLE, WRITERS, check, edges
from paths_graphs import GRAPHS, expected, same


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
