"""Frames, queries and streams of Arrow data, and columns that folders are named after, are tables like any other."""

import gc
import subprocess
import sys
import tempfile

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import apnc
from apnc import KernelEmbedding, KernelKMeans
from apnc.sources import SourceError

N = 300
SMALL = {"n_landmarks": 40, "random_state": 0}


@pytest.fixture(autouse=True)
def spools(tmp_path, monkeypatch):
    """The folder of temporary files; nothing may be left in it."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    gc.collect()
    assert not list(folder.iterdir())


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)) + 4 * rng.integers(0, 3, size=(N, 1))


@pytest.fixture(scope="module")
def table(X):
    return pa.table(
        {
            "key": [f"k{i:03}" for i in range(N)],
            "a": X[:, 0],
            "b": X[:, 1],
            "kind": pa.array(["u", "v", "w"] * (N // 3)).dictionary_encode(),
            "w": np.arange(N) % 4 + 0.5,
            "c": X[:, 2],
        }
    )


class OnlyArrow:
    """An object of a library that nobody has heard of."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def relation(table):
    connection = duckdb.connect()
    connection.register("rows", table)
    return connection.sql("SELECT * FROM rows")


def result(table):
    connection = duckdb.connect()
    connection.register("rows", table)
    return connection.execute("SELECT * FROM rows")


#: Read in pieces by ``fit`` as they are, and whether they can be given twice.
STREAMS = {
    "polars.LazyFrame": (lambda table: pl.from_arrow(table).lazy(), True),
    "duckdb.DuckDBPyRelation": (relation, True),
    "duckdb.DuckDBPyConnection": (result, False),
    "pyarrow.RecordBatchReader": (lambda table: table.to_reader(max_chunksize=17), False),
    "test_source_streams.OnlyArrow": (OnlyArrow, True),
    "pyarrow.InMemoryDataset": (ds.dataset, True),
    "pyarrow.Table": (lambda table: table, True),
}
#: Rows in memory for ``fit``, sources by ``apnc.open``.
FRAMES = {
    "polars.DataFrame": pl.from_arrow,
    "pandas.DataFrame": lambda table: table.to_pandas(),
}
ALL = {name: make for name, (make, _) in STREAMS.items()} | FRAMES
kinds = pytest.mark.parametrize("name", ALL)


@kinds
def test_columns_by_name_and_labels_in_order(name, X, table, tmp_path):
    source = apnc.open(ALL[name](table), id_columns=["key", "kind"], weight_column="w")
    assert source.columns == ("a", "b", "c")
    assert source.name == name or source.name.endswith(name)
    assert source.count() == (N, True)
    km = KernelKMeans(3, **SMALL).fit(source, to=tmp_path / "labels.csv")
    expected = KernelKMeans(3, **SMALL).fit(X, sample_weight=table["w"].to_numpy())
    assert list(km.feature_names_in_) == ["a", "b", "c"]
    written = pd.read_csv(tmp_path / "labels.csv")
    assert list(written.columns) == ["key", "kind", "label"]
    assert written["key"].tolist() == table["key"].to_pylist()
    assert written["kind"].tolist() == table["kind"].to_pylist()
    np.testing.assert_array_equal(written["label"], expected.labels_)


@kinds
def test_exclude_and_columns(name, X, table):
    excluded = apnc.open(ALL[name](table), exclude=["w", "b"])
    picked = apnc.open(ALL[name](table), columns=["c", "a"])
    assert (excluded.columns, picked.columns) == (("a", "c"), ("c", "a"))
    for source, rows in ((excluded, X[:, [0, 2]]), (picked, X[:, [2, 0]])):
        found = np.concatenate([source.decode(piece).rows for piece in source.pieces(41)])
        np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize("name", STREAMS)
def test_fit_and_predict_take_them_as_they_are(name, X, table, spools):
    make, again = STREAMS[name]
    data = make(table.drop_columns(["w", "kind"]))
    km = KernelKMeans(3, **SMALL).fit(data)
    assert not list(spools.iterdir())
    np.testing.assert_array_equal(km.labels_, KernelKMeans(3, **SMALL).fit(X).labels_)
    assert list(km.feature_names_in_) == ["a", "b", "c"]
    reordered = make(table.select(["c", "w", "key", "b", "a"]))
    np.testing.assert_array_equal(km.predict(reordered), km.labels_)
    if again:
        np.testing.assert_array_equal(km.predict(data), km.labels_)
        np.testing.assert_allclose(
            KernelEmbedding(**SMALL).fit_transform(data), KernelEmbedding(**SMALL).fit_transform(X), atol=1e-8
        )


def test_options_of_files_are_refused(table):
    for options in ({"format": "csv"}, {"filesystem": pa.fs.LocalFileSystem()}, {"separator": ";"}):
        (name,) = options
        with pytest.raises(SourceError, match=f"{name}= cannot be used with"):
            apnc.open(table, **options)


def test_a_stream_that_was_read_says_so(table):
    reader = table.select(["a", "b"]).to_reader()
    km = KernelKMeans(2, **SMALL).fit(reader)
    with pytest.raises(SourceError, match=r"RecordBatchReader has no rows, or was read before.*apnc\.open"):
        km.predict(reader)
    source = apnc.open(table.select(["a", "b"]).to_reader())
    np.testing.assert_array_equal(km.fit(source).predict(source), km.labels_)


def test_a_query_that_fails_says_why_and_leaves_nothing(table, spools):
    broken = relation(table).query("r", "SELECT CAST(key AS DOUBLE) AS x FROM r")
    with pytest.raises((ValueError, duckdb.Error), match="k000"):
        apnc.open(broken)
    assert not list(spools.iterdir())

    def batches():
        yield from table.to_batches(50)[:2]
        raise ValueError("the line is dead")

    with pytest.raises(SourceError, match=r"RecordBatchReader: .*the line is dead"):
        apnc.open(pa.RecordBatchReader.from_batches(table.schema, batches()))
    assert not list(spools.iterdir())
    with pytest.raises(pl.exceptions.PolarsError):
        apnc.open(pl.LazyFrame({"x": ["a"]}).select(pl.col("x").cast(pl.Float64)))
    assert not list(spools.iterdir())


def test_a_filtered_dataset(table, tmp_path, X):
    pq.write_table(table, tmp_path / "x.parquet")
    some = ds.dataset(tmp_path / "x.parquet").filter(ds.field("a") > 0)
    found = apnc.open(some, columns=["a", "b", "c"])
    rows = np.concatenate([found.decode(piece).rows for piece in found.pieces(41)])
    np.testing.assert_array_equal(rows, X[X[:, 0] > 0])


def test_dictionaries_that_change_from_batch_to_batch(tmp_path):
    parts = [pa.array([word] * 20).dictionary_encode() for word in ("x", "y", "z")]
    batches = [
        pa.record_batch({"kind": part, "a": np.arange(20.0) + 100 * i}) for i, part in enumerate(parts)
    ]
    source = apnc.open(pa.RecordBatchReader.from_batches(batches[0].schema, batches), id_columns=["kind"])
    KernelKMeans(3, **SMALL).fit(source, to=tmp_path / "labels.csv")
    assert pd.read_csv(tmp_path / "labels.csv")["kind"].tolist() == ["x"] * 20 + ["y"] * 20 + ["z"] * 20


def test_ids_that_are_views(tmp_path):
    """What polars gives as Arrow data, which few of pyarrow's writers can write."""
    frame = pl.DataFrame({"key": [f"k{i}" for i in range(30)], "a": np.arange(30.0)})
    assert pa.types.is_string_view(pa.table(frame).schema.field("key").type)
    for target in ("labels.csv", "labels.parquet"):
        source = apnc.open(pa.RecordBatchReader.from_stream(frame), id_columns=["key"], drop_null=True)
        KernelKMeans(2, **SMALL).fit(source, to=tmp_path / target)
    assert pd.read_csv(tmp_path / "labels.csv")["key"].tolist() == frame["key"].to_list()
    assert pq.read_table(tmp_path / "labels.parquet")["key"].to_pylist() == frame["key"].to_list()


def test_lists_missing_values_and_weights_of_streams(X, spools):
    vectors = pl.LazyFrame({"v": X.tolist(), "w": [1.0] * N})
    assert apnc.open(vectors, weight_column="w").columns == ("v[0]", "v[1]", "v[2]")
    holed = pl.LazyFrame({"x": [1.0, None, 3.0] * 10})
    with pytest.raises(ValueError, match=r"polars\.LazyFrame: 10 missing values in 10 rows, in x \(10\)"):
        KernelKMeans(2, **SMALL).fit(holed)
    with pytest.raises(ValueError, match=r"apnc\.open\(\.\.\., weight_column='name'\)"):
        KernelKMeans(2, **SMALL).fit(vectors, sample_weight=np.ones(N))
    gc.collect()


def test_frames_in_memory_keep_their_weights_beside_them(X):
    weights = np.arange(N) % 3 + 1.0
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    found = KernelKMeans(3, **SMALL).fit(frame, sample_weight=weights)
    np.testing.assert_array_equal(
        found.labels_, KernelKMeans(3, **SMALL).fit(X, sample_weight=weights).labels_
    )


def test_large_batches_are_cut_on_their_way_to_the_file(spools):
    wide = pa.table({f"x{j}": np.arange(200_000.0) for j in range(10)})
    source = apnc.open(wide.to_reader(max_chunksize=200_000))
    (file,) = spools.iterdir()
    with pa.ipc.open_stream(str(file)) as stored:
        sizes = [batch.nbytes for batch in stored]
    assert max(sizes) <= 1 << 22
    assert source.overhead < 3 * (1 << 22) + (1 << 24) + 1


MEASURED = """
import resource, sys, threading
import numpy as np, polars as pl, pyarrow as pa, duckdb
import apnc
kind, rows = sys.argv[1], int(sys.argv[2])
def batches():
    rng = np.random.default_rng(0)
    for _ in range(rows // 20_000):
        yield pa.record_batch({f"x{j}": rng.normal(size=20_000) for j in range(10)})
def made():
    if kind == "reader":
        schema = pa.schema([(f"x{j}", pa.float64()) for j in range(10)])
        return pa.RecordBatchReader.from_batches(schema, batches())
    if kind == "lazy":
        return pl.scan_parquet(sys.argv[3]).with_columns((pl.col("x0") * 2).alias("y"))
    duckdb.sql("SET memory_limit='100MB'; SET threads=1")
    return duckdb.sql(f"SELECT x0 * 2 AS y, * FROM read_parquet('{sys.argv[3]}')")
apnc.open(made() if rows else pa.table({"x": [1.0]}))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.parametrize("kind", ["reader", "lazy", "relation"])
def test_streams_are_never_in_memory_as_a_whole(kind, tmp_path):
    rows, rng = 1_600_000, np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(10)])
    with pq.ParquetWriter(tmp_path / "x.parquet", schema, compression="none", use_dictionary=False) as writer:
        for _ in range(rows // 20_000):
            writer.write_table(pa.table({f"x{j}": rng.normal(size=20_000) for j in range(10)}))

    def peak(n_rows):
        command = [sys.executable, "-c", MEASURED, kind, str(n_rows), str(tmp_path / "x.parquet")]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert peak(rows) - peak(0) < 0.7 * rows * 10 * 8


# Folders that are named after a value


def hive(folder, table, by, format="parquet"):
    ds.write_dataset(table, folder, partitioning=ds.partitioning(by, flavor="hive"), format=format)
    (folder / "_SUCCESS").touch()
    (folder / "_metadata").write_bytes(b"no data")
    return folder


@pytest.fixture
def dated(table):
    """In the order of the folders."""
    return (
        table.drop_columns(["kind", "w"])
        .append_column("year", pa.array(np.repeat([2023, 2024], N // 2)))
        .append_column("region", pa.array(np.tile(np.repeat(["eu", "us"], N // 4), 2)))
    )


BY = pa.schema([("year", pa.int64()), ("region", pa.string())])


@pytest.mark.parametrize("format", ["parquet", "feather", "csv"])
def test_partition_columns_are_columns(dated, X, tmp_path, format):
    folder = hive(tmp_path / "x", dated, BY, format=format)
    ending = format if format != "feather" else "arrow"
    for data in (
        folder,
        folder.as_uri(),
        folder / "year=*",
        f"{folder}/*/*/*.{format}",
        [folder],
        ds.dataset(folder, format=format, partitioning="hive"),
    ):
        told = {} if isinstance(data, ds.Dataset) else {"format": ending}
        source = apnc.open(data, **told, id_columns=["key", "region"])
        assert set(source.columns) == {"a", "b", "c", "year"}
        rows = apnc.open(data, **told, columns=["year", "a", "b", "c"])
        found = np.concatenate([rows.decode(piece).rows for piece in rows.pieces(41)])
        np.testing.assert_array_equal(found, np.column_stack([dated["year"].to_numpy(), X]))
        ids = pa.Table.from_batches([pa.record_batch(part) for part in in_batches(source.ids(41))])
        assert ids["key"].to_pylist() == dated["key"].to_pylist()
        assert ids["region"].to_pylist() == dated["region"].to_pylist()


def in_batches(parts):
    return ({name: column.combine_chunks() for name, column in part.items()} for part in parts)


def test_partition_columns_alone_as_ids_weights_and_excluded(dated, X, tmp_path):
    folder = hive(tmp_path / "x", dated, BY, format="csv")
    source = apnc.open(folder, id_columns=["year"], exclude=["b"])
    assert source.columns == ("a", "c")
    years = [int(year) for part in source.ids(41) for year in part["year"].to_pylist()]
    assert years == dated["year"].to_pylist()
    weighted = apnc.open(folder, weight_column="year")
    assert weighted.columns == ("a", "b", "c")
    weights = np.concatenate([weighted.decode(piece).weights for piece in weighted.pieces(41)])
    np.testing.assert_array_equal(weights, dated["year"].to_numpy())
    assert apnc.open(folder, exclude=["year"]).columns == ("a", "b", "c")
    only = apnc.open(folder, columns=["year"])
    np.testing.assert_array_equal(
        np.concatenate([only.decode(piece).rows for piece in only.pieces(41)])[:, 0], dated["year"].to_numpy()
    )
    with pytest.raises(SourceError, match=r"column 'region' is of type string, which is not numeric"):
        apnc.open(folder, columns=["a", "region"])


def test_labels_of_partitioned_files_are_those_of_rows_in_memory(dated, X, tmp_path):
    folder = hive(tmp_path / "x", dated, BY)
    source = apnc.open(folder, columns=["year", "a", "b", "c"], id_columns=["key", "year", "region"])
    km = KernelKMeans(3, **SMALL).fit(source, to=tmp_path / "labels.parquet")
    expected = KernelKMeans(3, **SMALL).fit(np.column_stack([dated["year"].to_numpy(), X]))
    labels = pq.read_table(tmp_path / "labels.parquet")
    assert labels.drop_columns("label").to_pydict() == dated.select(["key", "year", "region"]).to_pydict()
    np.testing.assert_array_equal(labels["label"], expected.labels_)
    np.testing.assert_array_equal(km.predict(folder), expected.labels_)


@pytest.mark.parametrize(
    ("names", "type_", "values"),
    [
        (["1", "2"], pa.int64(), [1, 2]),
        (["0.5", "2"], pa.float64(), [0.5, 2.0]),
        (["a b/c", "2"], pa.string(), ["a b/c", "2"]),
        (["__HIVE_DEFAULT_PARTITION__", "2"], pa.int64(), [None, 2]),
        (["2024-01-05", "2024-01-06"], pa.string(), ["2024-01-05", "2024-01-06"]),
    ],
)
def test_types_of_partition_columns(tmp_path, names, type_, values):
    from urllib.parse import quote

    for i, name in enumerate(names):
        inside = tmp_path / "x" / str(i) / f"v={quote(name, safe='')}"
        inside.mkdir(parents=True)
        pq.write_table(pa.table({"a": [float(i)]}), inside / "part.parquet")
    source = apnc.open(tmp_path / "x", id_columns=["v"], columns=["a"])
    (part,) = source.ids(10)
    assert (part["v"].type, part["v"].to_pylist()) == (type_, values)


def test_a_column_of_the_files_wins_over_the_name_of_the_folder(tmp_path):
    for year in (1, 2):
        (tmp_path / "x" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"year": [year + 0.5]}), tmp_path / "x" / f"year={year}" / "x.parquet")
    source = apnc.open(tmp_path / "x")
    np.testing.assert_array_equal(source.decode(next(source.pieces(5))).rows, [[1.5], [2.5]])


def test_a_single_file_or_folder_has_no_values_of_the_folders_above_it(dated, tmp_path):
    folder = hive(tmp_path / "x", dated, BY)
    assert apnc.open(folder / "year=2024" / "region=eu").columns == ("a", "b", "c")
    (file,) = (folder / "year=2024" / "region=eu").iterdir()
    assert apnc.open(file).columns == ("a", "b", "c")


def test_files_without_rows_in_partitioned_folders(tmp_path):
    for year, text in ((1, ""), (2, "a\n"), (3, "a\n5\n")):
        (tmp_path / "x" / f"year={year}").mkdir(parents=True)
        (tmp_path / "x" / f"year={year}" / "x.csv").write_text(text)
    source = apnc.open(tmp_path / "x")
    np.testing.assert_array_equal(source.decode(next(source.pieces(5))).rows, [[5, 3]])
