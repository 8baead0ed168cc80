"""Memberships, scores, descriptions and cuts on DataFrames: the same as on rows in memory."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import apnc
from apnc import KernelKMeans
from apnc.outputs import several
from tests.spark.conftest import labels_of

X, _ = make_blobs(600, 3, centers=4, random_state=3)
X = np.concatenate([X, X[:100]])
WORDS = [a + b + c for a in "abcd" for b in "efgh" for c in "ijkl"]


def shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


@pytest.fixture(scope="module")
def km():
    return KernelKMeans(4, random_state=0).fit(X)


def on(frame, **options):
    return apnc.open(frame, **({"exclude": ["id"]} | options))


def by_id(frame):
    return frame.toPandas().sort_values("id")


def test_columns(frame_of, km):
    frame = frame_of(X, 3)
    fitted = KernelKMeans(4, random_state=0).fit(on(frame))
    found = by_id(fitted.outlier_score(on(frame)))
    np.testing.assert_allclose(found.outlier, km.outlier_score(X), atol=1e-6)
    np.testing.assert_allclose(
        np.stack(by_id(km.membership(on(frame))).membership), km.membership(X), atol=1e-6
    )


def test_several_columns_in_one_pass(frame_of, km):
    frame = frame_of(X, 3)
    added = km._apply(on(frame), several(["distance", "membership", "outlier"], km._model))
    assert added.columns == [*frame.columns, "label", "distance", "membership", "outlier"]
    assert [str(field.dataType.simpleString()) for field in added.schema.fields[-4:]] == [
        "int",
        "double",
        "array<double>",
        "double",
    ]
    found = by_id(added)
    np.testing.assert_array_equal(found.label, km.labels_)
    np.testing.assert_allclose(found.distance, km.transform(X).min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(np.stack(found.membership), km.membership(X), atol=1e-6)
    np.testing.assert_allclose(found.outlier, km.outlier_score(X), atol=1e-6)
    assert added.where("id < 0").count() == 0
    with pytest.raises(ValueError, match="already has a column 'label'"):
        km._apply(apnc.open(added, columns=["x0", "x1", "x2"]), several(["distance"], km._model))


def test_descriptions(frame_of, km):
    frame = frame_of(X, 3)
    for boundary in (False, True):
        for one, two in zip(
            km.prototypes(X, boundary=boundary), km.prototypes(on(frame), boundary=boundary), strict=True
        ):
            np.testing.assert_array_equal(one.rows, two.rows)
            np.testing.assert_allclose(one.distances, two.distances, rtol=1e-6)
            assert two.numbers is None
    for one, two in zip(km.describe(X).clusters, km.describe(on(frame)).clusters, strict=True):
        assert (one.size, one.nearest) == (two.size, two.nearest)
        np.testing.assert_allclose(one.cohesion, two.cohesion)
        assert [c.name for c in one.contrasts] == [c.name for c in two.contrasts]
        np.testing.assert_allclose([c.score for c in one.contrasts], [c.score for c in two.contrasts])


def test_ids(frame_of, km):
    frame = frame_of(X, 3, name=[f"row {i}" for i in range(len(X))])
    source = apnc.open(frame, columns=["x0", "x1", "x2"], id_columns=["id", "name"])
    for found in (km.prototypes(source), km.describe(source, n=3)):
        for cluster in getattr(found, "clusters", found):
            examples = getattr(cluster, "prototypes", cluster)
            ids = np.array(examples.ids["id"])
            np.testing.assert_array_equal(X[ids], examples.rows)
            assert examples.ids["name"] == [f"row {i}" for i in ids]


def sizes_in(page):
    return re.search(r"<h2>Sizes.*?<h2>Map", page.read_text(), re.DOTALL).group()


def test_a_report(frame_of, km, tmp_path):
    frame = frame_of(X, 3)
    here = km.report(X, tmp_path / "here.html", certificate=km.certify(X, n_rows=200))
    there = km.report(on(frame), tmp_path / "there.html", certificate=km.certify(on(frame), n_rows=200))
    assert sizes_in(there) == sizes_in(here)
    verdicts = [re.search(r"<p class=\"note\">(.*)</p>", page.read_text()).group(1) for page in (here, there)]
    assert verdicts[0] == verdicts[1]
    assert "<title>Clusters</title>" in there.read_text()
    assert "row 0" not in there.read_text()
    keyed = on(frame, exclude=[], id_columns=["id"])
    text = km.report(keyed, tmp_path / "keyed.html").read_text()
    named = [int(name) for name in re.findall(r"<td class=\"name\">(\d+)</td>", text)]
    assert len(named) == 4 * 8
    nearest = {int(i) for examples in km.prototypes(keyed) for i in examples.ids["id"]}
    assert nearest <= set(named)


def test_sparse_vectors(spark, km):
    from pyspark.ml.linalg import Vectors

    rng = np.random.default_rng(0)
    rows = (rng.random((120, 12)) < 0.2 + 0.6 * (np.arange(12) // 6 == np.arange(120)[:, None] % 2)).astype(
        float
    )
    rows[:, 11] = 1
    wide = np.hstack([rows, np.zeros((120, 60))])
    data = [(Vectors.sparse(72, {j: float(v) for j, v in enumerate(row) if v}),) for row in wide]
    frame = spark.createDataFrame(data, ["features"])
    text = KernelKMeans(2, kernel="cosine", random_state=0).fit(apnc.open(frame))
    found = text.describe(apnc.open(frame))
    assert found.kind == "words"
    groups = [{int(c.name[1:]) // 6 for c in cluster.contrasts} for cluster in found.clusters]
    assert groups in ([{0}, {1}], [{1}, {0}])


def test_objects(spark):
    frame = spark.createDataFrame([(i, word) for i, word in enumerate(WORDS)], ["id", "word"]).repartition(3)
    km = KernelKMeans(3, kernel=shared, random_state=0).fit(WORDS)
    source = apnc.open(frame, object_field="word", id_columns=["id"])
    for one, two in zip(km.prototypes(WORDS), km.prototypes(source), strict=True):
        assert one.rows == two.rows
        assert two.ids == {"id": [WORDS.index(word) for word in two.rows]}


def test_a_cut(frame_of, km, tmp_path):
    fewer = apnc.load(km.cut(2).save(tmp_path / "cut.apnc"))
    frame = frame_of(X, 3)
    np.testing.assert_array_equal(labels_of(fewer, frame), km.cut(2).labels_)
    remote = KernelKMeans(4, random_state=0).fit(on(frame)).cut(2)
    np.testing.assert_array_equal(labels_of(remote, frame), km.cut(2).labels_)
    with pytest.raises(AttributeError, match="not available after fitting on Spark"):
        _ = remote.labels_
