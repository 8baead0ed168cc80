"""Renders docs/paper-results.md, docs/ablation.md and docs/paper-results.html from the rows alone."""

from pathlib import Path

from benchmarks.paper import published
from benchmarks.paper.pages.ablation import ablation, starts
from benchmarks.paper.pages.ahead import ahead
from benchmarks.paper.pages.blocks import Block, Heading, Text, markdown
from benchmarks.paper.pages.claims import claims
from benchmarks.paper.pages.defaults import defaults
from benchmarks.paper.pages.html import html
from benchmarks.paper.pages.nmi import section
from benchmarks.paper.pages.numbers import Rows
from benchmarks.paper.pages.today import failures, today
from benchmarks.paper.tables import COVTYPE_RUNS

TITLE = "The paper's evaluation, measured again"
TABLE1 = (
    "The paper's Table 1: NMI in percent, mean and standard deviation of all runs, the paper's in "
    "brackets. Bold: the best approximation for each l, and those that a t-test (95 %) does not tell from"
    " it. m = 1000, t = 0.4 l, at most 100 iterations, from k random rows. USPS is in [-1, 1], MNIST in "
    "[0, 1]. Data that is not to be had is replaced by generated rows of the same size, for speed only."
)
TABLE1B = (
    "Random Fourier features need a kernel of differences, so the paper's digits give them no cell. Here "
    "all methods share the self-tuned rbf kernel. RFF and SV-RFF have 500 frequencies, PSC 100 "
    "neighbours; methods without landmarks repeat their number for each l."
)
TABLE2 = (
    "The paper's Table 2: m = 500, 20 iterations, self-tuned rbf kernel (and cosine for documents). The "
    "paper's times are minutes on 20 machines, ours seconds on one machine. The RCV1 subset is another "
    "one than the paper's, with other classes: its NMI must not be compared with the paper's. PSC took "
    f"{published.PSC_MINUTES:g} minutes on the paper's RCV1, on 20 machines, against its 25 to 29. "
    "Methods with 10 starts look at ten sets of random rows on a sample and go on from the best, as "
    "`KernelKMeans` does by default; all others have one. Three runs each, as in the paper; "
    f"{COVTYPE_RUNS} on CovType, where the start decides between two solutions of very different NMI. "
    "Unit rows are embeddings scaled to norm 1, `normalize_kernel=True` "
    "([decision 16](decisions/16-unit-rows.md))."
)
TODAY = (
    "What the paper lacks: what people use today, on the same data. `apnc` and `apnc, stable` are "
    "`KernelKMeans` with all defaults, the lines before them with what [choosing](choosing.md) says of images and "
    "documents; scikit-learn's `Nystroem` + `KMeans` with its defaults, and with "
    "the landmarks and gamma that apnc chooses; `SpectralClustering` on a graph of 10 neighbours; HDBSCAN"
    " with clusters of at least a twentieth of the mean class, its noise counted as one cluster. Bold as "
    "in Table 1."
)
ABLATION = (
    "Each part of the method against what it could be instead: the printed root of Algorithm 4 "
    "([decision 1](decisions/01-symmetric-root.md)), no spectrum floor "
    "([decision 2](decisions/02-spectrum-floor.md)), landmarks by k-means++, by ridge leverage scores or by "
    "randomly pivoted Cholesky among 2,000 uniform rows, and an ensemble of blocks with as many landmarks "
    "in all. m = 500. Bold: the best for each l and those "
    "that a t-test (95 %) does not tell from it."
)
STARTS = (
    "How k-means starts, and what becomes of empty clusters "
    "([decision 12](decisions/12-empty-clusters.md)). The paper does not say how its methods start. A "
    "random partition has k nearly equal means, so some may lose all rows at once; unless they are seeded "
    "again, fewer than k clusters remain."
)
DEFAULTS = (
    "`KernelKMeans` with all defaults but what is named: as many components as hold 95, 99 (auto) or 99.9 % of the "
    "variance of a sample ([decision 19](decisions/19-components.md)), the random sums of the stable embedding, and "
    "starts on the sample (10 by default). Ten seeds; differences are paired by seed, to m = 500, with their standard "
    "error, and worse where they are below both half a point and two standard errors."
)


def introduction(rows: Rows) -> str:
    made = (
        "Rendered from `benchmarks/results/paper-*.jsonl` by `python -m benchmarks.paper render`; "
        "`make paper` measures what is missing there. "
    )
    if not rows.all:
        return made + "There are no rows yet."
    last = max(rows.all, key=lambda row: row["when"])
    versions = ", ".join(f"{name} {version}" for name, version in last["versions"].items() if version)
    return (
        f"{made}{last['cores']} cores ({last['machine']}), Python {last['python']}, {versions}. "
        "NMI is divided by the geometric mean of the entropies ([decision 7](decisions/07-geometric-nmi.md)). "
        "All methods of apnc start from the same rows for the same seed and seed empty clusters again in the "
        "same way."
    )


def results(rows: Rows) -> list[Block]:
    return [
        Heading(1, TITLE),
        Text(introduction(rows)),
        *claims(rows),
        *ahead(rows),
        *section("table1", rows, "Table 1", TABLE1, published.TABLE1),
        *section("table1b", rows, "Table 1b: one kernel for all", TABLE1B, {}),
        *section("table2", rows, "Table 2", TABLE2, published.TABLE2),
        Heading(2, "Table 3: what people use today"),
        Text(TODAY),
        *today(rows),
        *failures(rows),
    ]


def extras(rows: Rows) -> list[Block]:
    return [
        Heading(2, "Ablation"),
        Text(ABLATION),
        *ablation(rows),
        Heading(2, "Starts"),
        Text(STARTS),
        *starts(rows),
        Heading(2, "Defaults"),
        Text(DEFAULTS),
        *defaults(rows),
    ]


def pages(folder: Path) -> dict[str, str]:
    """Names and texts of all pages."""
    rows = Rows.of(folder)
    main, more = results(rows), extras(rows)
    front = [Heading(1, "Ablation, starts and defaults"), Text(introduction(rows))]
    return {
        "paper-results.md": markdown(main),
        "ablation.md": markdown([*front, *more]),
        "paper-results.html": html(TITLE, [*main, *more]),
    }


def render(folder: Path, docs: Path) -> None:
    for name, text in pages(folder).items():
        (docs / name).write_text(text)
        print(docs / name)
