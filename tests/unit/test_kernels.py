"""Kernels against scikit-learn and against naive loops."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from apnc import KernelEmbedding, KernelKMeans
from apnc.kernels import CallableKernel, KernelChoice, NormalizedKernel, VectorKernel
from apnc.kernels.bandwidth import additive_chi2
from apnc.rows import compute_dtype

PARAMETERS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "polynomial": {"gamma": 0.5, "coef0": 0.7, "degree": 3},
    "sigmoid": {"gamma": 0.1, "coef0": 0.2},
    "laplacian": {"gamma": 0.4},
    "cosine": {},
    "chi2": {"gamma": 0.6},
}


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    X, L = rng.random((40, 7)), rng.random((15, 7))
    X[rng.random(X.shape) < 0.4] = 0
    L[rng.random(L.shape) < 0.4] = 0
    X[3] = 0
    return X, L


@pytest.mark.parametrize("layout", ["dense", "csr", "csr x dense", "dense x csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PARAMETERS)
def test_equals_scikit_learn(name, dtype, layout, pair):
    X, L = (rows.astype(dtype) for rows in pair)
    expected = pairwise_kernels(X.astype(float), L.astype(float), metric=name, **PARAMETERS[name])
    rows = sparse.csr_array(X) if layout.startswith("csr") else X
    landmarks = sparse.csr_array(L) if layout.endswith("csr") else L
    prepared = VectorKernel(name, **PARAMETERS[name]).against(landmarks, dtype)
    K = prepared(rows)
    assert K.dtype == dtype
    np.testing.assert_allclose(
        K * prepared.factor, expected, rtol=1e-5, atol=2e-6 if dtype == np.float32 else 1e-12
    )


@pytest.mark.parametrize(("dtype", "size"), [(float, 1e-213), (float, 1e220), (float, 1.7e308), ("f4", 3e38)])
def test_chi2_of_features_whose_squares_are_out_of_range(dtype, size, pair):
    """An outlier of that size among rows of the smallest: neither is lost."""
    least = 1e-30 if dtype == "f4" else 1e-200
    X, L = ((least * rows).astype(dtype) for rows in pair)
    X[0, 0], L[0, 0] = size, 0.9 * size
    wide = [rows.astype(np.longdouble) for rows in (X, L)]
    apart, total = wide[0][:, None] - wide[1], wide[0][:, None] + wide[1]
    exact = np.divide(apart**2, total, out=np.zeros_like(total), where=total > 0).sum(axis=2)
    np.testing.assert_allclose(-additive_chi2(X, L).astype(np.longdouble), exact, rtol=1e-6)


@pytest.mark.parametrize("name", PARAMETERS)
def test_diagonal_is_the_kernel_with_itself(name, pair):
    kernel = VectorKernel(name, **PARAMETERS[name])
    for rows in (pair[0], sparse.csr_array(pair[0])):
        np.testing.assert_allclose(kernel.diagonal(rows), np.diag(kernel(pair[0], pair[0])), atol=1e-12)


@pytest.mark.parametrize("name", PARAMETERS)
def test_normalized_kernel(name, pair):
    X, L = pair
    kernel = VectorKernel(name, **PARAMETERS[name])
    roots = [np.sqrt(kernel.diagonal(rows)) for rows in (X, L)]
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(kernel(X, L) / np.outer(*roots))
    np.testing.assert_allclose(NormalizedKernel(kernel)(X, L), expected, atol=1e-12)


def test_normalizing_needs_a_positive_diagonal():
    with pytest.raises(ValueError, match="normalize_kernel"):
        KernelKMeans(2, kernel="sigmoid", gamma=0.1, coef0=-1, normalize_kernel=True).fit(np.eye(9))


def test_rbf_far_from_the_origin_keeps_its_digits():
    """The landmarks' mean is subtracted before float32 products cancel."""
    rng = np.random.default_rng(0)
    X = (1e3 + rng.random((200, 5))).astype(np.float32)
    expected = pairwise_kernels(X.astype(float), X[:20].astype(float), metric="rbf", gamma=2.0)
    K = VectorKernel("rbf", gamma=2.0).against(X[:20], np.float32)(X)
    np.testing.assert_allclose(K, expected, rtol=2e-3)


@pytest.mark.parametrize(("degree", "normalize"), [(4, False), (8, True)])
def test_large_polynomials_stay_within_float32(degree, normalize):
    X = (255 * np.random.default_rng(0).random((300, 50))).astype(np.float32)
    km = KernelKMeans(
        3,
        kernel="polynomial",
        gamma=1.0,
        degree=degree,
        n_landmarks=40,
        normalize_kernel=normalize,
        random_state=0,
    ).fit(X)
    wide = KernelKMeans(
        3,
        kernel="polynomial",
        gamma=1.0,
        degree=degree,
        n_landmarks=40,
        normalize_kernel=normalize,
        random_state=0,
    ).fit(X.astype(float))
    assert np.isfinite(km.embed(X)).all()
    assert km.inertia_ == pytest.approx(wide.inertia_, rel=1e-2)


def test_absurdly_large_kernels_are_refused():
    X = 255 * np.random.default_rng(0).random((300, 50))
    with pytest.raises(ValueError, match=r"values up to .*normalize_kernel=True"):
        KernelKMeans(3, kernel="polynomial", gamma=1.0, degree=8).fit(X)


@pytest.mark.parametrize("degree", [1, 2, 5, 2.5])
def test_polynomial_degrees(degree, pair):
    X, L = pair
    kernel = VectorKernel("polynomial", gamma=1.0, degree=degree)
    np.testing.assert_allclose(kernel(X, L), (X @ L.T + 1) ** degree, rtol=1e-10)


def test_compute_type_follows_the_rows():
    narrow = [np.float32, np.float16, np.int16, np.uint8, np.bool_]
    wide = [np.float64, np.int32, np.int64, np.uint32]
    assert {compute_dtype(np.zeros(1, t)) for t in narrow} == {np.float32}
    assert {compute_dtype(np.zeros(1, t)) for t in wide} == {np.float64}
    assert compute_dtype(["a"]) is np.float64


def test_gamma_defaults(digits):
    X, _ = digits
    assert KernelEmbedding(kernel="polynomial", n_landmarks=20).fit(X).gamma_ == pytest.approx(1 / 64)
    assert KernelEmbedding(kernel="linear", n_landmarks=20).fit(X).gamma_ is None
    assert KernelEmbedding(n_landmarks=20).fit(np.ones((9, 2))).gamma_ == 1.0
    chi2 = KernelEmbedding(kernel="chi2", n_landmarks=20, random_state=0).fit(X)
    assert 0 < chi2.gamma_ < 1
    local = KernelEmbedding(gamma="local", n_landmarks=20, random_state=0).fit(X)
    wide = KernelEmbedding(n_landmarks=20, random_state=0).fit(X)
    assert local.gamma_ > wide.gamma_


def overlap(A, B, power=1):
    return np.array([[len(set(a) & set(b)) ** power for b in B] for a in A], dtype=float)


def test_callable_kernel_gets_its_parameters_and_diagonal():
    words = ["abc", "abd", "xyz", "xyw"]
    kernel = CallableKernel(overlap, {"power": 2})
    np.testing.assert_array_equal(kernel(words, words), overlap(words, words) ** 2)
    np.testing.assert_array_equal(kernel.diagonal(words), [9, 9, 9, 9])


def test_a_kernel_functions_own_diagonal_is_used():
    def kernel(A, B):
        return overlap(A, B)

    calls = []
    kernel.diagonal = lambda A: calls.append(len(A)) or np.array([len(set(a)) for a in A], dtype=float)
    normalized = KernelChoice(kernel, normalize=True).resolve(None, None, 0)
    words = ["abc", "ab", "xyz"]
    expected = overlap(words, words) / np.sqrt(np.outer([3, 2, 3], [3, 2, 3]))
    np.testing.assert_allclose(normalized(words, words), expected)
    assert calls
    kernel.diagonal = lambda A: np.ones((len(A), 2))
    with pytest.raises(ValueError, match="diagonal"):
        normalized(words, words)


class Counted:
    """A function on words, and the number of pairs that it was asked for."""

    def __init__(self):
        self.values = 0

    def __call__(self, A, B):
        self.values += len(A) * len(B)
        return overlap(A, B)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble"])
def test_a_slow_function_is_asked_for_few_values(embedding, normalize):
    """n l for Y, l^2 for R, and l for each row of the sample, once; diagonals are among the slack of a fifth."""
    rng = np.random.default_rng(0)
    words = ["".join(word) for word in rng.choice(list("abcdef"), (2241, 7))]
    kernel, landmarks = Counted(), 60
    KernelKMeans(
        3,
        kernel=kernel,
        embedding=embedding,
        normalize_kernel=normalize,
        n_landmarks=landmarks,
        random_state=0,
    ).fit(words)
    n, sample = len(set(words)), 2048
    assert kernel.values <= 1.2 * (n * landmarks + landmarks**2 + landmarks * sample)
