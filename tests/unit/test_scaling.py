"""Scaling learned in the sampling pass and kept with the model."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from apnc import KernelEmbedding, KernelKMeans
from apnc.scaling import Columns

SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "unit": Normalizer}
kinds = pytest.mark.parametrize("kind", SCALERS)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 4)) * [1, 100, 0.01, 1] + [0, 1000, 0, 5] + 3 * rng.integers(0, 2, (600, 1))


def estimator(**options):
    return KernelKMeans(3, n_landmarks=50, random_state=0, **options)


@kinds
@pytest.mark.parametrize("init", ["k-means++", "random-partition", "instances"])
def test_the_same_as_scaling_before(X, kind, init):
    scaled = SCALERS[kind]().fit_transform(X)
    starts = {"instances": (X[:3], scaled[:3])}.get(init, (init, init))
    found = estimator(scale=kind, init=starts[0]).fit(X)
    model = found._model.embedding
    # Scaled rows have other sampling keys, so the same landmarks are handed to a fit that samples all of them.
    whole = KernelEmbedding(scale=kind, n_landmarks=600, random_state=0).fit(X)
    plain = KernelEmbedding(n_landmarks=600, random_state=0, gamma=whole.gamma_).fit(scaled)
    order = np.lexsort(whole.landmarks_.T), np.lexsort(plain.landmarks_.T)
    np.testing.assert_allclose(whole.landmarks_[order[0]], plain.landmarks_[order[1]], atol=1e-8)
    np.testing.assert_allclose(model.scaling(X, np.float64), scaled, atol=1e-8)
    np.testing.assert_array_equal(found.predict(X), found.labels_)


@kinds
def test_new_rows_are_scaled_as_the_old_ones(X, kind):
    km = estimator(scale=kind).fit(X)
    np.testing.assert_array_equal(km.predict(X[:7]), km.labels_[:7])
    np.testing.assert_allclose(km.embed(X[:7]), km.embed(X)[:7], atol=1e-6)


@kinds
@pytest.mark.parametrize("n_chunks", [2, 7, 100])
def test_chunks_do_not_matter(X, kind, n_chunks, set_chunks):
    expected = estimator(scale=kind).fit(X)
    set_chunks(n_chunks)
    found = estimator(scale=kind).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.landmarks_, expected.landmarks_)


@kinds
def test_weights_are_repetitions(X, kind):
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = estimator(scale=kind).fit(X, sample_weight=weights)
    repeated = estimator(scale=kind).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)


@kinds
def test_files_too(X, kind, tmp_path):
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), tmp_path / "x.parquet", row_group_size=77)
    found = estimator(scale=kind).fit(tmp_path / "x.parquet")
    np.testing.assert_array_equal(found.labels_, estimator(scale=kind).fit(X).labels_)


def test_sparse_rows_can_only_have_norm_one(X, tmp_path):
    rows = sparse.csr_array(np.where(X > 1, X, 0))
    dense = estimator(scale="unit").fit(rows.toarray())
    np.testing.assert_array_equal(estimator(scale="unit").fit(rows).labels_, dense.labels_)
    sparse.save_npz(tmp_path / "x.npz", rows)
    np.testing.assert_array_equal(estimator(scale="unit").fit(tmp_path / "x.npz").labels_, dense.labels_)
    for data in (rows, tmp_path / "x.npz"):
        with pytest.raises(ValueError, match="scale='minmax' would make sparse rows dense"):
            estimator(scale="minmax").fit(data)


def test_large_values_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    X = np.c_[1.7e12 + rng.integers(0, 10**6, 1000), 1.7e9 + rng.integers(0, 100, 1000)]
    for kind in ("minmax", "standard"):
        model = KernelKMeans(2, n_landmarks=50, scale=kind, random_state=0).fit(X)._model.embedding
        np.testing.assert_allclose(model.scaling(X, np.float64), SCALERS[kind]().fit_transform(X), atol=1e-5)


def test_a_constant_that_is_no_sum_of_halves_is_constant(set_chunks):
    X = np.c_[np.full(1000, 1 / 3), np.random.default_rng(0).normal(size=1000)]
    set_chunks(10)
    assert not estimator(scale="standard").fit(X).landmarks_[:, 0].any()


def test_constant_columns_become_zero(X):
    X[:, 2] = 7.0
    for kind in ("minmax", "standard"):
        assert not estimator(scale=kind).fit(X).landmarks_[:, 2].any()


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"scale": "min-max"}, np.eye(9), "scale='min-max' is unknown. Did you mean 'minmax'"),
        ({"scale": 3}, np.eye(9), "must be one of minmax, standard, unit, or None"),
        ({"scale": "unit", "kernel": "precomputed"}, np.eye(9), "needs vectors"),
        ({"scale": "unit", "kernel": lambda A, B: np.ones((len(A), len(B)))}, list("abcd"), "needs vectors"),
        ({"scale": "standard", "kernel": "chi2"}, np.eye(9), "negative features"),
    ],
)
def test_what_has_no_scale(options, data, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(2, random_state=0, **options).fit(data)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 40), max_size=4))
def test_statistics_of_parts_add_up(seed, cuts):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(40, 3)) * 10 + 100, rng.uniform(0.1, 2, 40)
    edges = [0, *sorted(cuts), 40]
    parts = [Columns.of(X[a:b], weights[a:b]) for a, b in pairwise(edges)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(total.mean, mean)
    np.testing.assert_allclose(total.spread, weights @ (X - mean) ** 2)
    np.testing.assert_array_equal([total.low, total.high], [X.min(axis=0), X.max(axis=0)])
