"""Nearest landmarks against brute force."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apnc.embeddings.neighbours.search import Search, principal_directions, subspace_for

quick = settings(max_examples=30, deadline=None)


def brute_force(X, landmarks, r):
    """By squared distance, then by number."""
    squared = ((X[:, None].astype(np.float64) - landmarks[None]) ** 2).sum(axis=2)
    order = np.lexsort([np.broadcast_to(np.arange(len(landmarks)), squared.shape), squared])[:, :r]
    return order, np.take_along_axis(squared, order, axis=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 5, 8, 9, 20, 200])
def test_nearest_landmarks_by_brute_force(d, dtype):
    rng = np.random.default_rng(d)
    X, landmarks = (rng.normal(size=(n, d)).astype(dtype) for n in (300, 170))
    for r in (1, 3, 168, 170):
        indices, squared = Search(landmarks).nearest(X, r)
        expected, distances = brute_force(X, landmarks, r)
        assert (indices.dtype, squared.dtype) == (np.int32, np.float64)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_allclose(squared, distances, rtol=1e-6 if dtype is np.float32 else 1e-10)
    np.testing.assert_array_equal(Search(landmarks).assign(X), brute_force(X, landmarks, 1)[0][:, 0])


@pytest.mark.parametrize("d", [2, 12])
def test_of_equally_near_landmarks_the_first_counts(d):
    """As many as there are candidates to spare."""
    rng = np.random.default_rng(0)
    landmarks = 100 * rng.permutation(60)[:, None] + np.zeros((60, d))
    twice = np.concatenate([landmarks, landmarks])[rng.permutation(120)]
    indices, squared = Search(twice).nearest(landmarks, 2)
    np.testing.assert_array_equal(indices, brute_force(landmarks, twice, 2)[0])
    assert (indices[:, 0] < indices[:, 1]).all()
    assert not squared.any()


@quick
@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
@example(9, 21, 2, 5059867)
def test_nearest_distances_on_a_lattice(d, n_landmarks, r, seed):
    """Of many landmarks equally far, rounding does not choose: a row alone finds those that it finds among others."""
    rng = np.random.default_rng(seed)
    landmarks = np.unique(rng.integers(0, 4, size=(n_landmarks, d)), axis=0).astype(float)
    X, r = rng.integers(0, 4, size=(20, d)).astype(float), min(r, len(landmarks))
    indices, squared = Search(landmarks).nearest(X, r)
    np.testing.assert_array_equal(squared, brute_force(X, landmarks, r)[1])
    np.testing.assert_array_equal(((X[:, None] - landmarks[indices]) ** 2).sum(axis=2), squared)
    assert all(len(set(row)) == r for row in indices.tolist())
    if d > 8:
        np.testing.assert_array_equal(indices, brute_force(X, landmarks, r)[0])
        np.testing.assert_array_equal(Search(landmarks).assign(X), brute_force(X, landmarks, 1)[0][:, 0])
    alone = [Search(landmarks).nearest(x[None], r)[0][0] for x in X]
    np.testing.assert_array_equal(alone, indices)


def low_rank(n, d, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 0.05 * rng.normal(size=(n, d))


def test_a_subspace_finds_nearly_all_neighbours():
    X = low_rank(3000, 200, 12)
    landmarks = X[:400]
    basis = subspace_for(X, landmarks, 3)
    assert basis.shape == (200, 32)
    np.testing.assert_allclose(basis.T @ basis, np.eye(32), atol=1e-10)
    found, _ = Search(landmarks, basis).nearest(X[400:900], 3)
    expected, _ = brute_force(X[400:900], landmarks, 3)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(expected, found, strict=True)]) >= 0.99


def test_no_subspace_where_it_does_not_help():
    noise = np.random.default_rng(0).normal(size=(1500, 200))
    assert subspace_for(noise, noise[:300], 3) is None
    assert subspace_for(noise[:, :100], noise[:300, :100], 3) is None


@pytest.mark.parametrize("n", [50, 500])
def test_principal_directions_are_those_of_the_covariance(n):
    X = low_rank(n, 100, 5)
    found = principal_directions(X, 5)
    centered = X - X.mean(axis=0)
    expected = np.linalg.svd(centered, full_matrices=False)[2][:5].T
    np.testing.assert_allclose(np.abs(found.T @ expected), np.eye(5), atol=1e-6)
