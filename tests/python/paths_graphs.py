"""Graphs that the checks of shortest paths run on, their distances by scipy, and comparisons with them.

Graphs are matrices of weights, infinite where there is no edge, 0 on the diagonal.
"""

import numpy as np
from paths_bench import NONE, edges
from scipy.sparse import csgraph, csr_array


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
