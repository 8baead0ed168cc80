"""What an estimator's parameters ask for, checked."""

from typing import Any

import numpy as np

from apnc import validation
from apnc.job import Job
from apnc.sampling import Sample
from apnc.settings import ClusterSettings, EmbeddingSettings
from apnc.sources.rows import n_rows


def embedding_settings(estimator: Any, job: Job, n_clusters: int, seed: int) -> EmbeddingSettings:
    """Parameters of the embedding, checked."""
    return EmbeddingSettings(
        kernel=validation.check_kernel_choice(estimator),
        embedding=validation.check_embedding_choice(estimator.embedding),
        n_landmarks=validation.size_or_auto("n_landmarks", estimator.n_landmarks),
        n_components=validation.size_or_auto("n_components", estimator.n_components),
        seed=seed,
        n_clusters=n_clusters,
        scale=validation.check_scale(estimator.scale, estimator.kernel, job.given),
    )


def cluster_settings(estimator: Any, job: Job) -> ClusterSettings:
    """Parameters of the clustering, checked."""
    k = validation.positive_integer("n_clusters", estimator.n_clusters)
    init = _start(estimator, k, None if job.weights is None else len(job.weights))
    return ClusterSettings(
        n_clusters=k,
        init=init,
        n_init=_n_restarts(estimator, init),
        max_iter=validation.positive_integer("max_iter", estimator.max_iter),
        tol=validation.non_negative("tol", estimator.tol),
        seed=validation.random_seed(estimator.random_state),
    )


def _start(estimator: Any, k: int, n: int | None) -> Any:
    """``init`` as a name, start labels, or a sample of k instances."""
    if isinstance(estimator.init, str):
        return validation.known_name("init", estimator.init, validation.INITS)
    if validation.are_labels(estimator.init, callable(estimator.kernel)):
        if n is None:
            raise ValueError(
                "init as start labels goes with rows in memory, not with a file or a DataFrame of Spark."
            )
        return validation.check_start_labels(np.asarray(estimator.init), n, k)
    instances = validation.read(estimator, estimator.init, reset=False)
    if n_rows(instances) != k:
        raise ValueError(f"init has {n_rows(instances)} instances, expected n_clusters={k}.")
    return Sample(instances, np.ones(k))


def _n_restarts(estimator: Any, init: Any) -> int:
    several = init in ("k-means++", "random") if isinstance(init, str) else False
    n_init = validation.size_or_auto("n_init", estimator.n_init)
    if n_init == "auto":
        return 10 if several else 1
    if int(n_init) > 1 and not several:
        raise ValueError(
            f"n_init={n_init} has no effect with this init, which is a single start; use n_init=1."
        )
    return int(n_init)
