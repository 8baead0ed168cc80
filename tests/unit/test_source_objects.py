"""Objects in tables: records of named columns, columns of objects, missing ones, and their memory."""

import datetime
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import apnc
from apnc.kernels import Category, Number, Record, Spectrum
from apnc.rows import numbers_held
from apnc.sources import SourceError
from benchmarks.objects.generated import FIELDS, mixed_records

ROWS, _ = mixed_records(300, seed=5)
COLUMNS = {name: [row.get(name) for row in ROWS] for name in FIELDS}
TABLE = pa.table(
    {
        **COLUMNS,
        "joined": [None if day is None else datetime.date.fromisoformat(day) for day in COLUMNS["joined"]],
        "key": [f"k{i}" for i in range(len(ROWS))],
        "times": np.arange(len(ROWS)) % 3 + 1.0,
    }
)
KM = apnc.KernelKMeans(4, kernel=Record(FIELDS), n_landmarks=80, random_state=0)
WORDS = [
    None if i % 50 == 7 else "".join("abcdef"[(i * j) % 5] for j in range(1, 2 + i % 7)) for i in range(300)
]


def write(table, path):
    """The table in the format that the path names; dates stay dates."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=70)
    elif path.suffix == ".arrow":
        pa.feather.write_feather(table, path, chunksize=70)
    else:
        pa.csv.write_csv(table, path)
    return path


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_tables_are_records(tmp_path, ending):
    path = write(TABLE, tmp_path / f"customers.{ending}")
    expected = clone(KM).fit(ROWS)
    found = clone(KM).fit(path)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(apnc.open(path, id_columns="key")), expected.labels_)
    np.testing.assert_array_equal(clone(KM).fit(TABLE).labels_, expected.labels_)


def test_weights_and_ids_of_records(tmp_path):
    path = write(TABLE, tmp_path / "customers.parquet")
    source = apnc.open(path, weight_column="times", id_columns=["key"])
    expected = clone(KM).fit(ROWS, sample_weight=TABLE["times"].to_numpy())
    np.testing.assert_array_equal(clone(KM).fit(source).labels_, expected.labels_)
    expected.predict(source, to=tmp_path / "labels.parquet")
    written = pq.read_table(tmp_path / "labels.parquet")
    assert written["key"].to_pylist() == TABLE["key"].to_pylist()
    np.testing.assert_array_equal(written["label"], expected.labels_)


def test_tables_without_numbers_can_be_records(tmp_path):
    path = write(TABLE.select(["plan", "note"]), tmp_path / "words.parquet")
    km = apnc.KernelKMeans(3, kernel="record(plan=category, note=text)", random_state=0).fit(path)
    assert len(km.labels_) == len(ROWS)
    for refused in ("rbf", lambda A, B: np.ones((len(A), len(B)))):
        with pytest.raises(SourceError, match=r"no numeric column.*Columns: plan \(text\), note \(text\)"):
            apnc.KernelKMeans(3, kernel=refused).fit(path)


def test_columns_of_records_are_checked(tmp_path):
    path = write(TABLE, tmp_path / "customers.parquet")
    with pytest.raises(SourceError, match=r"no column 'agee'. Did you mean 'age'"):
        apnc.KernelKMeans(2, kernel=Record({"agee": Number()})).fit(path)
    with pytest.raises(
        SourceError,
        match=r"customers.parquet, row group 0, row \d: the field 'plan': found str .*expected a number",
    ):
        apnc.KernelKMeans(2, kernel=Record({"plan": Number()})).fit(path)
    with pytest.raises(SourceError, match=r"columns= and exclude= \(--columns, --exclude\) have no effect"):
        apnc.KernelKMeans(2, kernel=Record({"plan": Category()})).fit(apnc.open(path, columns=["age"]))
    with pytest.raises(
        SourceError, match=r"Spectrum takes objects: name their column with object_field=.*plan \(string\)"
    ):
        apnc.KernelKMeans(2, kernel=Spectrum()).fit(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_a_column_of_text(tmp_path, ending):
    there = [word for word in WORDS if word is not None]
    table = pa.table({"text": there, "key": np.arange(len(there))})
    path = write(table, tmp_path / f"words.{ending}")
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), n_landmarks=30, random_state=0)
    source = apnc.open(path, object_field="text", id_columns="key")
    np.testing.assert_array_equal(clone(km).fit(source).labels_, clone(km).fit(there).labels_)
    with pytest.raises(SourceError, match=r"no column 'txt'. Did you mean 'text'"):
        apnc.open(path, object_field="txt")


def test_null_objects_are_missing(tmp_path):
    path = write(pa.table({"text": WORDS}), tmp_path / "words.parquet")
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), n_landmarks=30, random_state=0)
    with pytest.raises(SourceError, match=r"6 missing values in 6 rows, in text \(6\)"):
        clone(km).fit(apnc.open(path, object_field="text"))
    with pytest.warns(UserWarning, match="6 rows"):
        found = clone(km).fit(apnc.open(path, object_field="text", drop_null=True)).labels_
    there = [word for word in WORDS if word is not None]
    np.testing.assert_array_equal(found, clone(km).fit(there).labels_)


def test_columns_of_lists_and_structs(tmp_path):
    tokens = [list(word or "x") for word in WORDS]
    path = write(pa.table({"tokens": tokens, "row": ROWS}), tmp_path / "nested.parquet")
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), n_landmarks=30, random_state=0)
    found = clone(km).fit(apnc.open(path, object_field="tokens")).labels_
    np.testing.assert_array_equal(found, clone(km).fit(tokens).labels_)
    found = clone(KM).fit(apnc.open(path, object_field="row")).labels_
    np.testing.assert_array_equal(found, clone(KM).fit(ROWS).labels_)


def length(A, B):
    """Similar lengths, for any objects."""
    return np.exp(-np.abs(np.subtract.outer([len(a) for a in A], [float(len(b)) for b in B])))


def test_lists_of_numbers_can_be_objects(tmp_path):
    series = [[float(j) for j in range(1 + i % 9)] for i in range(200)]
    path = write(pa.table({"series": series}), tmp_path / "series.parquet")
    km = apnc.KernelKMeans(3, kernel=length, n_landmarks=9, random_state=0)
    found = clone(km).fit(apnc.open(path, object_field="series")).labels_
    np.testing.assert_array_equal(found, clone(km).fit(series).labels_)


def test_memory_of_objects_is_estimated(tmp_path):
    long, short = ["x" * 10_000] * 20, ["x" * 10] * 20
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(text) + "\n" for text in long))
    column = apnc.open(pa.table({"text": long}), object_field="text")
    for held in (numbers_held(long), apnc.open(path).held, column.held):
        assert 10_000 <= 8 * held <= 12_000
    assert numbers_held(short) < 20
    assert 8 * numbers_held([{"a": "x" * 5000, "b": [1.5] * 1000}]) > 5000 + 32 * 1000
    km = apnc.KernelKMeans(2, kernel=Spectrum(2, 2), n_landmarks=10, random_state=0)
    assert km.plan(long * 10).peak_bytes > km.plan(short * 10).peak_bytes


LIMITED = """
import sys, warnings
import apnc
from apnc.kernels import Spectrum
warnings.simplefilter("ignore")
km = apnc.KernelKMeans(2, kernel=Spectrum(2, 3), n_landmarks=20, random_state=0, n_jobs=2)
km.set_params(memory_limit=sys.argv[2]).fit(sys.argv[1])
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("limit", [600, 1500])
def test_a_memory_limit_on_long_texts_is_kept_or_refused(tmp_path, limit):
    path, rng = tmp_path / "long.jsonl", np.random.default_rng(0)
    with open(path, "w") as file:
        for _ in range(400):
            file.write(json.dumps("".join(rng.choice(list("acgt"), 100_000))) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), f"{limit}MB"], capture_output=True, text=True, check=False
    )
    assert bool(done.returncode) == (limit == 600), done.stderr
    if done.returncode:
        assert "memory_limit" in done.stderr.splitlines()[-1]
    else:
        assert int(done.stdout) < limit * 1e6


def test_categories_do_not_depend_on_the_other_rows_of_a_file(tmp_path):
    """In CSV, a column of numbers becomes text by one value that is none."""
    numbers, mixed = tmp_path / "numbers.csv", tmp_path / "mixed.csv"
    codes = [i % 3 for i in range(60)]
    numbers.write_text("code,note\n" + "".join(f"{code},1\n" for code in codes))
    mixed.write_text("code,note\n" + "".join(f"{code},1\n" for code in codes) + "X,a\n")
    km = apnc.KernelKMeans(3, kernel="record(code=category)", random_state=0).fit(numbers)
    np.testing.assert_array_equal(km.predict(mixed)[:-1], km.labels_)
    np.testing.assert_array_equal(km.predict([{"code": code} for code in codes]), km.labels_)
    np.testing.assert_array_equal(km.predict([{"code": float(code)} for code in codes]), km.labels_)
    large = tmp_path / "large.csv"
    large.write_text("code,note\n" + "".join(f"{2**53 + i % 4},1\n" for i in range(40)))
    assert (
        len(set(apnc.KernelKMeans(4, kernel="record(code=category)", random_state=0).fit(large).labels_)) == 4
    )
    apnc.KernelKMeans(2, kernel="record(code=text, note=text)", random_state=0).fit(numbers)


def test_text_that_looks_like_numbers_is_text_in_csv(tmp_path):
    path = tmp_path / "codes.csv"
    codes = [f"{i % 7:03d}{i % 2}" for i in range(50)]
    path.write_text("code,n\n" + "".join(f"{code},1\n" for code in codes))
    km = apnc.KernelKMeans(2, kernel=Spectrum(1, 2), random_state=0)
    found = clone(km).fit(apnc.open(path, object_field="code"))
    np.testing.assert_array_equal(found.labels_, clone(km).fit(codes).labels_)
    more = tmp_path / "folder"
    more.mkdir()
    (more / "a.csv").write_text(path.read_text())
    (more / "b.csv").write_text("code,n\nabc,1\n")
    assert len(found.predict(apnc.open(more, object_field="code"))) == 51


def test_maps_are_dicts(tmp_path):
    counts = [{"a": 1.0 + i % 3, "b": 2.0} for i in range(30)]
    path = tmp_path / "counts.parquet"
    maps = pa.array([list(one.items()) for one in counts], pa.map_(pa.string(), pa.float64()))
    pq.write_table(pa.table({"counts": maps}), path)
    km = apnc.KernelKMeans(3, kernel="jaccard", random_state=0)
    found = clone(km).fit(apnc.open(path, object_field="counts"))
    np.testing.assert_array_equal(found.labels_, clone(km).fit(counts).labels_)
