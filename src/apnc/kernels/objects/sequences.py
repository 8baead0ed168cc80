"""Letters, tokens and items as codes that the compiled loops take."""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from apnc.kernels.family import BadObjectError
from apnc.typing import Array

#: Types of tokens and items. Whole numbers and text are different tokens: 1 is not "1".
PLAIN = (str, int, float, bool)
#: Whole numbers of this size and beyond are refused: Python does not write much longer ones.
LARGEST = 10**1000


def starts_of(objects: Sequence[Any]) -> Array:
    """Where each object begins in their concatenation, and where the last one ends."""
    return np.append(0, np.cumsum(np.fromiter(map(len, objects), np.int64, len(objects))))


def letter_codes(texts: Sequence[str]) -> tuple[Array, Array]:
    """Code points of all texts, and where each text begins."""
    # JSON may contain halves of surrogate pairs.
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, np.uint32), starts_of(texts)


def token_codes(lists: Sequence[Sequence[Any]]) -> tuple[Array, Array]:
    """A 64-bit hash of every token, the same in every process, and where each list begins."""
    from apnc.loops.hashed_features import hash_runs

    texts = [
        token if type(token) is str else f"\0{json.dumps(token)}" for token in chain.from_iterable(lists)
    ]
    return hash_runs(*letter_codes(texts)), starts_of(lists)


def as_text(position: int, item: Any) -> str:
    """A string, not a subclass of one."""
    if isinstance(item, str):
        return str(item)
    hint = " Decode it first." if isinstance(item, bytes) else ""
    raise BadObjectError(position, f"found {described(item)}, expected text.{hint}")


def as_tokens(position: int, item: Any) -> list[Any]:
    """A list of plain tokens."""
    if isinstance(item, np.ndarray) and item.ndim == 1:
        item = item.tolist()
    if not isinstance(item, list | tuple):
        raise BadObjectError(position, f"found {described(item)}, expected text or a list of tokens.")
    found = [token.item() if isinstance(token, np.generic) else token for token in item]
    for token in found:
        if type(token) not in PLAIN:
            raise BadObjectError(
                position,
                f"found {described(token)} in a list, expected tokens: text, numbers, true or false.",
            )
        if type(token) is int and abs(token) >= LARGEST:
            raise BadObjectError(position, "found a whole number of more than 1,000 digits: pass it as text.")
    return found


def described(item: Any) -> str:
    """An unsuitable object, in words."""
    if item is None:
        return "None"
    try:
        text = repr(item)
    except ValueError:
        return f"{type(item).__name__} of too many digits"
    kind = type(item).__name__
    return f"{kind} {text}" if len(text) <= 40 else f"{kind} {text[:37]}..."
