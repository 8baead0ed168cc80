"""The result of ``apnc.choose``."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from apnc.checks.frames import as_frame
from apnc.choosing import pictures
from apnc.choosing.measuring import Measures


@dataclass(frozen=True, repr=False)
class Choice:
    """A recommended number of clusters, and what it rests on.

    Attributes
    ----------
    n_clusters : the recommended number; None: no clear structure.
    reason : the recommendation in words, with its numbers.
    hint : a weaker sign of structure in words; None: there is none.
    measures : one ``Measures`` for each number of clusters tried.
    estimator : fitted to all rows with ``n_clusters`` clusters; None if there is no recommendation, or with
        ``fit=False``.
    n_sampled : distinct instances that the measures were computed on.

    """

    n_clusters: int | None
    reason: str
    hint: str | None
    measures: tuple[Measures, ...]
    n_sampled: int
    estimator: Any = None

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The measures by name, one value for each number of clusters tried."""
        rows = [asdict(one) for one in self.measures]
        names = [field.name for field in fields(Measures) if any(row[field.name] is not None for row in rows)]
        return {name: [row[name] for row in rows] for name in names}

    @property
    def table(self) -> Any:
        """``columns`` as a pandas DataFrame with ``n_clusters`` as its index; without pandas, ``columns``."""
        try:
            return as_frame(self.columns, "n_clusters")
        except ModuleNotFoundError:
            return self.columns

    def plot(self, ax: Any = None) -> Any:
        """Draw the measures with matplotlib, on ``ax`` if given; returns the axes."""
        return pictures.draw(self.columns, self.n_clusters, ax)

    def __str__(self) -> str:
        parts = [self.reason, self.hint, pictures.as_text(self.columns, self.n_clusters)]
        return "\n".join(part for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return pictures.as_html(self.columns, self.n_clusters, self.reason, self.hint)
