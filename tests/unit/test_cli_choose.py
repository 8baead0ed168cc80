"""``apnc choose``: what it prints, and what it writes or does not."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import apnc
from tests.unit.test_cli import run

QUICK = ("--quiet", "--n-landmarks", 60, "--n-init", 3, "--k-max", 6)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    np.save("groups.npy", X)
    np.save("noise.npy", np.random.default_rng(0).normal(size=(400, 2)))
    return tmp_path


def test_the_recommendation_is_printed(folder):
    done = run("choose", "groups.npy", *QUICK)
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["n", "clusters", "prediction"]
    assert [int(line.split()[0]) for line in lines[1:6]] == [2, 3, 4, 5, 6]
    assert lines[6].split() == ["clusters", "3"]
    assert "3 clusters: the most that" in lines[7]
    assert sorted(path.name for path in Path().iterdir()) == ["groups.npy", "noise.npy"]


def test_the_same_as_json(folder):
    found = json.loads(run("choose", "groups.npy", *QUICK, "--json").stdout)
    expected = apnc.choose(
        np.load("groups.npy"),
        apnc.KernelKMeans(n_landmarks=60, n_init=3, random_state=0),
        range(2, 7),
        fit=False,
    )
    assert found["clusters"] == 3
    assert found["reason"] == expected.reason
    assert found["table"] == expected.columns
    assert found["model"] is found["labels"] is None


def test_a_model_and_labels_are_written(folder):
    run("choose", "groups.npy", *QUICK, "--model", "m.apnc", "--labels", "l.csv")
    km = apnc.load("m.apnc")
    assert km.n_clusters == 3
    labels = np.loadtxt("l.csv", delimiter=",", skiprows=1, dtype=int)[:, 1]
    np.testing.assert_array_equal(km.predict(np.load("groups.npy")), labels)


def test_nothing_is_written_without_a_recommendation(folder):
    done = run("choose", "noise.npy", *QUICK, "--model", "m.apnc", "--labels", "l.csv")
    assert "no clear structure" in done.stdout
    assert "nothing was written" in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["groups.npy", "noise.npy"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--k-min", 5, "--k-max", 3), "--k-max 3 is smaller than --k-min 5"),
        (("--k-min", 1), "begins at 1"),
        (("-k", 4), "No such option"),
        (("--method", "embedding"), "KernelEmbedding finds no clusters"),
        (("--model", "groups.npy"), "must be different files"),
    ],
)
def test_what_is_refused(folder, words, said):
    done = run("choose", "groups.npy", "--quiet", *words, code=2)
    assert said in done.stderr
