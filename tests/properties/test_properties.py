"""Properties over shapes, types and chunkings, with hypothesis."""

import warnings
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from apnc import KernelKMeans
from apnc.engines.contract import Chunk, RowRange
from apnc.engines.local import Layout, LocalChunks
from apnc.sampling import content_hash, draw, smallest

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

rows = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8]),
    st.tuples(st.integers(3, 60), st.integers(1, 6)),
    elements=st.integers(0, 40),
)


def chunk(X):
    n = X.shape[0]
    return Chunk(0, X, np.ones(n), RowRange(0, n))


@quick
@given(rows)
def test_equal_rows_and_only_equal_rows_share_a_hash(X):
    hashes = content_hash(chunk(X))
    np.testing.assert_array_equal(hashes, content_hash(chunk(sparse.csr_array(X.astype(float)))))
    _, groups = np.unique(X, axis=0, return_inverse=True)
    same_rows = groups[:, None] == groups[None]
    np.testing.assert_array_equal(hashes[:, None] == hashes[None], same_rows)


@quick
@given(rows, st.lists(st.integers(0, 60), max_size=6), st.integers(1, 20), st.randoms(use_true_random=False))
def test_samples_ignore_order_and_chunks(X, cuts, size, random):
    n = len(X)
    weights = np.array([random.randint(0, 3) for _ in range(n)], dtype=float)
    weights[0] = 1
    order = np.array(random.sample(range(n), n))
    edges = sorted({0, n, *(min(cut, n) for cut in cuts)})
    ranges = [RowRange(a, b) for a, b in pairwise(edges)]
    _, whole = draw(LocalChunks.of(X, weights, [RowRange(0, n)], 1), content_hash, {"s": (1, size)})
    _, parts = draw(LocalChunks.of(X[order], weights[order], ranges, 2), content_hash, {"s": (1, size)})
    np.testing.assert_array_equal(whole["s"].rows, parts["s"].rows)
    np.testing.assert_array_equal(whole["s"].weights, parts["s"].weights)


@quick
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=60),
    st.integers(1, 12),
    st.integers(0, 60),
)
def test_sketches_merge_exactly(items, size, cut):
    keys = np.array([key for key, _ in items], dtype=np.uint64)
    weights = np.array([weight for _, weight in items], dtype=float)
    whole = smallest(keys, weights, size)
    merged = smallest(keys[:cut], weights[:cut], size) + smallest(keys[cut:], weights[cut:], size)
    np.testing.assert_array_equal(whole.keys, merged.keys)
    np.testing.assert_array_equal(whole.weights, merged.weights)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows,
    st.sampled_from(["nystroem", "stable", "ensemble", "neighbours"]),
    st.sampled_from(["rbf", "linear", "polynomial", "laplacian", "cosine"]),
    st.sampled_from(["k-means++", "random", "random-partition"]),
    st.integers(1, 70),
    st.integers(1, 3),
)
def test_any_data_fits_and_predicts_its_labels(X, embedding, kernel, init, chunk_rows, k):
    original = Layout.rows_per_chunk
    Layout.rows_per_chunk = lambda self, n_rows, read_bytes=0: chunk_rows
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            km = KernelKMeans(
                k,
                embedding=embedding,
                kernel=kernel,
                init=init,
                n_landmarks=20,
                n_components=25,
                random_state=0,
            ).fit(X)
        assert km.labels_.shape == (len(X),)
        assert 0 <= km.labels_.min() <= km.labels_.max() < k
        np.testing.assert_array_equal(km.predict(X), km.labels_)
        assert np.isfinite(km.transform(X)).all()
        assert km.inertia_ >= 0
        _, groups = np.unique(X, axis=0, return_inverse=True)
        for group in range(groups.max() + 1):
            assert len(np.unique(km.labels_[groups == group])) == 1
    finally:
        Layout.rows_per_chunk = original
