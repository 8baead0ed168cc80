"""What a fit will take, told before it is run."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_blobs

from apnc import KernelKMeans
from apnc.pipeline import STAGES
from apnc.run.budget import resident


@pytest.fixture(scope="module")
def X():
    return make_blobs(3000, n_features=10, centers=4, random_state=0)[0]


def test_it_counts_passes_and_operations(X):
    found = KernelKMeans(
        4, n_landmarks=100, n_components=50, gamma=1.0, n_init=1, max_iter=7, random_state=0
    ).plan(X)
    assert (found.n_rows, found.counted) == (3000, True)
    assert (found.n_landmarks, found.n_components) == (100, 50)
    assert (found.data_passes, found.embedding_passes) == (3, 8)
    assert found.flops == 3000 * (2 * 100 * (10 + 50) + 2 * 4 * 50 * 8)
    assert found.bytes_moved == 3 * X.nbytes + 8 * 4 * 50 * 3000
    assert found.disk_bytes == 0
    assert found.seconds.pop("start-up") >= 0
    assert set(found.seconds) == {stage.name for stage in STAGES if stage.of != "graph"}
    assert all(seconds > 0 for seconds in found.seconds.values())
    assert found.peak_bytes > resident() / 2


def test_auto_sizes_are_those_of_the_fit(X):
    km = KernelKMeans(4, random_state=0)
    found = km.plan(X)
    assert found.n_landmarks == km.fit(X).n_landmarks_
    assert KernelKMeans(4, init="random-partition", random_state=0).plan(X).data_passes == 4
    assert KernelKMeans(4, embedding="stable", random_state=0).plan(X).n_components == 1000


def test_the_rank_limits_the_components(X):
    flat = np.c_[X[:, :1], np.zeros((len(X), 9))]
    km = KernelKMeans(4, n_landmarks=200, gamma=1e-3, random_state=0)
    planned = km.plan(flat).n_components
    assert planned == pytest.approx(km.fit(flat).n_components_, abs=3)
    assert planned < 100


def test_files_are_counted_or_estimated(X, tmp_path):
    table = pa.table({f"x{j}": X[:, j] for j in range(10)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=1000)
    pyarrow.csv.write_csv(table, tmp_path / "x.csv")
    np.save(tmp_path / "x.npy", X)
    for name in ("x.parquet", "x.npy"):
        found = KernelKMeans(4, random_state=0).plan(tmp_path / name)
        assert (found.n_rows, found.counted) == (3000, True)
    found = KernelKMeans(4, random_state=0).plan(tmp_path / "x.csv")
    assert not found.counted
    assert found.n_rows == pytest.approx(3000, rel=0.05)


def test_a_plan_that_cannot_fit_is_refused(X):
    with pytest.raises(ValueError, match="memory_limit=50MB is too small: this needs at least"):
        KernelKMeans(4, memory_limit="50MB").plan(X)


def test_objects_can_be_planned_too():
    words = [f"{letter * n}" for letter in "abc" for n in range(1, 40)]

    def lengths(A, B):
        return np.array([[min(len(a), len(b)) for b in B] for a in A], dtype=float)

    found = KernelKMeans(3, kernel=lengths, n_landmarks=20, random_state=0).plan(words)
    assert found.n_rows == len(words)
    with pytest.raises(ValueError, match="cannot be planned"):
        KernelKMeans(2, kernel="precomputed").plan(np.eye(5))


RUN = """
import sys, warnings
import numpy as np
from apnc import KernelKMeans
warnings.simplefilter("ignore")
km = KernelKMeans(5, n_landmarks=300, n_components=100, max_iter=3, n_init=1, random_state=0, memory_limit=sys.argv[2])
if sys.argv[3] == "plan":
    found = km.plan(sys.argv[1])
    print(found.peak_bytes, found.disk_bytes)
else:
    km.fit(sys.argv[1])
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(peak.split()[1]) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("limit", ["450MB", "3GB"])
def test_memory_is_forecast_within_a_quarter(tmp_path, limit):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(500_000, 20)).astype(np.float32))
    printed = []
    for what in ("plan", "fit"):
        command = [sys.executable, "-c", RUN, str(tmp_path / "x.npy"), limit, what]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed += map(float, done.stdout.split())
    forecast, disk, found = printed
    assert forecast == pytest.approx(found, rel=0.25)
    assert (disk > 0) == (limit == "450MB")


def test_a_plan_leaves_a_fitted_estimator_alone(X):
    km = KernelKMeans(4, n_landmarks=50, random_state=0).fit(X)
    km.plan(X[:, :3])
    np.testing.assert_array_equal(km.predict(X), km.labels_)


def test_an_empty_file_has_no_plan(tmp_path):
    np.save(tmp_path / "x.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="there are no rows"):
        KernelKMeans(2).plan(tmp_path / "x.npy")


START = """
import numpy as np
from apnc import KernelKMeans
X = np.random.default_rng(0).normal(size=(500, 4))
print(*(KernelKMeans(3, random_state=0).plan(X).seconds["start-up"] for _ in range(2)))
"""


def test_the_first_fit_of_a_process_has_to_load_things():
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split())
    assert first > 0.1
    assert second < first / 2
