"""What "auto" stands for: components by the spectrum, unit rows for cosine."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.decomposition import TruncatedSVD

from apnc import EnsembleEmbedding, KernelEmbedding, KernelKMeans
from apnc.discrepancy import Euclidean
from apnc.embeddings import Block, Coefficients
from apnc.embeddings.components import LEAST_COMPONENTS, SHARE, needed_components
from apnc.engines.spill import kept_bytes


def embedded(coefficients, K):
    """R K_L(x) by plain products."""
    edges = np.cumsum([0, *(block.weights.shape[1] for block in coefficients.blocks)])
    parts = [
        K[:, a:b] @ block.weights.T
        for block, a, b in zip(coefficients.blocks, edges[:-1], edges[1:], strict=True)
    ]
    return np.hstack(parts)


def coefficients_of(rng, shapes):
    blocks = tuple(
        Block(np.zeros((width, 1)), rng.normal(size=(m, width)) / np.arange(1, m + 1)[:, None] ** 2)
        for m, width in shapes
    )
    return Coefficients(blocks, Euclidean())


def variance(Y, weights):
    return float(weights @ ((Y - np.average(Y, axis=0, weights=weights)) ** 2).sum(axis=1))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_kept_directions_hold_the_share_of_the_variance(seed, widths, least):
    rng = np.random.default_rng(seed)
    all_of_them = coefficients_of(rng, [(m, m + 3) for m in widths])
    K = rng.normal(size=(200, sum(widths) + 3 * len(widths))) + 2
    weights = rng.random(200)
    Y = embedded(all_of_them, K)
    found = needed_components(all_of_them, Y, weights, least)
    kept = embedded(found, K)
    assert variance(kept, weights) >= (SHARE - 1e-9) * variance(Y, weights)
    assert min(least, Y.shape[1]) <= found.n_components <= Y.shape[1]
    assert len(found.blocks) == len(widths)
    assert not any(np.tril(block.weights, -1).any() for block in found.blocks)
    if found.n_components == Y.shape[1]:
        np.testing.assert_allclose(kept @ kept.T, Y @ Y.T, rtol=1e-8, atol=1e-8)


def test_one_block_is_turned_to_the_best_directions():
    """Against scikit-learn's singular vectors, in what is left of the inner products."""
    rng = np.random.default_rng(0)
    one = coefficients_of(rng, [(40, 60)])
    K = rng.normal(size=(500, 60))
    Y = embedded(one, K)
    found = needed_components(one, Y, np.ones(500), 0)
    svd = TruncatedSVD(found.n_components, algorithm="arpack").fit(Y)
    kept, best = embedded(found, K), svd.transform(Y)
    assert 1 < found.n_components < 40
    np.testing.assert_allclose(kept @ kept.T, best @ best.T, atol=1e-8 * np.abs(Y @ Y.T).max())


def test_fewer_directions_would_not_hold_it():
    rng = np.random.default_rng(1)
    one = coefficients_of(rng, [(40, 60)])
    K, weights = rng.normal(size=(500, 60)), rng.random(500)
    Y = embedded(one, K)
    m = needed_components(one, Y, weights, 0).n_components
    svd = TruncatedSVD(m - 1, algorithm="arpack").fit(Y * np.sqrt(weights)[:, None])
    assert variance(Y @ svd.components_.T, weights) < SHARE * variance(Y, weights)


@pytest.mark.parametrize("embedding", ["nystroem", EnsembleEmbedding(3)])
def test_auto_components_follow_the_data(digits, embedding):
    X, _ = digits
    fitted = KernelKMeans(10, embedding=embedding, random_state=0).fit(X)
    assert 2 * 10 <= fitted.n_components_ < fitted.n_landmarks_
    assert KernelKMeans(10, embedding=embedding, n_components=37, random_state=0).fit(X).n_components_ == 37
    flat = np.random.default_rng(0).normal(size=(2000, 2))
    assert KernelKMeans(4, random_state=0).fit(flat).n_components_ <= 100


def test_auto_components_are_never_few():
    X, _ = make_blobs(3000, 2, centers=60, random_state=0)
    few, many = (KernelKMeans(k, gamma=0.1, random_state=0).fit(X).n_components_ for k in (5, 60))
    assert few == LEAST_COMPONENTS
    assert many == 120


def test_an_embedding_alone_keeps_all_components(digits):
    """Its inner products are what it is for; clusters need fewer."""
    X, _ = digits
    assert KernelEmbedding(n_landmarks=200, random_state=0).fit(X).n_components_ == 200
    assert KernelKMeans(10, n_landmarks=200, random_state=0).fit(X).n_components_ < 200


def test_a_plan_counts_the_components_that_a_fit_keeps():
    """About: rehearsals on a busy machine are smaller."""
    X, _ = make_blobs(20_000, 5, centers=4, random_state=0)
    km = KernelKMeans(4, random_state=0)
    plan = km.plan(X.astype(np.float32))
    found = km.fit(X.astype(np.float32)).n_components_
    assert found / 2 <= plan.n_components <= 3 * found
    assert plan.bytes_moved < plan.embedding_passes * kept_bytes(20_000, 500)


def test_unit_rows_are_for_cosine():
    X = sparse.random_array((400, 50), density=0.1, random_state=np.random.default_rng(0), format="csr")
    options = {"kernel": "cosine", "n_landmarks": 30, "random_state": 0}
    auto = KernelEmbedding(**options).fit(X).transform(X)
    seen = np.linalg.norm(auto, axis=1) > 0
    np.testing.assert_allclose(np.linalg.norm(auto[seen], axis=1), 1)
    np.testing.assert_array_equal(auto, KernelEmbedding(normalize_kernel=True, **options).fit(X).transform(X))
    plain = KernelEmbedding(normalize_kernel=False, **options).fit(X).transform(X)
    assert np.median(np.linalg.norm(plain, axis=1)) < 0.9
    for kernel in ("linear", "rbf", "polynomial"):
        options["kernel"] = kernel
        auto, off = (
            KernelEmbedding(normalize_kernel=how, **options).fit(X).transform(X) for how in ("auto", False)
        )
        np.testing.assert_array_equal(auto, off)


def test_a_high_residual_is_no_reason_to_warn():
    """It says little about the clusters (docs/decisions/23-certificate.md); certify does."""
    X = np.random.default_rng(0).normal(size=(1000, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (KernelEmbedding, KernelKMeans):
            assert kind(gamma=5.0, n_landmarks=20, random_state=0).fit(X).residual_ > 0.9
