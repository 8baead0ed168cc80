"""The result of a certification."""

from dataclasses import dataclass
from html import escape

from apnc.wording import printable

#: Up to these gaps, in percent, labels are as good as exact, or a little worse (docs/decisions/23-certificate.md).
AS_GOOD, SMALL = 0.5, 2.0
#: Adjusted Rand indices from which two partitions are nearly the same, or similar.
SAME, SIMILAR = 0.9, 0.7


@dataclass(frozen=True)
class Certificate:
    """How far labels are from those of the exact method, estimated on a sample of the data.

    Attributes
    ----------
    verdict : one sentence.
    gap : by how much exact kernel k-means, continued from the labels, would improve its objective, in percent of what
        clustering explains; None for a neighbour graph, which has no such objective.
    gap_interval : two percentages that enclose the gap of all rows in about nine of ten cases; None without a gap.
    changed : share of rows whose label the exact method would change; for a neighbour graph, the share on which the
        exact graph of the sample differs.
    changed_interval : of ``changed``, as ``gap_interval``; None for a neighbour graph.
    exact_agreement : adjusted Rand index of the labels and those of the exact method.
    changed_by_landmarks : share of rows whose label changes with twice as many landmarks.
    compared_landmarks : the two numbers of landmarks.
    agreement : adjusted Rand index of fits with different seeds. It sees what the other numbers cannot: starts that
        end in different clusterings.
    n_rows : distinct instances in the sample.
    share : that share of all distinct instances; 1: the numbers are exact.
    limited : whether the memory limit made the sample smaller than it would otherwise be.
    n_landmarks, n_clusters : of the model.
    kernel : its name.

    """

    verdict: str
    gap: float | None
    gap_interval: tuple[float, float] | None
    changed: float
    changed_interval: tuple[float, float] | None
    exact_agreement: float
    changed_by_landmarks: float
    compared_landmarks: tuple[int, int]
    agreement: float
    n_rows: int
    share: float
    limited: bool
    n_landmarks: int
    n_clusters: int
    kernel: str

    def lines(self) -> dict[str, str]:
        """The numbers as text, by name."""
        found = {}
        if self.gap is not None and self.gap_interval is not None:
            within = between("{:.2g} to {:.2g} %", self.gap_interval)
            found["gap to exact"] = f"{self.gap:.2g} % of what clustering explains{within}"
        within = between("{:.1%} to {:.1%}", self.changed_interval)
        few, many = self.compared_landmarks
        found["changed by exact"] = f"{self.changed:.1%} of the rows{within}, ARI {self.exact_agreement:.3f}"
        found["changed by landmarks"] = (
            f"{self.changed_by_landmarks:.1%} of the rows ({many:,} instead of {few:,})"
        )
        found["agreement of seeds"] = f"ARI {self.agreement:.3f}"
        every = "all" if self.share == 1 else f"{self.share:.1%} of all"
        limited = "; memory_limit allows no more" if self.limited else ""
        found["checked on"] = f"{self.n_rows:,} distinct rows, {every}{limited}"
        found["model"] = f"{self.n_clusters:,} clusters, {self.kernel} kernel, {self.n_landmarks:,} landmarks"
        return found

    def __str__(self) -> str:
        lines = self.lines()
        width = max(map(len, lines)) + 2
        return "\n".join(
            [self.verdict, *(f"{name:<{width}}{printable(text)}" for name, text in lines.items())]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self.lines().items()
        )
        return f"<p>{escape(self.verdict)}</p><table>{rows}</table>"


def between(form: str, interval: tuple[float, float] | None) -> str:
    """An interval in brackets; nothing if there is none, or if the number is exact."""
    return "" if interval is None or interval[0] == interval[1] else f" ({form.format(*interval)})"


def verdict_of_gap(gap: float, interval: tuple[float, float], changed: float) -> str:
    """One sentence about a gap in percent and the share of labels behind it."""
    said = (
        "As good as exact from here"
        if gap < AS_GOOD
        else "A small loss"
        if gap < SMALL
        else "Raise n_landmarks"
    )
    within = between("{:.2g} to {:.2g} %", interval)
    return (
        f"{said}: exact kernel k-means, continued from these labels, would explain {gap:.2g} % more{within} and change "
        f"{changed:.1%} of them."
    )


def verdict_of_graph(exact: float, by_landmarks: float, seeds: float) -> str:
    """One sentence about the agreement with the exact graph, with twice the landmarks, and between seeds."""
    if seeds < SIMILAR:
        return (
            f"Not stable: other seeds find other clusters (ARI {seeds:.2f}); raise n_landmarks, and if they still "
            "differ, try another n_clusters or n_nearest."
        )
    if by_landmarks < min(SAME, seeds):
        return (
            f"Raise n_landmarks: twice as many change the clusters of a sample (ARI {by_landmarks:.2f}) more than "
            f"another seed does ({seeds:.2f})."
        )
    if exact >= SAME:
        return f"As good as exact: the neighbour graph of all rows of a sample finds these clusters (ARI {exact:.2f})."
    if seeds >= SAME:
        return (
            f"Stable: other seeds (ARI {seeds:.2f}) and twice the landmarks (ARI {by_landmarks:.2f}) find these "
            "clusters again, so trust them; that the neighbour graph of single rows finds others "
            f"(ARI {exact:.2f}) is no sign of error, since a few rows between clusters mislead it."
        )
    return (
        f"Roughly stable: other seeds find similar clusters (ARI {seeds:.2f}), the neighbour graph of all rows of a "
        f"sample others (ARI {exact:.2f}); raise n_landmarks, or trust only clusters that another random_state finds "
        "again."
    )
