"""How much memory there is, on a machine and in a container."""

import pytest

from apnc.run import budget as memory

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
