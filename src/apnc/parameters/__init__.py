"""The estimators' parameters: one table for checks, model files, the command line and Spark."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from apnc.parameters import rules
from apnc.parameters.rules import NONE, Parameter

#: Marks a parameter without a default on the command line.
REQUIRED: Any = inspect.Parameter.empty
__all__ = ["CLUSTERING", "DATA", "KERNEL", "NONE", "OUTPUT", "REQUIRED", "RUN", "Parameter", "rules", "table"]
#: Panels of the help.
DATA, KERNEL, CLUSTERING, OUTPUT, RUN = "Data", "Kernel", "Clustering", "Output", "Run"


def table(
    *,
    kernels: Iterable[str],
    on_objects: Iterable[str],
    kernel: Callable[[str], Any],
    gammas: Iterable[str],
    embeddings: Iterable[str],
    embedding: type,
    scales: Iterable[str],
    inits: Iterable[str],
) -> dict[str, Parameter]:
    """All rows, with the registered names; an embedding may also be an instance of its base class.

    ``kernel`` makes a kernel on objects of its description.
    """
    rows = (
        *_of_clusters(tuple(inits)),
        *_of_kernels(tuple(kernels), tuple(on_objects), kernel, tuple(gammas)),
        *_of_embeddings(tuple(scales), tuple(embeddings), embedding),
        *_of_runs(),
        *_of_members(),
    )
    return {row.name: row for row in rows}


def _of_clusters(inits: tuple[str, ...]) -> Iterator[Parameter]:
    row = partial(Parameter, panel=CLUSTERING)
    required = {"command line": REQUIRED}
    integer, size = rules.positive_integer, rules.size_or_auto
    start = rules.Rule("a name", inits, named=True, objects=(object,))
    yield row(
        "n_clusters", 8, (int,), integer, "Number of clusters.", flag="-k", spark="k", defaults=required
    )
    meaning = f"How the first centroids are chosen: {', '.join(inits)}."
    yield row("init", inits[0], (str,), start, meaning, metavar="NAME", words=inits, spark="initMode")
    meaning = "Starts tried on a sample; the best is run on all rows."
    yield row("n_init", "auto", (int, str), size, meaning, words=("auto",))
    yield row("max_iter", 300, (int,), integer, "Maximum number of iterations.")
    meaning = "Converged when the centroids move by no more than this share of the variance."
    yield row("tol", 1e-4, (int, float), rules.non_negative, meaning)
    meaning = "Random seed; the same seed gives the same result."
    yield row(
        "random_state",
        None,
        (int, NONE),
        rules.seed_or_state,
        meaning,
        spark="seed",
        defaults={"command line": 0, "spark": 0},
    )


def _of_kernels(
    vectors: tuple[str, ...], objects: tuple[str, ...], read: Callable[[str], Any], gammas: tuple[str, ...]
) -> Iterator[Parameter]:
    row, kernels = partial(Parameter, panel=KERNEL), (*vectors, *objects)
    kernel = rules.Rule(
        "a name, a kernel or a function f(A, B)", (*vectors, "precomputed"), accepts=_is_instance, read=read
    )
    meaning = f"Kernel: {', '.join(kernels)}; or a function f(A, B) that returns a matrix."
    yield row("kernel", "rbf", (str,), kernel, meaning, metavar="NAME", words=kernels)
    meaning = (
        "Width of the kernel: a number, or tuned from the data: mean (from the mean distance), local (from nearby "
        "rows), narrow (between the two), or auto (mean or narrow, whichever suits the clusters)."
    )
    expected = f"a positive number, None or one of {', '.join(gammas)}"
    width = rules.Rule(expected, gammas, number=float, low=0, above=True, objects=(NONE,))
    yield row("gamma", "auto", (int, float, str, NONE), width, meaning, words=gammas)
    meaning = "Constant of the polynomial and sigmoid kernels."
    yield row("coef0", 1, (int, float), rules.finite, meaning)
    yield row("degree", 3, (int, float), rules.positive, "Exponent of the polynomial kernel.")
    meaning = "Keyword arguments of a kernel function."
    yield Parameter("kernel_params", None, (dict, NONE), rules.arguments, meaning, spark=None)
    meaning = "Divide k(x, y) by sqrt(k(x, x) k(y, y)), and scale embedded rows to norm 1. By default only for cosine."
    yield row("normalize_kernel", "auto", (bool, str), rules.true_false_or_auto, meaning)


def _of_embeddings(scales: tuple[str, ...], names: tuple[str, ...], kind: type) -> Iterator[Parameter]:
    scale = rules.Rule(f"one of {', '.join(scales)}, or None", scales, named=True, objects=(NONE,))
    expected = f"one of {', '.join(names)}, or an instance of a subclass of apnc.{kind.__name__}"
    embedding = rules.Rule(expected, names, named=True, objects=(kind,))
    meaning = (
        "How features are scaled first: minmax (to [0, 1]), standard (mean 0, variance 1) or unit (rows of norm 1). "
        "The model keeps the scaling."
    )
    yield Parameter("scale", None, (str, NONE), scale, meaning, DATA, "NAME", scales)
    meaning = f"How rows are embedded as vectors: {', '.join(names)}."
    yield Parameter("embedding", names[0], (str,), embedding, meaning, KERNEL, "NAME", names)
    row = partial(Parameter, panel=KERNEL, words=("auto",))
    meaning = (
        "Number of landmarks, the rows that all others are compared with; more are more accurate and slower."
    )
    yield row("n_landmarks", "auto", (int, str), rules.size_or_auto, meaning, spark="landmarks")
    meaning = "Maximum length of the embedded vectors."
    yield row("n_components", "auto", (int, str), rules.size_or_auto, meaning, spark="components")


def _of_runs() -> Iterator[Parameter]:
    row = partial(Parameter, panel=RUN, spark=None)
    yield row("n_jobs", None, (int, NONE), rules.thread_count, "Number of threads. By default all cores.")
    meaning = "Memory that the process may use, such as 4GB or 512MiB. By default the free memory."
    yield row("memory_limit", None, (int, str, NONE), rules.memory_size, meaning, metavar="SIZE")
    yield Parameter("verbose", 0, (int, bool), rules.verbosity, "1 shows progress.", spark=None)


def _of_members() -> Iterator[Parameter]:
    """Options of individual embeddings."""
    meaning = (
        "Landmarks that a row is linked to; text needs about 20. By default 3, more if that joins pieces."
    )
    row = partial(Parameter, panel=KERNEL, words=("auto",))
    yield row("n_nearest", "auto", (int, str), rules.links_or_auto, meaning, spark="nearest")
    row = partial(Parameter, spark=None)
    yield row("n_blocks", 4, (int,), rules.positive_integer, "Number of blocks of an ensemble.")
    yield row("mixture_weights", None, (list, NONE), rules.shares, "Weight of each block; by default equal.")
    yield row(
        "subset_size",
        0.4,
        (int, float),
        rules.positive,
        "Number of landmarks in each random subset, or their share.",
    )


def _is_instance(value: Any) -> bool:
    """Whether a value can be called, and is not a class that was meant to be."""
    return callable(value) and not isinstance(value, type)
