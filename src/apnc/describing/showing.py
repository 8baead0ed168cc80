"""Descriptions as text, HTML, JSON values and columns."""

from html import escape
from typing import TYPE_CHECKING, Any

from apnc.wording import printable

if TYPE_CHECKING:
    from apnc.describing.contrasts import Contrast
    from apnc.describing.description import ClusterDescription, Description
    from apnc.describing.examples import Examples

#: Characters of an object that are shown.
LONGEST = 60
HEADER = ("cluster", "size", "share", "cohesion", "nearest", "sets it apart", "prototypes")


def text(description: "Description") -> str:
    """A few lines for each cluster."""
    found = [f"{len(description)} clusters, weight {number(description.weight)}"]
    for cluster in description.clusters:
        size, share, cohesion, nearest, contrasts, prototypes = cells(description, cluster)
        found.append(f"\ncluster {cluster.number}: {size} ({share}), cohesion {cohesion}, nearest {nearest}")
        found += [f"  {line}" for line in contrasts] + [f"  {line}" for line in prototypes]
    return printable("\n".join(found))


def html(description: "Description") -> str:
    """A table with one row for each cluster; all text is escaped."""
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    body = []
    for cluster in description.clusters:
        plain_cells = [[part] if isinstance(part, str) else part for part in cells(description, cluster)]
        shown = ("<br>".join(escape(printable(line)) for line in lines) for lines in plain_cells)
        body.append(f"<tr><th>{cluster.number}</th>{''.join(f'<td>{cell}</td>' for cell in shown)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def cells(description: "Description", cluster: "ClusterDescription") -> tuple[Any, ...]:
    """Size, share, cohesion and nearest cluster as text, contrasts and prototypes as lines."""
    nearest = "none" if cluster.nearest is None else f"cluster {cluster.nearest}"
    cohesion = (
        f"{cluster.cohesion:.3g} ({cluster.relative_cohesion:.2g} of the mean)" if cluster.size else "none"
    )
    return (
        number(cluster.size),
        f"{100 * cluster.share:.1f} %",
        cohesion,
        nearest,
        [contrast_line(contrast, description.kind) for contrast in cluster.contrasts],
        example_lines(cluster.prototypes, description),
    )


def contrast_line(contrast: "Contrast", kind: str) -> str:
    """A feature, its values in the cluster and overall, and how much they differ."""
    if kind == "words":
        return f"{contrast.name}: in {100 * contrast.inside:.3g} % of its rows, {100 * contrast.overall:.3g} % overall"
    by = f"{contrast.score:+.2f} standard deviations"
    return f"{contrast.name}: mean {contrast.inside:.4g}, overall {contrast.overall:.4g} ({by})"


def example_lines(examples: "Examples", description: "Description") -> list[str]:
    """One line for each object; vectors by number or id on one line."""
    names = example_names(examples)
    if description.kind == "objects" and isinstance(examples.rows, list):
        shown = (shortened(description.shown(item)) for item in examples.rows)
        return [f"{name}: {item}" if name else item for name, item in zip(names, shown, strict=True)]
    return ["prototypes: " + ", ".join(names)] if any(names) else []


def example_names(examples: "Examples") -> list[str]:
    """Ids of the rows, else their numbers, else nothing."""
    return row_names(examples.numbers, examples.ids, len(examples))


def row_names(numbers: Any, ids: dict[str, list[Any]] | None, size: int) -> list[str]:
    """What identifies rows: their ids, else their numbers, else nothing."""
    if ids:
        return [" ".join(map(str, values)) for values in zip(*ids.values(), strict=True)]
    return [""] * size if numbers is None else [f"row {number}" for number in numbers.tolist()]


def shortened(item: str) -> str:
    """The beginning of a long text."""
    return item if len(item) <= LONGEST else item[: LONGEST - 3] + "..."


def number(value: float) -> str:
    """A weight as text."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.6g}"


def plain(description: "Description") -> dict[str, Any]:
    """JSON values."""
    return {
        "weight": description.weight,
        "kind": description.kind,
        "clusters": [plain_cluster(cluster, description.kind) for cluster in description.clusters],
    }


def plain_cluster(cluster: "ClusterDescription", kind: str) -> dict[str, Any]:
    """JSON values of a cluster."""
    examples = cluster.prototypes
    found: dict[str, Any] = {"distances": examples.distances.tolist()}
    if examples.numbers is not None:
        found["rows"] = examples.numbers.tolist()
    if examples.ids is not None:
        found["ids"] = {name: [as_json(value) for value in values] for name, values in examples.ids.items()}
    if kind == "objects" and isinstance(examples.rows, list):
        found["objects"] = examples.rows
    return {
        **{
            name: getattr(cluster, name)
            for name in ("number", "size", "share", "cohesion", "relative_cohesion")
        },
        "nearest": cluster.nearest,
        "nearest_distance": cluster.nearest_distance,
        "contrasts": [dict(vars(contrast)) for contrast in cluster.contrasts],
        "prototypes": found,
    }


def as_json(value: Any) -> Any:
    """An id as a JSON value: dates and the like as text."""
    return value if isinstance(value, str | int | float | None) else str(value)


def columns(description: "Description") -> dict[str, list[Any]]:
    """Columns of a table with one row for each cluster."""
    simple = ("number", "size", "share", "cohesion", "relative_cohesion", "nearest", "nearest_distance")
    found = {name: [getattr(cluster, name) for cluster in description.clusters] for name in simple}
    found["contrasts"] = [
        [contrast.name for contrast in cluster.contrasts] for cluster in description.clusters
    ]
    found["prototypes"] = [example_names(cluster.prototypes) for cluster in description.clusters]
    return {"cluster" if name == "number" else name: values for name, values in found.items()}
