"""The examples run from beginning to end on a few rows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
#: Rows of an example here, and what it must print.
EXAMPLES = {
    "beside_others": (300, "apnc SpectralClustering: NMI round 1.00"),
    "certifying": (300, "As good as exact from here"),
    "clickstreams": (400, "same labels from the file: True"),
    "customers": (300, "NMI with the kinds: "),
    "digits": (500, "500 images are in a cluster of their own digit"),
    "documents": (150, "a new text about forests belongs to: "),
    "heartbeats": (60, "NMI with the shapes: "),
    "large_file": (5000, "columns of labels.parquet: key, label"),
    "merging": (600, "the largest jump leaves 3 clusters"),
    "molecules": (200, "ShortestPath"),
    "on_spark": (300, "equal labels on Spark and here: 300 of 300"),
    "outliers": (600, "odd: 7 of 7 rows score above 0.999"),
    "proteins": (300, "labels of six new sequences: ["),
    "report": (178, "report.html: "),
    "shapes": (400, "rings, apnc SpectralClustering: NMI 1.00"),
    "unknown_k": (600, "a cloud: no clear structure"),
    "users": (2000, "truncated SVD, then apnc: NMI"),
}
#: What an example needs besides matplotlib.
NEEDS = {
    "customers": ("pandas",),
    "large_file": ("pyarrow",),
    "report": ("pandas", "bokeh", "jinja2"),
}
#: What the example on Spark prints without Java.
NO_SPARK = "Spark is not available here"


def printed(name, rows, folder, **environment):
    """What an example prints; it leaves nothing in the folder that it runs in."""
    told = {**os.environ, "ROWS": str(rows), "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore", **environment}
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(folder.iterdir()) == []
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    rows, expected = EXAMPLES[name]
    for module in ("matplotlib", *NEEDS.get(name, ())):
        pytest.importorskip(module)
    if name == "on_spark" and not (shutil.which("java") or "JAVA_HOME" in os.environ):
        expected = NO_SPARK
    assert expected in printed(name, rows, tmp_path)


def test_example_on_spark_without_java(tmp_path):
    pytest.importorskip("matplotlib")
    found = printed("on_spark", 300, tmp_path, JAVA_HOME=str(tmp_path / "missing"))
    assert NO_SPARK in found
    assert "equal labels" not in found


def test_every_example_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*EXAMPLES, "demo"}
