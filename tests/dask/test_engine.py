"""The engine contract, and what is particular to Dask: what travels, what is kept, and what is released."""

import gc
import pickle
import sys

import numpy as np
import pytest

from apnc.engines.contract import Chunk
from apnc.engines.dask.chunks import FAN, DaskChunks, Kept
from apnc.engines.local import Layout
from apnc.sources import open as open_source
from tests.contract.suite import *  # noqa: F403
from tests.contract.suite import indices, size, table, total

EMPTY_AT_BOTH_ENDS, THREADS = "empty partitions", "threads"


@pytest.fixture(params=[1, 7, EMPTY_AT_BOTH_ENDS, THREADS])
def case(request, frame_of):
    rows, weights = table()
    if request.param == THREADS:
        request.getfixturevalue("threads")
    return chunks_of(frame_of, 7 if request.param == THREADS else request.param), rows, weights


def chunks_of(frame_of, n_partitions=4):
    import dask.dataframe as dd

    rows, weights = table()
    if n_partitions == EMPTY_AT_BOTH_ENDS:
        frame = frame_of(rows, 3, w=weights)
        nothing = frame[frame.id < 0]
        frame = dd.concat([nothing, frame, nothing])
    else:
        frame = frame_of(rows, n_partitions, w=weights)
    source = open_source(frame, columns=["x0", "x1", "x2"], weight_column="w")
    chunks = source.data(Layout(work_bytes=8, threads=1, chunk_bytes=300)).chunks
    assert isinstance(chunks, DaskChunks)
    return chunks


def test_many_partial_results_are_combined_in_a_tree(frame_of):
    rows, weights = table()
    chunks = chunks_of(frame_of, FAN + 8)
    joins = [key for key in chunks.total(size, int.__add__).dask if str(key).startswith("join-")]
    assert len(joins) == 2 + 1
    np.testing.assert_allclose(chunks.reduce(total, np.add), weights @ rows)
    order = chunks.reduce(indices, list.__add__)
    assert order == sorted(order)
    assert len(order) >= FAN + 8


def test_chunks_are_no_larger_than_asked_for(frame_of):
    assert 1 <= chunks_of(frame_of).reduce(size, max) <= 10


def test_rows_are_not_looped_over(frame_of):
    with pytest.raises(TypeError, match="stay in the workers"):
        list(chunks_of(frame_of))


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_no_rows(frame_of, array_of, kind):
    X = np.ones((3, 2))
    rows = frame_of(X) if kind == "frame" else array_of(X)
    rows = rows[rows.id < 0][["x0"]] if kind == "frame" else rows[rows[:, 0] < 0]
    with pytest.raises(ValueError, match="no rows"):
        open_source(rows).data(Layout(8, 1)).chunks.reduce(size, int.__add__)


class Large:
    """A function of two megabytes, as one with many landmarks is."""

    def __init__(self):
        self.ballast = np.random.default_rng(0).random(1 << 18)

    def __call__(self, chunk):
        return chunk.with_rows(chunk.rows + 0 * self.ballast[0])


def test_a_function_is_in_the_graph_once(frame_of):
    """Not once for each partition."""
    import cloudpickle

    rows, weights = table()
    large = Large()
    chunks = chunks_of(frame_of, 20).map(large)
    graph = cloudpickle.dumps(dict(chunks.total(total, np.add).dask))
    assert large.ballast.nbytes < len(graph) < 1.1 * large.ballast.nbytes
    np.testing.assert_allclose(chunks.reduce(total, np.add), weights @ rows)
    with chunks.cached() as kept:
        assert len(cloudpickle.dumps(dict(kept.total(total, np.add).dask))) < 50_000


@pytest.mark.filterwarnings("error:Sending large graph")
def test_large_functions_are_sent_without_a_warning(frame_of):
    rows, weights = table()
    large = Large()
    large.ballast = np.random.default_rng(0).random(3 << 19)
    assert large.ballast.nbytes > 12_000_000
    np.testing.assert_allclose(chunks_of(frame_of).map(large).reduce(total, np.add), weights @ rows)


def held_by(client):
    """Names of the values that workers keep for someone."""
    gc.collect()
    return {key for keys in client.has_what().values() for key in keys if "attempted" in str(key)}


def test_nothing_stays_behind(client, frame_of):
    with chunks_of(frame_of).cached() as kept:
        assert len(held_by(client)) >= 4
        kept.reduce(size, int.__add__)
    wait_for(lambda: not held_by(client))


class FailsError(Exception):
    """Cannot be made again from its message alone."""

    def __init__(self, message, more):
        super().__init__(message)
        self.more = more


def fails(chunk):
    if chunk.rows[-1, -1] > 200:
        raise FailsError(f"rows of chunk {chunk.index >> 32}", "more")
    return chunk


def test_nothing_stays_behind_after_a_failure(client, frame_of):
    """The first partition that fails is named, whichever ran first."""
    with (
        pytest.raises(RuntimeError, match="FailsError: rows of chunk 2"),
        chunks_of(frame_of).map(fails).cached(),
    ):
        pass
    wait_for(lambda: not held_by(client))


def wait_for(true):
    import time

    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def blas_threads(chunk):
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def test_blas_is_held_to_one_thread_a_task(frame_of):
    assert chunks_of(frame_of).reduce(blas_threads, max) == 1


def note(chunk):
    """How often this chunk was seen before by the one who has it."""
    chunk.scratch["seen"] = chunk.scratch.get("seen", 0) + 1
    return chunk.scratch["seen"]


def test_bounds_stay_with_kept_chunks(frame_of):
    with chunks_of(frame_of).cached() as kept:
        assert [kept.reduce(note, max) for _ in range(2)] == [1, 2]


def test_copies_of_kept_chunks_have_no_scratch():
    chunk = Chunk(0, np.zeros((1000, 5), np.float32), np.ones(1000), scratch={"bounds": np.zeros(1000)})
    kept = Kept((chunk,))
    (copy,) = pickle.loads(pickle.dumps(kept)).chunks
    assert copy.scratch == {}
    assert chunk.scratch
    np.testing.assert_array_equal(copy.rows, chunk.rows)


def test_dask_knows_the_size_of_kept_chunks():
    from dask.sizeof import sizeof

    chunk = Chunk(0, np.zeros((1000, 50), np.float32), np.ones(1000))
    assert sizeof(Kept((chunk,))) > 200_000
    assert sys.getsizeof(Kept(())) < 100


def test_failures_of_dask_are_told_plainly():
    from distributed.client import FutureCancelledError

    from apnc.engines.dask.losses import DaskError, told_plainly

    with (
        pytest.raises(DaskError, match=r"^The Dask work was cancelled: .* repeat the work\.$"),
        told_plainly(),
    ):
        raise FutureCancelledError("a", "b", None)
    with pytest.raises(DaskError, match="do not have apnc"), told_plainly():
        raise RuntimeError("while deserializing") from ModuleNotFoundError("No module named 'apnc'")
    with pytest.raises(KeyError, match="other"), told_plainly():
        raise KeyError("other")


def test_settings_of_dask_are_restored_by_the_last_of_several_fits():
    from dask import config

    from apnc.engines.dask.losses import THRESHOLD, told_plainly

    before, one, two = config.get(THRESHOLD), told_plainly(), told_plainly()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert config.get(THRESHOLD) == "1TB"
    two.__exit__(None, None, None)
    assert config.get(THRESHOLD) == before
