"""State after failures, and what is refused before it does harm."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from apnc import Embedding, KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.discrepancy import Manhattan
from apnc.embeddings import Coefficients, StableEmbedding

X = np.random.default_rng(0).normal(size=(200, 3))


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding, SpectralClustering])
def test_after_a_failed_first_fit_it_is_not_fitted(kind):
    estimator = kind(gamma=-1.0)
    with pytest.raises(ValueError, match="gamma"):
        estimator.fit(X)
    with pytest.raises(NotFittedError):
        estimator.transform(X)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding, SpectralClustering])
def test_after_a_failed_refit_the_old_fit_is_whole(kind):
    estimator = kind(random_state=0).fit(X)
    before, expected = dict(vars(estimator)), estimator.transform(X)
    for bad in (np.full((9, 2), np.nan), X[:, :2]):
        with pytest.raises(ValueError):  # noqa: PT011
            estimator.set_params(n_landmarks=0).fit(bad)
    estimator.set_params(n_landmarks=before["n_landmarks"])
    assert vars(estimator).keys() == before.keys()
    np.testing.assert_array_equal(estimator.transform(X), expected)


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding, SpectralClustering])
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
    with pytest.raises(ValueError, match="weight zero or was skipped"):
        KernelKMeans(2).fit(sources.open(tmp_path / "x.parquet", weight_column="w"))


def test_all_rows_skipped(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from apnc import sources

    pq.write_table(pa.table({"x": np.full(20, np.nan)}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="weight zero or was skipped"):
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


def test_instances_as_a_start_are_compared_with_the_rows(tmp_path):
    """Not with those of an earlier fit, and not by an error of numpy."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 4))
    np.save(tmp_path / "wide.npy", wide)
    km = KernelKMeans(2, random_state=0).fit(X)
    km.set_params(init=wide[:2]).fit(tmp_path / "wide.npy")
    assert km.n_features_in_ == 4
    for data in (wide, tmp_path / "wide.npy"):
        with pytest.raises(ValueError, match="init has 3 features, but the rows have 4"):
            KernelKMeans(2, init=X[:2]).fit(data)


def test_instances_of_a_given_kernel_start_a_fit():
    """Rows of kernel values; the same whether it was fitted before or not."""
    K = X @ X.T
    new, again = KernelKMeans(2, kernel="precomputed"), KernelKMeans(2, kernel="precomputed").fit(K)
    expected, found = (km.set_params(init=K[:2], random_state=0).fit(K).labels_ for km in (new, again))
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="init has 5 features, but the rows have 200"):
        KernelKMeans(2, kernel="precomputed", init=K[:2, :5]).fit(K)


def test_a_plan_does_not_draw_from_a_random_state():
    state = np.random.RandomState(0)
    km = KernelKMeans(2, random_state=state)
    km.plan(X)
    assert km.random_state is state
    assert state.randint(1000) == np.random.RandomState(0).randint(1000)


def test_a_fitted_model_needs_no_room_for_eigenvectors(monkeypatch):
    """A limit that is too small for a fit may do for a prediction; what is refused names no other sizes."""
    from apnc.run import budget

    monkeypatch.setattr(budget, "resident", lambda: 100_000_000)
    rows = np.random.default_rng(0).normal(size=(3000, 5))
    km = KernelKMeans(3, random_state=0, n_landmarks=1500, max_iter=2).fit(rows)
    km.set_params(memory_limit="250MB")
    assert len(km.predict(rows)) == 3000
    with pytest.raises(ValueError, match="too small"):
        km.fit(rows)
    km.set_params(memory_limit="120MB")
    for method in (km.predict, km.score):
        with pytest.raises(ValueError, match=r"too small.*Raise the limit\.$"):
            method(rows)
