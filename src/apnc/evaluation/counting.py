"""Pairs of a cluster and a class, counted as they come."""

from typing import Any

import numpy as np

from apnc.evaluation.files import LABEL, LabelFile
from apnc.evaluation.measures import Comparison
from apnc.typing import Array

#: More different values than this are no labels.
MOST_LABELS = 1_000_000


class Codes:
    """Labels numbered as they come."""

    def __init__(self, file: LabelFile):
        self._file = file
        self._numbers: dict[str, int] = {}

    def of(self, labels: Any) -> Array:
        """Numbers of an Arrow array of text."""
        encoded = labels.dictionary_encode()
        numbers = [self._numbers.setdefault(v, len(self._numbers)) for v in encoded.dictionary.to_pylist()]
        if len(self._numbers) > MOST_LABELS:
            raise ValueError(
                f"{self._file.name}: column {self._file.column!r} has more than {MOST_LABELS:,} different values. Call "
                f"the column of the labels {LABEL!r}, or make it the last one."
            )
        return np.array(numbers, np.int64)[encoded.indices.to_numpy()]

    def ranked(self, used: Array) -> tuple[tuple[str, ...], Array]:
        """Names of the numbers that were used, whole numbers by value, and the place of each number among them."""
        names = list(self._numbers)
        whole = all(name.removeprefix("-").isdecimal() for name in names)
        order = sorted(np.unique(used).tolist(), key=lambda i: (int(names[i]) if whole else 0, names[i]))
        places = np.zeros(len(names), np.int64)
        places[order] = np.arange(len(order))
        return tuple(names[i] for i in order), places


class Tally:
    """Counts pairs of a cluster and a class."""

    def __init__(self, clusters: Codes, classes: Codes):
        self.clusters, self.classes = clusters, classes
        self._counts: dict[int, int] = {}

    def add(self, cluster_of: Array, class_of: Array) -> None:
        """Count the pairs of some rows."""
        pairs, counts = np.unique((cluster_of << 32) | class_of, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            self._counts[pair] = self._counts.get(pair, 0) + count

    def comparison(self, ids: tuple[str, ...], n_only_labels: int, n_only_truth: int) -> Comparison:
        """What was counted."""
        pairs = np.array(list(self._counts), np.int64)
        cluster_of, class_of = pairs >> 32, pairs & 0xFFFFFFFF
        clusters, cluster_places = self.clusters.ranked(cluster_of)
        classes, class_places = self.classes.ranked(class_of)
        counts = np.array(list(self._counts.values()), np.int64)
        cells = (cluster_places[cluster_of], class_places[class_of], counts)
        return Comparison(clusters, classes, *cells, ids, n_only_labels, n_only_truth)
