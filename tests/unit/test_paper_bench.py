"""The runner of the paper's tables: what it measures, how it goes on, and what the ablation compares."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from apnc import KernelKMeans
from apnc.cli import bench as benching
from apnc.embeddings.stable import center_kernel
from apnc.kernels import VectorKernel
from benchmarks.paper import datasets, running, variants
from benchmarks.paper.__main__ import ALL, main
from benchmarks.paper.methods import Once, StageClock, Task, once
from benchmarks.paper.running import TimeLeft, left_over, read, run_all, run_cell
from benchmarks.paper.starting import STARTED, empty_left
from benchmarks.paper.tables import TABLES, Cell, cells_of, quick

ROOT = Path(__file__).parents[2]
SMALL = Cell("table1", "pie", "rbf", "APNC-Nys", 50, 1000, 100, (0, 1), 60.0, rows=300)
FIELDS = {
    "table",
    "dataset",
    "kernel",
    "method",
    "l",
    "m",
    "seed",
    "seconds",
    "embed_seconds",
    "cluster_seconds",
}
FIELDS |= {"peak_bytes", "versions", "machine", "cores", "when", "n", "k", "rows", "generated"}


def cells(table, **options):
    return cells_of(table, options.get("datasets", ()), options.get("methods", ()), None, None)


def test_settings_are_those_of_the_paper():
    digits = [cell for cell in cells("table1") if cell.dataset in ("usps", "mnist")]
    assert {cell.l for cell in digits if cell.method != "Exact KKM"} == {50, 100, 300}
    assert {cell.m for cell in digits if cell.l} == {1000}
    assert {len(cell.seeds) for cell in digits} == {20}
    for dataset, runs in {"covtype": 10, "rcv1": 3, "newsgroups": 3}.items():
        large = [cell for cell in cells("table2") if cell.dataset == dataset and cell.l]
        assert {(cell.l, cell.m, cell.max_iter, len(cell.seeds)) for cell in large} == {
            (size, 500, 20, runs) for size in (500, 1000, 1500)
        }


def test_every_method_of_a_table_is_known_and_its_cells_are_distinct():
    for name, table in TABLES.items():
        found = cells(name)
        assert {cell.method for cell in found} <= set(table.methods)
        assert len({cell.key for cell in found}) == len(found)
        assert {cell.dataset for cell in found} <= set(datasets.SOURCES)
        assert len({(c.dataset, c.kernel, c.method) for c in quick(found)}) == len(quick(found))


def test_cells_may_be_chosen():
    found = cells("table1", datasets=["usps"], methods=["APNC-SD"])
    assert [(cell.dataset, cell.method, cell.l) for cell in found] == [
        ("usps", "APNC-SD", size) for size in (50, 100, 300)
    ]


def test_rows_are_appended_and_never_measured_twice(tmp_path):
    out, said = tmp_path / "rows.jsonl", []
    assert run_all([replace(SMALL, seeds=(0,))], out, False, said.append) == 0
    assert run_all([SMALL], out, False, said.append) == 0
    rows = read(out)
    assert [row["seed"] for row in rows] == [0, 1]
    assert all(set(row) >= FIELDS for row in rows)
    assert all("nmi" not in row and row["generated"] for row in rows)
    assert all(row["embed_seconds"] + row["cluster_seconds"] <= row["seconds"] for row in rows)
    assert "1 runs to do, 1 done before" in said[2]
    assert "left" in said[1]
    run_all([SMALL], out, False, said.append)
    assert len(read(out)) == 2


def test_a_run_beyond_its_limit_is_a_row_and_ends_its_cell(tmp_path):
    out = tmp_path / "rows.jsonl"
    slow = replace(SMALL, limit=0.0)
    assert run_all([slow], out, False, lambda line: None) == 1
    (row,) = read(out)
    assert row["failed"] == "did not finish in 0 s"
    assert left_over([slow], [row]) == []


def test_a_failure_is_a_row_and_the_next_run_goes_on():
    rows = list(run_cell(replace(SMALL, method="2-Stage", l=30)))
    assert [row["seed"] for row in rows] == [0, 1]
    assert all("n_landmarks=30 must be at least n_clusters=68" in row["failed"] for row in rows)


def test_a_process_that_dies_is_a_row():
    (row,) = run_cell(replace(SMALL, dataset="nowhere"))
    assert row["given_up"]
    assert "nowhere" in row["failed"]


def test_time_left_is_guessed_from_the_nearest_runs():
    now = [0.0]
    one, other = SMALL, replace(SMALL, dataset="usps", method="RFF", seeds=(0, 1, 2))
    left = TimeLeft([one, other], lambda: now[0])
    now[0] = 10.0
    left.ran(one, {})
    assert left.left() == "about 40 s left"
    left.over(one)
    now[0] = 110.0
    left.ran(other, {})
    assert left.left() == "about 3 min left"


def test_what_does_not_depend_on_the_seed_is_computed_once():
    class Module:
        calls = 0

        @staticmethod
        def search(X):
            Module.calls += 1
            return X + 1

    first = once(Module, "search")
    assert (Module.search(1), Module.search(1)) == (2, 2)
    assert Module.calls == 1
    assert first is once(Module, "search")
    assert isinstance(first, Once)
    assert first.spared == first.seconds > 0


def test_stages_of_a_fit_are_StageClock():
    X = np.random.default_rng(0).normal(size=(500, 3))
    clock = StageClock()
    KernelKMeans(3, n_landmarks=20, random_state=0).fit(X, progress=clock)
    assert set(clock.seconds) == {"sampling", "coefficients", "starting", "embedding", "clustering", "labels"}
    assert sum(clock.parts.values()) == pytest.approx(sum(clock.seconds.values()))


def test_missing_data_is_said_and_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("APNC_DATA", str(tmp_path))
    assert main(["table1", "--datasets", "usps", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "set APNC_DATA to the folder that holds usps.npz or --fetch" in told.err
    assert "0 runs to do" in told.out


@pytest.mark.parametrize("option", ["--datasets", "--methods"])
def test_unknown_names_are_refused(option, capsys):
    with pytest.raises(SystemExit):
        main(["table1", option, "nix"])
    assert "'nix' is no" in capsys.readouterr().err


def test_data_of_a_path_is_no_stand_in(tmp_path, monkeypatch):
    source = datasets.SOURCES["pie"]
    assert source.is_generated
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 1, 2, 2])
    np.savez(tmp_path / "faces.npz", X=X, y=y)
    monkeypatch.setenv("APNC_PIE", str(tmp_path / "faces.npz"))
    assert not source.is_generated
    found = source.load(None, fetch=False)
    np.testing.assert_array_equal(found.X, X)
    assert found.k == 3
    assert source.load(4, fetch=False).X.shape == (4, 2)


@pytest.mark.parametrize(
    ("name", "fetcher", "X", "expected"),
    [
        ("usps", "fetch_openml", [[-1.0, 1.0]], [[-1.0, 1.0]]),
        ("mnist", "fetch_openml", [[0, 255]], [[0.0, 1.0]]),
        ("covtype", "fetch_covtype", [[2, 5], [4, 5]], [[0.0, 0.0], [1.0, 0.0]]),
        ("newsgroups", "fetch_20newsgroups_vectorized", sparse.csr_matrix([[0.0, 1.0]]), [[0.0, 1.0]]),
    ],
)
def test_data_sets_may_be_fetched(name, fetcher, X, expected, tmp_path, monkeypatch):
    """On the paper's scales, by scikit-learn, and only if that was asked for."""
    monkeypatch.setenv("APNC_DATA", str(tmp_path))
    given = X if sparse.issparse(X) else np.array(X)
    monkeypatch.setattr(f"sklearn.datasets.{fetcher}", lambda *_, **__: (given, np.arange(given.shape[0])))
    assert datasets.SOURCES[name].missing(fetch=True) is None
    found = datasets.SOURCES[name].load(None, fetch=True).X
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray() if sparse.issparse(found) else found, expected)
    with pytest.raises(FileNotFoundError, match="APNC_DATA"):
        datasets.SOURCES[name].load(None, fetch=False)


def test_the_rcv1_subset_is_the_one_described():
    source = datasets.SOURCES["rcv1"]
    if (missing := source.missing(fetch=False)) is not None:
        pytest.skip(f"RCV1 is not here: {missing}")
    data = source.load(None, fetch=False)
    assert data.X.shape == (18_385, 47_236)
    assert data.k == 42
    assert np.unique(data.y, return_counts=True)[1].min() >= 50


def test_generated_documents_are_sparse_rows_of_norm_one():
    data = datasets.SOURCES["rcv1-200k"].load(200, fetch=False)
    assert data.X.shape == (200, 47_236)
    assert sparse.issparse(data.X)
    np.testing.assert_allclose(sparse.linalg.norm(data.X, axis=1), 1, rtol=1e-5)
    assert data.y is None


def test_the_command_line_knows_the_tables():
    assert list(benching.TABLES) == [*TABLES, ALL, "render"]


def test_apnc_bench_measures(tmp_path):
    command = [
        sys.executable,
        "-m",
        "apnc.cli",
        "bench",
        "table1",
        "--datasets",
        "pie",
        "--methods",
        "APNC-SD",
    ]
    options = ["--rows", "300", "--runs", "1", "--out", str(tmp_path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "paper-table1.jsonl").read_text().splitlines()]
    assert [row["l"] for row in rows] == [50, 100, 300]


def test_without_a_checkout_apnc_bench_says_what_is_missing(tmp_path):
    """An installed package: a copy of it elsewhere, in a folder without the measuring code."""
    package = tmp_path / "site" / "apnc"
    shutil.copytree(ROOT / "src" / "apnc", package, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "apnc.cli", "bench", "table1"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
    )
    assert done.returncode == 2
    assert "checkout of apnc's repository" in done.stderr
    assert "Traceback" not in done.stderr


def kernel_and_pool(n=120):
    return VectorKernel("rbf", 0.5), np.random.default_rng(0).normal(size=(n, 4))


def test_printed_root_is_a_root_of_the_inverse():
    kernel, pool = kernel_and_pool(40)
    K = center_kernel(kernel(pool, pool))
    weights = (
        variants.PrintedRoot(0.5).coefficients(pool, kernel, 4000, np.random.default_rng(0)).blocks[0].weights
    )
    assert weights.shape == (4000, 40)
    E = np.linalg.lstsq(indicators(4000, 40, 20), weights, rcond=None)[0]
    np.testing.assert_allclose(E.T @ E, np.linalg.pinv(K, rcond=1e-10), rtol=1e-5, atol=1e-7)


def indicators(m, n, t):
    from apnc.embeddings.stable import random_subsets

    return random_subsets(m, n, t, np.random.default_rng(0))


def test_without_the_floor_all_positive_eigenvalues_stay():
    values = np.array([5.0, 1.0, 0.5, 1e-9, -2.0])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    found = variants.decompose_all(Q @ np.diag(values) @ Q.T, np.zeros((5, 2), dtype=np.float32))
    np.testing.assert_allclose(found.values, [5.0, 1.0, 0.5, 1e-9], rtol=1e-4)


@pytest.mark.parametrize(
    "choose", [variants.by_k_means_plus_plus, variants.by_leverage, variants.by_pivoted_cholesky]
)
@pytest.mark.parametrize("kernel", [VectorKernel("rbf", 0.5), VectorKernel("sigmoid", 0.3, -1.0)])
def test_chosen_landmarks_are_distinct(choose, kernel):
    pool = kernel_and_pool()[1]
    chosen = choose(pool, kernel, 30, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 30
    assert 0 <= chosen.min() <= chosen.max() < 120


@pytest.mark.parametrize("choose", [variants.by_k_means_plus_plus, variants.by_pivoted_cholesky])
def test_a_far_row_is_chosen_soon(choose):
    pool = np.zeros((200, 2)) + 1e-4 * np.random.default_rng(0).normal(size=(200, 2))
    pool[17] = 5.0
    chosen = choose(pool, VectorKernel("rbf", 1.0), 2, np.random.default_rng(0))
    assert 17 in chosen


def test_pivoted_cholesky_leaves_what_the_chosen_do_not_span():
    """Drawing by the residual: its trace is that of the Schur complement."""
    kernel, pool = kernel_and_pool(60)
    chosen = variants.by_pivoted_cholesky(pool, kernel, 20, np.random.default_rng(1))
    uniform = np.arange(20)

    def left(rows):
        K = kernel(pool, pool)
        return np.trace(K - K[:, rows] @ np.linalg.pinv(K[np.ix_(rows, rows)]) @ K[rows])

    assert left(chosen) < left(uniform)


def test_empty_clusters_may_be_left():
    X = np.vstack([np.zeros((30, 2)), np.ones((30, 2))]) + 0.01 * np.random.default_rng(0).normal(
        size=(60, 2)
    )
    start = np.zeros(60, dtype=int)
    with empty_left():
        left = KernelKMeans(3, kernel="linear", init=start, max_iter=3).fit(X)
    assert len(np.unique(left.labels_)) == 1
    assert len(np.unique(KernelKMeans(3, kernel="linear", init=start, max_iter=3).fit(X).labels_)) == 3


@pytest.mark.parametrize("name", STARTED)
def test_every_start_runs(name):
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = STARTED[name](Task(X, 4, {"kernel": "rbf"}, 20, 20, 5, 0))
    assert found.more["filled"] == len(np.unique(found.labels)) <= 4


def test_a_broken_line_of_rows_is_an_error(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"table": "table1"}\n{"table": "tab')
    with pytest.raises(ValueError, match=r"rows.jsonl, line 2 is no row"):
        running.read(tmp_path / "rows.jsonl")
