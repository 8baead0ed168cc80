"""Float64: the result is a function of the weighted set of instances, row for row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from apnc import KernelKMeans

EMBEDDINGS = ["nystroem", "stable", "ensemble", "neighbours"]


def noise(n: int = 3000) -> np.ndarray:
    """Rows without clusters: many thin margins, and some zeros so that CSR differs from dense."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    X[rng.random(X.shape) < 0.4] = 0
    X[-50:] = X[:50]
    return X


def fit(X, embedding="nystroem", n_jobs=2, **options):
    settings = {"init": "random", "n_init": 1, "max_iter": 30} | options
    km = KernelKMeans(
        9, embedding=embedding, n_landmarks=60, n_components=80, random_state=3, n_jobs=n_jobs, **settings
    )
    return km.fit(X)


def dense(landmarks):
    return landmarks.toarray() if sparse.issparse(landmarks) else landmarks


@pytest.fixture(scope="module", params=EMBEDDINGS)
def reference(request):
    return request.param, fit(noise(), request.param)


@pytest.mark.parametrize("n_chunks", [1, 3, 7, 50])
def test_chunks_do_not_matter(reference, n_chunks, set_chunks):
    embedding, expected = reference
    set_chunks(n_chunks)
    km = fit(noise(), embedding)
    np.testing.assert_array_equal(km.landmarks_, expected.landmarks_)
    np.testing.assert_array_equal(km.labels_, expected.labels_)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_do_not_matter(reference, threads):
    embedding, expected = reference
    np.testing.assert_array_equal(fit(noise(), embedding, n_jobs=threads).labels_, expected.labels_)


@pytest.mark.parametrize("init", ["random", "k-means++", "random-partition"])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_row_order_does_not_matter(embedding, init):
    X = noise()
    order = np.random.default_rng(1).permutation(len(X))
    straight, shuffled = (fit(rows, embedding, init=init, n_init="auto") for rows in (X, X[order]))
    np.testing.assert_array_equal(straight.landmarks_, shuffled.landmarks_)
    np.testing.assert_array_equal(straight.labels_[order], shuffled.labels_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "sigmoid", "laplacian", "cosine"])
def test_sparse_equals_dense(kernel):
    X = noise()
    from_dense = fit(X, kernel=kernel)
    from_sparse = fit(sparse.csr_array(X), kernel=kernel)
    np.testing.assert_array_equal(dense(from_sparse.landmarks_), from_dense.landmarks_)
    np.testing.assert_array_equal(from_sparse.labels_, from_dense.labels_)


def test_sparse_shuffled_in_chunks(set_chunks):
    X = noise()
    order = np.random.default_rng(2).permutation(len(X))
    expected = fit(X)
    set_chunks(7)
    np.testing.assert_array_equal(fit(sparse.csr_matrix(X[order])).labels_, expected.labels_[order])


def test_unsorted_columns_explicit_zeros_and_duplicates():
    X = noise(400)
    plain = sparse.csr_array(X)
    messy = sparse.csr_array(
        (
            np.concatenate([plain.data[::-1] / 2, plain.data[::-1] / 2, [0.0]]),
            (
                np.concatenate([np.repeat(np.arange(400), np.diff(plain.indptr))[::-1]] * 2 + [[0]]),
                np.concatenate([plain.indices[::-1]] * 2 + [[5]]),
            ),
        ),
        shape=X.shape,
    )
    np.testing.assert_array_equal(fit(messy).labels_, fit(plain).labels_)


def test_float32_promise():
    """Same landmarks, inertia within 1e-5, equal bits when the chunking is unchanged."""
    X, _ = make_blobs(4000, 10, centers=9, random_state=0)
    X = X.astype(np.float32)
    order = np.random.default_rng(1).permutation(len(X))
    one, again, shuffled = fit(X), fit(X), fit(X[order])
    np.testing.assert_array_equal(one.landmarks_, shuffled.landmarks_)
    assert shuffled.inertia_ == pytest.approx(one.inertia_, rel=1e-5)
    np.testing.assert_array_equal(one.cluster_centers_, again.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, again.labels_)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("n", [3000, 20_000])
def test_float32_predicts_its_labels(embedding, n):
    X = np.random.default_rng(0).normal(size=(n, 40)).astype(np.float32)
    km = KernelKMeans(20, embedding=embedding, random_state=0, init="random", n_init=1, max_iter=5).fit(X)
    np.testing.assert_array_equal(km.predict(X), km.labels_)


def test_float32_and_float64_take_the_same_landmarks():
    X = noise().astype(np.float32)
    np.testing.assert_array_equal(fit(X).landmarks_, fit(X.astype(np.float64)).landmarks_)


def test_exact_ties_go_to_the_lowest_cluster(set_chunks):
    """A symmetric grid has rows exactly between centroids: rounding must not decide."""
    grid = np.array([[i, j] for i in range(-10, 11) for j in range(-10, 11)], dtype=float)
    starts = np.array([[-10.0, 0], [10, 0], [0, -10], [0, 10]])
    options = {"kernel": "linear", "init": starts, "n_init": 1, "max_iter": 5, "random_state": 0}
    expected = KernelKMeans(4, **options).fit(grid).labels_
    order = np.random.default_rng(0).permutation(len(grid))
    set_chunks(13)
    np.testing.assert_array_equal(KernelKMeans(4, **options).fit(grid[order]).labels_, expected[order])


def test_predicting_the_data_gives_its_labels(reference):
    _, km = reference
    np.testing.assert_array_equal(km.predict(noise()), km.labels_)
    half = noise()[::2]
    np.testing.assert_array_equal(km.predict(half), km.labels_[::2])


def test_seeding_again_does_not_depend_on_chunks(set_chunks):
    """Far from the origin, with empty clusters at the start."""
    X = 3000 + np.random.default_rng(0).normal(size=(4000, 20))
    options = {"kernel": "linear", "init": np.repeat(X[:1], 6, axis=0), "n_landmarks": 60, "max_iter": 30}
    expected = KernelKMeans(6, random_state=0, **options).fit(X).labels_
    for n_chunks in (1, 7, 50):
        set_chunks(n_chunks)
        np.testing.assert_array_equal(KernelKMeans(6, random_state=0, **options).fit(X).labels_, expected)
