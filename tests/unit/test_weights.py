"""Weights are repetitions."""

import numpy as np
import pytest
from scipy import sparse

from apnc import KernelKMeans

EMBEDDINGS = ["nystroem", "stable", "ensemble", "neighbours"]
INITS = ["k-means++", "random", "random-partition"]


@pytest.fixture
def weighted():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 5)), rng.integers(1, 5, size=600)


def estimator(**options):
    return KernelKMeans(6, n_landmarks=50, n_components=60, max_iter=50, random_state=0, **options)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_integer_weights_equal_repeated_rows(weighted, embedding, init):
    X, w = weighted
    by_weight = estimator(embedding=embedding, init=init).fit(X, sample_weight=w)
    repeated = estimator(embedding=embedding, init=init).fit(np.repeat(X, w, axis=0))
    assert by_weight.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)
    np.testing.assert_array_equal(by_weight.landmarks_, repeated.landmarks_)
    np.testing.assert_array_equal(np.repeat(by_weight.labels_, w), repeated.labels_)
    assert by_weight.inertia_ == pytest.approx(repeated.inertia_, rel=1e-9)
    if embedding != "neighbours":
        assert by_weight.residual_ == pytest.approx(repeated.residual_, rel=1e-9)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_auto_sizes_do_not_count_repetitions(weighted, embedding):
    X, w = weighted
    options = {"embedding": embedding, "random_state": 0}
    by_weight = KernelKMeans(4, **options).fit(X, sample_weight=w)
    repeated = KernelKMeans(4, **options).fit(np.repeat(X, w, axis=0))
    assert by_weight.n_landmarks_ == repeated.n_landmarks_
    np.testing.assert_array_equal(np.repeat(by_weight.labels_, w), repeated.labels_)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("init", INITS)
def test_rows_of_weight_zero_equal_absent_rows(weighted, init, layout):
    X, w = weighted
    present = np.random.default_rng(1).random(600) < 0.7
    zeroed = estimator(init=init).fit(layout(X), sample_weight=w * present)
    absent = estimator(init=init).fit(layout(X[present]), sample_weight=w[present])
    assert zeroed.gamma_ == pytest.approx(absent.gamma_, rel=1e-12)
    np.testing.assert_array_equal(zeroed.labels_[present], absent.labels_)
    np.testing.assert_array_equal(zeroed.labels_, absent.predict(layout(X)))


def test_weights_scale_the_inertia_alone(weighted):
    X, w = weighted
    one, ten = (estimator().fit(X, sample_weight=factor * w) for factor in (1, 10))
    np.testing.assert_array_equal(one.labels_, ten.labels_)
    assert ten.inertia_ == pytest.approx(10 * one.inertia_)


def test_score_is_minus_the_weighted_inertia(weighted):
    X, w = weighted
    km = estimator().fit(X, sample_weight=w)
    assert km.score(X, sample_weight=w) == pytest.approx(-km.inertia_, rel=1e-12)
    own = km.transform(X)[np.arange(600), km.labels_]
    assert km.inertia_ == pytest.approx((w * own**2).sum(), rel=1e-9)
    assert km.score(X) == pytest.approx(-(own**2).sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (-1, "row 0: the weight -1 must be"),
        ([1.0] * 599, "shape"),
        ([np.nan] + [1.0] * 599, "NaN"),
        ([0.0] * 600, "weight zero"),
    ],
)
def test_bad_weights_are_refused(weighted, bad, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(weighted[0], sample_weight=bad)


def test_an_absent_row_seeds_no_empty_cluster():
    X = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), [[9.0, 9.0]]])
    options = {"kernel": "linear", "init": np.repeat(X[:1], 3, axis=0), "random_state": 0}
    weights = np.r_[np.ones(60), 0]
    zeroed = KernelKMeans(3, **options).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(zeroed.labels_[:60], KernelKMeans(3, **options).fit(X[:60]).labels_)
