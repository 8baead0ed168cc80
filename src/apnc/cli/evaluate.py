"""``apnc evaluate``."""

import math

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import Declared, argument, takes
from apnc.cli.failures import say
from apnc.cli.printing import number, show_json, show_lines, show_table
from apnc.cli.reading import STANDARD_INPUT
from apnc.evaluation import Comparison, compare
from apnc.evaluation.label_files import ARRAYS

#: Maximum number of clusters and classes in the table shown.
MOST_CLUSTERS, MOST_CLASSES = 100, 20
TOO_MANY = "too many clusters and classes to match"
MEASURES = (
    *("nmi_geometric", "nmi_arithmetic", "nmi_max", "ari", "accuracy", "purity"),
    *("v_measure", "homogeneity", "completeness"),
)

COMPARED: Declared = {
    "labels": argument("LABELS", "Table of labels, as written by apnc fit and predict."),
    "truth": argument(
        "TRUTH",
        "Table (Parquet, Arrow, CSV, TSV) of true classes, in the column label or else the last one; a .npy array, or "
        f"an .npz archive with one array or one called {', '.join(ARRAYS[:-1])} or {ARRAYS[-1]}.",
    ),
}


@takes(COMPARED, opt.ALWAYS)
def evaluate(context: typer.Context) -> None:
    """Compare LABELS with a TRUTH: mutual information, Rand index, accuracy, purity, and the table of counts.

    NMI is divided by the geometric mean, the arithmetic mean or the maximum of the entropies; accuracy is that of the
    best one-to-one matching of clusters with classes.

    Rows are matched by the columns that both files share besides the labels, or by order if there are none. Example:
    apnc evaluate labels.parquet classes.csv
    """
    labels, truth = context.params["labels"], context.params["truth"]
    if STANDARD_INPUT in (labels, truth):
        raise ValueError("apnc evaluate reads files, not standard input: name a file in place of -.")
    found = compare(labels, truth)
    if found.n_only_labels or found.n_only_truth:
        say(
            f"warning: {found.n_only_labels:,} rows of {labels} and {found.n_only_truth:,} of {truth} have no match "
            "in the other file; they are ignored."
        )
    if context.params["as_json"]:
        show_json(_result(found))
    else:
        _show(found)


def _result(found: Comparison) -> dict[str, object]:
    table = {"clusters": found.clusters, "classes": found.classes, "counts": found.table}
    return {
        "rows": found.n_rows,
        "matched_by": found.ids,
        "only_labels": found.n_only_labels,
        "only_truth": found.n_only_truth,
        "n_clusters": len(found.clusters),
        "n_classes": len(found.classes),
        **{name: getattr(found, name) for name in MEASURES},
        "contingency": table,
    }


def _show(found: Comparison) -> None:
    by = ", ".join(found.ids) or "the order of rows"
    lines = {
        "rows": f"{number(found.n_rows)}, matched by {by}",
        "clusters": f"{len(found.clusters):,}, in {len(found.classes):,} classes",
    }
    measured = {name.replace("_", " "): getattr(found, name) for name in MEASURES}
    lines |= {name: TOO_MANY if math.isnan(value) else f"{value:.4f}" for name, value in measured.items()}
    show_lines(lines)
    if len(found.clusters) > MOST_CLUSTERS or len(found.classes) > MOST_CLASSES:
        show_lines({"table": "too large to show; --json has it"})
        return
    rows = [[name, *map(number, counts)] for name, counts in zip(found.clusters, found.table, strict=True)]
    show_table(["cluster", *found.classes], rows)
