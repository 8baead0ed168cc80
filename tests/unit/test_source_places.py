"""Where data is found: paths, patterns, folders, addresses, lists and open files, the same for every format."""

import errno
import gzip
import io
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import apnc
from apnc.rows import concatenate
from apnc.sources import SourceError
from apnc.sources.files import find_files

X = np.random.default_rng(0).normal(size=(40, 3)).round(3)


def jsonl(rows, path):
    path.write_text("".join(f"{row}\n" for row in rows.tolist()))


def csv(rows, path):
    pyarrow.csv.write_csv(table(rows), path)


def table(rows):
    return pa.table({f"x{j}": rows[:, j] for j in range(rows.shape[1])})


#: Formats of which several files may be read, and how one is written.
SEVERAL = {
    "parquet": lambda rows, path: pq.write_table(table(rows), path),
    "arrow": lambda rows, path: pyarrow.feather.write_feather(table(rows), path),
    "csv": csv,
    "svm": lambda rows, path: dump_svmlight_file(rows, np.zeros(len(rows)), str(path)),
    "jsonl": jsonl,
}
WRITERS = SEVERAL | {
    "npy": lambda rows, path: np.save(path, rows),
    "npz": lambda rows, path: sparse.save_npz(path, sparse.csr_array(rows)),
}
NAMES = {"svm": "svmlight"}


@pytest.fixture(autouse=True)
def spools(tmp_path, monkeypatch):
    """The folder of temporary files; nothing may be left in it."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def rows_of(source):
    found = concatenate([source.decode(piece).rows for piece in source.pieces(7)])
    return found.toarray() if sparse.issparse(found) else np.array(found)


def written(folder, ending):
    """Files whose order by name is that of the rows, and others that are no data."""
    for name, rows in {"a-1": X[:5], "a-2": X[5:10], "b-1": X[10:11], "c/d-1": X[11:]}.items():
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(exist_ok=True)
        WRITERS[ending](rows, path)
    for name in ("_SUCCESS", f".a-1.{ending}.crc", f"c/_b.{ending}", f"_temporary/x.{ending}"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("no data")
    return folder


@pytest.mark.parametrize("ending", SEVERAL)
def test_folders_lists_and_addresses(folder, ending):
    written(folder, ending)
    below = pa.fs.SubTreeFileSystem(str(folder), pa.fs.LocalFileSystem())
    for data, options in (
        (folder, {}),
        (f"{folder}/", {}),
        (folder.as_uri(), {}),
        (
            [folder / f"a-1.{ending}", str(folder / f"a-2.{ending}"), folder / f"b-1.{ending}", folder / "c"],
            {},
        ),
        ("", {"filesystem": below}),
        ([f"a-1.{ending}", f"a-*.{ending}", f"b-1.{ending}", "c"][1:], {"filesystem": below}),
    ):
        np.testing.assert_array_equal(rows_of(apnc.open(data, **options)), X)


@pytest.mark.parametrize("ending", SEVERAL)
def test_patterns(folder, ending, monkeypatch):
    written(folder, ending)
    monkeypatch.chdir(folder.parent)
    for pattern, rows in {
        f"a-*.{ending}": X[:10],
        f"a-[1].{ending}": X[:5],
        f"?-1.{ending}": X[[*range(5), 10]],
        f"*.{ending}": X[:11],
        "c*": X[11:],
        "?/": X[11:],
        f"*//*.{ending}": X[11:],
        f"*/*.{ending}": X[11:],
        f"**/*.{ending}": X,
        f"**/*-1.{ending}": X[[*range(5), *range(10, 40)]],
    }.items():
        for path in (folder / pattern, f"data/{pattern}", f"dat?/{pattern}"):
            np.testing.assert_array_equal(rows_of(apnc.open(path)), rows, err_msg=str(path))
    np.testing.assert_array_equal(rows_of(apnc.open(f"{folder.as_uri()}/a-*.{ending}")), X[:10])


def test_what_is_hidden_can_be_asked_for(folder):
    csv(X, folder / "_x.csv")
    np.testing.assert_array_equal(rows_of(apnc.open(folder / "_*.csv")), X)
    np.testing.assert_array_equal(rows_of(apnc.open(folder / "_x.csv")), X)


def test_folders_without_a_match_are_not_looked_at(folder, monkeypatch):
    written(folder, "csv")
    scan, seen = os.scandir, []
    monkeypatch.setattr(os, "scandir", lambda path: seen.append(os.path.basename(path)) or scan(path))
    for pattern, looked_at in {"a-*.csv": ["data"], "c/*.csv": ["c"], "*/d*.csv": ["data", "c"]}.items():
        seen.clear()
        apnc.open(folder / pattern)
        assert seen == looked_at


def test_a_file_may_have_a_name_like_a_pattern(folder):
    csv(X[:3], folder / "a[1].csv")
    csv(X[3:], folder / "a1.csv")
    np.testing.assert_array_equal(rows_of(apnc.open(folder / "a[1].csv")), X[:3])
    km = apnc.KernelKMeans(2, random_state=0)
    with pytest.raises(SourceError, match="would be written over or among the data"):
        km.fit(folder / "a[1].csv", to=folder / "a[1].csv")


def test_nothing_is_written_among_the_files_of_a_pattern(folder):
    csv(X, folder / "a-1.csv")
    for pattern in ("a-*.csv", "*", "../dat?"):
        for target in ("a-1.csv", "a-2.csv"):
            with pytest.raises(SourceError, match="would be written over or among the data"):
                apnc.KernelKMeans(2, random_state=0).fit(folder / pattern, to=folder / target)
    apnc.KernelKMeans(2, random_state=0).fit(folder / "a-*.csv", to=folder / "labels.csv")


@pytest.mark.parametrize("ending", WRITERS)
def test_what_is_not_there_is_said_alike(folder, ending):
    missing = rf"absent\.{ending}: there is no such file or folder\."
    for path in (folder / f"absent.{ending}", folder / "no" / f"absent.{ending}"):
        for data in (path, str(path), path.as_uri(), [path]):
            with pytest.raises(FileNotFoundError, match=missing):
                apnc.open(data)
    with pytest.raises(FileNotFoundError, match="absent: there is no such file or folder"):
        apnc.open(folder / "absent")
    with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
        apnc.open(folder / "absent" / f"*.{ending}")
    with pytest.raises(SourceError, match=r"\*\.\w+: no file matches this pattern\."):
        apnc.open(folder / f"*.{ending}")
    with pytest.raises(SourceError, match="data: there are no data files in this folder"):
        apnc.open(folder)
    with pytest.raises(SourceError, match="An empty list of files has no rows"):
        apnc.open([])


def test_a_folder_that_cannot_be_read_is_named(folder, monkeypatch):
    written(folder, "csv")
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("/c"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match=r"data: .*Permission denied.*/c"):
        apnc.open(folder)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays_are_single_local_files(folder, ending):
    written(folder, ending)
    found = rows_of(apnc.open((folder / f"a-1.{ending}").as_uri()))
    np.testing.assert_array_equal(found, X[:5])
    with pytest.raises(SourceError, match=rf"{ending} is read from a single local file"):
        apnc.open(folder)


def test_find_files_knows_the_folders_in_between(folder):
    for name in ("year=2024/month=1/x.csv", "year=2023/x.csv"):
        (folder / name).parent.mkdir(parents=True)
        csv(X, folder / name)
    found = [(file.path, file.folders) for file in find_files(folder)]
    assert found == [
        (f"{folder}/year=2023/x.csv", ("year=2023",)),
        (f"{folder}/year=2024/month=1/x.csv", ("year=2024", "month=1")),
    ]


# Open files


class Pipe(io.RawIOBase):
    """What can be read once, from the beginning to the end, a few bytes at a time."""

    def __init__(self, content):
        self._left = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._left.readinto(memoryview(buffer)[:7])


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("kind", ["file", "raw file", "bytes", "pipe", "spooled", "pyarrow"])
def test_open_files(folder, spools, ending, kind):
    path = folder / f"x.{ending}"
    WRITERS[ending](X, path)
    content = path.read_bytes()
    handle = {
        "file": lambda: open(path, "rb"),  # noqa: SIM115
        "raw file": lambda: open(path, "rb", buffering=0),  # noqa: SIM115
        "bytes": lambda: io.BytesIO(content),
        "pipe": lambda: Pipe(content),
        "spooled": lambda: tempfile.SpooledTemporaryFile(),  # noqa: SIM115
        "pyarrow": lambda: pa.BufferReader(content),
    }[kind]()
    if kind == "spooled":
        handle.write(content)
    if kind == "bytes":
        handle.seek(5)
    source = apnc.open(handle, format=NAMES.get(ending, ending))
    copied = "file" not in kind
    assert len(list(spools.iterdir())) == copied
    for _ in range(2):
        np.testing.assert_array_equal(rows_of(source), X)
    assert not handle.closed
    assert str(spools) not in source.name
    handle.close()
    np.testing.assert_array_equal(rows_of(source), X)
    del source
    assert not list(spools.iterdir())


@pytest.mark.parametrize("ending", WRITERS)
def test_named_pipes(folder, ending):
    """As a shell makes them of <(command)."""
    WRITERS[ending](X, folder / f"x.{ending}")
    os.mkfifo(folder / f"pipe.{ending}")
    content = (folder / f"x.{ending}").read_bytes()
    thread = threading.Thread(target=(folder / f"pipe.{ending}").write_bytes, args=(content,))
    thread.start()
    source = apnc.open(folder / f"pipe.{ending}")
    thread.join()
    for _ in range(2):
        np.testing.assert_array_equal(rows_of(source), X)


def test_a_file_that_decompresses_as_it_is_read(folder):
    csv(X, folder / "x.csv")
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    with gzip.open(folder / "x.csv.gz") as file:
        np.testing.assert_array_equal(rows_of(apnc.open(file)), X)
    with open(folder / "x.csv.gz", "rb") as file:
        np.testing.assert_array_equal(rows_of(apnc.open(file)), X)


def test_several_open_files(folder):
    csv(X, folder / "x.csv")
    with open(folder / "x.csv", "rb") as one, open(folder / "x.csv", "rb") as two:
        np.testing.assert_array_equal(rows_of(apnc.open([one, two])), np.concatenate([X, X]))


def test_ids_are_read_beside_the_rows_of_an_open_file(folder):
    keyed = table(X).append_column("key", pa.array([f"k{i}" for i in range(40)]))
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(keyed, buffer)
    source = apnc.open(buffer, format="csv", id_columns=["key"])
    assert source.name == "BytesIO"
    apnc.KernelKMeans(2, random_state=0).fit(source, to=folder / "labels.csv")
    assert pl.read_csv(folder / "labels.csv")["key"].to_list() == keyed["key"].to_pylist()


def test_open_as_text(folder):
    csv(X, folder / "x.csv")
    with (
        open(folder / "x.csv") as file,
        pytest.raises(SourceError, match=r"x\.csv is open as text.*mode 'rb'"),
    ):
        apnc.open(file)


def test_an_open_file_whose_name_tells_nothing():
    with pytest.raises(SourceError, match="BytesIO: cannot infer the format from the file name"):
        apnc.open(io.BytesIO(b"1,2\n"))


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_a_copy_that_fails_is_removed_at_once(spools, failure):
    class Broken(Pipe):
        def readinto(self, buffer):
            if self._left.tell() > 50:
                assert list(spools.iterdir())
                raise failure
            return super().readinto(buffer)

    with pytest.raises(type(failure)) as raised:
        apnc.open(Broken(b"1,2\n" * 100), format="csv")
    assert raised
    assert not list(spools.iterdir())


def test_a_full_disk_is_named(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(OSError, match=r"No space left on device: 'the copy of BytesIO in .*\(TMPDIR\)'"):
        apnc.open(io.BytesIO(b"1,2\n"), format="csv")


def test_a_fit_that_fails_leaves_no_copy(spools):
    """Not even the source that the traceback of an error still holds, once that is gone."""
    try:
        apnc.KernelKMeans(9, random_state=0).fit(apnc.open(io.BytesIO(b"1,2\n3,4\n"), format="csv"))
    except ValueError as error:
        assert "at least 9 rows" in str(error)  # noqa: PT017
    assert not list(spools.iterdir())


def test_the_end_of_the_process_removes_copies(spools):
    code = "import io, apnc; held = apnc.open(io.BytesIO(b'1,2\\n'), format='csv'); held.me = held; raise SystemExit(3)"
    environment = os.environ | {"TMPDIR": str(spools), "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 3
    assert not list(spools.iterdir())


# A damaged header of .npy


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3), ",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3",
        "'''",
        "{[]: 1}",
        "  \n   a\n b",
        "{'descr': [1, 2], 'fortran_order': False, 'shape': (40, 3), }",
        "{'descr': ('<f8', 'x', 3), 'fortran_order': False, 'shape': (40, 3), }",
        "(" * 3000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (40, -3), }",
    ],
)
def test_damaged_headers(tmp_path, header):
    content = header.encode().ljust(118) + b"\n"
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content + X.tobytes())
    with pytest.raises(SourceError, match=r"x\.npy: .*(damaged|shape)"):
        apnc.open(path)


def test_any_damage_to_a_header_is_a_source_error_or_unseen(tmp_path):
    rng, found = np.random.default_rng(0), []
    np.save(tmp_path / "x.npy", X)
    whole = (tmp_path / "x.npy").read_bytes()
    for _ in range(1500):
        content = bytearray(whole)
        for place in rng.integers(0, 80, size=rng.integers(1, 4)):
            content[place] = rng.integers(0, 256)
        (tmp_path / "y.npy").write_bytes(content)
        try:
            rows_of(apnc.open(tmp_path / "y.npy"))
        except SourceError as error:
            found.append(str(error))
    assert len(found) > 500
    assert all("y.npy" in text for text in found)


def test_no_folder_for_temporary_files(monkeypatch):
    """Python's own message names folders, but not what to do."""
    from apnc import temporary

    def nowhere():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/a', '/b']")

    monkeypatch.setattr(temporary, "gettempdir", nowhere)
    with pytest.raises(OSError, match=r"No folder for temporary files can be written to\. .*set TMPDIR"):
        temporary.place_for_files()
