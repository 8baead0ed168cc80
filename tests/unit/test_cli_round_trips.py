"""Every format and every kernel: fit, save, predict in a new process, the same labels."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather
from pyarrow import parquet as pq
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_blobs
from typer.testing import CliRunner

from apnc.cli.app import app
from apnc.kernels import KERNELS

ROOT = Path(__file__).parents[2]
X, _ = make_blobs(300, n_features=4, centers=3, random_state=0)
X = (X - X.min(axis=0)).round(3)
TABLE = pa.table({"key": [f"k{i}" for i in range(300)], **{f"x{j}": X[:, j] for j in range(4)}})
KERNEL = """
import numpy as np

def common(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

def dot(A, B):
    return np.asarray(A) @ np.asarray(B).T
"""

#: Predicts for each (model, data, labels, more) on the command line's own terms, one after the other.
PREDICT = """
import json, sys
from apnc.cli.app import app
for model, data, labels, more in json.load(sys.stdin):
    try:
        app(["predict", model, data, "--labels", labels, "--quiet", *more])
    except SystemExit as end:
        assert end.code == 0, (model, data)
"""


def write_all(folder):
    """The same rows in every format; and objects."""
    pq.write_table(TABLE, folder / "x.parquet", row_group_size=70)
    feather.write_feather(TABLE, folder / "x.arrow", compression="uncompressed")
    feather.write_feather(TABLE, folder / "x.feather", compression="lz4")
    csv.write_csv(TABLE, folder / "x.csv")
    (folder / "x2.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    csv.write_csv(TABLE, folder / "x.tsv", csv.WriteOptions(delimiter="\t"))
    csv.write_csv(TABLE, folder / "semicolons.csv", csv.WriteOptions(delimiter=";"))
    np.save(folder / "x.npy", X)
    sparse.save_npz(folder / "x.npz", sparse.csr_matrix(X))
    dump_svmlight_file(X, np.zeros(300), str(folder / "x.svm"), zero_based=True)
    (folder / "parts").mkdir()
    pq.write_table(TABLE.slice(0, 100), folder / "parts" / "a.parquet")
    pq.write_table(TABLE.slice(100), folder / "parts" / "b.parquet")
    words = ["abc", "abd", "bcd", "xyz", "xyw", "wxz", "zzx", "bbd"]
    lines = [json.dumps({"key": i, "word": words[i % 8] * (1 + i % 3)}) for i in range(120)]
    (folder / "x.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "tripkernels.py").write_text(KERNEL)


IDS = ["--id-columns", "key"]
OBJECTS = ["--object-field", "word", "--kernel", "tripkernels:common", *IDS]
#: Data, options of the fit, options of the prediction.
TRIPS = {
    **{
        name: (name, IDS, []) for name in ("x.parquet", "x.arrow", "x.feather", "x.csv", "x2.csv.gz", "x.tsv")
    },
    "folder": ("parts", IDS, []),
    "semicolons": ("semicolons.csv", [*IDS, "--separator", ";"], []),
    **{name: (name, [], []) for name in ("x.npy", "x.npz", "x.svm")},
    "objects": ("x.jsonl", OBJECTS, ["--trust", "tripkernels:common"]),
    "normalized objects": ("x.jsonl", [*OBJECTS, "--normalize-kernel"], ["--kernel", "tripkernels:common"]),
    **{kernel: ("x.parquet", ["--kernel", kernel, *IDS], []) for kernel in KERNELS},
    "normalized": ("x.parquet", ["--kernel", "polynomial", "--normalize-kernel", *IDS], []),
    "function of vectors": ("x.npy", ["--kernel", "tripkernels:dot"], ["--trust", "tripkernels:dot"]),
    "stable": ("x.parquet", ["--embedding", "stable", "--scale", "minmax", *IDS], []),
    "ensemble": ("x.npz", ["--embedding", "ensemble", "--scale", "unit"], []),
    "neighbours": ("x.parquet", ["--embedding", "neighbours", *IDS], []),
    "spectral": ("x.parquet", ["--method", "spectral", *IDS], []),
    "spectral cosine": ("x.npz", ["--method", "spectral", "--kernel", "cosine", "--n-nearest", "6"], []),
    "spectral objects": ("x.jsonl", ["--method", "spectral", *OBJECTS], ["--trust", "tripkernels:common"]),
}


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Labels of the fit and of a new process, by trip."""
    folder = tmp_path_factory.mktemp("trips")
    write_all(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for i, (data, options, _) in enumerate(TRIPS.values()):
            words = ["fit", data, "--n-clusters", "3", "--n-landmarks", "60", "--quiet", *options]
            done = CliRunner().invoke(app, [*words, "--model", f"{i}.apnc", "--labels", f"fit{i}.parquet"])
            assert done.exit_code == 0, done.output
    finally:
        os.chdir(before)
    jobs = [(f"{i}.apnc", data, f"new{i}.parquet", more) for i, (data, _, more) in enumerate(TRIPS.values())]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PREDICT]
    done = subprocess.run(
        command, input=json.dumps(jobs), cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {
        trip: [pq.read_table(folder / f"{what}{i}.parquet") for what in ("fit", "new")]
        for i, trip in enumerate(TRIPS)
    }


@pytest.mark.parametrize("trip", TRIPS)
def test_a_new_process_gives_the_labels_of_the_fit(labels, trip):
    fitted, predicted = labels[trip]
    assert predicted.equals(fitted)
    assert fitted.num_rows == (120 if "objects" in trip else 300)
    assert len(set(fitted.column("label").to_pylist())) == 3
