"""Fitting, predicting and embedding from files gives what rows in memory give."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_blobs
from sklearn.exceptions import NotFittedError

from apnc import KernelEmbedding, KernelKMeans, sources
from apnc.engines.local import Layout
from apnc.run.budget import parse_bytes
from apnc.run.job import Job

NAMES = [f"x{j}" for j in range(6)]


@pytest.fixture(scope="module")
def X():
    return make_blobs(700, n_features=6, centers=5, cluster_std=2.0, random_state=3)[0].round(3)


def estimator(**options):
    return KernelKMeans(5, n_landmarks=60, n_components=40, random_state=0, **options)


def table(X, **more):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    return pa.table({**more, **columns})


def npy(X, folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def fortran(X, folder):
    np.save(folder / "x.npy", np.asfortranarray(X))
    return str(folder / "x.npy")


def memmap(X, folder):
    return np.load(npy(X, folder), mmap_mode="r")


def parquet(X, folder):
    pq.write_table(table(X), folder / "x.parquet", row_group_size=97)
    return folder / "x.parquet"


def parquet_folder(X, folder):
    """Files of very different lengths, one without rows and one with empty row groups."""
    whole = table(X)
    parts = folder / "parts"
    (parts / "deeper").mkdir(parents=True)
    pq.write_table(whole.slice(0, 1), parts / "a.parquet")
    pq.write_table(whole.slice(0, 0), parts / "b.parquet")
    with pq.ParquetWriter(parts / "c.parquet", whole.schema) as writer:
        for start, stop in ((1, 300), (300, 300), (300, 301), (301, 301)):
            writer.write_table(whole.slice(start, stop - start))
    pq.write_table(whole.slice(301).select(NAMES[::-1]), parts / "deeper" / "d.parquet")
    (parts / "_SUCCESS").touch()
    return parts


def arrow(X, folder):
    pyarrow.feather.write_feather(table(X), folder / "x.arrow", chunksize=50)
    return folder / "x.arrow"


def arrow_stream(X, folder):
    whole = table(X)
    with pa.ipc.new_stream(folder / "x.arrows", whole.schema) as writer:
        writer.write_table(whole, max_chunksize=33)
    return folder / "x.arrows"


def csv(X, folder):
    pyarrow.csv.write_csv(table(X), folder / "x.csv")
    return folder / "x.csv"


def csv_compressed(X, folder):
    (folder / "x.csv.gz").write_bytes(gzip.compress(csv(X, folder).read_bytes()))
    return folder / "x.csv.gz"


def csv_without_header(X, folder):
    np.savetxt(folder / "x.csv", X, delimiter=",", fmt="%.3f")
    return folder / "x.csv"


def tsv(X, folder):
    np.savetxt(folder / "x.tsv", X, delimiter="\t", fmt="%.3f", header="\t".join(NAMES), comments="")
    return folder / "x.tsv"


def npz(X, folder):
    sparse.save_npz(folder / "x.npz", sparse.csr_matrix(X))
    return folder / "x.npz"


def svmlight(X, folder):
    dump_svmlight_file(X, np.zeros(len(X)), str(folder / "x.svm"))
    return folder / "x.svm"


def pattern(X, folder):
    for name, part in {"a-1": X[:99], "a-2": X[99:], "b-1": X[:3]}.items():
        pq.write_table(table(part), folder / f"{name}.parquet")
    return folder / "a-*.parquet"


def in_folders(X, folder):
    """The last feature is in the names of the folders alone, which keep the order of the rows by a number in front."""
    parts, last = folder / "hive", X[:, -1]
    starts = [0, *(np.flatnonzero(np.diff(last)) + 1), len(X)]
    for number, (start, stop) in enumerate(pairwise(starts)):
        inside = parts / f"{number:04}" / f"x5={last[start]}"
        inside.mkdir(parents=True)
        pq.write_table(table(X[start:stop]).drop_columns("x5"), inside / "part-0.parquet")
    return parts


def pipe(X, folder):
    """Nothing that could go back to its beginning."""
    return sources.open(os.fdopen(piped(csv(X, folder).read_bytes()), "rb"), format="csv")


def piped(content):
    read, write = os.pipe()
    threading.Thread(target=lambda: (os.write(write, content), os.close(write))).start()
    return read


def lazy(X, folder):
    return pl.scan_parquet(parquet(X, folder))


def duckdb_relation(X, folder):
    return duckdb.connect().read_parquet(str(parquet(X, folder)))


def record_batches(X, folder):
    return sources.open(table(X).to_reader(max_chunksize=33))


def polars_frame(X, folder):
    return sources.open(pl.DataFrame(table(X)))


def pandas_frame(X, folder):
    return sources.open(table(X).to_pandas())


WRITERS = [
    pattern,
    in_folders,
    pipe,
    lazy,
    duckdb_relation,
    record_batches,
    polars_frame,
    pandas_frame,
    npy,
    fortran,
    memmap,
    parquet,
    parquet_folder,
    arrow,
    arrow_stream,
    csv,
    csv_compressed,
    csv_without_header,
    tsv,
    npz,
    svmlight,
    lambda X, folder: table(X),
    lambda X, folder: pyarrow.dataset.dataset(parquet(X, folder)),
    lambda X, folder: open(csv(X, folder), "rb"),  # noqa: SIM115
]
formats = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several chunks however small the data is."""
    plain = Layout.rows_per_chunk
    monkeypatch.setattr(Layout, "rows_per_chunk", lambda self, *size: min(61, plain(self, *size)))


@pytest.fixture(params=["in memory", "spilled"])
def where(request, monkeypatch):
    if request.param == "spilled":
        monkeypatch.setattr(Job, "room", lambda job, sizes: 10_000)


@formats
def test_every_format_gives_the_labels_of_rows_in_memory(X, write, tmp_path, where):
    data = write(X, tmp_path)
    km, expected = estimator().fit(data), estimator().fit(X)
    np.testing.assert_array_equal(km.labels_, expected.labels_)
    assert km.inertia_ == pytest.approx(expected.inertia_)
    assert km.n_features_in_ == 6
    np.testing.assert_array_equal(km.predict(data), expected.labels_)
    np.testing.assert_allclose(km.embed(data), expected.embed(X), atol=1e-6)
    np.testing.assert_allclose(km.transform(data), expected.transform(X), atol=1e-6)
    assert km.score(data) == pytest.approx(expected.score(X))


@formats
def test_every_format_feeds_the_embedding(X, write, tmp_path):
    data = write(X, tmp_path)
    options = {"n_landmarks": 60, "random_state": 0}
    found = KernelEmbedding(**options).fit(data).transform(data)
    np.testing.assert_allclose(found, KernelEmbedding(**options).fit(X).transform(X), atol=1e-8)


def test_json_lines_of_objects(tmp_path):
    words = ["alpha", "alphas", "beta", "betas", "gamma", "gammas"] * 20
    path = tmp_path / "words.jsonl"
    path.write_text("".join(json.dumps({"word": word, "n": i}) + "\n" for i, word in enumerate(words)))

    def shared_letters(A, B):
        return np.array([[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A])

    options = {"kernel": shared_letters, "n_landmarks": 6, "random_state": 0}
    expected = KernelKMeans(3, **options).fit(words)
    source = sources.open(path, object_field="word", id_columns=["n"])
    found = KernelKMeans(3, **options).fit(source)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    found.predict(source, to=tmp_path / "labels.parquet")
    labels = pq.read_table(tmp_path / "labels.parquet")
    assert labels.column_names == ["n", "label"]
    assert labels["n"].to_pylist() == list(range(120))
    with pytest.raises(ValueError, match=r"not objects\. Choose a kernel on objects \(spectrum,"):
        KernelKMeans(3).fit(path)


@formats
@pytest.mark.parametrize("target", ["labels.parquet", "labels.csv", "labels.arrow"])
def test_labels_go_to_a_file_in_the_order_of_the_rows(X, write, target, tmp_path):
    data = write(X, tmp_path)
    km = estimator().fit(data, to=tmp_path / target)
    expected = estimator().fit(X)
    for path in (tmp_path / target, km.predict(data, to=tmp_path / f"again-{target}")):
        labels = read_labels(path)
        assert labels.column_names == ["row", "label"]
        np.testing.assert_array_equal(labels["row"], np.arange(len(X)))
        np.testing.assert_array_equal(labels["label"], expected.labels_)
    with pytest.raises(AttributeError, match=r"labels_ is not kept in memory: the labels are in .*labels\."):
        _ = km.labels_
    assert not hasattr(km, "labels_")


def read_labels(path):
    readers = {".parquet": pq.read_table, ".csv": pa.csv.read_csv, ".arrow": pa.feather.read_table}
    return readers[Path(path).suffix](str(path))


def test_rows_in_memory_can_have_their_labels_in_a_file_too(X, tmp_path):
    estimator().fit(X, to=tmp_path / "labels.csv")
    np.testing.assert_array_equal(read_labels(tmp_path / "labels.csv")["label"], estimator().fit(X).labels_)


@pytest.mark.parametrize("target", ["y.npy", "y.parquet"])
def test_the_embedding_goes_to_a_file(X, target, tmp_path):
    km = estimator().fit(X)
    path = km.embed(parquet(X, tmp_path), to=tmp_path / target)
    read = {
        "y.npy": np.load,
        "y.parquet": lambda file: pq.read_table(file).drop(["row"]).to_pandas().to_numpy(),
    }
    found = read[target](path)
    np.testing.assert_allclose(found, km.embed(X), atol=1e-6)


def test_ids_come_first_and_are_no_features(X, tmp_path):
    names = np.array([f"row {i}" for i in range(len(X))])
    pq.write_table(table(X, key=names, number=np.arange(len(X))), tmp_path / "x.parquet", row_group_size=100)
    source = sources.open(tmp_path / "x.parquet", id_columns=["key", "number"])
    km = estimator().fit(source, to=tmp_path / "labels.parquet")
    assert list(km.feature_names_in_) == NAMES
    labels = pq.read_table(tmp_path / "labels.parquet")
    assert labels.column_names == ["key", "number", "label"]
    assert labels["key"].to_pylist() == names.tolist()
    np.testing.assert_array_equal(labels["label"], estimator().fit(X).labels_)


def test_weights_come_from_a_column(X, tmp_path):
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    pq.write_table(table(X, w=weights), tmp_path / "x.parquet", row_group_size=100)
    source = sources.open(tmp_path / "x.parquet", weight_column="w")
    found, expected = estimator().fit(source), estimator().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    with pytest.raises(ValueError, match="weight_column"):
        estimator().fit(tmp_path / "x.parquet", sample_weight=weights)


def test_columns_are_matched_by_name(X, tmp_path):
    km = estimator().fit(parquet(X, tmp_path))
    other = table(X, more=np.zeros(len(X))).select(["x3", "more", "x1", "x0", "x5", "x4", "x2"])
    np.testing.assert_array_equal(km.predict(other), km.labels_)
    with pytest.raises(ValueError, match="x1"):
        km.predict(table(X).drop(["x1", "x4"]))
    with pytest.raises(ValueError, match="has 5 features, but KernelKMeans is expecting 6 features"):
        km.predict(np_memmap(X[:, :5], tmp_path))
    np.testing.assert_array_equal(km.predict(np_memmap(X, tmp_path)), km.labels_)


def np_memmap(X, folder):
    np.save(folder / "mapped.npy", X)
    return np.load(folder / "mapped.npy", mmap_mode="r")


@pytest.mark.parametrize("write", [npy, parquet, csv, npz], ids=lambda write: write.__name__)
def test_missing_values_are_counted_or_skipped(X, write, tmp_path):
    holed = X.copy()
    holed[[3, 50, 50, 699], [0, 1, 2, 2]] = np.nan
    data = write(holed, tmp_path)
    with pytest.raises(
        ValueError, match=r"4 missing values in 3 rows, in .*\(1\), .*\(1\), .*\(2\)\..*drop_null=True"
    ):
        estimator().fit(data)
    source = sources.open(data, drop_null=True)
    with pytest.warns(UserWarning, match="3 rows with missing values were skipped"):
        km = estimator().fit(source)
    kept = np.isfinite(holed).all(axis=1)
    expected = estimator().fit(X[kept])
    np.testing.assert_array_equal(km.labels_, expected.labels_)
    with pytest.warns(UserWarning, match="3 rows with missing values were skipped"):
        km.predict(source, to=tmp_path / "labels.csv")
    labels = read_labels(tmp_path / "labels.csv")
    np.testing.assert_array_equal(labels["row"], np.flatnonzero(kept))
    np.testing.assert_array_equal(labels["label"], expected.labels_)


def test_infinite_values_are_named(X, tmp_path):
    X = X.copy()
    X[123, 4] = np.inf
    with pytest.raises(ValueError, match=r"x\.parquet, row group 1, row 123: x4 is infinite"):
        estimator().fit(parquet(X, tmp_path))


def test_a_file_that_changes_between_passes_is_noticed(X, tmp_path, monkeypatch):
    path = npy(X, tmp_path)
    source = sources.open(path)
    pieces, passes = source.pieces, []

    def fewer(n_rows):
        passes.append(n_rows)
        yield from (list(pieces(n_rows))[:-1] if len(passes) > 2 else pieces(n_rows))

    monkeypatch.setattr(type(source), "pieces", lambda self, n_rows: fewer(n_rows))
    with pytest.raises(ValueError, match="changed while it was read: 700 rows"):
        estimator().fit(source, to=tmp_path / "labels.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy"]


def test_what_cannot_be_read_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.parquet: there is no such file"):
        estimator().fit(str(tmp_path / "nothing.parquet"))
    with pytest.raises(FileNotFoundError, match=r"nothing: there is no such file or folder"):
        estimator().fit(tmp_path / "nothing")
    (tmp_path / "x.xls").touch()
    with pytest.raises(ValueError, match=r"x\.xls: cannot infer the format from the file name.*\.parquet"):
        estimator().fit(tmp_path / "x.xls")
    np.save(tmp_path / "empty.npy", np.empty((0, 4)))
    with pytest.raises(ValueError, match=r"empty\.npy: there are no rows"):
        estimator().fit(tmp_path / "empty.npy")
    with pytest.raises(ValueError, match="precomputed"):
        KernelKMeans(3, kernel="precomputed").fit(tmp_path / "empty.npy")


def test_too_few_rows_in_a_file(X, tmp_path):
    with pytest.raises(ValueError, match="n_clusters=5 needs at least 5 rows, got n_samples=3"):
        estimator().fit(npy(X[:3], tmp_path))


def test_nothing_is_left_behind_by_an_interrupt(X, tmp_path, monkeypatch):
    monkeypatch.setattr(Job, "room", lambda job, sizes: 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    seen = []

    def interrupt(self, *_):
        seen.append(list((tmp_path / "spill").iterdir()))
        raise KeyboardInterrupt

    monkeypatch.setattr("apnc.progress.Progress.iteration", interrupt)
    files = set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else set()
    with pytest.raises(KeyboardInterrupt):
        estimator().fit(parquet(X, tmp_path), to=tmp_path / "labels.parquet")
    assert seen
    assert not list((tmp_path / "spill").iterdir())
    assert not list(tmp_path.glob("*labels*"))
    if files:
        assert len(os.listdir("/proc/self/fd")) <= len(files)


def test_a_full_disk_is_explained(X, tmp_path, monkeypatch):
    monkeypatch.setattr(Job, "room", lambda job, sizes: 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "r+b", buffering=0))  # noqa: SIM115
    with pytest.raises(OSError, match=r"temporary file in .*TMPDIR.*memory_limit"):
        estimator().fit(npy(X, tmp_path))


FIT = """
import sys, warnings
import numpy as np, pyarrow, pyarrow.parquet
from apnc import KernelKMeans
warnings.simplefilter("ignore")
path, limit = sys.argv[1:3]
KernelKMeans(5, n_landmarks=100, n_components=50, max_iter=3, n_init=1, random_state=0, memory_limit=limit).fit(
    path, to=path + ".labels.parquet")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) * 1024)
"""


def peak_memory(path, limit):
    return subprocess.run([sys.executable, "-c", FIT, str(path), limit], capture_output=True, text=True)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_the_memory_limit_is_obeyed_and_refused_when_too_small(tmp_path):
    rng = np.random.default_rng(0)
    for n in (60_000, 600_000):
        np.save(tmp_path / f"{n}.npy", rng.normal(size=(n, 20)).astype(np.float32))
    refused = peak_memory(tmp_path / "60000.npy", "50MB")
    assert "memory_limit=50MB is too small: this needs at least" in refused.stderr
    limit = refused.stderr.split("needs at least ")[1].split(" ")[0]
    for n in (60_000, 600_000):
        done = peak_memory(tmp_path / f"{n}.npy", limit)
        assert done.returncode == 0, done.stderr
        allowed = float(limit.removesuffix("MB")) * 1e6
        assert int(done.stdout) <= 1.15 * allowed


def test_predicting_keeps_the_limit_too(X):
    km = estimator().fit(X).set_params(memory_limit="9MB")
    for method in (km.predict, km.embed, km.transform):
        with pytest.raises(ValueError, match="memory_limit=9MB is too small"):
            method(X)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 500}, {"n_clusters": 300}])
def test_the_limit_that_is_named_is_enough_at_once(tmp_path, options):
    """Sizes that are only known after sampling do not make a second, larger refusal."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    csv_path = tmp_path / "x.csv"
    np.savetxt(csv_path, X, delimiter=",")
    for data in (X, csv_path):
        with pytest.raises(ValueError, match="is too small") as refused:
            KernelKMeans(random_state=0, memory_limit="9MB", **options).fit(data)
        needed = str(refused.value).split("at least ")[1].split(" ")[0]
        spare = f"{parse_bytes(needed) + 60_000_000}"
        KernelKMeans(random_state=0, max_iter=2, memory_limit=int(spare), **options).fit(data)


@pytest.mark.parametrize("limit", ["20 GB", "20gb", "15.5GiB", 10**11, "70000M", None])
def test_limits_that_are_enough(X, limit):
    expected = estimator().fit(X)
    np.testing.assert_array_equal(estimator(memory_limit=limit).fit(X).labels_, expected.labels_)


@pytest.mark.parametrize("limit", ["much", "-2GB", 0, "0MB", "2 XB"])
def test_limits_that_mean_nothing(X, limit):
    with pytest.raises(ValueError, match=r"memory_limit=.* must be a size such as '2GB'"):
        estimator(memory_limit=limit).fit(X)


def test_float32_files_are_computed_in_float32(X, tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        km = estimator().fit(tmp_path / "x.npy")
    assert km.landmarks_.dtype == np.float32


def test_the_data_is_never_written_over(X, tmp_path):
    path = csv(X, tmp_path)
    before = path.read_bytes()
    km = estimator().fit(X)
    for write in (
        lambda: estimator().fit(path, to=path),
        lambda: km.predict(str(path), to=tmp_path / "." / "x.csv"),
        lambda: km.embed(sources.open(path), to=path),
        lambda: km.predict(parquet_folder(X, tmp_path), to=tmp_path / "parts" / "labels.parquet"),
    ):
        with pytest.raises(ValueError, match="would be written over or among the data"):
            write()
    assert path.read_bytes() == before


def test_options_without_effect_are_refused(X, tmp_path):
    source = sources.open(csv(X, tmp_path))
    for options in ({"columns": ["x0"]}, {"id_columns": ["x0"]}, {"object_field": "a"}):
        with pytest.raises(ValueError, match="cannot be used with a source that is open already"):
            sources.open(source, **options)
    with pytest.raises(ValueError, match="object_field= cannot be used with npy"):
        sources.open(npy(X, tmp_path), object_field="a")
    with pytest.raises(ValueError, match="filesystem= cannot be used with npy"):
        sources.open(npy(X, tmp_path), filesystem=pa.fs.LocalFileSystem())
    with pytest.raises(ValueError, match="zero_based= cannot be used with csv"):
        sources.open(tmp_path / "x.csv", zero_based=True)


def test_a_memory_map_with_weights_or_start_labels(X, tmp_path):
    rows, weights = memmap(X, tmp_path), np.arange(700) % 3 + 1.0
    expected = estimator().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(estimator().fit(rows, sample_weight=weights).labels_, expected.labels_)
    assert expected.score(rows, sample_weight=weights) == expected.score(X, sample_weight=weights)
    init = np.arange(700) % 5
    found = estimator(init=init, n_init=1).fit(rows)
    np.testing.assert_array_equal(found.labels_, estimator(init=init, n_init=1).fit(X).labels_)


def test_lists_of_paths_are_opened_first(X, tmp_path):
    paths = [parquet(X, tmp_path), tmp_path / "x.parquet"]
    for listed in (paths, list(map(str, paths))):
        with pytest.raises(ValueError, match=r"files are read by apnc\.open"):
            estimator().fit(listed)
    both = sources.open(paths)
    assert len(estimator().fit(both).labels_) == 1400
    with pytest.raises(ValueError, match="would be written over"):
        estimator().fit(both, to=paths[1])


def test_warnings_point_at_the_line_that_led_to_them(X, tmp_path):
    holed = X.copy()
    holed[7, 1] = np.nan
    source = sources.open(csv(holed, tmp_path), drop_null=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        km = estimator().fit(source)
        km.predict(source, to=tmp_path / "l.csv")
        km.transform(source)
    assert len(caught) == 3
    assert all("1 row with missing values was skipped" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}


def test_svmlight_says_where_it_counts_from(X, tmp_path):
    Path(tmp_path / "a.svm").write_text("0 0:1 1:2\n0 0:3 1:1\n" * 20)
    Path(tmp_path / "b.svm").write_text("0 1:2\n")
    km = KernelKMeans(2, n_landmarks=2, random_state=0).fit(tmp_path / "a.svm")
    expected = km.predict(np.array([[0.0, 2.0]]))
    found = km.predict(sources.open(tmp_path / "b.svm", zero_based=True))
    np.testing.assert_array_equal(found, expected)


def test_a_first_line_with_an_empty_field_is_data(tmp_path):
    (tmp_path / "x.csv").write_text("1,,3\n4,5,6\n7,8,9\n")
    assert sources.open(tmp_path / "x.csv").columns == ("column_0", "column_1", "column_2")


def test_a_failed_fit_leaves_the_old_one_whole_or_none(X, tmp_path, monkeypatch):
    km, new = estimator().fit(X), estimator()
    before = dict(vars(km))
    monkeypatch.setattr("apnc.pipeline.lloyd", lambda *_: 1 / 0)
    for failing in (km, new):
        with pytest.raises(ZeroDivisionError):
            failing.fit(X[:, :3])
    assert {name: id(value) for name, value in vars(km).items()} == {k: id(v) for k, v in before.items()}
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    with pytest.raises(NotFittedError):
        new.predict(X)
    assert not hasattr(new, "n_features_in_")
