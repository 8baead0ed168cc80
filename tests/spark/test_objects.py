"""Columns of objects and whole rows as records on Spark: the same labels as here, row for row."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import apnc
from apnc.kernels import EditSimilarity, Jaccard, Record, Spectrum, TimeWarp, WeisfeilerLehman
from benchmarks.objects.generated import FIELDS, mixed_records

pytest.importorskip("pyspark", reason="pyspark is missing")

import apnc.spark

WORDS = ["".join("abcdxyz"[(i * j + i // 7) % 7] for j in range(1, 4 + i % 5)) for i in range(90)]
TOKENS = [list(word) for word in WORDS]
SERIES = [[float("abcdxyz".index(letter)) for letter in word] for word in WORDS]
ROWS, _ = mixed_records(90, seed=4)
COLUMNS = {name: [row.get(name) for row in ROWS] for name in FIELDS}
COLUMNS["joined"] = [day and datetime.date.fromisoformat(day) for day in COLUMNS["joined"]]
WEIGHTS = np.arange(90) % 3 + 1.0
RUNS = Spectrum(1, 2)
COUNTS = [{letter: float(word.count(letter)) for letter in sorted(set(word))} for word in WORDS]
GRAPHS = [
    {"n": len(word), "node_labels": list(word), "edges": [[i, i + 1] for i in range(len(word) - 1)]}
    for word in WORDS
]
#: A column of objects, a kernel for it, and the same objects here.
CASES = {
    "sets": (TOKENS, Jaccard()),
    "counts": (COUNTS, Jaccard()),
    "graphs": (GRAPHS, WeisfeilerLehman(2)),
    "edits": (WORDS, EditSimilarity()),
    "warped": (SERIES, TimeWarp(band=0.5)),
    "text": (WORDS, RUNS),
    "tokens": (TOKENS, RUNS),
    "series": (SERIES, RUNS),
    "row": (ROWS, Record(FIELDS)),
    "radial": (WORDS, RUNS.rbf()),
}


@pytest.fixture(scope="module")
def frame(spark):
    structs = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    columns = {
        "text": WORDS,
        "tokens": TOKENS,
        "series": SERIES,
        "row": structs,
        "radial": WORDS,
        "w": WEIGHTS,
        "sets": TOKENS,
        "counts": pa.array([list(counts.items()) for counts in COUNTS], pa.map_(pa.string(), pa.float64())),
        "graphs": GRAPHS,
        "edits": WORDS,
        "warped": SERIES,
    }
    return spark.createDataFrame(pa.table({"id": np.arange(90), **columns, **COLUMNS})).repartition(3)


def labels_of(frame, column):
    return frame.select("id", column).toArrow().sort_by("id")[column].to_numpy()


@pytest.mark.parametrize("method", ["KernelKMeans", "SpectralClustering"])
@pytest.mark.parametrize("column", CASES)
def test_same_labels_as_here(frame, column, method):
    objects, kernel = CASES[column]
    local = getattr(apnc, method)(3, kernel=kernel, n_landmarks=25, random_state=0)
    expected = clone(local).fit(objects).labels_
    estimator = getattr(apnc.spark, method)(featuresCol=column, k=3, kernel=kernel, landmarks=25, seed=0)
    np.testing.assert_array_equal(labels_of(estimator.fit(frame).transform(frame), "prediction"), expected)


def test_weights_of_objects(frame):
    local = apnc.KernelKMeans(3, kernel=RUNS, n_landmarks=25, random_state=0)
    expected = clone(local).fit(WORDS, sample_weight=WEIGHTS)
    found = clone(local).fit(apnc.open(frame, object_field="text", weight_column="w"))
    np.testing.assert_allclose(found.cluster_sizes_, expected.cluster_sizes_)


def test_rows_are_records(frame):
    km = apnc.KernelKMeans(3, kernel=Record(FIELDS), n_landmarks=25, random_state=0)
    expected = clone(km).fit(ROWS).labels_
    found = clone(km).fit(frame.select("id", *FIELDS))
    np.testing.assert_array_equal(labels_of(found.predict(frame.select("id", *FIELDS)), "label"), expected)
    with pytest.raises(ValueError, match=r"no column 'agee'. Did you mean 'age'\?"):
        apnc.KernelKMeans(3, kernel="record(agee=number)").fit(frame.select("id", "age", "plan"))
    with pytest.raises(ValueError, match="Spectrum takes objects: name their column with object_field="):
        apnc.KernelKMeans(3, kernel=RUNS).fit(frame.select("id", "age", "text"))


def test_bad_objects_are_named(frame):
    estimator = apnc.spark.KernelKMeans(featuresCol="row", k=2, kernel="record(plan=number)")
    with pytest.raises(Exception, match=r"partition \d+, row \d+: the field 'plan': found str"):
        estimator.fit(frame)


@pytest.mark.parametrize("column", ["text", "row", "radial"])
def test_saved_and_loaded(frame, tmp_path, column):
    kernel = CASES[column][1]
    estimator = apnc.spark.KernelKMeans(featuresCol=column, k=3, kernel=kernel, landmarks=25)
    estimator.save(str(tmp_path / "estimator"))
    assert apnc.spark.KernelKMeans.load(str(tmp_path / "estimator")).getKernel() == kernel
    model = estimator.fit(frame)
    model.save(str(tmp_path / "model"))
    loaded = apnc.spark.KernelKMeansModel.load(str(tmp_path / "model"))
    assert loaded.getKernel() == kernel
    np.testing.assert_array_equal(
        labels_of(loaded.transform(frame), "prediction"), labels_of(model.transform(frame), "prediction")
    )
