"""Tables in files and in memory give the rows that pyarrow and pandas read, in any pieces, or say what is wrong."""

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import apnc
from apnc.sources.pieces import MissingValuesError, SourceError

FORMATS = ["parquet", "arrow", "stream", "csv", "tsv"]


def write(table, path, format, **options):
    """Write a table in parts of 13 rows where the format has parts; the path."""
    if format == "parquet":
        pq.write_table(table, path, **({"row_group_size": 13} | options))
    elif format in ("arrow", "stream"):
        make = pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, make(file, table.schema, **options) as writer:
            writer.write_table(table, max_chunksize=13)
    else:
        separator = {"csv": ",", "tsv": "\t"}[format]
        pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter=separator))
    return path


def open_table(data, format, **options):
    """Files are told their format, objects know theirs."""
    known = isinstance(data, pa.Table | pa.RecordBatch | pa.dataset.Dataset)
    return apnc.open(data, format=None if known else format, **options)


def kind(format):
    return "arrow" if format == "stream" else format


def read(source, n_rows=7):
    """All rows of a source; pieces are checked on the way."""
    parts, start = [], 0
    for piece in source.pieces(n_rows):
        rows, weights = source.matrix(piece)
        assert 0 < piece.n_rows <= n_rows
        assert piece.start == start
        assert rows.shape == (piece.n_rows, source.n_columns)
        assert rows.dtype == source.dtype
        assert rows.flags.c_contiguous
        assert rows.flags.writeable
        assert weights is None or (weights.shape == (piece.n_rows,) and weights.dtype == np.float64)
        parts.append((rows, weights))
        start += piece.n_rows
    assert len(parts) == -(-start // n_rows)
    if not parts:
        return np.empty((0, source.n_columns)), None
    weights = None if parts[0][1] is None else np.concatenate([w for _, w in parts])
    return np.concatenate([rows for rows, _ in parts]), weights


def read_ids(source, n_rows=7):
    parts = list(source.ids(n_rows))
    assert all(0 < len(values) <= n_rows for part in parts for values in part.values())
    return {name: [v for part in parts for v in part[name].to_pylist()] for name in source.id_columns}


def refused(match, data, format="parquet", error=SourceError, **options):
    with pytest.raises(error, match=match):
        read(open_table(data, format, **options), 1000)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 100
    return pa.table(
        {
            "key": [f"k{i:03}" for i in range(n)],
            "a": rng.normal(size=n),
            "number": pa.array(range(n), pa.int64()),
            "b": rng.integers(-50, 50, size=n),
            "w": rng.uniform(size=n),
            "c": pa.array(rng.normal(size=n), pa.float32()),
        }
    )


def expected(table, columns=("a", "number", "b", "w", "c")):
    return table.select(list(columns)).to_pandas().to_numpy(np.float64)


# Rows


@pytest.mark.parametrize("n_rows", [1, 7, 1000])
@pytest.mark.parametrize("format", FORMATS)
def test_rows_of_each_format(table, tmp_path, format, n_rows):
    path = write(table, tmp_path / "x", format)
    source = open_table(path, kind(format))
    assert source.columns == ("a", "number", "b", "w", "c")
    rows, weights = read(source, n_rows)
    # text holds the shortest digits of a float32, not its value as float64
    np.testing.assert_allclose(rows, expected(table), rtol=1e-6 if "sv" in format else 0)
    assert weights is None
    np.testing.assert_array_equal(read(source, n_rows)[0], rows)


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_text_is_read_as_pandas_does(table, tmp_path, format):
    path = write(table, tmp_path / "x", format)
    separator = {"csv": ",", "tsv": "\t"}[format]
    frame = pd.read_csv(path, sep=separator, float_precision="round_trip").drop(columns="key")
    np.testing.assert_array_equal(read(open_table(path, format))[0], frame.to_numpy(np.float64))


@pytest.mark.parametrize("n_rows", [1, 7, 1000])
@pytest.mark.parametrize("of", ["table", "chunks", "batch"])
def test_rows_of_objects(table, of, n_rows):
    data = {
        "table": table,
        "chunks": pa.concat_tables([table[:3], table[3:3], table[3:50], table[50:]]),
        "batch": table.combine_chunks().to_batches()[0],
    }[of]
    source = open_table(data, "parquet", columns=["c", "a"])
    np.testing.assert_array_equal(read(source, n_rows)[0], expected(table, ["c", "a"]))
    assert next(source.pieces(5)).where == source.name
    assert source.name.startswith("pyarrow.")


@pytest.mark.parametrize("format", ["parquet", "feather", "csv"])
def test_datasets(table, tmp_path, format):
    pyarrow.dataset.write_dataset(
        table, tmp_path / "x", format=format, max_rows_per_file=40, max_rows_per_group=40
    )
    data = pyarrow.dataset.dataset(tmp_path / "x", format=format)
    source = open_table(data, "parquet", id_columns=["number"])
    np.testing.assert_allclose(read(source, 9)[0], expected(table, ["a", "b", "w", "c"]), rtol=1e-6)
    assert [int(i) for i in read_ids(source)["number"]] == list(range(100))


def test_csv_dataset_with_its_own_delimiter(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1;2\n3;4\n")
    layout = pyarrow.dataset.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter=";"))
    data = pyarrow.dataset.dataset(tmp_path, format=layout)
    np.testing.assert_array_equal(read(open_table(data, "csv"))[0], [[1, 2], [3, 4]])


@pytest.mark.parametrize("format", FORMATS)
def test_file_objects_stay_open_and_can_be_read_by_two_at_once(table, tmp_path, format):
    content = write(table, tmp_path / "x", format).read_bytes()
    file = io.BytesIO(content)
    file.seek(5)
    source = open_table(file, kind(format), id_columns=["key"], columns=["a"])
    both = list(zip(source.pieces(1), source.ids(1), strict=True))
    np.testing.assert_array_equal(
        np.concatenate([source.matrix(p)[0] for p, _ in both]), expected(table, ["a"])
    )
    assert [ids["key"][0].as_py() for _, ids in both] == table["key"].to_pylist()
    assert not file.closed


def test_unbuffered_file_object(table, tmp_path):
    write(table, tmp_path / "x.parquet", "parquet")
    with open(tmp_path / "x.parquet", "rb", buffering=0) as file:
        source = open_table(file, "parquet")
        np.testing.assert_array_equal(read(source)[0], expected(table))
        assert source.name == str(tmp_path / "x.parquet")


def test_other_objects_are_refused():
    refused("dict is neither a table nor a file", {"a": [1]})
    refused("Open it with|open it with mode 'rb'", io.StringIO("x\n1\n"), "csv")


# Where rows come from


@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
def test_every_piece_says_where_it_begins(table, tmp_path, format):
    path = write(table, tmp_path / "x", format)
    what = "row group" if format == "parquet" else "batch"
    pieces = list(open_table(path, kind(format)).pieces(10))
    assert [p.where for p in pieces] == [f"{path}, {what} {i * 10 // 13}" for i in range(10)]


def test_pieces_of_text_name_the_line(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 25)
    (tmp_path / "b.csv").write_text("x,y\n" + "1,2\n" * 25)
    (tmp_path / "n.csv").write_text("1,2\n" * 25)
    wheres = [piece.where for piece in open_table(tmp_path / "n.csv", "csv").pieces(10)]
    assert wheres == [f"{tmp_path}/n.csv, line {line}" for line in (1, 11, 21)]
    wheres = [p.where for p in open_table([tmp_path / "a.csv", tmp_path / "b.csv"], "csv").pieces(10)]
    assert wheres == [
        f"{tmp_path}/{file}.csv, line {line}" for file, line in zip("aaabb", (2, 12, 22, 7, 17), strict=True)
    ]


def test_the_one_row_that_is_infinite_is_named(table, tmp_path):
    for format in ("parquet", "arrow", "stream"):
        values = np.arange(100.0)
        values[57] = np.inf
        path = write(pa.table({"a": np.zeros(100), "b": values}), tmp_path / "x", format)
        source = open_table(path, kind(format))
        part = "row group" if format == "parquet" else "batch"
        with pytest.raises(SourceError, match=rf"/x, {part} {57 // 13}, row 57: b is infinite"):
            [source.decode(piece) for piece in source.pieces(30)]


def test_the_one_line_that_is_infinite_is_named(tmp_path):
    """Lines are those of an editor: empty ones count, and so do those inside a value."""
    (tmp_path / "a.csv").write_text('n,x\n"one",1\n\n"tw\n\no",2\n' + "t,1\n" * 20)
    (tmp_path / "b.csv").write_text("\n\nn,x\n\nu,1\nu,2\r\n\r\nu,inf\nu,4\n")
    line = (tmp_path / "b.csv").read_text().splitlines().index("u,inf") + 1
    for n_rows in (1, 3, 1000):
        source = open_table([tmp_path / "a.csv", tmp_path / "b.csv"], "csv")
        with pytest.raises(SourceError, match=rf"b\.csv, line {line}: x is infinite"):
            [source.decode(piece) for piece in source.pieces(n_rows)]
    odd = csv(tmp_path, 'n,x\n"o\nne",1\n\n\nu,1,2\n', "c.csv")
    refused(r"c\.csv, line 6: .*Expected 2 columns, got 3", odd, "csv")
    weighted = csv(tmp_path, "x,w\n1,1\n\n2,-3\n", "w.csv")
    source = open_table(weighted, "csv", weight_column="w")
    with pytest.raises(SourceError, match=r"w\.csv, line 4: the weight -3 must be a finite number >= 0"):
        [source.decode(piece) for piece in source.pieces(10)]


def test_values_separated_by_something_else(tmp_path):
    for separator in (";", "\t", "|"):
        path = csv(tmp_path, f"a{separator}b\n1{separator}2\n3{separator}4\n", "s.csv")
        told = re.escape(repr(separator))
        refused(rf"s\.csv: values seem to be separated by {told}, .*separator={told}", path, "csv")
        rows, _ = read(open_table(path, "csv", separator=separator))
        np.testing.assert_array_equal(rows, [[1, 2], [3, 4]])
    one = csv(tmp_path, "a;b\n1\n2\n", "one.csv")
    assert open_table(one, "csv", separator=",").columns == ("a;b",)
    for separator in ("", ";;", '"', "\n"):
        refused("must be a single character", path, "csv", separator=separator)


def test_a_source_says_what_it_is(table, tmp_path):
    path = csv(tmp_path, "a,b\n1,2\n", "s.csv")
    assert repr(open_table(path, "csv")) == f"<TableSource {path}: 2 features (a, b)>"
    wide = pa.table({f"x{j}": [1.0] for j in range(30)})
    assert repr(open_table(wide, "parquet")).endswith(": 30 features (x0, x1, x2, x3, x4, x5, x6, x7, ...)>")


def test_pieces_do_not_depend_on_how_files_are_cut(table, tmp_path):
    write(table, tmp_path / "one.parquet", "parquet", row_group_size=100)
    (tmp_path / "many").mkdir()
    for i in range(100):
        write(table[i : i + 1], tmp_path / "many" / f"{i:03}.parquet", "parquet")
    for n_rows in (1, 7, 64, 1000):
        one = open_table(tmp_path / "one.parquet", "parquet")
        many = open_table(tmp_path / "many", "parquet")
        for p, q in zip(one.pieces(n_rows), many.pieces(n_rows), strict=True):
            np.testing.assert_array_equal(one.matrix(p)[0], many.matrix(q)[0])


# Folders and file systems


@pytest.mark.parametrize("format", FORMATS)
def test_folder_with_empty_and_one_row_files_in_any_column_order(table, tmp_path, format):
    end = kind(format)
    (tmp_path / "d" / "deep").mkdir(parents=True)
    write(table[:0], tmp_path / "d" / f"a.{end}", format)
    write(table[:1], tmp_path / "d" / f"b.{end}", format)
    write(table[1:60].select(["c", "w", "key", "b", "number", "a"]), tmp_path / "d" / f"c.{end}", format)
    write(table[60:60], tmp_path / "d" / f"d.{end}", format)
    write(table[60:61], tmp_path / "d" / "deep" / f"a.{end}", format)
    write(table[61:], tmp_path / "d" / f"e.{end.upper()}", format)
    for hidden in ("_SUCCESS", ".part.crc", "_metadata/x.parquet", "deep/.x.parquet"):
        (tmp_path / "d" / hidden).parent.mkdir(exist_ok=True)
        (tmp_path / "d" / hidden).write_bytes(b"no data")
    order = [*range(60), 60, *range(61, 100)]
    for n_rows in (1, 7, 1000):
        rows, _ = read(open_table(tmp_path / "d", end, columns=["a", "number"]), n_rows)
        np.testing.assert_array_equal(rows, expected(table, ["a", "number"])[order])


def test_list_of_files_keeps_its_order(table, tmp_path):
    late = write(table[50:], tmp_path / "a.parquet", "parquet")
    early = write(table[:50], tmp_path / "b.parquet", "parquet")
    np.testing.assert_array_equal(read(open_table([str(early), late], "parquet"))[0], expected(table))


def test_empty_row_groups(table, tmp_path):
    with pq.ParquetWriter(tmp_path / "x.parquet", table.schema) as writer:
        for part in (table[:0], table[:40], table[:0], table[40:], table[:0]):
            writer.write_table(part)
    source = open_table(tmp_path / "x.parquet", "parquet")
    assert pq.ParquetFile(tmp_path / "x.parquet").num_row_groups == 5
    for n_rows in (1, 7, 1000):
        np.testing.assert_array_equal(read(source, n_rows)[0], expected(table))


def test_zero_byte_text_files_beside_others_have_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("x\n1\n")
    (tmp_path / "c.csv").write_text("")
    np.testing.assert_array_equal(read(open_table(tmp_path, "csv"))[0], [[1]])


@pytest.mark.parametrize("format", FORMATS)
def test_no_rows_at_all(table, tmp_path, format):
    path = write(table[:0], tmp_path / "x", format)
    assert list(open_table(path, kind(format), columns=["a"]).pieces(5)) == []


def test_uri_and_file_system(table, tmp_path):
    write(table[:30], tmp_path / "a.parquet", "parquet")
    write(table[30:], tmp_path / "b.parquet", "parquet")
    local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    for source in (
        open_table(tmp_path.as_uri(), "parquet"),
        open_table([(tmp_path / f"{name}.parquet").as_uri() for name in "ab"], "parquet"),
        open_table("", "parquet", filesystem=local),
        open_table(["a.parquet", "b.parquet"], "parquet", filesystem=local),
        open_table(f"{tmp_path}/", "parquet"),
    ):
        np.testing.assert_array_equal(read(source)[0], expected(table))


def test_relative_paths(table, tmp_path, monkeypatch):
    (tmp_path / "_d" / "x").mkdir(parents=True)
    write(table, tmp_path / "_d" / "x" / "a.parquet", "parquet")
    monkeypatch.chdir(tmp_path / "_d")
    for path in ("x", "./x", "x/a.parquet", Path("x"), ".", str(tmp_path / "_d")):
        np.testing.assert_array_equal(read(open_table(path, "parquet"))[0], expected(table))


def test_files_are_closed(table, tmp_path):
    for i in range(5):
        write(table, tmp_path / f"{i}.parquet", "parquet")
        write(table, tmp_path / f"{i}.arrow", "arrow")
        write(table, tmp_path / f"{i}.csv", "csv")

    def n_open():
        return sum(
            str(tmp_path) in str(link.readlink())
            for link in Path("/proc/self/fd").iterdir()
            if link.is_symlink()
        )

    if not Path("/proc/self/fd").exists():
        pytest.skip("open files cannot be counted here")
    for format in ("parquet", "arrow", "csv"):
        pieces = open_table(sorted(tmp_path.glob(f"*.{format}")), format).pieces(30)
        assert n_open() == 0
        next(pieces)
        assert n_open() == 1
        pieces.close()
        assert n_open() == 0


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "empty").mkdir()
    refused(r"no\.parquet: there is no such file", tmp_path / "no.parquet", error=FileNotFoundError)
    refused(r"no\.csv: there is no such file", (tmp_path / "no.csv").as_uri(), "csv", error=FileNotFoundError)
    refused("empty: there are no data files", tmp_path / "empty")
    refused("empty list", [])
    refused("what://x", "what://x")


def test_file_that_vanishes(table, tmp_path):
    path = write(table, tmp_path / "x.parquet", "parquet")
    source = open_table(path, "parquet")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"x\.parquet: there is no such file"):
        read(source)


def test_mixed_formats_are_refused(table, tmp_path):
    write(table, tmp_path / "a.parquet", "parquet")
    write(table, tmp_path / "b.csv", "csv")
    refused(r"two formats: .*a\.parquet is parquet, .*b\.csv is csv", tmp_path)


def test_foreign_file_system_is_refused(tmp_path):
    refused("FSSpecHandler", tmp_path, filesystem=object())


# Which columns


def test_automatic_features_leave_out_what_has_another_use(table):
    options = {"exclude": ["b"], "id_columns": ["number", "key"], "weight_column": "w"}
    source = open_table(table, "parquet", **options)
    assert source.columns == ("a", "c")
    assert (source.n_columns, source.held) == (2, 2)
    assert source.id_columns == ("number", "key")


@pytest.mark.parametrize("name", [None, "position"])
def test_the_index_of_a_frame_is_no_feature(tmp_path, name):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=pd.Index([7, 9], name=name))
    frame.to_parquet(tmp_path / "x.parquet")
    stored = pq.read_schema(tmp_path / "x.parquet").names
    assert len(stored) == 3
    for data in (tmp_path / "x.parquet", pa.Table.from_pandas(frame)):
        assert open_table(data, "parquet").columns == ("a", "b")
        assert open_table(data, "parquet", columns=stored[::-1]).columns == tuple(stored[::-1])


def test_columns_pick_and_order(table):
    source = open_table(table, "parquet", columns=["c", "number", "a"])
    assert source.columns == ("c", "number", "a")
    np.testing.assert_array_equal(read(source)[0], expected(table, ["c", "number", "a"]))
    assert open_table(table, "parquet", columns="a").columns == ("a",)


def test_numeric_types():
    types = [
        pa.int8(),
        pa.uint16(),
        pa.int32(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
        pa.decimal128(21, 2),
    ]
    data = {str(type_): pa.array([1, None, 0], pa.int64()).cast(type_) for type_ in types}
    others = {"text": ["1", "2", "3"], "date": pa.array([1, 2, 3], pa.int32()).cast(pa.date32())}
    source = open_table(pa.table(others | data), "parquet")
    assert source.columns == tuple(data)
    assert source.left_out == {"text": "text", "date": "dates or times"}
    np.testing.assert_array_equal(read(source)[0], np.repeat([[1.0], [np.nan], [0.0]], len(types), axis=1))


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint16(), pa.float16(), pa.float32(), pa.bool_()])
@pytest.mark.parametrize("n_rows", [1, 7, 1000])
def test_narrow_types_are_float32(type_, n_rows):
    column = pa.array(np.arange(600) % 2).cast(type_)
    source = open_table(
        pa.table({"x": column, "y": pa.array(np.linspace(0, 1, 600), pa.float32())}), "parquet"
    )
    assert source.dtype == np.float32
    rows, _ = read(source, n_rows)
    np.testing.assert_array_equal(rows[:, 0], np.arange(600) % 2)
    np.testing.assert_array_equal(rows[:, 1], np.linspace(0, 1, 600).astype(np.float32))


@pytest.mark.parametrize("type_", [pa.int32(), pa.uint32(), pa.int64(), pa.float64()])
def test_a_wide_type_makes_all_float64(type_):
    source = open_table(
        pa.table({"x": pa.array([1, 2], type_), "y": pa.array([0.5, 1], pa.float32())}), "parquet"
    )
    assert source.dtype == np.float64
    assert read(source)[0].dtype == np.float64


def test_missing_values(tmp_path):
    table = pa.table({"x": [1.0, None, 3.0, np.nan], "n": [1, 2, None, 4], "w": [1.0, 2.0, None, 4.0]})
    for format in FORMATS:
        source = open_table(write(table, tmp_path / "x", format), kind(format), weight_column="w")
        rows, weights = read(source, 3)
        np.testing.assert_array_equal(rows, [[1, 1], [np.nan, 2], [3, np.nan], [np.nan, 4]])
        np.testing.assert_array_equal(weights, [1, 2, np.nan, 4])
        with pytest.raises(MissingValuesError):
            source.decode(next(source.pieces(10)))
        skipping = open_table(tmp_path / "x", kind(format), weight_column="w", drop_null=True)
        assert skipping.decode(next(skipping.pieces(10))).kept.tolist() == [0]


def test_sliced_columns_with_nulls():
    table = pa.table(
        {"x": pa.array([None, 1, 2, None, 4, 5] * 50, pa.float32()), "y": pa.array([True, None, False] * 100)}
    )
    source = open_table(table[2:], "parquet")
    want = table[2:].to_pandas().astype({"y": object}).to_numpy()
    want = np.array([[np.nan if v is None else float(v) for v in row] for row in want], dtype=np.float32)
    for n_rows in (1, 7, 1000):
        np.testing.assert_array_equal(read(source, n_rows)[0], want)


@pytest.mark.parametrize("format", FORMATS)
def test_weights_and_ids(table, tmp_path, format):
    path = write(table, tmp_path / "x", format)
    source = open_table(path, kind(format), id_columns=["key", "number"], weight_column="w")
    for n_rows in (1, 7, 1000):
        rows, weights = read(source, n_rows)
        np.testing.assert_allclose(rows, expected(table, ["a", "b", "c"]), rtol=1e-6)
        np.testing.assert_array_equal(weights, table["w"].to_numpy())
        ids = read_ids(source, n_rows)
        assert ids["key"] == table["key"].to_pylist()
        assert [int(i) for i in ids["number"]] == list(range(100))


def test_ids_of_typed_files_keep_their_type(table, tmp_path):
    source = open_table(write(table, tmp_path / "x", "parquet"), "parquet", id_columns=["number"])
    assert next(source.ids(5))["number"].type == pa.int64()


def test_ids_of_text_are_what_is_written(tmp_path):
    (tmp_path / "x.csv").write_text("id,x\n007,1\nNA,2\n 8,3\n1e400,4\n")
    assert read_ids(open_table(tmp_path / "x.csv", "csv", id_columns=["id"]))["id"] == [
        "007",
        "NA",
        " 8",
        "1e400",
    ]


def test_no_ids(table):
    with pytest.raises(SourceError, match="no id columns"):
        next(open_table(table, "parquet").ids(5))


def test_an_id_may_be_a_feature_too(table):
    source = open_table(table, "parquet", columns=["number", "w"], id_columns=["number"], weight_column="w")
    rows, weights = read(source)
    np.testing.assert_array_equal(rows, expected(table, ["number", "w"]))
    np.testing.assert_array_equal(weights, rows[:, 1])


def test_select(table):
    source = open_table(
        table, "parquet", exclude=["b"], id_columns=["key"], weight_column="w", drop_null=True
    )
    chosen = source.select(["b", "a"])
    assert chosen.columns == ("b", "a")
    assert (chosen.id_columns, chosen.weight_column, chosen.drop_null) == (("key",), "w", True)
    rows, weights = read(chosen)
    np.testing.assert_array_equal(rows, expected(table, ["b", "a"]))
    np.testing.assert_array_equal(weights, table["w"].to_numpy())
    assert source.columns == ("a", "number", "c")
    with pytest.raises(SourceError, match=r"no column 'bb', 'x'\. Did you mean 'b'\?"):
        source.select(["a", "bb", "x"])


def test_weights_are_not_needed_after_select(table):
    source = open_table(table.drop_columns("w"), "parquet", weight_column="w")
    with pytest.raises(SourceError, match="no column 'w'"):
        next(source.pieces(5))
    rows, weights = read(source.select(["a"]))
    np.testing.assert_array_equal(rows, expected(table, ["a"]))
    assert weights is None


def test_wrong_columns(table):
    refused(
        r"pyarrow\.Table: there is no column 'aa'\. Did you mean 'a'\? Columns: key \(string\), a",
        table,
        columns=["aa"],
    )
    refused("column 'key' is of type string, which is not numeric", table, columns=["a", "key"])
    refused("column 'key' is of type string", table, weight_column="key")
    refused("no column 'z'", table, exclude=["z"])
    refused("no column 'z'", table, id_columns=["z"])
    refused("none of them twice", table, columns=["a", "a"])
    refused("at least one column", table, columns=[])
    refused("Pass one of them", table, columns=["a"], exclude=["b"])
    refused(r"no numeric column.*Columns: key \(text\)", table.select(["key"]))
    twice = pa.Table.from_arrays([table["a"], table["a"]], names=["a", "a"])
    refused("several columns with the name 'a'", twice)
    keys = pa.Table.from_arrays([table["a"], table["a"], table["b"]], names=["row_id", "row_id", "b"])
    refused("several columns with the name 'row_id'", keys)
    twice = twice.append_column("b", table["b"])
    np.testing.assert_array_equal(
        read(open_table(twice, "parquet", exclude=["a"]))[0], expected(table, ["b"])
    )


def test_names_with_dots_and_brackets(tmp_path):
    table = pa.table({"a.b": [1.0, 2.0], "a": [3.0, 4.0], "e[0]": [5.0, 6.0], "ü x": [7.0, 8.0]})
    for format in FORMATS:
        source = open_table(
            write(table, tmp_path / "x", format), kind(format), columns=["e[0]", "a", "a.b", "ü x"]
        )
        np.testing.assert_array_equal(read(source)[0], [[5, 3, 1, 7], [6, 4, 2, 8]])
        np.testing.assert_array_equal(read(source.select(["a"]))[0], [[3], [4]])


# Lists

LISTS = [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.int64()), pa.list_(pa.float32(), 3)]


@pytest.mark.parametrize("type_", LISTS, ids=str)
@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
def test_lists(tmp_path, type_, format):
    values = np.arange(150.0).reshape(50, 3)
    table = pa.table(
        {"key": [f"{i}" for i in range(50)], "e": pa.array(values.tolist()).cast(type_), "w": values[:, 0]}
    )
    path = write(table, tmp_path / "x", format)
    source = open_table(path, kind(format), weight_column="w")
    assert source.columns == ("e[0]", "e[1]", "e[2]")
    assert source.dtype == (np.float32 if type_.value_type == pa.float32() else np.float64)
    for chosen in (
        source,
        source.select(source.columns),
        open_table(path, kind(format), columns=["e"], weight_column="w"),
    ):
        for n_rows in (1, 7, 1000):
            rows, weights = read(chosen, n_rows)
            np.testing.assert_array_equal(rows, values)
            np.testing.assert_array_equal(weights, values[:, 0])


@pytest.mark.parametrize("type_", LISTS, ids=str)
def test_lists_with_nulls(type_):
    lists = pa.array([None, [1, 2, 3], None, [4, None, 6], [7, 8, 9]], pa.list_(pa.float64())).cast(type_)
    nan = [np.nan] * 3
    want = np.array([nan, [1, 2, 3], nan, [4, np.nan, 6], [7, 8, 9]])
    for skip in range(4):
        source = open_table(pa.table({"e": lists[skip:]}), "parquet")
        for n_rows in (1, 2, 10):
            np.testing.assert_array_equal(read(source, n_rows)[0], want[skip:])


def test_lists_of_differing_length():
    table = pa.table({"e": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0, 7.0]]})
    refused(r"pyarrow\.Table, row 2: column 'e' holds 3 values, but 2 in the first row", table)


def test_lists_beside_numbers_must_be_chosen(table):
    both = table.append_column("e", pa.array([[1.0, 2.0]] * 100))
    refused(r"column 'e' holds lists of numbers, beside.*columns=\['e'\]", both)
    refused("'e' holds lists, so it must be the only feature", both, columns=["a", "e"])
    assert open_table(both, "parquet", exclude=["e"]).n_columns == 5
    np.testing.assert_array_equal(
        read(open_table(both, "parquet").select(["e[0]", "e[1]"]))[0], [[1, 2]] * 100
    )


def test_lists_of_another_length_than_selected():
    source = open_table(pa.table({"e": [[1.0, 2.0]]}), "parquet")
    for columns in (["e[0]"], ["e[0]", "e[1]", "e[2]"]):
        with pytest.raises(SourceError, match=f"lists of 2 values, but {len(columns)} are needed"):
            source.select(columns)
    refused("holds no list", pa.table({"e": pa.array([None], pa.list_(pa.float64()))}))
    refused("holds no list", pa.table({"e": pa.array([[]], pa.list_(pa.float64()))}))


# Parts that differ


@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
def test_types_must_agree(table, tmp_path, format):
    end = kind(format)
    write(table, tmp_path / f"a.{end}", format)
    path = write(table.set_column(1, "a", table["a"].cast(pa.float32())), tmp_path / f"b.{end}", format)
    refused(rf"{path}: column 'a' is of type float, but double in .*a\.{end}", tmp_path, end)
    read(open_table(tmp_path, end, columns=["b"]))
    write(table.drop_columns("a"), path, format)
    refused(rf"b\.{end}: there is no column 'a'", tmp_path, end)
    write(table.append_column("z", table["a"]), path, format)
    refused(rf"b\.{end}: column 'z' of type double is not in .*a\.{end}", tmp_path, end)
    read(open_table(tmp_path, end, columns=["a", "b"]))
    write(table.append_column("z", table["key"]), path, format)
    read(open_table(tmp_path, end))
    write(table.set_column(0, "key", table["a"]), path, format)
    source = open_table(tmp_path, end, id_columns=["key"])
    with pytest.raises(SourceError, match=rf"b\.{end}: column 'key' is of type double, but string in"):
        read_ids(source)


def test_names_inside_lists_do_not_matter(tmp_path):
    for name in ("item", "element"):
        type_ = pa.list_(pa.field(name, pa.float64()))
        write(pa.table({"e": pa.array([[1.0, 2.0]], type_)}), tmp_path / f"{name}.arrow", "arrow")
    np.testing.assert_array_equal(read(open_table(tmp_path, "arrow"))[0], [[1, 2], [1, 2]])


def test_text_parts_must_agree(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,t\n1,2,a\n")
    (tmp_path / "b.csv").write_text("x,y,t\n1.5,,7\n")
    np.testing.assert_array_equal(read(open_table(tmp_path, "csv"))[0], [[1, 2], [1.5, np.nan]])
    (tmp_path / "b.csv").write_text("x,y,t\n1.5,what,7\n")
    refused(r"b\.csv: column 'y' is of type string, but double in .*a\.csv", tmp_path, "csv")
    (tmp_path / "b.csv").write_text("x,y,t,z\n1,2,a,3\n")
    refused(r"b\.csv: column 'z' of type double is not in .*a\.csv", tmp_path, "csv")
    (tmp_path / "b.csv").write_text("1,2,3\n")
    refused(r"b\.csv: there is no column 'x', 'y'\.", tmp_path, "csv")


# Text


def csv(tmp_path, content, name="x.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_without_header(tmp_path):
    source = open_table(csv(tmp_path, "1,-2.5e3\n 4,nan\n"), "csv")
    assert source.columns == ("column_0", "column_1")
    np.testing.assert_array_equal(read(source)[0], [[1, -2500], [4, np.nan]])


def test_text_header_of_some_numbers(tmp_path):
    assert open_table(csv(tmp_path, "x,1\n3,4\n"), "csv").columns == ("x", "1")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", [True, False])
def test_text_variants(tmp_path, newline, end):
    lines = ['"a",b,"c, d"', '1,"2",hello', '3,4,"with ""quotes"" and a\nnew line"', "5,6,"]
    content = newline.join(lines) + (newline if end else "")
    source = open_table(csv(tmp_path, b"\xef\xbb\xbf" + content.encode()), "csv", id_columns=["c, d"])
    assert source.columns == ("a", "b")
    np.testing.assert_array_equal(read(source)[0], [[1, 2], [3, 4], [5, 6]])
    assert read_ids(source)["c, d"] == ["hello", 'with "quotes" and a\nnew line', ""]


def test_text_whole_numbers_then_others_in_a_later_block(tmp_path):
    n = 400_000
    content = "x,flag,sparse\n" + "1,true,\n" * n + "1.5,false,2\n"
    source = open_table(csv(tmp_path, content), "csv")
    assert len(content) > 2 << 20
    rows, _ = read(source, 100_000)
    assert source.columns == ("x", "flag", "sparse")
    assert rows.shape == (n + 1, 3)
    np.testing.assert_array_equal(rows[-1], [1.5, 0, 2])
    assert np.isnan(rows[:-1, 2]).all()
    assert (rows[:-1, :2] == 1).all()


def test_text_in_a_later_block(tmp_path):
    path = csv(tmp_path, "x,y\n" + "1,2\n" * 600_000 + "3,what\n" + "1,2\n" * 10)
    refused(rf"{path}, line 600002: column 'y': .*'what'", path, "csv")
    refused(rf"{path}, line 600002: column 'y': .*'what'", path, "csv", columns=["y"])


def test_text_in_the_first_block_is_no_feature(tmp_path):
    path = csv(tmp_path, "x,y\n1,2\n3,what\n")
    assert open_table(path, "csv").columns == ("x",)
    refused("'y' is of type string, which is not numeric", path, "csv", columns=["y"])


@pytest.mark.parametrize(("line", "found"), [("1,2,3", 3), ("1", 1)])
def test_text_ragged_lines(tmp_path, line, found):
    refused(rf"x\.csv, line 3: .*2 columns.* {found}", csv(tmp_path, f"x,y\n1,2\n{line}\n5,6\n"), "csv")
    late = csv(tmp_path, "x,y\n" + "1,2\n" * 600_000 + f"{line}\n5,6\n")
    refused(rf"x\.csv, line 600002: .*2 columns.* {found}", late, "csv")


def test_text_lines_that_end_with_a_separator(tmp_path):
    assert open_table(csv(tmp_path, "x,y,\n1,2,\n3,4,\n"), "csv").columns == ("x", "y")


def test_text_with_a_quote_that_is_not_closed(tmp_path):
    path = csv(tmp_path, "x,y\n" + "1,2\n" * 300_000 + '3,"4\n' + "1,2\n" * 1_000_000)
    refused(rf"{path}: a line is longer than 1,048,576 bytes, or a quote is not closed", path, "csv")


def test_text_that_is_empty(tmp_path):
    refused(r"x\.csv: there are no rows", csv(tmp_path, ""), "csv")
    refused(r"x\.csv: there are no rows", csv(tmp_path, "\n\n"), "csv")
    refused("there are no rows", [csv(tmp_path, ""), csv(tmp_path, "")], "csv")


def test_text_with_long_lines(tmp_path):
    rows = np.arange(9_000.0).reshape(3, 3_000)
    text = "\n".join(",".join(f"{value:.400f}" for value in row) for row in rows.tolist())
    assert len(text) > 3 << 20
    np.testing.assert_array_equal(read(open_table(csv(tmp_path, text), "csv"))[0], rows)


def test_text_compressed(tmp_path):
    content = b"x,y\n" + b"1,2\n" * 1000
    for codec, end in (("gzip", "gz"), ("zstd", "zst"), ("bz2", "bz2")):
        path = tmp_path / f"x.csv.{end}"
        with pa.output_stream(path, compression=codec) as file:
            file.write(content)
        np.testing.assert_array_equal(read(open_table(path, "csv"), 300)[0], [[1, 2]] * 1000)
        short = csv(tmp_path, path.read_bytes()[:-20], f"short.csv.{end}")
        refused(rf"short\.csv\.{end}: ", short, "csv")
    two = csv(tmp_path, gzip.compress(b"x\n1\n") + gzip.compress(b"2\n"), "two.csv.gz")
    np.testing.assert_array_equal(read(open_table(two, "csv"))[0], [[1], [2]])


# Damaged files


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_parquet_cut_anywhere(table, tmp_path, compression):
    content = write(table, tmp_path / "x.parquet", "parquet", compression=compression).read_bytes()
    for keep in (0, 3, 10, len(content) // 2, len(content) - 1000, len(content) - 9, len(content) - 1):
        path = csv(tmp_path, content[:keep], "short.parquet")
        refused(rf"{path}: ", path)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_parquet_damaged_in_the_middle(table, tmp_path, compression):
    options = {"compression": compression, "write_page_checksum": True}
    path = write(table, tmp_path / "x.parquet", "parquet", **options)
    column = pq.ParquetFile(path).metadata.row_group(4).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    content = bytearray(path.read_bytes())
    for offset in range(start, start + column.total_compressed_size):
        content[offset] ^= 0xFF
    path.write_bytes(content)
    refused(rf"{path}, row group 4: ", path)
    read(open_table(path, "parquet", columns=["b"]))


def test_parquet_bit_flip_is_found_by_its_checksum(table, tmp_path):
    path = write(
        table,
        tmp_path / "x.parquet",
        "parquet",
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    value = np.float64(table["a"][60].as_py()).tobytes()
    content = path.read_bytes()
    assert content.count(value) == 1
    path.write_bytes(content.replace(value, value[:-1] + b"\x00"))
    refused(rf"{path}, row group 4: .*(?i:crc|checksum)", path)


@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
def test_any_damage_is_a_source_error_or_unseen(table, tmp_path, format):
    """Most damage to numbers cannot be seen without checksums; it must not be anything but a SourceError."""
    rng = np.random.default_rng(0)
    whole = write(table, tmp_path / "x", format).read_bytes()
    messages = []
    for _ in range(200):
        content = bytearray(whole)
        for place in rng.integers(0, len(content), size=3):
            content[place] = rng.integers(0, 256)
        try:
            source = open_table(
                csv(tmp_path, bytes(content), "y"), kind(format), columns=["a"], id_columns=["key"]
            )
            read(source, 50)
            read_ids(source, 50)
        except SourceError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(str(tmp_path / "y") in message for message in messages)


@pytest.mark.parametrize("compression", [None, "zstd"])
@pytest.mark.parametrize("format", ["arrow", "stream"])
def test_arrow_cut_anywhere(table, tmp_path, format, compression):
    options = {"options": pa.ipc.IpcWriteOptions(compression=compression)}
    content = write(table, tmp_path / "x", format, **options).read_bytes()
    for keep in (0, 3, 20, len(content) // 2, len(content) - 1000, len(content) - 30):
        path = csv(tmp_path, content[:keep], "short.arrow")
        refused(rf"{path}(, batch \d)?: ", path, "arrow")
    if format == "stream":
        refused(r", batch [3-5]: ", csv(tmp_path, content[: len(content) // 2], "short.arrow"), "arrow")


def test_arrow_damaged_in_the_middle(table, tmp_path):
    path = write(table.select(["key", "a"]), tmp_path / "x.arrow", "arrow")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 600] = b"\xff" * 600
    path.write_bytes(content)
    source = open_table(path, "arrow", id_columns=["key"])
    with pytest.raises(SourceError, match=rf"{path}, batch \d: "):
        list(source.ids(5))


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_other_content(tmp_path, format):
    noise = np.random.default_rng(0).bytes(5000)
    refused(rf"{tmp_path}/x", csv(tmp_path, noise, "x"), format)


def test_table_is_no_folder_of_one(tmp_path):
    refused("no data files", tmp_path, "csv")


# Memory


def test_memory_is_declared(table, tmp_path):
    path = write(table, tmp_path / "x.parquet", "parquet")
    source = open_table(path, "parquet", columns=["a", "c"])
    assert 8 + 4 + 2 * 8 <= source.read_bytes <= 5 * (8 + 4 + 2 * 8)
    assert 0 < source.overhead < open_table(path, "parquet").overhead
    assert open_table(table, "parquet").overhead == 0


def test_a_large_row_group_is_never_in_memory_at_once(tmp_path):
    table = pa.table({name: np.random.default_rng(0).normal(size=2_000_000) for name in "abcd"})
    path = write(table, tmp_path / "x.parquet", "parquet", row_group_size=2_000_000)
    size = table.nbytes
    del table
    source, pool = open_table(path, "parquet"), pa.default_memory_pool()
    before, most = pool.bytes_allocated(), 0
    for _ in source.pieces(1000):
        most = max(most, pool.bytes_allocated() - before)
    assert most < source.overhead + 1000 * source.read_bytes
    assert most < size / 2
