"""The same command gives the same bits, whatever memory happens to be in use."""

from dataclasses import replace

import numpy as np
import pytest

from apnc import KernelKMeans, checks
from apnc.engines.local import Layout
from apnc.pipeline import Fit, fitted_to_limit
from apnc.run import budget
from apnc.run.job import Job


def rows(dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(4000, 6)) + 3 * rng.integers(0, 4, size=(4000, 1))).astype(dtype)


def fitted(X, **options):
    settings = {"n_landmarks": 60, "n_components": 40, "max_iter": 15, "random_state": 0}
    return KernelKMeans(5, **(settings | options)).fit(X)


def bits(km):
    return km.cluster_centers_.tobytes(), km.labels_.tobytes(), km.inertia_, km.n_iter_


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks whose length is bounded by their memory, not by the few rows."""
    plain = Layout.rows_per_chunk

    def shorter(layout, n_rows, read_bytes=0):
        return max(1, plain(layout, None, read_bytes) // 50)

    monkeypatch.setattr(Layout, "rows_per_chunk", shorter)


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "neighbours"])
def test_memory_in_use_does_not_move_a_bit(small_chunks, monkeypatch, embedding):
    """Under a limit, chunks follow from the limit as it was given; how much of Y is on disk does not matter."""
    X, found = rows(), []
    for used in (100e6, 400e6, 1.2e9):
        monkeypatch.setattr(budget, "resident", lambda used=used: int(used))
        found.append(bits(fitted(X, embedding=embedding, memory_limit="1.5GB")))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("embedding", ["nystroem", "neighbours"])
@pytest.mark.parametrize("room", [0, 200_000, np.inf])
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_spilling_do_not_move_a_bit(monkeypatch, room, threads, embedding):
    expected = bits(fitted(rows(), embedding=embedding))
    monkeypatch.setattr(Job, "room", lambda job, sizes: room)
    assert bits(fitted(rows(), embedding=embedding, n_jobs=threads)) == expected


@pytest.mark.parametrize("limit", ["1GB", "2GB", "12GB"])
def test_labels_of_float64_rows_are_those_of_every_limit(limit, monkeypatch):
    """What other tests have left in the memory of this process is not what is tested."""
    monkeypatch.setattr(budget, "resident", lambda: 100_000_000)
    X = rows(np.float64)
    np.testing.assert_array_equal(fitted(X, memory_limit=limit).labels_, fitted(X).labels_)


def test_chunks_follow_the_limit_alone():
    assert budget.Budget(10**9, 1).chunk_bytes == budget.Budget(10**9, 7 * 10**8).chunk_bytes
    assert budget.Budget(10**9).chunk_bytes < budget.Budget(10**10).chunk_bytes == budget.Budget().chunk_bytes


def test_auto_sizes_shrink_to_the_limit_and_say_so(monkeypatch):
    """By the limit and not by the memory in use; the message names sizes that fit where a limit is too small."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    sizes = []
    for used in (50e6, 300e6):
        monkeypatch.setattr(budget, "resident", lambda used=used: int(used))
        with pytest.warns(UserWarning, match=r"leaves room for \d+ landmarks; without it, 300 would be used"):
            km = KernelKMeans(3, random_state=0, memory_limit="430MB", max_iter=2).fit(X)
        sizes.append((km.n_landmarks_, km.n_components_))
    assert sizes[0] == sizes[1]
    assert 3 <= sizes[0][0] < 300


def test_a_limit_that_is_too_small_names_sizes_that_fit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    monkeypatch.setattr(budget, "resident", lambda: 100_000_000)
    with pytest.raises(ValueError, match="too small") as refused:
        KernelKMeans(3, random_state=0, n_landmarks=2000, memory_limit="400MB").fit(X)
    words = str(refused.value).split("ask for less: ")[1].removesuffix(" would fit.")
    less = {name: int(value) for name, value in (word.split("=") for word in words.split(", "))}
    KernelKMeans(3, random_state=0, memory_limit="400MB", max_iter=2, **less).fit(X)


def many_rows(tmp_path, n_rows, limit, **options):
    """A fit of a file that is said to have many rows, before any is read."""
    np.save(tmp_path / "x.npy", np.zeros((10, 20)))
    km = KernelKMeans(8, memory_limit=limit, random_state=0, **options)
    source = km._job(tmp_path / "x.npy", reset=True).source
    source.n_rows = n_rows
    return Fit(km._job(source, reset=True), checks.settings_of(km, source))


def test_labels_that_go_to_a_file_cost_no_memory(monkeypatch, tmp_path):
    """5 M rows of 20 under 500 MB: labels in memory would not fit, labels in a file do."""
    monkeypatch.setattr(budget, "resident", lambda: 330_000_000)
    fit = many_rows(tmp_path, 5_000_000, "500MB")
    fitted = fitted_to_limit(replace(fit, job=replace(fit.job, labels_here=False)))
    assert fitted.job.problem(fitted.sizes).labels == 0


@pytest.mark.parametrize("limit", [200, 380])
@pytest.mark.parametrize("options", [{}, {"n_landmarks": 1500}, {"embedding": "neighbours"}])
def test_a_limit_that_fits_no_sizes_names_the_smallest_that_does(monkeypatch, tmp_path, limit, options):
    """5 M labels in memory: "auto" sizes follow the limit, so that much less than their largest is enough."""
    monkeypatch.setattr(budget, "resident", lambda: 295_000_000)
    with pytest.raises(ValueError, match="too small") as refused:
        fitted_to_limit(many_rows(tmp_path, 5_000_000, f"{limit}MB", **options))
    assert "would fit" not in str(refused.value)
    named = int(str(refused.value).split("needs at least ")[1].split("MB")[0])
    fitted_to_limit(many_rows(tmp_path, 5_000_000, f"{named}MB", **options))
    with pytest.raises(ValueError, match="too small"):
        fitted_to_limit(many_rows(tmp_path, 5_000_000, f"{int(0.95 * named)}MB", **options))


def test_a_limit_that_is_refused_once_rows_are_counted_names_one_that_is_enough(monkeypatch, tmp_path):
    """The "auto" sizes of the larger limit are larger, and the number of rows of a CSV file is not known at first."""
    monkeypatch.setattr(budget, "resident", lambda: 295_000_000)
    np.savetxt(tmp_path / "x.csv", np.random.default_rng(0).normal(size=(3000, 5)), delimiter=",")
    plain = Job.problem
    # Few rows with labels as large as those of many.
    large = lambda job, sizes: replace(plain(job, sizes), labels=2000 * sizes.n_rows)  # noqa: E731
    monkeypatch.setattr(Job, "problem", large)
    for limit in ("400MB", "430MB"):
        with pytest.raises(ValueError, match="too small") as refused:
            KernelKMeans(3, random_state=0, memory_limit=limit).fit(tmp_path / "x.csv")
        named = str(refused.value).split("needs at least ")[1].split(" ")[0]
        assert KernelKMeans(3, random_state=0, max_iter=2, memory_limit=named).fit(tmp_path / "x.csv")
