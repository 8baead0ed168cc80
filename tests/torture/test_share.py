"""A small share of every attack, and the page of all that were run."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.torture import page, rows, running
from tests.torture.family import Attack, BrokenError, attacks, require

KNOWN = attacks()
#: Seeds that one test runs: cases in this process take some milliseconds each.
TOGETHER = 50


def parts() -> list[tuple[str, tuple[int, ...]]]:
    found = []
    for name, attack in KNOWN.items():
        step = TOGETHER if len(attack.share) > TOGETHER else 1
        found += [(name, attack.share[i : i + step]) for i in range(0, len(attack.share), step)]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "seeds"), parts(), ids=lambda part: part if isinstance(part, str) else str(part[0])
)
def test_share(name, seeds):
    """Processor time is not judged: tests share their machine."""
    if why := KNOWN[name].missing():
        pytest.skip(why)
    cases = [running.judged(KNOWN[name], seed, judge_time=False) for seed in seeds]
    assert [(case.seed, case.failure) for case in cases if case.failure] == []


def test_the_page_is_made_of_the_committed_rows():
    assert page.PAGE.read_text() == page.page(page.all_rows())


def case_of_three_kinds(seed: int, folder: Path) -> str:
    require(seed != 3, f"three, in {folder}")
    if seed == 4:
        raise KeyError(seed)
    return "even" if seed % 2 == 0 else "odd"


ATTACK = Attack("made-up", "Numbers", "three is not met", 10, case_of_three_kinds, ())


def batch(seeds, again=False):
    return rows.row_of("made-up", [running.judged(ATTACK, seed) for seed in seeds], again) | {"commit": "abc"}


def test_a_batch_counts_outcomes_and_tells_failures(tmp_path):
    row = batch(range(6))
    assert row["outcomes"] == {"even": 2, "failed": 2, "odd": 2}
    assert [failure["seed"] for failure in row["failures"]] == [3, 4]
    assert row["failures"][0]["reason"] == "three, in ..."
    assert "KeyError" in row["failures"][1]["reason"]
    rows.append(row, tmp_path)
    assert rows.read("made-up", tmp_path) == [json.loads(json.dumps(row))]


def test_counts_add_up_and_what_was_cured_no_longer_fails():
    before = batch(range(6))
    cured = Attack("made-up", "Numbers", "three is not met", 10, lambda seed, _: "even", ())
    again = rows.row_of("made-up", [running.judged(cured, 3)], True) | {"commit": "def"}
    kept = [before, again]
    assert rows.next_seed(kept) == 6
    assert list(rows.still_failing([before])) == [3, 4]
    assert list(rows.still_failing(kept)) == [4]
    assert page.summary(ATTACK, kept).startswith("| [made-up](#made-up) | 6 | 10 | 2 | 1 |")
    shown = page.section(ATTACK, kept)
    assert "- seed 4 fails" in shown
    assert "seed 3 fails" not in shown
    assert "`abc`, `def`" in shown


def test_time_is_judged_in_full_runs():
    slow = Attack("slow", "", "", 1, lambda *_: str(Counter(range(200_000))) and "done", (), cpu_seconds=0.0)
    assert "of processor time" in running.judged(slow, 0).failure
    assert running.judged(slow, 0, judge_time=False).failure is None


def test_every_attack_has_its_target():
    makefile = (rows.ROOT / "Makefile").read_text()
    targets = makefile.split("TORTURE := ")[1].splitlines()[0].split()
    assert set(KNOWN) <= set(targets)


def test_what_must_hold_is_required():
    with pytest.raises(BrokenError, match="reason"):
        require(False, "reason")
