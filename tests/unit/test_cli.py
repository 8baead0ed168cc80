"""The command line: round trips, standard input, configuration, exit codes, and what is said when things go wrong."""

import functools
import inspect
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app
from apnc.cli.reference import page
from apnc.cli.spelling import meant

ROOT = Path(__file__).parents[2]
X, Y = make_blobs(600, n_features=3, centers=3, cluster_std=0.5, random_state=0)
#: Older versions mix both streams unless told not to.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
KERNEL = """
import numpy as np

def common(A, B):
    print("a kernel may print")
    return silent(A, B)

def silent(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

def failing(A, B):
    raise KeyError("spam")

def slow(A, B):
    import time
    time.sleep(0.2)
    return common(A, B)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with the same rows in several formats."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    table = pa.table({"key": np.arange(600) + 1000, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    pq.write_table(table, "rows.parquet")
    csv.write_csv(table, "rows.csv")
    csv.write_csv(pa.table({"key": np.arange(600) + 1000, "class": Y}), "truth.csv")
    np.save("rows.npy", X)
    words = ["abc", "abd", "bcd", "xyz", "xyw", "wxz"]
    lines = [json.dumps({"id": i, "word": words[i % 6]}) for i in range(60)]
    Path("words.jsonl").write_text("\n".join(lines) + "\n")
    Path("mykernels.py").write_text(KERNEL)
    monkeypatch.delitem(sys.modules, "mykernels", raising=False)
    return tmp_path


def run(*words, code=0, stdin=None):
    done = CliRunner(**APART).invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == code, done.output
    return done


def fit(data, *more, code=0, **options):
    return run("fit", data, "--n-clusters", 3, "--quiet", *more, code=code, **options)


def process(*words, environment=None, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb", **(environment or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "apnc.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def refused(done, *parts):
    """One line, and no more; nothing on standard output."""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("apnc: ")
    assert done.stdout == ""
    for part in parts:
        assert part in done.stderr


def labels_of(path):
    table = csv.read_csv(path) if str(path).endswith(".csv") else pq.read_table(path)
    return table.column("label").to_numpy()


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.npy"])
def test_fit_predict_embed_and_inspect(folder, name):
    ids = [] if name.endswith(".npy") else ["--id-columns", "key"]
    fit(name, *ids, "--model", "m.apnc", "--labels", "l.parquet")
    run("predict", "m.apnc", name, *ids, "--labels", "again.csv")
    assert np.array_equal(labels_of("l.parquet"), labels_of("again.csv"))
    assert pq.read_table("l.parquet").column_names == (["key", "label"] if ids else ["row", "label"])
    run("embed", "m.apnc", name, *ids, "--out", "y.parquet")
    shown = json.loads(run("inspect", "m.apnc", "--json").stdout)
    assert pq.read_table("y.parquet").num_columns == shown["n_components"] + 1
    assert shown["cluster_sizes"] == np.bincount(labels_of("l.parquet")).tolist()
    assert shown["n_landmarks"] == 300
    assert shown["dropped"] + shown["n_components"] <= 300


def test_the_library_gives_the_same(folder):
    fit("rows.npy", "--labels", "l.parquet", "--gamma", "0.1", "--n-landmarks", 50, "--scale", "minmax")
    km = apnc.KernelKMeans(3, gamma=0.1, n_landmarks=50, scale="minmax", random_state=0).fit(X)
    assert np.array_equal(labels_of("l.parquet"), km.labels_)


def test_vectors_as_an_array(folder):
    fit("rows.npy", "--model", "m.apnc")
    run("embed", "m.apnc", "rows.npy", "--out", "y.npy")
    assert np.array_equal(np.load("y.npy"), apnc.load("m.apnc").embed("rows.npy"))


def test_objects_with_a_kernel_function(folder):
    options = ["--object-field", "word", "--id-columns", "id"]
    named = "mykernels:common"
    done = run(
        *("fit", "words.jsonl", "--n-clusters", 2, *options, "--kernel", named, "--normalize-kernel"),
        *("--model", "m.apnc", "--labels", "l.parquet", "--json"),
    )
    assert json.loads(done.stdout)["rows"] == 60, "what a kernel prints is not on standard output"
    for again in ("--trust", "--kernel"):
        run("predict", "m.apnc", "words.jsonl", *options, again, named, "--labels", "again.parquet")
        assert pq.read_table("again.parquet").equals(pq.read_table("l.parquet"))
    refused(
        run("predict", "m.apnc", "words.jsonl", *options, "--labels", "no.csv", code=2), "mykernels:common"
    )
    assert not Path("no.csv").exists()


@pytest.mark.parametrize("more", [[], ["--normalize-kernel"], ["--embedding", "ensemble"]])
def test_a_kernel_function_that_was_changed(folder, more):
    named, objects = "mykernels:silent", ["words.jsonl", "--object-field", "word"]
    fit(*objects, "--kernel", named, *more, "--model", "m.apnc")
    Path("mykernels.py").write_text(KERNEL.replace("len(set(a) & set(b))", "len(set(a) | set(b))"))
    sys.modules.pop("mykernels")
    for again in ("--trust", "--kernel"):
        done = run("predict", "m.apnc", *objects, again, named, "--labels", "l.csv", code=2)
        refused(done, "differs from the one the model was fitted with", "fit again")
    assert not Path("l.csv").exists()
    assert named in run("inspect", "m.apnc").stdout, "which calls nothing"


def test_inspecting_imports_nothing(folder):
    named = "mykernels:common"
    fit("words.jsonl", "--object-field", "word", "--kernel", named, "--model", "m.apnc")
    Path("mykernels.py").write_text("raise SystemExit('imported')")
    sys.modules.pop("mykernels")
    told = json.loads(run("inspect", "m.apnc", "--json").stdout)
    assert (told["kernel"], told["n_features"], told["clusters"]) == (named, None, 3)
    assert named in run("inspect", "m.apnc").stdout
    refused(run("inspect", "m.apnc", "--trust", named, code=2), "--trust")
    local = apnc.KernelKMeans(2, kernel=functools.partial(min_length), random_state=0)
    local.fit(["a", "bb", "ccc"]).save("local.apnc")
    assert "without an import name" in run("inspect", "local.apnc").stdout


def test_objects_and_vectors_are_told_apart(folder):
    objects = ["--object-field", "word", "--kernel", "mykernels:silent"]
    fit("words.jsonl", *objects, "--model", "words.apnc")
    trust = ["--trust", "mykernels:silent", "--labels", "l.csv"]
    refused(run("predict", "words.apnc", "rows.npy", *trust, code=2), "3 features", "expecting objects")
    fit("rows.npy", "--model", "rows.apnc")
    done = run("predict", "rows.apnc", "words.jsonl", "--labels", "l.csv", code=2)
    refused(done, "words.jsonl: kernel='rbf' needs vectors of numbers, not objects")


def min_length(A, B):
    return np.array([[min(len(a), len(b)) for b in B] for a in A], dtype=float)


def test_the_features_are_told(folder):
    done = fit("rows.csv", "--exclude", "key", "--labels", "l.csv")
    assert done.stdout.splitlines()[1].split(maxsplit=1) == ["features", "3: a, b, c"]
    np.save("wide.npy", np.random.default_rng(0).normal(size=(50, 40)))
    assert fit("wide.npy", "--labels", "l.csv").stdout.splitlines()[1].split() == ["features", "40"]


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        ("nothere:f", "No module named 'nothere'"),
        ("mykernels:nothere", "has no nothere"),
        ("mykernels:np.pi", "not a function"),
        (":f", "package.module:name"),
        ("gaussian", "Did you mean 'rbf'?"),
        ("precomputed", "Python"),
    ],
)
def test_kernels_that_are_none(folder, kernel, part):
    refused(fit("rows.csv", "--kernel", kernel, "--labels", "l.csv", code=2), part)


def test_standard_input(folder):
    text = Path("rows.csv").read_bytes()
    fit("-", "--id-columns", "key", "--labels", "l.parquet", "--model", "m.apnc", stdin=text)
    run("predict", "m.apnc", "-", "--labels", "again.parquet", stdin=text)
    assert np.array_equal(labels_of("l.parquet"), labels_of("again.parquet"))
    words = Path("words.jsonl").read_bytes()
    more = ["--format", "jsonl", "--object-field", "word", "--kernel", "mykernels:common"]
    fit("-", *more, "--labels", "w.parquet", stdin=words)
    assert len(labels_of("w.parquet")) == 60
    refused(fit("-", "--labels", "e.csv", code=2, stdin=b""), "standard input")
    refused(fit("-", "--labels", "e.csv", code=2, stdin=b"a,b\n1,2\n3,\n5,6\n"), "standard input: 1 missing")


def test_standard_input_of_any_format_leaves_nothing_behind(folder, monkeypatch):
    (folder / "spools").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "spools"))
    for name in ("rows.npy", "rows.parquet"):
        format = name.partition(".")[2]
        more = [] if format == "npy" else ["--exclude", "key"]
        fit("-", "--format", format, *more, "--labels", "l.csv", stdin=Path(name).read_bytes())
        assert np.array_equal(labels_of("l.csv"), apnc.KernelKMeans(3, random_state=0).fit(X).labels_)
        broken = Path(name).read_bytes()[:-50]
        refused(fit("-", "--format", format, "--labels", "e.csv", code=2, stdin=broken), "standard input")
        assert not list((folder / "spools").iterdir())


def test_standard_input_from_where_it_stands(folder):
    """Not from its beginning, where it is a file of which something was read before."""
    Path("more.csv").write_text("a title\n" + Path("rows.csv").read_text())
    with open("more.csv", "rb") as file:
        os.lseek(file.fileno(), len("a title\n"), os.SEEK_SET)
        done = process("fit", "-", "-k", 3, "--exclude", "key", "--quiet", "--labels", "l.csv", stdin=file)
        assert done.wait() == 0, done.stderr.read()
    assert len(labels_of("l.csv")) == 600


def test_patterns_and_partitioned_folders(folder):
    table = pq.read_table("rows.parquet")
    for year in (2023, 2024):
        part = Path("parts") / f"year={year}"
        part.mkdir(parents=True)
        pq.write_table(table.slice(300 * (year - 2023), 300), part / "part-0.parquet")
    Path("parts/_SUCCESS").touch()
    fit("rows.parquet", "--exclude", "key", "--labels", "whole.csv", "--model", "m.apnc")
    for data in ("parts", "parts/year=*", "part?/*/*.parquet"):
        fit(data, "--id-columns", "key,year", "--labels", "l.csv")
        assert np.array_equal(labels_of("l.csv"), labels_of("whole.csv"))
        years = csv.read_csv("l.csv")["year"].to_pylist()
        assert years == [2023] * 300 + [2024] * 300
        run("predict", "m.apnc", data, "--id-columns", "year", "--labels", "again.csv")
        assert np.array_equal(labels_of("again.csv"), labels_of("whole.csv"))
    fit("parts", "--columns", "year,a,b,c", "--labels", "l.csv")
    with_year = np.column_stack([np.repeat([2023, 2024], 300), X])
    assert np.array_equal(labels_of("l.csv"), apnc.KernelKMeans(3, random_state=0).fit(with_year).labels_)
    shown = json.loads(fit("parts", "--exclude", "key,year", "--labels", "l.csv", "--json").stdout)
    assert shown["features"] == ["a", "b", "c"]
    refused(fit("none-*.csv", "--labels", "l.csv", code=2), "none-*.csv: no file matches this pattern")
    refused(fit("parts/*/*", "--labels", "parts/year=2024/l.csv", code=2), "among the data")


def test_a_damaged_header_of_npy(folder):
    content = Path("rows.npy").read_bytes()
    Path("rows.npy").write_bytes(content.replace(b"(600, 3)", b"(600, 3 "))
    refused(fit("rows.npy", "--labels", "l.csv", code=2), "rows.npy: not a .npy file, or a damaged one")


def test_columns_by_name(folder):
    fit("rows.csv", "--columns", "a,b", "--columns", "c", "--labels", "one.csv")
    fit("rows.csv", "--exclude", "key", "--labels", "two.csv")
    assert np.array_equal(labels_of("one.csv"), labels_of("two.csv"))
    refused(fit("rows.csv", "--columns", "a,d", "--labels", "no.csv", code=2), "'d'")


def test_weights_and_missing_values(folder):
    rows = ["a,b,w", *(f"{x},{y},{1 + i % 2}" for i, (x, y, _) in enumerate(X[:200].tolist())), ",1,1"]
    Path("some.csv").write_text("\n".join(rows) + "\n")
    refused(fit("some.csv", "--weight-column", "w", "--labels", "l.csv", code=2), "drop_null", "1 missing")
    done = fit("some.csv", "--weight-column", "w", "--labels", "l.csv", "--drop-null", "--json")
    result = json.loads(done.stdout)
    assert result["rows"] == 200
    assert sum(result["cluster_sizes"]) == 300
    assert done.stderr.splitlines() == [
        "apnc: warning: some.csv: 1 row with missing values was skipped (drop_null=True)."
    ]


def test_json_is_one_line_with_everything(folder):
    done = fit("rows.csv", "--exclude", "key", "--labels", "l.csv", "--model", "m.apnc", "--json")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert list(result) == [
        *(
            "rows",
            "n_features",
            "features",
            "clusters",
            "cluster_sizes",
            "n_iter",
            "converged",
            "inertia",
            "residual",
            "eigenvalues",
            "connected_components",
            "gamma",
        ),
        *("n_landmarks", "n_components", "seconds", "model", "labels"),
    ]
    assert (result["rows"], result["clusters"], result["converged"]) == (600, 3, True)
    assert sum(result["cluster_sizes"]) == 600


def test_summaries_are_plain_text_in_logs(folder):
    done = fit("rows.csv", "--exclude", "key", "--labels", "l.csv", "--model", "m.apnc")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["rows", "600"]
    assert [line.split()[0] for line in lines[-2:]] == ["labels", "model"]
    for text in (done.stdout, run("inspect", "m.apnc").stdout, run("evaluate", "l.csv", "truth.csv").stdout):
        assert text.isascii()
        assert "\x1b" not in text


def test_progress_goes_to_standard_error(folder):
    done = run("fit", "rows.csv", "--exclude", "key", "--n-clusters", 3, "--labels", "l.csv", "--json")
    assert "iteration 1: shift" in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_not_converged(folder):
    more = [
        "--exclude",
        "key",
        "--labels",
        "l.csv",
        "--max-iter",
        1,
        "--tol",
        0,
        "--init",
        "random",
        "--n-init",
        1,
    ]
    done = fit("rows.csv", *more, "--strict", "--json", code=3)
    assert json.loads(done.stdout)["converged"] is False
    assert "apnc: warning: Not converged after 1 iteration. Raise max_iter, or tol.\n" in done.stderr
    assert len(labels_of("l.csv")) == 600
    fit("rows.csv", *more)


def test_a_configuration_file(folder):
    Path("run.toml").write_text(
        'n-clusters = 5\nmax_iter = 50\nexclude = ["key"]\ngamma = 0.1\nlabels = "l.csv"\njson = true\nn-init = 2\n'
    )
    result = json.loads(run("fit", "rows.csv", "--config", "run.toml", "--quiet").stdout)
    assert (result["clusters"], result["gamma"], result["labels"]) == (5, 0.1, "l.csv")
    result = json.loads(run("fit", "rows.csv", "--n-clusters", 2, "--quiet", "--config", "run.toml").stdout)
    assert (result["clusters"], result["gamma"]) == (2, 0.1)


def test_one_configuration_file_for_all_commands(folder):
    Path("run.toml").write_text(
        'n-clusters = 3\nkernel = "rbf"\nid-columns = "key"\nn_landmarks = 50\nquiet = true\nstrict = true\n'
        'model = "m.apnc"\nlabels = "l.csv"\nout = "y.csv"\nn_jobs = 1\nscale = "minmax"\nseparator = ","\n'
    )
    config = ["--config", "run.toml"]
    run("plan", "rows.csv", *config)
    run("fit", "rows.csv", *config)
    first = Path("l.csv").read_text()
    Path("l.csv").unlink()
    run("predict", "m.apnc", "rows.csv", *config)
    assert Path("l.csv").read_text() == first
    run("embed", "m.apnc", "rows.csv", *config)
    assert Path("y.csv").exists()
    run("evaluate", "l.csv", "truth.csv", *config)
    run("inspect", "m.apnc", *config)


@pytest.mark.parametrize("command", ["fit", "predict"])
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("n-clutsers = 3", "run.toml: no such option: 'n-clutsers'. Did you mean n-clusters?"),
        ("debug = true", "run.toml: no such option: 'debug'"),
        ("= 3", "run.toml is not a valid TOML"),
        ("n-jobs = [1]", "run.toml: n-jobs = [1] has the wrong type for --n-jobs"),
        ("drop-null = 1", "run.toml: drop-null = 1 has the wrong type"),
        ("id_columns = 3", "run.toml: id_columns = 3 has the wrong type for --id-columns"),
        ("n_jobs = 1.5", "run.toml: n_jobs='1.5' must be an integer other than 0"),
        ('n_jobs = "many"', "run.toml: n_jobs='many' must be an integer other than 0"),
    ],
)
def test_a_configuration_file_that_is_wrong(folder, command, text, part):
    Path("run.toml").write_text(text)
    words = ["rows.csv", "--n-clusters", 3] if command == "fit" else ["m.apnc", "rows.csv"]
    refused(run(command, *words, "--labels", "l.csv", "--config", "run.toml", code=2), part)
    assert not Path("l.csv").exists()


def test_what_is_wrong_on_the_command_line_is_not_blamed_on_the_file(folder):
    Path("run.toml").write_text("n-jobs = 1")
    done = fit("rows.csv", "--labels", "l.csv", "--config", "run.toml", "--n-jobs", "many", code=2)
    refused(done, "apnc: n_jobs='many' must be an integer other than 0")


def test_the_model_remembers_how_its_data_was_read(folder):
    text = Path("rows.csv").read_text().replace(",", ";")
    Path("some.csv").write_text(text)
    fit("some.csv", "--separator", ";", "--id-columns", "key", "--model", "m.apnc", "--labels", "l.csv")
    run("predict", "m.apnc", "some.csv", "--labels", "again.csv")
    assert Path("again.csv").read_text() == Path("l.csv").read_text()
    run("predict", "m.apnc", "rows.parquet", "--labels", "p.parquet")
    assert pq.read_table("p.parquet").column_names == ["key", "label"]
    run("embed", "m.apnc", "-", "--out", "y.csv", stdin=text.encode())
    assert Path("y.csv").read_text().startswith('"key",')
    run("predict", "m.apnc", "rows.csv", "--separator", ",", "--id-columns", "a", "--labels", "a.parquet")
    assert pq.read_table("a.parquet").column_names == ["a", "label"]
    for none in ([], ["--config", "none.toml"]):
        Path("none.toml").write_text('id-columns = ""')
        words = none or ["--id-columns", ""]
        run("predict", "m.apnc", "some.csv", *words, "--labels", "r.parquet")
        assert pq.read_table("r.parquet").column_names == ["row", "label"]


def test_an_id_column_that_new_data_has_not(folder):
    fit("rows.csv", "--id-columns", "key", "--model", "m.apnc")
    pq.write_table(pq.read_table("rows.parquet").drop(["key"]), "other.parquet")
    for data in ("other.parquet", "rows.npy"):
        done = run("predict", "m.apnc", data, "--labels", "l.csv", code=2)
        refused(done, "fitted with --id-columns key", 'or none with --id-columns ""')
    refused(
        run("predict", "m.apnc", "none.csv", "--labels", "l.csv", code=2), "none.csv: there is no such file"
    )


def test_the_object_field_is_remembered(folder):
    named = ["--kernel", "mykernels:common"]
    fit(
        "words.jsonl",
        "--object-field",
        "word",
        "--id-columns",
        "id",
        *named,
        "--model",
        "m.apnc",
        "--labels",
        "l.csv",
    )
    run("predict", "m.apnc", "words.jsonl", *named, "--labels", "again.csv")
    assert Path("again.csv").read_text() == Path("l.csv").read_text()


def test_predict_and_embed_show_progress(folder):
    fit("rows.csv", "--id-columns", "key", "--model", "m.apnc")
    done = run("predict", "m.apnc", "rows.csv", "--labels", "l.csv")
    assert re.fullmatch(r"labels: 600 rows in .*\n", done.stderr)
    done = run("embed", "m.apnc", "rows.csv", "--out", "y.csv")
    assert re.fullmatch(r"embedding: 600 rows in .*\n", done.stderr)
    assert run("predict", "m.apnc", "rows.csv", "--labels", "l.csv", "--quiet").stderr == ""


def test_evaluate_reads_files_and_other_separators(folder):
    fit("rows.csv", "--id-columns", "key", "--labels", "l.csv")
    refused(run("evaluate", "l.csv", "-", code=2, stdin=b""), "not standard input")
    Path("other.csv").write_text(Path("truth.csv").read_text().replace(",", ";"))
    told = json.loads(run("evaluate", "l.csv", "other.csv", "--json").stdout)
    assert (told["matched_by"], told["ari"]) == (["key"], 1)


def test_evaluate_reads_archives(folder):
    Path("l.csv").write_text("row,label\n0,0\n1,0\n2,1\n3,1\n4,2\n")
    np.savez("truth.npz", X=np.zeros((5, 2)), y=[7, 7, 7, 8, 8])
    assert "accuracy        0.6000" in run("evaluate", "l.csv", "truth.npz").stdout
    np.savez("two.npz", a=[1], b=[2])
    refused(run("evaluate", "l.csv", "two.npz", code=2), "two.npz: holds the arrays a, b")


def test_a_lone_carriage_return_in_a_header_is_bad_input(folder):
    Path("l.csv").write_bytes(b"key\rx,label\n1,2\n")
    refused(run("evaluate", "l.csv", "truth.csv", code=2), "l.csv: the first line has a carriage return")
    command = ["fit", "l.csv", "--n-clusters", "1", "--labels", "out.csv"]
    refused(run(*command, code=2), "l.csv: the first line has a carriage return")


def test_too_many_clusters_to_match_are_said(folder, monkeypatch):
    monkeypatch.setattr("apnc.evaluation.measures.MOST_MATCHED", 1)
    Path("l.csv").write_text("label\n0\n1\n")
    assert (
        "accuracy        too many clusters and classes to match" in run("evaluate", "l.csv", "l.csv").stdout
    )
    assert json.loads(run("evaluate", "l.csv", "l.csv", "--json").stdout)["accuracy"] is None


def test_the_configuration_is_kept_in_the_model(folder):
    Path("run.toml").write_text("n-clusters = 3\nn-landmarks = 50\n")
    run("fit", "rows.parquet", "--config", "run.toml", "--exclude", "key", "--model", "m.apnc", "--quiet")
    told = json.loads(run("inspect", "m.apnc", "--json").stdout)["configuration"]
    assert told["data"] == "rows.parquet"
    assert told == {**told, "n-clusters": "3", "n-landmarks": "50", "exclude": ["key"]}
    assert "gamma" not in told


def test_evaluate(folder):
    fit("rows.csv", "--id-columns", "key", "--labels", "l.parquet")
    result = json.loads(run("evaluate", "l.parquet", "truth.csv", "--json").stdout)
    assert result["matched_by"] == ["key"]
    assert (result["ari"], result["purity"], result["nmi_geometric"]) == (1.0, 1.0, pytest.approx(1))
    assert (result["accuracy"], result["nmi_max"]) == (1.0, pytest.approx(1))
    assert np.array(result["contingency"]["counts"]).sum() == 600
    assert "matched by key" in run("evaluate", "l.parquet", "truth.csv").stdout
    Path("part.csv").write_text("".join(Path("truth.csv").read_text().splitlines(keepends=True)[:101]))
    done = run("evaluate", "l.parquet", "part.csv", "--json")
    assert json.loads(done.stdout)["rows"] == 100
    assert "apnc: warning: 500 rows of l.parquet" in done.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["fit", "rows.csv", "--n-clusters", "3"], "Nothing to write: pass --model, --labels or both."),
        (["fit", "rows.csv", "--labels", "l.csv"], "--n-clusters"),
        (["fit", "rows.csv", "--n-clusters", "x", "--labels", "l.csv"], "n_clusters='x'"),
        (
            ["fit", "rows.csv", "--n-clusters", "0", "--labels", "l.csv"],
            "n_clusters=0 must be a positive integer",
        ),
        (["fit", "rows.csv", "--n-clusters", "3", "--labels", "l.txt"], ".parquet"),
        (["fit", "rows.csv", "--n-clusters", "3", "--labels", "no/l.csv"], "no folder"),
        (["fit", "rows.csv", "--n-clusters", "3", "--labels", "rows.csv"], "different files"),
        (["fit", "none.csv", "--n-clusters", "3", "--labels", "l.csv"], "none.csv"),
        (
            ["fit", "rows.csv", "--n-clusters", "3", "--n-landmarks", "x", "--labels", "l.csv"],
            "n_landmarks='x' must be",
        ),
        (["fit", "rows.csv", "--n-clusters", "3", "--gamma", "x", "--labels", "l.csv"], "gamma='x' must be"),
        (["fit", "rows.csv", "--n-clusters", "3", "--scale", "x", "--labels", "l.csv"], "scale='x'"),
        (
            ["fit", "rows.npy", "--n-clusters", "3", "--memory-limit", "1MB", "--labels", "l.csv"],
            "memory_limit=1MB",
        ),
        (
            ["fit", "rows.csv", "--n-clusters", "3", "--config", "no.toml", "--labels", "l.csv"],
            "no.toml: No such",
        ),
        (["fit", "rows.csv", "--n-clusters", "3", "--nothing", "--labels", "l.csv"], "--nothing"),
        (["predict", "none.apnc", "rows.csv", "--labels", "l.csv"], "none.apnc: No such file"),
        (["predict", "rows.csv", "rows.csv", "--labels", "l.csv"], "rows.csv"),
        (["embed", "none.apnc", "rows.csv", "--out", "y.txt"], ".npy"),
        (["inspect", "rows.parquet"], "rows.parquet"),
        (["evaluate", "truth.csv", "none.csv"], "none.csv"),
        (["nothing"], "nothing"),
        (["--nothing"], "--nothing"),
    ],
)
def test_bad_usage_and_bad_input_are_one_line(folder, words, part):
    before = sorted(os.listdir())
    refused(run(*words, code=2), part)
    assert sorted(os.listdir()) == before


def test_a_model_without_clusters(folder):
    apnc.KernelEmbedding(random_state=0).fit(X).save("e.apnc")
    refused(run("predict", "e.apnc", "rows.npy", "--labels", "l.csv", code=2), "KernelEmbedding")
    run("embed", "e.apnc", "rows.npy", "--out", "y.npy")
    assert np.array_equal(np.load("y.npy"), apnc.load("e.apnc").transform("rows.npy"))
    assert json.loads(run("inspect", "e.apnc", "--json").stdout)["clusters"] is None
    assert "KernelEmbedding in e.apnc" in run("inspect", "e.apnc").stdout


def test_targets_are_checked_before_anything_is_read(folder):
    refused(fit("none.csv", "--labels", "l.csv", "--model", "no/m.apnc", code=2), "no/m.apnc")


def test_the_second_file_fails(folder, monkeypatch):
    def save(self, path, configuration):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(apnc.KernelKMeans, "save", save)
    done = fit("rows.csv", "--exclude", "key", "--labels", "l.csv", "--model", "m.apnc", code=2)
    refused(done, "l.csv was written, but not the model: m.apnc: No space left on device.")
    assert Path("l.csv").exists()


def test_faults_say_how_to_see_more(folder, monkeypatch):
    def failing(self, *_, **__):
        raise KeyError("spam")

    monkeypatch.setattr(apnc.KernelKMeans, "fit", failing)
    refused(fit("rows.csv", "--labels", "l.csv", code=1), "KeyError: 'spam'", "--debug")
    done = fit("rows.csv", "--labels", "l.csv", "--debug", code=1)
    assert "Traceback" in done.stderr
    assert "in failing" in done.stderr
    assert not Path("l.csv").exists()


def test_a_kernel_that_fails(folder):
    words = ["words.jsonl", "--object-field", "word", "--kernel", "mykernels:failing", "--labels", "l.csv"]
    refused(fit(*words, code=2), "KeyError('spam')")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (
            "fit rows.csv --gamma -1",
            "gamma=-1 must be a positive number, None or one of auto, mean, narrow, local",
        ),
        (
            "fit rows.csv --exclude key --kernel linear --gamma 2",
            "gamma=2 has no effect with kernel='linear'; leave it out",
        ),
        ("fit rows.csv --kernel gaussian", "kernel='gaussian' is unknown. Did you mean 'rbf'? Known: linear"),
        (
            "fit rows.csv --exclude key --kernel mykernels:common --gamma 2",
            "has no effect with a kernel function",
        ),
        ("fit rows.csv --format excel", "format='excel' is unknown. Known: npy, npz, svmlight, parquet"),
        ("fit rows.csv --tol -1", "tol=-1 must be a number >= 0"),
        (
            "fit rows.csv --n-jobs 0",
            "n_jobs=0 must be an integer other than 0; by default all cores are used",
        ),
        ("fit rows.csv --memory-limit 4", "memory_limit=4 is 4 bytes. Add a unit: 4GB"),
        ("fit rows.csv --memory-limit 4XB", "memory_limit='4XB' must be a size such as '2GB'"),
        ("fit rows.csv --exclude key --memory-limit 20MB", "memory_limit=20MB is too small"),
        ("fit rows.csv --scale min", "scale='min' is unknown. Did you mean 'minmax'?"),
        ("fit rows.csv --embedding none", "embedding='none' is unknown"),
        ("fit rows.csv --init none", "init='none' is unknown"),
        ("fit rows.csv --exclude key --init random-partition --n-init 3", "n_init=3 has no effect"),
        (
            "fit rows.csv --columns a --exclude b",
            "so exclude= has",
        ),
        ("fit rows.csv --columns a --columns a", "columns=['a', 'a'] must name at least one column"),
        ("fit rows.npy --id-columns key", "id_columns= cannot be used with npy"),
        ("fit rows.npy --object-field key", "object_field= cannot be used with npy"),
        ("fit rows.npy --separator ;", "separator= cannot be used with npy"),
        ("fit rows.csv --separator ;;", "separator=';;' must be a single character"),
        (
            "fit semicolons.csv",
            "separated by ';', not by commas. Pass separator=';'",
        ),
        (
            "fit words.jsonl",
            "words.jsonl: kernel='rbf' needs vectors of numbers, not objects. Choose a kernel",
        ),
        (
            "fit words.jsonl --kernel mykernels:common --scale unit",
            "scale='unit' needs vectors; leave it out",
        ),
        ("fit rows.csv --exclude key --kernel chi2", "kernel='chi2' needs features >= 0"),
        (
            "fit rows.csv --exclude key --kernel chi2 --scale standard",
            "scale='standard' gives negative features",
        ),
        ("fit mykernels.py", "format="),
        ("fit few.csv", "n_clusters=3 needs at least 3 rows, got n_samples=2"),
        (
            "predict words.apnc words.jsonl",
            "trust='mykernels:common'",
        ),
        (
            "predict words.apnc words.jsonl --trust mykernels:slow",
            "trust='mykernels:slow', but the kernel is the",
        ),
        ("predict words.apnc words.jsonl --kernel mykernels:slow", "mykernels:slow"),
        ("predict rows.apnc rows.npy --trust mykernels:slow", "so trust= has no effect; leave it out"),
        ("predict rows.apnc rows.npy --kernel linear", "--kernel linear: the kernel of rows.apnc is rbf"),
        (
            "predict rows.npy rows.apnc",
            "rows.npy is not a model file, but rows.apnc is: the model comes first",
        ),
        ("predict rows.npy rows.npy", "rows.npy is not a model file."),
        (
            "predict rows.apnc rows.npy --columns a",
            "No such option: --columns. It is an option of apnc fit, choose and plan. See",
        ),
    ],
)
def test_messages_are_one_line(folder, models, words, part):
    name, *rest = words.split()
    more = ["--n-clusters", "3", "--quiet"] if name == "fit" else []
    done = run(name, *rest, *more, "--labels", "l.csv", code=2)
    refused(done, part)
    assert not Path("l.csv").exists()


@pytest.fixture
def models(folder):
    """Two models, a file with semicolons, and one of two rows."""
    objects = ["--object-field", "word", "--kernel", "mykernels:common"]
    fit("words.jsonl", *objects, "--model", "words.apnc")
    fit("rows.npy", "--model", "rows.apnc")
    Path("semicolons.csv").write_text("a;b\n1;2\n")
    Path("few.csv").write_text("a,b\n1,2\n3,4\n")


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        *[
            ("clusters", "n-clusters"),
            ("k", "n-clusters"),
            ("landmarks", "n-landmarks"),
            ("seed", "random-state"),
        ],
        *[
            ("threads", "n-jobs"),
            ("labels-to", "labels"),
            ("n_clusters", "n-clusters"),
            ("ids", "id-columns"),
        ],
        *[("weights", "weight-column"), ("output", "out"), ("gama", "gamma"), ("zzz", None)],
    ],
)
def test_misspelt_options(typed, option):
    known = [
        "n-clusters",
        "id-columns",
        "weight-column",
        "out",
        "random-state",
        "gamma",
        "n-jobs",
        "n-landmarks",
        "labels",
    ]
    assert meant(typed, known) == option


def test_an_option_that_was_nearly_right(folder):
    refused(
        fit("rows.csv", "--ids", "key", code=2),
        "No such option: --ids. Did you mean --id-columns? See apnc fit",
    )


def test_help_and_version(folder):
    assert run("--version").stdout == f"apnc {apnc.__version__}\n"
    assert "evaluate" in run(code=2).stdout
    shown = run("fit", "--help").stdout
    places = [shown.index(f" {panel} ─") for panel in ("Data", "Kernel", "Clustering", "Output", "Run")]
    assert places == sorted(places)


def test_the_reference_is_up_to_date():
    assert (ROOT / "docs" / "reference" / "command-line.md").read_text() == page(), (
        "run python -m apnc.cli.reference docs/reference/command-line.md"
    )


def test_every_option_has_a_help_text():
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert all(len(row.rstrip(" |").split("|")[-1]) > 10 for row in rows)


def test_completion(folder):
    asked = {"_APNC_COMPLETE": "complete_bash", "COMP_WORDS": "apnc fit --kernel poly", "COMP_CWORD": "3"}
    done = CliRunner(**APART).invoke(app, [], prog_name="apnc", env=asked)
    assert done.stdout.split() == ["polynomial"]


def test_an_interrupt_leaves_nothing(folder):
    words = ["words.jsonl", "--object-field", "word", "--kernel", "mykernels:slow", "--n-clusters", 2]
    before = set(os.listdir())
    started = process("fit", *words, "--labels", "l.csv", "--model", "m.apnc")
    started.stderr.readline()
    started.send_signal(signal.SIGINT)
    out, error = started.communicate(timeout=60)
    assert started.returncode == 130
    assert out == ""
    assert error.splitlines()[-1] == "apnc: interrupted"
    assert "Traceback" not in error
    assert set(os.listdir()) - {"__pycache__"} == before


def test_a_closed_pipe_is_no_failure(folder):
    fit("rows.csv", "--id-columns", "key", "--labels", "l.csv")
    started = process("evaluate", "l.csv", "truth.csv")
    started.stdout.close()
    assert started.wait(60) == 0
    assert started.stderr.read() == ""
    started.stderr.close()


def test_a_full_disk(folder):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    before = sorted(os.listdir())
    words = ["rows.csv", "--exclude", "key", "--n-clusters", 3, "--labels", "l.csv", "--quiet"]
    started = process("fit", *words, preexec_fn=small_files)
    out, error = started.communicate(timeout=60)
    assert (started.returncode, out, error.count("\n")) == (2, "", 1)
    assert error.startswith("apnc: ")
    assert sorted(os.listdir()) == before
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "apnc.cli", "evaluate", "truth.csv", "truth.csv"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == "apnc: standard output: No space left on device. Free some space, or choose another disk.\n"
    )


def test_a_missing_extra_is_said(folder):
    code = "import sys; sys.modules['typer'] = None; from apnc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == 'apnc: the command line needs typer: pip install "apnc[cli]"\n'


def test_plan_tells_what_a_fit_will_take(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2000, 5))
    np.save(tmp_path / "rows.npy", rows)
    command = ["plan", str(tmp_path / "rows.npy"), "--n-clusters", "3", "--n-landmarks", "100"]
    done = CliRunner(**APART).invoke(app, [*command, "--json"])
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert (told["n_rows"], told["n_landmarks"], told["data_passes"]) == (2000, 100, 3)
    assert told["seconds"] == pytest.approx(sum(told["seconds_by_stage"].values()))
    lines = CliRunner(**APART).invoke(app, command)
    assert lines.exit_code == 0
    assert "peak memory" in lines.stdout
    refused = CliRunner(**APART).invoke(app, [*command, "--memory-limit", "40MB"])
    assert refused.exit_code == 2
    assert "memory_limit=40MB is too small" in refused.stderr


def test_plan_counts_what_every_run_has_to_load(folder):
    begin = time.perf_counter()
    started = process("plan", "rows.csv", "--exclude", "key", "--n-clusters", 3, "--json")
    told = json.loads(started.communicate(timeout=120)[0])
    took = time.perf_counter() - begin
    assert 0.2 * took < told["seconds_by_stage"]["start-up"] < took
    assert told["seconds"] == pytest.approx(sum(told["seconds_by_stage"].values()))
    begin = time.perf_counter()
    started = process("fit", "rows.csv", "--exclude", "key", "--n-clusters", 3, "--labels", "l.csv", "--json")
    told = json.loads(started.communicate(timeout=120)[0])
    assert 0.5 * (time.perf_counter() - begin) < told["seconds"]


@pytest.mark.parametrize("command", [["fit", "--labels", "l.csv"], ["plan"]], ids=lambda words: words[0])
def test_compiling_is_announced_once(folder, tmp_path, command):
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for expected in (1, 0):
        started = process(*command, "rows.csv", "--exclude", "key", "--n-clusters", 3, environment=cold)
        _, error = started.communicate(timeout=300)
        assert started.returncode == 0
        assert error.count("compiling the loops (once per machine) ...") == expected


def test_doctor_says_what_it_finds():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["apnc"] == apnc.__version__
    assert found["needed"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert found["blas"]
    lines = run("doctor").stdout.splitlines()
    assert lines[0].split() == ["apnc", apnc.__version__]
    assert len(lines) == len(found)
