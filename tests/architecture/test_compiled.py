"""Compiled loops are kept on disk wherever that is possible, and work where it is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import apnc

FIT = """
import sys, numpy as np, apnc
X = np.random.default_rng(0).normal(size=(300, 2))
print(apnc.__file__, apnc.KernelKMeans(2, n_landmarks=20, random_state=0, verbose=int(sys.argv[1])).fit(X).n_iter_)
"""


@pytest.fixture
def installed(tmp_path):
    """A copy of the package whose folder takes no compiled code: a file is where its cache would be."""
    package = tmp_path / "site" / "apnc"
    shutil.copytree(Path(apnc.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "loops" / "__pycache__").touch()
    return package


def fit(package, home, verbose=0):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": str(home), "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(verbose)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert str(package) in done.stdout
    return done.stderr


def test_a_read_only_install_caches_in_the_users_folder(installed, tmp_path):
    assert fit(installed, tmp_path / "home") == "", "nothing is said to who did not ask"
    assert list((tmp_path / "home").rglob("*.nbi"))


def test_nowhere_to_write_is_no_error(installed, tmp_path):
    said = fit(installed, "/dev/null", verbose=1)
    assert said.count("compiling the loops (in every process: no cache folder is writable") == 1
