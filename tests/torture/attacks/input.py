"""Bad invocations, configurations and data files."""

import random
from pathlib import Path

from tests.torture.commands import contents, judge, judge_files, run_apart, run_here
from tests.torture.damage import damaged
from tests.torture.family import Attack, BrokenError, require
from tests.torture.invocations import a_command, a_file, configuration, invocation, sound, with_configuration
from tests.torture.odd_files import ODD
from tests.torture.specimens import CONFIG, DATA, LABELS, MODEL, OBJECTS
from tests.torture.specimens import sound as specimens

#: Every so many cases one runs in a process of its own: 200 of 10,000.
APART = 50


def bad_invocation(rng: random.Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    return invocation(rng), files["rows.csv"] if rng.random() < 0.5 else b""


def bad_configuration(rng: random.Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    files[CONFIG] = damaged(files[CONFIG], rng) if rng.random() < 0.4 else configuration(rng)
    return with_configuration(rng), b""


def damaged_file(rng: random.Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    """One of the files that a command reads is damaged; now and then it comes through standard input."""
    name = rng.choice((*DATA, *DATA, OBJECTS, OBJECTS, *LABELS, MODEL))
    files[name] = damaged(files[name], rng)
    return commanded(name, rng, files)


def odd_file(rng: random.Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    """Sound by its format, odd by its content."""
    name = rng.choice((*DATA, OBJECTS, *LABELS))
    files[name] = ODD["." + name.rpartition(".")[2]](rng)
    return commanded(name, rng, files)


def commanded(name: str, rng: random.Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    """A command that reads the file."""
    if name in LABELS:
        both = [name, rng.choice(LABELS)]
        return ["evaluate", *rng.sample(both, 2)], b""
    command = a_command(rng)
    command = "fit" if command == "evaluate" else command
    words = sound(command, a_file(rng) if name == MODEL else name, rng)
    if name == MODEL and command in ("fit", "choose", "plan"):
        words = ["inspect", MODEL]
    if name in words and name.startswith("rows.") and rng.random() < 0.1:
        words[words.index(name)] = "-"
        return [*words, "--format", name.rpartition(".")[2]], files[name]
    more = rng.choice(([], [], ["--drop-null"], ["--id-columns", "key"], ["--json"]))
    return [*words, *(more if command not in ("inspect", "evaluate") else [])], b""


KINDS = {
    "invocation": (bad_invocation, 3),
    "configuration": (bad_configuration, 2),
    "damaged file": (damaged_file, 3),
    "odd file": (odd_file, 2),
}


def case(seed: int, folder: Path) -> str:
    """One command; a failure quotes it."""
    rng = random.Random(seed)
    files = dict(specimens())
    kind = rng.choices(list(KINDS), [weight for _, weight in KINDS.values()])[0]
    words, stdin = KINDS[kind][0](rng, files)
    # Names with dots must not lead out of the folder of the case.
    work = folder / "a" / "b"
    work.mkdir(parents=True)
    for name, data in files.items():
        (work / name).write_bytes(data)
    try:
        ended = (run_apart if apart(seed) else run_here)(words, work, stdin)
        outcome = judge(ended)
        judge_files(folder, {f"a/b/{name}": data for name, data in files.items()})
        require(
            all(contents(work).get(name) == data for name, data in read_by(words, files)), "input was changed"
        )
    except BrokenError as error:
        raise BrokenError(f"{kind}: {error}: apnc {' '.join(words)!r:.600}") from None
    return f"{kind}: {outcome}"


def read_by(words: list[str], files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """Files that a command names as its arguments, before any option."""
    return [(word, files[word]) for word in words[1:3] if word in files]


def apart(seed: int) -> bool:
    return seed % APART == APART - 1


ATTACK = Attack(
    name="input",
    what="Bad invocations, configurations, damaged and odd data files; one in 50 in a process of its own",
    holds=(
        "success, or exit code 2 with one line of at most 400 printable characters; no traceback, no half-written "
        "file, at most 20 s of processor time"
    ),
    full=10_000,
    case=case,
    share=tuple(range(100, 220)),
    cpu_seconds=20.0,
    order=3,
)
