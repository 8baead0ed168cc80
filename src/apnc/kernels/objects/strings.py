"""Kernels on text and lists of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.family import KernelRows
from apnc.kernels.objects.features import FeatureKernel, Features, ObjectKernel
from apnc.kernels.objects.sequences import as_text, as_tokens, letter_codes, token_codes
from apnc.rows import n_rows
from apnc.stored import require, require_flags, stored
from apnc.typing import Array

#: Longest run of letters or tokens.
LONGEST = 50


@stored
@dataclass(frozen=True)
class Spectrum(FeatureKernel):
    """Text, or lists of tokens, compared by the runs of letters (tokens) that they share: the spectrum kernel.

    Parameters
    ----------
    shortest, longest : lengths of the runs that are counted.
    positional : a run counts as shared only at the same position: for aligned sequences such as DNA around a site.
    ends : mark beginning and end, so that a run at the end of a word differs from the same run inside it.
    normalize : divide by the norms, so that long and short texts are comparable; False where length matters.

    Text without any run, such as "a" with ``shortest=2``, is similar to nothing.

    """

    shortest: int = 3
    longest: int = 3
    positional: bool = False
    ends: bool = False
    normalize: bool = True

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require lengths in order."""
        whole = all(type(size) is int for size in (self.shortest, self.longest))
        inside = whole and 1 <= self.shortest <= self.longest <= LONGEST
        found = f"shortest={self.shortest}, longest={self.longest}"
        require(inside, f"{found}: expected whole numbers with 1 <= shortest <= longest <= {LONGEST}")
        require_flags(self, "positional", "ends", "normalize")

    def read(self, objects: Any) -> list[Any]:
        """All text, or all lists of tokens."""
        return texts_or_tokens(objects)

    def features(self, objects: Sequence[Any]) -> Features:
        """Runs by hash, with their number."""
        from apnc.loops.hashed_features import ngrams

        tokens = _are_tokens(objects)
        codes, starts = (token_codes if tokens else letter_codes)(objects)
        options = self.shortest, self.longest, self.positional, self.ends
        return Features.counted(*ngrams(codes, starts, *options))

    def feature_bytes(self, held: int) -> int:
        """Those of every length."""
        return super().feature_bytes(held) * (self.longest - self.shortest + 1)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Inner products or cosines; text has nothing in common with lists of tokens, so these are refused."""
        rows, tokens = super().against(landmarks, dtype), _are_tokens(landmarks)

        def same_kind(X: Any, room: Array | None) -> Array:
            if len(X) and _are_tokens(X) is not tokens:
                found, expected = ("lists of tokens", "text") if not tokens else ("text", "lists of tokens")
                raise ValueError(f"The rows are {found}, but the landmarks are {expected}: pass {expected}.")
            return rows(X, room)

        return KernelRows(same_kind)


def _are_tokens(objects: Sequence[Any]) -> bool:
    """Whether objects are lists of tokens rather than text; they are all alike."""
    kinds = set(map(type, objects))
    if len(kinds) > 1:
        raise ValueError("Some rows are text, others lists of tokens. Split the text, or join the tokens.")
    return kinds == {list}


def texts_or_tokens(objects: Any) -> list[Any]:
    """All text, or all lists of tokens; the first object says which."""
    if set(map(type, objects)) == {str}:
        return list(objects)
    if not len(objects) or isinstance(objects[0], str):
        return [as_text(position, item) for position, item in enumerate(objects)]
    return [as_tokens(position, item) for position, item in enumerate(objects)]


@stored
@dataclass(frozen=True)
class EditSimilarity(ObjectKernel):
    """1 - d / (len(x) + len(y)) for the number d of insertions and deletions that turn one text into the other.

    It is not positive semi-definite; needs the package rapidfuzz (``pip install "apnc[objects]"``). Two empty texts are
    equal: similarity 1.
    """

    unit: ClassVar[bool] = True
    pairwise: ClassVar[bool] = True
    pieces: ClassVar[int] = 32

    def read(self, objects: Any) -> list[str]:
        """All text; a missing package is noticed here, before the first pass."""
        _rapidfuzz()
        return [as_text(position, item) for position, item in enumerate(objects)]

    @property
    def same_diagonal(self) -> float | None:
        """It is 1."""
        return 1.0

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Similarities of all pairs, on the calling thread."""
        cdist, similarity = _rapidfuzz()

        def rows(X: Any, room: Array | None) -> Array:
            return np.asarray(cdist(X, landmarks, scorer=similarity, dtype=np.float64, workers=1)).astype(
                dtype, copy=False
            )

        return KernelRows(rows)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """The matrix in float64, and its copy in the compute type."""
        return super().work_bytes(held, n_landmarks, dtype) + 8 * n_landmarks

    def diagonal(self, rows: Any) -> Array:
        """It is 1."""
        return np.ones(n_rows(rows))


def _rapidfuzz() -> tuple[Any, Any]:
    try:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist
    except ModuleNotFoundError as error:
        raise ImportError(
            'The kernel EditSimilarity needs rapidfuzz: pip install "apnc[objects]".'
        ) from error
    return cdist, Indel.normalized_similarity
