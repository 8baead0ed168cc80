"""The stored fits once more, on DataFrames."""

import numpy as np
import pytest

import apnc
from apnc import KernelKMeans
from tests.guard.cases import ON_SPARK, digits
from tests.guard.test_fingerprints import agree, stored  # noqa: F401
from tests.spark.conftest import labels_of


@pytest.mark.parametrize("name", ON_SPARK)
def test_the_stored_fit(name, stored, frame_of):  # noqa: F811
    frame = frame_of(digits(), 5)
    settings = {"gamma": None, "n_landmarks": 90, "n_components": 60, "max_iter": 25, "random_state": 4}
    km = KernelKMeans(6, **(settings | ON_SPARK[name])).fit(apnc.sources.open(frame, exclude=["id"]))
    agree(name, stored, np.asarray(labels_of(km, frame)), km.inertia_)
