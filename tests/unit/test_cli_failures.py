"""Disks, pipes, permissions and files that turn against the commands: one line, exit code 2, nothing half written."""

import ctypes
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from apnc.cli.app import app
from apnc.persistence.container import Member, write_container

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "apnc.cli"]
KERNEL = """
import os
import numpy as np

def dot(A, B):
    return np.asarray(A) @ np.asarray(B).T

def vanish(A, B):
    if os.path.exists("gone.npy"):
        os.remove("gone.npy")
    return dot(A, B)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows, and a model of them."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    np.save("rows.npy", X + 6 * (np.arange(20_000) % 2)[:, None])
    Path("failkernels.py").write_text(KERNEL)
    words = ["fit", "rows.npy", "--n-clusters", "2", "--n-landmarks", "80", "--model", "m.apnc", "--quiet"]
    assert CliRunner().invoke(app, words).exit_code == 0
    return tmp_path


def run(*words, wrapper=(), **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb"}
    command = [*wrapper, *COMMAND, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **options)


def refused(done, *parts):
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("apnc: ")
    for part in parts:
        assert part in done.stderr


#: A disk of 64 KB, seen by one command only; afterwards its content is listed.
SMALL_DISK = 'mount -t tmpfs -o size=64k tmpfs disk && "$@"; code=$?; ls -A disk > listed; exit $code'
WRITING = {
    "labels": ["fit", "rows.npy", "--n-clusters", "2", "--labels", "disk/l.parquet"],
    "labels as text": ["fit", "rows.npy", "--n-clusters", "2", "--labels", "disk/l.csv"],
    "model": ["fit", "rows.npy", "--n-clusters", "2", "--n-landmarks", "300", "--model", "disk/m.apnc"],
    "predict": ["predict", "m.apnc", "rows.npy", "--labels", "disk/l.arrow"],
    "embed": ["embed", "m.apnc", "rows.npy", "--out", "disk/y.npy"],
}


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_full_disk(folder, words):
    Path("disk").mkdir()
    wrapper = ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh"]
    try:
        trial = subprocess.run([*wrapper, "true"], capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if trial.returncode:
        pytest.skip("a small disk cannot be mounted here")
    refused(
        run(*words, "--quiet", wrapper=wrapper),
        f"apnc: {words[-1]}: No space left on device. Free some space",
    )
    assert Path("listed").read_text() == ""


def unprivileged():
    """Root loses the right to read and write everything."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.fixture
def closed(folder):
    """A folder that nothing can be written to, and a file that cannot be read."""
    (folder / "closed").mkdir(mode=0o500)
    np.save("secret.npy", np.ones((5, 2)))
    os.chmod("secret.npy", 0)
    if not subprocess.run(["cat", "secret.npy"], capture_output=True, preexec_fn=unprivileged).returncode:
        pytest.skip("the superuser may read everything here")
    yield
    os.chmod("closed", 0o700)


def test_what_may_not_be_read_or_written(closed):
    fit = ["fit", "rows.npy", "--n-clusters", "2", "--quiet"]
    for words in (
        [*fit, "--labels", "closed/l.csv"],
        [*fit, "--model", "closed/m.apnc"],
        ["predict", "m.apnc", "rows.npy", "--labels", "closed/l.csv"],
        ["embed", "m.apnc", "rows.npy", "--out", "closed/y.npy"],
    ):
        refused(run(*words, preexec_fn=unprivileged), "closed", "Permission denied")
        assert os.listdir("closed") == []
    done = run("fit", "secret.npy", "--n-clusters", "2", "--labels", "l.csv", preexec_fn=unprivileged)
    refused(done, "secret.npy: Permission denied")
    refused(run("inspect", "secret.npy", preexec_fn=unprivileged), "secret.npy: Permission denied")
    assert not Path("l.csv").exists()


def test_data_that_vanishes_meanwhile(folder):
    Path("gone.npy").write_bytes(Path("rows.npy").read_bytes())
    before = {*os.listdir(), "__pycache__"} - {"gone.npy"}
    words = ["fit", "gone.npy", "--n-clusters", "2", "--kernel", "failkernels:vanish", "--n-landmarks", "20"]
    refused(run(*words, "--labels", "l.csv", "--model", "n.apnc", "--quiet"), "gone.npy: No such file")
    assert {*os.listdir(), "__pycache__"} == before


@pytest.mark.parametrize("words", [["fit", "--help"], ["--help"], ["inspect", "m.apnc"]])
def test_a_reader_that_leaves_is_no_failure(folder, words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb"}
    started = subprocess.Popen(
        [*COMMAND, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    started.stdout.close()
    assert started.stderr.read() == ""
    assert started.wait(60) == 0
    started.stderr.close()


class Trap:
    """What a pickle could do."""

    def __reduce__(self):
        return os.system, ("touch trapped",)


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path, edit):
    """The model with its schema and members changed, and all checksums made to fit."""
    members = members_of("m.apnc")
    schema = json.loads(members.pop("schema.json"))
    del schema["members"]
    edit(schema, members)
    write_container(path, schema, {name: Member((data,)) for name, data in members.items()})


def with_pickle(schema, members):
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    header += b" " * (118 - len(header) - 1) + b"\n"
    members["model_clusters_centroids.npy"] = (
        b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header + pickle.dumps([Trap()])
    )


def with_command(schema, members):
    function = {"type": "CallableKernel", "function": "os:system", "params": {}, "witness": None}
    schema["model"]["embedding"]["kernel"] = function
    del schema["parameters"]["kernel"]


def a_bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members_of("m.apnc").items():
            archive.writestr(name, data if name == "schema.json" else b"\0" * 200_000_000)


def outside(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**members_of("m.apnc"), "../trapped.npy": b"x"}.items():
            archive.writestr(name, data)


HOSTILE = {
    "a pickle": (lambda path: rewritten(path, with_pickle), "centroids.npy: values of type object"),
    "a command": (lambda path: rewritten(path, with_command), "the function os:system"),
    "a bomb": (a_bomb, "is compressed"),
    "a way out": (outside, "without folders"),
    "a plain pickle": (lambda path: Path(path).write_bytes(pickle.dumps(Trap())), "is not a model file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_does_nothing(folder, name):
    make, reason = HOSTILE[name]
    make("evil.apnc")
    before = sorted(os.listdir())
    done = CliRunner().invoke(app, ["predict", "evil.apnc", "rows.npy", "--labels", "l.csv", "--quiet"])
    assert done.exit_code == 2
    assert reason in done.output
    if name == "a command":
        shown = json.loads(CliRunner().invoke(app, ["inspect", "evil.apnc", "--json"]).stdout)
        assert shown["kernel"] == "os:system"
    else:
        assert CliRunner().invoke(app, ["inspect", "evil.apnc"]).exit_code == 2
    assert sorted(os.listdir()) == before
    assert not (folder.parent / "trapped.npy").exists()
