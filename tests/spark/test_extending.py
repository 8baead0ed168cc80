"""Every registered estimator, and one from outside the package: the same on a DataFrame as on rows in memory."""

import numpy as np
import pytest

import apnc
from apnc.estimators import ESTIMATORS
from tests.unit.test_extending import folder, kind, made, rows, spherical  # noqa: F401


def values_of(frame, column):
    return np.array(frame.select("id", column).toPandas().sort_values("id")[column].tolist())


def test_the_same_on_spark(kind, frame_of):  # noqa: F811
    local = made(kind).fit(rows())
    frame = frame_of(rows(), 3)
    found = made(kind).fit(apnc.sources.open(frame, exclude=["id"]))
    if hasattr(local, "predict"):
        np.testing.assert_array_equal(values_of(found.predict(frame), "label"), local.labels_)
        np.testing.assert_allclose(
            values_of(found.transform(frame), "distances"), local.transform(rows()), atol=1e-6
        )
    else:
        expected = local.transform(rows()).astype(np.float32)
        np.testing.assert_allclose(values_of(found.transform(frame), "embedding"), expected, atol=1e-6)


def test_its_stage_of_a_pipeline(spherical, frame_of):  # noqa: F811
    import apnc.spark

    assert "spherical" in ESTIMATORS
    stage = apnc.spark.SphericalKMeans(k=4).setLandmarksPerCluster(30)
    assert stage.getLandmarksPerCluster() == 30
    frame = frame_of(rows(), 3).selectExpr("id", "array(x0, x1, x2, x3) AS features")
    expected = spherical.SphericalKMeans(4, landmarks_per_cluster=30, random_state=0).fit(rows())
    np.testing.assert_array_equal(
        values_of(stage.fit(frame).transform(frame), "prediction"), expected.labels_
    )
    with pytest.raises(AttributeError, match="Nothing"):
        _ = apnc.spark.Nothing


def test_spectral_clustering_as_a_stage(frame_of, tmp_path):
    """It fits, transforms, saves and loads."""
    import apnc.spark
    from apnc.spark import SpectralClustering, SpectralClusteringModel

    expected = apnc.SpectralClustering(4, n_nearest=4, random_state=0).fit(rows())
    frame = frame_of(rows(), 3).selectExpr("id", "array(x0, x1, x2, x3) AS features")
    stage = SpectralClustering(k=4).setNearest(4)
    assert stage.getNearest() == 4
    stage.save(str(tmp_path / "stage"))
    model = SpectralClustering.load(str(tmp_path / "stage")).fit(frame)
    np.testing.assert_array_equal(values_of(model.transform(frame), "prediction"), expected.labels_)
    model.save(str(tmp_path / "model"))
    loaded = SpectralClusteringModel.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(values_of(loaded.transform(frame), "prediction"), expected.labels_)
    np.testing.assert_array_equal(loaded.toLocal().eigenvalues_, expected.eigenvalues_)
