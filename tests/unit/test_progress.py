"""Lines, bars and callbacks of long work, on a clock that tests turn."""

import importlib.util
import io
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.pipeline import Pipeline

from apnc import KernelKMeans, SpectralClustering
from apnc.progress import (
    HEARD,
    SILENT,
    CallbackProgress,
    CallbackSupport,
    Progress,
    display,
    make_progress,
    told_to_callbacks,
)
from apnc.progress.stage import Stage, duration

HAS_CALLBACKS = importlib.util.find_spec("sklearn.callback") is not None
needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on")


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def lines(stream, clock):
    return display.Lines(stream, stream, clock)


# Words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.001 s"),
        (0.0213, "0.021 s"),
        (0.25, "0.25 s"),
        (4.24, "4.2 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (80, "1 min 20 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (86399, "1 d 0 h"),
        (3 * 86400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_rows_of_a_known_total():
    stage = Stage("embedding", 100.0, total_rows=10_000_000, n_rows=2_500_000)
    assert (stage.done, stage.total, stage.unit) == (2_500_000, 10_000_000, "rows")
    assert stage.text(105.0) == "2,500,000 of 10,000,000 rows, 500,000 rows/s, 15 s left"
    stage.n_rows = 10_000_000
    assert stage.finished(120.0) == "10,000,000 rows in 20 s, 500,000 rows/s"


def test_rows_of_an_unknown_total():
    stage = Stage("sampling", 0.0, n_rows=3000)
    assert (stage.done, stage.total) == (3000, None)
    assert stage.text(1.5) == "3,000 rows, 2,000 rows/s"
    assert stage.finished(1.5) == "3,000 rows in 1.5 s, 2,000 rows/s"


def test_passes_over_the_rows():
    stage = Stage("sampling", 0.0, total_rows=1000, passes=2, n_rows=500)
    assert stage.text(1.0) == "500 of 2,000 rows, 500 rows/s, 3 s left"
    stage.n_rows = 2000
    assert stage.text(4.0) == "2,000 of 2,000 rows, 500 rows/s, 0.001 s left"
    assert stage.finished(4.0) == "2 passes over 1,000 rows in 4 s, 500 rows/s"


def test_fewer_passes_than_there_may_be():
    stage = Stage("starting", 0.0, total_rows=100, passes=40, n_rows=700)
    assert stage.finished(1.0) == "7 passes over 100 rows in 1 s, 700 rows/s"


def test_passes_over_a_part_of_the_rows_are_rounded():
    stage = Stage("coefficients", 0.0, total_rows=100, passes=40, n_rows=1370)
    assert stage.finished(1.0) == "about 14 passes over 100 rows in 1 s, 1,370 rows/s"
    stage.n_rows = 130
    assert stage.finished(1.0) == "about 1 pass over 100 rows in 1 s, 130 rows/s"


def test_iterations_bound_the_time_left():
    stage = Stage("clustering", 0.0, total_rows=1000, max_iter=41, n_rows=500)
    assert (stage.done, stage.total, stage.unit) == (0.5, 41, "iterations")
    assert stage.text(1.0) == "0 of at most 41 iterations, 500 rows/s, at most 1 min 21 s left"
    stage.n_iter, stage.n_rows, stage.before, stage.quality = 1, 1000, 1000, "shift 0.0123, inertia 123.4"
    assert stage.text(2.0) == (
        "1 of at most 41 iterations, 500 rows/s, shift 0.0123, inertia 123.4, at most 1 min 20 s left"
    )
    assert stage.finished(2.0) == "1 iteration in 2 s, 500 rows/s, shift 0.0123, inertia 123.4"


def test_iterations_without_rows():
    stage = Stage("clustering", 0.0, max_iter=10)
    assert stage.text(5.0) == "0 of at most 10 iterations"
    stage.n_iter = 4
    assert stage.text(8.0) == "4 of at most 10 iterations, at most 12 s left"


def test_more_rows_than_there_should_be():
    """Empty clusters cost a pass more, which must not promise more than there is."""
    assert Stage("clustering", 0.0, total_rows=10, max_iter=2, n_iter=1, before=10, n_rows=35).done == 2
    assert Stage("coefficients", 0.0, total_rows=10, n_rows=35).done == 10


def test_stages_without_rows_and_empty_data():
    assert Stage("seeding", 0.0).finished(3.1) == "done in 3.1 s"
    empty = Stage("labels", 0.0, total_rows=0)
    assert empty.text(0.0) == "0 of 0 rows"
    assert empty.finished(1.0) == "done in 1 s"


def test_pairs_of_objects():
    stage = Stage("embedding", 0.0, total_rows=10_000, pairs=500, n_rows=2400)
    assert stage.text(2.0) == "2,400 of 10,000 rows, 1,200 rows/s, 600,000 pairs/s, 6.3 s left"
    stage.n_rows = 10_000
    assert stage.finished(10.0) == "10,000 rows in 10 s, 1,000 rows/s, 500,000 pairs/s"


def test_no_time_has_passed():
    stage = Stage("labels", 5.0, total_rows=10, n_rows=5)
    assert stage.text(5.0) == "5 of 10 rows, 0.001 s left"


# Lines


def test_lines_come_now_and_then_and_at_the_end(lines, stream, clock):
    lines.stage("embedding", 1000)
    for _ in range(10):
        clock.now += 1.0
        lines.rows(100)
    lines.close()
    assert stream.getvalue().splitlines() == [
        "embedding: 500 of 1,000 rows, 100 rows/s, 5 s left",
        "embedding: 1,000 of 1,000 rows, 100 rows/s, 0.001 s left",
        "embedding: 1,000 rows in 10 s, 100 rows/s",
    ]


def test_a_stage_ends_where_the_next_begins(lines, stream, clock):
    with lines:
        lines.stage("sampling", passes=2)
        clock.now += 1.0
        lines.rows(600)
        lines.total(600)
        clock.now += 1.0
        lines.rows(600)
        lines.stage("labels", 600)
        clock.now += 2.0
        lines.rows(600)
    assert stream.getvalue().splitlines() == [
        "sampling: 2 passes over 600 rows in 2 s, 600 rows/s",
        "labels: 600 rows in 2 s, 300 rows/s",
    ]


def test_short_stages_make_no_flood(lines, stream, clock):
    for _ in range(100):
        lines.stage("labels", 1000)
        for _ in range(1000):
            clock.now += 0.0001
            lines.rows(1)
    lines.close()
    assert len(stream.getvalue().splitlines()) <= 102


def test_pairs_belong_to_their_stage(lines, stream, clock):
    lines.pairs(500)
    with lines:
        for name, each in (("sampling", 0), ("embedding", 500), ("labels", 0)):
            lines.stage(name, 1200)
            if each:
                lines.pairs(each)
            clock.now += 1.0
            lines.rows(1200)
    assert stream.getvalue().splitlines() == [
        "sampling: 1,200 rows in 1 s, 1,200 rows/s",
        "embedding: 1,200 rows in 1 s, 1,200 rows/s, 600,000 pairs/s",
        "labels: 1,200 rows in 1 s, 1,200 rows/s",
    ]


def test_iterations_have_lines(lines, stream, clock):
    with lines:
        lines.stage("clustering", 1000, max_iter=300)
        for n_iter in (1, 2):
            clock.now += 0.5
            lines.rows(1000)
            assert lines.iteration(n_iter, 300, 0.5 / n_iter, 100.0) is False
    assert stream.getvalue().splitlines() == [
        "iteration 1: shift 0.5, inertia 100",
        "iteration 2: shift 0.25, inertia 100",
        "clustering: 2 iterations in 1 s, 2,000 rows/s, shift 0.25, inertia 100",
    ]


def test_a_failure_is_not_called_done(lines, stream, clock):
    def fail():
        with lines:
            lines.stage("embedding", 1000)
            clock.now += 2.0
            lines.rows(300)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert stream.getvalue().splitlines() == [
        "embedding: stopped after 2 s, 300 of 1,000 rows, 150 rows/s, 4.7 s left"
    ]


def test_rows_outside_a_stage_are_not_shown(lines, stream, clock):
    clock.now += 60
    lines.rows(10)
    lines.total(10)
    lines.close()
    assert stream.getvalue() == ""


def test_closing_twice_is_closing_once(lines, stream):
    with lines:
        lines.stage("labels")
        lines.close()
    assert len(stream.getvalue().splitlines()) == 1


# Which one


def run_a_little(progress: Progress, clock: Clock) -> None:
    with progress:
        progress.stage("sampling")
        clock.now += 6.0
        progress.rows(100)
        progress.stage("clustering", 100, max_iter=5)
        clock.now += 6.0
        progress.rows(100)
        progress.iteration(1, 5, 0.5, 3.0)


def test_silent(capfd, clock):
    assert make_progress(0) is SILENT
    run_a_little(SILENT, clock)
    assert SILENT.iteration(1, 5, 0.5, 3.0) is False
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_plain_output(capfd, clock, verbose):
    """Iterations on stdout, as always; what is new on stderr; nothing but lines of text."""
    run_a_little(make_progress(verbose, clock=clock), clock)
    out, err = capfd.readouterr()
    assert out == "iteration 1: shift 0.5, inertia 3\n"
    assert [line.split(":")[0] for line in err.splitlines()] == ["sampling"] * 2 + ["clustering"] * 2
    assert not re.search(r"[\r\x1b]", out + err)


def test_a_stream_takes_everything(capfd, clock, stream):
    run_a_little(make_progress(1, stream, clock), clock)
    assert capfd.readouterr() == ("", "")
    assert "iteration 1: shift" in stream.getvalue()


def test_a_terminal_without_rich_has_lines(monkeypatch, clock):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert isinstance(make_progress(1, Terminal(), clock), display.Lines)


@pytest.mark.parametrize(
    ("tty", "term", "notebook", "installed", "bars"),
    [
        (True, "xterm", False, ("rich",), True),
        (True, "dumb", False, ("rich",), False),
        (True, "xterm", False, (), False),
        (False, "xterm", False, ("rich", "ipywidgets"), False),
        (False, "xterm", True, ("rich", "ipywidgets"), True),
        (False, "xterm", True, ("rich",), False),
        (False, "xterm", True, ("ipywidgets",), False),
    ],
)
def test_when_there_are_bars(monkeypatch, tty, term, notebook, installed, bars):
    console = pytest.importorskip("rich.console")
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(console, "_is_jupyter", lambda: notebook)
    monkeypatch.setattr(
        display.importlib.util, "find_spec", lambda name: object() if name in installed else None
    )
    shown = display.console_for_bars(Terminal() if tty else io.StringIO())
    assert (shown is not None) is bars


# Bars


@pytest.fixture
def terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal()


def plain(terminal: Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


@pytest.mark.parametrize("verbose", [1, 2])
def test_bars_on_a_terminal(terminal, clock, verbose):
    progress = make_progress(verbose, terminal, clock)
    assert isinstance(progress, display.Bars)
    run_a_little(progress, clock)
    text = plain(terminal)
    assert re.search(r"sampling .* 100/100 rows, 17 rows/s +0:00:06", text)
    assert re.search(r"clustering .* 1/1 +iterations, 17 rows/s, shift 0.5, inertia 3 +0:00:06", text)
    assert ("iteration 1: shift 0.5, inertia 3" in text) == (verbose == 2)


def test_bars_wrap_on_a_narrow_terminal(terminal, clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    run_a_little(make_progress(1, terminal, clock), clock)
    last = plain(terminal)[-600:]
    assert "inertia 3" in " ".join(last.split())
    assert "…" not in last


def test_bars_tell_the_time_left(terminal, clock):
    progress = make_progress(1, terminal, clock)
    with progress:
        progress.stage("embedding", 1000)
        for _ in range(5):
            clock.now += 1.0
            progress.rows(100)
        progress._bars.refresh()
    assert re.search("embedding .*━╸?━* +500/1000 rows, 100 rows/s +0:00:05", plain(terminal))


def test_bars_stop_after_a_failure(terminal, clock):
    progress = make_progress(1, terminal, clock)

    def fail():
        with progress:
            progress.stage("embedding", 1000)
            progress.rows(300)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert re.search("embedding .* 300/1000 stopped", plain(terminal))
    assert not progress._bars.live.is_started


# Stages of a fit


class Moves(Progress):
    """How many rows each stage announces, and how it comes to them."""

    def __init__(self):
        self.announced, self.told = {}, {}

    def stage(self, name, total_rows=None, passes=1, max_iter=None):
        self.announced[name], self.told[name] = (total_rows, passes), []

    def rows(self, n):
        self.told[list(self.told)[-1]].append(n)


def shared_letters(A, B):
    return np.array([[len({*a} & {*b}) for b in B] for a in A], dtype=float)


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("abcdefgh"), size=6)) for _ in range(900)]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble", "neighbours"])
def test_every_stage_moves(words, embedding, normalize):
    moves = Moves()
    km = KernelKMeans(
        4,
        kernel=shared_letters,
        n_landmarks=64,
        embedding=embedding,
        normalize_kernel=normalize,
        random_state=0,
    )
    km.fit(words, progress=moves)
    for name, (rows, passes) in moves.announced.items():
        assert len(moves.told[name]) >= 3, name
        if name != "clustering":
            assert sum(moves.told[name]) <= rows * passes, name
    rows, _ = moves.announced["coefficients"]
    if embedding == "neighbours":
        assert rows == len(words) == sum(moves.told["coefficients"])
        return
    assert rows == 64 + len(set(words))
    assert len(moves.told["coefficients"]) >= 32
    assert sum(moves.told["coefficients"]) >= 0.9 * rows


class Pairs(Moves):
    """Pairs of each stage: as announced for a row, and as a kernel function has computed them."""

    def __init__(self):
        super().__init__()
        self.each, self.computed = {}, {}

    def pairs(self, each):
        self.each[list(self.told)[-1]] = each

    def kernel(self, A, B):
        stage = list(self.told)[-1]
        self.computed[stage] = self.computed.get(stage, 0) + len(A) * len(B)
        return shared_letters(A, B)


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble", "neighbours"])
def test_pairs_that_are_announced_are_computed(words, embedding):
    pairs = Pairs()
    options = {"embedding": embedding, "n_landmarks": 64, "n_jobs": 1, "random_state": 0}
    km = KernelKMeans(4, kernel=pairs.kernel, **options).fit(words, progress=pairs)
    whole = "neighbours" if embedding == "neighbours" else "embedding"
    assert set(pairs.each) == ({whole} if embedding == "neighbours" else {"coefficients", "embedding"})
    assert pairs.each[whole] * len(words) == pairs.computed[whole]
    assert km._model.embedding.n_pairs == pairs.each[whole]
    for stage, each in pairs.each.items():
        assert each * sum(pairs.told[stage]) == pytest.approx(pairs.computed[stage], rel=0.2)


def test_pairs_of_a_start_that_embeds(words):
    for init in ("random-partition", words[:4]):
        pairs = Pairs()
        KernelKMeans(4, kernel=pairs.kernel, n_landmarks=64, init=init, random_state=0).fit(
            words, progress=pairs
        )
        assert pairs.each["starting"] == 64
        assert pairs.computed["starting"] == 64 * sum(pairs.told["starting"])


def test_kernels_on_vectors_have_no_pairs():
    pairs = Pairs()
    KernelKMeans(2, kernel="rbf").fit(np.random.default_rng(0).normal(size=(50, 3)), progress=pairs)
    assert not pairs.each


def test_pairs_are_shown(tmp_path, words, capsys):
    km = KernelKMeans(2, kernel=shared_letters, n_landmarks=8, verbose=1, random_state=0).fit(words)
    km.predict(words, to=tmp_path / "labels.csv")
    km.describe(words)
    shown = [line for line in capsys.readouterr().err.splitlines() if "pairs/s" in line]
    assert [line.split(":")[0] for line in shown] == ["coefficients", "embedding", "labels", "describing"]


@pytest.mark.parametrize("n_landmarks", ["auto", 900])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_stage_of_a_graph_moves(kernel, n_landmarks):
    moves, X = Moves(), np.random.default_rng(0).normal(size=(9000, 3))
    SpectralClustering(4, kernel=kernel, n_landmarks=n_landmarks, random_state=0).fit(X, progress=moves)
    for name, (rows, passes) in moves.announced.items():
        assert len(moves.told[name]) >= 3, name
        if name != "clustering":
            assert sum(moves.told[name]) <= rows * passes, name


@pytest.mark.parametrize(
    ("init", "n_init", "least"),
    [("k-means++", 1, 4), ("k-means++", 3, 6), ("random", 3, 2), ("random", 1, 0)],
)
def test_the_start_moves(init, n_init, least):
    moves, X = Moves(), np.random.default_rng(0).normal(size=(600, 3))
    KernelKMeans(5, init=init, n_init=n_init, random_state=0).fit(X, progress=moves)
    (rows, passes), told = moves.announced["starting"], moves.told["starting"]
    assert least <= len(told) <= passes
    assert set(told) <= {rows} == {600}


def test_the_start_by_given_instances_moves(words):
    moves = Moves()
    KernelKMeans(5, init=words[:5], kernel=shared_letters, random_state=0).fit(words, progress=moves)
    assert moves.announced["starting"] == (5, 1)
    assert moves.told["starting"] == [1] * 5


def test_who_is_told_changes_nothing(words):
    """A kernel function is called for the same pieces whether somebody is told or not."""

    def fitted(**how):
        called = []

        def kernel(A, B):
            called.append((len(A), len(B)))
            return shared_letters(A, B)

        km = KernelKMeans(4, kernel=kernel, n_landmarks=50, n_jobs=1, random_state=0).fit(words, **how)
        return km.cluster_centers_, called

    (quiet, one), (told, other) = fitted(), fitted(progress=Moves())
    np.testing.assert_array_equal(quiet, told)
    assert one == other


# Callbacks of scikit-learn


class Recorder:
    """Keeps what it is told; asks to stop after ``stop_after`` iterations."""

    def __init__(self, stop_after=None):
        self.told, self.fitted, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {context.task_name} {context.task_id} of {context.max_subtasks}")

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.told.append(f"end {context.task_name} {context.task_id}")
        self.fitted.append((X, y, metadata, getattr(fitted_estimator, "centre_", None)))
        return context.task_name == "iteration" and context.task_id + 1 == self.stop_after


class Clusterer(CallbackSupport, ClusterMixin, BaseEstimator):
    """Goes through the stages of a fit; converges after ``n_iter`` iterations."""

    def __init__(self, n_iter=2, max_iter=4, extra_pass=False, fails=False):
        self.n_iter = n_iter
        self.max_iter = max_iter
        self.extra_pass = extra_pass
        self.fails = fails

    def fit(self, X, y=None, sample_weight=None):
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        if HEARD & vars(self).keys():
            return told_to_callbacks(self, self._run, {"X": X, "y": y, "metadata": metadata})
        return self._run()

    def _run(self, hear=lambda shown: shown):
        self.shown_ = Heard()
        with hear(self.shown_) as progress:
            progress.stage("embedding", 3)
            progress.rows(3)
            self._iterate(progress)
            progress.stage("labels", 3)
            progress.rows(3)
            self.centre_ = "final"
        return self

    def _iterate(self, progress):
        progress.stage("clustering", 3, max_iter=self.max_iter)
        for n_iter in range(1, self.n_iter + 1):
            progress.rows(3)
            if self.fails:
                raise RuntimeError("the disk is gone")
            if progress.iteration(n_iter, self.max_iter, 0.5, 1.0, partial(dict, centre_=f"centre {n_iter}")):
                return
        if self.extra_pass:
            progress.rows(3)


class Heard(Progress):
    def __init__(self):
        self.calls = []

    def stage(self, name, total_rows=None, passes=1, max_iter=None):
        self.calls.append(name)

    def rows(self, n):
        self.calls.append(n)

    def iteration(self, n_iter, max_iter, shift, inertia, state=None):
        self.calls.append(state()["centre_"])
        return False

    def close(self):
        self.calls.append("close")

    def stop(self):
        self.calls.append("stop")


def test_an_estimator_without_callbacks_is_left_alone():
    estimator = Clusterer().fit([1, 2, 3])
    assert estimator.shown_.calls == [
        "embedding", 3, "clustering", 3, "centre 1", 3, "centre 2", "labels", 3, "close"
    ]  # fmt: skip


@needs_callbacks
def test_callbacks_hear_of_each_iteration():
    recorder = Recorder()
    estimator = Clusterer().set_callbacks(recorder).fit([1, 2, 3], y="y", sample_weight=[1, 1, 2])
    assert recorder.told == [
        "setup",
        "begin fit 0 of 4",
        "begin iteration 0 of 0",
        "end iteration 0",
        "begin iteration 1 of 0",
        "end iteration 1",
        "end fit 0",
        "teardown",
    ]
    given = ([1, 2, 3], "y", {"sample_weight": [1, 1, 2]})
    assert recorder.fitted == [(*given, "centre 1"), (*given, "centre 2"), (*given, "final")]
    assert estimator.shown_.calls[-3:] == ["labels", 3, "close"]
    assert not hasattr(estimator, "_callback_fit_ctx")


@needs_callbacks
def test_a_callback_may_stop_the_iterations():
    recorder = Recorder(stop_after=1)
    estimator = Clusterer(n_iter=3).set_callbacks(recorder).fit([1])
    assert "end iteration 0" in recorder.told
    assert "begin iteration 1 of 0" not in recorder.told
    assert "centre 2" not in estimator.shown_.calls


@needs_callbacks
@pytest.mark.parametrize("n_iter", [2, 4])
def test_a_pass_after_the_last_iteration(n_iter):
    """It is no iteration beyond the most there may be, and what began ends."""
    recorder = Recorder()
    Clusterer(n_iter=n_iter, extra_pass=True).set_callbacks(recorder).fit([1])
    begun = sum(told.startswith("begin iteration") for told in recorder.told)
    assert begun == sum(told.startswith("end iteration") for told in recorder.told) <= 4


@needs_callbacks
def test_callbacks_are_torn_down_after_a_failure():
    recorder = Recorder()
    estimator = Clusterer(fails=True).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        estimator.fit([1])
    assert recorder.told[-1] == "teardown"
    assert "end fit 0" not in recorder.told
    assert estimator.shown_.calls[-1] == "stop"


@needs_callbacks
def test_callbacks_of_clones_and_none():
    recorder = Recorder()
    estimator = Clusterer().set_callbacks(recorder)
    clone(estimator).fit([1])
    assert recorder.told[0] == "setup"
    recorder.told.clear()
    estimator.set_callbacks().fit([1])
    assert recorder.told == []


@needs_callbacks
def test_a_pipeline_hands_its_callbacks_on():
    class Handed(Recorder):
        max_propagation_depth = None

    recorder = Handed()
    Pipeline([("cluster", Clusterer())]).set_callbacks(recorder).fit([1, 2, 3])
    assert recorder.told.count("setup") == recorder.told.count("teardown") == 1
    assert [told for told in recorder.told if "iteration" in told] == [
        "begin iteration 0 of 0", "end iteration 0", "begin iteration 1 of 0", "end iteration 1"
    ]  # fmt: skip


@needs_callbacks
def test_progress_bar_of_scikit_learn(capfd):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    Clusterer().set_callbacks(ProgressBar()).fit([1, 2, 3])
    assert "Clusterer - fit" in capfd.readouterr().out


@needs_callbacks
def test_not_a_callback():
    with pytest.raises(TypeError, match="FitCallback"):
        Clusterer().set_callbacks("bar")


def test_older_versions_of_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    with pytest.raises(ImportError, match=r"scikit-learn 1\.9"):
        Clusterer().set_callbacks(Recorder())
    assert Clusterer().fit([1]).centre_ == "final"


def test_the_callback_module_is_loaded_on_demand():
    code = "import apnc.progress, sys; print('sklearn.callback' in sys.modules, 'rich' in sys.modules)"
    before = "import apnc.checks, sys; print('sklearn.callback' in sys.modules, 'rich' in sys.modules)"
    found = [
        subprocess.run([sys.executable, "-c", c], capture_output=True, text=True, check=True)
        for c in (code, before)
    ]
    assert found[0].stdout == found[1].stdout


@needs_callbacks
def test_a_fit_without_iterations():
    recorder = Recorder()
    estimator = Clusterer(max_iter=0).set_callbacks(recorder)
    with CallbackProgress(SILENT, estimator, {"X": [1]}) as progress:
        progress.stage("sampling", 1, passes=2)
        progress.rows(1)
    assert recorder.told == ["setup", "begin fit 0 of 0", "end fit 0"]
