"""The family of embeddings, tested as a family."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import apnc.embeddings.spectrum
from apnc import (
    Embedding,
    EnsembleEmbedding,
    KernelEmbedding,
    KernelKMeans,
    NeighbourEmbedding,
    NystroemEmbedding,
    StableEmbedding,
)
from apnc.discrepancy import Euclidean, Manhattan
from apnc.embeddings import Block, Coefficients
from apnc.embeddings.family import embedding_steps
from apnc.embeddings.spectrum import decompose
from apnc.embeddings.stable import center_kernel, random_subsets
from apnc.engines.contract import Chunk
from apnc.kernels import VectorKernel
from apnc.testing import (
    check_embedding,
    check_property_1_linear,
    check_property_2_kernelized,
    check_property_3_blocks,
    check_property_4_discrepancy,
    properties_of,
)

FAMILY = [
    NystroemEmbedding(),
    StableEmbedding(),
    StableEmbedding(subset_size=30),
    EnsembleEmbedding(n_blocks=3),
    EnsembleEmbedding(n_blocks=2, mixture_weights=[3, 1]),
]
family = pytest.mark.parametrize("embedding", FAMILY, ids=repr)


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return rng.normal(size=(300, 6)) + 3 * rng.integers(0, 2, size=(300, 1))


@family
def test_property_1_linear(embedding, rows):
    check_property_1_linear(embedding, rows, 0)


@family
def test_property_2_kernelized(embedding, rows):
    check_property_2_kernelized(embedding, rows, 0)


@family
def test_property_3_blocks(embedding, rows):
    check_property_3_blocks(embedding, rows, 0)


@family
def test_property_4_discrepancy(embedding, rows):
    check_property_4_discrepancy(embedding, rows, 0)


class Wrong(NystroemEmbedding):
    """A Nystroem embedding with one thing broken."""

    def __init__(self, broken="scale"):
        self.broken = broken

    def coefficients(self, landmarks, kernel, n_components, rng):
        right = super().coefficients(landmarks, kernel, n_components, rng)
        block = right.blocks[0]
        if self.broken == "scale":
            return Coefficients(right.blocks, Euclidean(), 2.0)
        if self.broken == "discrepancy":
            return Coefficients(right.blocks, Manhattan(), 1.0)
        if self.broken == "blocks":
            return Coefficients((block, block), Euclidean(), np.sqrt(0.5))
        if self.broken == "landmarks":
            return Coefficients((Block(block.landmarks * 1.01, block.weights),), Euclidean())
        weights = block.weights * (1 + np.abs(np.asarray(landmarks)[:, 0]))
        return Coefficients((Block(block.landmarks, weights),), Euclidean())


@pytest.mark.parametrize(
    ("broken", "number"),
    [("scale", 4), ("discrepancy", 4), ("blocks", 3), ("landmarks", 2), ("coordinates", 2)],
)
def test_check_embedding_finds_what_is_wrong(broken, number):
    with pytest.raises(AssertionError, match=f"Property {number}"):
        check_embedding(Wrong(broken))


@family
def test_all_properties_of_the_family_hold(embedding):
    found = properties_of(embedding)
    assert [(one.number, one.holds, one.space) for one in found] == [
        (i, True, "kernel") for i in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(("broken", "number"), [("scale", 4), ("blocks", 3), ("landmarks", 2)])
def test_properties_that_do_not_hold_are_reported(broken, number):
    found = properties_of(Wrong(broken))
    assert number in [one.number for one in found if not one.holds]
    assert 1 in [one.number for one in found if one.holds]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_nearest", [2, 3, 6])
def test_properties_of_a_neighbour_graph(n_nearest, seed):
    """In the kernel's space it is neither linear nor has it the kernel's distance; in its own space it is and has."""
    found = properties_of(NeighbourEmbedding(n_nearest), seed)
    held = {(one.number, one.space): one.holds for one in found}
    assert held == {
        (1, "kernel"): False,
        (2, "kernel"): True,
        (3, "kernel"): True,
        (4, "kernel"): False,
        (1, "graph"): True,
        (4, "graph"): True,
    }, found
    assert all(one.note for one in found)
    with pytest.raises(AssertionError, match="Property 1"):
        check_embedding(NeighbourEmbedding(n_nearest), seed)


class CholeskyEmbedding(Embedding):
    """A user's own: R is the inverse of the Cholesky factor of K_LL."""

    def coefficients(self, landmarks, kernel, n_components, rng):
        K = kernel(landmarks, landmarks)
        factor = np.linalg.cholesky(K + 1e-8 * np.eye(len(K)))
        return Coefficients((Block(landmarks, np.linalg.inv(factor)),), Euclidean())


def test_own_embedding_plugs_in(digits):
    X, _ = digits
    check_embedding(CholeskyEmbedding())
    options = {"n_landmarks": 60, "random_state": 0, "init": np.arange(len(X)) % 10}
    own = KernelKMeans(10, embedding=CholeskyEmbedding(), **options).fit(X)
    nystroem = KernelKMeans(10, **options).fit(X)
    np.testing.assert_array_equal(own.labels_, nystroem.labels_)


@pytest.mark.parametrize("gamma", [None, 0.02])
def test_stable_ignores_signs_of_eigenvectors(digits, monkeypatch, gamma):
    X, _ = digits
    options = {"embedding": "stable", "gamma": gamma, "n_landmarks": 50, "random_state": 0}
    expected = KernelEmbedding(**options).fit_transform(X)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=1000)

    def flipped(K):
        values, vectors = np.linalg.eigh(K)
        return values, vectors * signs[: len(values)]

    monkeypatch.setattr(apnc.embeddings.spectrum.linalg, "eigh", flipped)
    monkeypatch.setattr(apnc.embeddings.spectrum.np, "sign", np.ones_like)
    np.testing.assert_allclose(KernelEmbedding(**options).fit_transform(X), expected, atol=1e-6)


@pytest.mark.parametrize("n_landmarks", [50, 100, 300, 1000])
def test_stable_distances_are_on_the_kernel_scale(digits, n_landmarks):
    """Decision 11: the median of beta x L1 over the Nystroem distance is within 3 % of 1."""
    X, _ = digits
    ratios = []
    for seed in range(5):
        options = {"n_landmarks": n_landmarks, "n_components": 1000, "random_state": seed}
        nystroem = KernelEmbedding(**options).fit_transform(X)
        stable = KernelEmbedding(embedding="stable", **options).fit(X)
        Y, beta = stable.transform(X), stable._model.embedding.coefficients.beta
        i, j = np.random.default_rng(seed).choice(len(X), size=(2, 2000))
        exact = np.linalg.norm(nystroem[i] - nystroem[j], axis=1)
        approximate = beta * np.abs(Y[i] - Y[j]).sum(axis=1)
        ratios.append(approximate[exact > 0] / exact[exact > 0])
    assert np.median(np.concatenate(ratios)) == pytest.approx(1, abs=0.03)


def test_stable_distances_survive_a_steep_spectrum():
    """Decision 13: tiny eigenvalues must not amplify rounding."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    options = {"gamma": 0.5, "n_landmarks": 200, "n_components": 1000, "random_state": 0}
    nystroem = KernelEmbedding(**options).fit_transform(X)
    stable = KernelEmbedding(embedding="stable", **options).fit(X)
    Y, beta = stable.transform(X), stable._model.embedding.coefficients.beta
    ratio = (
        beta
        * np.abs(Y[:1000] - Y[1000:]).sum(axis=1)
        / np.linalg.norm(nystroem[:1000] - nystroem[1000:], axis=1)
    )
    assert np.median(ratio) == pytest.approx(1, abs=0.05)


def test_random_subsets_have_their_size():
    subsets = random_subsets(200, 30, 12, np.random.default_rng(0))
    assert subsets.shape == (200, 30)
    assert set(np.unique(subsets)) == {0.0, 1.0}
    assert (subsets.sum(axis=1) == 12).all()
    assert len(np.unique(subsets, axis=0)) > 150
    assert np.abs(subsets.mean(axis=0) - 0.4).max() < 0.15


@pytest.mark.parametrize("size", [0, -1, 50, 60, 1.5, "half", None])
def test_stable_refuses_bad_subset_sizes(digits, size):
    with pytest.raises(ValueError, match="subset_size"):
        KernelKMeans(3, embedding=StableEmbedding(size), n_landmarks=50).fit(digits[0])


def test_center_kernel_is_hkh(digits):
    K = digits[0][:20] @ digits[0][:20].T
    H = np.eye(20) - 1 / 20
    np.testing.assert_allclose(center_kernel(K), H @ K @ H, atol=1e-10)


def test_ensemble_inner_products_are_the_ensemble_kernel(digits):
    """Kumar, Mohri and Talwalkar: sum_b mu_b C_b W_b^+ C_b^T."""
    X, kernel, mu = digits[0][:400], VectorKernel("rbf", gamma=0.05), np.array([0.5, 0.3, 0.2])
    embedding = KernelEmbedding(
        gamma=0.05,
        n_landmarks=90,
        n_components=90,
        embedding=EnsembleEmbedding(3, mu * 7),
        random_state=0,
    ).fit(X)
    Y = embedding.transform(X)
    expected = np.zeros((400, 400))
    for weight, landmarks in zip(mu, np.split(embedding.landmarks_, 3), strict=True):
        C = kernel(X, landmarks)
        expected += weight * C @ np.linalg.pinv(kernel(landmarks, landmarks)) @ C.T
    np.testing.assert_allclose(Y @ Y.T, expected, atol=1e-6)


def test_ensemble_of_one_block_is_nystroem(digits):
    options = {"n_landmarks": 80, "n_components": 40, "random_state": 1}
    one = KernelEmbedding(embedding=EnsembleEmbedding(1), **options).fit_transform(digits[0])
    np.testing.assert_allclose(one, KernelEmbedding(**options).fit_transform(digits[0]), atol=1e-10)


def test_ensemble_sizes_are_totals(digits):
    km = KernelEmbedding(embedding=EnsembleEmbedding(3), n_landmarks=100, n_components=50, random_state=0)
    km.fit(digits[0])
    assert (km.n_landmarks_, km.n_components_) == (100, 50)
    assert len(km._model.embedding.coefficients.blocks) == 3


def test_nystroem_of_all_rows_is_exact(digits):
    X = digits[0][:300]
    Y = KernelEmbedding(gamma=0.05, n_landmarks=300, n_components=300, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Y @ Y.T, VectorKernel("rbf", gamma=0.05)(X, X), atol=1e-8)


def test_components_are_capped_at_the_kept_rank():
    X = np.random.default_rng(0).normal(size=(200, 3))
    km = KernelEmbedding(kernel="linear", n_landmarks=50, n_components=40, random_state=0).fit(X)
    assert km.n_components_ == 3


def test_spectrum_floor_drops_noise_of_an_indefinite_kernel():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    K = Q @ np.diag([5.0, 1.0, 0.3, 0.1, -0.01, -0.2]) @ Q.T
    spectrum = decompose(K, np.empty((6, 1)))
    np.testing.assert_allclose(spectrum.values, [5.0, 1.0, 0.3])
    assert spectrum.dropped == 3
    assert spectrum.negative == pytest.approx(0.21 / 6.61)


def test_an_indefinite_kernel_gives_one_warning_and_finite_results(digits):
    X, _ = digits
    with pytest.warns(UserWarning, match="Dropped rank") as caught:
        km = KernelKMeans(5, kernel="sigmoid", gamma=0.5, coef0=-2.0, n_landmarks=60, random_state=0).fit(X)
    about_rank = [str(warning.message) for warning in caught if "Dropped rank" in str(warning.message)]
    assert len(about_rank) == 1
    assert f"of {km.n_landmarks_}" in about_rank[0]
    assert np.isfinite(km.embed(X)).all()
    assert np.isfinite(km.inertia_)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("normalize", [False, True])
def test_a_distance_is_no_kernel_and_the_warning_says_so(sign, normalize):
    X = np.random.default_rng(0).normal(size=(100, 2))
    km = KernelEmbedding(kernel=lambda A, B: sign * cdist(A, B), normalize_kernel=normalize, n_landmarks=30)
    with pytest.warns(UserWarning, match="A kernel must be a similarity"):
        km.fit(X)


def test_a_slightly_indefinite_kernel_is_not_taken_for_a_distance(digits):
    sigmoid = KernelEmbedding(kernel="sigmoid", gamma=0.5, coef0=-2.0, n_landmarks=60, random_state=0)
    with pytest.warns(UserWarning, match="indefinite") as caught:
        sigmoid.fit(digits[0])
    assert not any("similarity" in str(warning.message) for warning in caught)


def test_mixture_weights_are_checked(digits):
    for bad in ([1, 2], [1, -1, 1], [0, 0, 0]):
        with pytest.raises(ValueError, match="mixture_weights"):
            KernelEmbedding(embedding=EnsembleEmbedding(3, bad), n_landmarks=30).fit(digits[0])
    with pytest.raises(ValueError, match="n_blocks"):
        KernelEmbedding(embedding=EnsembleEmbedding(0), n_landmarks=30).fit(digits[0])


@pytest.mark.parametrize("embedding", ["nystroem", "ensemble"])
def test_rows_of_a_normalized_kernel_have_norm_one(digits, embedding):
    """Decision 16: the approximate kernel is normalised too."""
    X = digits[0] * 4
    X[7] = 0
    options = {
        "kernel": "polynomial",
        "gamma": 1.0,
        "degree": 5,
        "coef0": 0,
        "n_landmarks": 40,
        "random_state": 0,
    }
    plain = KernelEmbedding(embedding=embedding, **options).fit(X).transform(X)
    unit = KernelEmbedding(embedding=embedding, normalize_kernel=True, **options).fit(X)
    Y = unit.transform(X)
    norms = np.linalg.norm(Y, axis=1)
    np.testing.assert_allclose(np.delete(norms, 7), 1)
    assert norms[7] == 0
    assert unit.residual_ > 0.05
    if embedding == "nystroem":
        other = plain / np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-300)
        np.testing.assert_allclose(Y @ Y.T, other @ other.T, atol=1e-5)


def test_nystroem_coefficients_are_algorithm_3_turned(digits):
    X, _ = digits
    kernel = VectorKernel("rbf", 0.1)
    R = NystroemEmbedding().coefficients(X[:400], kernel, 300, np.random.default_rng(0)).blocks[0].weights
    values, vectors = np.linalg.eigh(kernel(X[:400], X[:400]))
    of_the_paper = (vectors[:, -300:] / np.sqrt(values[-300:])).T
    np.testing.assert_allclose(R.T @ R, of_the_paper.T @ of_the_paper, rtol=1e-6, atol=1e-6)
    assert not np.tril(R, -1).any()


def test_a_block_with_zeros_on_the_left_is_the_plain_product(digits):
    X, _ = digits
    rng = np.random.default_rng(0)
    R = np.triu(rng.normal(size=(600, 700)), k=3)
    R[550:] = 0
    kernel = VectorKernel("rbf", 1e-3)
    steps = embedding_steps(
        kernel, Coefficients((Block(X[:700], R),), Euclidean()), np.float64, out=np.float64
    )
    chunk = Chunk(0, X, np.ones(len(X)))
    for step in steps:
        chunk = step(chunk)
    np.testing.assert_allclose(chunk.rows, kernel(X, X[:700]) @ R.T, atol=1e-9)
