"""Features of any size are clustered, or refused for their size, without a word from numpy."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from apnc import KernelKMeans, SpectralClustering
from apnc.embeddings.neighbours.coordinates import between_pieces
from apnc.kernels import KERNELS

X, Y = make_blobs(120, n_features=3, centers=[[9, 1, 1], [1, 9, 1], [1, 1, 9]], random_state=0)
X = np.abs(X)


def fitted(Z, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return KernelKMeans(3, n_landmarks=40, random_state=0, **options).fit(Z)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_size_is_clustered_or_refused_for_its_size(kernel, dtype):
    for power in range(-320, 309, 4):
        with np.errstate(all="ignore"):
            Z = (X * 10.0**power).astype(dtype)
        if not np.isfinite(Z).all() or not Z.any():
            continue
        said = ""
        try:
            assert np.isfinite(fitted(Z, kernel=kernel).cluster_centers_).all()
        except ValueError as error:
            said = str(error)
        small, large = ("too small to compute", "too little"), ("too large to compute", "too much")
        assert not said or any(words in said for words in (small if power < 0 else large)), said


@pytest.mark.parametrize(
    ("power", "dtype", "kernel", "said"),
    [
        (
            -160,
            np.float64,
            "rbf",
            "too small to compute with: they reach 1.*e-159, .* range of float64. Multiply them",
        ),
        (-200, np.float64, "rbf", "too small to compute with"),
        (-40, np.float32, "rbf", "too small to compute with: .* range of float32"),
        (
            -40,
            np.float32,
            "laplacian",
            "gamma=.*is outside the usable range of float32. It was tuned from the data",
        ),
        (160, np.float64, "cosine", "too large to compute with"),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_what_is_said(power, dtype, kernel, said, container):
    with pytest.raises(ValueError, match=said):
        fitted(container((X * 10.0**power).astype(dtype)), kernel=kernel)


def test_what_is_told_helps():
    for power in (-160, 160):
        assert adjusted_rand_score(fitted(X * 10.0**power, scale="minmax").labels_, Y) == 1


@pytest.mark.parametrize("power", [-160, 160])
def test_a_variance_out_of_range(power):
    with pytest.raises(ValueError, match=r"scale='standard' needs squares .* they reach .*Multiply them"):
        fitted(X * 10.0**power, scale="standard")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_norms_out_of_range(container):
    with pytest.raises(ValueError, match=r"scale='unit' needs squares .* Multiply them"):
        fitted(container(X * 1e160), scale="unit")


@pytest.mark.parametrize("scale", ["minmax", "standard", None])
def test_a_row_beyond_all_others_is_refused_by_predict(scale):
    km = fitted(X, kernel="linear", scale=scale)
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match="too large to compute with"),
    ):
        km.predict(np.full((2, 3), 1e200))


def test_a_given_gamma_out_of_range():
    with pytest.raises(
        ValueError, match=r"gamma=1e\+50 is outside the usable range of float32. Choose another value"
    ):
        fitted(X.astype(np.float32), gamma=1e50)


def test_equal_rows_are_no_fault():
    assert fitted(np.full((20, 3), 1e-150), gamma=None).gamma_ == 1.0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_small_kernel_gives_the_same_labels_or_none():
    """Y is stored in float32, in which the roots of tiny kernel values are zero."""
    for power in (0, -5, -10, -14):
        assert adjusted_rand_score(fitted(X * 10.0**power, kernel="linear").labels_, Y) == 1
    for power in (-20, -60, -140):
        with pytest.raises(
            ValueError, match=r"up to .*e-\d+, too small to compute with. Multiply the features"
        ):
            fitted(X * 10.0**power, kernel="linear")
    assert adjusted_rand_score(fitted(X * 1e-60, kernel="linear", normalize_kernel=True).labels_, Y) == 1
    with pytest.raises(ValueError, match="too small to compute with"):
        fitted(X * 1e-60, kernel="polynomial", coef0=0, gamma=1.0, normalize_kernel=True)


def test_columns_at_the_edges_of_floats_are_scaled_or_refused():
    with pytest.raises(ValueError, match=r"scale='minmax' needs features that differ .* Multiply them"):
        fitted(np.round(X) * 5e-324, scale="minmax")
    constant = np.column_stack([X, np.full(len(X), 1e300)])
    assert adjusted_rand_score(fitted(constant, scale="standard").labels_, Y) == 1


def test_a_graph_of_infinite_kernel_values():
    graph = SpectralClustering(3, kernel="polynomial", coef0=1e150, degree=2, random_state=0)
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match="The kernel is infinite for some"),
    ):
        graph.fit(X.astype(np.float32))


@pytest.mark.parametrize("places", [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 2, 3]])
def test_pieces_of_a_graph_in_one_place(places):
    """On a line the cosine knows two directions only, however many pieces the graph has."""
    search = SimpleNamespace(landmarks=np.array(places, dtype=float)[:, None])
    with warnings.catch_warnings(action="error"):
        parts = between_pieces([np.array([i]) for i in range(len(places))], search)
    assert len(parts) == 3
    assert np.isfinite(np.array([column for *_, column in parts])).all()
