"""What the package asks the library of classes: those of nothing, and through pickle."""

import pickle

import numpy as np
import pytest

from halotile import _native


def test_classes_of_nothing():
    empty = np.zeros((0, 5))
    for classes in (
        _native.Classes.of_values([], False),
        _native.Classes.survey(empty),
        _native.Classes.survey(empty, empty, 7, 1),
        pickle.loads(pickle.dumps(_native.Classes.survey(empty))),
    ):
        assert (classes.values, classes.levels, classes.nodata_occurs) == ([], 1, False)
    assert _native.Classes.survey(np.full((2, 2), np.nan)).values == []
    for quantile in (False, True):
        for dtype in ("u1", "i2", "f4", "i8"):
            assert _native.Classes.binned(empty.astype(dtype), 5, quantile).edges == []
    assert _native.Classes.extent(empty) == (None, False, False)


@pytest.mark.parametrize(
    "classes",
    [
        lambda: _native.Classes.survey(np.array([[-3, 40000, 11, 255]]), None, 255),
        lambda: _native.Classes.survey(np.array([[1.0, np.nan]])),
        lambda: _native.Classes.of_levels(12, 3),
        lambda: _native.Classes.of_levels(256),
        lambda: _native.Classes.of_levels(40000),
        lambda: _native.Classes.survey(np.arange(1000).reshape(10, 100), None, 12),
        lambda: _native.Classes.of_list("1..3,a\n4,nodata\n*,b\n", None),
        lambda: _native.Classes.of_edges([0.5, 1.25, 1e300], True, float("nan")),
        lambda: _native.Classes.binned(np.array([[0.1, 0.2, 0.9]]), 3, True, None, 0.9, 1),
        lambda: _native.Classes.binned(np.array([[0.1, np.inf, 0.9]]), 3, False),
    ],
)
def test_classes_go_through_pickle(classes):
    before = classes()
    after = pickle.loads(pickle.dumps(before))
    assert (after.levels, after.values, after.edges, after.nodata_occurs, repr(after)) == (
        before.levels,
        before.values,
        before.edges,
        before.nodata_occurs,
        repr(before),
    )
    assert pickle.dumps(after) == pickle.dumps(before)
