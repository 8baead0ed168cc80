"""Gamma tuned from the data: length scales against loops, and the choice between two of them."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_circles
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from typer.testing import CliRunner

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.cli.app import app
from apnc.kernels import GAMMAS, KernelChoice, VectorKernel
from apnc.kernels.bandwidth import LENGTHS, self_tuned_gammas
from apnc.pipeline import coefficients
from apnc.pipeline.alignment import alignment, enough_rows, n_starts
from apnc.progress import Progress
from apnc.run import costs
from apnc.run.job import Job
from apnc.settings import Settings
from apnc.sources import InMemory

DISTANCES = {
    "rbf": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "laplacian": lambda a, b: np.abs(a - b).sum(),
    "chi2": lambda a, b: sum((x - y) ** 2 / (x + y) for x, y in zip(a, b, strict=True) if x + y),
}


def rings(n=600, factor=0.3, seed=0):
    return make_circles(n, factor=factor, noise=0.05, random_state=seed)


def unequal(seed=0):
    """Separated groups of very different sizes, which a narrow kernel splits wrongly."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(4), [400, 60, 30, 10])
    return 6 * rng.normal(size=(4, 5))[y] + rng.normal(size=(500, 5)), y


def found(X, gamma="auto", k=2, **options):
    return KernelKMeans(k, gamma=gamma, **({"random_state": 0} | options)).fit(X)


def same_groups(one, two):
    return len(set(zip(one, two, strict=True))) == len(set(one)) == len(set(two))


# Length scales


@pytest.mark.parametrize("kernel", DISTANCES)
def test_length_scales(kernel):
    rng = np.random.default_rng(0)
    X, w = rng.random((25, 3)), rng.integers(1, 5, size=25).astype(float)
    apart = np.array([[DISTANCES[kernel](a, b) for b in X] for a in X])
    pairs = [(i, j) for i in range(25) for j in range(25) if i != j]
    mean = sum(w[i] * w[j] * apart[i, j] for i, j in pairs) / sum(w[i] * w[j] for i, j in pairs)
    local = sum(w[i] * sorted(apart[i])[7] for i in range(25)) / w.sum()
    lengths = np.array([mean, np.sqrt(mean * local), local])
    expected = 1 / (2 * lengths**2) if kernel == "rbf" else 1 / lengths
    np.testing.assert_allclose(self_tuned_gammas(kernel, X, w, LENGTHS), expected)
    np.testing.assert_allclose(self_tuned_gammas(kernel, sparse.csr_array(X), w, LENGTHS), expected)


@pytest.mark.parametrize("kernel", DISTANCES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_narrow_is_between_mean_and_local(kernel, container):
    X = container(load_digits().data[:400])
    options = {"kernel": kernel, "n_landmarks": 30, "random_state": 0}
    gammas = {name: KernelEmbedding(gamma=name, **options).fit(X).gamma_ for name in LENGTHS}
    assert gammas["mean"] < gammas["narrow"] < gammas["local"]
    assert gammas["narrow"] == pytest.approx(np.sqrt(gammas["mean"] * gammas["local"]))
    assert KernelEmbedding(**options).fit(X).gamma_ == gammas["mean"]


def test_candidates():
    X, w = np.random.default_rng(0).random((40, 3)), np.ones(40)
    kernels = KernelChoice("laplacian", "auto", normalize=True).candidates(X, w, 3)
    assert [kernel.gamma for kernel in kernels] == self_tuned_gammas("laplacian", X, w, ["mean", "narrow"])
    assert all(kernel.unit for kernel in kernels)
    assert [len(KernelChoice("rbf", gamma).candidates(X, w, 3)) for gamma in (None, *GAMMAS, 2.0)] == [
        1,
        2,
        1,
        1,
        1,
        1,
    ]
    assert KernelChoice("sigmoid", "auto").candidates(X, w, 3) == [VectorKernel("sigmoid", 1 / 3)]
    assert KernelChoice("linear", "auto").candidates(X, w, 3) == [VectorKernel("linear")]


# Alignment


def naive_alignment(K, labels, weights):
    """Over all ordered pairs, each repeated as often as its weights say."""
    together = (labels[:, None] == labels).astype(float)
    shares = weights / weights.sum()
    means = K @ shares
    centred = K - means - means[:, None] + shares @ means
    pairs = [(i, j) for i in range(len(K)) for j in range(len(K)) if i != j]
    often = np.array([weights[i] * weights[j] for i, j in pairs])

    def correlation(A):
        a, b = (np.array([M[pair] for pair in pairs]) for M in (A, together))
        a, b = (values - np.average(values, weights=often) for values in (a, b))
        return (often @ (a * b)) / np.sqrt((often @ a**2) * (often @ b**2))

    return (correlation(K) + correlation(centred)) / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_alignment(weighted):
    rng = np.random.default_rng(0)
    Y, labels = rng.normal(size=(40, 5)) + 1, rng.integers(0, 3, 40)
    Y[labels == 1] += 2
    weights = rng.integers(1, 6, 40).astype(float) if weighted else np.ones(40)
    expected = naive_alignment(Y @ Y.T, labels, weights)
    assert expected > 0.1
    assert alignment(Y, labels, weights) == pytest.approx(expected)


def test_alignment_of_what_is_constant():
    Y, weights = np.random.default_rng(0).normal(size=(20, 3)), np.ones(20)
    assert alignment(Y, np.zeros(20, dtype=int), weights) == 0
    assert alignment(Y, np.arange(20), weights) == 0
    assert alignment(np.ones((20, 3)), np.arange(20) % 2, weights) == pytest.approx(0, abs=1e-6)
    assert alignment(Y[:1], np.zeros(1, dtype=int), weights[:1]) == 0


# The choice


@pytest.mark.parametrize(("data", "k", "took"), [(rings, 2, "narrow"), (unequal, 4, "mean")])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_better_aligned_one_is_taken(data, k, took, kernel):
    """Both candidates fitted on all rows, and compared by the whole kernel matrix."""
    X, _ = data()
    of = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}[kernel]
    fits = {name: found(X, name, k, kernel=kernel) for name in ("mean", "narrow")}
    some = np.random.default_rng(0).permutation(len(X))[:150]
    scores = {
        name: naive_alignment(of(X[some], gamma=km.gamma_), km.labels_[some], np.ones(150))
        for name, km in fits.items()
    }
    best = max(scores, key=scores.get)
    if kernel == "rbf":
        assert best == took
    assert abs(scores["mean"] - scores["narrow"]) > 0.005
    km = found(X, "auto", k, kernel=kernel)
    assert km.gamma_ == fits[best].gamma_
    np.testing.assert_array_equal(km.labels_, fits[best].labels_)
    assert km.inertia_ == fits[best].inertia_


@pytest.mark.parametrize("factor", [0.15, 0.3])
@pytest.mark.parametrize("n", [300, 1000, 3000])
def test_rings_without_a_gamma(n, factor):
    for seed in range(3):
        X, y = rings(n, factor, seed)
        assert same_groups(KernelKMeans(2, random_state=seed).fit(X).labels_, y)


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble"])
def test_embeddings(embedding):
    X, _ = rings(500, 0.15)
    km = found(X, embedding=embedding, n_landmarks=200)
    names = {name: found(X, name, embedding=embedding, n_landmarks=200).gamma_ for name in ("mean", "narrow")}
    assert km.gamma_ == names["narrow"]


def test_the_order_of_rows_does_not_matter():
    X, _ = rings(900)
    order = np.random.default_rng(1).permutation(len(X))
    km, other = found(X), found(X[order])
    assert km.gamma_ == other.gamma_
    np.testing.assert_array_equal(km.labels_[order], other.labels_)
    files = found(X, memory_limit="2GB", n_jobs=1)
    assert files.gamma_ == km.gamma_
    np.testing.assert_array_equal(files.labels_, km.labels_)


def test_a_weight_is_a_repetition():
    for data, k in ((rings, 2), (unequal, 4)):
        X, _ = data()
        w = np.random.default_rng(0).integers(0, 4, len(X))
        km = KernelKMeans(k, random_state=0).fit(X, sample_weight=w)
        repeated = found(np.repeat(X, w, axis=0), k=k)
        assert km.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)


def test_sparse_rows():
    X = np.where((rows := load_digits().data[:500]) > 8, rows, 0)
    assert found(sparse.csr_array(X), k=10).gamma_ == pytest.approx(found(X, k=10).gamma_)


def test_chi2():
    X = load_digits().data[:400]
    gammas = [found(X, name, 10, kernel="chi2", n_landmarks=80).gamma_ for name in ("auto", "mean", "narrow")]
    assert gammas[0] in gammas[1:]


def test_where_there_is_nothing_to_choose_by():
    X, _ = rings(400)
    mean = found(X, None).gamma_
    assert found(X, k=1).gamma_ == mean
    assert found(X, embedding="neighbours").gamma_ == mean
    assert KernelEmbedding(gamma="auto", random_state=0).fit(X).gamma_ == mean
    spectral = [SpectralClustering(2, kernel="rbf", gamma=g, random_state=0).fit(X) for g in ("auto", None)]
    assert spectral[0].gamma_ == spectral[1].gamma_
    assert found(np.ones((9, 2)), k=1).gamma_ == 1
    with pytest.warns(UserWarning, match="Only 1 of 2 clusters"):
        assert found(np.ones((9, 2))).gamma_ == 1
    assert found(X[:2]).gamma_ == pytest.approx(1 / (2 * ((X[0] - X[1]) ** 2).sum()))


def test_a_narrow_gamma_that_cannot_be_computed_is_not_taken():
    """Neighbours whose distance is lost in rounding."""
    rng = np.random.default_rng(0)
    X = 1e8 + 1000.0 * rng.integers(0, 2, (200, 1)) + 1e-3 * rng.normal(size=(200, 2))
    with pytest.raises(ValueError, match="outside the usable range"):
        found(X, "narrow")
    assert found(X).gamma_ == found(X, None).gamma_


@pytest.mark.parametrize("kernel", ["linear", "cosine", "polynomial", "sigmoid"])
def test_kernels_without_a_length_scale(kernel):
    X = load_digits().data[:200] / 16
    default, none = KernelKMeans(3, kernel=kernel, random_state=0), found(X, None, 3, kernel=kernel)
    assert default.fit(X).gamma_ == none.gamma_
    told = "is for rbf, laplacian, chi2" if kernel in ("polynomial", "sigmoid") else "has no effect"
    for gamma in LENGTHS:
        with pytest.raises(ValueError, match=f"gamma='{gamma}' {told}"):
            found(X, gamma, 3, kernel=kernel)


# Costs


def counted(monkeypatch, **options):
    """Kernel values that a fit computes."""
    values, plain = [], VectorKernel.against

    def against(self, landmarks, dtype):
        rows = plain(self, landmarks, dtype)

        def function(X, room):
            values.append(X.shape[0] * landmarks.shape[0])
            return rows.function(X, room)

        return type(rows)(function, rows.factor)

    monkeypatch.setattr(VectorKernel, "against", against)
    found(np.random.default_rng(0).normal(size=(4000, 3)), n_landmarks=60, **options)
    return sum(values)


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble"])
@pytest.mark.parametrize("gamma", ["auto", "mean"])
def test_few_kernel_values(monkeypatch, embedding, gamma):
    """n l for Y; l^2 for R and l for each row of the sample, once for each gamma."""
    n, landmarks, sample, candidates = 4000, 60, 2048, 2 if gamma == "auto" else 1
    values = counted(monkeypatch, embedding=embedding, gamma=gamma)
    assert values <= 1.2 * (n * landmarks + candidates * (landmarks**2 + landmarks * sample))


class Heard(Progress):
    """Rows and passes that the coefficients announce, and the rows that they report."""

    def __init__(self):
        self.name, self.announced, self.told = "", {}, {}

    def stage(self, name, rows=None, passes=1, max_iter=None):
        self.name, self.announced[name], self.told[name] = name, (rows, passes), 0

    def rows(self, n):
        self.told[self.name] += n


def test_progress_shows_the_choice():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    told = {}
    for gamma in ("mean", "auto"):
        heard = Heard()
        KernelKMeans(3, gamma=gamma, n_landmarks=50, random_state=0).fit(X, progress=heard)
        rows, passes = heard.announced["coefficients"]
        assert rows == 50 + 2048
        assert 0.9 * rows <= heard.told["coefficients"] <= rows * passes
        told[gamma] = heard.told["coefficients"]
    assert told["auto"] > 2 * told["mean"] + 2 * 2048


def test_plans_and_limits_know_the_second_kernel():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    needed = {}
    for gamma in ("mean", "auto"):
        km = KernelKMeans(3, gamma=gamma, random_state=0)
        settings = apnc.checks.settings_of(km, InMemory(X))
        sizes = settings.at_most(3000, 3000)
        assert sizes.n_candidates == settings.n_candidates == (2 if gamma == "auto" else 1)
        needed[gamma] = sum(costs.coefficients(Job(InMemory(X), 1).problem(sizes)).values())
        assert km.plan(X).seconds["coefficients"] > 0
    l = settings.landmarks(3000)  # noqa: E741
    assert needed["auto"] - needed["mean"] >= 8 * (l * l + 2048 * l)


def test_few_starts_and_few_rows_for_many_clusters():
    assert [n_starts(k) for k in (2, 10, 20, 50, 1000)] == [10, 10, 5, 2, 2]
    assert [enough_rows(k) for k in (2, 256, 1000)] == [2048, 2048, 8000]


def test_a_choice_is_made_only_if_asked_for(monkeypatch):
    monkeypatch.setattr(coefficients, "best_aligned", lambda *_: pytest.fail("candidates were compared"))
    X, _ = rings(300)
    for gamma in (None, "mean", "narrow", "local", 2.0):
        found(X, gamma)
    assert isinstance(KernelKMeans().gamma, str)
    assert Settings(KernelChoice("rbf", "auto"), None, 1, 1, 0).n_candidates == 1


# Files and the command line


def test_model_files(tmp_path):
    X, _ = rings()
    km = KernelKMeans(2, random_state=0).fit(X)
    loaded = apnc.load(km.save(tmp_path / "rings.apnc"))
    assert (loaded.gamma, loaded.gamma_) == ("auto", km.gamma_)
    np.testing.assert_array_equal(loaded.predict(X), km.labels_)


def test_the_command_line(tmp_path):
    X, _ = rings()
    np.save(tmp_path / "rings.npy", X)
    runner, gammas = CliRunner(), {}
    for words in ([], ["--gamma", "auto"], ["--gamma", "none"], ["--gamma", "mean"], ["--gamma", "narrow"]):
        asked = ["fit", tmp_path / "rings.npy", "-k", "2", "--model", tmp_path / "m.apnc", "--json", *words]
        done = runner.invoke(app, [*map(str, asked)])
        assert done.exit_code == 0, done.output
        gammas["".join(words[1:])] = json.loads(done.stdout)["gamma"]
    shown = runner.invoke(app, ["inspect", str(tmp_path / "m.apnc")]).stdout
    assert f"gamma {gammas['narrow']:.3g}" in shown
    assert gammas[""] == gammas["auto"] == gammas["narrow"] > gammas["mean"] == gammas["none"]
