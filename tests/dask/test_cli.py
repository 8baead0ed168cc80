"""``--engine dask``: the same labels as on this machine, from commands of their own."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import apnc
from apnc import KernelKMeans
from apnc.cli.app import app
from tests.unit.test_cli import APART

#: Stands for the options of the cluster.
ON = object()


@pytest.fixture(scope="module")
def scheduler(client):
    return ("--engine", "dask", "--scheduler", client.scheduler.address)


@pytest.fixture
def run(folder, monkeypatch):
    """Runs a command in this process, in the folder of the data."""

    def command(*arguments, code=0):
        done = CliRunner(**APART).invoke(app, arguments)
        assert done.exit_code == code, done.output
        return done

    monkeypatch.chdir(folder)
    return command


def labels_in(folder):
    table = pq.read_table(folder).sort_by("key")
    assert table.column_names == ["key", "label"]
    return table["label"].to_numpy()


@pytest.fixture(scope="module")
def expected():
    return KernelKMeans(10, random_state=0).fit(load_digits().data).labels_


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X = load_digits().data
    table = pa.table({f"x{j}": X[:, j] for j in range(64)} | {"key": np.arange(len(X))})
    (folder / "digits").mkdir()
    (folder / "text").mkdir()
    for i in range(3):
        pq.write_table(table.slice(600 * i, 600), folder / "digits" / f"{i}.parquet")
        pyarrow.csv.write_csv(table.slice(600 * i, 600), folder / "text" / f"{i}.csv")
    words = [f"{a}{b}{c}" for a in "0123" for b in "efgh" for c in "ijklmnop"]
    lines = (json.dumps({"key": i, "word": word, "set": list(word)}) for i, word in enumerate(words))
    (folder / "words.jsonl").write_text("\n".join(lines))
    (folder / "letters.py").write_text(
        "import numpy as np\n"
        "def shared(A, B):\n"
        "    return np.array([[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A])\n"
    )
    return folder


def test_fit_on_a_cluster_of_its_own(folder, expected):
    """In a process of its own, which the workers must not run again."""
    fit = ("fit", "digits", "--n-clusters", "10", "--id-columns", "key", "--json", "--engine", "dask")
    command = [sys.executable, "-m", "apnc.cli", *fit, "--model", "digits.apnc", "--labels", "labels.parquet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["rows"] == 1797
    np.testing.assert_array_equal(labels_in(folder / "labels.parquet"), expected)


@pytest.mark.parametrize("data", ["digits/*.parquet", "text"])
def test_predict_on_a_running_cluster(run, folder, expected, scheduler, data):
    KernelKMeans(10, random_state=0).fit(apnc.open(folder / "digits", id_columns=["key"])).save(
        folder / "ten.apnc"
    )
    target = f"again-{data[:4]}.parquet"
    asked = ("--id-columns", "key", "--labels", target, "--json")
    done = run("predict", "ten.apnc", data, *asked, *scheduler)
    assert json.loads(done.stdout)["rows"] == 1797
    np.testing.assert_array_equal(labels_in(folder / target), expected)


def test_more_columns_and_embeddings(run, folder, scheduler):
    KernelKMeans(3, n_landmarks=60, random_state=0).fit(
        apnc.open(folder / "digits", id_columns=["key"])
    ).save(folder / "three.apnc")
    asked = ("--with", "distance,membership", "--id-columns", "key", "--labels")
    run("predict", "three.apnc", "digits", *asked, "there.parquet", *scheduler)
    run("predict", "three.apnc", "digits", *asked, "here.parquet", "--quiet")
    there, here = (pq.read_table(folder / name).sort_by("key") for name in ("there.parquet", "here.parquet"))
    assert there.column_names == here.column_names
    np.testing.assert_array_equal(there["label"], here["label"])
    np.testing.assert_allclose(there["membership1"], here["membership1"], atol=1e-6)
    run("predict", "three.apnc", "digits", *asked, "plain.csv", *scheduler)
    parts = [pyarrow.csv.read_csv(path) for path in sorted((folder / "plain.csv").iterdir())]
    np.testing.assert_array_equal(pa.concat_tables(parts).sort_by("key")["label"], here["label"])
    run("embed", "three.apnc", "digits", "--id-columns", "key", "--out", "vectors.parquet", *scheduler)
    assert pq.read_schema(next((folder / "vectors.parquet").iterdir())).names[:2] == ["key", "y0"]


@pytest.mark.parametrize("how", [("word", "letters:shared"), ("set", "jaccard")])
def test_objects(run, folder, scheduler, how):
    """The function's module is in the current folder alone; it travels with it. Digits in text stay text."""
    field, kernel = how
    asked = ("--object-field", field, "--id-columns", "key", "--kernel", kernel, "--n-clusters", "4")
    fit = ("fit", "words.jsonl", *asked, "--n-landmarks", "60", "--quiet")
    run(*fit, "--labels", f"{field}-there.parquet", *scheduler)
    run(*fit, "--labels", f"{field}-here.parquet")
    found = [labels_in(folder / f"{field}-{place}.parquet") for place in ("there", "here")]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler tcp://127.0.0.1:1 needs --engine dask"),
        ((ON, "--memory-limit", "1GB"), "memory_limit of the cluster's workers"),
        ((ON, "--drop-null"), "cannot be used with a Dask collection"),
        ((ON, "--format", "npy"), "Dask reads parquet, csv, tsv, jsonl, not npy"),
        ((ON, "--columns", "x0,x65"), "there is no column 'x65'"),
    ],
)
def test_bad_usage_is_one_line(run, folder, scheduler, arguments, message):
    asked = ("fit", "digits", "--n-clusters", "3", "--labels", "no.parquet")
    words = [word for given in arguments for word in (scheduler if given is ON else (given,))]
    done = run(*asked, *words, code=2)
    said = [line for line in done.stderr.splitlines() if line.startswith("apnc: ")]
    assert len(said) == 1
    assert message in said[0]
    assert "Traceback" not in done.stderr
    assert not (folder / "no.parquet").exists()


def test_a_folder_that_exists_is_not_written_to(run, folder, scheduler):
    (folder / "there-already.parquet").mkdir()
    asked = ("fit", "digits", "--n-clusters", "3", "--labels", "there-already.parquet")
    assert "there-already.parquet already exists" in run(*asked, *scheduler, code=2).stderr


def test_no_scheduler_answers(run):
    import dask

    asked = (
        "fit",
        "digits",
        "--n-clusters",
        "3",
        "--labels",
        "no.parquet",
        "--engine",
        "dask",
        "--scheduler",
    )
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        done = run(*asked, "tcp://127.0.0.1:1", code=2)
    assert "--scheduler tcp://127.0.0.1:1: no scheduler answers there" in done.stderr
