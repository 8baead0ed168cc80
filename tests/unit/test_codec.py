"""Every stored class goes through the codec and back, and refuses values that do not go together."""

import copy
import dataclasses
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse

import apnc
from apnc import EnsembleEmbedding, KernelKMeans
from apnc.clustering.lloyd import LloydResult
from apnc.clustering.quantiles import N_BINS, Quantiles
from apnc.discrepancy import Discrepancy, Euclidean, Manhattan
from apnc.embeddings import Block, Coefficients
from apnc.embeddings.neighbours import GraphOfRows
from apnc.embeddings.neighbours.block import Compare, NeighbourBlock
from apnc.embeddings.neighbours.links import Neighbours
from apnc.embeddings.neighbours.search import Search
from apnc.estimators import ESTIMATORS, register
from apnc.kernels import (
    CallableKernel,
    Category,
    Date,
    EditSimilarity,
    Jaccard,
    NormalizedKernel,
    Number,
    PrecomputedKernel,
    Record,
    ShortestPath,
    Spectrum,
    Text,
    TimeWarp,
    VectorKernel,
    WeisfeilerLehman,
)
from apnc.kernels.given import Witness
from apnc.kernels.objects.learned import Nothing, Rarity, Spread
from apnc.kernels.radial import RadialKernel
from apnc.model import Clusters, EmbeddingModel, Features, Model
from apnc.parameters import Parameter
from apnc.parameters.rules import Rule
from apnc.persistence import Container, Functions, ModelFileError, NoFunctions, Origin
from apnc.persistence.codec import decode, encode
from apnc.persistence.container import write_container
from apnc.persistence.members import Reading, Writing
from apnc.pipeline.state import Drawn
from apnc.rows import GivenRows
from apnc.sampling import Census, Sample, Sketch
from apnc.scaling import Columns, Scaling
from apnc.stored import STORED, stored

WORDS = [a + b + c for a in "abcd" for b in "efgh" for c in "ijkl"]


def shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


class Changed:
    """A kernel function that can be changed, as by an edit of its source."""

    def __init__(self):
        self.factor, self.n_values = 1.0, 0

    def __call__(self, A, B):
        self.n_values += len(A) * len(B)
        return self.factor * shared(A, B)


L = np.arange(6.0).reshape(3, 2)
SPARSE = sparse.csr_array(L)
NUMBERS = GivenRows(np.empty((3, 0)), np.array([1, 4, 2]))
BLOCK = Block(L, np.eye(2, 3))
NEAR = {
    "scales": np.ones(3),
    "typical": 0.5,
    "n_nearest": 2,
    "eigenvalues": np.array([0.9, 0.5]),
    "n_pieces": 1,
}
LINKED = NeighbourBlock(L, np.eye(2, 3), **NEAR, n_between=0)
IN_KERNEL = NeighbourBlock(
    ["a", "b"], np.eye(2, 3), **NEAR, n_between=1, basis=np.eye(2), root=np.eye(2), centers=L
)
COEFFICIENTS = Coefficients((BLOCK, BLOCK), Euclidean(), 0.5, 1, 0.25)
CLUSTERS = Clusters(np.eye(2, 4), 1.5, 7, np.array([2.0, 3.0]))
BINS = np.zeros((2, N_BINS))
BINS[:, 5] = CLUSTERS.sizes
QUANTILES = Quantiles(0.25, BINS)
EMBEDDING = EmbeddingModel(VectorKernel("rbf", 0.5), COEFFICIENTS, 0.1)
MODEL = Model(EMBEDDING, Features(2, ("a", "b")), CLUSTERS)
GIVEN = PrecomputedKernel(9, (1, 4, 2))
FUNCTION = CallableKernel(shared, {"a": [1, None]}, Witness(["ab", "b"], np.array([[2.0, 1.0], [1.0, 1.0]])))
SCALING = Scaling("standard", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
SKETCH = Sketch(np.array([3, 5, 1 << 63], np.uint64), np.array([1.0, 2.0, 1.0]), 4)
COLUMNS = Columns(4.0, *(np.array([1.0, float(i)]) for i in range(4)))
CENSUS = Census(5, 4, 4.5, {"landmarks": SKETCH, "seeding": SKETCH})
SAMPLE = Sample(L, np.array([1.0, 2.0, 1.5]))
NEIGHBOURS = Neighbours(Search(L, np.eye(2)), np.ones(3), 0.5, 2)
COMPARE = Compare(VectorKernel("linear"), None, NEIGHBOURS, np.float32)

CUSTOMERS = [
    {"age": 41, "plan": "basic", "note": "late again", "joined": "2024-01-02"},
    {"age": 23, "plan": None, "joined": "2023-05-06T07:08:09"},
    {"plan": 3, "note": "thanks"},
]
RECORD = Record({"age": Number(), "plan": Category(), "note": Text(), "joined": Date(weight=2.0)})

EXAMPLES = {
    "Sketch": [SKETCH],
    "Columns": [COLUMNS],
    "Census": [CENSUS, replace(CENSUS, columns=COLUMNS)],
    "Sample": [
        SAMPLE,
        Sample(["a", {"b": [1]}], np.ones(2)),
        Sample(SPARSE, np.ones(3)),
        Sample(NUMBERS, np.ones(3)),
    ],
    "Drawn": [Drawn(CENSUS, {"landmarks": SAMPLE}, False), Drawn(CENSUS, {}, True, SCALING)],
    "LloydResult": [LloydResult(np.eye(2, 4), 3, False, 0.5, 1.5)],
    "Search": [NEIGHBOURS.search, Search(L)],
    "Neighbours": [NEIGHBOURS],
    "Compare": [
        COMPARE,
        replace(COMPARE, base=Block(["a", "b"], np.eye(2)), kernel=FUNCTION, dtype=np.float64),
    ],
    "GraphOfRows": [GraphOfRows(COMPARE, 2)],
    "VectorKernel": [VectorKernel("linear"), VectorKernel("polynomial", 2.0, -1.0, 2.5)],
    "NormalizedKernel": [NormalizedKernel(VectorKernel("linear")), NormalizedKernel(FUNCTION)],
    "SumKernel": [2.0 * Spectrum(2, 3) + Jaccard()],
    "ProductKernel": [Spectrum(2, 3) * Jaccard()],
    "RadialKernel": [Jaccard().rbf(), RadialKernel(Spectrum(), 0.5, found=True)],
    "Spectrum": [Spectrum(), Spectrum(2, 4, positional=True, ends=True, normalize=False)],
    "EditSimilarity": [EditSimilarity()],
    "Jaccard": [Jaccard()],
    "TimeWarp": [TimeWarp(), TimeWarp(0.1, 0.5), TimeWarp(None, 0.25, found=True)],
    "WeisfeilerLehman": [WeisfeilerLehman(2, normalize=False)],
    "ShortestPath": [ShortestPath(normalize=False)],
    "Record": [RECORD, RECORD.tuned(RECORD.read(CUSTOMERS), np.ones(3)), Record({"odd name": Number(2.0)})],
    "Number": [Number(), Number(0.5)],
    "Category": [Category()],
    "Text": [Text()],
    "Date": [Date()],
    "Nothing": [Nothing()],
    "Spread": [Spread(1.5, 2.0)],
    "Rarity": [Rarity(np.array([3, 9], np.int32), np.array([1.0, 2.5]), 3.0)],
    "PrecomputedKernel": [GIVEN],
    "CallableKernel": [FUNCTION, CallableKernel(shared)],
    "Witness": [FUNCTION.witness, Witness(L, np.eye(3)), Witness(SPARSE, np.eye(3, dtype=int))],
    "Block": [
        BLOCK,
        Block(SPARSE, np.eye(2, 3)),
        Block(["a", {"b": 1}], np.eye(2)),
        Block(NUMBERS, np.eye(3)),
    ],
    "NeighbourBlock": [LINKED, IN_KERNEL],
    "Coefficients": [COEFFICIENTS, Coefficients((Block(["a"], np.ones((1, 1))),), Manhattan())],
    "Euclidean": [Euclidean()],
    "Manhattan": [Manhattan()],
    "Scaling": [SCALING, Scaling.unit()],
    "EmbeddingModel": [EMBEDDING, replace(EMBEDDING, scaling=SCALING)],
    "Clusters": [CLUSTERS, replace(CLUSTERS, quantiles=QUANTILES, groups=np.array([0, 0], np.int32))],
    "Quantiles": [QUANTILES, replace(QUANTILES, diagonal=1.0)],
    "Features": [Features(), Features(2, ("a", "ä"))],
    "Model": [MODEL, replace(MODEL, clusters=None)],
    "GivenRows": [NUMBERS, GivenRows(SPARSE)],
    "Origin": [Origin("now", {"apnc": "1"}, {"k": [1, None]})],
}


def again(value, tmp_path, hint=None, functions=None):
    """The value as it comes back from a file."""
    out, path = Writing(), tmp_path / "part.apnc"
    told = encode(value, hint or type(value), "part", out)
    write_container(path, {"part": told}, out.members)
    with open(path, "rb") as file:
        container = Container(file, str(path))
        container.list_members(container.schema.record("members"))
        source = Reading(container, functions or Functions(next(iter(out.functions), None)))
        found = decode(container.schema.take("part"), hint or type(value), "part", source)
        container.end()
    return found


def assert_equal(one, two):
    """Equal in all fields, types and orders of memory."""
    assert type(one) is type(two)
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_equal(getattr(one, field.name), getattr(two, field.name))
    elif sparse.issparse(one):
        assert_equal(one.toarray(), two.toarray())
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.flags.f_contiguous) == (two.dtype, two.flags.f_contiguous)
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for name, value in one.items():
            assert_equal(value, two[name])
    elif isinstance(one, tuple):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            assert_equal(a, b)
    else:
        assert one == two


def ours():
    return sorted(name for name, kind in STORED.items() if kind.__module__.startswith("apnc."))


@pytest.mark.parametrize("name", ours())
def test_every_stored_class_comes_back_equal(name, tmp_path):
    assert EXAMPLES.get(name), f"{name} is stored, but has no example here"
    for example in EXAMPLES[name]:
        assert_equal(again(example, tmp_path), example)
        assert type(example) is STORED[name]


def changed(value, **fields):
    """The value with fields that its constructor refuses."""
    made = copy.copy(value)
    for name, content in fields.items():
        object.__setattr__(made, name, content)
    return made


WRONG = {
    "unknown kernel": (VectorKernel("os"), "name is 'os', expected one of linear"),
    "gamma of rbf": (VectorKernel("rbf"), "gamma is None, expected > 0 for rbf"),
    "negative gamma": (VectorKernel("rbf", -1.0), "gamma is -1.0"),
    "gamma of linear": (VectorKernel("linear", 1.0), "gamma is 1.0, expected none for linear"),
    "degree": (VectorKernel("polynomial", 1.0, 1.0, 0.0), "degree is 0.0"),
    "normalised twice": (NormalizedKernel(NormalizedKernel(FUNCTION)), "cannot be normalised"),
    "given and normalised": (NormalizedKernel(GIVEN), "PrecomputedKernel cannot be normalised"),
    "no instances": (PrecomputedKernel(0, (0,)), "n_instances is 0"),
    "no landmarks": (PrecomputedKernel(3), "landmark_numbers"),
    "numbers twice": (PrecomputedKernel(3, (1, 1)), "not distinct row numbers from 0 to 2"),
    "numbers beyond": (PrecomputedKernel(3, (1, 3)), "not distinct row numbers"),
    "a record that learned of others": (changed(RECORD, learned=(Nothing(),)), "another number of fields"),
    "a number that learned words": (
        changed(Record({"a": Number()}), learned=(Nothing(),)),
        "cannot use a Nothing",
    ),
    "no spread": (Spread(0.0, 0.0), "deviation=0.0"),
    "words in disorder": (Rarity(np.array([9, 3], np.int32), np.ones(2), 1.0), "words do not ascend"),
    "a field of weight 0": (changed(Number(), weight=0.0), "weight=0.0 must be a positive number"),
    "witness": (Witness(["a"], np.eye(2)), r"shape \(2, 2\), expected \(1, 1\)"),
    "rows without numbers": (GivenRows(np.empty((3, 0)), np.arange(2)), "numbers have shape"),
    "fractions of rows": (GivenRows(np.empty((3, 0)), np.ones(3)), "expected integers"),
    "rows that are a list": (GivenRows(["a"], np.arange(1)), "not two-dimensional"),
    "weights of others": (Block(L, np.eye(2)), "expected one column for each of 3 landmarks"),
    "flat weights": (Block(L, np.ones(3)), "weights have shape"),
    "no components": (Block(L, np.ones((0, 3))), "weights have shape"),
    "large weights": (Block(L, np.full((1, 3), 1e39)), "weights are larger"),
    "keys that do not ascend": (replace(SKETCH, keys=SKETCH.keys[::-1].copy()), "keys do not ascend"),
    "signed keys": (replace(SKETCH, keys=np.arange(3)), "keys are of type int64"),
    "too many keys": (replace(SKETCH, size=2), "keys do not ascend"),
    "a sample without weights": (Sample(L, np.ones(2)), r"expected \(3,\)"),
    "weights below 0": (Sample(L, -np.ones(3)), "not positive"),
    "centroids in a row": (LloydResult(np.ones(3), 1, True, 0.5, 1.0), "not a matrix"),
    "no iteration": (LloydResult(np.eye(2), 0, True, 0.5, 1.0), "n_iter is 0"),
    "scales of others": (
        GraphOfRows(replace(COMPARE, neighbours=replace(NEIGHBOURS, scales=np.ones(4))), 2),
        "weights have shape|scales have shape",
    ),
    "no blocks": (replace(COEFFICIENTS, blocks=()), "blocks are missing"),
    "blocks that differ": (
        replace(COEFFICIENTS, blocks=(BLOCK, Block(SPARSE, np.eye(2, 3)))),
        "differ in the type",
    ),
    "beta 0": (replace(COEFFICIENTS, beta=0.0), "beta is 0.0"),
    "large beta": (replace(COEFFICIENTS, beta=1e20), "beta is 1e"),
    "dropped": (replace(COEFFICIENTS, dropped=-1), "dropped is -1"),
    "negative": (replace(COEFFICIENTS, negative=1.5), "negative is 1.5"),
    "scaling": (replace(SCALING, kind="other"), "kind is 'other'"),
    "scaling of unequal columns": (replace(SCALING, shift=np.zeros(3)), "have shapes"),
    "unit with columns": (replace(SCALING, kind="unit"), "have shapes"),
    "factor 0": (replace(SCALING, factor=np.zeros(2)), "factors must be positive"),
    "large factor": (replace(SCALING, factor=np.full(2, 1e200)), "factors must be positive and bounded"),
    "large shift": (replace(SCALING, shift=np.full(2, 1e300)), "shifts are too large"),
    "whole factor": (replace(SCALING, factor=np.array([1, 2])), "floating-point"),
    "objects for vectors": (
        EmbeddingModel(VectorKernel("linear"), Coefficients((Block(["a"], np.eye(1)),), Euclidean()), 0.0),
        "must be vectors",
    ),
    "row numbers for vectors": (
        EmbeddingModel(FUNCTION, Coefficients((Block(NUMBERS, np.eye(3)),), Euclidean()), 0.0),
        "landmarks are row numbers",
    ),
    "vectors for a given kernel": (EmbeddingModel(GIVEN, COEFFICIENTS, 0.0), "must be row numbers"),
    "other rows": (
        EmbeddingModel(
            PrecomputedKernel(9, (1, 4)), Coefficients((Block(NUMBERS, np.eye(3)),), Euclidean()), 0.0
        ),
        "not among those of the kernel",
    ),
    "other scaling": (
        replace(EMBEDDING, scaling=replace(SCALING, shift=np.zeros(3), factor=np.ones(3))),
        "scaling of 3 columns, landmarks have 2",
    ),
    "too far out": (
        replace(EMBEDDING, kernel=VectorKernel("polynomial", 1e30, 1.0, 3.0)),
        "too large|too far out",
    ),
    "flat centroids": (replace(CLUSTERS, centroids=np.ones(2)), "centroids have shape"),
    "large centroids": (replace(CLUSTERS, centroids=np.full((2, 4), 1e19)), "centroids are beyond"),
    "sizes": (replace(CLUSTERS, sizes=np.ones(3)), "sizes have shape"),
    "negative sizes": (replace(CLUSTERS, sizes=np.array([-1.0, 1.0])), "sizes are negative"),
    "n_iter": (replace(CLUSTERS, n_iter=-1), "n_iter is -1"),
    "unit": (replace(QUANTILES, unit=0.3), "unit is 0.3, expected a power of two"),
    "no unit": (replace(QUANTILES, unit=0.0), "unit is 0, expected a power of two"),
    "tiny unit": (replace(QUANTILES, unit=2.0**-1000), "unit is 9.3"),
    "other bins": (replace(QUANTILES, weights=np.ones((2, 3))), "weights have shape"),
    "whole bins": (replace(QUANTILES, weights=BINS.astype(int)), "weights are of type int64"),
    "negative bins": (replace(QUANTILES, weights=-BINS), "weights are negative"),
    "no diagonal": (replace(QUANTILES, diagonal=0.0), "diagonal is 0.0"),
    "large diagonal": (replace(QUANTILES, diagonal=1e31), r"diagonal is 1e\+31"),
    "bins of others": (replace(CLUSTERS, quantiles=Quantiles(1.0, BINS[:1])), "quantiles of 1 clusters"),
    "bins and sizes": (replace(CLUSTERS, quantiles=Quantiles(1.0, 2 * BINS)), "do not add up to sizes"),
    "groups of others": (replace(CLUSTERS, groups=np.zeros(3, np.int32)), "groups have shape"),
    "wide groups": (replace(CLUSTERS, groups=np.zeros(2, np.int64)), "groups are of type int64"),
    "groups with gaps": (replace(CLUSTERS, groups=np.array([0, 2], np.int32)), "not numbered from 0"),
    "negative groups": (replace(CLUSTERS, groups=np.array([-1, 0], np.int32)), "not numbered from 0"),
    "number of features": (Features(-1), "number is -1"),
    "names": (Features(2, ("a",)), "1 names of 2 features"),
    "other features": (
        replace(MODEL, features=Features(3)),
        "features.number is 3, but the landmarks have 2",
    ),
    "other components": (
        replace(MODEL, clusters=replace(CLUSTERS, centroids=np.eye(2, 5))),
        "have 5 components, expected 4",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_values_that_do_not_go_together_are_not_read(what, tmp_path):
    value, reason = WRONG[what]
    with pytest.raises(ModelFileError, match=rf"part\.apnc, part.*: .*({reason})"):
        again(value, tmp_path)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            replace(COEFFICIENTS, beta=float("nan")),
            r"part\.beta cannot be stored: it is nan, expected a finite",
        ),
        (replace(CLUSTERS, n_iter=1.5), "expected a whole number"),
        (replace(CLUSTERS, inertia=None), "part.inertia cannot be stored"),
        (replace(CLUSTERS, sizes=np.array(["a"])), "an array of <U1"),
        (Block({"a", "b"}, np.eye(2)), "it is a set"),
        (replace(COEFFICIENTS, discrepancy=1), "it is a int, a class not registered"),
    ],
)
def test_values_that_cannot_be_stored(value, reason, tmp_path):
    with pytest.raises(ModelFileError, match=reason):
        again(value, tmp_path)


def test_numbers_of_numpy_become_plain(tmp_path):
    found = again(replace(CLUSTERS, n_iter=np.int64(3), inertia=np.float32(2)), tmp_path)
    assert (type(found.n_iter), type(found.inertia)) == (int, float)


# The registry.


def test_what_can_be_registered():
    with pytest.raises(TypeError, match="frozen dataclass"):
        stored(type("Plain", (), {}))
    with pytest.raises(TypeError, match=r"Typed\.type cannot be stored"):
        stored(dataclass(frozen=True)(type("Typed", (), {"__annotations__": {"type": str}})))
    with pytest.raises(ValueError, match=r"apnc\.embeddings\.family has a class of that name"):
        stored(dataclass(frozen=True)(type("Block", (), {})))
    assert STORED["Block"] is Block


@pytest.fixture
def registered():
    """What is registered within a test is forgotten after it."""
    before, estimators = dict(STORED), dict(ESTIMATORS)
    yield
    for registry, old in ((STORED, before), (ESTIMATORS, estimators)):
        registry.clear()
        registry.update(old)


@dataclass(frozen=True)
class Chebyshev(Discrepancy):
    """A discrepancy of another package."""

    power: float = 1.0

    def distances(self, Y, centroids):
        return np.abs(Y[:, None] - centroids).max(axis=2).astype(np.float64) ** self.power


def test_a_class_of_another_package_touches_no_reader(tmp_path, registered):
    value = replace(COEFFICIENTS, discrepancy=Chebyshev(0.5))
    with pytest.raises(ModelFileError, match="Chebyshev, a class not registered"):
        again(value, tmp_path)
    stored(Chebyshev)
    assert_equal(again(value, tmp_path), value)


# Kernel functions that change.


@pytest.mark.parametrize(
    "options", [{}, {"normalize_kernel": True}, {"embedding": EnsembleEmbedding(4)}, {"embedding": "stable"}]
)
def test_a_changed_kernel_function_is_refused(options, tmp_path):
    function, path = Changed(), tmp_path / "model.apnc"
    KernelKMeans(3, kernel=function, n_landmarks=9, random_state=0, **options).fit(WORDS).save(path)
    assert apnc.load(path, kernel=function).predict(WORDS).shape == (64,)
    function.factor = 1 + 1e-9
    apnc.load(path, kernel=function)
    function.factor = 1.001
    with pytest.raises(
        ModelFileError, match=r"fitted with: .*returns 3\.003, but .* returned 3 .*1e-06.*fit again"
    ):
        apnc.load(path, kernel=function)
    with pytest.raises(ModelFileError, match="fitted with: The kernel <lambda> failed"):
        apnc.load(path, kernel=lambda A, B: 1 / 0)


def test_a_fit_evaluates_few_values_more(tmp_path, monkeypatch):
    def values_of_a_fit():
        function = Changed()
        KernelKMeans(3, kernel=function, n_landmarks=9, random_state=0).fit(WORDS)
        return function.n_values

    with_witness = values_of_a_fit()
    monkeypatch.setattr(CallableKernel, "of_landmarks", lambda self, landmarks: self)
    assert with_witness - values_of_a_fit() == 25


def test_looking_at_a_file_calls_nothing(tmp_path):
    function = Changed()
    kernel = CallableKernel(function).of_landmarks(WORDS[:3])
    before = function.n_values
    again(kernel, tmp_path, functions=NoFunctions())
    assert function.n_values == before


# Estimators of other packages.


FLAVOUR = Parameter("flavour", "plain", (str,), Rule("a flavour", ("plain", "bitter")), "What it tastes of.")


class Outside(KernelKMeans):
    """An estimator of another package, with a parameter of its own."""

    def __init__(self, n_clusters=3, *, kernel="rbf", flavour="plain", random_state=None):
        super().__init__(n_clusters, kernel=kernel, random_state=random_state)
        self.flavour = flavour


def test_an_estimator_of_another_package(tmp_path, registered):
    X, path = np.random.default_rng(0).normal(size=(60, 2)), tmp_path / "model.apnc"
    fitted = Outside(flavour="bitter", random_state=0).fit(X)
    with pytest.raises(ModelFileError, match=r"not the class Outside.*apnc\.estimators\.register"):
        fitted.save(path)
    register("outside", Outside, [FLAVOUR])
    fitted.save(path)
    loaded = apnc.load(path)
    assert (type(loaded), loaded.flavour) == (Outside, "bitter")
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    del ESTIMATORS["outside"]
    name = f"{__name__}:Outside"
    with pytest.raises(
        ModelFileError,
        match=rf"Import {__name__} and register the class first, or apnc\.load\(path, trust='{name}'\)",
    ):
        apnc.load(path)
    with pytest.raises(ModelFileError, match=r"trust=.*has no effect|unknown here|not a function"):
        apnc.load(path, trust="os:system")
    assert type(apnc.load(path, trust=name)) is Outside
    with pytest.raises(ModelFileError, match="the kernel is 'rbf', not a function, so trust= has no effect"):
        apnc.load(path, trust=[name, "os:system"])


def test_a_class_and_a_function_are_trusted_alike(tmp_path, registered):
    path, name = tmp_path / "model.apnc", f"{__name__}:Outside"
    register("outside", Outside, [FLAVOUR])
    Outside(kernel=shared, random_state=0).fit(WORDS).save(path)
    del ESTIMATORS["outside"]
    for options in ({"trust": [name, f"{__name__}:shared"]}, {"trust": name, "kernel": shared}):
        assert apnc.load(path, **options).kernel is shared
    del ESTIMATORS[name]
    with pytest.raises(ModelFileError, match="the class"):
        apnc.load(path, kernel=shared)
    with pytest.raises(ModelFileError, match="the kernel is the function"):
        apnc.load(path, trust=name)


def test_a_trusted_class_is_imported(tmp_path, monkeypatch, registered):
    (tmp_path / "toy_estimators.py").write_text(
        "from apnc import KernelEmbedding\n"
        "from apnc.estimators import register\n"
        "class Toy(KernelEmbedding):\n    pass\n"
        "register('toy', Toy)\n"
        "other = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import toy_estimators

    path, X = tmp_path / "model.apnc", np.random.default_rng(0).normal(size=(60, 2))
    expected = toy_estimators.Toy(random_state=0).fit(X)
    expected.save(path)
    del sys.modules["toy_estimators"], ESTIMATORS["toy"]
    with pytest.raises(ModelFileError, match="Import toy_estimators and register the class first"):
        apnc.load(path)
    assert "toy_estimators" not in sys.modules
    found = apnc.load(path, trust="toy_estimators:Toy")
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))
    assert ESTIMATORS["toy"] is type(found)


def test_orders_of_memory_come_back(tmp_path):
    turned = Block(L, np.asfortranarray(np.ones((2, 3))))
    assert_equal(again(turned, tmp_path), turned)
