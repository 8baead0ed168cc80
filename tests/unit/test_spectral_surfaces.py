"""SpectralClustering: kernels, inputs, attributes, files, errors, and its embedding elsewhere."""

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from typer.testing import CliRunner

import apnc
from apnc import KernelEmbedding, KernelKMeans, NeighbourEmbedding, SpectralClustering
from apnc.cli.app import app
from apnc.embeddings.neighbours.links import SumGraph
from apnc.engines.contract import Chunk
from apnc.persistence import ModelFileError
from tests.unit.test_persistence import change, put, shared_letters


@pytest.fixture(scope="module")
def moons():
    return make_moons(1000, noise=0.05, random_state=0)


def fitted(X, n_clusters=2, **options):
    return SpectralClustering(n_clusters, **({"random_state": 0} | options)).fit(X)


KERNELS = ["linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2"]


@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel, digits, tmp_path):
    X, y = digits[0][:700], digits[1][:700]
    km = fitted(X, 10, kernel=kernel)
    assert normalized_mutual_info_score(y, km.labels_) > 0.75
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    np.testing.assert_array_equal(km.transform(X).argmin(axis=1), km.labels_)
    loaded = apnc.load(km.save(tmp_path / "model.apnc"))
    np.testing.assert_array_equal(loaded.predict(X), km.labels_)
    np.testing.assert_array_equal(loaded.embed(X), km.embed(X))
    np.testing.assert_array_equal(loaded.eigenvalues_, km.eigenvalues_)


@pytest.mark.parametrize("kernel", ["polynomial", "cosine"])
def test_a_normalised_kernel_in_several_pieces(kernel):
    """Coordinates between pieces are not scaled with those within."""
    rng = np.random.default_rng(0)
    X = 20 * np.eye(6)[rng.integers(0, 6, size=900)] + rng.normal(size=(900, 6))
    km = fitted(X, 6, kernel=kernel, normalize_kernel=True, n_landmarks=150)
    assert km.n_connected_components_ > 1
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    np.testing.assert_allclose(-km.score(X), km.inertia_, rtol=1e-4)
    assert adjusted_rand_score(X.argmax(axis=1), km.labels_) > 0.99


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_sparse_rows_are_as_dense_ones(kernel, digits):
    X, y = digits
    km = fitted(sparse.csr_matrix(X), 10, kernel=kernel)
    assert normalized_mutual_info_score(y, km.labels_) >= 0.84
    np.testing.assert_array_equal(km.predict(sparse.csr_array(X)), km.labels_)
    if kernel == "cosine":
        np.testing.assert_array_equal(fitted(X, 10, kernel=kernel).labels_, km.labels_)


def words():
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("abcdef" if i % 2 else "uvwxyz"), size=5)) for i in range(300)]


def test_strings_with_a_kernel_function(tmp_path):
    X, y = words(), np.arange(300) % 2
    km = fitted(X, kernel=shared_letters, n_nearest=4)
    assert adjusted_rand_score(y, km.labels_) == 1
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    path = km.save(tmp_path / "model.apnc")
    with pytest.raises(ModelFileError, match="trust"):
        apnc.load(path)
    name = "tests.unit.test_persistence:shared_letters"
    np.testing.assert_array_equal(apnc.load(path, trust=name).predict(X), km.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(km)).predict(X), km.labels_)


def test_a_precomputed_kernel(digits):
    X = digits[0][:600]
    K = X @ X.T
    km = fitted(K, 10, kernel="precomputed")
    assert len(km.landmark_indices_) < 600
    np.testing.assert_array_equal(km.predict(K), km.labels_)
    assert normalized_mutual_info_score(digits[1][:600], km.labels_) > 0.75
    half = fitted(K[:400, :400], 10, kernel="precomputed")
    assert normalized_mutual_info_score(digits[1][400:600], half.predict(K[400:, :400])) > 0.7


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_scaled_features(moons, scale):
    X, y = moons
    assert adjusted_rand_score(y, fitted(X * [1, 1e4]).labels_) < 0.9
    km = fitted(X * [1, 1e4], scale=scale)
    assert adjusted_rand_score(y, km.labels_) == 1
    np.testing.assert_array_equal(km.predict(X * [1, 1e4]), km.labels_)


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_units_do_not_matter(moons, factor):
    assert adjusted_rand_score(moons[1], fitted(moons[0] * factor).labels_) == 1


def test_rows_of_float32(moons, digits):
    km = fitted(moons[0].astype(np.float32))
    assert km.landmarks_.dtype == np.float32
    assert adjusted_rand_score(moons[1], km.labels_) == 1
    km = fitted(digits[0].astype(np.float32), 10)
    np.testing.assert_array_equal(km.predict(digits[0].astype(np.float32)), km.labels_)
    assert normalized_mutual_info_score(digits[1], km.labels_) >= 0.84


def test_data_frames_and_files(moons, tmp_path):
    X, _ = moons
    expected = fitted(X).labels_
    frame = pd.DataFrame(X, columns=["a", "b"])
    km = fitted(frame)
    np.testing.assert_array_equal(km.labels_, expected)
    assert km.feature_names_in_.tolist() == ["a", "b"]
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "x.parquet", row_group_size=130)
    km = fitted(tmp_path / "x.parquet")
    np.testing.assert_array_equal(km.labels_, expected)
    np.testing.assert_array_equal(km.predict(tmp_path / "x.parquet"), expected)
    SpectralClustering(2, random_state=0).fit(tmp_path / "x.parquet", to=tmp_path / "labels.parquet")
    np.testing.assert_array_equal(pq.read_table(tmp_path / "labels.parquet")["label"], expected)


@pytest.mark.parametrize("n_nearest", [2, 3, 6])
def test_attributes_are_those_of_the_graph(moons, n_nearest):
    """A dense eigenproblem of the same graph has the same eigenvalues."""
    X, _ = moons
    km = fitted(X, n_nearest=n_nearest, n_landmarks=150)
    block = km._model.embedding.coefficients.blocks[0]
    graph = SumGraph(150)(Chunk(0, block.neighbours(X), np.ones(len(X)))).links.toarray()
    degrees = graph.sum(axis=1)
    keep = degrees > 0
    roots = np.sqrt(degrees[keep])
    values = np.linalg.eigvalsh(graph[np.ix_(keep, keep)] / np.outer(roots, roots))[::-1]
    n_pieces = int((values > 1 - 1e-10).sum())
    assert km.n_connected_components_ == n_pieces + (~keep).sum()
    assert km.eigenvalues_.shape == (km.n_components_,) == (12,)
    assert (np.diff(km.eigenvalues_) <= 1e-12).all()
    assert -1e-12 <= km.eigenvalues_.min() <= km.eigenvalues_.max() <= 1 + 1e-12
    n_between = block.n_between
    assert (km.eigenvalues_[:n_between] == 1).all()
    if n_between == n_pieces - 1:
        within = values[n_pieces : n_pieces + 12 - n_between]
        np.testing.assert_allclose(km.eigenvalues_[n_between:], within, atol=1e-9)
    norms = np.linalg.norm(km.embed(X)[:, n_between:], axis=1)
    np.testing.assert_allclose(norms, 1, atol=1e-5)
    assert not hasattr(km, "residual_")
    assert (km.n_landmarks_, km.landmarks_.shape) == (150, (150, 2))


def test_clones_and_pickles(moons):
    km = fitted(moons[0], n_nearest=4)
    assert clone(km).get_params() == km.get_params()
    assert clone(km).n_nearest == 4
    np.testing.assert_array_equal(clone(km).fit(moons[0]).labels_, km.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(km)).predict(moons[0]), km.labels_)


@pytest.mark.parametrize("given", [1, 0, -3, 2.5, "many", None, True])
def test_neighbours_are_checked(moons, given):
    with pytest.raises((ValueError, TypeError), match="n_nearest"):
        SpectralClustering(2, n_nearest=given).fit(moons[0])
    with pytest.raises((ValueError, TypeError), match="n_nearest"):
        KernelKMeans(2, embedding=NeighbourEmbedding(given)).fit(moons[0])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("affinity", "kernel='precomputed'"),
        ("n_neighbors", "n_nearest"),
        ("assign_labels", "leave it out"),
        ("eigen_solver", "leave it out"),
    ],
)
def test_parameters_of_scikit_learn_are_answered(name, advice):
    with pytest.raises(TypeError, match=f"no parameter '{name}'.*{advice}"):
        SpectralClustering(2, **{name: "x"})
    with pytest.raises(TypeError, match="unexpected keyword"):
        SpectralClustering(2, nearest=3)


def test_before_a_fit(moons):
    for method in ("predict", "transform", "embed", "score"):
        with pytest.raises(NotFittedError):
            getattr(SpectralClustering(2), method)(moons[0])
    with pytest.raises(ValueError, match="n_clusters=9 needs at least 9 rows, got n_samples=4"):
        SpectralClustering(9).fit(moons[0][:4])
    with pytest.raises(ValueError, match="NaN"):
        SpectralClustering(2).fit(np.full((9, 2), np.nan))


@pytest.mark.parametrize("init", ["k-means++", "random", "random-partition"])
def test_k_means_with_this_embedding(moons, init, tmp_path):
    km = KernelKMeans(2, embedding="neighbours", kernel="linear", init=init, random_state=0).fit(moons[0])
    np.testing.assert_array_equal(km.predict(moons[0]), km.labels_)
    if init == "k-means++":
        np.testing.assert_array_equal(km.labels_, fitted(moons[0]).labels_)
    loaded = apnc.load(km.save(tmp_path / "model.apnc"))
    np.testing.assert_array_equal(loaded.predict(moons[0]), km.labels_)


def test_k_means_with_this_embedding_starts_from_instances(moons):
    X, y = moons
    start = X[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]]
    km = KernelKMeans(2, embedding="neighbours", kernel="linear", init=start, random_state=0).fit(X)
    np.testing.assert_array_equal(km.labels_, y)
    km = KernelKMeans(2, embedding=NeighbourEmbedding(4), init=y, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(km.labels_, y)


def test_the_embedding_alone(moons, tmp_path):
    X, _ = moons
    found = KernelEmbedding(embedding="neighbours", kernel="linear", n_components=7, random_state=0).fit(X)
    Y = found.transform(X)
    assert Y.shape == (1000, 7)
    assert np.isfinite(Y).all()
    loaded = apnc.load(found.save(tmp_path / "model.apnc"))
    np.testing.assert_array_equal(loaded.transform(X), Y)


def test_a_plan_names_what_is_run(moons):
    plan = SpectralClustering(2, random_state=0).plan(moons[0])
    assert "neighbours" in plan.seconds
    assert plan.n_landmarks == fitted(moons[0]).n_landmarks_


def test_the_command_line(moons, tmp_path):
    """fit, predict and inspect of a Parquet file."""
    X, _ = moons
    data, model, labels = (str(tmp_path / name) for name in ("x.parquet", "moons.apnc", "labels.parquet"))
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), data)

    def run(*words):
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    run("fit", data, "--method", "spectral", "-k", "2", "--n-nearest", "4", "--model", model, "--quiet")
    run("predict", model, data, "--labels", labels, "--quiet")
    expected = fitted(X, n_nearest=4)
    np.testing.assert_array_equal(pq.read_table(labels)["label"], expected.labels_)
    told = json.loads(run("inspect", model, "--json"))
    assert told["estimator"] == "SpectralClustering"
    assert told["connected_components"] == expected.n_connected_components_
    assert told["parameters"]["n_nearest"] == 4
    np.testing.assert_allclose(told["eigenvalues"], expected.eigenvalues_)
    assert "SpectralClustering" in run("inspect", model)
    assert "neighbours" in run("plan", data, "--method", "spectral", "-k", "2")


CHANGES = {
    "n_nearest": [1, 10**6, -2, "3", None],
    "typical": [-1.0, "wide", None],
    "n_pieces": [0, 10**6, None],
    "n_between": [-1, 10**6, None],
}


@pytest.mark.parametrize(("field", "value"), [(name, value) for name in CHANGES for value in CHANGES[name]])
def test_a_changed_model_file_is_refused(moons, field, value, tmp_path):
    path = fitted(moons[0]).save(tmp_path / "model.apnc")
    change(path, lambda schema: put(schema["model"]["embedding"]["coefficients"]["blocks"][0], field, value))
    with pytest.raises(ModelFileError, match=field if field != "typical" else "typical|scales"):
        apnc.load(path)
