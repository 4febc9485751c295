"""scipy's own tests, with its functions replaced by ones that call the program."""

import contextlib
import io
import os
import pathlib

import numpy as np
import pytest
from paths_bench import NONE, checks, write_npy
from scipy.sparse import coo_array, csgraph, csr_array, issparse


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
