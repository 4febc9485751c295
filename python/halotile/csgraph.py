"""scipy's function for all-pairs shortest paths, with its arguments and its conventions.

    from halotile.csgraph import floyd_warshall    # in place of scipy.sparse.csgraph

Differences by design: where all weights are whole numbers distances are exact, and otherwise they are computed in float32 (scipy: float64).
Of several shortest paths it may find another. A graph is not overwritten. Whole weights beyond 2^30 - 2, and longer paths, are computed in float32.
"""

import numpy as np
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import NegativeCycleError, csgraph_from_dense

import halotile
from halotile import _arguments, _gpu

__all__ = ["NegativeCycleError", "floyd_warshall"]


@_arguments.public("halotile.csgraph.floyd_warshall")
def floyd_warshall(csgraph, directed=True, return_predecessors=False, unweighted=False, overwrite=False, *, device="auto", threads=None):
    """Shortest path lengths between all vertices, with the arguments of `scipy.sparse.csgraph.floyd_warshall`.

    Parameters
    ----------
    csgraph : array_like, or sparse array or matrix, shape (V, V)
        Weights. In a dense array there is no edge where a number is 0, infinite, NaN or masked. In a sparse one of any format, entries of one cell
        are parallel edges, of which the lightest counts (as in scipy, which takes fewer formats).
    directed : bool
        Otherwise the algorithm may go from i to j along csgraph[i, j] or csgraph[j, i].
    return_predecessors : bool
        Whether to return predecessors too.
    unweighted : bool
        Counts edges in place of adding weights.
    overwrite : bool
        Has no effect: nothing is overwritten.
    device, threads
        As for `halotile.entropy`.

    Returns
    -------
    dist_matrix : ndarray of float64, shape (V, V)
        Infinite where there is no path.
    predecessors : ndarray of int32, shape (V, V)
        The vertex before j on a shortest path from i, -9999 where there is none. Only if asked for.

    Raises
    ------
    NegativeCycleError
        scipy's: a cycle has a negative length.
    ValueError
        The matrix is not square.

    Examples
    --------
    >>> from halotile.csgraph import floyd_warshall
    >>> floyd_warshall([[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]], directed=False)
    array([[0., 1., 2., 2.],
           [1., 0., 3., 1.],
           [2., 3., 0., 3.],
           [2., 1., 3., 0.]])
    """
    _gpu.refuse(csgraph, "csgraph")
    if not issparse(csgraph):
        csgraph = csgraph if np.ma.isMaskedArray(csgraph) else np.asarray(csgraph)
        if csgraph.ndim != 2 or csgraph.shape[0] != csgraph.shape[1]:
            raise ValueError("compressed-sparse graph must be shape (N, N)")
        # What is masked is no edge, as what is 0.
        csgraph = csgraph_from_dense(np.ma.filled(csgraph, 0).astype(float))
    if csgraph.ndim != 2 or csgraph.shape[0] != csgraph.shape[1]:
        raise ValueError("compressed-sparse graph must be shape (N, N)")
    entries = (csgraph.tocsr() if csgraph.format == "csc" else csgraph).tocoo(copy=False)
    weights = np.ones(entries.nnz) if unweighted else entries.data.astype(float)
    graph = coo_array((weights, (entries.row, entries.col)), csgraph.shape)
    options = {"directed": directed, "device": device, "threads": threads, "dtype": "float64"}
    try:
        try:
            return halotile.apsp(graph, return_predecessors, **options)
        except ValueError as error:
            # Paths that are too long for 32 bits.
            if isinstance(error, halotile.NegativeCycleError):
                raise
            return halotile.apsp(graph, return_predecessors, weight="f32", **options)
    except halotile.NegativeCycleError as error:
        raise NegativeCycleError(str(error)) from None
