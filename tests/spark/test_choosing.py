"""Choosing the number of clusters on DataFrames: the same recommendation and table as on rows in memory."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import apnc
from apnc import KernelKMeans, SpectralClustering
from tests.spark.conftest import labels_of

GROUPS, _ = make_blobs(900, 3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], random_state=0)
MOONS, _ = make_moons(900, noise=0.05, random_state=0)
NOISE = np.random.default_rng(0).normal(size=(600, 2))
SMALL = {"n_landmarks": 80, "n_init": 3, "random_state": 0}
CASES = {
    "groups": (GROUPS, KernelKMeans(**SMALL), 4),
    "weights": (GROUPS, KernelKMeans(**SMALL), 4),
    "graph": (MOONS, SpectralClustering(n_landmarks=150, n_init=3, random_state=0), 2),
    "noise": (NOISE, KernelKMeans(**SMALL), None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_in_memory(frame_of, case):
    X, estimator, k = CASES[case]
    weights = {"w": np.arange(len(X)) % 3 + 1.0} if case == "weights" else {}
    columns = {"weight_column": "w"} if weights else {}
    frame = frame_of(X, 3, **weights)
    there = apnc.choose(apnc.open(frame, exclude=["id"], **columns), estimator, range(2, 7))
    here = apnc.choose(X, estimator, range(2, 7), sample_weight=weights.get("w"))
    assert there.n_clusters == here.n_clusters == k
    assert (there.reason, there.hint, there.n_sampled) == (here.reason, here.hint, here.n_sampled)
    assert there.columns.keys() == here.columns.keys()
    for name, values in here.columns.items():
        np.testing.assert_allclose(there.columns[name], values, rtol=1e-5, atol=1e-6, err_msg=name)
    if k is None:
        assert there.estimator is here.estimator is None
        return
    np.testing.assert_array_equal(labels_of(there.estimator, frame), here.estimator.labels_)
