"""What is said of bad and odd rows on Spark is what is said of them in frames and files."""

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors

from apnc import KernelKMeans, sources
from tests.contract.messages import CASES, GOOD, UNEQUAL, arrow_of, said_of


@pytest.fixture
def make(spark):
    def of(columns):
        frame = spark.createDataFrame(arrow_of(columns or GOOD)).coalesce(1)
        return frame if columns else frame.select()

    return of


@pytest.mark.filterwarnings("ignore:residual_")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.spark])
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
