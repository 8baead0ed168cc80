"""The page of a report, from its material."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from apnc.describing import Description, Examples, Tree
from apnc.outputs.atomic import atomic, check_writable
from apnc.report.clusters import Wording, cards
from apnc.report.map import Points, colors, drawn
from apnc.report.sample import ROWS
from apnc.report.tree import LEAF, picture
from apnc.version import __version__

TEMPLATE = Path(__file__).with_name("template.html")


class Answer(NamedTuple):
    """A further section: its title, paragraphs, and the header and lines of a table."""

    title: str
    text: tuple[str, ...]
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Material:
    """What a report is made of.

    Attributes
    ----------
    title : of the page.
    description, outliers, tree : of the clusters; outliers are the farthest rows of each.
    points : the map.
    feature_names : of the rows.
    answers : further sections, such as a certificate.
    settings : how to fit the same model again.
    made : where the data came from.

    """

    title: str
    description: Description
    outliers: Sequence[Examples]
    tree: Tree
    points: Points
    feature_names: Sequence[str]
    answers: Sequence[Answer]
    settings: str
    made: str


def check_report(path: Any) -> Path:
    """The path of a page that can be written, before a long computation."""
    if not str(path).lower().endswith((".html", ".htm")):
        raise ValueError(f"{path}: a report is a page; name a file that ends in .html.")
    try:
        import bokeh  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'A report needs bokeh: pip install "apnc[report]".', name="bokeh"
        ) from error
    check_writable(path)
    return Path(path)


def write_report(path: Path, material: Material) -> Path:
    """Write the page; it appears complete or not at all."""
    text = page(material)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def page(material: Material) -> str:
    """The page as text. The template escapes everything but the plotting library and what it draws."""
    from jinja2 import Environment
    from markupsafe import Markup

    description, points = material.description, material.points
    palette, wording = colors(len(description)), Wording(description.kind, material.feature_names)
    library, place, script = (Markup(part) for part in drawn(points, palette))
    template = Environment(autoescape=True, trim_blocks=True).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    return template.render(
        title=material.title,
        summary=summary(description),
        version=__version__,
        clusters=cards(description, material.outliers, palette, material.feature_names),
        features_title=wording.title,
        features_header=wording.header,
        map_note=map_note(len(points.labels)),
        tree=picture(material.tree.linkage, palette),
        leaf_height=LEAF,
        answers=material.answers,
        settings=material.settings,
        made=material.made,
        plotting_script=library,
        map_place=place,
        map_script=script,
    )


def summary(description: Description) -> str:
    """The clusters in a sentence."""
    shares = sorted(one.share for one in description.clusters)
    n, k = description.weight, len(description)
    rows = f"{int(n):,} rows" if float(n).is_integer() else f"Rows of weight {n:,.6g}"
    if k == 1:
        return f"{rows} in one cluster."
    return f"{rows} in {k} clusters: the largest has {shares[-1]:.1%} of them, the smallest {shares[0]:.1%}."


def map_note(n: int) -> str:
    """What is on the map."""
    which = f"A sample of {n:,} distinct rows" if n == ROWS else f"All {n:,} distinct rows"
    return (
        f"{which}. Clusters are as far apart as the roots of the distances of their centroids allow in the plane; a "
        "row lies between the clusters that it is near to."
    )
