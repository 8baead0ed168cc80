"""State after failures, and what is refused before it does harm."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from apnc import Embedding, KernelEmbedding, KernelKMeans
from apnc.discrepancy import Manhattan
from apnc.embeddings import Coefficients, StableEmbedding

X = np.random.default_rng(0).normal(size=(200, 3))


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding])
def test_after_a_failed_first_fit_it_is_not_fitted(kind):
    estimator = kind(gamma=-1.0)
    with pytest.raises(ValueError, match="gamma"):
        estimator.fit(X)
    with pytest.raises(NotFittedError):
        estimator.transform(X)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding])
def test_after_a_failed_refit_the_old_fit_is_whole(kind):
    estimator = kind(random_state=0).fit(X)
    before, expected = dict(vars(estimator)), estimator.transform(X)
    for bad in (np.full((9, 2), np.nan), X[:, :2]):
        with pytest.raises(ValueError):  # noqa: PT011
            estimator.set_params(n_landmarks=0).fit(bad)
    estimator.set_params(n_landmarks=before["n_landmarks"])
    assert vars(estimator).keys() == before.keys()
    np.testing.assert_array_equal(estimator.transform(X), expected)


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding])
def test_a_plan_leaves_nothing_behind(kind):
    estimator = kind(random_state=0)
    estimator.plan(X)
    assert not [name for name in vars(estimator) if name.endswith("_")]
    fitted = kind(random_state=0).fit(X)
    before = dict(vars(fitted))
    fitted.plan(X[:, :2])
    assert vars(fitted) == before


def test_all_weights_zero_in_a_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from apnc import sources

    pq.write_table(pa.table({"x": X[:, 0], "w": np.zeros(200)}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="weight 0 or was skipped"):
        KernelKMeans(2).fit(sources.open(tmp_path / "x.parquet", weight_column="w"))


def test_all_rows_skipped(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from apnc import sources

    pq.write_table(pa.table({"x": np.full(20, np.nan)}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="weight 0 or was skipped"):
        KernelKMeans(2).fit(sources.open(tmp_path / "x.parquet", drop_null=True))


class OwnL1(Embedding):
    """A user's L1 embedding: as many components as it is asked for."""

    def coefficients(self, landmarks, kernel, n_components, rng):
        found = StableEmbedding().coefficients(landmarks, kernel, n_components, rng)
        return Coefficients(found.blocks, Manhattan(), found.beta)


def test_a_plan_gives_the_components_of_a_users_embedding():
    km = KernelKMeans(3, embedding=OwnL1(), n_landmarks=60, random_state=0)
    assert km.plan(X).n_components == km.fit(X).n_components_ == 500


def test_a_plan_can_be_read():
    plan = KernelKMeans(3, random_state=0).plan(X)
    assert "starting" in plan.seconds
    assert "peak memory" in repr(plan)
    assert plan._repr_html_().startswith("<table")
