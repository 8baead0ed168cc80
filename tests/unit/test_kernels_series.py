"""Dynamic time warping against naive loops and tslearn, and series as rows of estimators."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import apnc
from apnc import KernelKMeans, SpectralClustering
from apnc.kernels import BadObjectError, TimeWarp, kernel_spelled
from apnc.kernels.objects.series import TUNING_PAIRS

BANDS = [None, 0.05, 0.1, 0.3, 1.0]


def some_series(n, channels=0, seed=0, longest=20):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(1, longest), channels)[: 2 if channels else 1]).tolist()
        for _ in range(n)
    ]


def radius_of(band, x, y):
    return None if band is None else max(1, int(band * max(len(x), len(y)) + 0.5))


def naive(x, y, radius=None):
    """The distance by the whole table, with the band from corner to corner."""
    x, y = (np.asarray(series, float).reshape(len(series), -1) for series in (x, y))
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            left, right = max(0, n - m), max(0, m - n)
            if radius is None or i - left - radius <= j <= i + right + radius:
                before = min(table[i, j], table[i, j + 1], table[i + 1, j])
                table[i + 1, j + 1] = ((x[i] - y[j]) ** 2).sum() + before
    return np.sqrt(table[n, m])


def matrix(distance, A, B, gamma):
    return np.array([[np.exp(-gamma * distance(a, b) ** 2) for b in B] for a in A])


# Values


@pytest.mark.parametrize("channels", [0, 1, 3])
@pytest.mark.parametrize("band", BANDS)
def test_equals_the_whole_table(band, channels):
    A, B = some_series(12, channels), some_series(9, channels, seed=1)
    expected = matrix(lambda a, b: naive(a, b, radius_of(band, a, b)), A, B, 0.02)
    np.testing.assert_allclose(TimeWarp(band, 0.02)(A, B), expected, rtol=1e-12)


@pytest.mark.parametrize("channels", [0, 2])
@pytest.mark.parametrize("band", BANDS)
def test_equals_tslearn(band, channels):
    dtw = pytest.importorskip("tslearn.metrics").dtw
    A, B = some_series(15, channels, longest=40), some_series(15, channels, seed=1, longest=40)

    def distance(a, b):
        return dtw(a, b, "sakoe_chiba" if band else None, sakoe_chiba_radius=radius_of(band, a, b))

    np.testing.assert_allclose(TimeWarp(band, 0.01)(A, B), matrix(distance, A, B, 0.01), atol=1e-12)
    np.testing.assert_allclose(
        np.sqrt(-np.log(TimeWarp(band, 1e-3)(A, B)) / 1e-3),
        [[distance(a, b) for b in B] for a in A],
        atol=1e-6,
    )


def test_values_in_float32():
    A = some_series(10)
    rows = TimeWarp(gamma=0.1).against(A, np.float32)
    room = np.empty((10, 10), np.float32)
    assert rows(A).dtype == np.float32
    assert rows(A, room) is room
    np.testing.assert_allclose(room, TimeWarp(gamma=0.1)(A, A), atol=1e-7)
    np.testing.assert_array_equal(rows(A), room)


series = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)


@given(st.lists(series, min_size=1, max_size=6), st.sampled_from(BANDS))
@settings(deadline=None, max_examples=60)
def test_symmetric_with_ones_on_the_diagonal(objects, band):
    kernel = TimeWarp(band, 1e-4)
    K = kernel(objects, objects)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(K), np.ones(len(objects)))
    np.testing.assert_array_equal(kernel.diagonal(objects), np.ones(len(objects)))
    assert ((K >= 0) & (K <= 1)).all()


@given(st.lists(series, min_size=2, max_size=8), st.data())
@settings(deadline=None, max_examples=60)
def test_values_do_not_depend_on_the_chunks(objects, data):
    kernel = TimeWarp(0.3, 1e-4)
    cut = data.draw(st.integers(1, len(objects) - 1))
    rows = kernel.against(objects, np.float64)
    np.testing.assert_array_equal(
        np.vstack([rows(objects[:cut]), rows(objects[cut:])]), kernel(objects, objects)
    )


@given(st.lists(series, min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_reading_twice_is_reading_once(objects):
    read = TimeWarp().read(objects)
    assert TimeWarp().read(read) == read == [list(map(float, item)) for item in objects]
    assert json.loads(json.dumps(read)) == read


def test_a_band_moves_with_the_longer_series():
    """The same event at other times: far apart within a narrow band, near without one."""
    early, late = np.zeros(40), np.zeros(40)
    early[5:8], late[30:33] = 1.0, 1.0
    assert TimeWarp(gamma=1.0)([early], [late])[0, 0] == 1.0
    assert TimeWarp(0.1, 1.0)([early], [late])[0, 0] < 0.01


# Reading


def test_forms_of_a_series():
    read = TimeWarp().read
    assert (
        read([np.arange(3), (0, 1, 2), [0, 1.0, 2], np.arange(3, dtype=np.float32)]) == [[0.0, 1.0, 2.0]] * 4
    )
    assert read([np.array([[1], [2]])]) == [[1.0, 2.0]]
    assert read([np.array([[1, 2], [3, 4]]), [(1, 2)]]) == [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0]]]
    assert read(np.ones((2, 3))) == [[1.0] * 3] * 2


def test_columns_of_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = [[1.0, 2.0], [3.0]]
    assert TimeWarp().read(pandas.Series([[1, 2], [3]])) == expected
    assert TimeWarp().read(polars.Series([[1, 2], [3]])) == expected


BAD = [
    (None, "found None, expected a list of numbers"),
    ("abc", "found str 'abc', expected a list of numbers"),
    (3.0, "found float 3.0, expected a list"),
    (np.float64(3.0), "expected a list of numbers"),
    ({"a": 1}, "found dict"),
    ([], "found an empty series"),
    (np.empty((0, 2)), "found an empty series"),
    (np.ones((1, 1, 1)), "found 3 dimensions"),
    ([1.0, float("nan")], "found nan at step 1 of a series, expected finite numbers"),
    ([1.0, 2.0, float("-inf")], "found -inf at step 2"),
    ([1e200], "found 1e+200 at step 0 of a series, expected numbers below 1e+100"),
    ([1.0, None], "found None in a series"),
    ([1.0, "2"], "found str '2' in a series"),
    ([True, False], "found bool True in a series"),
    ([[1.0, 2.0], [3.0]], "found numbers of channels that differ"),
    ([[1.0, 2.0], [3.0, 4.0]], "found 2 channels, expected 1"),
    ([[1.0, float("nan")], [3.0, 4.0]], "found (1, nan) at step 0"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_bad_series_are_named(bad, reason):
    objects = [[0.0, 1.0], [1.0], bad, [2.0]]
    with pytest.raises(BadObjectError) as caught:
        TimeWarp().read(objects)
    assert caught.value.position == 2
    assert reason in str(caught.value)
    with pytest.raises(ValueError, match="X, row 2: found"):
        KernelKMeans(2, kernel=TimeWarp()).fit(objects)


def test_channels_must_match_the_landmarks():
    with pytest.raises(ValueError, match=r"1 value of 2 channels .* the landmarks, which have 1 channel"):
        TimeWarp(gamma=1.0)([[[1.0, 2.0]]], [[1.0]])


@pytest.mark.parametrize(
    "options", [{"band": 0}, {"band": 1.5}, {"band": True}, {"gamma": 0}, {"gamma": "x"}]
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match="expected None or a"):
        TimeWarp(**options)


def test_shown():
    shown = TimeWarp().shown
    assert shown([0.1, 0.2, 0.3, -1.2, *[3.4] * 124]) == "128 values from -1.2 to 3.4: 0.1, 0.2, 0.3, ..."
    assert shown([2.0]) == "1 value from 2 to 2: 2"
    assert shown([[1.0, 2.0], [3.0, 4.0]]) == "2 values of 2 channels from 1 to 4: (1, 2), (3, 4)"


# Gamma


def test_gamma_follows_from_the_mean_distance():
    objects, weights = some_series(30), np.arange(1.0, 31.0)
    kernel = TimeWarp(0.3).tuned(objects, weights)
    distances = np.array([[naive(a, b, radius_of(0.3, a, b)) for b in objects] for a in objects])
    pairs = np.outer(weights, weights)
    np.fill_diagonal(pairs, 0.0)
    assert kernel.gamma == pytest.approx(1 / (2 * np.average(distances, weights=pairs) ** 2), rel=1e-12)
    assert kernel.found
    assert not kernel.tunable
    assert kernel.asked == TimeWarp(0.3)
    assert kernel.tuned(objects, weights) == kernel


def test_only_so_many_series_tune_gamma():
    objects = some_series(TUNING_PAIRS, longest=4) + [[1e6]] * 5
    weights = np.ones(len(objects))
    few = TimeWarp().tuned(objects[:TUNING_PAIRS], weights[:TUNING_PAIRS])
    assert TimeWarp().tuned(objects, weights) == few


@pytest.mark.parametrize("values", [[[1.0], [1.0, 1.0]], [[0.0], [1e-170]], [[5.0]]])
def test_equal_series_have_a_gamma(values):
    assert TimeWarp().tuned(values, np.ones(len(values))).gamma == 1.0


def test_a_given_gamma_stays():
    kernel = TimeWarp(0.1, 0.5)
    assert kernel.tuned(some_series(3), np.ones(3)) is kernel
    assert kernel.asked is kernel
    with pytest.raises(ValueError, match="has no gamma yet"):
        TimeWarp().against([[1.0]], np.float64)


# Estimators


def shapes(n=90, seed=0):
    """Three shapes at any time and speed."""
    rng = np.random.default_rng(seed)
    found, kinds = [], np.arange(n) % 3
    for kind in kinds:
        length, at = int(rng.integers(30, 60)), rng.uniform(0.2, 0.5)
        t = np.linspace(0, 1, length)
        wave = (
            np.exp(-(((t - at) / 0.05) ** 2)),
            (t > at) * 1.0,
            np.exp(-(((t - at) / 0.05) ** 2)) - np.exp(-(((t - at - 0.3) / 0.05) ** 2)),
        )[kind]
        found.append((wave + 0.02 * rng.normal(size=length)).tolist())
    return found, kinds


def test_clusters_of_shapes(tmp_path):
    objects, kinds = shapes()
    one = KernelKMeans(3, kernel=TimeWarp(), n_landmarks=30, n_jobs=1, random_state=0).fit(objects)
    two = KernelKMeans(3, kernel="time_warp", n_landmarks=30, n_jobs=2, random_state=0).fit(objects)
    assert adjusted_rand_score(kinds, one.labels_) > 0.9
    np.testing.assert_array_equal(one.labels_, two.labels_)
    one.save(tmp_path / "model")
    loaded = apnc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(objects), one.predict(objects))
    assert loaded.kernel == TimeWarp()
    assert loaded._model.embedding.kernel == one._model.embedding.kernel
    assert one._model.embedding.kernel.found


def test_a_certificate_keeps_gamma(monkeypatch):
    """Refits with other seeds compare partitions of the same kernel."""
    objects, _ = shapes()
    km = KernelKMeans(3, kernel=TimeWarp(), n_landmarks=30, random_state=0).fit(objects)
    used, against = set(), TimeWarp.against

    def watched(self, landmarks, dtype):
        used.add(self.gamma)
        return against(self, landmarks, dtype)

    monkeypatch.setattr(TimeWarp, "against", watched)
    km.certify(objects, n_rows=40)
    assert used == {km.gamma_}


def test_spectral_clusters_of_shapes():
    objects, kinds = shapes(60)
    labels = SpectralClustering(3, kernel=TimeWarp(), random_state=0).fit(objects).labels_
    assert adjusted_rand_score(kinds, labels) > 0.9


@pytest.mark.parametrize("kernel", [TimeWarp(), TimeWarp(0.1), TimeWarp(None, 2.0), 2.0 * TimeWarp(0.5, 1.0)])
def test_spelling(kernel):
    assert kernel_spelled(repr(kernel)) == kernel
    assert kernel_spelled("time_warp(0.1)") == TimeWarp(0.1)


def test_the_command_line(tmp_path):
    objects, _ = shapes(30)
    lines = "".join(json.dumps(item) + "\n" for item in objects)
    (tmp_path / "good.jsonl").write_text(lines)
    (tmp_path / "bad.jsonl").write_text(lines + "[1.0, null]\n")
    command = [sys.executable, "-m", "apnc.cli", "fit"]
    options = ["-k", "3", "--kernel", "time_warp(band=0.5)", "--labels"]
    good = subprocess.run(
        [*command, "good.jsonl", *options, "a.csv"], cwd=tmp_path, capture_output=True, text=True
    )
    assert good.returncode == 0, good.stderr
    bad = subprocess.run(
        [*command, "bad.jsonl", *options, "b.csv"], cwd=tmp_path, capture_output=True, text=True
    )
    assert bad.returncode == 2
    assert bad.stderr.splitlines()[-1].startswith("apnc: bad.jsonl, line 31: found None in a series")
    assert not (tmp_path / "b.csv").exists()
    expected = KernelKMeans(3, kernel=TimeWarp(0.5), random_state=0).fit(objects).labels_
    labels = np.genfromtxt(
        io.StringIO((tmp_path / "a.csv").read_text()), names=True, delimiter=",", dtype=None
    )
    assert adjusted_rand_score(expected, labels["label"]) == 1.0
