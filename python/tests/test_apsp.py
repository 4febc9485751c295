"""`halotile.apsp` and `halotile.csgraph.floyd_warshall`: distances and predecessors against scipy's, for dense and sparse matrices of every type
and layout, and what is refused.
"""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scipy_csgraph

import halotile
from halotile import csgraph

NONE = 2**30 - 1
SIZES = [1, 2, 3, 63, 64, 65, 200]
FORMATS = ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"]


def random_graph(rng, vertices, density, low=0, high=50):
    """Whole weights as float64, infinite where there is no edge."""
    weights = rng.integers(low, high, (vertices, vertices)).astype(float)
    weights[rng.random(weights.shape) >= density] = np.inf
    np.fill_diagonal(weights, np.inf)
    return weights


def without_negative_cycles(rng, vertices, density):
    """Weights of which some are negative, made of others by potentials."""
    potential = rng.integers(0, 30, vertices)
    return random_graph(rng, vertices, density) + potential[:, np.newaxis] - potential


def distances_by_scipy(weights, directed=True):
    """scipy has no edges of weight 0 in dense matrices, so edges are given one by one."""
    row, col = np.nonzero(np.isfinite(weights))
    return scipy_csgraph.johnson(sp.csr_array((weights[row, col], (row, col)), weights.shape), directed=directed)


def check_walks(weights, distances, predecessors, tolerance=0):
    """Predecessors of every pair lead back to the source over edges that add up to the distance."""
    vertices = len(weights)
    assert predecessors.dtype == np.int32 and predecessors.shape == distances.shape
    for i in range(vertices):
        for j in range(vertices):
            if i == j or not np.isfinite(distances[i, j]):
                assert predecessors[i, j] == -9999
                continue
            at, length, steps = j, 0, 0
            while at != i:
                before = predecessors[i, at]
                length, at, steps = length + weights[before, at], before, steps + 1
                assert steps < vertices
            assert abs(length - distances[i, j]) <= tolerance


def infinite(distances):
    """int32 as float64, infinite where there is no path."""
    return np.where(distances == NONE, np.inf, distances)


@pytest.mark.parametrize("vertices", SIZES)
@pytest.mark.parametrize("density", [1, 0.1, 0.01])
def test_whole_weights_are_exact(rng, vertices, density):
    weights = random_graph(rng, vertices, density)
    got = halotile.apsp(weights)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(infinite(got), distances_by_scipy(weights))


@pytest.mark.parametrize("vertices", SIZES)
def test_negative_weights(rng, vertices):
    weights = without_negative_cycles(rng, vertices, 0.2)
    distances, predecessors = halotile.apsp(weights, True)
    np.testing.assert_array_equal(infinite(distances), distances_by_scipy(weights))
    check_walks(weights, infinite(distances), predecessors)


@pytest.mark.parametrize("vertices", [2, 63, 65])
def test_fractions_are_computed_in_float32(rng, vertices):
    weights = random_graph(rng, vertices, 0.3) + 0.3
    distances, predecessors = halotile.apsp(weights, return_predecessors=True)
    assert distances.dtype == np.float32
    np.testing.assert_allclose(distances, distances_by_scipy(weights), rtol=1e-5)
    check_walks(weights, distances, predecessors, 1e-3)


@pytest.mark.parametrize("vertices", [2, 64, 70])
def test_undirected_edges_lead_back(rng, vertices):
    weights = random_graph(rng, vertices, 0.05)
    both = np.minimum(weights, weights.T)
    distances, predecessors = halotile.apsp(weights, True, directed=False)
    np.testing.assert_array_equal(infinite(distances), distances_by_scipy(both))
    check_walks(both, infinite(distances), predecessors)


def test_walks_over_edges_of_weight_0_end(rng):
    weights = np.zeros((40, 40))
    distances, predecessors = halotile.apsp(weights, True)
    assert (distances == 0).all()
    check_walks(weights, distances, predecessors)


def test_no_vertices():
    for graph in (np.zeros((0, 0)), sp.csr_array((0, 0))):
        distances, predecessors = halotile.apsp(graph, True)
        assert distances.shape == predecessors.shape == (0, 0)
        assert (distances.dtype, predecessors.dtype) == (np.int32, np.int32)
    assert halotile.apsp(np.zeros((0, 0)), dtype="float64").dtype == np.float64


def test_the_diagonal_counts_only_where_it_is_negative():
    assert halotile.apsp([[5]]).tolist() == [[0]]
    with pytest.raises(halotile.NegativeCycleError):
        halotile.apsp([[-5]])


def test_a_graph_without_edges():
    inf = np.inf
    assert halotile.apsp(np.full((3, 3), inf), dtype="float64").tolist() == [[0, inf, inf], [inf, 0, inf], [inf, inf, 0]]


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"])
def test_every_type_of_weights(rng, dtype):
    weights = rng.integers(1, 100, (30, 30)).astype(dtype)
    expected = distances_by_scipy(weights.astype(float))
    np.testing.assert_array_equal(halotile.apsp(weights), expected)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8", "f4", "f8"])
def test_every_type_of_sparse_weights(rng, dtype):
    weights = np.where(rng.random((30, 30)) < 0.2, rng.integers(1, 100, (30, 30)), 0).astype(dtype)
    expected = distances_by_scipy(np.where(weights == 0, np.inf, weights.astype(float)))
    np.testing.assert_array_equal(infinite(halotile.apsp(sp.csr_array(weights))), expected)


def test_every_layout_of_a_matrix(rng):
    weights = rng.integers(0, 100, (40, 40))
    expected = distances_by_scipy(weights.astype(float))
    wide = np.zeros((80, 120), int)
    wide[::2, ::3] = weights
    backwards = weights[::-1, ::-1].copy()[::-1, ::-1]
    readonly = weights.copy()
    readonly.flags.writeable = False
    unaligned = np.zeros(weights.nbytes + 1, "u1")[1:].view(weights.dtype).reshape(weights.shape)
    unaligned[...] = weights
    given = [wide[::2, ::3], np.asfortranarray(weights), backwards, weights[:, ::-1].copy()[:, ::-1], readonly, unaligned, np.asmatrix(weights), weights.tolist()]
    for matrix in given:
        before = np.array(matrix)
        np.testing.assert_array_equal(halotile.apsp(matrix), expected)
        assert (np.array(matrix) == before).all()
    np.testing.assert_array_equal(halotile.apsp(np.broadcast_to(np.int8(3), (5, 5))), 3 - 3 * np.eye(5, dtype=int))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format(rng, form, kind):
    weights = random_graph(rng, 50, 0.1, 1)
    entries = np.where(np.isfinite(weights), weights, 0)
    graph = (sp.coo_array if kind == "array" else sp.coo_matrix)(entries).asformat(form)
    distances, predecessors = halotile.apsp(graph, True)
    np.testing.assert_array_equal(infinite(distances), distances_by_scipy(weights))
    check_walks(weights, infinite(distances), predecessors)


def test_zeros_that_a_sparse_matrix_holds_are_edges():
    graph = sp.csr_array(([0, 4], ([0, 1], [1, 2])), (3, 3))
    assert halotile.apsp(graph).tolist() == [[0, 0, 4], [NONE, 0, 4], [NONE, NONE, 0]]


def doubled(form):
    """A matrix with two entries in one cell, 5 and 2, and one in another, 9, that is not sorted."""
    if form == "coo":
        return sp.coo_array(([9.0, 5, 2], ([1, 0, 0], [2, 1, 1])), (3, 3))
    if form == "csr":
        return sp.csr_array((np.array([5.0, 2, 9]), np.array([1, 1, 2]), np.array([0, 2, 3, 3])), (3, 3))
    if form == "csc":
        return sp.csc_array((np.array([5.0, 2, 9]), np.array([0, 0, 1]), np.array([0, 0, 2, 3])), (3, 3))
    blocks = np.array([5.0, 2, 9]).reshape(3, 1, 1)
    return sp.bsr_array((blocks, np.array([1, 1, 2]), np.array([0, 2, 3, 3])), (3, 3))


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
def test_of_several_entries_of_one_cell_the_lightest_counts_and_the_matrix_stays_as_it_was(form):
    graph = doubled(form)
    assert halotile.apsp(graph)[0].tolist() == [0, 2, 11]
    assert csgraph.floyd_warshall(graph)[0].tolist() == [0, 2, 11]
    assert csgraph.floyd_warshall(graph, unweighted=True)[0].tolist() == [0, 1, 2]
    if form in ("csr", "csc"):
        for options in ({}, {"unweighted": True}, {"directed": False}):
            expected = scipy_csgraph.floyd_warshall(graph, **options)
            np.testing.assert_array_equal(csgraph.floyd_warshall(graph, **options), expected)
    assert graph.nnz == 3 and graph.data.ravel().tolist() == doubled(form).data.ravel().tolist(), "the caller's matrix was changed"


def test_infinite_and_nan_entries_of_a_sparse_matrix_are_no_edges():
    graph = sp.csr_array(([np.inf, np.nan, 4.0], ([0, 0, 1], [1, 2, 2])), (3, 3))
    assert infinite(halotile.apsp(graph)).tolist() == [[0, np.inf, np.inf], [np.inf, 0, 4], [np.inf, np.inf, 0]]


def test_infinite_and_nan_weights_of_a_dense_matrix_are_no_edges():
    assert halotile.apsp([[0, np.nan], [np.inf, 0]]).tolist() == [[0, NONE], [NONE, 0]]


@pytest.mark.parametrize("weights", [[[0, 3], [5, 0]], [[0, 3.5], [5, 0]], [[0, np.inf], [5, 0]]])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_the_type_of_distances(weights, dtype):
    if dtype == "int32" and 3.5 in weights[0]:
        with pytest.raises(ValueError, match="row 0, column 1.*3.5"):
            halotile.apsp(weights, dtype=dtype)
        return
    got = halotile.apsp(weights, dtype=dtype)
    assert got.dtype == dtype
    expected = np.array(weights, float)
    np.testing.assert_array_equal(infinite(got) if dtype == "int32" else got, expected)


def test_float32_weights_are_asked_for_or_int32():
    assert halotile.apsp([[0, 3], [5, 0]], weight="f32").dtype == np.float32
    with pytest.raises((TypeError, ValueError), match="int32"):
        halotile.apsp([[0, 3], [5, 0]], weight="f32", dtype="int32")
    with pytest.raises((TypeError, ValueError), match="weight"):
        halotile.apsp([[0]], weight=None)
    with pytest.raises(ValueError, match="row 0, column 1"):
        halotile.apsp([[0, 3.5], [5, 0]], weight="i32")


def test_the_emulator_agrees(rng):
    weights = random_graph(rng, 70, 0.2)
    np.testing.assert_array_equal(halotile.apsp(weights, device="emulator"), halotile.apsp(weights, threads=1))


# What is refused.


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (3, 0)])
@pytest.mark.parametrize("make", [np.zeros, sp.csr_array])
def test_a_matrix_that_is_not_square_is_refused(shape, make):
    with pytest.raises(ValueError, match="square"):
        halotile.apsp(make(shape))


@pytest.mark.parametrize("graph", [np.float64(3), np.zeros(4), np.zeros((2, 2, 2))])
def test_what_is_no_matrix_is_refused(graph):
    with pytest.raises(ValueError, match="dimensions"):
        halotile.apsp(graph)


class OnGpu:
    """A matrix, dense or the numbers of a sparse one, as what lies on a GPU shows itself."""

    __cuda_array_interface__ = {"shape": (3, 3), "typestr": "<f4", "data": (4096, True), "version": 3}
    shape, ndim = (3, 3), 2


class SparseOnGpu:
    data, nnz, format, shape, ndim = OnGpu(), 9, "csr", (3, 3), 2

    def tocoo(self, copy=True):
        return self


@pytest.mark.parametrize("kind", [OnGpu, SparseOnGpu])
def test_a_matrix_on_a_gpu_is_refused(kind):
    with pytest.raises(TypeError, match="graph: it lies on a GPU"):
        halotile.apsp(kind())
    with pytest.raises(TypeError, match="csgraph: it lies on a GPU"):
        csgraph.floyd_warshall(kind())


@pytest.mark.parametrize("dtype", [complex, object, "U3", "M8[s]", "m8[s]", [("a", "i4")], np.longdouble])
def test_what_is_no_number_is_refused(dtype):
    with pytest.raises(TypeError, match="graph: its type is"):
        halotile.apsp(np.zeros((2, 2), dtype))


def test_a_complex_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match="complex"):
        halotile.apsp(sp.csr_array(np.eye(2) * 1j))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weight", [-np.inf, -(2.0**40), 2.0**40])
def test_weights_that_are_too_large_are_named(make, weight):
    weights = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, weight], [1.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match=r"row 1, column 2"):
        halotile.apsp(make(weights), weight="i32")


def test_weights_that_are_minus_infinite_are_refused_in_float32_too():
    with pytest.raises(ValueError, match="row 0, column 1"):
        halotile.apsp([[0, -np.inf], [1.5, 0]])


@pytest.mark.parametrize("graph", [[[0, 1], [-2, 0]], [[0, 1.5], [-2.5, 0]], sp.csr_array([[0, 1], [-2, 0]])])
@pytest.mark.parametrize("return_predecessors", [False, True])
def test_a_negative_cycle_is_an_error_that_names_a_vertex(graph, return_predecessors):
    with pytest.raises(halotile.NegativeCycleError, match="vertex [01]"):
        halotile.apsp(graph, return_predecessors)
    assert issubclass(halotile.NegativeCycleError, ValueError)


@pytest.mark.parametrize("weights", [[[0, 0.5], [1e10, 0]], [[0, 1e10], [0.5, 0]]])
def test_large_weights_beside_fractions_are_computed_in_float32(weights):
    """Whichever comes first."""
    np.testing.assert_allclose(halotile.apsp(weights), weights, rtol=1e-6)


def test_want_of_memory_of_a_sparse_matrix_is_judged_by_its_vertices():
    graph = sp.coo_array(([1], ([0], [10**7 - 1])), (10**7, 10**7))
    with pytest.raises(MemoryError, match="10000000 vertices need [0-9]+ MiB of memory"):
        halotile.apsp(graph)


@pytest.mark.parametrize("dtype", ["f2", ">i4", "f8"])
def test_want_of_memory_is_found_before_a_matrix_is_converted(dtype):
    with pytest.raises(MemoryError, match="10000000 vertices need"):
        halotile.apsp(np.broadcast_to(np.ones((), dtype), (10**7, 10**7)))


@pytest.mark.parametrize("threads", [1025, 10**5, 10**30])
def test_more_threads_than_any_machine_has_use_for(threads):
    with pytest.raises(ValueError, match="threads=.*from 1 to 1024"):
        halotile.apsp([[0]], threads=threads)


def test_want_of_memory_is_a_memory_error():
    with pytest.raises(MemoryError, match="memory"):
        halotile.apsp(np.broadcast_to(np.int8(1), (10**7, 10**7)))


def test_a_negative_edge_that_leads_back_is_a_cycle():
    with pytest.raises(halotile.NegativeCycleError):
        halotile.apsp([[0, -1], [np.inf, 0]], directed=False)


@pytest.mark.parametrize("how", [{"weight": "f64"}, {"device": "gpu"}, {"threads": 0}])
@pytest.mark.parametrize("vertices", [0, 2])
def test_wrong_options_are_errors_whatever_the_number_of_vertices(how, vertices):
    with pytest.raises(ValueError, match=next(iter(how))):
        halotile.apsp(np.zeros((vertices, vertices)), **how)


def test_a_wrong_type_of_distances_is_an_error():
    with pytest.raises(TypeError, match="int32, float32 or float64"):
        halotile.apsp([[0]], dtype="int64")


# scipy's function.


@pytest.mark.parametrize("vertices", [1, 2, 63, 64, 65])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array, sp.dok_array])
def test_floyd_warshall_is_scipy_s(rng, vertices, directed, unweighted, form):
    weights = np.where(rng.random((vertices, vertices)) < 0.1, rng.integers(1, 30, (vertices, vertices)), 0)
    # scipy takes fewer formats than halotile.
    expected = scipy_csgraph.floyd_warshall(sp.csr_array(weights.astype(float)), directed, False, unweighted)
    distances, predecessors = csgraph.floyd_warshall(form(weights), directed, True, unweighted)
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(distances, expected)
    edges = np.where(weights == 0, np.inf, weights if not unweighted else 1)
    check_walks(edges if directed else np.minimum(edges, edges.T), distances, predecessors)
    np.testing.assert_array_equal(csgraph.floyd_warshall(form(weights), directed, unweighted=unweighted), expected)


def test_floyd_warshall_of_negative_weights(rng):
    weights = without_negative_cycles(rng, 40, 0.2)
    weights[weights == 0] = np.inf
    np.testing.assert_array_equal(csgraph.floyd_warshall(weights), scipy_csgraph.floyd_warshall(weights))


def test_floyd_warshall_of_a_masked_array(rng):
    weights = rng.integers(1, 9, (20, 20)).astype(float)
    masked = np.ma.masked_array(weights, mask=rng.random(weights.shape) < 0.9)
    np.testing.assert_array_equal(csgraph.floyd_warshall(masked), scipy_csgraph.floyd_warshall(masked))


def test_floyd_warshall_of_a_masked_array_with_zeros_and_infinities():
    masked = np.ma.masked_array([[0, 3.0, 0], [5, 0, 2], [1, np.inf, 0]], mask=[[0, 1, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(csgraph.floyd_warshall(masked), scipy_csgraph.floyd_warshall(masked))
    whole = np.ma.masked_equal([[0, 3, 7], [7, 0, 2], [1, 7, 0]], 7)
    np.testing.assert_array_equal(csgraph.floyd_warshall(whole), scipy_csgraph.floyd_warshall(whole))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8", ">i2"])
def test_apsp_of_masked_arrays_of_every_type(dtype):
    masked = np.ma.masked_array(np.ones((2, 2), dtype), mask=[[0, 1], [0, 0]])
    assert halotile.apsp(masked).tolist() == [[0, NONE], [1, 0]]
    assert halotile.apsp(np.ma.masked_array(np.ones((2, 2), dtype))).tolist() == [[0, 1], [1, 0]]


def test_apsp_of_a_masked_array_takes_masked_weights_for_no_edges():
    masked = np.ma.masked_array([[0, 3], [5, 0]], mask=[[False, True], [False, False]])
    assert halotile.apsp(masked).tolist() == [[0, NONE], [5, 0]]


def test_floyd_warshall_of_weights_beyond_32_bits():
    weights = np.array([[0, 2.0**40, 0], [0, 0, 2.0**41], [1, 0, 0]])
    np.testing.assert_allclose(csgraph.floyd_warshall(weights), scipy_csgraph.floyd_warshall(weights), rtol=1e-6)


def test_floyd_warshall_of_paths_beyond_32_bits():
    weights = np.diag(np.full(4, 2.0**29), 1)
    np.testing.assert_array_equal(csgraph.floyd_warshall(weights), scipy_csgraph.floyd_warshall(weights))


def test_floyd_warshall_of_fractions(rng):
    weights = rng.random((30, 30)) * (rng.random((30, 30)) < 0.2)
    np.testing.assert_allclose(csgraph.floyd_warshall(weights), scipy_csgraph.floyd_warshall(weights), rtol=1e-6)


def test_floyd_warshall_raises_scipy_s_errors():
    for graph in ([[0, 1], [-2, 0]], sp.csr_array([[0, 1], [-2, 0]])):
        with pytest.raises(scipy_csgraph.NegativeCycleError):
            csgraph.floyd_warshall(graph)
    for graph in (np.zeros((2, 3)), sp.csr_array((2, 3)), np.zeros(3)):
        with pytest.raises(ValueError):
            csgraph.floyd_warshall(graph)
    assert csgraph.NegativeCycleError is scipy_csgraph.NegativeCycleError


@pytest.mark.parametrize("graph", [np.zeros((0, 0)), sp.csr_array((0, 0))])
def test_floyd_warshall_without_vertices(graph):
    assert csgraph.floyd_warshall(graph).shape == (0, 0)


def test_floyd_warshall_overwrites_nothing(rng):
    weights = rng.integers(1, 9, (20, 20)).astype(float)
    before = weights.copy()
    csgraph.floyd_warshall(weights, overwrite=True)
    csgraph.floyd_warshall(sp.csr_array(weights), unweighted=True)
    assert (weights == before).all()
    graph = sp.csr_array(weights)
    csgraph.floyd_warshall(graph, unweighted=True)
    assert (graph.toarray() == before).all(), "unweighted=True changed the caller's matrix"


def test_several_threads_may_call_at_once(rng):
    graphs = [random_graph(rng, 70, 0.3) for _ in range(4)]
    expected = [distances_by_scipy(graph) for graph in graphs]
    right = []

    def work(i):
        right.extend((infinite(halotile.apsp(graphs[i])) == expected[i]).all() for _ in range(10))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert right == [True] * 40


def test_ctrl_c_stops_the_work(in_new_process):
    said = in_new_process(
        """
        import os, signal, threading, time, numpy as np, halotile
        signal.signal(signal.SIGINT, signal.default_int_handler)
        graph = np.random.default_rng(1).integers(1, 10**6, (4500, 4500)).astype("i4")
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        try:
            halotile.apsp(graph, True)
            print("done after all")
        except KeyboardInterrupt:
            print("stopped" if time.perf_counter() - start < 2.5 else "late")
        """
    )
    assert said == "stopped\n"
