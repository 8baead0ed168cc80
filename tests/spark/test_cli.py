"""``--engine spark``: the same labels as on this machine, from commands of their own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from sklearn.datasets import load_digits, make_blobs

import apnc
import apnc.cli
import apnc.sources
from apnc import KernelKMeans

pytestmark = pytest.mark.spark_only("local")
MASTER = ("--engine", "spark", "--master", "local[2]")
APNC = (sys.executable, "-m", "apnc.cli")


def run(folder, *arguments, command=APNC, code=0):
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr[-2000:]
    return done


def labels_in(folder):
    table = pq.read_table(folder).sort_by("key")
    assert table.column_names == ["key", "label"]
    return table["label"].to_numpy()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X = load_digits().data
    columns = {f"x{j}": X[:, j] for j in range(64)} | {"key": np.arange(len(X))}
    pq.write_table(pa.table(columns), folder / "digits.parquet")
    words = [f"{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijklmnop"]
    lines = (json.dumps({"key": i, "word": word}) for i, word in enumerate(words))
    (folder / "words.jsonl").write_text("\n".join(lines))
    (folder / "letters.py").write_text(
        "import numpy as np\n"
        "def shared(A, B):\n"
        "    return np.array([[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A])\n"
    )
    return folder


def test_fit_and_predict(folder):
    fit = ("fit", "digits.parquet", "--n-clusters", "10", "--id-columns", "key", "--json")
    done = run(folder, *fit, *MASTER, "--model", "digits.apnc", "--labels", "labels.parquet")
    assert json.loads(done.stdout)["rows"] == 1797
    expected = KernelKMeans(10, random_state=0).fit(load_digits().data).labels_
    np.testing.assert_array_equal(labels_in(folder / "labels.parquet"), expected)
    run(folder, "predict", "digits.apnc", "digits.parquet", "--labels", "again.parquet", *MASTER)
    np.testing.assert_array_equal(labels_in(folder / "again.parquet"), expected)
    run(folder, "predict", "digits.apnc", "digits.parquet", "--labels", "here.parquet", "--quiet")
    np.testing.assert_array_equal(labels_in(folder / "here.parquet"), expected)
    done = run(folder, *fit, *MASTER, "--labels", "labels.parquet", code=2)
    assert "labels.parquet already exists" in done.stderr


def test_report(folder):
    source = apnc.open(folder / "digits.parquet", id_columns=["key"])
    km = KernelKMeans(3, random_state=0).fit(source)
    km.save(folder / "shown.apnc")
    asked = ("--id-columns", "key", "--out", "there.html", "--quiet", *MASTER)
    run(folder, "report", "shown.apnc", "digits.parquet", *asked)
    here = km.report(source, folder / "here.html", certificate=km.certify(source)).read_text()
    there = (folder / "there.html").read_text()
    assert "<title>Clusters of digits.parquet</title>" in there
    for part in (r"<h2>Sizes.*?<h2>Map", r"<section.*</section>", r"<p class=\"note\">.*?</table>"):
        assert re.search(part, there, re.DOTALL).group() == re.search(part, here, re.DOTALL).group()


def test_describe_and_more_columns(folder):
    fit = ("fit", "digits.parquet", "--n-clusters", "3", "--id-columns", "key", "--quiet")
    run(folder, *fit, "--model", "three.apnc")
    asked = ("--with", "distance,membership,outlier", "--labels")
    run(folder, "predict", "three.apnc", "digits.parquet", *asked, "there.parquet", *MASTER)
    run(folder, "predict", "three.apnc", "digits.parquet", *asked, "there-here.parquet", "--quiet")
    there, here = (
        pq.read_table(folder / f"{name}.parquet").sort_by("key") for name in ("there", "there-here")
    )
    assert there.column_names == ["key", "label", "distance", "membership", "outlier"]
    np.testing.assert_array_equal(there["label"], here["label"])
    np.testing.assert_allclose(there["outlier"], here["outlier"], atol=1e-6)
    np.testing.assert_allclose(np.stack(there["membership"].to_numpy())[:, 1], here["membership1"], atol=1e-6)
    done = run(folder, "describe", "three.apnc", "digits.parquet", "--json", *MASTER)
    sizes = [cluster["size"] for cluster in json.loads(done.stdout)["clusters"]]
    assert sizes == np.bincount(here["label"]).tolist()
    ids = [cluster["prototypes"]["ids"]["key"] for cluster in json.loads(done.stdout)["clusters"]]
    assert [set(here["label"].to_numpy()[some]) for some in ids] == [{0}, {1}, {2}]


def test_choose(folder):
    X, _ = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    columns = {"key": np.arange(600), "x": X[:, 0], "y": X[:, 1]}
    pq.write_table(pa.table(columns), folder / "groups.parquet")
    choose = ("choose", "groups.parquet", "--id-columns", "key", "--k-max", "5", "--json", "--quiet")
    there = json.loads(run(folder, *choose, *MASTER, "--labels", "chosen.parquet").stdout)
    here = json.loads(run(folder, *choose, "--labels", "chosen-here.parquet").stdout)
    assert there["clusters"] == here["clusters"] == 3
    assert there["reason"] == here["reason"]
    for name, values in here["table"].items():
        np.testing.assert_allclose(there["table"][name], values, rtol=1e-5, atol=1e-6, err_msg=name)
    found = [labels_in(folder / name) for name in ("chosen.parquet", "chosen-here.parquet")]
    np.testing.assert_array_equal(*found)


def test_spark_submit_with_a_kernel_function(folder):
    """The function's module is in the current folder alone; it travels with it."""
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    script = str(Path(apnc.cli.__path__[0]) / "__main__.py")
    command = ("env", f"PYSPARK_PYTHON={sys.executable}", str(submit), "--master", "local[2]", script)
    options = ("--object-field", "word", "--id-columns", "key", "--kernel", "letters:shared")
    sizes = ("--n-clusters", "4", "--n-landmarks", "60")
    arguments = ("fit", "words.jsonl", "--engine", "spark", *options, *sizes, "--labels", "words.parquet")
    run(folder, *arguments, command=command)
    run(folder, "fit", "words.jsonl", *options, *sizes, "--labels", "here.parquet", "--quiet")
    np.testing.assert_array_equal(labels_in(folder / "words.parquet"), labels_in(folder / "here.parquet"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--master", "local[2]"), "--master local[2] needs --engine spark"),
        (("--engine", "spork"), "Did you mean"),
        ((*MASTER, "--memory-limit", "1GB"), "spark.executor.memory"),
        ((*MASTER, "--drop-null"), "cannot be used with a Spark DataFrame"),
    ],
)
def test_bad_usage_is_one_line(folder, arguments, message):
    done = run(
        folder, "fit", "digits.parquet", "--n-clusters", "3", "--labels", "no.parquet", *arguments, code=2
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("apnc: ")]
    assert len(said) == 1
    assert message in said[0]
    assert "Traceback" not in done.stderr
    assert not os.path.exists(folder / "no.parquet")


def test_names_with_backticks_are_quoted(spark, tmp_path):
    """Any name of a column is a name to Spark: those that are kept are written, as they are called."""
    from apnc.engines.spark import commands

    frame = spark.range(4).selectExpr("id AS `a``b`", "CAST(id AS DOUBLE) AS x", "0 AS label")
    source = apnc.sources.open(frame.drop("label"), columns=["x"], id_columns=["a`b"])
    commands.write(frame, source, str(tmp_path / "out.parquet"))
    assert spark.read.parquet(str(tmp_path / "out.parquet")).columns == ["a`b", "label"]


def test_lists_are_not_written_as_csv(spark, tmp_path):
    from apnc.engines.spark import commands

    frame = spark.range(4).selectExpr("id", "CAST(id AS DOUBLE) AS x", "array(1.0, 2.0) AS membership")
    source = apnc.sources.open(frame.drop("membership"), columns=["x"])
    with pytest.raises(ValueError, match="'membership' holds lists, which CSV cannot"):
        commands.write(frame, source, str(tmp_path / "out.csv"))
