"""Count pairs of a cluster and a class, piece by piece."""

from typing import Any

from apnc.evaluation.label_files import LABEL, LabelFile
from apnc.evaluation.measures import Comparison
from apnc.typing import Array

#: A column with more distinct values than this does not hold labels.
MOST_LABELS = 1_000_000


class Tally:
    """Counts pairs of a cluster and a class, under their names in two files."""

    def __init__(self, clusters: LabelFile, classes: LabelFile):
        self._files = {"cluster": clusters, "class": classes}
        self._cells: list[Any] = []

    def add(self, clusters: Any, classes: Any) -> None:
        """Count the pairs of some rows: chunked arrays of text, plain or dictionary-encoded."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pairs = pa.table([clusters, classes], names=list(self._files))
        cells = pairs.group_by(pairs.column_names).aggregate([([], "count_all")])
        named = {kind: cells[kind].cast(pa.large_string()) for kind in self._files}
        together = pa.concat_tables([*self._cells, pa.table({**named, "count": cells["count_all"]})])
        sums = together.group_by(pairs.column_names).aggregate([("count", "sum")])
        self._cells = [sums.rename_columns({"count_sum": "count"})]
        for kind, file in self._files.items():
            if pc.count_distinct(self._cells[0][kind]).as_py() > MOST_LABELS:
                raise ValueError(
                    f"{file.name}: column {file.column!r} has more than {MOST_LABELS:,} distinct values. Call the "
                    f"column of the labels {LABEL!r}, or make it the last one."
                )

    def comparison(self, ids: tuple[str, ...], n_only_labels: int, n_only_truth: int) -> Comparison:
        """The counts as a contingency table."""
        (cells,) = self._cells
        clusters, cluster_of = _ranked(cells["cluster"])
        classes, class_of = _ranked(cells["class"])
        counts = cells["count"].to_numpy()
        return Comparison(clusters, classes, cluster_of, class_of, counts, ids, n_only_labels, n_only_truth)


def _ranked(labels: Any) -> tuple[tuple[str, ...], Array]:
    """Distinct names in order, integers by value, and the position of each label among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = labels.unique().to_pylist()
    whole = all(name.removeprefix("-").isdecimal() for name in names)
    names.sort(key=lambda name: (int(name) if whole else 0, name))
    return tuple(names), pc.index_in(labels, value_set=pa.array(names, labels.type)).to_numpy()
