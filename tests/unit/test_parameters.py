"""One table of parameters: signatures, docstrings, options, model files and Spark say what it says."""

import ast
import inspect
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv
from sklearn.datasets import make_blobs
from typer.main import get_command
from typer.testing import CliRunner

import apnc
from apnc.checks import TABLE, bring_rows, rows_of
from apnc.checks.table import BROUGHT
from apnc.cli import options
from apnc.cli.app import app
from apnc.cli.config import long_names
from apnc.cli.engine_options import ENGINE
from apnc.estimators import ESTIMATORS, register
from apnc.kernels import ON_OBJECTS
from apnc.parameters import REQUIRED, Parameter, rules

METHODS = sorted(ESTIMATORS)
X, _ = make_blobs(200, n_features=3, centers=3, random_state=0)


def signature(kind):
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


#: Defaults that are not those of the table.
OTHER = {"spectral": {"kernel": "linear", "gamma": None}, "embedding": {"gamma": None}}


def documented(kind):
    """Names in the section Parameters of a docstring, each with its types and default."""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\S", inspect.getdoc(kind), flags=re.DOTALL)[1]
    entries = re.split(r"^(\w+) : ", section, flags=re.MULTILINE)[1:]
    found = {}
    for name, text in zip(entries[::2], entries[1::2], strict=True):
        types, default = re.match(r"(.*?), default=(\S+)", text, flags=re.DOTALL).groups()
        found[name] = types, ast.literal_eval(default)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_signatures_say_what_the_table_says(method):
    kind = ESTIMATORS[method]
    assert list(rows_of(kind)) == list(signature(kind))
    assert signature(kind) == {name: TABLE[name].default for name in signature(kind)} | OTHER.get(method, {})


@pytest.mark.parametrize("method", METHODS)
def test_docstrings_of_methods_name_only_parameters_that_exist(method):
    kind = ESTIMATORS[method]
    for name in ("verbose", "max_iter", "n_clusters"):
        if name not in signature(kind):
            said = {method: inspect.getdoc(getattr(kind, method)) or "" for method in ("fit", "transform")}
            assert not [method for method, text in said.items() if f"``{name}``" in text]


@pytest.mark.parametrize("method", METHODS)
def test_docstrings_say_what_the_table_says(method):
    found = documented(ESTIMATORS[method])
    rows = rows_of(ESTIMATORS[method])
    assert list(found) == list(rows)
    assert {name: default for name, (_, default) in found.items()} == {n: r.default for n, r in rows.items()}
    for name, (types, _) in found.items():
        # The kernels are too many for a type.
        told = ESTIMATORS[method].__doc__ if name == "kernel" else types
        assert all(f'"{word}"' in told for word in rows[name].words), name


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_rows_are_sound(row):
    assert row.check(row.default) == row.default
    assert type(row.default) in row.types
    names = {*row.words} - {*ON_OBJECTS} if row.name == "kernel" else row.words
    assert all(row.check(word) == word for word in names)
    assert row.meaning.endswith(".")
    assert row.meaning[0].isupper() or row.meaning[0].isdigit()
    with pytest.raises(ValueError, match=r"^other="):
        row.check(b"?" if row.name != "init" else "?", "other")


def test_names_on_spark():
    pytest.importorskip("pyspark")
    import apnc.spark

    names = {row.spark for row in rows_of(apnc.KernelKMeans).values() if row.spark is not None}
    columns = {"featuresCol", "predictionCol", "weightCol"}
    assert set(inspect.signature(apnc.spark.KernelKMeans).parameters) == names | columns
    assert {"k", "landmarks", "components", "initMode", "maxIter", "seed"} <= names
    assert TABLE["random_state"].default_on("spark") == 0
    assert TABLE["n_clusters"].default_on("spark") == 8


@pytest.mark.parametrize("command", ["fit", "plan"])
def test_options_are_those_of_the_table(command):
    groups = (
        options.FITTING,
        options.ALWAYS,
        *(
            (options.SAVING, options.KEEPING, ENGINE, options.SHOWING, options.STRICT)
            if command == "fit"
            else ()
        ),
    )
    declared = {"data", *(name for group in groups for name in group)}
    found = {option.name: option for option in get_command(app).commands[command].params}
    generated = {name for method in METHODS for name, row in rows_of(ESTIMATORS[method]).items() if row.panel}
    assert set(found) == declared | generated
    for name in generated:
        row = TABLE[name]
        assert found[name].opts == [row.option, *([row.flag] if row.flag else [])]
        assert row.meaning in found[name].help
        default = row.default_on("command line")
        shown = None if default is REQUIRED or row.types[0] is bool else default
        assert str(found[name].default) == str(shown)


class Shrunk(apnc.KernelKMeans):
    """Kernel k-means with a parameter of its own and another default."""

    def __init__(self, n_clusters=8, *, kernel="linear", random_state=None, verbose=0, shrink=1.0):
        super().__init__(n_clusters, kernel=kernel, random_state=random_state, verbose=verbose)
        self.shrink = shrink


SHRINK = Parameter("shrink", 1.0, (int, float), rules.positive, "Factor of the features.", "Data")


@pytest.fixture
def registry():
    """What a test registers is forgotten."""
    before, brought = dict(ESTIMATORS), dict(BROUGHT)
    yield
    for table, kept in ((ESTIMATORS, before), (BROUGHT, brought)):
        table.clear()
        table.update(kept)
    rows_of.cache_clear()


@pytest.mark.usefixtures("registry")
def test_an_estimator_brings_its_own_rows():
    with pytest.raises(
        ValueError, match=r"Shrunk has parameters that the table lacks: shrink\. Register it with"
    ):
        register("shrunk", Shrunk)
    with pytest.raises(ValueError, match="tol: the table has a row"):
        bring_rows(Shrunk, [SHRINK, TABLE["tol"]])
    with pytest.raises(ValueError, match="extra: Shrunk has no such parameter"):
        bring_rows(Shrunk, [SHRINK, Parameter("extra", 1, (int,), rules.positive_integer, "More.")])
    assert "shrunk" not in ESTIMATORS
    register("shrunk", Shrunk, [SHRINK])
    rows = rows_of(Shrunk)
    assert list(rows) == ["n_clusters", "kernel", "random_state", "verbose", "shrink"]
    assert (rows["kernel"].default, TABLE["kernel"].default, rows["shrink"].spark) == (
        "linear",
        "rbf",
        "shrink",
    )
    with pytest.raises(ValueError, match="shrink=-1 must be a positive number"):
        Shrunk(3, shrink=-1).fit(X)


def test_an_estimator_that_is_not_registered_is_checked_as_far_as_it_is_known():
    assert len(Shrunk(3, random_state=0, shrink="?").fit(X).labels_) == 200
    with pytest.raises(ValueError, match="n_clusters=0"):
        Shrunk(0).fit(X)


MODULE = """
import apnc
from apnc.estimators import register
from apnc.parameters import Parameter, rules

class Shrunk(apnc.KernelKMeans):
    def __init__(self, n_clusters=8, *, kernel="linear", random_state=None, verbose=0, shrink=1.0):
        super().__init__(n_clusters, kernel=kernel, random_state=random_state, verbose=verbose)
        self.shrink = shrink

class Plain(apnc.KernelKMeans):
    def __init__(self, n_clusters=8, *, kernel="linear"):
        super().__init__(n_clusters, kernel=kernel)

shrink = Parameter("shrink", 1.0, (int, float), rules.positive, "Factor of the features.", "Data")
register("shrunk", Shrunk, [shrink])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, registry):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    np.save("rows.npy", X)
    Path("outside.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "outside", raising=False)


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


OUTSIDE = ("--method", "outside:Shrunk")
FIT = ("fit", "rows.npy", "--quiet", "--labels", "l.csv")


@pytest.mark.usefixtures("folder")
def test_a_method_from_outside():
    run(*FIT, *OUTSIDE, "-k", 3, "--shrink", 2)
    expected = apnc.KernelKMeans(3, kernel="linear", random_state=0).fit(X).labels_
    assert np.array_equal(csv.read_csv("l.csv")["label"].to_numpy(), expected)
    told = run("plan", "rows.npy", "--method", "shrunk", "-k", 3, "--shrink", 2, "--json")
    assert json.loads(told.stdout)["n_rows"] == 200
    assert "By default linear with --method shrunk." in " ".join(
        next(o.help for o in get_command(app).commands["fit"].params if o.name == "kernel").split()
    )
    run(*FIT, "--method", "outside:Plain", "-k", 3)
    assert long_names(get_command(app).commands["fit"]).keys() >= {"shrink", "tol"}


@pytest.mark.usefixtures("folder")
def test_a_method_in_a_file():
    Path("run.toml").write_text('method = "outside:Shrunk"\nn-clusters = 3\nshrink = -1\ntol = 0.1\n')
    done = run(*FIT, "--config", "run.toml", code=2)
    assert "apnc: run.toml: shrink=-1 must be a positive number. See apnc fit --help." in done.output
    run(*FIT, "--config", "run.toml", "--shrink=3")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (*OUTSIDE, "-k", 3, "--tol", 1),
            "--tol does not apply to --method outside:Shrunk, only to kernel and spectral.",
        ),
        (("-k", 3, "--shrink", 1), "No such option: --shrink."),
        (OUTSIDE, "Missing option --n-clusters (-k)."),
        (("--method", "kernal", "-k", 3), "method='kernal' is unknown. Did you mean 'kernel'?"),
        (("--method", "outside:Other", "-k", 3), "--method outside:Other: outside has no Other."),
        (("--method", "outside:Parameter", "-k", 3), "this is not an estimator class"),
        (("--method", "nothere:Other", "-k", 3), "No module named 'nothere'"),
        (("--method", "embedding"), "KernelEmbedding finds no clusters, so there are no labels"),
    ],
)
def test_methods_that_cannot_be(words, said):
    done = run(*FIT, *words, code=2)
    assert said in done.output
    assert done.output.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_method_without_clusters():
    words = ("fit", "rows.npy", "--method", "embedding", "--n-landmarks", 50, "--model", "e.apnc")
    assert "clusters" not in run(*words).stdout
    run("embed", "e.apnc", "rows.npy", "--out", "y.npy", "--n-jobs", 1, "--memory-limit", "2GB")
    expected = apnc.KernelEmbedding(n_landmarks=50, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(np.load("y.npy"), expected)
    assert "--n-clusters does not apply to --method embedding" in run(*words, "-k", 3, code=2).output
