"""Estimators on DataFrames: the same labels as on rows in memory, whatever the columns are."""

import uuid

import numpy as np
import pytest
from pyspark.sql import functions as F
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_circles
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from tests.paper.data import data_folder
from tests.paper.nmi import NEURAL, load
from tests.spark.conftest import labels_of
from tests.unit.test_checkpoint import interrupt_after


def on(frame, **options):
    return apnc.sources.open(frame, **({"exclude": ["id"]} | options))


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)[0]


@pytest.fixture(scope="module")
def fitted(digits):
    return KernelKMeans(10, random_state=0).fit(digits)


@pytest.mark.parametrize("n_partitions", [1, 4, 37, "shuffled"])
def test_the_same_labels(frame_of, blobs, n_partitions):
    settings = {"n_clusters": 8, "n_landmarks": 100, "max_iter": 10, "random_state": 0}
    local = KernelKMeans(**settings).fit(blobs)
    frame = frame_of(blobs, 4)
    frame = frame.repartition(9, F.rand(1)) if n_partitions == "shuffled" else frame.repartition(n_partitions)
    km = KernelKMeans(**settings).fit(on(frame))
    assert km.n_iter_ == local.n_iter_
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)
    np.testing.assert_allclose(km.inertia_, local.inertia_)
    np.testing.assert_array_equal(km.cluster_sizes_, np.bincount(local.labels_, minlength=8))


@pytest.mark.parametrize("n_partitions", [1, 4, 37, "shuffled"])
def test_the_same_labels_on_usps(frame_of, n_partitions):
    folder = data_folder()
    if folder is None:
        pytest.skip("USPS is not here: set APNC_DATA to the folder that holds usps.npz")
    X, settings = (
        load("usps")[0].astype(np.float64),
        NEURAL | {"n_landmarks": 100, "max_iter": 8, "random_state": 0},
    )
    local = KernelKMeans(10, embedding="stable", **settings).fit(X)
    frame = frame_of(X, 2)
    frame = frame.repartition(9, F.rand(1)) if n_partitions == "shuffled" else frame.repartition(n_partitions)
    km = KernelKMeans(10, embedding="stable", **settings).fit(on(frame))
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)


@pytest.mark.parametrize("kind", [KernelKMeans, SpectralClustering])
def test_the_same_choice(frame_of, blobs, kind):
    km, numbers = kind(n_landmarks=100, n_init=2, random_state=0), [2, 3]
    rows = np.concatenate([blobs[:5000], blobs[5000:10_000] + 100])
    local = apnc.choose(rows, km, numbers, fit=False)
    frame = frame_of(rows, 4)
    found = apnc.choose(on(frame), km, numbers)
    assert found.reason == local.reason
    np.testing.assert_allclose(found.columns["stability"], local.columns["stability"])
    assert found.n_clusters == 2
    np.testing.assert_array_equal(np.sort(found.estimator.cluster_sizes_), [5000, 5000])
    assert len(set(labels_of(found.estimator, frame)[:5000])) == 1


def as_vectors(frame, n):
    from pyspark.ml.functions import array_to_vector

    return frame.select("id", array_to_vector(F.array(*[f"x{j}" for j in range(n)])).alias("features"))


def as_arrays(frame, n):
    return frame.select("id", F.array(*[f"x{j}" for j in range(n)]).alias("features"))


@pytest.mark.parametrize("convert", [as_vectors, as_arrays])
def test_columns_of_vectors_and_arrays(frame_of, digits, fitted, convert):
    frame = convert(frame_of(digits), 64)
    km = KernelKMeans(10, random_state=0).fit(frame)
    np.testing.assert_array_equal(labels_of(km, frame), fitted.labels_)
    np.testing.assert_array_equal(km.predict(digits), fitted.labels_)
    assert not hasattr(km, "feature_names_in_")


def test_arrays_of_float32(frame_of, digits):
    X = digits.astype(np.float32)
    frame = as_arrays(frame_of(digits), 64).withColumn("features", F.col("features").cast("array<float>"))
    km = KernelKMeans(10, random_state=0).fit(frame)
    local = KernelKMeans(10, random_state=0).fit(X)
    np.testing.assert_allclose(km.inertia_, local.inertia_, rtol=1e-5)
    assert km.landmarks_.dtype == np.float32


def test_sparse_vectors(spark, digits):
    from pyspark.ml.linalg import SparseVector
    from scipy.sparse import csr_matrix

    X = np.where(digits > 12, digits, 0)
    rows = [
        (i, SparseVector(64, dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))))
        for i, row in enumerate(csr_matrix(X))
    ]
    frame = spark.createDataFrame(rows, ["id", "features"]).repartition(3)
    source = apnc.sources.open(frame)
    assert source.is_sparse
    km = KernelKMeans(10, kernel="cosine", random_state=0).fit(source)
    local = KernelKMeans(10, kernel="cosine", random_state=0).fit(csr_matrix(X))
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)


def test_weights(frame_of, digits):
    weights = np.arange(len(digits)) % 3
    frame = frame_of(digits, w=weights)
    km = KernelKMeans(10, random_state=0).fit(on(frame, weight_column="w"))
    local = KernelKMeans(10, random_state=0).fit(digits, sample_weight=weights)
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)
    np.testing.assert_allclose(km.cluster_sizes_, local.cluster_sizes_)


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A])


def test_objects_with_a_kernel_function(spark):
    words = [f"{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijklmnop"]
    frame = spark.createDataFrame(list(enumerate(words)), ["id", "word"]).repartition(3)
    km = KernelKMeans(4, kernel=shared_letters, n_landmarks=60, random_state=0)
    labels = labels_of(km.fit(on(frame, exclude=(), object_field="word")), on_words(frame))
    local = KernelKMeans(4, kernel=shared_letters, n_landmarks=60, random_state=0).fit(words)
    np.testing.assert_array_equal(labels, local.labels_)


def on_words(frame):
    return on(frame, exclude=(), object_field="word")


def test_weights_of_objects_are_checked(spark):
    frame = spark.createDataFrame([("ab", 1.0), ("ac", -2.0), ("bd", 1.0)], ["word", "w"]).coalesce(1)
    with pytest.raises(ValueError, match=r"row 1: the weight -2 must be a finite number >= 0"):
        KernelKMeans(2, kernel=shared_letters).fit(
            on(frame, exclude=(), object_field="word", weight_column="w")
        )


def test_single_names_and_contradictions(frame_of, digits):
    vectors = as_vectors(frame_of(digits), 64)
    assert apnc.sources.open(vectors).n_columns == 64
    assert "x0" not in apnc.sources.open(frame_of(digits), exclude="x0").columns
    with pytest.raises(ValueError, match=r"exclude= has no effect"):
        apnc.sources.open(vectors, columns=["features"], exclude=["id"])
    with pytest.raises(ValueError, match=r"columns= and exclude= cannot be used"):
        apnc.sources.open(frame_of(digits), object_field="x0", exclude=["id"])


def test_other_columns_are_untouched(frame_of, digits, fitted):
    frame = (
        frame_of(digits)
        .withColumn("when", F.current_timestamp())
        .withColumn("a.b", F.map_from_arrays(F.array(F.lit("k")), F.array(F.col("id"))))
    )
    km = KernelKMeans(10, random_state=0).fit(on(frame))
    out = km.predict(frame)
    assert out.columns == [*frame.columns, "label"]
    assert out.schema["label"].dataType.typeName() == "integer"
    assert out.drop("label").schema == frame.schema
    assert out.count() == len(digits)
    with pytest.raises(ValueError, match=r"already has a column 'label'; rename or drop it"):
        km.predict(out)


def test_columns_are_matched_by_name(frame_of, digits, fitted):
    km = KernelKMeans(10, random_state=0).fit(on(frame_of(digits)))
    turned = frame_of(digits).select("id", *[f"x{j}" for j in reversed(range(64))], F.lit(1.0).alias("more"))
    np.testing.assert_array_equal(labels_of(km, turned), fitted.labels_)
    with pytest.raises(ValueError, match=r"yet now missing:\n- x5"):
        km.predict(turned.drop("x5"))


def test_embeddings_distances_and_score(frame_of, digits, fitted):
    frame = frame_of(digits)
    km = KernelKMeans(10, random_state=0).fit(on(frame))
    rows = km.embed(frame).orderBy("id").toPandas()
    np.testing.assert_allclose(np.stack(rows.embedding), fitted.embed(digits), atol=1e-6)
    rows = km.transform(frame).orderBy("id").toPandas()
    np.testing.assert_allclose(np.stack(rows.distances), fitted.transform(digits), atol=1e-6)
    np.testing.assert_allclose(km.score(frame), fitted.score(digits))


def test_the_embedding_alone(frame_of, digits):
    frame = frame_of(digits)
    embedded = (
        KernelEmbedding(n_landmarks=50, random_state=0)
        .fit(on(frame))
        .transform(frame)
        .orderBy("id")
        .toPandas()
    )
    local = KernelEmbedding(n_landmarks=50, random_state=0).fit(digits).transform(digits)
    np.testing.assert_allclose(np.stack(embedded.embedding), local, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{"scale": "standard"}, {"init": "random-partition"}, {"embedding": "ensemble"}]
)
def test_other_settings(frame_of, digits, options):
    frame = frame_of(digits)
    km = KernelKMeans(10, random_state=0, **options).fit(on(frame))
    local = KernelKMeans(10, random_state=0, **options).fit(digits)
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_partitions", [2, 5])
def test_the_same_labels_of_a_graph(frame_of, digits, n_partitions, kernel):
    X = digits[:900]
    frame = frame_of(X, n_partitions)
    km = SpectralClustering(6, kernel=kernel, random_state=0).fit(on(frame))
    local = SpectralClustering(6, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_array_equal(km.landmarks_, local.landmarks_)
    np.testing.assert_array_equal(km.eigenvalues_, local.eigenvalues_)
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)


def test_models_go_both_ways(frame_of, digits, fitted, tmp_path):
    frame = frame_of(digits)
    KernelKMeans(10, random_state=0).fit(on(frame)).save(tmp_path / "spark.apnc")
    fitted.save(tmp_path / "local.apnc")
    loaded = apnc.load(tmp_path / "spark.apnc")
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(loaded.predict(digits), fitted.labels_)
    np.testing.assert_array_equal(
        labels_of(apnc.load(tmp_path / "local.apnc"), as_arrays(frame, 64)), fitted.labels_
    )


def test_there_are_no_labels(frame_of, digits):
    km = KernelKMeans(3, random_state=0).fit(on(frame_of(digits)))
    with pytest.raises(
        AttributeError, match=r"labels_ is not available after fitting on Spark; predict\(X\)"
    ):
        km.labels_  # noqa: B018
    assert "label" in KernelKMeans(3, random_state=0).fit_predict(frame_of(digits).drop("id")).columns


def test_what_cannot_be_done_on_spark(frame_of, digits, tmp_path):
    frame = frame_of(digits).drop("id")
    with pytest.raises(ValueError, match=r"spark\.executor\.memory"):
        KernelKMeans(3, memory_limit="1GB").fit(frame)
    with pytest.raises(ValueError, match=r"write\.parquet"):
        KernelKMeans(3).fit(frame, to=tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="plan is for fits on this machine"):
        KernelKMeans(3).plan(frame)
    with pytest.raises(ValueError, match="weight_column"):
        KernelKMeans(3).fit(frame, sample_weight=np.ones(len(digits)))
    with pytest.raises(ValueError, match="drop_null= cannot be used with a Spark DataFrame"):
        apnc.sources.open(frame, drop_null=True)


def test_missing_values_are_counted(frame_of, digits):
    X = digits.copy()
    X[[3, 50, 50], [0, 1, 2]] = np.nan
    with pytest.raises(
        ValueError, match=r"3 missing values in 2 rows, in x0 \(1\), x1 \(1\), x2 \(1\).*df\.na\.drop"
    ):
        KernelKMeans(3).fit(on(frame_of(X)))
    frame = frame_of(digits).withColumn("x5", F.when(F.col("id") == 7, None).otherwise(F.col("x5")))
    with pytest.raises(ValueError, match=r"1 missing value in 1 row, in x5 \(1\)"):
        KernelKMeans(3).fit(on(frame))


def test_infinite_values_are_named(frame_of, digits):
    X = digits.copy()
    X[1700, 3] = np.inf
    with pytest.raises(ValueError, match=r"the DataFrame, partition 3, row \d+: x3 is infinite"):
        KernelKMeans(3).fit(on(frame_of(X)))


def test_vectors_of_other_lengths_are_named(spark):
    from pyspark.ml.linalg import Vectors

    rows = [(Vectors.dense([1.0, 2.0]),)] * 9 + [(Vectors.dense([1.0]),)]
    with pytest.raises(ValueError, match="holds 1 values, but 2 in the first row"):
        KernelKMeans(2).fit(spark.createDataFrame(rows, ["features"]).coalesce(1))


def test_unknown_columns_are_named(frame_of, digits):
    with pytest.raises(ValueError, match=r"no column 'x64'.*Did you mean 'x6'"):
        apnc.sources.open(frame_of(digits), columns=["x64"])
    with pytest.raises(ValueError, match=r"no column 'word'\..*Columns: x0 \(double\)"):
        apnc.sources.open(frame_of(digits), object_field="word")


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_the_same_certificate(frame_of, blobs):
    """Samples are drawn by content, so partitions do not matter."""
    km = KernelKMeans(8, n_landmarks=20, random_state=0).fit(blobs)
    frame = frame_of(blobs, 4).repartition(5, F.rand(1))
    assert km.certify(on(frame), n_rows=300) == km.certify(blobs, n_rows=300)


def test_the_same_gamma(frame_of):
    X, y = make_circles(900, factor=0.3, noise=0.05, random_state=0)
    local = KernelKMeans(2, random_state=0).fit(X)
    frame = frame_of(X, 5)
    km = KernelKMeans(2, random_state=0).fit(on(frame))
    assert km.gamma_ == local.gamma_ > KernelKMeans(2, gamma="mean", random_state=0).fit(X).gamma_
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)
    assert normalized_mutual_info_score(y, local.labels_) == 1


@pytest.mark.parametrize(
    "estimator", [KernelKMeans(4, random_state=0), SpectralClustering(4, random_state=0)]
)
def test_a_fit_goes_on_from_its_checkpoint(frame_of, tmp_path, monkeypatch, estimator):
    """Samples, coefficients and centroids are kept; the rows stay on the executors and are embedded again."""
    X, _ = make_blobs(500, 3, centers=4, random_state=1)
    frame = apnc.open(frame_of(X, 3), exclude=["id"])
    once = clone(estimator).fit(frame)
    with monkeypatch.context() as patched:
        interrupt_after(patched, "starting")
        with pytest.raises(KeyboardInterrupt):
            clone(estimator).fit(frame, checkpoint=tmp_path / "kept")
    assert (tmp_path / "kept" / "starting.record").exists()
    drawn = []
    monkeypatch.setattr("apnc.pipeline.samples.samples_of", lambda *_: drawn.append(1))
    again = clone(estimator).fit(frame, checkpoint=tmp_path / "kept")
    assert not drawn
    np.testing.assert_array_equal(again.cluster_centers_, once.cluster_centers_)
    assert again.inertia_ == once.inertia_
    assert not (tmp_path / "kept").exists()


@pytest.mark.spark_only("local")
@pytest.mark.parametrize(
    "estimator", [KernelKMeans(3, random_state=0), SpectralClustering(3, random_state=0)]
)
def test_a_fit_reads_the_frame_once(frame_of, tmp_path, estimator):
    def noted(batches):
        (tmp_path / uuid.uuid4().hex).touch()
        yield from batches

    X = np.random.default_rng(0).normal(size=(600, 3))
    frame = frame_of(X, 3)
    source = on(frame.mapInArrow(noted, frame.schema))
    read = len(list(tmp_path.iterdir()))
    km = clone(estimator).fit(source)
    assert len(list(tmp_path.iterdir())) - read == 3
    np.testing.assert_array_equal(labels_of(km, frame), clone(estimator).fit(X).labels_)
