"""A run that is interrupted anywhere and started again ends with the same bytes as one that was not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.engines.chunk_files import ChunkFolder
from apnc.engines.contract import RowRange
from apnc.persistence.checkpoint import Checkpoint, CheckpointError, described
from apnc.progress import Progress
from apnc.scaling import Scaling
from tests.unit.test_cli import run

X, _ = make_blobs(3000, 4, centers=6, random_state=0)
WORDS = [a + b + c for a in "abcdef" for b in "ghijk" for c in "lmnop"]
KEPT = "kept"


class InterruptionError(Exception):
    pass


class Interrupting(Progress):
    """Ends the run after so many reports."""

    def __init__(self, after):
        self.left, self.notes, self.stages = after, [], []

    def _count(self):
        self.left -= 1
        if self.left == 0:
            raise InterruptionError

    def stage(self, name, *_):
        self.stages.append(name)
        self._count()

    def rows(self, n):
        self._count()

    def iteration(self, *_):
        self._count()
        return False

    def note(self, text):
        self.notes.append(text)


class AtStage(Progress):
    """Ends the run when a stage begins."""

    def __init__(self, at):
        self.at = at

    def stage(self, name, *_):
        if name == self.at:
            raise InterruptionError


class AfterIterations(Progress):
    """Ends the run after so many iterations."""

    def __init__(self, n):
        self.n = n

    def iteration(self, n_iter, *_):
        if n_iter == self.n:
            raise InterruptionError
        return False


def shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


def other(A, B):
    return 2 * shared(A, B)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return tmp_path


def npy():
    np.save("rows.npy", X)
    return "rows.npy"


def csv():
    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    return "rows.csv"


def kernel_matrix():
    return np.exp(-0.05 * ((X[:400, None] - X[:400]) ** 2).sum(-1))


KMEANS = {"n_landmarks": 40, "n_init": 2, "random_state": 0}
FITS = {
    "array": (KernelKMeans(6, **KMEANS), lambda: X),
    "float32": (KernelKMeans(6, **KMEANS), lambda: X.astype(np.float32)),
    "scaled": (KernelKMeans(6, scale="standard", **KMEANS), lambda: X),
    "L1": (KernelKMeans(6, embedding="stable", n_components=50, **KMEANS), lambda: X),
    "sparse": (KernelKMeans(6, kernel="cosine", **KMEANS), lambda: sparse.csr_array(X * (X > 0))),
    "objects": (KernelKMeans(3, kernel=shared, normalize_kernel=True, **KMEANS), lambda: WORDS),
    "precomputed": (KernelKMeans(3, kernel="precomputed", **KMEANS), kernel_matrix),
    "a file": (KernelKMeans(6, **KMEANS), npy),
    "text": (KernelKMeans(6, **KMEANS), csv),
    "a limit": (KernelKMeans(6, memory_limit="8GB", **KMEANS), npy),
    "a graph": (SpectralClustering(6, random_state=0), lambda: X),
    "a graph of a file": (SpectralClustering(6, n_landmarks=200, random_state=0), npy),
    "a graph of words": (SpectralClustering(3, kernel=shared, random_state=0), lambda: WORDS),
}


def went_on(estimator, rows, step, **options):
    """Interrupted after ``step`` reports, and later each time, until it is done."""
    after, times = step, 0
    while True:
        try:
            return estimator.fit(rows, checkpoint=KEPT, progress=Interrupting(after), **options), times
        except InterruptionError:
            assert Path(KEPT, "run.json").exists()
            after, times = int(1.7 * after), times + 1


@pytest.mark.parametrize("case", FITS)
def test_an_interrupted_fit_goes_on_to_the_same_bytes(case):
    estimator, rows = FITS[case]
    rows = rows()
    once = estimator.fit(rows)
    labels, saved = once.labels_, once.save("once.apnc").read_bytes()
    again, times = went_on(estimator, rows, 5)
    assert times > 1
    np.testing.assert_array_equal(again.labels_, labels)
    assert again.save("again.apnc").read_bytes() == saved
    assert not Path(KEPT).exists()


def test_objects_that_cannot_be_stored_are_drawn_again():
    rows = [(*word, word) for word in WORDS]
    once = KernelKMeans(3, kernel=shared, **KMEANS).fit(rows)
    again, _ = went_on(KernelKMeans(3, kernel=shared, **KMEANS), rows, 12)
    np.testing.assert_array_equal(again.labels_, once.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, once.cluster_centers_)


def test_labels_in_a_file(folder):
    KernelKMeans(6, **KMEANS).fit(npy(), to="once.csv")
    went_on(KernelKMeans(6, **KMEANS), "rows.npy", 11, to="again.csv")
    assert Path("again.csv").read_bytes() == Path("once.csv").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["again.csv", "once.csv", "rows.npy"]


def test_an_embedding_goes_on():
    once = KernelEmbedding(n_landmarks=40, random_state=0).fit(X).save("once.apnc").read_bytes()
    with pytest.raises(InterruptionError):
        KernelEmbedding(n_landmarks=40, random_state=0).fit(X, checkpoint=KEPT, progress=Interrupting(3))
    again = KernelEmbedding(n_landmarks=40, random_state=0).fit(X, checkpoint=KEPT)
    assert again.save("again.apnc").read_bytes() == once


def interrupt(estimator, rows, at="clustering", **options):
    """Interrupted when a stage begins."""
    with pytest.raises(InterruptionError):
        estimator.fit(rows, checkpoint=KEPT, progress=AtStage(at), **options)


def interrupt_after(patched, last):
    """Every run is interrupted after a stage has been kept."""
    write = apnc.pipeline.write_record

    def interrupted(fit, stage, adds):
        write(fit, stage, adds)
        if stage == last:
            raise KeyboardInterrupt

    patched.setattr("apnc.pipeline.write_record", interrupted)


def test_what_is_done_is_not_done_again():
    interrupt(KernelKMeans(6, **KMEANS), X)
    seen = Interrupting(0)
    KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT, progress=seen)
    assert seen.stages == ["embedding", "clustering", "labels"]
    assert seen.notes[0].startswith(
        "going on from kept: sampling, coefficients, starting, 12 chunks of embedding"
    )


def test_a_whole_embedding_is_not_computed_from_the_rows_again(monkeypatch):
    interrupt(KernelKMeans(6, **KMEANS), npy())
    opened = []
    monkeypatch.setattr("apnc.sources.arrays.NpySource.pieces", lambda *_: opened.append(1) or iter(()))
    found = KernelKMeans(6, **KMEANS).fit("rows.npy", checkpoint=KEPT)
    assert not opened
    np.testing.assert_array_equal(found.labels_, KernelKMeans(6, **KMEANS).fit(X).labels_)


def test_embedded_chunks_are_on_disk_once(monkeypatch):
    """What does not fit in memory is read from the checkpoint; there is no temporary file beside it."""
    monkeypatch.setattr("apnc.run.job.Job.room", lambda *_: 0.0)
    monkeypatch.setattr("apnc.engines.spill.tempfile.TemporaryFile", None)
    kept = KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(kept.labels_, KernelKMeans(6, **KMEANS).fit(X, checkpoint="other").labels_)


def test_a_random_seed_is_kept():
    interrupt(KernelKMeans(6, n_landmarks=40, n_init=1), X)
    seed = json.loads(Path(KEPT, "run.json").read_text())["seed"]
    found = KernelKMeans(6, n_landmarks=40, n_init=1).fit(X, checkpoint=KEPT)
    # Seeds of other runs would be others: this one is the first that is drawn from RandomState(s) for some s alone.
    interrupt(KernelKMeans(6, n_landmarks=40, n_init=1), X)
    assert json.loads(Path(KEPT, "run.json").read_text())["seed"] != seed
    record = described(json.loads(Path(KEPT, "run.json").read_text())["run"], seed)
    for path in Path(KEPT).glob("*.record"):
        path.unlink()
    for path in Path(KEPT).glob("*.chunks/*"):
        path.unlink()
    Path(KEPT, "run.json").write_text(json.dumps(record))
    again = KernelKMeans(6, n_landmarks=40, n_init=1).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, found.labels_)


OTHERS = {
    "n_clusters was 6, is 5": (KernelKMeans(5, **KMEANS), X),
    "random_state was 0, is 1": (KernelKMeans(6, **KMEANS | {"random_state": 1}), X),
    "estimator was": (SpectralClustering(6, n_landmarks=40, random_state=0), X),
    "data.content was": (KernelKMeans(6, **KMEANS), X + 1),
    "data.rows was 3000, is 2999": (KernelKMeans(6, **KMEANS), X[1:]),
    r'init was "k-means\+\+", is': (KernelKMeans(6, init=X[:6], **KMEANS | {"n_init": 1}), X),
}


@pytest.mark.parametrize("message", OTHERS)
def test_another_run_is_refused_and_what_differs_is_named(message):
    interrupt(KernelKMeans(6, **KMEANS), X)
    before = sorted(Path(KEPT).rglob("*"))
    estimator, rows = OTHERS[message]
    with pytest.raises(CheckpointError, match=message):
        estimator.fit(rows, checkpoint=KEPT)
    assert sorted(Path(KEPT).rglob("*")) == before


def test_other_files_are_refused():
    interrupt(KernelKMeans(6, **KMEANS), npy())
    np.save("rows.npy", X[::-1])
    with pytest.raises(CheckpointError, match=r"data\.files was"):
        KernelKMeans(6, **KMEANS).fit("rows.npy", checkpoint=KEPT)


def test_numbers_of_threads_may_differ():
    interrupt(KernelKMeans(6, n_jobs=1, **KMEANS), X)
    found = KernelKMeans(6, n_jobs=2, verbose=0, **KMEANS).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(found.labels_, KernelKMeans(6, **KMEANS).fit(X).labels_)


def test_a_changed_kernel_function_is_refused(monkeypatch):
    interrupt(KernelKMeans(3, kernel=shared, **KMEANS), WORDS)
    monkeypatch.setattr(other, "__qualname__", "shared")
    monkeypatch.setitem(globals(), "shared", other)
    with pytest.raises(CheckpointError, match="kernel function differs"):
        KernelKMeans(3, kernel=other, **KMEANS).fit(WORDS, checkpoint=KEPT)


DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "changed": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "emptied": lambda content: b"",
    "longer": lambda content: content + b"more",
}


FILES = ("sampling.record", "coefficients.record", "starting.record", "clustering.record")
CHUNK = "embedding.chunks/00000003.chunk"


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        *((file, damage) for file in FILES for damage in ("cut", "changed", "emptied")),
        *((CHUNK, damage) for damage in DAMAGE),
        ("run.json", "cut"),
        ("run.json", "emptied"),
        ("run.json", "longer"),
    ],
)
def test_what_is_sound_is_used_and_the_rest_is_named(file, damage):
    init = X[np.argsort(X[:, 0])[:6]]
    options = KMEANS | {"n_init": 1, "init": init, "tol": 0}
    once = KernelKMeans(6, **options).fit(X)
    with pytest.raises(InterruptionError):
        KernelKMeans(6, **options).fit(X, checkpoint=KEPT, progress=AfterIterations(2))
    path = Path(KEPT, file)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.warns(UserWarning, match=f"{path.name} was damaged"):
        again = KernelKMeans(6, **options).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, once.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, once.cluster_centers_)
    assert not Path(KEPT).exists()


def test_folders_of_something_else():
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_text("")
    with pytest.raises(CheckpointError, match=r"holds other files \(cat.jpg\)"):
        KernelKMeans(6, **KMEANS).fit(X, checkpoint="photos")
    with pytest.raises(CheckpointError, match="is a file"):
        KernelKMeans(6, **KMEANS).fit(X, checkpoint="photos/cat.jpg")
    assert [path.name for path in Path("photos").iterdir()] == ["cat.jpg"]


def test_nothing_is_left_of_a_run_that_could_not_begin():
    with pytest.raises(FileNotFoundError):
        KernelKMeans(6).fit("nowhere.npy", checkpoint="new/kept")
    assert not Path("new/kept").exists()


def test_two_runs_do_not_share_a_folder():
    class Second(Progress):
        def stage(self, *_):
            with pytest.raises(CheckpointError, match="in use by another run"):
                KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT)

    KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT, progress=Second())


@pytest.mark.parametrize("estimator", [KernelKMeans(**KMEANS), SpectralClustering(random_state=0)])
def test_choosing_goes_on(estimator):
    once = apnc.choose(X, estimator, range(2, 8))
    after, times = 5, 0
    while True:
        try:
            again = apnc.choose(X, estimator, range(2, 8), checkpoint=KEPT, progress=Interrupting(after))
            break
        except InterruptionError:
            after, times = 2 * after, times + 1
    assert times > 2
    assert again.measures == once.measures
    np.testing.assert_array_equal(again.estimator.labels_, once.estimator.labels_)
    assert not Path(KEPT).exists()


def test_another_choice_is_refused():
    with pytest.raises(InterruptionError):
        apnc.choose(X, KernelKMeans(**KMEANS), range(2, 8), checkpoint=KEPT, progress=Interrupting(60))
    with pytest.raises(CheckpointError, match=r"n_clusters was \[2, 3, 4, 5, 6, 7\], is \[2, 3, 4\]"):
        apnc.choose(X, KernelKMeans(**KMEANS), range(2, 5), checkpoint=KEPT)


FIT = ("fit", "rows.npy", "--n-clusters", 6, "--n-landmarks", 40, "--quiet")


def test_the_command_says_how_to_go_on(monkeypatch):
    npy()
    run(*FIT, "--model", "once.apnc", "--labels", "once.csv")
    with monkeypatch.context() as patched:
        interrupt_after(patched, "starting")
        stopped = run(*FIT, "--model", "again.apnc", "--labels", "again.csv", "--checkpoint", KEPT, code=130)
    assert stopped.stderr == "apnc: interrupted. Run the same again to go on: kept keeps what is done.\n"
    run(*FIT, "--model", "again.apnc", "--labels", "again.csv", "--checkpoint", KEPT)
    assert Path("again.csv").read_bytes() == Path("once.csv").read_bytes()
    for name in ("once", "again"):
        apnc.load(f"{name}.apnc")
    assert not Path(KEPT).exists()


def test_a_checkpoint_outlives_a_model_that_cannot_be_written(monkeypatch):
    npy()
    with monkeypatch.context() as patched:
        patched.setattr(KernelKMeans, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        failed = run(*FIT, "--model", "m.apnc", "--labels", "l.csv", "--checkpoint", KEPT, code=2)
    assert "No space left" in failed.stderr
    assert "Run the same again to go on" in failed.stderr
    assert Path(KEPT, "clustering.record").exists()
    run(*FIT, "--model", "m.apnc", "--labels", "l.csv", "--checkpoint", KEPT)
    assert not Path(KEPT).exists()


def test_a_checkpoint_among_the_data_is_refused():
    Path("data").mkdir()
    np.save("data/rows.npy", X)
    refused = run("fit", "data", "-k", 6, "--model", "m.apnc", "--checkpoint", "data/kept", "--quiet", code=2)
    assert "among the data" in refused.stderr


def kept_values(stage):
    """What the checkpoint holds of a stage, with the hints to write it again."""
    adds = next(one.adds for one in apnc.pipeline.STAGES if one.name == stage)
    hints = apnc.pipeline.hints_of(adds)
    return hints, Checkpoint(Path(KEPT)).read(stage, hints, lambda values: None)


def drawn_with(**changes):
    """A change of what is kept of the sampling: fields of the seeding sample."""

    def change(drawn):
        sample = drawn.samples["seeding"]
        values = {name: make(getattr(sample, name)) for name, make in changes.items()}
        return replace(drawn, samples={**drawn.samples, "seeding": replace(sample, **values)})

    return "sampling", "drawn", change


def counted_with(**changes):
    """A change of what was counted."""
    return "sampling", "drawn", lambda drawn: replace(drawn, census=replace(drawn.census, **changes))


def with_field(stage, name, field, make):
    """A change of one field of what is kept of a stage."""
    return stage, name, lambda value: replace(value, **{field: make(getattr(value, field))})


STRANGE = {
    "rows that were not counted": counted_with(n_rows=2999),
    "fewer rows than clusters": counted_with(n_positive=5),
    "no weight": counted_with(total_weight=0.0),
    "another sample": with_field("sampling", "drawn", "samples", lambda samples: {"x": samples["seeding"]}),
    "other columns": drawn_with(rows=lambda rows: rows[:, :2].copy()),
    "another type": drawn_with(rows=lambda rows: rows.astype(np.uint8)),
    "too much weight": drawn_with(weights=lambda weights: 1e9 * weights),
    "weights of another type": drawn_with(weights=lambda weights: weights.astype(np.float32)),
    "a scaling": with_field("sampling", "drawn", "scaling", lambda none: Scaling.unit()),
    "a component less": with_field("coefficients", "sample", "rows", lambda rows: rows[:, 1:].copy()),
    "a sample by columns": with_field("coefficients", "sample", "rows", np.asfortranarray),
    "too few centroids": ("starting", "start", lambda start: start[1:]),
    "centroids far out": ("starting", "start", lambda start: start * 1e30),
    "too many iterations": with_field("clustering", "found", "n_iter", lambda n: 10**6),
    "centroids elsewhere": with_field("clustering", "found", "centroids", lambda C: C[:, 1:].copy()),
}


@pytest.mark.parametrize("case", STRANGE)
def test_a_record_that_is_whole_but_of_another_run_is_not_used(case):
    stage, name, change = STRANGE[case]
    once = KernelKMeans(6, **KMEANS).fit(X)
    interrupt(KernelKMeans(6, **KMEANS), X, "labels")
    hints, values = kept_values(stage)
    Checkpoint(Path(KEPT)).write(stage, hints, {**values, name: change(values[name])})
    with pytest.warns(UserWarning, match=f"{stage}.record was damaged"):
        again = KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, once.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, once.cluster_centers_)


def test_kept_objects_that_the_kernel_does_not_take_are_not_used():
    """The loops over graphs do not check that nodes exist."""
    graphs = [{"n": 3 + i % 4, "edges": [[j, j + 1] for j in range(2 + i % 4)]} for i in range(60)]
    km = KernelKMeans(3, kernel="weisfeiler_lehman(1)", random_state=0)
    once = clone(km).fit(graphs)
    interrupt(clone(km), graphs, "labels")
    hints, values = kept_values("sampling")
    _, _, change = drawn_with(rows=lambda rows: [{"n": 2, "edges": [[0, 2]]}, *rows[1:]])
    Checkpoint(Path(KEPT)).write("sampling", hints, {"drawn": change(values["drawn"])})
    with pytest.warns(UserWarning, match=r"sampling.record was damaged"):
        again = clone(km).fit(graphs, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, once.labels_)


def wrong(rows, value):
    changed = rows.copy()
    changed[3, 0] = value
    return changed


CHUNKS = {
    "no number": ("embedding", lambda chunk: replace(chunk, rows=wrong(chunk.rows, np.nan))),
    "a component less": ("embedding", lambda chunk: replace(chunk, rows=chunk.rows[:, 1:].copy())),
    "another type": ("embedding", lambda chunk: replace(chunk, rows=chunk.rows.astype(np.float64))),
    "too much weight": ("embedding", lambda chunk: replace(chunk, weights=1e9 * chunk.weights)),
    "infinite weight": ("embedding", lambda chunk: replace(chunk, weights=chunk.weights + np.inf)),
    "no such landmark": ("neighbours", lambda chunk: replace(chunk, rows=wrong(chunk.rows, 10**9))),
    "a negative landmark": ("neighbours", lambda chunk: replace(chunk, rows=wrong(chunk.rows, -1))),
    "no similarity": ("neighbours", lambda chunk: replace(chunk, rows=chunk.rows * np.int32(0))),
    "a neighbour less": ("neighbours", lambda chunk: replace(chunk, rows=chunk.rows[:, 2:].copy())),
}


@pytest.mark.parametrize("case", CHUNKS)
def test_a_chunk_that_is_whole_but_of_another_run_is_not_used(case):
    """The loops over rows of a graph do not check the numbers of landmarks."""
    stage, change = CHUNKS[case]
    make = KernelKMeans if stage == "embedding" else SpectralClustering
    once = make(6, n_landmarks=40, random_state=0).fit(X)
    interrupt(
        make(6, n_landmarks=40, random_state=0), X, "clustering" if make is KernelKMeans else "coefficients"
    )
    folder = ChunkFolder(Path(KEPT, f"{stage}.chunks"))
    folder.save(change(folder.load(3)))
    with pytest.warns(UserWarning, match=r"00000003\.chunk was damaged"):
        again = make(6, n_landmarks=40, random_state=0).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, once.labels_)


@pytest.mark.parametrize("whole", [True, False])
def test_a_chunk_of_other_rows_is_not_used(whole):
    once = KernelKMeans(6, **KMEANS).fit(X)
    interrupt(KernelKMeans(6, **KMEANS), X)
    folder = ChunkFolder(Path(KEPT, "embedding.chunks"))
    last = folder.load(len(folder) - 1)
    start, stop = last.carry[:2]
    carry = RowRange(start, stop - 1) if whole else RowRange(start - 1, stop - 1)
    rows = slice(0, -1) if whole else slice(None)
    folder.save(replace(last, rows=last.rows[rows], weights=last.weights[rows], carry=carry))
    again = KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, once.labels_)


def test_a_changed_seed_is_noticed():
    interrupt(KernelKMeans(6, **KMEANS), X)
    text = Path(KEPT, "run.json").read_text()
    seed = json.loads(text)["seed"]
    Path(KEPT, "run.json").write_text(text.replace(f'"seed": {seed}', f'"seed": {seed + 1}'))
    with pytest.warns(UserWarning, match=r"run\.json was damaged"):
        again = KernelKMeans(6, **KMEANS).fit(X, checkpoint=KEPT)
    np.testing.assert_array_equal(again.labels_, KernelKMeans(6, **KMEANS).fit(X).labels_)


@pytest.mark.parametrize("change", [lambda found: {"2": {}}, lambda found: {**found, "9": found["2"]}])
def test_measures_of_other_numbers_of_clusters_are_not_used(change):
    from apnc.choosing.measuring import HALVING

    once = apnc.choose(X, KernelKMeans(**KMEANS), range(2, 8))
    with pytest.raises(InterruptionError):
        apnc.choose(X, KernelKMeans(**KMEANS), range(2, 8), checkpoint=KEPT, progress=AtStage("embedding"))
    kept = Checkpoint(Path(KEPT))
    found = kept.read("null", HALVING, lambda values: None)["found"]
    kept.write("null", HALVING, {"found": change(found)})
    with pytest.warns(UserWarning, match=r"null\.record was damaged"):
        again = apnc.choose(X, KernelKMeans(**KMEANS), range(2, 8), checkpoint=KEPT)
    assert again.measures == once.measures
