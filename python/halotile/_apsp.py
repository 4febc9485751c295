"""All-pairs shortest paths of matrices, dense or sparse."""

import logging

import numpy as np

from halotile import _arguments, _gpu, _native

_log = logging.getLogger("halotile")

# The least integer that is no edge.
_NO_EDGE = 2**30 - 1


@_arguments.public("halotile.apsp")
def apsp(
    graph, return_predecessors=False, *, directed=True, weight="auto", device="auto", threads=None, dtype=None
):
    """The length of the shortest path from every vertex of a graph to every other.

    Parameters
    ----------
    graph : array_like or scipy.sparse matrix or array, shape (V, V)
        The weight of the edge from i to j at row i, column j; weights may be negative. In a dense array there is no edge where a number is infinite
        or NaN, or an integer 2^30 - 1 or more, or masked; zeros are edges of weight 0, and the diagonal counts only where it is negative. In a
        sparse one the entries that are stored are the edges, zeros among them; entries of one cell are parallel edges, of which the lightest
        counts, whatever the format.
    return_predecessors : bool
        Whether to return predecessors too.
    directed : bool
        Otherwise every edge also leads back.
    weight : {"auto", "i32", "f32"}
        What is computed in: whole numbers of up to 2^30 - 2, or floating-point numbers. ``"auto"`` takes whole numbers unless a weight has a
        fraction or is too large.
    device, threads
        As for `halotile.entropy`.
    dtype : {"int32", "float32", "float64"}, optional
        The type of the distances: by default int32 where weights are whole and float32 otherwise.

    Returns
    -------
    distances : ndarray, shape (V, V)
        From i to j at row i, column j. Where there is no path: infinite, or 2^30 - 1 in int32.
    predecessors : ndarray of int32, shape (V, V)
        The vertex before j on a shortest path from i; -9999 where there is none, as in scipy. Only if asked for.

    Raises
    ------
    NegativeCycleError
        A cycle has a negative length; a vertex on it is named.
    TypeError, ValueError
        The graph is no square matrix of numbers, or a weight is too large for its type: with its row and column.
    DeviceError, MemoryError, KeyboardInterrupt
        As for `halotile.entropy`.

    Notes
    -----
    Whole numbers are exact. Of floating-point weights, distances are computed in float32.

    References
    ----------
    .. [1] R. W. Floyd, Algorithm 97: Shortest path (1962).
    .. [2] D. B. Johnson, Efficient algorithms for shortest paths in sparse networks (1977), for negative weights.

    Examples
    --------
    >>> import numpy as np
    >>> import halotile
    >>> inf = np.inf
    >>> halotile.apsp([[0, 5, 4], [inf, 0, -2], [inf, inf, 0]])
    array([[         0,          5,          3],
           [1073741823,          0,         -2],
           [1073741823, 1073741823,          0]], dtype=int32)
    """
    threads = _arguments.thread_count(threads)
    if not isinstance(weight, str):
        raise TypeError(f'weight={weight!r}: "auto", "i32" or "f32"')
    dtype = None if dtype is None else np.dtype(dtype)
    if dtype is not None and dtype not in (np.int32, np.float32, np.float64):
        raise TypeError(f"dtype={dtype}: int32, float32 or float64")
    if weight == "f32" and dtype == np.int32:
        raise ValueError('dtype=int32: of weight="f32" distances are floating-point numbers; give float32 or float64')
    _gpu.refuse(graph, "graph")
    sparse = _is_sparse(graph)
    graph = graph if sparse else np.asanyarray(graph)
    rows, cols = _shape(graph)
    asked = "i32" if weight == "auto" and dtype == np.int32 else weight
    options = {"predecessors": bool(return_predecessors), "weight": asked, "device": str(device)}
    # Before anything is made that is as large.
    _native.admit(rows, (4 if dtype is None else dtype.itemsize) + (4 if return_predecessors else 0), **options)
    matrix, edges = (None, _edges(graph)) if sparse else (_matrix(graph), None)
    if rows == 0:
        paths, made = None, np.dtype(np.float32 if weight == "f32" else np.int32)
    else:
        paths, info = _native.apsp(matrix, edges, directed=bool(directed), threads=threads, **options)
        _log.info("%d vertices on %s in %s%s", rows, info["device"], info["weight"], f", because {info['why']}" if info["why"] else "")
        made = np.dtype(paths.dtype)
    dtype = made if dtype is None else dtype
    # Whole numbers as float32 go by way of float64: their infinity is another one.
    made = np.dtype(np.float64) if paths and dtype == np.float32 and paths.dtype == "int32" else dtype
    distances = np.empty((rows, rows), made)
    if paths:
        paths.distances(distances)
    distances = distances.astype(dtype, copy=False)
    if not return_predecessors:
        return distances
    predecessors = np.empty((rows, rows), np.int32)
    if paths:
        paths.predecessors(predecessors)
    return distances, predecessors


def _is_sparse(graph):
    """Whether it is one of scipy.sparse's, without importing it."""
    return hasattr(graph, "tocoo") and hasattr(graph, "nnz")


def _shape(graph):
    """Rows and columns, which are as many."""
    if not _is_sparse(graph):
        _arguments.check_grid(graph, "graph")
    elif graph.ndim != 2:
        raise ValueError(f"graph: it has {graph.ndim} dimensions, and a matrix has 2")
    rows, cols = graph.shape
    if rows != cols:
        raise ValueError(f"graph: its shape is {(rows, cols)}, and a matrix of weights is square")
    return rows, cols


def _matrix(graph):
    """A dense matrix as the native module takes it: what is masked has a number that is no edge."""
    if np.ma.is_masked(graph):
        real = graph.dtype.kind == "f"
        wide = graph.dtype if real or graph.dtype.itemsize >= 4 else np.dtype(np.int32)
        graph = graph.astype(wide).filled(np.inf if real else _NO_EDGE)
    return _arguments.grid(graph, "graph")


def _edges(graph):
    """A sparse matrix as the number of vertices and what its entries are: from, to, weight, each a row."""
    # Conversion to rows, where it is by columns, leaves several entries of one cell what they are; from coordinates it would add them up.
    entries = (graph.tocsr() if graph.format == "csc" else graph).tocoo(copy=False)
    weights = _arguments.grid(entries.data[np.newaxis], "graph")
    real = weights.dtype.kind == "f"
    kept = ~(np.isnan(weights) | np.isposinf(weights))[0] if real else slice(None)
    rows, cols, weights = entries.row[kept], entries.col[kept], weights[0, kept]
    if (rows[1:] < rows[:-1]).any():
        # Sorted by rows, which is the order that takes no time.
        order = np.argsort(rows, kind="stable")
        rows, cols, weights = rows[order], cols[order], weights[order]
    rows, cols = (np.ascontiguousarray(end, dtype=np.uint64)[np.newaxis] for end in (rows, cols))
    return graph.shape[0], rows, cols, np.ascontiguousarray(weights)[np.newaxis]
