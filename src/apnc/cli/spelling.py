"""Suggestions for misspelt options."""

import difflib
from collections.abc import Iterable

#: Options under the names that other programs use.
GUESSES = {
    "clusters": "n-clusters",
    "k": "n-clusters",
    "landmarks": "n-landmarks",
    "components": "n-components",
    "seed": "random-state",
    "threads": "n-jobs",
    "jobs": "n-jobs",
    "cores": "n-jobs",
    "iterations": "max-iter",
    "estimator": "method",
    "labels-to": "labels",
    "model-to": "model",
    "memory": "memory-limit",
}


def meant(name: str, known: Iterable[str]) -> str | None:
    """The option that ``name`` probably stands for; both without leading dashes."""
    known, name = list(known), name.replace("_", "-")
    guess = GUESSES.get(name, name)
    if guess in known:
        return guess
    near = difflib.get_close_matches(guess, known, n=1, cutoff=0.6)
    begun = [option for option in known if any(_begins(guess, word) for word in option.split("-"))]
    return next(iter((*near, *begun)), None)


def _begins(one: str, other: str) -> bool:
    return min(len(one), len(other)) > 1 and (one.startswith(other) or other.startswith(one))
