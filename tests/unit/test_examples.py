"""The examples run from beginning to end on a few rows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
#: Rows of an example here, and what it must print.
EXAMPLES = {
    "proteins": (300, "labels of six new sequences: ["),
    "clickstreams": (400, "same labels from the file: True"),
    "customers": (300, "NMI with the kinds: "),
    "molecules": (200, "ShortestPath"),
    "heartbeats": (60, "NMI with the shapes: "),
    "users": (2000, "truncated SVD, then apnc: NMI"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    rows, expected = EXAMPLES[name]
    if name in ("customers", "heartbeats"):
        pytest.importorskip("pandas" if name == "customers" else "matplotlib")
    told = {**os.environ, "ROWS": str(rows), "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*EXAMPLES, "demo"}
