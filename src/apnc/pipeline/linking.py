"""Stages of an embedding that depends on all rows: its landmarks, and the pass that compares rows with them."""

from dataclasses import replace
from functools import partial

import numpy as np

from apnc.embeddings.family import Request
from apnc.engines.contract import Chunks
from apnc.pipeline.coefficients import resolved_kernel
from apnc.pipeline.resuming import check_compared
from apnc.pipeline.samples import require_limit
from apnc.pipeline.state import Fit, choose_landmarks, n_landmarks
from apnc.scaling import Scale
from apnc.settings import derive
from apnc.typing import Array


@np.errstate(over="ignore", invalid="ignore")
def make_landmarks(fit: Fit) -> Fit:
    """The landmarks, from a sample."""
    settings, drawn, job = fit.settings, fit.drawn, fit.job
    pool, plain = choose_landmarks(drawn, settings), job.data(8 * job.source.held).spread

    def spread(rows: Array, weights: Array) -> Chunks:
        job.progress.rows(len(rows))
        return plain(rows, weights)

    request = Request(
        pool,
        resolved_kernel(fit),
        n_landmarks(drawn, settings),
        settings.n_clusters,
        job.dtype,
        np.random.default_rng(derive(settings.seed, "coefficients")),
        fixed=settings.n_landmarks != "auto",
        spread=spread,
        on_rows=job.progress.rows,
    )
    return replace(fit, comparison=settings.embedding.compare(request))


def compare_rows(fit: Fit) -> Fit:
    """One pass: every row is compared with the landmarks once, and the result is kept."""
    assert fit.comparison is not None
    require_limit(fit.job, fit.settings, fit.sizes)
    work, room = fit.comparison.work_bytes(fit.job.source.held), fit.job.room(fit.sizes) / 2
    data = fit.job.data(work, room, "neighbours", partial(check_compared, fit))
    rows = data.chunks if fit.drawn.scaling is None else data.chunks.map(Scale(fit.drawn.scaling, data.dtype))
    return replace(fit, compared=fit.kept.enter_context(rows.map(fit.comparison.compare).cached()))
