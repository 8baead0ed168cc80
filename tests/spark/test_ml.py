"""apnc.spark: the estimator of pyspark.ml does what apnc.KernelKMeans does, with the manners of pyspark.ml."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import apnc

pytest.importorskip("pyspark", reason="pyspark is missing")

from pyspark import cloudpickle
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import ClusteringEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder, TrainValidationSplit

from apnc.persistence import ModelFileError
from apnc.spark import KernelKMeans, KernelKMeansModel, given_kernel, storage

# Workers have no way to import the functions of a test.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SETTINGS = {"gamma": 0.05, "landmarks": 60, "components": 40}


def frame_of(spark, X, item="double", **columns):
    """Rows with an id and a column of arrays."""
    table = {
        "id": np.arange(len(X)),
        "features": pa.array(list(X), pa.list_(pa.type_for_alias(item))),
        **columns,
    }
    return spark.createDataFrame(pa.table(table)).repartition(3)


def labels_of(frame, column="prediction"):
    """Values of a column in the order of the ids."""
    found = frame.select("id", column).toArrow().sort_by("id")
    return found[column].to_numpy()


def local(**parameters):
    return apnc.KernelKMeans(10, gamma=0.05, n_landmarks=60, n_components=40, random_state=0, **parameters)


def products(A, B):
    return np.asarray(A) @ np.asarray(B).T


def common_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


@pytest.fixture(scope="module")
def arrays(spark, digits):
    return frame_of(spark, digits[0]).cache()


@pytest.fixture(scope="module")
def vectors(arrays):
    return arrays.withColumn("features", array_to_vector("features")).cache()


@pytest.fixture(scope="module")
def expected(digits):
    return local().fit(digits[0])


@pytest.fixture(scope="module")
def model(vectors):
    return KernelKMeans(k=10, **SETTINGS).fit(vectors)


def test_the_labels_are_those_of_the_local_estimator(model, vectors, arrays, expected):
    found = model.transform(vectors)
    assert found.columns == ["id", "features", "prediction"]
    assert dict(found.dtypes)["prediction"] == "int"
    np.testing.assert_array_equal(labels_of(found), expected.labels_)
    np.testing.assert_array_equal(labels_of(model.transform(arrays)), expected.labels_)


def test_arrays_of_float_are_computed_as_float(spark, digits):
    X = digits[0].astype(np.float32)
    frame = frame_of(spark, X, "float")
    found = KernelKMeans(k=10, **SETTINGS).fit(frame)
    mine = local().fit(X)
    np.testing.assert_array_equal(found.toLocal().landmarks_, mine.landmarks_)
    assert found.toLocal().landmarks_.dtype == np.float32
    assert found.summary.trainingCost == pytest.approx(mine.inertia_, rel=1e-4)


def test_sparse_vectors_stay_sparse_and_one_is_predicted_like_many(spark):
    rng = np.random.default_rng(0)
    X = rng.random((200, 30)) * (rng.random((200, 30)) < 0.1)
    rows = [(i, Vectors.sparse(30, np.flatnonzero(x).tolist(), x[x != 0].tolist())) for i, x in enumerate(X)]
    frame = spark.createDataFrame(rows, ["id", "features"])
    model = KernelKMeans(k=3, kernel="cosine", landmarks=40).fit(frame)
    assert not isinstance(model.toLocal().landmarks_, np.ndarray)
    labels = labels_of(model.transform(frame))
    assert [model.predict(vector) for _, vector in rows[:20]] == labels[:20].tolist()


def test_the_summary_says_what_the_fit_found(model, expected, vectors):
    summary = model.summary
    assert model.hasSummary
    assert (summary.k, summary.featuresCol, summary.predictionCol) == (10, "features", "prediction")
    assert summary.clusterSizes == np.bincount(expected.labels_).tolist()
    assert summary.numIter == expected.n_iter_
    assert summary.trainingCost == pytest.approx(expected.inertia_)
    np.testing.assert_array_equal(labels_of(summary.predictions), expected.labels_)
    assert summary.cluster.columns == ["prediction"]


def test_odd_names_of_columns(spark, digits):
    frame = frame_of(spark, digits[0][:60]).withColumnRenamed("features", "f.`")
    model = KernelKMeans(k=2, featuresCol="f.`", predictionCol="p.`", seed=0).fit(frame)
    assert model.summary.cluster.toArrow().column_names == ["p.`"]


def test_one_vector(model, expected, digits):
    assert model.numFeatures == 64
    some = digits[0][:5]
    assert [model.predict(Vectors.dense(x)) for x in some] == expected.labels_[:5].tolist()
    assert [model.predict(x) for x in some] == expected.labels_[:5].tolist()


def test_weights_count_as_repetitions(spark, digits):
    X, w = digits[0][:600], np.arange(600) % 3
    settings = {"k": 5, "gamma": 0.05, "landmarks": 50}
    weighted = KernelKMeans(weightCol="w", **settings).fit(frame_of(spark, X, w=w.astype(np.int32)))
    repeated = KernelKMeans(**settings).fit(frame_of(spark, np.repeat(X, w, axis=0)))
    assert weighted.summary.trainingCost == pytest.approx(repeated.summary.trainingCost)
    assert weighted.summary.clusterSizes == [float(size) for size in repeated.summary.clusterSizes]
    frame = frame_of(spark, X)
    np.testing.assert_array_equal(labels_of(weighted.transform(frame)), labels_of(repeated.transform(frame)))


class TestParams:
    def test_constructors_take_keywords_only(self, spark):
        with pytest.raises(TypeError, match="forces keyword"):
            KernelKMeans(5)
        with pytest.raises(TypeError, match="unexpected"):
            KernelKMeans(n_clusters=5)

    def test_defaults_are_those_of_the_local_estimator(self, spark):
        mine, theirs = KernelKMeans()._local().get_params(), apnc.KernelKMeans(random_state=0).get_params()
        assert mine == theirs

    def test_each_has_a_getter_and_a_setter_and_reaches_the_local_estimator(self, spark):
        values = {
            "k": (3, "n_clusters"),
            "kernel": ("polynomial", "kernel"),
            "gamma": (0.5, "gamma"),
            "coef0": (2.0, "coef0"),
            "degree": (4.0, "degree"),
            "normalizeKernel": (True, "normalize_kernel"),
            "scale": ("unit", "scale"),
            "embedding": ("stable", "embedding"),
            "landmarks": (70, "n_landmarks"),
            "components": (30, "n_components"),
            "initMode": ("random", "init"),
            "nInit": (2, "n_init"),
            "maxIter": (7, "max_iter"),
            "tol": (0.01, "tol"),
            "seed": (5, "random_state"),
        }
        estimator = KernelKMeans()
        for name, (value, own) in values.items():
            title = name[0].upper() + name[1:]
            assert getattr(estimator, f"set{title}")(value) is estimator
            assert getattr(estimator, f"get{title}")() == value
            assert getattr(estimator._local(), own) == value
        given = {name: value for name, (value, _) in values.items()}
        assert KernelKMeans(**given)._local().get_params() == estimator._local().get_params()
        assert KernelKMeans().setParams(**given)._local().get_params() == estimator._local().get_params()
        columns = {"featuresCol", "predictionCol", "weightCol"}
        assert {param.name for param in estimator.params} == set(values) | columns

    def test_none_sets_back_to_the_default(self, spark):
        estimator = KernelKMeans(gamma=1.0, weightCol="w", seed=3)
        estimator.setParams(gamma=None, weightCol=None, seed=None)
        assert estimator.getGamma() == "auto"
        assert estimator.getSeed() == 0
        assert not estimator.isDefined(estimator.weightCol)

    def test_seeds_of_64_bits_with_a_sign_are_taken(self, spark):
        assert KernelKMeans(seed=-1)._local().random_state == 2**32 - 1

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"k": 0}, "k=0 must be a positive integer"),
            ({"landmarks": "many"}, "landmarks='many' must be a positive integer"),
            ({"components": -1}, "components=-1"),
            ({"kernel": "gaussian"}, "Did you mean 'rbf'"),
            ({"kernel": "precomputed"}, "without Spark"),
            ({"embedding": "nystrom"}, "Did you mean 'nystroem'"),
            ({"initMode": "kmeans++"}, "initMode='kmeans\\+\\+' is unknown"),
        ],
    )
    def test_wrong_values_are_named_at_once(self, spark, given, said):
        with pytest.raises(ValueError, match=said):
            KernelKMeans(**given)

    def test_a_copy_is_independent(self, spark):
        first = KernelKMeans(k=3)
        second = first.copy({first.k: 4})
        assert (first.getK(), second.getK()) == (3, 4)
        assert first.uid == second.uid
        second.setGamma(2.0)
        assert first.getGamma() == "auto"

    def test_a_copied_model_has_columns_of_its_own(self, model, vectors):
        other = model.copy({model.predictionCol: "cluster"})
        assert "cluster" in other.transform(vectors).columns
        assert model.getPredictionCol() == model.summary.predictionCol == "prediction"
        assert other.hasSummary
        assert other.toLocal() is not model.toLocal()
        assert "c" in model.transform(vectors, {model.predictionCol: "c"}).columns

    def test_params_of_fit_override(self, vectors):
        estimator = KernelKMeans(k=10, landmarks=30)
        several = estimator.fit(vectors, [{estimator.k: 2}, {estimator.k: 3}])
        assert [len(model.summary.clusterSizes) for model in several] == [2, 3]
        assert [model.getK() for model in several] == [2, 3]
        assert {model.uid for model in several} == {estimator.uid}


class TestSchema:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (
                {"featuresCol": "vec"},
                "no column 'vec'; there are id, features, name, prediction.*featuresCol",
            ),
            ({"featuresCol": "name"}, "'name' has type string; it must be a vector"),
            ({"featuresCol": "id"}, "'id' has type bigint"),
            ({"weightCol": "w"}, "no column 'w'.*weightCol"),
            ({"weightCol": "name"}, "weight column 'name' has type string; it must be numeric"),
            ({"predictionCol": "prediction"}, "already has a column 'prediction'"),
        ],
    )
    def test_what_is_wrong_is_said_before_any_job(self, spark, given, said):
        frame = frame_of(spark, np.eye(4), name=["a", "b", "c", "d"], prediction=np.zeros(4))
        with pytest.raises(ValueError, match=said):
            KernelKMeans(k=2, **{"predictionCol": "cluster", **given}).fit(frame)

    def test_the_model_checks_too(self, model, vectors):
        with pytest.raises(ValueError, match="already has a column 'prediction'"):
            model.transform(model.transform(vectors))
        with pytest.raises(ValueError, match="no column 'features'"):
            model.transform(vectors.select("id"))
        with pytest.raises(ValueError, match="expecting 64 features"):
            model.transform(frame_of(vectors.sparkSession, np.eye(4)))


class TestPipelines:
    def test_in_a_pipeline(self, spark, digits, tmp_path):
        X = digits[0][:, :6]
        columns = [f"c{i}" for i in range(6)]
        table = pa.table({"id": np.arange(len(X)), **dict(zip(columns, X.T, strict=True))})
        frame = spark.createDataFrame(table).repartition(2)
        stages = [
            VectorAssembler(inputCols=columns, outputCol="vec"),
            KernelKMeans(k=4, featuresCol="vec", predictionCol="cluster", landmarks=50),
        ]
        pipeline = Pipeline(stages=stages)
        fitted = pipeline.fit(frame)
        labels = labels_of(fitted.transform(frame), "cluster")
        mine = apnc.KernelKMeans(4, n_landmarks=50, random_state=0).fit(X)
        np.testing.assert_array_equal(labels, mine.labels_)

        pipeline.write().overwrite().save(f"{tmp_path}/pipeline")
        fitted.write().overwrite().save(f"{tmp_path}/fitted")
        again = PipelineModel.load(f"{tmp_path}/fitted")
        np.testing.assert_array_equal(labels_of(again.transform(frame), "cluster"), labels)
        loaded = Pipeline.load(f"{tmp_path}/pipeline").getStages()[1]
        assert (loaded.uid, loaded.getK(), loaded.getFeaturesCol()) == (stages[1].uid, 4, "vec")

    def test_cross_validation_finds_the_number_of_clusters(self, spark, tmp_path):
        rng = np.random.default_rng(0)
        X = np.repeat([[0.0, 0], [8, 0], [0, 8]], 60, axis=0) + rng.normal(size=(180, 2))
        frame = frame_of(spark, X).withColumn("features", array_to_vector("features"))
        estimator = KernelKMeans(landmarks=50)
        grid = ParamGridBuilder().addGrid(estimator.k, [2, 3]).addGrid(estimator.gamma, [0.05]).build()
        search = CrossValidator(
            estimator=estimator,
            estimatorParamMaps=grid,
            evaluator=ClusteringEvaluator(),
            numFolds=2,
            seed=0,
            parallelism=2,
        ).fit(frame)
        assert search.avgMetrics[1] > 0.8 > search.avgMetrics[0]
        assert search.bestModel.getK() == 3
        assert search.bestModel.toLocal().gamma_ == 0.05
        search.save(f"{tmp_path}/search")
        best = CrossValidatorModel.load(f"{tmp_path}/search").bestModel
        np.testing.assert_array_equal(labels_of(best.transform(frame)), labels_of(search.transform(frame)))

    def test_train_validation_split(self, vectors):
        estimator = KernelKMeans(landmarks=50)
        split = TrainValidationSplit(
            estimator=estimator,
            estimatorParamMaps=[{estimator.k: 2}, {estimator.k: 5}],
            evaluator=ClusteringEvaluator(),
            seed=0,
        ).fit(vectors)
        assert len(split.validationMetrics) == 2
        assert split.bestModel.getK() in (2, 5)


LOAD = """
import sys
from apnc.spark import KernelKMeansModel, session
spark = session("local[1]", **{"spark.ui.enabled": "false"})
model = KernelKMeansModel.load(sys.argv[1])
rows = model.transform(spark.read.parquet(sys.argv[2])).select("id", "prediction").toArrow().sort_by("id")
print("labels", *rows["prediction"].to_pylist())
print("about", model.uid, model.hasSummary, model.getGamma(), model.getLandmarks())
"""


class TestSaving:
    def test_a_new_process_predicts_the_same(self, model, vectors, expected, tmp_path):
        model.save(f"{tmp_path}/model")
        vectors.write.parquet(f"{tmp_path}/rows")
        command = [sys.executable, "-c", LOAD, f"{tmp_path}/model", f"{tmp_path}/rows"]
        # A Connect session leaves its mark on the environment.
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=plain)
        assert done.returncode == 0, done.stderr[-2000:]
        said = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if " " in line}
        assert said["labels"] == [str(label) for label in expected.labels_]
        assert said["about"] == [model.uid, "False", "0.05", "60"]

    def test_a_loaded_model_has_no_summary(self, model, tmp_path):
        model.save(f"{tmp_path}/model")
        loaded = KernelKMeansModel.load(f"{tmp_path}/model")
        with pytest.raises(RuntimeError, match="No training summary"):
            _ = loaded.summary
        assert loaded.extractParamMap() == model.extractParamMap()

    def test_a_large_model_is_saved_in_parts(self, spark, model, digits, expected, tmp_path, monkeypatch):
        monkeypatch.setattr(storage, "PART_BYTES", 10_000)
        model.save(f"{tmp_path}/model")
        assert spark.read.parquet(f"{tmp_path}/model/model").count() > 3
        loaded = KernelKMeansModel.load(f"{tmp_path}/model").toLocal()
        np.testing.assert_array_equal(loaded.predict(digits[0]), expected.labels_)

    def test_a_part_that_is_missing_is_noticed(self, spark, model, tmp_path, monkeypatch):
        monkeypatch.setattr(storage, "PART_BYTES", 10_000)
        model.save(f"{tmp_path}/model")
        rest = spark.read.parquet(f"{tmp_path}/model/model").where("part != 1").toArrow()
        spark.createDataFrame(rest).write.mode("overwrite").parquet(f"{tmp_path}/model/model")
        with pytest.raises(ModelFileError, match="is incomplete"):
            KernelKMeansModel.load(f"{tmp_path}/model")

    def test_nothing_is_overwritten_unless_asked(self, model, tmp_path):
        path = f"{tmp_path}/model"
        model.save(path)
        with pytest.raises(Exception, match=r"(?i)already exists"):
            model.save(path)
        model.copy({model.predictionCol: "c"}).write().overwrite().save(path)
        assert KernelKMeansModel.load(path).getPredictionCol() == "c"

    def test_an_estimator(self, spark, tmp_path):
        estimator = KernelKMeans(k=5, gamma="local", weightCol="w", landmarks=9, scale="minmax")
        estimator.save(f"{tmp_path}/estimator")
        loaded = KernelKMeans.load(f"{tmp_path}/estimator")
        assert loaded.uid == estimator.uid
        assert loaded.extractParamMap() == estimator.extractParamMap()
        with pytest.raises(ModelFileError, match=r"holds a apnc.spark.KernelKMeans, expected"):
            KernelKMeansModel.load(f"{tmp_path}/estimator")

    def test_an_embedding_object_goes_with_the_model_alone(self, vectors, tmp_path):
        estimator = KernelKMeans(k=3, landmarks=40, embedding=apnc.StableEmbedding(subset_size=5))
        with pytest.raises(ModelFileError, match="set it after loading"):
            estimator.save(f"{tmp_path}/estimator")
        estimator.fit(vectors).save(f"{tmp_path}/model")
        loaded = KernelKMeansModel.load(f"{tmp_path}/model")
        assert loaded.getEmbedding().subset_size == 5


class TestLocalModels:
    def test_to_an_apnc_file_and_back(self, model, vectors, digits, expected, tmp_path):
        fitted = model.toLocal()
        np.testing.assert_array_equal(fitted.predict(digits[0]), expected.labels_)
        fitted.save(tmp_path / "model.apnc")
        loaded = apnc.load(tmp_path / "model.apnc")
        np.testing.assert_array_equal(loaded.predict(digits[0]), expected.labels_)
        again = KernelKMeansModel.fromLocal(loaded).setPredictionCol("cluster")
        np.testing.assert_array_equal(labels_of(again.transform(vectors), "cluster"), expected.labels_)
        with pytest.raises(AttributeError, match="after fitting on Spark"):
            _ = fitted.labels_

    def test_a_model_fitted_without_spark(self, vectors, expected, tmp_path):
        expected.save(tmp_path / "model.apnc")
        model = KernelKMeansModel.fromLocal(apnc.load(tmp_path / "model.apnc"))
        np.testing.assert_array_equal(labels_of(model.transform(vectors)), expected.labels_)
        assert (model.getK(), model.getGamma(), model.getLandmarks(), model.getSeed()) == (10, 0.05, 60, 0)
        assert not model.hasSummary
        model.save(f"{tmp_path}/model")
        loaded = KernelKMeansModel.load(f"{tmp_path}/model")
        assert loaded.toLocal().inertia_ == expected.inertia_

    def test_what_cannot_be_one_is_refused(self, spark, digits):
        with pytest.raises(TypeError, match=r"takes an apnc\.KernelKMeans, got KernelEmbedding"):
            KernelKMeansModel.fromLocal(apnc.KernelEmbedding())
        given = apnc.KernelKMeans(2, kernel="precomputed", n_landmarks=9).fit(
            digits[0][:20] @ digits[0][:20].T
        )
        with pytest.raises(ValueError, match="precomputed kernel"):
            KernelKMeansModel.fromLocal(given)


class TestKernelFunctions:
    def test_on_vectors(self, vectors, digits, tmp_path):
        model = KernelKMeans(k=4, kernel=products, landmarks=50).fit(vectors)
        named = apnc.KernelKMeans(4, kernel=products, n_landmarks=50, random_state=0).fit(digits[0])
        np.testing.assert_array_equal(labels_of(model.transform(vectors)), named.labels_)

    def test_on_strings_and_saved_without_code(self, spark, tmp_path):
        words = ["aab", "abb", "bba", "xyz", "zzy", "yxx"] * 3
        frame = spark.createDataFrame(list(enumerate(words)), ["id", "word"])
        estimator = KernelKMeans(k=2, featuresCol="word", kernel=common_letters)
        pipeline = Pipeline(stages=[estimator]).fit(frame)
        labels = labels_of(pipeline.transform(frame))
        assert len(set(labels[:3])) == len(set(labels[3:6])) == 1
        assert labels[0] != labels[3]
        assert pipeline.stages[0].predict("yyx") == labels[3]

        pipeline.save(f"{tmp_path}/pipeline")
        with pytest.raises(ModelFileError, match=r"common_letters, which is not stored.*given_kernel"):
            PipelineModel.load(f"{tmp_path}/pipeline")
        with given_kernel(common_letters):
            loaded = PipelineModel.load(f"{tmp_path}/pipeline")
        np.testing.assert_array_equal(labels_of(loaded.transform(frame)), labels)
        assert loaded.stages[0].getKernel() is common_letters

    def test_of_an_estimator_are_passed_again(self, spark, model, tmp_path):
        path = f"{tmp_path}/estimator"
        KernelKMeans(k=2, kernel=products).save(path)
        with pytest.raises(ModelFileError, match=r"KernelKMeans\.read\(\)\.kernel\(function\)"):
            KernelKMeans.load(path)
        with pytest.raises(ModelFileError, match="but kernel= is"):
            KernelKMeans.read().kernel(common_letters).load(path)
        assert KernelKMeans.read().kernel(products).load(path).getKernel() is products
        assert KernelKMeans.read().trust(f"{__name__}:products").load(path).getKernel() is products
        KernelKMeans(k=2).save(f"{tmp_path}/plain")
        with pytest.raises(ModelFileError, match="has no effect"):
            KernelKMeans.read().kernel(products).load(f"{tmp_path}/plain")


def test_an_open_source_is_labelled_on_spark_too(vectors, expected):
    """Which of several columns has the features is said by opening the DataFrame."""
    frame = vectors.withColumn("other", vectors["features"])
    opened = apnc.sources.open(frame, columns=["features"])
    found = expected.predict(opened)
    assert found.columns == ["id", "features", "other", "label"]
    np.testing.assert_array_equal(labels_of(found, "label"), expected.labels_)


class TestStarting:
    def test_fits_side_by_side_keep_the_interpreter(self, monkeypatch):
        """The one that ends first does not set it back under the other."""
        from apnc.engines.spark.session import on_drivers_python

        monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
        context = SimpleNamespace(pythonExec="python3", getConf=dict)
        frame = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))

        def choose(pause):
            with on_drivers_python(frame):
                sleep(pause)
                return context.pythonExec

        with ThreadPoolExecutor(2) as pool:
            assert set(pool.map(choose, [0.1, 0.3])) == {sys.executable}
        assert context.pythonExec == "python3"

    def test_no_java_is_said_in_a_sentence(self, monkeypatch, tmp_path):
        from apnc.engines.spark import launching
        from apnc.spark import JavaMissingError

        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(JavaMissingError, match=r"17 or newer; found no working java \(JAVA_HOME is not"):
            launching.check_java()

    @pytest.mark.parametrize(("said", "found"), [("1.8.0_392", 8), ("11.0.2", 11)])
    def test_an_old_java_is_named(self, monkeypatch, tmp_path, said, found):
        from apnc.engines.spark import launching
        from apnc.spark import JavaMissingError

        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(JavaMissingError, match=f"found Java {found} in .*JAVA_HOME is {tmp_path}"):
            launching.check_java()
        java.write_text("#!/bin/sh\necho 'openjdk version \"21\" 2023-09-19' >&2\n")
        launching.check_java()

    def test_workers_run_this_interpreter(self, spark):
        from pyspark.sql.functions import udf

        assert spark.range(1).select(udf(lambda _: sys.executable)("id")).first()[0] == sys.executable

    def test_without_pyspark_the_extra_is_named(self):
        code = "import sys; sys.modules['pyspark'] = None; import apnc.spark"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert 'apnc.spark needs pyspark: pip install "apnc[spark]"' in done.stderr
