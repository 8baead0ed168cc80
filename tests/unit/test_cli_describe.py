"""``apnc describe``, and ``apnc predict --with``."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from scipy import sparse
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app

X, _ = make_blobs(300, n_features=3, centers=3, cluster_std=0.5, random_state=0)
#: Older versions mix both streams unless told not to.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*words, code=0):
    done = CliRunner(**APART).invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {"key": [f"k{i}" for i in range(300)], "w": np.arange(300) % 3}
    pq.write_table(pa.table({**columns, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), "rows.parquet")
    fit = ("fit", "rows.parquet", "-k", 3, "--columns", "a,b,c", "--id-columns", "key", "--quiet")
    run(*fit, "--model", "m.apnc")
    return tmp_path


def test_predict_with_more_columns(folder):
    km = apnc.load("m.apnc")
    run("predict", "m.apnc", "rows.parquet", "--labels", "l.parquet", "--with", "outlier,distance,membership")
    found = pq.read_table("l.parquet")
    members = ["membership0", "membership1", "membership2"]
    assert found.column_names == ["key", "label", "distance", *members, "outlier"]
    np.testing.assert_array_equal(found["label"], km.predict(X))
    np.testing.assert_allclose(found["distance"], km.transform(X).min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found["outlier"], km.outlier_score(X), rtol=1e-6)
    np.testing.assert_allclose(found["membership1"], km.membership(X)[:, 1], rtol=1e-6)
    run("predict", "m.apnc", "rows.parquet", "--labels", "l.csv", "--with", "distance", "--with", "outlier")
    assert csv.read_csv("l.csv").column_names == ["key", "label", "distance", "outlier"]


def test_columns_that_are_not_there(folder):
    done = run("predict", "m.apnc", "rows.parquet", "--labels", "l.csv", "--with", "distances", code=2)
    assert "with='distances' is unknown" in done.stderr
    assert "distance" in done.stderr
    assert not Path("l.csv").exists()


def test_describe(folder):
    done = run("describe", "m.apnc", "rows.parquet")
    assert done.stdout == f"{apnc.load('m.apnc').describe(apnc.open('rows.parquet', id_columns=['key']))}\n"
    assert done.stdout.count("\ncluster ") == 3
    assert "prototypes: k" in done.stdout
    assert "describing: 300 rows" in done.stderr
    assert run("describe", "m.apnc", "rows.parquet", "--quiet").stderr == ""


def test_describe_as_json(folder):
    done = run("describe", "m.apnc", "rows.parquet", "--json", "--show", 2, "--weight-column", "w", "--quiet")
    told = json.loads(done.stdout)
    weights = np.arange(300) % 3
    assert (told["weight"], told["kind"]) == (weights.sum(), "features")
    labels = apnc.load("m.apnc").predict(X)
    for c, cluster in enumerate(told["clusters"]):
        assert cluster["size"] == weights[labels == c].sum()
        assert len(cluster["contrasts"]) == len(cluster["prototypes"]["ids"]["key"]) == 2
        assert {contrast["name"] for contrast in cluster["contrasts"]} < set("abc")


def test_describe_with_the_words_of_a_matrix(folder):
    rows = sparse.random_array((60, 5), density=0.5, random_state=np.random.default_rng(0), format="csr")
    sparse.save_npz("x.npz", rows)
    Path("words.txt").write_text("one\ntwo\nthree\nfour\n\u00fcnf\n", encoding="utf-8")
    run("fit", "x.npz", "-k", 2, "--kernel", "cosine", "--model", "t.apnc", "--quiet")
    done = run("describe", "t.apnc", "x.npz", "--feature-names", "words.txt", "--json", "--quiet")
    names = {c["name"] for cluster in json.loads(done.stdout)["clusters"] for c in cluster["contrasts"]}
    assert names
    assert names <= {"one", "two", "three", "four", "\u00fcnf"}
    for options in (["--feature-names", "none.txt"], ["--show", "0"]):
        assert run("describe", "t.apnc", "x.npz", *options, code=2).stderr.startswith("apnc: ")


def test_a_model_without_clusters_is_refused(folder):
    run("fit", "rows.parquet", "--method", "embedding", "--columns", "a,b,c", "--model", "e.apnc", "--quiet")
    done = run("describe", "e.apnc", "rows.parquet", code=2)
    assert "has no clusters, so apnc describe cannot be used with it" in done.stderr


def test_objects_are_shown_as_their_kernel_says(folder):
    series = [[float(i % 2)] * (30 + i) for i in range(12)]
    Path("series.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in series))
    run("fit", "series.jsonl", "-k", 2, "--kernel", "time_warp(0.2)", "--model", "s.apnc", "--quiet")
    shown = run("describe", "s.apnc", "series.jsonl").stdout
    assert len(re.findall(r"row \d+: \d+ values from [01] to [01]: ([01]), \1, \1, \.\.\.\n", shown)) == 10
