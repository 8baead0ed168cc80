"""What is said of bad and odd rows on Spark is what is said of them in frames and files."""

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors

from apnc import KernelKMeans, sources
from tests.contract.messages import CASES, GOOD, UNEQUAL, arrow_of, said_of
from tests.spark.conftest import MODE


@pytest.fixture
def make(spark):
    def of(columns):
        frame = spark.createDataFrame(arrow_of(columns or GOOD)).coalesce(1)
        return frame if columns else frame.select()

    return of


@pytest.mark.filterwarnings("ignore:residual_")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.remote])
def test_one_sentence(name, make):
    assert CASES[name].says in said_of(CASES[name], make, "spark")


@pytest.mark.parametrize("second", [Vectors.dense(1.0, 2.0, 3.0), Vectors.sparse(3, [0], [1.0])])
def test_vectors_of_unequal_length(spark, second):
    frame = spark.createDataFrame([(Vectors.dense(1.0, 2.0),), (second,)], ["v"]).coalesce(1)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        KernelKMeans(2).fit(frame)
    assert UNEQUAL in str(raised.value)
    assert "row 1: " in str(raised.value)


def test_columns_of_one_name(make):
    frame = make(GOOD).selectExpr("a", "b as a")
    with pytest.raises(ValueError, match=r"several columns with the name 'a'\. Rename or drop all but one"):
        KernelKMeans(2).fit(frame)


def test_more_columns_in_another_order_are_found_by_name(make):
    km = KernelKMeans(2, random_state=0).fit(make(GOOD))
    found = km.predict(make({"t": list("wxyz"), "b": GOOD["b"], "x": GOOD["b"], "a": GOOD["a"]})).toPandas()
    here = KernelKMeans(2, random_state=0).fit(np.c_[GOOD["a"], GOOD["b"]]).labels_
    np.testing.assert_array_equal(found["label"], here)


@pytest.mark.parametrize("kernel", ["cosine", "rbf"])
def test_text_is_told_of_vectors(make, kernel):
    texts = sources.open(make({"t": list("wxyz")}), object_field="t")
    with pytest.raises(ValueError, match=rf"kernel='{kernel}' needs vectors.*TfidfVectorizer makes vectors"):
        KernelKMeans(2, kernel=kernel).fit(texts)


def test_decimals_are_numbers(make):
    from decimal import Decimal

    frame = make({"a": [Decimal(10**20) * int(a) for a in GOOD["a"]], "b": GOOD["b"]})
    km = KernelKMeans(2, random_state=0).fit(frame)
    here = KernelKMeans(2, random_state=0).fit(np.c_[1e20 * np.array(GOOD["a"]), GOOD["b"]])
    np.testing.assert_array_equal(km.predict(frame).toPandas()["label"], here.labels_)


@pytest.fixture
def spoiled(spark):
    """100 rows in four partitions, of which row 2 of the third has a value in ``a`` that is no number."""

    def of(value, **columns):
        data = {"key": [f"k{i}" for i in range(100)], "a": [float(i) for i in range(100)], "b": [1.0] * 100}
        data["a"][52] = value
        schema = {name: [values[i] for i in range(100)] for name, values in (data | columns).items()}
        frame = spark.createDataFrame(arrow_of({"n": list(range(100))} | schema))
        return frame.repartitionByRange(4, "n").sortWithinPartitions("n").drop("n")

    return of


def where(frame):
    """Partition, number there and key of the row that is spoiled."""
    rows = frame.select("key").rdd.glom().collect() if MODE != "connect" else None
    found = [(p, r) for p, part in enumerate(rows or []) for r, row in enumerate(part) if row[0] == "k52"]
    return found[0] if found else (r"\d", r"\d+")


BAD = {
    "NaN": (np.nan, "a"),
    "null": (None, "a"),
    "infinity": (-np.inf, "a is infinite"),
}


@pytest.mark.parametrize("ids", [(), ("key",)])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_located(spoiled, name, ids):
    value, says = BAD[name]
    frame = spoiled(value)
    partition, row = where(frame)
    source = sources.open(frame, columns=["a", "b"], id_columns=ids)
    shown = r" \(key='k52'\)" if ids else ""
    with pytest.raises(ValueError, match=rf"the DataFrame, partition {partition}, row {row}{shown}: {says}"):
        KernelKMeans(2).fit(source)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_located_by_a_prediction(make, spoiled, name):
    from pyspark.errors import PythonException

    value, says = BAD[name]
    frame = spoiled(value)
    partition, row = where(frame)
    km = KernelKMeans(2, random_state=0).fit(make(GOOD))
    labelled = km.predict(sources.open(frame, columns=["a", "b"], id_columns=["key"]))
    place = rf"the DataFrame, partition {partition}, row {row} \(key='k52'\): {says} is"
    with pytest.raises(PythonException, match=place.replace("infinite is", "infinite")):
        labelled.select("label").collect()


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_a_bad_weight_is_located(spoiled, weight):
    frame = spoiled(52.0, w=[1.0] * 52 + [weight] + [1.0] * 47)
    source = sources.open(frame, weight_column="w", id_columns=["key"])
    with pytest.raises(ValueError, match=r"the DataFrame, partition \d, row \d+ \(key='k52'\): the weight"):
        KernelKMeans(2).fit(source)


def test_a_missing_object_is_located(spoiled):
    texts = [str(i) for i in range(100)]
    texts[52] = None
    source = sources.open(spoiled(0.0, t=texts), object_field="t", id_columns=["key"])
    with pytest.raises(ValueError, match=r"at the DataFrame, partition \d, row \d+ \(key='k52'\): t\."):
        KernelKMeans(2, kernel=lambda A, B: np.ones((len(A), len(B)))).fit(source)


ODD = ("a`b", "c.d", "e f", "`", "label.x")


def test_odd_names_of_columns(spark):
    X = np.random.default_rng(0).normal(size=(200, 5)) + 4 * (np.arange(200) % 2)[:, None]
    columns = {name: X[:, j] for j, name in enumerate(ODD)} | {"id`.": np.arange(200), "t.`": ["x"] * 200}
    frame = spark.createDataFrame(arrow_of(columns))
    with pytest.warns(UserWarning, match=r"1 column is not a feature: 't\.`' \(text\)"):
        km = KernelKMeans(2, random_state=0).fit(sources.open(frame, id_columns=["id`."]))
    assert list(km.feature_names_in_) == list(ODD)
    found = km.predict(sources.open(frame, id_columns=["id`."], exclude=["t.`"]))
    here = KernelKMeans(2, random_state=0).fit(X)
    np.testing.assert_array_equal(found.toPandas().sort_values("id`.")["label"], here.labels_)
