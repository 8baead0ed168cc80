"""What a report says about each cluster, as text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.describing import ClusterDescription, Contrast, Description, Examples
from apnc.describing.description import OBJECTS, WORDS
from apnc.describing.showing import example_names, number

#: Features shown of an example, names shown in the table of sizes, and characters of an object.
FEATURES, OUTSTANDING, LONGEST = 6, 3, 300
#: Means below this share of a standard deviation are zero.
TINY = 1e-9


@dataclass(frozen=True)
class Card:
    """A cluster on the page; all texts, but for its number, and the width of its bar in percent."""

    number: int
    color: str
    size: str
    share: str
    width: float
    spread: str
    nearest: str
    outstanding: str
    features: list[tuple[str, ...]]
    examples: list[tuple[str, list[tuple[str, str]]]]


@dataclass(frozen=True)
class Wording:
    """How rows and features of a kind of data are shown."""

    kind: str
    names: Sequence[str]
    shown: Callable[[Any], str] = str

    @property
    def title(self) -> str:
        """Above the table of features."""
        return "Words that set it apart" if self.kind == WORDS else "Features that set it apart"

    @property
    def header(self) -> tuple[str, ...]:
        """Of the table of features."""
        return (
            ("word", "here", "overall")
            if self.kind == WORDS
            else ("feature", "mean", "overall", "deviations")
        )

    def line(self, contrast: Contrast) -> tuple[str, ...]:
        """A line of the table of features."""
        if self.kind == WORDS:
            return contrast.name, f"{contrast.inside:.1%}", f"{contrast.overall:.1%}"
        unit = (contrast.inside - contrast.overall) / contrast.score if contrast.score else 0.0
        # A mean of scaled features is zero but for rounding.
        means = (0.0 if abs(mean) < TINY * unit else mean for mean in (contrast.inside, contrast.overall))
        return contrast.name, *(f"{mean:.4g}" for mean in means), f"{contrast.score:+.2f}"

    def outstanding(self, contrasts: Sequence[Contrast]) -> str:
        """The first features in a few words."""
        first = contrasts[:OUTSTANDING]
        if self.kind == WORDS:
            return ", ".join(contrast.name for contrast in first if contrast.score > 0)
        return "; ".join(f"{'high' if one.score > 0 else 'low'} {one.name}" for one in first if one.score)

    def row(self, rows: Any, place: int, contrasts: Sequence[Contrast]) -> str:
        """A row as text: an object itself, the heaviest words, or its values of the features that matter here."""
        if self.kind == OBJECTS:
            text = self.shown(rows[place]) if isinstance(rows, list) else ""
            return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        if sparse.issparse(rows):
            row = rows[[place]].tocoo()
            heaviest = np.argsort(-np.abs(row.data), kind="stable")[:FEATURES]
            return ", ".join(self.names[j] for j in row.coords[1][heaviest])
        known = {name: j for j, name in enumerate(self.names)}
        shown = [contrast.name for contrast in contrasts[:FEATURES]]
        return "; ".join(f"{name} = {rows[place, known[name]]:.4g}" for name in shown)


def card(found: ClusterDescription, outliers: Examples, color: str, largest: float, wording: Wording) -> Card:
    """All that the page says about one cluster."""

    def shown(examples: Examples) -> list[tuple[str, str]]:
        texts = [wording.row(examples.rows, place, found.contrasts) for place in range(len(examples))]
        return list(zip(example_names(examples), texts, strict=True))

    examples = (
        ("Prototypes: nearest to the centroid", found.prototypes),
        ("Outliers: farthest from it", outliers),
    )
    return Card(
        found.number,
        color,
        number(found.size),
        f"{found.share:.1%}",
        round(100 * found.share / max(largest, 1e-300), 1),
        f"{found.relative_cohesion:.2f}" if found.size else "",
        "" if found.nearest is None else str(found.nearest),
        wording.outstanding(found.contrasts),
        [wording.line(contrast) for contrast in found.contrasts],
        [(title, shown(some)) for title, some in examples if len(some)],
    )


def cards(
    description: Description, outliers: Sequence[Examples], palette: Sequence[str], names: Sequence[str]
) -> list[Card]:
    """One for each cluster."""
    wording = Wording(description.kind, names, description.shown)
    largest = max(one.share for one in description.clusters)
    return [
        card(one, far, color, largest, wording)
        for one, far, color in zip(description.clusters, outliers, palette, strict=True)
    ]
