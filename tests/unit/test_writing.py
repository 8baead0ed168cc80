"""Labels and embeddings to files, against what pyarrow, pandas and numpy read back."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from apnc.outputs import (
    ARRAY_KINDS,
    TABLE_KINDS,
    Ids,
    atomic,
    check_names,
    check_target,
    write,
    writing,
)

READERS = {
    ".parquet": pd.read_parquet,
    ".arrow": lambda path: pa.ipc.open_file(path).read_all().to_pandas(),
    ".feather": pd.read_feather,
    ".csv": pd.read_csv,
    ".csv.gz": pd.read_csv,
}


def write_labels(path, chunks, ids=None):
    return write(path, chunks, "label", np.int32, ids)


def write_embedding(path, chunks, ids, n_components):
    return write(path, chunks, [f"y{j}" for j in range(n_components)], np.float32, ids)


def cut(n: int, lengths: tuple[int, ...]) -> list[slice]:
    """Slices that cover n rows, of the given lengths in turn."""
    slices, start, i = [], 0, 0
    while start < n:
        stop = min(n, start + lengths[i % len(lengths)])
        slices.append(slice(start, stop))
        start, i = stop, i + 1
    return slices


def chunked(
    values: np.ndarray, numbers: np.ndarray, *lengths: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for part in cut(len(values), lengths):
        yield values[part], numbers[part]


def id_batches(columns: dict[str, list], *lengths: int) -> Iterator[dict[str, pa.Array]]:
    n = len(next(iter(columns.values())))
    for part in cut(n, lengths):
        yield {name: pa.array(values[part]) for name, values in columns.items()}


def example(n: int = 100) -> tuple[np.ndarray, dict[str, list]]:
    labels = np.random.default_rng(0).integers(0, 7, n).astype(np.int32)
    return labels, {"name": [f"row, {i}" for i in range(n)], "key": list(range(1000, 1000 + n))}


def ids_for(names: list[str], batches: Iterable[dict[str, Any]], n_rows: int) -> Ids:
    return Ids(names, batches, lambda: n_rows)


def names_in(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(writing, "BATCH_ROWS", 16)


# Labels


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize("lengths", [(1,), (7, 1, 30), (1000,)])
def test_labels_without_ids(tmp_path, kind, lengths):
    labels, _ = example()
    path = tmp_path / f"labels{kind}"
    assert write_labels(path, chunked(labels, np.arange(100), *lengths)) == 100
    found = READERS[kind](path)
    assert list(found.columns) == ["row", "label"]
    np.testing.assert_array_equal(found["row"], np.arange(100))
    np.testing.assert_array_equal(found["label"], labels)
    assert names_in(tmp_path) == [path.name]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize("id_lengths", [(1,), (13,), (5, 40), (1000,)])
@pytest.mark.parametrize("kept", ["all", "some", "few", "not the last", "first"])
def test_labels_with_ids(tmp_path, kind, id_lengths, kept):
    labels, columns = example()
    chosen = {
        "all": np.arange(100),
        "some": np.flatnonzero(np.arange(100) % 3 != 1),
        "few": np.array([0, 41, 99]),
        "not the last": np.arange(57),
        "first": np.array([0]),
    }[kept]
    path = tmp_path / f"labels{kind}"
    ids = ids_for(["name", "key"], id_batches(columns, *id_lengths), 100)
    assert write_labels(path, chunked(labels[chosen], chosen, 9), ids) == len(chosen)
    found = READERS[kind](path)
    expected = pd.DataFrame(columns).iloc[chosen].reset_index(drop=True).assign(label=labels[chosen])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_types_of_the_columns(tmp_path):
    labels, _ = example()
    write_labels(tmp_path / "a.parquet", chunked(labels, np.arange(100), 9))
    assert pq.read_schema(tmp_path / "a.parquet").types == [pa.int64(), pa.int32()]
    ids = ids_for(["key"], ({"key": pa.array(range(i, i + 50), pa.uint16())} for i in (0, 50)), 100)
    write_labels(tmp_path / "b.parquet", chunked(labels.astype(np.int64), np.arange(100), 9), ids)
    assert pq.read_schema(tmp_path / "b.parquet").types == [pa.uint16(), pa.int32()]


def test_batches_are_not_those_of_the_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH_ROWS", 64)
    labels, columns = example(1000)
    for kind in (".parquet", ".arrow"):
        ids = ids_for(["key"], id_batches({"key": columns["key"]}, 3), 1000)
        write_labels(tmp_path / f"labels{kind}", chunked(labels, np.arange(1000), 1), ids)
    metadata = pq.read_metadata(tmp_path / "labels.parquet")
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [64] * 15 + [40]
    assert pa.ipc.open_file(tmp_path / "labels.arrow").num_record_batches == 16


def test_a_chunk_longer_than_a_batch_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH_ROWS", 10)
    labels, _ = example(25)
    write_labels(tmp_path / "labels.parquet", [(labels, np.arange(25))])
    metadata = pq.read_metadata(tmp_path / "labels.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 10, 5]


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_no_rows_still_make_a_file(tmp_path, kind):
    path = tmp_path / f"labels{kind}"
    assert write_labels(path, []) == 0
    assert list(READERS[kind](path).columns) == ["row", "label"]
    assert write_labels(path, [], ids_for(["key"], [], 0)) == 0
    assert list(READERS[kind](path).columns) == ["key", "label"]


def test_all_rows_skipped(tmp_path):
    write_labels(tmp_path / "labels.csv", [], ids_for(["key"], id_batches({"key": [1, 2, 3]}, 2), 3))
    assert pd.read_csv(tmp_path / "labels.csv").shape == (0, 2)


def test_ids_may_be_null_text_times_and_dictionaries(tmp_path):
    times = pd.date_range("2024-01-01", periods=4, tz="UTC")
    batches = [
        {
            "t": pa.array(times[:2]),
            "d": pa.array(["a", "b"]).dictionary_encode(),
            "s": pa.array([None, 'x"y']),
        },
        {"t": pa.array(times[2:]), "d": pa.array(["c", None]).dictionary_encode(), "s": pa.array(["", "z"])},
    ]
    for kind in TABLE_KINDS:
        path = tmp_path / f"labels{kind}"
        write_labels(path, [(np.zeros(4, np.int32), np.arange(4))], ids_for(["s", "d", "t"], batches, 4))
        found = READERS[kind](path)
        assert list(found.columns) == ["s", "d", "t", "label"]
        assert found["s"].isna()[0]
        assert found["s"][1] == 'x"y'
        assert found["d"][:3].tolist() == ["a", "b", "c"]
        assert pd.to_datetime(found["t"]).tolist() == times.tolist()


def test_dictionaries_of_later_batches_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH_ROWS", 2)
    batches = ({"d": pa.array([x, x]).dictionary_encode()} for x in "abc")
    write_labels(tmp_path / "l.arrow", [(np.zeros(6, np.int32), np.arange(6))], ids_for(["d"], batches, 6))
    assert READERS[".arrow"](tmp_path / "l.arrow")["d"].tolist() == list("aabbcc")


def test_ids_as_chunked_arrays_and_lists(tmp_path):
    batches = [{"key": pa.chunked_array([[1], [2, 3]])}, {"key": [4, 5]}]
    write_labels(
        tmp_path / "l.parquet", [(np.zeros(5, np.int32), np.arange(5))], ids_for(["key"], batches, 5)
    )
    assert pd.read_parquet(tmp_path / "l.parquet")["key"].tolist() == [1, 2, 3, 4, 5]


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Few rows of each batch are kept; their batches must not stay."""
    n_batches, length = 300, 5000
    text = pa.array(["x" * 100] * length)
    numbers = np.arange(n_batches, dtype=np.int64) * length
    before, peak = pa.total_allocated_bytes(), 0

    def batches():
        nonlocal peak
        for _ in range(n_batches):
            peak = max(peak, pa.total_allocated_bytes())
            yield {"text": pa.concat_arrays([text, text.slice(0, 0)])}

    ids = ids_for(["text"], batches(), n_batches * length)
    write_labels(tmp_path / "l.parquet", [(np.zeros(n_batches, np.int32), numbers)], ids)
    assert peak - before < 10 * text.nbytes


def test_the_number_of_rows_may_be_known_at_the_end(tmp_path):
    labels, columns = example()
    seen = 0

    def chunks():
        nonlocal seen
        for part, numbers in chunked(labels, np.arange(100), 30):
            seen += len(part)
            yield part, numbers

    write_labels(tmp_path / "l.csv", chunks(), Ids(["key"], id_batches(columns, 7), lambda: seen))
    assert pd.read_csv(tmp_path / "l.csv")["key"].tolist() == columns["key"]


# Failures: an error, and nothing written


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize(
    ("n_ids", "found"),
    [
        (90, "end after 90 rows, but row 90 was read"),
        (101, "continue after the 100 rows"),
        (0, "end after 0 rows, but row 0 was read"),
    ],
)
def test_ids_of_another_number_of_rows(tmp_path, kind, n_ids, found):
    labels, _ = example()
    ids = ids_for(["key"], id_batches({"key": list(range(n_ids))}, 13), 100)
    with pytest.raises(ValueError, match=f"id columns key .*{found}.*changed since"):
        write_labels(tmp_path / f"l{kind}", chunked(labels, np.arange(100), 7), ids)
    assert names_in(tmp_path) == []


def test_skipped_rows_at_the_end_are_counted(tmp_path):
    labels, _ = example(50)
    for n_ids, found in [(79, "end after 79 of the 80 rows"), (81, "continue after the 80 rows")]:
        ids = ids_for(["key"], id_batches({"key": list(range(n_ids))}, 13), 80)
        with pytest.raises(ValueError, match=found):
            write_labels(tmp_path / "l.csv", [(labels, np.arange(50))], ids)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("kind", TABLE_KINDS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_failing_stream_leaves_the_old_file(tmp_path, kind, error):
    path = tmp_path / f"labels{kind}"
    path.write_text("old")

    def failing():
        yield np.zeros(100_000, np.int32), np.arange(100_000)
        raise error

    with pytest.raises(error):
        write_labels(path, failing())
    assert path.read_text() == "old"
    assert names_in(tmp_path) == [path.name]


def test_an_id_column_called_label(tmp_path):
    def never():
        raise AssertionError("the check comes before any work")
        yield

    with pytest.raises(ValueError, match="Id column 'label' has the same name"):
        write_labels(tmp_path / "l.csv", never(), ids_for(["key", "label"], never(), 3))
    with pytest.raises(ValueError, match="Id column 'y1' has the same name"):
        write_embedding(tmp_path / "l.csv", never(), ids_for(["y1"], never(), 3), 2)
    check_names(["y2", "row"], ["y0", "y1"])
    assert names_in(tmp_path) == []


def test_nested_ids_do_not_fit_into_csv(tmp_path):
    batches = [{"key": pa.array([[1, 2], [3]])}]
    with pytest.raises(ValueError, match=r"l\.csv cannot be written as \.csv"):
        write_labels(
            tmp_path / "l.csv", [(np.zeros(2, np.int32), np.arange(2))], ids_for(["key"], batches, 2)
        )
    assert names_in(tmp_path) == []
    write_labels(
        tmp_path / "l.parquet", [(np.zeros(2, np.int32), np.arange(2))], ids_for(["key"], batches, 2)
    )
    assert pq.read_table(tmp_path / "l.parquet")["key"].to_pylist() == [[1, 2], [3]]


@pytest.mark.parametrize("later", [["a", "b"], [1, "a"]])
def test_ids_that_change_their_type(tmp_path, later):
    for size in (2, 100):
        batches = [{"key": [1, 2]}, {"key": later}]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writing, "BATCH_ROWS", size)
            with pytest.raises(ValueError, match=r"type|l\.parquet cannot be written"):
                write_labels(
                    tmp_path / "l.parquet",
                    [(np.zeros(4, np.int32), np.arange(4))],
                    ids_for(["key"], batches, 4),
                )
    assert names_in(tmp_path) == []


def test_rows_out_of_order_and_wrong_shapes(tmp_path):
    zeros = np.zeros(3, np.int32)
    for numbers in ([[0, 2, 1]], [[3, 4, 5], [5, 6, 7]], [[0, 0, 1]]):
        with pytest.raises(ValueError, match="Row numbers must ascend"):
            write_labels(tmp_path / "l.csv", [(zeros, np.array(part)) for part in numbers])
    with pytest.raises(ValueError, match="shape"):
        write_labels(tmp_path / "l.csv", [(zeros, np.arange(2))])
    for path in ("Y.npy", "Y.parquet"):
        with pytest.raises(ValueError, match="shape"):
            write_embedding(tmp_path / path, [(np.zeros((3, 4)), np.arange(3))], None, 5)
    assert names_in(tmp_path) == []


# Embeddings


@pytest.mark.parametrize("kind", ARRAY_KINDS)
@pytest.mark.parametrize("lengths", [(1,), (7, 30), (1000,)])
def test_embedding(tmp_path, monkeypatch, kind, lengths):
    monkeypatch.setattr(writing, "BATCH_BYTES", 16 * 3 * 4)
    Y = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    numbers = np.arange(100) * 2
    path = tmp_path / f"Y{kind}"
    assert write_embedding(path, chunked(Y, numbers, *lengths), None, 3) == 100
    if kind == ".npy":
        found = np.load(path)
        assert found.dtype == np.float32
    else:
        table = READERS[kind](path)
        assert list(table.columns) == ["row", "y0", "y1", "y2"]
        np.testing.assert_array_equal(table["row"], numbers)
        found = table[["y0", "y1", "y2"]].to_numpy(np.float32)
    np.testing.assert_array_equal(found, Y)
    assert names_in(tmp_path) == [path.name]


def test_embedding_with_ids(tmp_path):
    Y = np.arange(8, dtype=np.float32).reshape(4, 2)
    ids = ids_for(["key"], id_batches({"key": list("abcdef")}, 4), 6)
    write_embedding(tmp_path / "Y.parquet", [(Y, np.array([1, 2, 3, 5]))], ids, 2)
    found = pq.read_table(tmp_path / "Y.parquet")
    assert found.schema.types[1:] == [pa.float32()] * 2
    assert found.to_pydict() == {"key": list("bcdf"), "y0": [0, 2, 4, 6], "y1": [1, 3, 5, 7]}


def test_wide_rows_make_shorter_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH_BYTES", 1000)
    Y = np.zeros((100, 25), np.float32)
    write_embedding(tmp_path / "Y.parquet", [(Y, np.arange(100))], None, 25)
    assert pq.read_metadata(tmp_path / "Y.parquet").num_row_groups == 10


@pytest.mark.parametrize("n", [0, 1, 9, 10, 123_456])
def test_array_header_is_right_for_any_number_of_rows(tmp_path, n):
    Y = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    write_embedding(tmp_path / "Y.npy", chunked(Y, np.arange(n), 1000), None, 2)
    found = np.load(tmp_path / "Y.npy", mmap_mode="r", allow_pickle=False)
    assert found.shape == (n, 2)
    np.testing.assert_array_equal(found, Y)


def test_arrays_in_fortran_order_and_float64(tmp_path):
    Y = np.random.default_rng(0).normal(size=(50, 3))
    write_embedding(tmp_path / "Y.npy", [(np.asfortranarray(Y), np.arange(50))], None, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), Y.astype(np.float32))


def test_an_array_takes_no_ids(tmp_path):
    with pytest.raises(ValueError, match=r"Y\.npy: an array cannot hold the id columns key"):
        write_embedding(tmp_path / "Y.npy", [], ids_for(["key"], [], 0), 2)
    assert names_in(tmp_path) == []


# Targets


def test_the_ending_must_be_known(tmp_path):
    with pytest.raises(ValueError, match=r"labels\.txt.*\.parquet, \.arrow, \.feather, \.csv, \.csv\.gz"):
        check_target(tmp_path / "labels.txt", TABLE_KINDS)
    with pytest.raises(ValueError, match="ending"):
        check_target(tmp_path / "labels.npy", TABLE_KINDS)
    assert check_target(tmp_path / "Labels.CSV.GZ", TABLE_KINDS) == ".csv.gz"
    assert check_target(str(tmp_path / "a.b.npy"), ARRAY_KINDS) == ".npy"
    assert names_in(tmp_path) == []


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing\. Create it"):
        check_target(tmp_path / "missing" / "l.csv", TABLE_KINDS)
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_target(tmp_path / "file" / "l.csv", TABLE_KINDS)


def test_not_a_folder_nor_a_device(tmp_path):
    (tmp_path / "l.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_target(tmp_path / "l.csv", TABLE_KINDS)
    (tmp_path / "null.csv").symlink_to(os.devnull)
    with pytest.raises(ValueError, match="not a regular file"):
        check_target(tmp_path / "null.csv", TABLE_KINDS)


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")]
)
def test_the_folder_must_be_writable(tmp_path, monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(type(error), match=f"l.csv cannot be written: {error.strerror} in the folder.*Choose"):
        check_target(tmp_path / "l.csv", TABLE_KINDS)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="Choose another folder"):
            check_target(tmp_path / "l.csv", TABLE_KINDS)
    finally:
        tmp_path.chmod(0o700)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "apnc\[files\]"'):
        check_target(tmp_path / "l.csv", TABLE_KINDS)
    Y = np.ones((2, 2), np.float32)
    assert write_embedding(tmp_path / "Y.npy", [(Y, np.arange(2))], None, 2) == 2
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), Y)


def test_atomic_gives_a_hidden_name_of_the_same_ending(tmp_path):
    with atomic(tmp_path / "labels.csv.gz") as temporary:
        assert temporary.parent == tmp_path.resolve()
        assert temporary.name.startswith(".")
        assert temporary.name.endswith(".csv.gz")
        temporary.write_text("new")
        assert not (tmp_path / "labels.csv.gz").exists()
    assert (tmp_path / "labels.csv.gz").read_text() == "new"
    assert names_in(tmp_path) == ["labels.csv.gz"]


def test_atomic_files_have_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic(tmp_path / "written"):
        pass
    plain, written = ((tmp_path / name).stat().st_mode for name in ("plain", "written"))
    assert stat.S_IMODE(plain) == stat.S_IMODE(written)


def test_atomic_keeps_a_link_and_writes_where_it_points(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "l.csv").symlink_to(tmp_path / "disk" / "real.csv")
    with atomic(tmp_path / "l.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "l.csv").is_symlink()
    assert (tmp_path / "disk" / "real.csv").read_text() == "new"


@pytest.mark.parametrize("failing", ["os.fsync", "os.replace"])
def test_a_disk_that_fails_leaves_nothing(tmp_path, monkeypatch, failing):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, refuse)
    with pytest.raises(OSError, match="No space"):
        write_labels(tmp_path / "l.csv", [(np.zeros(3, np.int32), np.arange(3))])
    assert names_in(tmp_path) == []


def test_long_names(tmp_path):
    name = "ä" * 110 + ".csv"
    write_labels(tmp_path / name, [(np.zeros(3, np.int32), np.arange(3))])
    assert names_in(tmp_path) == [name]
