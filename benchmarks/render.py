"""Render docs/results/benchmarks.md and its plots from the rows alone.

python -m benchmarks.render [--rows FILE] [--page FILE]
"""

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apnc.run.budget import parse_bytes
from benchmarks.cases import CASES
from benchmarks.run import RESULTS, ROOT
from benchmarks.streaming import LIMIT

Row = dict[str, Any]
Table = dict[str, dict[str, list[Row]]]


@dataclass(frozen=True)
class Bar:
    """A target: a value computed from the rows, and the bound it must meet."""

    what: str
    value: Callable[[Table], float]
    bound: float
    at_least: bool

    def line(self, table: Table) -> str:
        try:
            found = self.value(table)
        except (KeyError, IndexError, ValueError, ZeroDivisionError, statistics.StatisticsError):
            return f"| {self.what} | {self.sign} {self.bound:g} | not measured | |"
        holds = found >= self.bound if self.at_least else found <= self.bound
        return f"| {self.what} | {self.sign} {self.bound:g} | {found:.2f} | {'yes' if holds else '**no**'} |"

    @property
    def sign(self) -> str:
        return ">=" if self.at_least else "<="


def median(table: Table, case: str, contestant: str, key: str = "seconds") -> float:
    return statistics.median(row[key] for row in table[case][contestant] if key in row)


def ratio(case: str, one: str, other: str, key: str = "seconds") -> Callable[[Table], float]:
    return lambda table: median(table, case, one, key) / median(table, case, other, key)


def difference(case: str, one: str, other: str, key: str) -> Callable[[Table], float]:
    return lambda table: median(table, case, one, key) - median(table, case, other, key)


def peak(table: Table, name: str) -> float:
    return max(row["rate"] for row in table["peaks"][name])


def of_sgemm(table: Table) -> float:
    rate = median(table, "embed", "apnc", "flops") / median(table, "embed", "apnc")
    return rate / peak(table, "sgemm")


def of_fp_add(contestant: str) -> Callable[[Table], float]:
    """Share of the FP-add peak; each element of an L1 distance takes two additions."""

    def share(table: Table) -> float:
        rate = median(table, "l1_pass", contestant, "elements") / median(table, "l1_pass", contestant)
        return 2 * rate / peak(table, "fp_add")

    return share


def over_roofline(contestant: str) -> Callable[[Table], float]:
    """Seconds, relative to the sum of what each part of the work takes at the machine's measured peak."""

    def factor(table: Table) -> float:
        rows = table["imagenet"][contestant]
        least = rows[0]["flops"] / peak(table, "sgemm") + rows[0]["bytes"] / peak(table, "bandwidth")
        if contestant == "apnc":
            least += 2 * rows[0]["elements"] / peak(table, "sgemm")
        else:
            least += 2 * rows[0]["elements"] / peak(table, "fp_add")
        return median(table, "imagenet", contestant) / least

    return factor


FROM_FILE = "apnc, from the file"


def seconds_per_row(table: Table) -> float:
    """Seconds per row of the large file, relative to the small one."""
    large, small = (
        median(table, case, FROM_FILE) / median(table, case, FROM_FILE, "n_rows")
        for case in ("stream_10m", "stream_1m")
    )
    return large / small


def of_limit(case: str) -> Callable[[Table], float]:
    return lambda table: max(row["peak_bytes"] for row in table[case][FROM_FILE]) / parse_bytes(LIMIT)


def overlap(table: Table) -> float:
    alone = max(median(table, "overlap", name) for name in ("reading alone", "computing alone"))
    return median(table, "overlap", "apnc, reading and computing") / alone


def same_labels(table: Table) -> float:
    expected = {row["labels"] for row in table["stream_1m"]["apnc, rows in memory"]}
    found = [{row["labels"]} == expected for row in table["stream_1m"][FROM_FILE]]
    return sum(found) / len(found)


def off_by(case: str, key: str) -> Callable[[Table], float]:
    """The larger of the planned and the measured value over the smaller."""

    def factor(table: Table) -> float:
        both = [median(table, case, name, key) for name in ("apnc plan", "apnc fit")]
        return max(both) / min(both)

    return factor


NYSTROEM = "scikit-learn Nystroem + KMeans"
BARS = [
    Bar("embedding: fraction of the SGEMM peak", of_sgemm, 0.9, True),
    Bar(
        "L1 pass, bounds off: fraction of the FP-add limit", of_fp_add("apnc, every row searched"), 0.7, True
    ),
    Bar(
        "L1 pass: speedup over scikit-learn",
        ratio("l1_pass", "scikit-learn manhattan", "apnc"),
        20,
        True,
    ),
    Bar("L2 pass, k=164: time relative to faiss", ratio("l2_pass_k164", "apnc", "faiss"), 0.9, False),
    Bar("L2 pass, k=7: time relative to faiss", ratio("l2_pass_k7", "apnc", "faiss"), 0.6, False),
    Bar("CovType l=500: speedup over scikit-learn", ratio("covtype_l500", NYSTROEM, "apnc"), 3, True),
    Bar("CovType l=1500: speedup over scikit-learn", ratio("covtype_l1500", NYSTROEM, "apnc"), 5, True),
    Bar(
        "CovType l=500: peak memory relative to scikit-learn",
        ratio("covtype_l500", "apnc", NYSTROEM, "peak_bytes"),
        0.6,
        False,
    ),
    Bar(
        "CovType l=1500: peak memory relative to scikit-learn",
        ratio("covtype_l1500", "apnc", NYSTROEM, "peak_bytes"),
        0.3,
        False,
    ),
    Bar(
        "CovType l=500: mean NMI minus scikit-learn's",
        difference("covtype_nmi_l500", "apnc", NYSTROEM, "nmi"),
        0,
        True,
    ),
    Bar(
        "CovType l=1500: mean NMI minus scikit-learn's",
        difference("covtype_nmi_l1500", "apnc", NYSTROEM, "nmi"),
        0,
        True,
    ),
    Bar("1,262,102 x 900, nystroem: time relative to the roofline", over_roofline("apnc"), 1.3, False),
    Bar("1,262,102 x 900, stable: time relative to the roofline", over_roofline("apnc stable"), 1.3, False),
    Bar("float64 rows: time relative to float32 rows", ratio("float64", "float64", "float32"), 2.3, False),
    Bar("Parquet: seconds per row, 10 M rows relative to 1 M", seconds_per_row, 1.2, False),
    Bar("Parquet, 1 M rows: peak memory relative to the limit", of_limit("stream_1m"), 1.15, False),
    Bar("Parquet, 10 M rows: peak memory relative to the limit", of_limit("stream_10m"), 1.15, False),
    Bar("Parquet: reading and computing together, relative to the slower alone", overlap, 1.25, False),
    Bar("Parquet, 1 M rows: fraction of runs with the same labels as rows in memory", same_labels, 1, True),
    Bar(
        "Spark engine: time relative to the local engine",
        ratio("spark", "apnc, Spark engine", "apnc, local engine"),
        5,
        False,
    ),
    *(
        bar
        for name in ("Fourier", "Nystroem")
        for bar in (
            Bar(
                f"Spark engine: time relative to {name} features + MLlib",
                ratio("spark", "apnc, Spark engine", f"{name} features in a pandas UDF + MLlib KMeans"),
                1,
                False,
            ),
            Bar(
                f"Spark engine: NMI minus that of {name} features + MLlib",
                difference(
                    "spark", "apnc, Spark engine", f"{name} features in a pandas UDF + MLlib KMeans", "nmi"
                ),
                0,
                True,
            ),
        )
    ),
    *(
        bar
        for case, name in (("plan_covtype", "CovType"), ("plan_generated", "1 M x 100"))
        for bar in (
            Bar(f"apnc plan, {name}: time off by a factor of", off_by(case, "seconds"), 2, False),
            Bar(f"apnc plan, {name}: memory off by a factor of", off_by(case, "peak_bytes"), 1.25, False),
        )
    ),
    Bar("two threads: speedup over one", ratio("threads", "1 thread", "2 threads"), 1.5, True),
    Bar(
        "import: seconds more than for scikit-learn's KMeans",
        difference("import", "import apnc", "scikit-learn KMeans", "seconds"),
        0.1,
        False,
    ),
]


NOTES = """## What limits the speed

- **Embedding.** The fraction of the SGEMM peak counts 2 n l (d + m) operations. The Nystroem block is triangular
  ([decision 17](../decisions/17-triangular-coefficients.md)), so a few percent of them are skipped. Writing to one
  array adds page faults on its memory, which took 0.1 to 1.5 s per GB when tried on this machine.
- **L1 pass.** The FP-add limit counts two additions per element. The loop uses a maximum and a fused multiply-add
  instead, which run on different execution units, so it may exceed the limit
  ([decision 14](../decisions/14-compiled-loops.md)).
- **CovType.** In a profile at l = 500, two fifths of the fit are products at the SGEMM rate, a quarter is page faults
  on the 1.16 GB of Y, and the rest is passes, each of which reads Y once. Contestants stop when no label changes, after
  7 to 20 iterations depending on the seed, which affects a ratio more than anything else. The NMI of single random
  starts has two modes (about 10 and about 15) for every contestant; means over seeds have their own cases.
- **Reading and computing.** Decoding Parquet takes processor time too. With two cores the pass cannot take less than
  half of the processor time of reading and computing together (`cpu_seconds` in the rows).

## More than two cores

The only serial part of a pass is the sum of partial results: k m additions per chunk, against 2 k m per row for the
distances, so with chunks of 1,000 rows or more the serial part is below 1 / 2000 of a core's work. Chunks wait in a
queue of two per core, memory grows by two chunks (16 MB each) per core, and the order in which partial sums are added
does not depend on the number of cores. One thread reads the file, and the workers decode: reading alone took less than
half of the time of computing alone on two cores (see the pass of Algorithm 1 below), so from about four cores on, such
a file would limit the pass. With small k and many cores the limit is memory bandwidth: one read of Y per pass. Only a
machine with two cores was available for measurements.
"""


def read(path: Path) -> Table:
    table: Table = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, path.read_text().splitlines()):
        table[row["case"]][row["contestant"]].append(row)
    return {case: dict(contestants) for case, contestants in table.items()}


def page(table: Table) -> str:
    first = next(iter(next(iter(table.values())).values()))[0]
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items() if version)
    parts = [
        "# Benchmarks",
        "Rendered from `benchmarks/results/speed.jsonl` by `python -m benchmarks.render`; `make bench` measures again. "
        f"{first['cores']} cores ({first['machine']}), Python {first['python']}, {versions}. Each measurement runs in "
        "its own process, repetitions are interleaved, and medians are shown. The machine is shared and noisy: ratios "
        "within a case are meaningful, absolute seconds less so. Cases may have been measured at different times.",
        "In short: embedding and passes run near the limit of the processor, a fit is two to four times as fast as "
        "scikit-learn's `Nystroem` with `KMeans` in a fraction of its memory, and files of any size take time in "
        "proportion to their rows. Targets that are not met are marked.",
        "## Targets",
        "\n".join(
            ["| | target | measured | met |", "| --- | --- | --- | --- |", *(bar.line(table) for bar in BARS)]
        ),
        NOTES.strip(),
        "## All measurements",
    ]
    charts = drawn(table)
    parts += [section(case, table[case], case in charts) for case in CASES if case in table]
    return "\n\n".join(parts) + "\n"


def section(case: str, contestants: dict[str, list[Row]], chart: bool) -> str:
    lines = [f"### {CASES[case].title}", ""]
    if chart and any("seconds" in row for rows in contestants.values() for row in rows):
        lines += [f"![Seconds: {CASES[case].title}](images/bench-{case}.png)", ""]
    if case == "peaks":
        lines += ["| limit | best measured |", "| --- | --- |"]
        lines += [
            f"| {name} | {max(row['rate'] for row in rows) / 1e9:.1f} G/s |"
            for name, rows in contestants.items()
        ]
        return "\n".join(lines)
    score = "recall" if any("recall" in row for rows in contestants.values() for row in rows) else "NMI"
    lines += [f"| | seconds | range | peak memory | {score} |", "| --- | --- | --- | --- | --- |"]
    return "\n".join(lines + [measured(name, rows) for name, rows in contestants.items()])


def measured(name: str, rows: list[Row]) -> str:
    good = [row for row in rows if "seconds" in row]
    if not good:
        return f"| {name} | failed: {rows[0]['failed']} | | | |"
    seconds = [row["seconds"] for row in good]
    memory = statistics.median(row["peak_bytes"] for row in good) / 1e6
    score = f"{statistics.median(row['nmi'] for row in good):.1f}" if "nmi" in good[0] else ""
    if "recall" in good[0]:
        score = f"{statistics.median(row['recall'] for row in good):.2%}"
    spread = f"{min(seconds):.3g} to {max(seconds):.3g}"
    return f"| {name} | {statistics.median(seconds):.3g} | {spread} | {memory:,.0f} MB | {score} |"


def drawn(table: Table) -> list[str]:
    """Cases with a chart of seconds."""
    return [case for case in CASES if case in table and case not in ("peaks", "import") and "nmi" not in case]


def draw(contestants: dict[str, list[Row]], path: Path) -> None:
    """Seconds of every contestant of a case: the median as a bar, each repetition as a line."""
    from matplotlib.figure import Figure

    rows = {
        name: [row["seconds"] for row in found if "seconds" in row] for name, found in contestants.items()
    }
    names = [name for name, seconds in rows.items() if seconds][::-1]
    figure = Figure(figsize=(5.6, 0.3 + 0.36 * len(names)), layout="constrained")
    axes = figure.subplots()
    middle = [statistics.median(rows[name]) for name in names]
    ours = ("apnc", "float", "1 ", "2 ", "one", "ten", "two")
    axes.barh(
        names, middle, color=["#12719e" if name.startswith(ours) else "#bbbbbb" for name in names], height=0.7
    )
    for place, (name, seconds) in enumerate(zip(names, middle, strict=True)):
        axes.plot(rows[name], [place] * len(rows[name]), "|", color="#333333", markersize=8)
        axes.text(max(rows[name]), place, f"  {seconds:.3g} s", va="center", fontsize=9)
    axes.set_xlim(0, 1.3 * max(max(seconds) for seconds in rows.values() if seconds))
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "results" / "benchmarks.md")
    options = parser.parse_args()
    table = read(options.rows)
    options.page.write_text(page(table))
    for case in drawn(table):
        if any("seconds" in row for rows in table[case].values() for row in rows):
            draw(table[case], options.page.parent / "images" / f"bench-{case}.png")
    print(f"{options.page} from {options.rows}")


if __name__ == "__main__":
    main()
