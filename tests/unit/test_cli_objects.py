"""Kernels on objects from the command line: JSON lines, columns of objects, records; descriptions that are wrong."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app
from apnc.cli.failures import LINE
from apnc.kernels import ON_OBJECTS
from benchmarks.objects.generated import FIELDS, mixed_records

WORDS = ["".join("abc xyz"[(i * j) % 3 + 4 * (i % 2)] for j in range(1, 4 + i % 5)) for i in range(120)]
ROWS, _ = mixed_records(200, seed=2)
RECORD = "record(age=number,plan=category,note=text,joined=date)"
SPECTRUM = "spectrum(2,3,ends=true)"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.jsonl").write_text(
        "".join(json.dumps({"id": i, "word": word}) + "\n" for i, word in enumerate(WORDS))
    )
    pq.write_table(pa.table({"id": np.arange(len(WORDS)), "word": WORDS}), "words.parquet")
    columns = {name: [row.get(name) for row in ROWS] for name in FIELDS}
    table = pa.table({"key": [f"k{i}" for i in range(len(ROWS))], **columns})
    pq.write_table(table, "customers.parquet")
    csv.write_csv(table, "customers.csv")
    Path("customers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    assert all(len(line) <= LINE for line in done.stderr.split("\n"))
    return done


@pytest.mark.parametrize("data", ["words.jsonl", "words.parquet"])
def test_text(data):
    run("fit", data, "--object-field", "word", "--kernel", SPECTRUM, "-k", 2, "--n-landmarks", 20,
        "--model", "m.apnc", "--labels", "fit.csv", "--id-columns", "id", "--quiet")  # fmt: skip
    km = apnc.KernelKMeans(2, kernel=SPECTRUM, n_landmarks=20, random_state=0).fit(WORDS)
    np.testing.assert_array_equal(csv.read_csv("fit.csv")["label"], km.labels_)
    run("predict", "m.apnc", data, "--labels", "again.csv", "--quiet")
    assert Path("again.csv").read_text() == Path("fit.csv").read_text()


@pytest.mark.parametrize("data", ["customers.parquet", "customers.csv", "customers.jsonl"])
def test_records(data):
    run(
        "fit",
        data,
        "--kernel",
        RECORD,
        "-k",
        3,
        "--n-landmarks",
        60,
        "--model",
        "m.apnc",
        "--labels",
        "fit.csv",
        "--quiet",
    )
    km = apnc.KernelKMeans(3, kernel=RECORD, n_landmarks=60, random_state=0).fit(ROWS)
    np.testing.assert_array_equal(csv.read_csv("fit.csv")["label"], km.labels_)
    run("predict", "m.apnc", data, "--labels", "again.csv", "--quiet")
    assert Path("again.csv").read_text() == Path("fit.csv").read_text()
    said = run("inspect", "m.apnc").stdout
    assert "Record(" in said or "record(" in said


@pytest.mark.parametrize(
    ("data", "kernel"),
    [(["customers.parquet", "--id-columns", "key"], RECORD), (["words.parquet", "--object-field", "word"], SPECTRUM),
     (["words.jsonl", "--object-field", "word"], f"{SPECTRUM}.rbf()")],
)  # fmt: skip
def test_every_command(data, kernel):
    named = ["--kernel", kernel]
    run("plan", *data, *named, "-k", 2)
    run("choose", *data, *named, "--k-max", 4, "--quiet")
    run("fit", *data, *named, "-k", 2, "--n-landmarks", 30, "--model", "m.apnc", "--quiet")
    assert run("describe", "m.apnc", *data, "--quiet").stdout
    run("report", "m.apnc", *data, "--out", "page.html", "--quiet")
    assert Path("page.html").stat().st_size > 1000
    run("embed", "m.apnc", *data, "--out", "y.parquet", "--quiet")


def test_configuration_files():
    Path("apnc.toml").write_text(
        f'kernel = "{SPECTRUM}"\nobject-field = "word"\nn-clusters = 2\nn-landmarks = 20\n'
    )
    run("fit", "words.jsonl", "--config", "apnc.toml", "--model", "m.apnc", "--quiet")
    assert (
        apnc.load("m.apnc").kernel == apnc.KernelKMeans(kernel=apnc.kernels.Spectrum(2, 3, ends=True)).kernel
    )
    Path("apnc.toml").write_text('kernel = "spectrum(2,"\nn-clusters = 2\n')
    said = run("fit", "words.jsonl", "--config", "apnc.toml", "--model", "m.apnc", code=2).stderr
    assert "apnc.toml: kernel='spectrum(2,' cannot be read" in said


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("spectrum(", "kernel='spectrum(' cannot be read: '(' was never closed"),
        ("spectrm(2)", "'spectrm' is unknown; did you mean 'spectrum'?"),
        ("zzz(2)", "'zzz' is unknown; known: spectrum, "),
        ("spectrum(3,2)", "expected whole numbers with 1 <= shortest <= longest"),
        ("spectrum(size=2)", "it takes shortest, longest, positional"),
        ("record", "a record needs fields"),
        ("record(age=numer)", "'numer' is unknown; did you mean 'number'?"),
        (f"record({', '.join(f'field_{i}=number' for i in range(300))}, x=3)", "the field 'x' is 3"),
        ("number", "kernel='number' is not a kernel"),
        ("__import__('os').system('true')", "is unknown"),
    ],
)
def test_wrong_descriptions_are_one_line(kernel, reason):
    done = run("fit", "customers.parquet", "--kernel", kernel, "-k", 2, "--model", "m.apnc", code=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("apnc: ")
    assert reason in line
    assert " ... " not in line, "the message had to be cut"
    assert not Path("m.apnc").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["words.parquet", "--kernel", "jaccard"], "Jaccard takes objects: name their column with object_field="),
        (["words.parquet", "--kernel", "spectrum", "--object-field", "wrd"], "no column 'wrd'. Did you mean 'word'?"),
        (["customers.parquet", "--kernel", "record(agee=number)"], "no column 'agee'. Did you mean 'age'?"),
        (["customers.jsonl", "--kernel", "record(agee=number)"], "of the sample has a value in the field 'agee'"),
        (["customers.parquet", "--kernel", "record(plan=number)"], "the field 'plan': found str"),
        (["customers.jsonl", "--kernel", "record(note=date)"], "customers.jsonl, line 1: the field 'note': found str"),
        (["customers.parquet", "--kernel", "record(age=number)", "--columns", "age"], "exclude) have no effect"),
    ],
)  # fmt: skip
def test_wrong_data_is_one_line(words, reason):
    done = run("fit", *words, "-k", 2, "--model", "m.apnc", "--quiet", code=2)
    assert reason in done.stderr.splitlines()[-1]


def test_completion_knows_the_kernels(monkeypatch):
    monkeypatch.setenv("_APNC_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "apnc fit x.jsonl --kernel ")
    monkeypatch.setenv("COMP_CWORD", "4")
    found = CliRunner().invoke(app, [], prog_name="apnc").stdout.split()
    assert set(ON_OBJECTS) <= set(found)
