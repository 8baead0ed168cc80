"""Temporary files: hidden, private, removed by the next run if their process was killed, kept while it lives."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apnc import temporary
from apnc.outputs.atomic import atomic, check_writable
from apnc.sources.spool import Spool
from apnc.temporary import NOWHERE, OLD, Owner, create, discard, discard_all, temporary_folder

ROOT = Path(__file__).parents[2]
CREATE = """
import sys
from pathlib import Path
from apnc.temporary import create
print(create(Path(sys.argv[1]), ".csv"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def creator(tmp_path):
    """A living process, and a file that it has created."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", CREATE, str(tmp_path)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def file_of(owner, folder, age=0.0):
    path = folder / f".apnc-{owner.place}-{owner.pid}-{owner.start}-{'0' * 12}.csv"
    path.touch()
    os.utime(path, (time.time() - age,) * 2)
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_next_run_removes_what_a_killed_process_left(creator, tmp_path):
    process, left = creator
    process.kill()
    process.wait()
    assert left.exists()
    with atomic(tmp_path / "l.csv") as written:
        assert names(tmp_path) == [written.name]


def test_so_does_the_check_before_a_long_computation(creator, tmp_path):
    process, _ = creator
    process.kill()
    process.wait()
    check_writable(tmp_path / "l.csv")
    assert names(tmp_path) == []


def test_a_killed_process_is_dead_before_its_parent_knows(creator, tmp_path):
    process, left = creator
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    check_writable(tmp_path / "l.csv")
    assert not left.exists()


def test_files_of_the_living_are_kept(creator, tmp_path):
    _, alive = creator
    os.utime(alive, (0, 0))
    own = create(tmp_path)
    with atomic(tmp_path / "l.csv"):
        pass
    assert names(tmp_path) == sorted([alive.name, own.name, "l.csv"])
    discard(own)


def test_a_number_that_was_used_again_proves_nothing(tmp_path):
    here = Owner.here()
    dead = file_of(here._replace(start=here.start - 1), tmp_path)
    alive = file_of(here, tmp_path)
    check_writable(tmp_path / "l.csv")
    assert (dead.exists(), alive.exists()) == (False, True)


@pytest.mark.parametrize("place", ["f" * 12, NOWHERE])
def test_files_of_another_machine_are_kept_for_a_week(tmp_path, place):
    other = Owner.here()._replace(place=place, start=1)
    young = file_of(other, tmp_path, OLD - 3600)
    old = file_of(other._replace(pid=other.pid + 1), tmp_path, OLD + 3600)
    check_writable(tmp_path / "l.csv")
    assert (young.exists(), old.exists()) == (True, False)


def test_processes_that_the_system_hides_may_be_alive(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    hidden = file_of(Owner.here()._replace(pid=999_999_999), tmp_path)
    monkeypatch.setattr(os, "kill", refuse)
    check_writable(tmp_path / "l.csv")
    assert hidden.exists()
    monkeypatch.undo()
    check_writable(tmp_path / "l.csv")
    assert not hidden.exists()


def test_other_names_are_left_alone(tmp_path):
    dead = Owner.here()._replace(start=1)
    kept = [
        ".deadbeef0123.l.csv",
        f"apnc-{dead.place}-{dead.pid}-1-{'0' * 12}",
        f".apnc-{dead.place}-{dead.pid}-1-{'0' * 11}",
        f".apnc-{dead.place}-{dead.pid}-1-{'0' * 12}x",
        f".apnc-{dead.place}-{dead.pid}-{'0' * 12}",
        f".apnc-{dead.place}-{'9' * 30}-1-{'0' * 12}",
        ".apnc",
    ]
    for name in kept:
        (tmp_path / name).touch()
    check_writable(tmp_path / "l.csv")
    assert names(tmp_path) == sorted(kept)


def test_links_and_folders_of_the_dead(tmp_path):
    """A link is removed, not what it points to; folders go with all that is in them."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    dead = Owner.here()._replace(start=1)
    link = tmp_path / f".apnc-{dead.place}-{dead.pid}-1-{'1' * 12}"
    link.symlink_to(tmp_path / "kept")
    folder = tmp_path / f".apnc-{dead.place}-{dead.pid}-1-{'2' * 12}"
    folder.mkdir()
    (folder / "file").touch()
    check_writable(tmp_path / "l.csv")
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == ["file"]


WRITE = """
import sys
from pathlib import Path
from apnc.outputs.atomic import atomic
for i in range(40):
    with atomic(Path(sys.argv[1]) / f"{sys.argv[2]}-{i}") as path:
        path.write_text(str(i))
"""


def test_many_processes_at_once(tmp_path):
    """All sweep the folder in which all write, and in which there is something to sweep."""
    dead = Owner.here()._replace(start=1)
    for i in range(200):
        (tmp_path / f".apnc-{dead.place}-{dead.pid}-1-{i:012x}").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), str(i)], env=environment)
        for i in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    assert names(tmp_path) == sorted(f"{i}-{j}" for i in range(4) for j in range(40))


def test_an_interrupt_while_a_file_is_created_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupt)
    with pytest.raises(KeyboardInterrupt):
        create(tmp_path)
    monkeypatch.undo()
    assert names(tmp_path) == []
    assert not temporary._created


def test_a_forked_process_leaves_the_files_of_its_parent(tmp_path):
    own = create(tmp_path)
    if os.fork() == 0:
        discard_all()
        os._exit(0)
    os.wait()
    assert own.exists()
    discard_all()
    assert not own.exists()


def test_copies_and_folders_are_private_and_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead = file_of(Owner.here()._replace(start=1), tmp_path)
    spool = Spool()
    assert not dead.exists()
    assert stat.S_IMODE(os.stat(spool.path).st_mode) == 0o600
    with temporary_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").touch()
    assert names(tmp_path) == [Path(spool.path).name]
    del spool
    assert names(tmp_path) == []


def test_a_file_that_replaces_another_has_its_permissions(tmp_path):
    target = tmp_path / "l.csv"
    target.touch(mode=0o600)
    with atomic(target) as written:
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
