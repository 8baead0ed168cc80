"""docs/results/reliability.md, from the rows of all attacks alone."""

from collections import Counter
from pathlib import Path

from benchmarks.run import ROOT
from tests.torture.family import Attack, attacks
from tests.torture.rows import RESULTS, Row, read, still_failing

PAGE = ROOT / "docs" / "results" / "reliability.md"
#: Characters of a reason that the page shows.
SHOWN = 200

HEAD = """\
# Reliability

What was done to break apnc, and what happened. Each attack generates cases from seeds; the same seed is the same case.
`make torture` goes on where the last run stopped, and `make torture-input`, for instance, runs one attack. `make test`
runs a small share of each. This page is rendered from `benchmarks/results/torture-*.jsonl` alone
(`python -m tests.torture render`); each row there has its seeds, outcomes, seconds, commit and versions.
"""


def page(rows: dict[str, list[Row]]) -> str:
    """The page, from the rows of each attack."""
    known = attacks()
    lines = [
        HEAD,
        "| attack | cases run | of | failed when first run | still failing | hours |",
        "| --- | --- | --- | --- | --- | --- |",
        *(summary(attack, rows.get(name, [])) for name, attack in known.items()),
    ]
    parts = [section(attack, rows.get(name, [])) for name, attack in known.items()]
    return "\n".join(lines) + "\n\n" + "\n".join(parts)


def first_runs(rows: list[Row]) -> list[Row]:
    return [row for row in rows if not row["again"]]


def summary(attack: Attack, rows: list[Row]) -> str:
    new = first_runs(rows)
    count, failed = sum(row["count"] for row in new), sum(len(row["failures"]) for row in new)
    hours = sum(row["seconds"] for row in rows) / 3600
    return (
        f"| [{attack.name}](#{attack.name}) | {count:,} | {attack.full:,} | {failed:,} | "
        f"{len(still_failing(rows)):,} | {hours:.2f} |"
    )


def section(attack: Attack, rows: list[Row]) -> str:
    """An attack: what it does, what must hold, how its cases ended, what still fails."""
    lines = [f"## {attack.name}", "", f"{attack.what}. Must hold: {attack.holds}.", ""]
    if not rows:
        return "\n".join([*lines, "Not run yet.", ""])
    outcomes: Counter[str] = Counter()
    for row in first_runs(rows):
        outcomes.update(row["outcomes"])
    lines += ["| outcome | cases |", "| --- | --- |"]
    lines += [f"| {outcome} | {count:,} |" for outcome, count in sorted(outcomes.items())]
    commits = list(dict.fromkeys(row["commit"] or "unknown" for row in rows))
    lines += ["", f"Commits: {', '.join(f'`{commit}`' for commit in commits)}.", ""]
    if attack.cpu_seconds is not None:
        longest = max(row["longest_cpu_seconds"] for row in rows)
        lines += [f"The longest case took {longest:.1f} s of processor time.", ""]
    failing = still_failing(rows)
    lines += [f"- seed {seed} fails: `{shortened(reason)}`" for seed, reason in sorted(failing.items())]
    return "\n".join([*lines, ""] if failing else lines)


def shortened(reason: str) -> str:
    line = " ".join(reason.split()).replace("`", "'")
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


def all_rows(folder: Path = RESULTS) -> dict[str, list[Row]]:
    return {name: read(name, folder) for name in attacks()}


def write() -> None:
    PAGE.write_text(page(all_rows()))
