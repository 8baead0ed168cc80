"""Every registered estimator, and one from a single file outside the package, has all that an estimator has."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import apnc
from apnc.checks.table import BROUGHT, rows_of
from apnc.estimators import ESTIMATORS
from apnc.persistence import ModelFileError
from apnc.progress import Progress

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "extending.md"


def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 4)) + 5 * np.eye(4)[rng.integers(0, 4, size=400)]


def example():
    """The file of the document."""
    section = DOCUMENT.read_text().partition("## Your own estimator")[2]
    return re.search(r"```python\n(.*?)```", section, flags=re.DOTALL)[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the file of the document, and data."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "spherical.py").write_text(example())
    pq.write_table(pa.table({f"x{j}": rows()[:, j] for j in range(4)}), folder / "rows.parquet")
    return folder


@pytest.fixture
def spherical(folder, monkeypatch):
    """The module of the document, forgotten afterwards."""
    before, brought = dict(ESTIMATORS), dict(BROUGHT)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("spherical")
    sys.modules.pop("spherical")
    for table, kept in ((ESTIMATORS, before), (BROUGHT, brought)):
        table.clear()
        table.update(kept)
    rows_of.cache_clear()


@pytest.fixture(params=["kernel", "embedding", "spectral", "spherical"])
def kind(request, spherical):
    return ESTIMATORS[request.param]


def made(kind, **more):
    known = {"n_clusters": 4, "random_state": 0} | more
    return kind(**{name: value for name, value in known.items() if name in rows_of(kind)})


def result(estimator, X):
    return estimator.predict(X) if hasattr(estimator, "predict") else estimator.transform(X)


def test_all_registered_are_here(spherical):
    assert set(ESTIMATORS) == {"kernel", "embedding", "spectral", "spherical"}


def test_it_fits_files_as_rows_saves_loads_and_clones(kind, folder, tmp_path):
    X = rows()
    fitted = made(kind).fit(X)
    expected = result(fitted, X)
    np.testing.assert_array_equal(result(made(kind).fit(folder / "rows.parquet"), X), expected)
    np.testing.assert_array_equal(result(clone(fitted).fit(X), X), expected)
    loaded = apnc.load(fitted.save(tmp_path / "model.apnc"))
    assert type(loaded) is kind
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(result(loaded, X), expected)
    assert vars(loaded).keys() >= {name for name in vars(fitted) if name.endswith("_") and name != "labels_"}


class Announced(Progress):
    def __init__(self):
        self.names = []

    def stage(self, name, *_, **__):
        self.names.append(name)


def test_it_is_planned(kind):
    plan, announced = made(kind).plan(rows()), Announced()
    made(kind)._fit(rows(), None, progress=announced)
    assert plan.n_landmarks == made(kind).fit(rows()).n_landmarks_
    assert list(plan.seconds) == ["start-up", *announced.names]


def test_its_file_is_not_loaded_without_the_class(spherical, folder, tmp_path):
    path = made(spherical.SphericalKMeans).fit(rows()).save(tmp_path / "model.apnc")
    del ESTIMATORS["spherical"]
    with pytest.raises(ModelFileError, match=r"spherical:SphericalKMeans"):
        apnc.load(path)
    assert type(apnc.load(path, trust="spherical:SphericalKMeans")) is spherical.SphericalKMeans


def run(folder, *words):
    command = [sys.executable, "-m", "apnc.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_command_line_of_the_document(folder, spherical):
    """plan, fit and predict as written there."""
    section = DOCUMENT.read_text().partition("## Your own estimator")[2]
    commands = re.search(r"```sh\n(.*?)```", section, flags=re.DOTALL)[1].splitlines()
    (folder / "more.parquet").write_bytes((folder / "rows.parquet").read_bytes())
    for command in commands:
        done = run(folder, *command.split()[1:])
        assert done.returncode == 0, done.stderr
    fitted, predicted = (
        pq.read_table(folder / f"{name}.parquet")["label"] for name in ("labels", "more-labels")
    )
    expected = spherical.SphericalKMeans(5, landmarks_per_cluster=60, random_state=0).fit(rows())
    np.testing.assert_array_equal(fitted, expected.labels_)
    np.testing.assert_array_equal(predicted, expected.labels_)


@pytest.mark.parametrize("method", ["kernel", "embedding", "spectral"])
def test_every_method_runs_from_the_command_line(folder, method):
    sizes = () if method == "embedding" else ("-k", "4")
    done = run(
        folder, "fit", "rows.parquet", "--method", method, *sizes, "--model", f"{method}.apnc", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    kind = ESTIMATORS[method]
    expected = result(made(kind).fit(rows()), rows())
    np.testing.assert_array_equal(result(apnc.load(folder / f"{method}.apnc"), rows()), expected)
