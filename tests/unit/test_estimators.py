"""The estimators among scikit-learn's other tools."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from apnc import EnsembleEmbedding, KernelEmbedding, KernelKMeans, StableEmbedding
from apnc.settings import auto_landmarks


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble"])
def test_rings_that_plain_k_means_cannot_separate(embedding):
    X, y = make_circles(4000, factor=0.15, noise=0.05, random_state=0)
    km = KernelKMeans(2, gamma=2.0, embedding=embedding, random_state=0).fit(X)
    assert normalized_mutual_info_score(y, km.labels_) > 0.99
    assert normalized_mutual_info_score(y, KMeans(2, n_init=3, random_state=0).fit(X).labels_) < 0.5


def test_attributes(digits):
    X, _ = digits
    km = KernelKMeans(10, n_landmarks=80, n_components=30, random_state=0).fit(X)
    assert km.labels_.shape == (1797,)
    assert km.labels_.dtype == np.int32
    assert km.cluster_centers_.shape == (10, 30)
    assert km.landmarks_.shape == (80, 64)
    assert (km.n_landmarks_, km.n_components_, km.n_features_in_) == (80, 30, 64)
    assert km.embed(X).shape == (1797, 30)
    assert km.embed(X).dtype == np.float32
    assert km.transform(X).shape == (1797, 10)
    assert 0 < km.residual_ < 1
    np.testing.assert_array_equal(km.transform(X).argmin(axis=1), km.labels_)
    assert km.inertia_ == pytest.approx((km.transform(X).min(axis=1) ** 2).sum())
    assert {tuple(row) for row in km.landmarks_} <= {tuple(row) for row in X}


def test_residual_falls_with_landmarks_and_vanishes_at_full_rank(digits):
    X = digits[0][:400]
    residuals = [
        KernelEmbedding(gamma=0.05, n_landmarks=size, n_components=size, random_state=0).fit(X).residual_
        for size in (50, 200, 400)
    ]
    assert residuals[0] > residuals[1] > residuals[2]
    assert residuals[2] == pytest.approx(0, abs=1e-8)
    stable = KernelEmbedding(embedding="stable", gamma=0.05, n_landmarks=50, random_state=0).fit(X)
    assert stable.residual_ == pytest.approx(residuals[0])


def test_residual_is_the_naive_mean(digits):
    X = digits[0][:300]
    km = KernelEmbedding(gamma=0.05, n_landmarks=40, n_components=20, random_state=0).fit(X)
    Y = km.transform(X)
    assert km.residual_ == pytest.approx(np.mean(1 - (Y**2).sum(axis=1)))


def test_auto_sizes():
    assert auto_landmarks(100, 8) == 100
    assert auto_landmarks(10_000, 8) == 300
    assert auto_landmarks(1e6, 8) == 1000
    assert auto_landmarks(1e9, 8) == 2000
    assert auto_landmarks(1e6, 1000) == 4000


@pytest.mark.parametrize("embedding", ["nystroem", StableEmbedding(0.3), EnsembleEmbedding(2)])
def test_clone_and_pickle(digits, embedding):
    X, _ = digits
    km = KernelKMeans(5, embedding=embedding, n_landmarks=40, random_state=0)
    fitted = clone(km).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.labels_)
    assert not hasattr(km, "labels_")


def test_grid_search_in_a_pipeline(digits):
    X, y = digits
    steps = make_pipeline(
        StandardScaler(), KernelKMeans(10, n_landmarks=60, random_state=0, embedding=StableEmbedding())
    )
    grid = {"kernelkmeans__gamma": [0.001, 0.01], "kernelkmeans__embedding__subset_size": [0.2, 0.5]}

    def agreement(estimator, rows, truth):
        return adjusted_rand_score(truth, estimator.predict(rows))

    search = GridSearchCV(steps, grid, scoring=agreement, cv=2).fit(X, y)
    assert search.best_score_ > 0.3
    assert GridSearchCV(KernelKMeans(3, n_landmarks=20, random_state=0), {"n_clusters": [2, 9]}, cv=2).fit(
        X
    ).best_params_ == {"n_clusters": 9}


def test_precomputed_kernels_are_cut_on_both_sides_in_cross_validation(digits):
    K = digits[0][:200] @ digits[0][:200].T
    search = GridSearchCV(
        KernelKMeans(kernel="precomputed", random_state=0), {"n_clusters": [2, 5]}, cv=2
    ).fit(K)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_embedding_in_front_of_a_classifier(digits):
    X, y = digits
    model = make_pipeline(
        KernelEmbedding(n_landmarks=200, random_state=0), LogisticRegression(max_iter=2000, C=100)
    )
    assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9


def test_metadata_routing_of_weights(digits):
    X, _ = digits
    w = np.random.default_rng(0).integers(0, 3, size=len(X))
    with config_context(enable_metadata_routing=True):
        km = KernelKMeans(5, n_landmarks=40, random_state=0).set_fit_request(sample_weight=True)
        routed = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)), ("km", km)])
        routed.fit(X, sample_weight=w)
    direct = clone(km).fit(StandardScaler().fit_transform(X), sample_weight=w)
    np.testing.assert_array_equal(routed["km"].labels_, direct.labels_)


def test_feature_names_out(digits):
    km = KernelKMeans(3, n_landmarks=20, random_state=0).fit(digits[0])
    assert list(km.get_feature_names_out()) == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]


def test_unfitted():
    with pytest.raises(NotFittedError):
        KernelKMeans().predict(np.eye(3))


def test_random_state_instances_and_none(digits):
    X = digits[0]
    one, two = (
        KernelKMeans(4, n_landmarks=30, random_state=np.random.RandomState(5)).fit(X).labels_
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)
    first, second = (KernelKMeans(4, n_landmarks=30).fit(X).landmarks_ for _ in range(2))
    assert (first != second).any()


def test_parameters_are_never_written_to(digits):
    params, mixture = {"gamma": 0.1}, [1.0, 2.0]
    from sklearn.metrics.pairwise import rbf_kernel

    KernelKMeans(
        3, kernel=rbf_kernel, kernel_params=params, embedding=EnsembleEmbedding(2, mixture), n_landmarks=20
    ).fit(digits[0])
    assert params == {"gamma": 0.1}
    assert mixture == [1.0, 2.0]
