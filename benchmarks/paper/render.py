"""Render paper-results.md, ablation.md and paper-results.html of docs/results from the rows alone."""

from pathlib import Path

from benchmarks.paper import published
from benchmarks.paper.pages.ablation import ablation, starts
from benchmarks.paper.pages.ahead import ahead
from benchmarks.paper.pages.blocks import Block, Heading, Text, markdown
from benchmarks.paper.pages.claims import claims
from benchmarks.paper.pages.defaults import defaults
from benchmarks.paper.pages.graphs import graphs, scale, shapes
from benchmarks.paper.pages.html import html
from benchmarks.paper.pages.nmi import section
from benchmarks.paper.pages.numbers import Rows
from benchmarks.paper.pages.today import failures, today
from benchmarks.paper.tables import COVTYPE_RUNS

TITLE = "The paper's evaluation, reproduced"
TABLE1 = (
    "The paper's Table 1: NMI in percent, mean and standard deviation over all runs, with the paper's numbers in "
    "brackets. Bold: the best approximation for each l, and all that a t-test (95 %) cannot distinguish from it. "
    "m = 1000, t = 0.4 l, at most 100 iterations, starting from k random rows. USPS is in [-1, 1], MNIST in [0, 1]. "
    "Where data is not available, generated rows of the same size take its place, for timing only."
)
TABLE1B = (
    "Random Fourier features need a shift-invariant kernel, so they have no cell on the paper's digits. Here all "
    "methods share the self-tuned rbf kernel. RFF and SV-RFF use 500 frequencies, PSC 100 neighbours; methods without "
    "landmarks repeat their number for each l."
)
TABLE2 = (
    "The paper's Table 2: m = 500, 20 iterations, self-tuned rbf kernel (and cosine for documents). The paper's times "
    "are minutes on 20 machines, ours seconds on one machine. Our RCV1 subset differs from the paper's and has other "
    "classes, so do not compare its NMI with the paper's. PSC took "
    f"{published.PSC_MINUTES:g} minutes on the paper's RCV1, on 20 machines, compared with 25 to 29 for APNC. "
    "Methods with 10 starts try ten sets of random rows on a sample and continue from the best, as "
    "`KernelKMeans` does by default; all others have one start. Three runs each, as in the paper; "
    f"{COVTYPE_RUNS} on CovType, where the start decides between two solutions with very different NMI. "
    "Unit rows are embeddings scaled to norm 1, `normalize_kernel=True` "
    "([decision 16](../decisions/16-unit-rows.md))."
)
TODAY = (
    "Not in the paper: what people use today, on the same data. `apnc` and `apnc, stable` are `KernelKMeans` with all "
    "defaults; the lines before them follow the advice in [choosing](../how-to/choosing.md) for images and documents. "
    "scikit-learn's `Nystroem` + `KMeans` runs with its defaults, and with the landmarks and gamma that apnc chooses; "
    "`SpectralClustering` on a graph of 10 neighbours; HDBSCAN with clusters of at least a twentieth of the mean "
    "class, counting its noise as one cluster. Bold as in Table 1."
)
GRAPHS = (
    "Not in the paper: `apnc spectral` is `SpectralClustering` with all defaults, or as its line says; documents are "
    'compared by their angle (`kernel="cosine"`). The line about the other half fits a random half of the rows and '
    "scores the predicted labels of the others, so it is never bold. `apnc` is `KernelKMeans` with all defaults. LSC-K "
    "and U-SPEC are in `apnc.baselines` and have 1,000 landmarks and 5 nearest of them, PSC 100 neighbours, and "
    "scikit-learn's `SpectralClustering` a graph of 10. HDBSCAN has clusters of at least a twentieth of the mean "
    "class and `min_samples=10`. EVoC does not need k: it runs with its defaults, and with `approx_n_clusters=k`. It "
    "takes no sparse rows, so documents are reduced to 100 components first, which counts in its seconds. Rows that "
    "HDBSCAN and EVoC leave out are one cluster; the column says how many they label. Five runs of apnc, three of "
    "others, one of graphs of all rows. Seconds that begin with a tilde were measured beside other work. Accuracy is "
    "that of the best matching of clusters with classes. Bold as in Table 1."
)
SHAPES = (
    "Generated: half-moons of radius 1, rings of radius 1 and 0.5, and two spirals of one and a half turns and radius "
    "1, with normal noise of the standard deviation that the line names. EVoC takes no rows with two features; "
    "scikit-learn's `SpectralClustering`, PSC and HDBSCAN, which compare all rows, run on the small set only."
)
SCALE = (
    "Generated shapes whose clusters have a gap between them: two bananas, a face (outline, eyes, mouth), three "
    "circles, three circles with two Gaussians in each and two outside, and a flower of twelve petals and a center. "
    '10 million rows and more, and the flower of any size, are fitted from a `.npy` file with `memory_limit="4GB"`. '
    "NMI uses the larger entropy, as U-SPEC's publication does. Its figures (last column) are context only: they are "
    "of other data of the same kind, which may be harder, on a processor with four cores."
)
ABLATION = (
    "Each part of the method compared with alternatives: the root as printed in Algorithm 4 "
    "([decision 1](../decisions/01-symmetric-root.md)), no spectrum floor "
    "([decision 2](../decisions/02-spectrum-floor.md)), landmarks chosen by k-means++, ridge leverage scores or "
    "randomly pivoted Cholesky from 2,000 uniform rows, and an ensemble of blocks with the same total number of "
    "landmarks. m = 500. Bold: the best for each l, and all that a t-test (95 %) cannot distinguish from it."
)
STARTS = (
    "How k-means starts, and how empty clusters are handled "
    "([decision 12](../decisions/12-empty-clusters.md)). The paper does not say how its methods start. A "
    "random partition has k nearly equal means, so some clusters may lose all rows at once; unless they are "
    "re-seeded, fewer than k clusters remain."
)
DEFAULTS = (
    "`KernelKMeans` with all defaults except as named: as many components as hold 95, 99 (auto) or 99.9 % of the "
    "variance of a sample ([decision 19](../decisions/19-components.md)), the number of random sums in the stable "
    "embedding, and the number of starts on the sample (10 by default). Ten seeds; differences from m = 500 are paired "
    'by seed and given with their standard error. "Worse" means lower by more than half a point and by more than two '
    "standard errors."
)


def introduction(rows: Rows) -> str:
    made = (
        "Rendered from `benchmarks/results/paper-*.jsonl` by `python -m benchmarks.paper render`; "
        "`make paper` measures what is missing. "
    )
    if not rows.all:
        return made + "There are no rows yet."
    last = max(rows.all, key=lambda row: row["when"])
    versions = ", ".join(f"{name} {version}" for name, version in last["versions"].items() if version)
    return (
        f"{made}{last['cores']} cores ({last['machine']}), Python {last['python']}, {versions}. "
        "NMI uses the geometric mean of the entropies ([decision 7](../decisions/07-geometric-nmi.md)). "
        "For the same seed, all methods in apnc start from the same rows and re-seed empty clusters in the same way."
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
        Heading(2, "Spectral clustering of neighbour graphs"),
        Text(GRAPHS),
        *graphs(rows),
        Heading(3, "Shapes in the plane"),
        Text(SHAPES),
        *shapes(rows),
        Heading(3, "Millions of rows"),
        Text(SCALE),
        *scale(rows),
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
