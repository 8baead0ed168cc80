"""Certificates: numbers against naive ones, and the same for every form of the data."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.cluster import SpectralClustering as ExactSpectralClustering
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from typer.testing import CliRunner

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.baselines import ExactKernelKMeans
from apnc.certifying import exact_graph, partitions
from apnc.certifying.certificate import verdict_of_graph
from apnc.certifying.continuing import Sampled, Similar, Vectors, continued, distances, objective
from apnc.certifying.exact_kmeans import exact_kernel, interval
from apnc.kernels import KernelChoice
from apnc.run import budget


@pytest.fixture(scope="module")
def X():
    return make_blobs(900, n_features=4, centers=5, cluster_std=2.0, random_state=0)[0]


@pytest.fixture(scope="module")
def km(X):
    return KernelKMeans(5, gamma=0.05, n_landmarks=8, tol=0, random_state=0).fit(X)


def scatter(X, labels, gamma):
    """Objective of kernel k-means by its definition: within each cluster, the mean over pairs of d^2, halved."""
    total = 0.0
    for label in np.unique(labels):
        mine = X[labels == label]
        total += (2 - 2 * rbf_kernel(mine, gamma=gamma)).sum() / (2 * len(mine))
    return total


def test_the_gap_of_all_rows_is_that_of_exact_kernel_k_means(X, km):
    found = km.certify(X)
    exact = ExactKernelKMeans(5, gamma=0.05, init=km.labels_).fit(X)
    before, after = scatter(X, km.labels_, 0.05), scatter(X, exact.labels_, 0.05)
    alone = scatter(X, np.zeros(len(X)), 0.05)
    assert found.share == 1
    assert found.gap == pytest.approx(100 * (before - after) / (alone - after), rel=1e-6)
    assert found.gap > 2
    assert found.gap_interval == pytest.approx((found.gap, found.gap))
    assert found.changed == pytest.approx(np.mean(exact.labels_ != km.labels_))
    assert found.exact_agreement == pytest.approx(adjusted_rand_score(exact.labels_, km.labels_), abs=0.01)
    assert found.verdict.startswith("Raise n_landmarks")


def test_a_sample_is_near_the_whole(X, km):
    whole, part = km.certify(X), km.certify(X, n_rows=300)
    assert part.n_rows == 300
    assert part.share == pytest.approx(1 / 3)
    low, high = part.gap_interval
    assert low <= whole.gap <= high
    assert low > 0
    assert high < 3 * whole.gap


def test_enough_landmarks_are_as_good_as_exact(X):
    km = KernelKMeans(5, gamma=0.05, n_landmarks=900, n_components=900, random_state=0).fit(X)
    found = km.certify(X, n_rows=300)
    assert found.gap < 0.01
    assert found.changed < 0.005
    assert found.changed_by_landmarks < 0.005
    assert found.compared_landmarks == (900, 900)
    assert found.verdict.startswith("As good as exact from here")


def test_other_seeds_agree_on_what_is_there_alone():
    groups, _ = make_blobs(1200, centers=4, cluster_std=0.3, random_state=1)
    noise = np.random.default_rng(0).normal(size=(1200, 20))
    assert KernelKMeans(4, random_state=0).fit(groups).certify(groups).agreement > 0.99
    assert KernelKMeans(12, random_state=0).fit(noise).certify(noise).agreement < 0.6


def naive_distances(K, labels, weights, k):
    out = np.empty((len(K), k))
    for i, c in itertools.product(range(len(K)), range(k)):
        w = np.where(labels == c, weights, 0.0)
        w = w / w.sum()
        out[i, c] = K[i, i] - 2 * w @ K[i] + w @ K @ w
    return out


def test_distances_of_all_rows_are_those_of_equation_2():
    rng = np.random.default_rng(0)
    Y, labels, weights = rng.normal(size=(30, 3)), rng.integers(0, 3, 30), rng.uniform(0.5, 2, 30)
    expected = naive_distances(Y @ Y.T, labels, weights, 3)
    for points in (Similar(Y @ Y.T), Vectors(Y)):
        np.testing.assert_allclose(distances(points, labels, Sampled(weights, 3, 1.0)), expected, atol=1e-12)


def test_distances_of_a_sample_are_not_biased():
    """Their mean over many samples is the distance to the means of all rows, for own and other clusters."""
    rng = np.random.default_rng(0)
    Y, labels = rng.normal(size=(120, 6)), np.repeat([0, 1], 60)
    whole = distances(Vectors(Y), labels, Sampled(np.ones(120), 2, 1.0))
    sums, plain, drawn = np.zeros((120, 2)), np.zeros((120, 2)), np.zeros(120)
    for _ in range(3000):
        rows = np.concatenate([rng.choice(60, 15, replace=False) + start for start in (0, 60)])
        sums[rows] += distances(Vectors(Y[rows]), labels[rows], Sampled(np.ones(30), 2, 0.25))
        plain[rows] += distances(Vectors(Y[rows]), labels[rows], Sampled(np.ones(30), 2, 1.0))
        drawn[rows] += 1
    error = (sums / drawn[:, None] - whole) / whole
    assert np.abs(error.mean()) < 0.005
    assert np.abs(error).max() < 0.08
    # Without the correction the own cluster seems nearer, and the other one farther.
    apart, rows = (plain / drawn[:, None] - whole) / whole, np.arange(120)
    assert apart[rows, labels].mean() < -0.02
    assert apart[rows, 1 - labels].mean() > 0.02


def test_a_single_row_of_a_cluster_stays():
    Y = np.array([[0.0], [0.1], [0.2], [9.0]])
    labels = np.array([0, 0, 0, 1])
    sampled = Sampled(np.ones(4), 3, 0.5)
    assert continued(Vectors(Y), labels, sampled).tolist() == labels.tolist()
    assert np.isfinite(objective(Vectors(Y), labels, sampled))


@pytest.mark.parametrize("kind", [KernelKMeans, SpectralClustering])
def test_order_does_not_matter_and_weights_are_repetitions(X, kind):
    km, order = kind(4, n_landmarks=20, random_state=0).fit(X), np.random.default_rng(0).permutation(len(X))
    weights = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    one = km.certify(X, weights, n_rows=250)
    assert one == km.certify(X[order], weights[order], n_rows=250)
    assert one == km.certify(np.repeat(X, weights.astype(int), axis=0), n_rows=250)
    assert one != km.certify(X, weights, n_rows=250, random_state=1)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_files_and_sparse_rows_are_certified_alike(X, km, tmp_path):
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), tmp_path / "x.parquet")
    one = km.certify(X, n_rows=250)
    assert km.certify(tmp_path / "x.parquet", n_rows=250) == one
    assert km.certify(sparse.csr_matrix(X), n_rows=250).gap == pytest.approx(one.gap, rel=1e-6)


def test_a_stored_model_is_certified_as_the_model_itself(X, km, tmp_path):
    km.save(tmp_path / "km.apnc")
    assert apnc.load(tmp_path / "km.apnc").certify(X, n_rows=250) == km.certify(X, n_rows=250)


def test_a_scaled_fit(X):
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"gamma": 0.2, "n_landmarks": 8, "n_init": 1, "init": scaled[:5], "tol": 0}
    plain = KernelKMeans(5, random_state=0, **options).fit(scaled).certify(scaled)
    options["init"] = X[:5]
    km = KernelKMeans(5, random_state=0, scale="standard", **options).fit(X)
    exact = ExactKernelKMeans(5, gamma=0.2, init=km.labels_).fit(scaled)
    assert km.certify(X).changed == pytest.approx(np.mean(exact.labels_ != km.labels_))
    assert plain.n_rows == len(X)


def common_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


def test_objects(tmp_path):
    rng = np.random.default_rng(0)
    words = [
        "".join(rng.choice(list(letters), 6)) for letters in ("abcdefgh", "mnopqrst") for _ in range(100)
    ]
    found = KernelKMeans(2, kernel=common_letters, n_landmarks=30, random_state=0).fit(words).certify(words)
    assert found.kernel == "common_letters"
    assert found.gap < 0.5
    assert found.exact_agreement > 0.99


def test_a_precomputed_kernel_is_certified_with_the_fitted_matrix(X, km):
    K = rbf_kernel(X, gamma=0.05)
    given = KernelKMeans(5, kernel="precomputed", n_landmarks=8, tol=0, random_state=0).fit(K)
    exact = ExactKernelKMeans(5, kernel="precomputed", init=given.labels_).fit(K)
    assert given.certify(K).changed == pytest.approx(np.mean(exact.labels_ != given.labels_))
    with pytest.raises(ValueError, match=r"not symmetric.*in the same order"):
        given.certify(K[::-1])
    with pytest.raises(ValueError, match="A precomputed kernel is certified with the fitted matrix"):
        given.certify(K[:500])


@pytest.mark.parametrize("embedding", ["stable", "ensemble"])
def test_other_embeddings(X, embedding):
    few, many = (
        KernelKMeans(5, gamma=0.05, embedding=embedding, n_landmarks=size, random_state=0).fit(X).certify(X)
        for size in (8, 300)
    )
    assert few.gap > 2 > 1 > many.gap


def test_twice_the_landmarks_change_what_exact_would_change(X):
    changed = [
        KernelKMeans(5, gamma=0.05, n_landmarks=size, random_state=0).fit(X).certify(X).changed_by_landmarks
        for size in (8, 300)
    ]
    assert changed[0] > 0.05
    assert changed[1] < 0.01


def test_spectral_clustering_of_separate_shapes_is_exact():
    X, _ = make_moons(1500, noise=0.05, random_state=0)
    found = SpectralClustering(2, random_state=0).fit(X).certify(X)
    assert found.gap is None
    assert found.exact_agreement > 0.98
    assert found.agreement > 0.98
    assert found.changed_by_landmarks < 0.02
    assert found.verdict.startswith("As good as exact")


@pytest.mark.parametrize(
    ("exact", "by_landmarks", "seeds", "said"),
    [
        (0.99, 0.99, 0.5, "Not stable: other seeds find other clusters .ARI 0.50.; raise n_landmarks, and"),
        (0.5, 0.6, 0.95, "Raise n_landmarks: twice as many change the clusters of a sample .ARI 0.60. more"),
        (0.5, 0.7, 0.8, "Raise n_landmarks"),
        (0.95, 0.95, 0.99, "As good as exact: .* finds these clusters .ARI 0.95.[.]$"),
        (0.95, 0.8, 0.75, "As good as exact"),
        (0.8, 0.8, 0.75, "Roughly stable"),
        (
            0.4,
            0.95,
            0.99,
            "Stable: other seeds .ARI 0.99. .* trust them; .*others .ARI 0.40. is no sign of error",
        ),
        (0.4, 0.85, 0.8, "Roughly stable: .*ARI 0.80.*ARI 0.40.*raise n_landmarks, or trust only"),
    ],
)
def test_the_verdict_says_what_to_believe(exact, by_landmarks, seeds, said):
    verdict = verdict_of_graph(exact, by_landmarks, seeds)
    assert re.match(said, verdict)
    assert verdict.count(". ") == 0


def test_half_moons_that_touch_are_stable_whatever_the_graph_of_a_sample_says():
    X, y = make_moons(5000, noise=0.12, random_state=0)
    km = SpectralClustering(2, random_state=0).fit(X)
    found = km.certify(X, n_rows=1000)
    assert adjusted_rand_score(y, km.labels_) > 0.95
    assert found.exact_agreement < 0.9
    assert found.agreement > 0.95
    assert found.verdict.startswith("Stable: other seeds")


def test_labels_that_no_other_seed_finds_are_not_stable():
    X, _ = make_blobs(900, n_features=2, centers=6, cluster_std=0.4, random_state=2)
    km = SpectralClustering(6, random_state=0).fit(X)
    assert km.certify(X).agreement > 0.95
    clusters = km._model.clusters
    km._model = replace(
        km._model, clusters=replace(clusters, centroids=clusters.centroids[[0, 0, 1, 1, 2, 2]])
    )
    assert km.certify(X).agreement < 0.8


def test_spectral_clustering_of_noise_is_not_stable():
    X = np.random.default_rng(0).uniform(size=(1500, 8))
    found = SpectralClustering(9, random_state=0).fit(X).certify(X)
    assert found.agreement < 0.7
    assert found.verdict.startswith("Not stable")


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_the_exact_graph_is_that_of_scikit_learn():
    X, _ = make_moons(600, noise=0.05, random_state=3)
    exact = ExactSpectralClustering(2, affinity="nearest_neighbors", n_neighbors=10, random_state=0).fit(X)
    found = exact_graph.exact_labels(X @ X.T, np.ones(600), 2, 0)
    assert adjusted_rand_score(exact.labels_, found) > 0.99


def test_agreement_of_partitions():
    rng = np.random.default_rng(0)
    one = rng.integers(0, 4, 5000)
    two = np.where(rng.random(5000) < 0.3, rng.integers(0, 4, 5000), (one + 1) % 4)
    weights = rng.integers(1, 4, 5000)
    repeated = adjusted_rand_score(np.repeat(one, weights), np.repeat(two, weights))
    assert partitions.agreement(one, two, weights.astype(float)) == pytest.approx(repeated, abs=1e-3)
    assert partitions.agreement(one, one, weights) == 1
    assert partitions.agreement(np.zeros(9, int), np.zeros(9, int), np.ones(9)) == 1
    best = max(weights[np.array(order)[one] == two].sum() for order in itertools.permutations(range(4)))
    assert partitions.share_moved(one, two, weights) == pytest.approx(1 - best / weights.sum())


def test_an_interval_needs_a_sample():
    assert interval(2.0, [1.0, 2.0, 2.0, 3.0], 1.0, (0.1, 0.1, 2)) == (2.0, 2.0)
    low, high = interval(2.0, [1.0, 2.0, 2.0, 3.0], 0.0, (0.1, 0.1, 2))
    assert high - 2 == pytest.approx(0.1 + 0.2 + np.std([1, 2, 2, 3], ddof=1))
    assert low == pytest.approx(4 - high)
    assert interval(0.0, [0.0] * 4, 0.5, (0.1, 0.1, 2))[0] == 0


def test_an_exact_kernel_is_symmetric_and_finite(X):
    kernel = KernelChoice("rbf", 0.1).resolve(X, np.ones(len(X)), 4)
    np.testing.assert_allclose(exact_kernel(kernel, X), rbf_kernel(X, gamma=0.1), atol=1e-12)
    lopsided = KernelChoice(lambda A, B: np.arange(len(A))[:, None] + 0.0 * np.arange(len(B))).resolve(
        X, 1, 4
    )
    with pytest.raises(ValueError, match="not symmetric"):
        exact_kernel(lopsided, X)


def test_certificates_are_readable_and_escaped(X, km):
    def script(A, B):
        return rbf_kernel(A, B, gamma=0.05)

    script.__name__ = "<script>"
    found = KernelKMeans(3, kernel=script, n_landmarks=20, random_state=0).fit(X).certify(X, n_rows=200)
    assert "<script>" in str(found)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert " to " not in km.certify(X).verdict
    text = str(km.certify(X, n_rows=200))
    assert " to " in text.splitlines()[0]
    assert text.startswith("Raise n_landmarks: exact kernel k-means")
    assert "gap to exact" in text
    assert "200 distinct rows" in text


def test_certify_leaves_the_estimator_as_it_is(X):
    km = KernelKMeans(4, init=np.arange(len(X)) % 4, random_state=np.random.RandomState(0)).fit(X)
    before, state = dict(vars(km)), km.random_state.get_state()[1].copy()
    km.certify(X[:500])
    assert vars(km) == before
    assert (km.random_state.get_state()[1] == state).all()


def test_errors(X, km):
    with pytest.raises(NotFittedError):
        KernelKMeans(3).certify(X)
    with pytest.raises(ValueError, match="3 features"):
        km.certify(X[:, :3])
    with pytest.raises(ValueError, match=r"n_rows=30 is too small a sample for 5 clusters.*at least 50"):
        km.certify(X, n_rows=30)
    with pytest.raises(ValueError, match="n_rows=0 must be a positive integer or 'auto'"):
        km.certify(X, n_rows=0)


def test_the_memory_limit_counts_the_kernel_matrix(X):
    limited = KernelKMeans(5, n_landmarks=20, random_state=0, memory_limit="100GB").fit(X)
    limited.memory_limit = "2GB"
    with pytest.raises(ValueError, match=r"memory_limit=2.0GB is too small.*kernel matrix"):
        limited.certify(X, n_rows=20_000)
    assert limited.certify(X).n_rows == len(X)


@pytest.mark.parametrize("kind", [KernelKMeans, SpectralClustering])
def test_a_small_memory_limit_makes_a_smaller_sample_and_the_certificate_says_so(kind, monkeypatch):
    X = np.random.default_rng(0).normal(size=(6000, 3))
    km = kind(3, n_landmarks=20, random_state=0).fit(X)
    plain = km.certify(X)
    assert (plain.n_rows, plain.limited) == (4000, False)
    assert "memory_limit" not in str(plain)
    # The memory in use differs from run to run; what a limit leaves above it decides.
    monkeypatch.setattr(budget, "resident", lambda: 400_000_000)
    km.memory_limit = "550MB"
    fewer = km.certify(X)
    assert 30 < fewer.n_rows < 3000
    assert fewer.limited
    assert f"{fewer.n_rows:,} distinct rows, {fewer.share:.1%} of all; memory_limit allows no more" in str(
        fewer
    )
    km.memory_limit = "410MB"
    with pytest.raises(ValueError, match=r"memory_limit=410MB is too small.*at least.*Raise the limit\.$"):
        km.certify(X)
    with pytest.raises(ValueError, match=r"Raise the limit, or lower n_rows"):
        km.certify(X, n_rows=500)


def test_a_sample_of_all_rows_is_not_limited(X, km, monkeypatch):
    monkeypatch.setattr(budget, "resident", lambda: 400_000_000)
    limited = KernelKMeans(5, n_landmarks=8, random_state=0).fit(X)
    limited.memory_limit = "600MB"
    found = limited.certify(X)
    assert (found.share, found.limited) == (1, False)


@pytest.fixture
def stored(X, km, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), "x.parquet")
    KernelKMeans(5, gamma=0.05, n_landmarks=8, random_state=0).fit("x.parquet").save("km.apnc")


def run(*options):
    from apnc.cli.app import app

    return CliRunner().invoke(app, ["certify", *options, "--quiet"])


def test_the_command(stored):
    found = apnc.load("km.apnc").certify("x.parquet", n_rows=250)
    shown = run("km.apnc", "x.parquet", "--n-rows", "250")
    assert shown.exit_code == 0
    assert found.verdict in shown.output
    written = json.loads(run("km.apnc", "x.parquet", "--n-rows", "250", "--json").stdout)
    assert written["gap"] == found.gap
    assert written["gap_interval"] == list(found.gap_interval)
    other = json.loads(run("km.apnc", "x.parquet", "--n-rows", "250", "--random-state", "7", "--json").stdout)
    assert other["gap"] != found.gap


def test_the_command_refuses(stored, X):
    KernelEmbedding(random_state=0).fit("x.parquet").save("embedding.apnc")
    refused = run("embedding.apnc", "x.parquet")
    assert refused.exit_code == 2
    assert "no clusters" in refused.output
    refused = run("km.apnc", "x.parquet", "--n-rows", "few")
    assert refused.exit_code == 2
    assert "n_rows" in refused.output


def test_digits_tell_few_landmarks_from_enough():
    X = load_digits().data
    gaps = [
        KernelKMeans(10, n_landmarks=size, random_state=0).fit(X).certify(X, n_rows=450).gap
        for size in (10, 300)
    ]
    assert gaps[0] > 4
    assert gaps[1] < 0.1
