"""How much memory there is, on a machine and in a container."""

import sys
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from apnc import KernelKMeans, SpectralClustering, checks
from apnc.run import budget as memory
from apnc.run import costs

GB = 10**9


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def second(folder, limit, used, cache):
    stat = f"anon {used - cache}\nactive_file {cache // 2}\ninactive_file {cache - cache // 2}"
    group(folder, memory__max=limit, memory__current=used, memory__stat=stat)


def first(folder, limit, used, cache):
    stat = f"cache {cache}\ntotal_active_file {cache}\ntotal_inactive_file 0"
    group(folder, memory__limit_in_bytes=limit, memory__usage_in_bytes=used, memory__stat=stat)


def available(tmp_path, lines):
    (tmp_path / "own").write_text(lines)
    return memory._of_container(tmp_path / "groups", tmp_path / "own")


def test_the_page_cache_can_still_be_had(tmp_path):
    second(tmp_path / "groups", 4 * GB, 3 * GB, 2 * GB)
    assert available(tmp_path, "0::/\n") == 3 * GB


def test_version_1(tmp_path):
    first(tmp_path / "groups" / "memory", 4 * GB, 3 * GB, 2 * GB)
    assert available(tmp_path, "4:memory:/\n1:cpu,cpuacct:/x\n") == 3 * GB


@pytest.mark.parametrize("write", [first, second])
def test_the_narrowest_of_the_groups_around_counts(tmp_path, write):
    root = tmp_path / "groups" / ("memory" if write is first else "")
    own = "4:memory:/a/b\n" if write is first else "0::/a/b\n"
    write(root / "a" / "b", 8 * GB, 1 * GB, 0)
    write(root / "a", 2 * GB, 1 * GB, 0)
    assert available(tmp_path, own) == 1 * GB


def test_no_limit(tmp_path):
    second(tmp_path / "groups", "max", 3 * GB, 0)
    assert available(tmp_path, "0::/\n") == float("inf")
    assert memory._of_container(tmp_path / "none", tmp_path / "none") == float("inf")
    assert memory.available() > 0


# Systems without /proc


class Psutil(types.ModuleType):
    """What apnc asks psutil for, on a machine of 16 GB of which 4 GB are free."""

    rss = 500_000_000

    def Process(self):
        return types.SimpleNamespace(memory_info=lambda: types.SimpleNamespace(rss=self.rss))

    def virtual_memory(self):
        return types.SimpleNamespace(total=16 * GB, available=4 * GB)


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A system that has neither /proc nor cgroups, nor the module ``resource``, as Windows."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "none")
    monkeypatch.setattr(memory._of_container, "__defaults__", (tmp_path / "none", tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "psutil", Psutil("psutil"))


def test_psutil_where_proc_is_not_there(elsewhere):
    assert memory.resident() == Psutil.rss
    assert memory.available() == 4 * GB
    assert memory.Budget().free == 3 * GB


def test_a_limit_means_something_without_proc(elsewhere):
    X = np.random.default_rng(0).normal(size=(5000, 4))
    with pytest.raises(ValueError, match=r"memory_limit=520MB is too small.*\(500MB already in use"):
        KernelKMeans(3, n_landmarks=500, memory_limit="520MB", random_state=0).fit(X)
    roomy = KernelKMeans(3, memory_limit="2GB", random_state=0)
    np.testing.assert_array_equal(roomy.fit(X).labels_, KernelKMeans(3, random_state=0).fit(X).labels_)
    assert roomy.plan(X).peak_bytes > Psutil.rss


def test_neither_proc_nor_psutil(elsewhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory.resident() == 0
    assert memory.available() == float("inf")


def test_linux_does_not_ask_psutil(monkeypatch):
    if not Path("/proc/self/statm").exists():
        pytest.skip("there is no /proc here")
    monkeypatch.setattr(memory, "_psutil", lambda: pytest.fail("psutil was asked"))
    assert memory.resident() > 10**6
    assert 0 < memory.available() < float("inf")


def test_psutil_is_installed_where_it_is_needed():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    asked = next(Requirement(name) for name in project["dependencies"] if name.startswith("psutil"))
    for system, needed in (("linux", False), ("darwin", True), ("win32", True)):
        assert asked.marker.evaluate({"sys_platform": system}) is needed


@pytest.mark.parametrize(("kernel", "more"), [("linear", False), ("rbf", True), ("cosine", True)])
def test_vectors_of_a_graphs_sample_are_charged_unless_the_rows_are_such_vectors(kernel, more):
    """A kernel that is not linear has kernel values and vectors of the whole sample in memory at once."""
    X = np.random.default_rng(0).normal(size=(4000, 3))
    sp = SpectralClustering(3, kernel=kernel, n_landmarks=300, memory_limit="2GB")
    job = sp._job(X, None, reset=True)
    parts = costs.coefficients(job.problem(checks.settings_of(sp, job.source).at_most(4000, 4000)))
    assert ("vectors of the sample" in parts) == more
