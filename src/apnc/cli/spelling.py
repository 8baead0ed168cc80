"""What a misspelt option may have meant."""

import difflib
from collections.abc import Iterable

#: Options as other programs call them.
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
    """The option that was probably meant by ``name``; both without dashes in front."""
    known, name = list(known), name.replace("_", "-")
    guess = GUESSES.get(name, name)
    if guess in known:
        return guess
    near = difflib.get_close_matches(guess, known, n=1, cutoff=0.6)
    begun = [option for option in known if any(_begins(guess, word) for word in option.split("-"))]
    return next(iter((*near, *begun)), None)


def _begins(one: str, other: str) -> bool:
    return min(len(one), len(other)) > 1 and (one.startswith(other) or other.startswith(one))
