"""The pages of the paper's results: numbers against numpy and scipy, and no difference from the committed rows."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from benchmarks.paper import published
from benchmarks.paper.__main__ import RESULTS
from benchmarks.paper.pages.ablation import counted, starts, verdicts
from benchmarks.paper.pages.ahead import ahead
from benchmarks.paper.pages.blocks import Figure, Grid, Heading, Text, markdown
from benchmarks.paper.pages.charts import Point, line_chart, stacked_bars, ticks
from benchmarks.paper.pages.claims import verdict_of
from benchmarks.paper.pages.html import html
from benchmarks.paper.pages.numbers import Rows, leaders, mean_and_spread, seconds
from benchmarks.paper.render import TITLE, pages, render, results
from tests.paper.rows import made_up_rows, scored

ROOT = Path(__file__).parents[2]
PAPER = ROOT.parent / "shared" / "paper" / "embed-and-conquer.tex"


@pytest.fixture(scope="module")
def full():
    return Rows(list(made_up_rows()))


def test_the_committed_pages_are_made_of_the_committed_rows():
    for name, text in pages(RESULTS).items():
        assert (ROOT / "docs" / "results" / name).read_text() == text, (
            f"run python -m benchmarks.paper render for {name}"
        )


def test_rendering_writes_all_pages(tmp_path):
    render(RESULTS, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "paper-results.md",
        "paper-results.html",
        "ablation.md",
    }


def test_mean_and_standard_deviation():
    values = [1.0, 2.0, 4.5]
    assert mean_and_spread(values) == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    assert (mean_and_spread([3.0]), mean_and_spread([])) == ("3.0", "-")
    assert (seconds([1.234]), seconds([61.4]), seconds([])) == ("1.23", "61", "-")


def test_first_places_are_shared_by_a_t_test():
    rng = np.random.default_rng(1)
    groups = {name: rng.normal(mean, 1, 20).tolist() for name, mean in {"a": 50, "b": 49.8, "c": 48}.items()}
    first = max(groups, key=lambda name: np.mean(groups[name]))
    expected = {
        name
        for name in groups
        if name == first or stats.ttest_ind(groups[first], groups[name], equal_var=False).pvalue >= 0.05
    }
    assert leaders(groups) == expected == {"a", "b"}
    assert leaders({"a": [2.0], "b": [1.0], "c": []}) == {"a"}
    assert leaders({"a": [2.0, 2.0], "b": [2.0, 2.0], "c": [1.0, 1.0]}) == {"a", "b"}
    assert leaders({}) == set()


def test_verdicts():
    assert verdict_of([50.0], 49.0, 1.0) == "yes"
    assert verdict_of([48.5], 49.0, 1.0) == "within 1 SD"
    assert verdict_of([47.5], 49.0, 1.0) == "**no**"
    assert verdict_of([], 49.0, 1.0) == ""


def test_numbers_of_the_page_are_those_of_the_rows(full):
    page = markdown(results(full))
    values = full.values(("table1", "usps", "neural", "APNC-SD", 100), "nmi")
    assert len(values) == 20
    line = re.search(r"### USPS, neural.*?\n\| APNC-SD \|(.*?)\n", page, flags=re.DOTALL).group(1)
    cell = line.split("|")[1].replace("**", "").strip()
    assert cell == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f} (55.34 ± 4.15)"
    assert "| APNC-Nys | 2.00 (3.7 min) | 2.00 (7.4 min) | 2.00 (11.3 min) | 1.00 (16.4 min) |" in page
    assert "| HDBSCAN |" in page
    assert "500 MB" in page


def test_generated_data_is_labelled_and_has_no_score():
    rows = [row | {"generated": row["dataset"] == "pie"} for row in made_up_rows()]
    rows = [{k: v for k, v in row.items() if k != "nmi"} if row["generated"] else row for row in rows]
    page = markdown(results(Rows(rows)))
    section = re.search(r"### PIE.*?(?=###)", page, flags=re.DOTALL).group()
    assert "(generated, for speed only)" in section
    assert "NMI" not in section
    assert "3.00" in section


def test_failures_are_shown():
    rows = [dict(row) for row in made_up_rows() if row["table"] == "today"]
    lost = [row for row in rows if (row["method"], row["dataset"]) == ("HDBSCAN", "mnist")]
    for row in lost:
        for name in ("nmi", "ari", "seconds", "embed_seconds", "cluster_seconds", "peak_bytes"):
            del row[name]
        row["failed"] = "did not finish in 300 s"
    page = markdown(results(Rows(rows)))
    assert "| HDBSCAN | did not finish in 300 s |" in page
    assert "| today | mnist, rbf | HDBSCAN |  | did not finish in 300 s |" in page
    assert "Not measured yet." in page


def test_the_page_says_so_when_there_are_no_rows(tmp_path):
    assert "There are no rows yet." in pages(tmp_path)["paper-results.md"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.12, 0.31, [0.15, 0.2, 0.25, 0.3]), (47, 61, [50, 55, 60]), (3, 3, [3])],
)
def test_ticks_are_round_numbers_within(low, high, expected):
    np.testing.assert_allclose(ticks(low, high), expected)


def shapes(figure, kind):
    svg = re.match(r"<svg.*?</svg>", figure, flags=re.DOTALL).group()
    return [element for element in ElementTree.fromstring(svg).iter() if element.tag == kind]


def test_points_of_a_chart_are_where_their_numbers_are():
    series = {"one": [Point(50, 10.0, 1.0), Point(100, 20.0)], "two & more": [Point(50, 15.0)]}
    figure = line_chart("NMI", "l", "NMI", series)
    low, high = (float(mark.get("cy")) for mark in shapes(figure, "circle"))
    (square,) = shapes(figure, "rect")
    middle = float(square.get("y")) + 3
    assert low > middle > high
    assert low - middle == pytest.approx(middle - high, abs=0.3)
    assert len(shapes(figure, "path")) == 1
    assert "two &amp; more" in figure


def test_numbers_of_many_sizes_are_drawn_by_their_logarithms():
    figure = line_chart("s", "l", "s", {"one": [Point(1, 0.1, 5.0), Point(2, 1.0), Point(3, 10.0)]})
    low, middle, high = (float(mark.get("cy")) for mark in shapes(figure, "circle"))
    assert low - middle == pytest.approx(middle - high, abs=0.3)
    assert {"0.1", "0.3", "1", "3", "10"} <= {text.text for text in shapes(figure, "text")}


def test_parts_of_a_bar_add_up():
    figure = stacked_bars("time", "s", ("embedding", "clustering"), {"a": [3.0, 1.0], "b": [2.0, 0.0]})
    widths = [float(bar.get("width")) for bar in shapes(figure, "rect")]
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.01)
    assert widths[0] == pytest.approx(1.5 * widths[2], rel=0.01)


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order, and collects addresses outside of the page."""

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)
        self.outside += [value for name, value in attrs if name in ("src", "href") and "//" in (value or "")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_html_page_is_whole_and_needs_nothing_else(full):
    page = Balanced()
    page.feed(html(TITLE, results(full)))
    assert page.open == []
    assert page.outside == []


def test_blocks_become_markup():
    blocks = [Heading(2, "A & b"), Text("see [x](y.md), `c`"), Grid(("", "n"), (("a", "**1**"),))]
    blocks.append(Figure("<svg></svg>", "what"))
    page = html("t", blocks)
    assert "<h2>A &amp; b</h2>" in page
    assert '<a href="y.md">x</a>, <code>c</code>' in page
    assert "<strong>1</strong>" in page
    assert "<figcaption>what</figcaption>" in page
    assert "| a | **1** |" in markdown(blocks)
    assert "svg" not in markdown(blocks)


def test_published_numbers_are_those_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper's source is not beside the checkout")
    text = re.sub(r"\\textbf|\\mathbf|\\small|[${}\s]", "", PAPER.read_text())
    text = re.sub(r"\\textpm|\\pm", "+-", text)
    known = {(float(a), round(float(b), 2)) for a, b in re.findall(r"([\d.]+)\+-([\d.]+)", text)}
    known |= {(round(a, 2), b) for a, b in known}
    for table in (published.TABLE1, published.TABLE2):
        for key, by_size in table.items():
            for number in by_size.values():
                assert number in known, (key, number)


def test_who_is_ahead_is_said():
    ours = scored("APNC-Nys", [50.0, 51.0, 52.0]) + scored("APNC-SD", [40.0, 41.0, 42.0])
    close = scored("2-Stage", [50.5, 51.5, 52.5])
    better = scored("k-means", [58.0, 59.0, 60.0], size=None)
    exact = scored("Exact KKM", [60.0, 60.5], "table1", "usps", "neural", None)
    below = scored("APNC-Nys", [50.0, 51.0], "table1", "usps", "neural", 50)
    _, _, grid = ahead(Rows(ours + close + better + exact + below))
    best = ("APNC-Nys", "51.0 ± 1.0")
    assert grid.rows == (
        ("Table 2, RCV1, rbf", "k-means", "59.0 ± 1.0", *best, "yes"),
        ("Table 2, RCV1, rbf", "2-Stage", "51.5 ± 1.0", *best, "no"),
    )
    _, _, said = ahead(Rows(ours + scored("2-Stage", [50.0])))
    assert said == Text("Nowhere.")


def test_variants_are_compared_with_what_they_change():
    plain, other = [57.0, 58.0, 59.0], [50.0, 51.0, 52.0]
    rows = Rows(
        [
            row
            for size in (50, 300)
            for method, values in {
                "Nystroem": plain,
                "stable": other,
                "stable, printed root": other,
                "leverage landmarks": [v + 7 * (size == 50) for v in plain],
                "k-means++ landmarks": other,
            }.items()
            for row in scored(method, values, "ablation", "usps", "neural", size)
        ]
    )
    found = counted(rows)
    assert found["leverage landmarks"] == {1: 1, -1: 0, 0: 1}
    assert found["k-means++ landmarks"] == {1: 0, -1: 2, 0: 0}
    assert found["stable, printed root"] == {1: 0, -1: 0, 0: 2}
    assert "apnc offers none" not in verdicts(found)[0].text
    none = {name: count | {1: 0, 0: 1} for name, count in found.items()}
    assert "apnc offers none" in verdicts(none)[0].text


def test_no_two_of_many_series_look_alike():
    figure = line_chart("NMI", "l", "NMI", {str(number): [Point(50, number)] for number in range(16)})
    marks = [mark for kind in ("circle", "rect", "polygon") for mark in shapes(figure, kind)]
    looks = {(mark.tag, mark.get("class"), mark.get("points")) for mark in marks}
    assert len(looks) == 16


def test_lost_clusters_are_counted():
    runs = scored("APNC-Nys, random rows", [50.0, 51.0, 52.0], "starts", "usps", "neural", 300)
    rows = [
        row | {"k": 10, "n": 100, "filled": filled} for row, filled in zip(runs, (10, 9, 10), strict=True)
    ]
    assert "1 of 3 runs lost a cluster." in markdown(starts(Rows(rows)))
