"""Fits on Dask give the labels of fits on this machine, row for row, for arrays, dataframes and bags."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.kernels import Jaccard, Record, Spectrum
from benchmarks.objects.generated import FIELDS, mixed_records
from tests.dask.conftest import labels_of
from tests.unit.test_checkpoint import interrupt_after
from tests.unit.test_extending import folder, kind, made, rows, spherical  # noqa: F401

SETTINGS = {"n_clusters": 8, "n_landmarks": 100, "max_iter": 10, "random_state": 0}
WORDS = ["".join("abcdxyz"[(i * j + i // 7) % 7] for j in range(1, 4 + i % 5)) for i in range(90)]


def on(frame, **options):
    return apnc.open(frame, **({"exclude": ["id"]} | options))


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)[0]


@pytest.fixture(scope="module")
def fitted(digits):
    return KernelKMeans(10, random_state=0).fit(digits)


@pytest.fixture(scope="module")
def local(blobs):
    return KernelKMeans(**SETTINGS).fit(blobs)


@pytest.mark.parametrize("n_partitions", [1, 37, "shuffled", "threads"])
def test_the_same_labels(frame_of, blobs, local, n_partitions, request):
    if n_partitions == "threads":
        request.getfixturevalue("threads")
    frame = frame_of(blobs, n_partitions if isinstance(n_partitions, int) else 4)
    if n_partitions == "shuffled":
        order = np.random.default_rng(1).permutation(len(blobs))
        frame = frame_of(blobs[order], 9)
        frame = frame.map_partitions(lambda part: part.assign(id=order[part.id]))
    km = KernelKMeans(**SETTINGS).fit(on(frame))
    assert km.n_iter_ == local.n_iter_
    np.testing.assert_array_equal(labels_of(km, frame), local.labels_)
    np.testing.assert_allclose(km.inertia_, local.inertia_)
    np.testing.assert_array_equal(km.cluster_sizes_, np.bincount(local.labels_, minlength=8))


@pytest.mark.parametrize("layout", ["rows", "columns too", "unknown sizes"])
def test_arrays(array_of, blobs, local, layout):
    x = array_of(blobs, 5)
    if layout == "columns too":
        x = x.rechunk((3000, 2))
    if layout == "unknown sizes":
        x = x[x[:, 0] > -np.inf]
    km = KernelKMeans(**SETTINGS).fit(x)
    labels = km.predict(x)
    assert (labels.dtype, labels.ndim) == (np.int32, 1)
    assert labels.chunks[0] == x.chunks[0] or layout == "unknown sizes"
    np.testing.assert_array_equal(labels.compute(), local.labels_)
    np.testing.assert_allclose(km.embed(x).compute(), local.embed(blobs), atol=1e-6)
    np.testing.assert_allclose(km.transform(x).compute(), local.transform(blobs), atol=1e-6)
    np.testing.assert_allclose(km.score(x), local.score(blobs))


def test_arrays_of_other_types(array_of, digits):
    for X in (digits.astype(np.float32), digits.astype(np.int64), digits > 8):
        km = KernelKMeans(5, gamma=0.001, n_landmarks=100, random_state=0)
        here, there = clone(km).fit(X), clone(km).fit(array_of(X))
        assert there.landmarks_.dtype == here.landmarks_.dtype
        np.testing.assert_allclose(there.inertia_, here.inertia_, rtol=1e-5)


def test_arrays_with_sparse_blocks(array_of, digits):
    from scipy.sparse import csr_matrix

    X = np.where(digits > 12, digits, 0)
    x = array_of(X, 3).map_blocks(csr_matrix)
    source = apnc.open(x)
    assert source.is_sparse
    assert source.held < 20
    km = KernelKMeans(10, kernel="cosine", random_state=0)
    expected = clone(km).fit(csr_matrix(X)).labels_
    np.testing.assert_array_equal(clone(km).fit(source).predict(x).compute(), expected)


def test_the_same_for_every_estimator(kind, frame_of, array_of):  # noqa: F811
    """And for one from outside the package."""
    here, X = made(kind).fit(rows()), rows()
    there = made(kind).fit(array_of(X, 3))
    if hasattr(here, "predict"):
        np.testing.assert_array_equal(there.predict(array_of(X, 3)).compute(), here.labels_)
    np.testing.assert_allclose(there.transform(array_of(X, 3)).compute(), here.transform(X), atol=1e-6)
    found = (
        there.transform(frame_of(X, 3)[[f"x{j}" for j in range(X.shape[1])]]).compute().iloc[:, X.shape[1] :]
    )
    np.testing.assert_allclose(found, here.transform(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_same_labels_of_a_graph(array_of, digits, kernel):
    X = digits[:900]
    km = SpectralClustering(6, kernel=kernel, random_state=0)
    here, there = clone(km).fit(X), clone(km).fit(array_of(X, 5))
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    np.testing.assert_array_equal(there.eigenvalues_, here.eigenvalues_)
    np.testing.assert_array_equal(there.predict(array_of(X, 5)).compute(), here.labels_)


@pytest.mark.parametrize(
    "options", [{"scale": "standard"}, {"init": "random-partition"}, {"embedding": "ensemble"}]
)
def test_other_settings(array_of, digits, options):
    km = KernelKMeans(10, n_landmarks=100, random_state=0, **options)
    expected = clone(km).fit(digits).labels_
    np.testing.assert_array_equal(clone(km).fit(array_of(digits)).predict(array_of(digits)), expected)


def test_weights(frame_of, digits):
    weights = np.arange(len(digits)) % 3
    frame = frame_of(digits, w=weights)
    km = KernelKMeans(10, random_state=0).fit(on(frame, weight_column="w"))
    here = KernelKMeans(10, random_state=0).fit(digits, sample_weight=weights)
    np.testing.assert_array_equal(labels_of(km, frame), here.labels_)
    np.testing.assert_allclose(km.cluster_sizes_, here.cluster_sizes_)


def test_a_column_of_lists(frame_of, digits, fitted):
    import dask
    import dask.dataframe as dd
    import pandas as pd

    # Otherwise Dask makes text of objects.
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(pd.DataFrame({"v": list(digits), "id": range(len(digits))}), npartitions=3)
    km = KernelKMeans(10, random_state=0).fit(apnc.open(frame, id_columns=["id"]))
    np.testing.assert_array_equal(labels_of(km, frame), fitted.labels_)


def test_other_columns_are_untouched(frame_of, digits, fitted):
    frame = frame_of(digits, when=np.datetime64("2024-01-01"), town="x").set_index("id", sorted=True)
    km = KernelKMeans(10, random_state=0).fit(on(frame, exclude=["when", "town"]))
    out = km.predict(frame)
    assert list(out.columns) == [*frame.columns, "label"]
    assert out.divisions == frame.divisions
    found = out.compute()
    assert found.label.dtype == out.dtypes["label"] == np.int32
    np.testing.assert_array_equal(found.label, fitted.labels_)
    assert found.drop(columns="label").equals(frame.compute())
    with pytest.raises(ValueError, match=r"already has a column 'label'; rename or drop it"):
        km.predict(out)


def test_columns_are_matched_by_name(frame_of, digits, fitted):
    km = KernelKMeans(10, random_state=0).fit(on(frame_of(digits)))
    turned = frame_of(digits)[["id", *[f"x{j}" for j in reversed(range(64))]]].assign(more=1.0)
    np.testing.assert_array_equal(labels_of(km, turned), fitted.labels_)
    with pytest.raises(ValueError, match=r"yet now missing:\n- x5"):
        km.predict(turned.drop(columns="x5"))


def test_several_outputs_at_once(frame_of, array_of, digits, fitted):
    from apnc.outputs import several

    asked = several(["distance", "membership"], fitted._model)
    here = fitted._apply(digits, asked)
    there = fitted._apply(frame_of(digits)[[f"x{j}" for j in range(64)]], asked).compute()
    np.testing.assert_array_equal(there.label, here["label"])
    np.testing.assert_allclose(there.filter(like="membership"), here["membership"], atol=1e-6)
    found = fitted._apply(array_of(digits), asked).compute()
    np.testing.assert_allclose(found["distance"], here["distance"], atol=1e-6)


RECORDS, _ = mixed_records(90, seed=4)
OBJECTS = {
    "text": (WORDS, Spectrum(1, 2)),
    "sets": ([list(word) for word in WORDS], Jaccard()),
    "records": (RECORDS, Record(FIELDS)),
    "function": (WORDS, lambda A, B: np.array([[len({*a} & {*b}) / len({*a} | {*b}) for b in B] for a in A])),
}


@pytest.mark.parametrize("method", [KernelKMeans, SpectralClustering])
@pytest.mark.parametrize("name", OBJECTS)
def test_bags_of_objects(client, name, method):
    import dask.bag as db

    objects, kernel = OBJECTS[name]
    km = method(3, kernel=kernel, n_landmarks=25, random_state=0)
    bag = db.from_sequence(objects, npartitions=3)
    found = clone(km).fit(bag).predict(bag)
    np.testing.assert_array_equal(found.compute(), clone(km).fit(objects).labels_)


class Word:
    """Without canonical bytes, so that instances are known by their row number alone."""

    def __init__(self, text):
        self.text = text


def shared_letters(A, B):
    return np.array([[len({*a.text} & {*b.text}) for b in B] for a in A], dtype=float)


def test_bags_of_opaque_objects(client):
    import dask.bag as db

    words = [Word(text) for text in WORDS]
    bag = db.from_sequence(words, npartitions=6)
    km = KernelKMeans(3, kernel=shared_letters, n_landmarks=60, random_state=0)
    here, there = clone(km).fit(words), clone(km).fit(bag)
    assert there.n_landmarks_ == here.n_landmarks_ == 60
    prototypes = [len(cluster.prototypes) for cluster in there.describe(bag, n=90)]
    assert prototypes == [min(90, int(size)) for size in there.cluster_sizes_]


def test_a_checkpoint_of_another_column_is_refused(client, tmp_path, monkeypatch):
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"a": WORDS, "b": WORDS[::-1]}), npartitions=2)
    km = KernelKMeans(3, kernel=Spectrum(1, 2), random_state=0)
    with monkeypatch.context() as patched:
        interrupt_after(patched, "starting")
        with pytest.raises(KeyboardInterrupt):
            km.fit(apnc.open(frame, object_field="a"), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="columns"):
        km.fit(apnc.open(frame, object_field="b"), checkpoint=tmp_path / "kept")


@pytest.mark.parametrize("name", ["text", "sets", "records"])
def test_columns_of_objects(client, name):
    import dask
    import dask.dataframe as dd
    import pandas as pd

    objects, kernel = OBJECTS[name]
    km = KernelKMeans(3, kernel=kernel, n_landmarks=25, random_state=0)
    weights = np.arange(90) % 3 + 1.0
    table = pd.DataFrame({"object": objects, "id": range(90), "w": weights})
    with dask.config.set({"dataframe.convert-string": name == "text"}):
        frame = dd.from_pandas(table, npartitions=3)
    source = apnc.open(frame, object_field="object", weight_column="w")
    expected = clone(km).fit(objects, sample_weight=weights)
    np.testing.assert_array_equal(labels_of(clone(km).fit(source), source), expected.labels_)


def test_rows_are_records(client):
    import dask.dataframe as dd
    import pandas as pd

    km = KernelKMeans(3, kernel=Record(FIELDS), n_landmarks=25, random_state=0)
    table = pd.DataFrame(RECORDS)[list(FIELDS)]
    frame = dd.from_pandas(table.assign(id=range(90)), npartitions=3)
    np.testing.assert_array_equal(labels_of(clone(km).fit(frame), frame), clone(km).fit(RECORDS).labels_)
    with pytest.raises(ValueError, match=r"no column 'agee'. Did you mean 'age'\?"):
        KernelKMeans(3, kernel="record(agee=number)").fit(frame)
    with pytest.raises(ValueError, match="Spectrum takes objects: name their column with object_field="):
        KernelKMeans(3, kernel=Spectrum(1, 2)).fit(frame)


def test_the_same_choice(array_of):
    for X, estimator in (
        (make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0], KernelKMeans),
        (make_moons(600, noise=0.05, random_state=0)[0], SpectralClustering),
    ):
        km = estimator(n_landmarks=80, n_init=3, random_state=0)
        here, there = apnc.choose(X, km, range(2, 5)), apnc.choose(array_of(X, 3), km, range(2, 5))
        assert (there.n_clusters, there.reason) == (here.n_clusters, here.reason)
        np.testing.assert_array_equal(there.estimator.predict(array_of(X)), here.estimator.labels_)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_certified_described_and_reported(frame_of, blobs, local, tmp_path):
    """Samples are drawn by content, so partitions do not matter."""
    source = apnc.open(frame_of(blobs, 5), id_columns=["id"])
    km = KernelKMeans(**SETTINGS).fit(source)
    assert local.certify(source, n_rows=300) == local.certify(blobs, n_rows=300)
    here, there = local.describe(blobs, n=2), km.describe(source, n=2)
    assert [cluster.size for cluster in there] == [cluster.size for cluster in here]
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(theirs.prototypes.ids["id"], mine.prototypes.numbers)
    page = km.report(source, tmp_path / "page.html")
    assert "<h2>Map" in page.read_text()


def test_the_embedding_alone(array_of, digits):
    km = KernelEmbedding(n_landmarks=50, random_state=0)
    found = clone(km).fit(array_of(digits)).transform(array_of(digits))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.compute(), clone(km).fit(digits).transform(digits), atol=1e-6)


def test_models_go_both_ways(array_of, digits, fitted, tmp_path):
    KernelKMeans(10, random_state=0).fit(array_of(digits)).save(tmp_path / "there.apnc")
    fitted.save(tmp_path / "here.apnc")
    np.testing.assert_array_equal(apnc.load(tmp_path / "there.apnc").predict(digits), fitted.labels_)
    np.testing.assert_array_equal(apnc.load(tmp_path / "here.apnc").predict(array_of(digits)), fitted.labels_)


@pytest.mark.parametrize(
    "estimator", [KernelKMeans(4, random_state=0), SpectralClustering(4, random_state=0)]
)
def test_a_fit_goes_on_from_its_checkpoint(array_of, tmp_path, monkeypatch, estimator):
    X, _ = make_blobs(500, 3, centers=4, random_state=1)
    once = clone(estimator).fit(array_of(X))
    with monkeypatch.context() as patched:
        interrupt_after(patched, "starting")
        with pytest.raises(KeyboardInterrupt):
            clone(estimator).fit(array_of(X), checkpoint=tmp_path / "kept")
    drawn = []
    monkeypatch.setattr("apnc.pipeline.samples.samples_of", lambda *_: drawn.append(1))
    again = clone(estimator).fit(array_of(X), checkpoint=tmp_path / "kept")
    assert not drawn
    np.testing.assert_array_equal(again.cluster_centers_, once.cluster_centers_)
