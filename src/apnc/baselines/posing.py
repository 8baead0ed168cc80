"""From a baseline's parameters to a problem, and warnings about the result."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from apnc import checks
from apnc.baselines.kernel_space import Problem, pose
from apnc.checks import fit as advice
from apnc.embeddings import NystroemEmbedding
from apnc.kernels import KernelChoice
from apnc.settings import Settings
from apnc.typing import Array

INITS = ("random", "random-partition")


def posed(
    estimator: Any, rows: Any, weights: Array, choice: KernelChoice, n_sampled: int | None = None
) -> Problem:
    """A baseline's problem: parameters checked, samples drawn and kernel tuned as in ``KernelKMeans``.

    ``n_sampled`` is the size of the landmark sample if it is not the estimator's ``n_landmarks``.
    """
    k = checks.positive_integer("n_clusters", estimator.n_clusters)
    n_init = checks.positive_integer("n_init", estimator.n_init)
    init = check_init(estimator.init, n_init, len(weights), k)
    max_iter = checks.positive_integer("max_iter", estimator.max_iter)
    n_landmarks = n_sampled or checks.size_or_auto("n_landmarks", getattr(estimator, "n_landmarks", 1))
    seed = checks.random_seed(estimator.random_state)
    asked = Settings(
        choice,
        NystroemEmbedding(),
        n_landmarks,
        "auto",
        seed,
        n_clusters=k,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
    )
    problem = pose(rows, weights, asked)
    advice.refuse_too_few(k, problem.drawn.census)
    return problem


def check_init(init: Any, n_init: int, n: int, k: int) -> Any:
    """``init`` as a known name or as n start labels."""
    if isinstance(init, str):
        return checks.known_name("init", init, INITS)
    labels = np.asarray(init)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"init must be one of {', '.join(INITS)}, or {n} integer start labels; got "
            f"{type(init).__name__} of type {labels.dtype}."
        )
    if n_init > 1:
        raise ValueError(
            f"n_init={n_init} has no effect with start labels, which are a single start; use n_init=1."
        )
    return checks.check_start_labels(labels, n, k)


def warn_of(converged: bool, labels: Array, settings: Settings) -> None:
    """Warn about a fit that did not converge, and about empty clusters."""
    if not converged:
        warnings.warn(
            f"Not converged after max_iter={settings.max_iter} iterations. Raise max_iter.",
            ConvergenceWarning,
            stacklevel=3,
        )
    n_filled = len(np.unique(labels))
    if n_filled < settings.n_clusters:
        warnings.warn(
            f"Only {n_filled} of {settings.n_clusters} clusters hold rows: the data has too few "
            "distinct rows, or max_iter was too small to fill them.",
            stacklevel=3,
        )
