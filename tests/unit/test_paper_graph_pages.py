"""The pages of the tables on neighbour graphs, from made-up rows."""

import re

import numpy as np
import pytest

from benchmarks.paper.pages.ahead import ahead
from benchmarks.paper.pages.blocks import markdown
from benchmarks.paper.pages.graphs import against_evoc, growth, scale, shapes, taken
from benchmarks.paper.pages.numbers import Rows
from benchmarks.paper.render import results
from tests.paper.rows import CONTEXT, made_up_rows, scored


@pytest.fixture(scope="module")
def full():
    return Rows(list(made_up_rows()))


def section_of(page, heading):
    return re.search(rf"^#+ {re.escape(heading)}.*?(?=^#|\Z)", page, flags=re.DOTALL | re.MULTILINE).group()


def test_neighbour_graphs_are_on_the_page(full):
    page = markdown(results(full))
    assert "## Spectral clustering of neighbour graphs" in page
    values = full.values(("spectral", "usps", "rbf", "LSC-K", None), "nmi")
    part = page[page.index("## Spectral clustering of neighbour graphs") :]
    line = re.search(r"### USPS, 1,000 rows, k = 7\n.*?\n\| LSC-K \|(.*?)\n", part, flags=re.DOTALL).group(1)
    assert [cell.strip().replace("**", "") for cell in line.split("|")][:3] == [
        f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}",
        "40.0 ± 0.0",
        "60.0 ± 0.0",
    ]
    drawn = section_of(page, "Shapes in the plane")
    assert drawn.count("| half-moons, noise 0.1, 5 thousand rows |") == 2
    assert "10 million rows" in section_of(page, "Millions of rows")
    assert "95.9 in 10.5 s" in section_of(page, "Millions of rows")


def test_without_rows_graphs_are_not_measured_yet():
    rows = Rows([row for row in made_up_rows() if row["table"] == "today"])
    part = markdown(results(rows))
    part = part[part.index("## Spectral clustering of neighbour graphs") :]
    assert part.count("Not measured yet.") == 7
    assert "EVoC on MNIST are not measured yet" in part


def test_labels_of_the_other_half_are_never_bold_and_noise_is_a_share():
    rows = scored("apnc spectral, predict the other half", [99.0] * 3, "spectral", "usps", size=None)
    rows += scored("LSC-K", [80.0] * 3, "spectral", "usps", size=None)
    noisy = scored("EVoC", [70.0] * 3, "spectral", "usps", size=None)
    rows += [row | {"noise": 0.25} for row in noisy]
    page = markdown(results(Rows([row | CONTEXT for row in rows])))
    assert "| apnc spectral, predict the other half | 99.0 ± 0.0 |" in page
    assert "| LSC-K | **80.0 ± 0.0** |" in page
    assert "| EVoC | 70.0 ± 0.0 | - | - | 75% |" in page


def test_seconds_are_set_against_evoc():
    ours = scored("apnc spectral", [74.0, 75.0], "spectral", "mnist", size=None)
    theirs = [row | {"seconds": 4.0} for row in scored("EVoC", [60.0], "spectral", "mnist", size=None)]
    said = against_evoc(Rows(ours + theirs))
    assert "takes 1.00 s (NMI 74.5 ± 0.7) and EVoC 4.00 s (NMI 60.0)" in said
    assert "apnc is 4.0 times as fast as EVoC" in said
    slow = [row | {"seconds": 8.0} for row in ours]
    assert "apnc is 2.0 times as slow as EVoC" in against_evoc(Rows(slow + theirs))
    assert "not measured yet" in against_evoc(Rows(ours))


def test_failures_on_shapes_are_short():
    rows = scored("apnc spectral", [100.0], "spectral", "moons-10-5k", size=None)
    for method, why in (
        ("PSC", "did not finish in 300 s"),
        ("HDBSCAN", "MemoryError: much"),
        ("KMeans", "x"),
    ):
        base = {"table": "spectral", "dataset": "moons-10-5k", "kernel": "rbf", "method": method, "l": None}
        rows.append(base | {"seed": 0, "failed": why})
    line = next(line for line in shapes(Rows(rows))[0].rows if line[1].startswith("**"))
    assert line[1] == "**100.0**"
    assert line[-3:] == ("> 300 s", "failed", "memory")


def test_millions_of_rows():
    def taking(dataset, method, seconds, n):
        rows = scored(method, [90.0], "scale", dataset, size=None)
        return [
            row | {"seconds": seconds, "n": n, "k": 3, "nmi_max": 89.0, "peak_bytes": 1e9} for row in rows
        ]

    rows = taking("circles-1250k", "apnc spectral", 2.0, 1_250_000)
    rows += taking("circles-5m", "apnc spectral", 9.0, 5_000_000)
    rows += taking("circles-5m", "U-SPEC", 60.0, 5_000_000)
    grid = scale(Rows(rows))[0]
    line = next(line for line in grid.rows if line[0].endswith(" 5 M rows") and "circles" in line[0])
    assert line[1:] == ("3", "89.0", "9.00", "1.80", "1,000 MB", "89.0", "60", "99.9 in 47 s")
    assert list(growth(Rows(rows))) == [
        "On concentric circles, four times as many rows take 4.5 times as long."
    ]


def test_who_is_ahead_on_graphs_is_said():
    rows = scored("apnc spectral", [80.0, 80.5, 81.0], "spectral", "usps", size=None)
    rows += scored("apnc spectral, predict the other half", [90.0, 91.0], "spectral", "usps", size=None)
    rows += scored("LSC-K", [85.0, 85.5, 86.0], "spectral", "usps", size=None)
    rows += scored("U-SPEC", [100.0], "scale", "face-2m", size=None)
    rows += scored("apnc spectral", [99.0], "scale", "face-2m", size=None)
    _, _, grid = ahead(Rows(rows))
    where = "Millions of rows, smiling face, noise 0.02, 2 M rows, rbf"
    assert grid.rows == (
        ("Neighbour graphs, USPS, rbf", "LSC-K", "85.5 ± 0.5", "apnc spectral", "80.5 ± 0.5", "yes"),
        (where, "U-SPEC", "100.0", "apnc spectral", "99.0", "yes"),
    )


def test_seconds_beside_other_work_are_marked():
    rows = [row | {"busy": True} for row in scored("KMeans", [60.0], "spectral", "mnist", size=None)]
    assert taken(Rows(rows), ("spectral", "mnist", "rbf", "KMeans", None)) == "~1.00"
    assert (
        taken(Rows([row | {"busy": False} for row in rows]), ("spectral", "mnist", "rbf", "KMeans", None))
        == "1.00"
    )
