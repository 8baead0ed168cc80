"""From data and a model to a certificate."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from apnc import pipeline
from apnc.certifying import exact_graph, exact_kmeans
from apnc.certifying.certificate import Certificate, verdict_of_gap, verdict_of_graph
from apnc.certifying.continuing import Sampled
from apnc.certifying.drawing import Asked, Checked, draw, fitting_rows, labelled
from apnc.certifying.partitions import agreement, pairwise_agreement, share_changed, share_moved
from apnc.embeddings.family import embedding_steps
from apnc.engines.contract import SingleChunk
from apnc.model import Model
from apnc.run.job import Job
from apnc.sampling import Sample
from apnc.settings import Settings, derive
from apnc.sources import InMemory
from apnc.typing import Array

#: Other seeds that a fit is compared with.
SEEDS = 2
#: Rows for each row that is checked, from which neighbour graphs are made; and at least for each of their landmarks.
POOL, POOL_A_LANDMARK = 5, 2


def certify(job: Job, model: Model, asked: Asked) -> Certificate:
    """How far the labels of the model are from those of the exact method, on a sample of the data."""
    exact = model.embedding.residual is not None
    return certify_kernel(job, model, asked) if exact else certify_graph(job, model, asked)


def certify_kernel(job: Job, model: Model, asked: Asked) -> Certificate:
    """Compare with exact kernel k-means."""
    settings, l = asked.settings, model.embedding.coefficients.n_landmarks  # noqa: E741

    def sizes(n: int) -> dict[str, int]:
        return {"checked": n, "landmarks": 2 * l}

    n = fitting_rows(job, model, asked, sizes)
    checked = draw(job, model, settings.seed, sizes(n))
    job.progress.stage("certificate")
    sample, e = checked.sample, model.discrepancy
    sampled = Sampled(sample.weights, len(model.centroids), checked.share)
    exact = exact_kmeans.exact_points(model.embedding.kernel, sample.rows)
    found = exact_kmeans.improvement(exact, checked.Y, checked.labels, sampled, e)
    parts = exact_kmeans.in_parts(exact, checked.Y, checked.labels, sampled, e)
    many = checked.others["landmarks"]
    more = exact_kmeans.settled(
        with_landmarks(model, settings, sample, many, job.dtype), found.before, sampled, e
    )
    seeds = [refitted(job, settings, sample, l, f"seed {i}")[1] for i in range(SEEDS)]
    gap_interval = exact_kmeans.interval(
        found.gap, [part.gap for part in parts], checked.share, exact_kmeans.GAP_HALF_WIDTH
    )
    return Certificate(
        verdict=verdict_of_gap(found.gap, gap_interval, found.changed),
        gap=found.gap,
        gap_interval=gap_interval,
        changed=found.changed,
        changed_interval=exact_kmeans.interval(
            found.changed, [part.changed for part in parts], checked.share, exact_kmeans.CHANGED_HALF_WIDTH
        ),
        exact_agreement=agreement(found.before, found.after, sample.weights),
        changed_by_landmarks=share_changed(found.before, more, sample.weights),
        compared_landmarks=(l, len(many)),
        agreement=pairwise_agreement([found.before, *seeds], sample.weights),
        **facts(model, checked, asked),
    )


def certify_graph(job: Job, model: Model, asked: Asked) -> Certificate:
    """Compare with spectral clustering of the exact neighbour graph of the sample.

    Twice the landmarks and other seeds are compared on fits of a larger sample, with as many landmarks as it allows.
    """
    settings, k = asked.settings, len(model.centroids)

    def sizes(n: int) -> dict[str, int]:
        return {"checked": n, "pool": POOL * n}

    n = fitting_rows(job, model, asked, sizes)
    checked = draw(job, model, settings.seed, sizes(n))
    job.progress.stage("certificate")
    sample, pool = checked.sample, checked.others["pool"]
    l = min(model.embedding.coefficients.n_landmarks, max(k, len(pool) // (2 * POOL_A_LANDMARK)))  # noqa: E741

    def labels_of(n_landmarks: int, purpose: str) -> Array:
        return labelled(refitted(job, settings, pool, n_landmarks, purpose)[0], sample, job.dtype)[0]

    K = exact_kmeans.exact_kernel(model.embedding.kernel, sample.rows)
    found = exact_graph.exact_labels(K, sample.weights, k, derive(settings.seed, "exact") % 2**32)
    one, two, many = labels_of(l, "seed 0"), labels_of(l, "seed 1"), labels_of(2 * l, "seed 0")
    exact = agreement(checked.labels, found, sample.weights)
    seeds = pairwise_agreement([checked.labels, one, two], sample.weights)
    return Certificate(
        verdict=verdict_of_graph(exact, agreement(one, many, sample.weights), seeds),
        gap=None,
        gap_interval=None,
        changed=share_moved(checked.labels, found, sample.weights),
        changed_interval=None,
        exact_agreement=exact,
        changed_by_landmarks=share_moved(one, many, sample.weights),
        compared_landmarks=(l, 2 * l),
        agreement=seeds,
        **facts(model, checked, asked),
    )


def facts(model: Model, checked: Checked, asked: Asked) -> dict[str, Any]:
    """What a certificate says about the model and the sample."""
    name = model.embedding.kernel.asked_for()["kernel"]
    return {
        "n_rows": len(checked.sample),
        "share": checked.share,
        "limited": checked.share < 1 and len(checked.sample) < asked.rows(model),
        "n_landmarks": model.embedding.coefficients.n_landmarks,
        "n_clusters": len(model.centroids),
        "kernel": name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__),
    }


@np.errstate(over="ignore", invalid="ignore")
def with_landmarks(model: Model, settings: Settings, sample: Sample, many: Sample, dtype: type) -> Array:
    """The sample embedded by other landmarks, float64."""
    embedding, k = settings.embedding, len(model.centroids)
    m = settings.n_components
    m = embedding.most_components(len(many), k) if m == "auto" else int(m)
    of_landmarks = model.embedding.kernel.of_landmarks(many.rows)
    rng = np.random.default_rng(derive(settings.seed, "landmarks"))
    found = embedding.coefficients(many.rows, of_landmarks, m, rng)
    chunks = SingleChunk.of(sample.rows, sample.weights)
    for step in embedding_steps(of_landmarks, found, dtype):
        chunks = chunks.map(step)
    return np.asarray(chunks.chunk.rows, dtype=np.float64)


def refitted(
    job: Job, settings: Settings, sample: Sample, n_landmarks: int, purpose: str
) -> tuple[Model, Array]:
    """The model of a fit of a sample with another seed, and its labels."""
    settings = replace(
        settings, n_landmarks=min(n_landmarks, len(sample)), seed=derive(settings.seed, purpose)
    )
    with warnings.catch_warnings(action="ignore"):
        found = pipeline.fit(Job(InMemory(sample.rows, sample.weights), job.threads), settings)
    return found.model, found.last.labels.astype(np.intp)
