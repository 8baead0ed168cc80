"""Mutated stored files: damaged ones, and forged ones whose checksums are right."""

import random
import resource
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.torture.family import Attack, require
from tests.torture.forging import CANARY, FORGED, Mutation
from tests.torture.stored_kinds import ANOTHER, KINDS, SAME, Kind, Outcome, measured_apart, size_of

#: Every so many cases one has a file of 100 MB, in a process of its own: 20 of 50,000.
LARGE = 2500
#: Bytes of memory beyond twice the file: buffers, and pages that are not given back.
SLACK = 32 << 20


def case(seed: int, folder: Path) -> str:
    """One mutated file: refused on load, or one that works."""
    rng = random.Random(seed)
    kinds = [kind for kind in KINDS if kind.large == (seed % LARGE == LARGE - 1)]
    kind = rng.choices(kinds, [kind.share for kind in kinds])[0]
    name, specimen = rng.choice(sorted(kind.files().items()))
    if not kind.large:
        warm_up(kind, name)
    path = folder / "mutated"
    how = kind.mutate(specimen, path, rng)
    outcome = measured_apart(kind, path, SLACK) if kind.large else measured_here(kind, name, path)
    judge(outcome, how, f"{name}, {how.said}")
    return f"{kind.name}, {how.family}: {outcome.kind}"


@cache
def warm_up(kind: Kind, name: str) -> None:
    """The sound file is taken as such; what any file makes the process load is loaded now."""
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "sound"
        specimen = kind.files()[name]
        (shutil.copytree if specimen.is_dir() else shutil.copyfile)(specimen, sound)
        require(kind.attempt(name, sound) == Outcome(SAME), f"the sound {kind.name} {name} is not")


def measured_here(kind: Kind, name: str, path: Path) -> Outcome:
    """How a file is taken: nothing is run, and the peak of memory grows little."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = size_of(path)
    outcome = kind.attempt(name, path)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    require(CANARY not in sys.modules, f"{name}: the file had a module imported")
    require(grown <= 2 * size + SLACK, f"{name}: {grown:,} bytes of memory")
    return outcome


def judge(outcome: Outcome, how: Mutation, said: str) -> None:
    """Damage is refused or without effect; a forged file may be another model, but one that works."""
    require(outcome.broken is None, f"{said}: {outcome.broken}")
    require(how.family == FORGED or outcome.kind != ANOTHER, f"{said}: damage gave another model")


ATTACK = Attack(
    name="models",
    what=(
        "Mutated model files, and checkpoints that a run goes on from (one in five): bytes, zip, fields, shapes, types "
        "and values; forged ones have right checksums; one in 2,500 has 100 MB"
    ),
    holds=(
        "damage is refused on load or changes no prediction, and a run goes on to the result of an undisturbed one; a "
        "forged file is refused or is another model, or another result, that works (finite outputs, labels within "
        "range); nothing is run or imported; memory at most twice the file"
    ),
    full=50_000,
    case=case,
    share=tuple(range(600)),
    order=4,
)
