"""One suite for every engine: it moves chunks and nothing else."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from apnc.engines.contract import Chunk, RowRange, SingleChunk
from apnc.engines.local import LocalChunks, n_threads, split
from tests.contract import suite
from tests.contract.suite import *  # noqa: F403
from tests.contract.suite import doubled, table


def local(rows, weights, n_chunks, threads=2):
    return LocalChunks.of(rows, weights, split(len(weights), -(-len(weights) // n_chunks)), threads)


def single(rows, weights, n_chunks):
    return SingleChunk.of(rows, weights)


def with_empty_chunks(rows, weights, n_chunks):
    n = len(weights)
    ranges = [RowRange(0, 0), *split(n, -(-n // n_chunks)), RowRange(n, n)]
    return LocalChunks.of(rows, weights, ranges, 2)


def spilled(rows, weights, n_chunks, room=0):
    return replace(local(rows, weights, n_chunks), room=room)


ENGINES = {
    "local": local,
    "spilled": spilled,
    "half spilled": partial(spilled, room=5000),
    "one thread": partial(local, threads=1),
    "empty chunks": with_empty_chunks,
    "single": single,
}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


@pytest.fixture(params=[1, 2, 7, 100, 101])
def case(request, engine):
    """101 rows in so many chunks: one-row chunks, and a length that does not divide."""
    rows, weights = table()
    return engine(rows, weights, request.param), rows, weights


def test_iterates_in_order(case):
    chunks, rows, weights = case
    np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in chunks]), rows)
    np.testing.assert_array_equal(np.concatenate([chunk.weights for chunk in chunks]), weights)
    assert [chunk.index for chunk in chunks] == sorted(chunk.index for chunk in chunks)


def test_map_keeps_index_weights_and_carry(case):
    chunks, _, _ = case
    for before, after in zip(chunks, chunks.map(doubled), strict=True):
        assert (before.index, before.carry) == (after.index, after.carry)
        np.testing.assert_array_equal(before.weights, after.weights)
        np.testing.assert_array_equal(2 * before.rows, after.rows)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "single"], indirect=True)
def test_released_after_a_failure(case):
    """A single chunk is not the engine's to release."""
    suite.test_released_after_a_failure(case)


def test_an_abandoned_loop_stops_its_workers():
    seen = []

    def slow(chunk):
        seen.append(chunk.index)
        return chunk

    for chunk in local(np.zeros((1000, 1)), np.ones(1000), 500).map(slow):
        if chunk.index == 3:
            break
    assert len(seen) < 50


def test_memory_stays_flat():
    """Only a few chunks are under way at a time, however slow the consumer is."""
    started = []

    def note(chunk):
        started.append(chunk.index)
        return chunk

    for chunk in local(np.zeros((100, 1)), np.ones(100), 100).map(note):
        assert max(started) - chunk.index <= 4


def test_blas_is_held_to_one_thread_a_worker():
    from threadpoolctl import threadpool_info

    def blas_threads(chunk):
        return max(
            (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1
        )

    before = threadpool_info()
    assert local(np.zeros((10, 1)), np.ones(10), 5).reduce(blas_threads, max) == 1
    assert threadpool_info() == before


def test_overlapping_passes_restore_blas():
    from threadpoolctl import threadpool_info

    before = threadpool_info()
    chunks = local(np.zeros((100, 1)), np.ones(100), 10)
    one, two = iter(chunks), iter(chunks)
    next(one), next(two)
    list(one)
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
    list(two)
    assert threadpool_info() == before


@pytest.mark.parametrize("n", [1, 5, 100, 101])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_split_covers_every_row_once(n, size):
    ranges = split(n, size)
    assert [i for r in ranges for i in range(r.start, r.stop)] == list(range(n))
    assert max(r.stop - r.start for r in ranges) <= size


def test_number_of_threads():
    assert n_threads(None) == n_threads(-1) >= 1
    assert n_threads(3) == 3
    with pytest.raises(ValueError, match="n_jobs=0"):
        n_threads(0)


def test_what_is_sent_to_workers_can_be_pickled(digits):
    """Functions of the algorithms are small picklable objects, for engines on other machines."""
    from apnc import KernelKMeans
    from apnc.clustering.lloyd import FindFarthest, LabelAndSum, SumByNearest
    from apnc.embeddings.family import EmbedBlock, Join, begin
    from apnc.sampling import Gather, TakeCensus, content_hash

    X = digits[0]
    model = KernelKMeans(3, n_landmarks=20, random_state=0).fit(X)._model
    embedding, C, e = model.embedding, model.centroids, model.discrepancy
    embed = EmbedBlock(embedding.kernel, embedding.coefficients.blocks[0], np.float64)
    chunk = Chunk(0, X[:30], np.ones(30), RowRange(0, 30))
    embed(begin(chunk))
    Y = Join(np.float32)(pickle.loads(pickle.dumps(embed))(begin(chunk)))
    for step in (SumByNearest(e.against(C)), LabelAndSum(e.against(C)), FindFarthest(e.against(C), 2)):
        pickle.loads(pickle.dumps(step))(Y)
    for step in (
        TakeCensus(content_hash, {"a": (1, 5)}),
        Gather(content_hash, {"a": (1, np.zeros(1, np.uint64))}),
    ):
        pickle.loads(pickle.dumps(step))(chunk)


def test_passes_over_spilled_chunks_may_overlap():
    rows = np.arange(3000.0).reshape(300, 10)
    with spilled(rows, np.ones(300), 60).cached() as kept:
        for one, two in zip(kept, kept, strict=True):
            np.testing.assert_array_equal(one.rows, two.rows)
            np.testing.assert_array_equal(one.rows, rows[one.carry.start : one.carry.stop])


def test_reading_goes_on_while_the_workers_compute():
    """The next pieces are read before the present ones are done: each side waits for the other's progress."""
    from threading import Event

    from apnc.engines.spill import read_ahead

    read = [Event() for _ in range(6)]

    def source():
        for index in range(6):
            read[index].set()
            yield Chunk(index, np.zeros((1, 1)), np.ones(1), RowRange(index, index + 1))

    def needs_the_next(chunk):
        assert read[min(chunk.index + 2, 5)].wait(timeout=30)
        return 1

    class Ahead:
        def __iter__(self):
            return read_ahead(source())

    assert LocalChunks(Ahead(), 1).reduce(needs_the_next, int.__add__) == 6


def test_reading_ahead_ends_with_the_loop():
    from apnc.engines.spill import read_ahead

    closed = []

    def source():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    for item in read_ahead(source()):
        if item == 3:
            break
    del item
    assert closed


def test_a_failure_while_reading_ahead_reaches_the_loop():
    from apnc.engines.spill import read_ahead

    def source():
        yield 1
        raise RuntimeError("boom")

    items = read_ahead(source())
    assert next(items) == 1
    with pytest.raises(RuntimeError, match="boom"):
        next(items)
