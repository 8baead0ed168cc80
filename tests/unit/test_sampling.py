"""Sampling by content: exact size, and blind to order, chunks and repetition."""

import numpy as np
import pytest
from scipy import sparse

from apnc.engines.contract import Chunk, RowRange
from apnc.engines.local import LocalChunks, split
from apnc.sampling import (
    OpaqueObjectError,
    Sketch,
    content_hash,
    draw,
    keys_of,
    row_number_hash,
    smallest,
)


def chunk_of(rows):
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    return Chunk(0, rows, np.ones(n), RowRange(0, n))


def chunks_of(rows, weights, n_chunks):
    n = len(weights)
    return LocalChunks.of(rows, weights, split(n, -(-n // n_chunks)), 2)


def test_hash_of_dense_equals_sparse_equals_float32():
    X = np.random.default_rng(0).integers(-3, 4, size=(50, 9)).astype(np.float64)
    X[0, 0] = -0.0
    expected = content_hash(chunk_of(X))
    for same in (X.astype(np.float32), X.astype(np.int8), np.asfortranarray(X), sparse.csr_array(X), X + 0.0):
        np.testing.assert_array_equal(content_hash(chunk_of(same)), expected)
    assert len(np.unique(expected)) == len(np.unique(X, axis=0))


def test_hash_tells_columns_apart():
    X = np.eye(200)
    assert len(np.unique(content_hash(chunk_of(X)))) == 200
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    assert len(np.unique(content_hash(chunk_of(swapped)))) == 5


def test_keys_are_uniform():
    keys = keys_of(np.arange(100_000, dtype=np.uint64), 7) / 2.0**64
    counts, _ = np.histogram(keys, bins=20, range=(0, 1))
    assert ((counts - 5000) ** 2 / 5000).sum() < 45
    other = keys_of(np.arange(100_000, dtype=np.uint64), 8) / 2.0**64
    assert abs(np.corrcoef(keys, other)[0, 1]) < 0.02


def test_objects_hash_by_content():
    one = [
        {"a": 1, "b": [1, 2]},
        "text",
        b"raw".hex(),
        [1.5, None],
        np.array([1, 2]),
        {"x", "y", "z"},
        [{3, 1}],
    ]
    two = [
        {"b": [1, 2], "a": 1},
        "text",
        b"raw".hex(),
        (1.5, None),
        np.array([1, 2]),
        {"z", "y", "x"},
        [{1, 3}],
    ]
    np.testing.assert_array_equal(content_hash(chunk_of(one)), content_hash(chunk_of(two)))
    assert len(np.unique(content_hash(chunk_of(["1", 1, [1], "a", "b", {1}, "\ud800"])))) == 7
    with pytest.raises(OpaqueObjectError):
        content_hash(chunk_of([object()]))


def test_smallest_adds_up_weights_of_equal_keys():
    keys = np.array([5, 3, 5, 9, 1, 3, 3], dtype=np.uint64)
    sketch = smallest(keys, np.arange(7.0), 3)
    np.testing.assert_array_equal(sketch.keys, [1, 3, 5])
    np.testing.assert_array_equal(sketch.weights, [4, 12, 2])


def test_smallest_of_many_repeats():
    keys = np.repeat(np.array([4, 8, 2], dtype=np.uint64), 1000)
    sketch = smallest(keys, np.ones(3000), 3)
    np.testing.assert_array_equal(sketch.keys, [2, 4, 8])
    np.testing.assert_array_equal(sketch.weights, [1000, 1000, 1000])


@pytest.mark.parametrize("n", [500, 20_000, 300_000])
def test_number_of_distinct_instances(n):
    keys = keys_of(np.repeat(np.arange(n, dtype=np.uint64), 2), 3)
    sketch = smallest(keys, np.ones(2 * n), 2000)
    assert sketch.n_distinct == pytest.approx(n, rel=0.08)
    assert sketch.n_distinct == n or n > 2000


@pytest.mark.parametrize("n_chunks", [1, 4, 23])
def test_draw_equals_the_naive_way(n_chunks):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(2000, 2)).astype(float)
    weights = rng.integers(0, 3, size=2000).astype(float)
    census, samples = draw(chunks_of(X, weights, n_chunks), content_hash, {"a": (11, 40), "b": (12, 500)})

    totals = {}
    for row, weight, key in zip(X, weights, keys_of(content_hash(chunk_of(X)), 11), strict=True):
        if weight > 0:
            totals.setdefault(int(key), [tuple(row), 0.0])[1] += weight
    expected = [totals[key] for key in sorted(totals)[:40]]

    assert (census.n_rows, census.n_positive) == (2000, int((weights > 0).sum()))
    assert census.total_weight == weights.sum()
    assert [tuple(row) for row in samples["a"].rows] == [row for row, _ in expected]
    np.testing.assert_array_equal(samples["a"].weights, [weight for _, weight in expected])
    assert len(samples["b"]) == len(totals) <= 144
    assert samples["b"].weights.sum() == weights.sum()


def test_row_numbers_serve_where_there_is_no_content():
    things = [object() for _ in range(100)]
    _, samples = draw(chunks_of(things, np.ones(100), 3), row_number_hash, {"a": (1, 10)})
    assert len(set(map(id, samples["a"].rows))) == 10


def test_sketch_merge_keeps_exact_weights():
    one = Sketch(np.array([1, 4, 6], dtype=np.uint64), np.array([1.0, 1, 1]), 3)
    two = Sketch(np.array([2, 4, 9], dtype=np.uint64), np.array([5.0, 7, 1]), 3)
    merged = one + two
    np.testing.assert_array_equal(merged.keys, [1, 2, 4])
    np.testing.assert_array_equal(merged.weights, [1, 5, 8])
