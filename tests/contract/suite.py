"""What every engine must do; run against each of them with its own fixture ``case``."""

import numpy as np
import pytest

from apnc.engines.contract import Chunk


def table():
    """101 rows and weights."""
    return np.arange(303, dtype=float).reshape(101, 3), np.arange(101, dtype=float)


def doubled(chunk):
    return chunk.with_rows(2 * chunk.rows)


def reweighted(chunk):
    return Chunk(chunk.index, chunk.rows, chunk.weights + 1, chunk.carry)


def total(chunk):
    return chunk.weights @ chunk.rows


def indices(chunk):
    return [chunk.index]


def fail(chunk):
    if len(chunk.rows) and chunk.rows[-1, -1] > 200:
        raise RuntimeError("boom")
    return chunk


def test_maps_compose_and_leave_their_source_alone(case):
    chunks, rows, weights = case
    twice = chunks.map(doubled).map(doubled).map(reweighted)
    np.testing.assert_allclose(twice.reduce(total, np.add), (weights + 1) @ (4 * rows))
    np.testing.assert_allclose(chunks.reduce(total, np.add), weights @ rows)


def test_reduce_combines_in_index_order(case):
    chunks, _, _ = case
    order = chunks.reduce(indices, list.__add__)
    assert order == sorted(order)


class Counted:
    """Doubles, and notes each call in a file, which all workers on this machine can."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, chunk):
        with open(self.path, "a") as file:
            file.write("x")
        return doubled(chunk)


def size(chunk):
    return len(chunk.rows)


def test_cached_computes_once(case, tmp_path):
    chunks, rows, weights = case
    notes = tmp_path / "calls"
    with chunks.map(Counted(notes)).cached() as kept:
        first = notes.read_text()
        for _ in range(3):
            np.testing.assert_allclose(kept.reduce(total, np.add), weights @ (2 * rows))
            assert kept.reduce(size, int.__add__) == 101
        assert notes.read_text() == first


def test_cached_maps_further(case):
    chunks, rows, weights = case
    with chunks.map(doubled).cached() as kept:
        np.testing.assert_allclose(kept.map(doubled).reduce(total, np.add), weights @ (4 * rows))


def test_failures_reach_the_caller(case):
    chunks, _, _ = case
    with pytest.raises(RuntimeError, match="boom"):
        chunks.map(fail).reduce(total, np.add)
    with pytest.raises(RuntimeError, match="boom"), chunks.map(fail).cached():
        pass


def interrupted(chunks, held):
    with chunks.cached() as kept:
        held.append(kept)
        kept.reduce(size, int.__add__)
        raise KeyboardInterrupt


def test_released_after_a_failure(case):
    chunks, _, _ = case
    held = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(chunks, held)
    with pytest.raises(RuntimeError, match="the context that cached them has ended"):
        held[0].reduce(size, int.__add__)
