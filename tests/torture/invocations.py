"""Command lines and configuration files: sound ones, and how they go wrong."""

import random
from functools import cache
from typing import Any

from tests.torture.specimens import CONFIG, DATA, KERNEL, LABELS, MODEL, OBJECTS

#: Options that a random invocation leaves out: other machines, and tracebacks that were asked for.
LEFT_OUT = ("--engine", "--master", "--debug", "--help")
#: Values that options get. No file that exists, and nothing outside the folder, can be written under these names.
VALUES = (
    "", " ", "0", "-1", "1", "2", "3", "7", "60", "61", "1e3", "1e-300", "1e300", "nan", "inf", "-inf", "1.5", "0x10",
    "1_0", "٣", "99999999999999999999999", "9" * 5000, "auto", "none", "None", "true", "rbf", "linear", "chi2",
    "polynomial", "sigmoid", "laplacian", "cosine", "precomputed", "stable", "ensemble", "nystroem", "neighbours",
    "mean", "local", "narrow", "k-means++", "random", "random-partition", "standard", "minmax", "unit", "spectral",
    "kernel", "embedding", "csv", "npy", "parquet", "jsonl", "svmlight", "npz", ";", ",", "\t", "ab", "é", "\x1b[31m",
    "\x1b]0;owned\x07", "\u202e", "a,b", "a,,b", "key", "label", "a", "x" * 5000, "500MB", "50MB", "4XB", "1e99GB",
    "-5GB", "2GB", ".", "/", "/dev/null", "nowhere/x.csv", "no.such:thing", "math:sqrt", "json:dumps", "os:path",
    "math:pi", ":", "a:", ":b", "é:é", "no.such://x/y.csv", "*.csv", "[", "**", "~", "out.csv", "out.parquet",
    "out.xyz", "distances", "embedding", "x\ny", "\udcff",
)  # fmt: skip
#: Values of these options that ask for work without end.
ENDLESS = {
    "--n-init": 50,
    "--max-iter": 10_000,
    "--n-jobs": 64,
    "--k-max": 30,
    "--show": 10**6,
    "--n-rows": 10**6,
}


@cache
def options() -> dict[str, list[tuple[str, bool]]]:
    """Options by command: long name, and whether it is a flag."""
    from typer.main import get_command

    from apnc.cli.app import app

    commands: Any = get_command(app)
    return {
        name: [
            (option.opts[0], bool(getattr(option, "is_flag", False)))
            for option in command.params
            if option.opts[0].startswith("-") and option.opts[0] not in LEFT_OUT
        ]
        for name, command in commands.commands.items()
        if name != "bench"
    }


def sound(command: str, data: str, rng: random.Random) -> list[str]:
    """A command as it should be, for a data file."""
    model = "words.apnc" if data.endswith(".jsonl") else MODEL
    kernel = ["--kernel", KERNEL] if data.endswith(".jsonl") else []
    trust = ["--trust", KERNEL] if data.endswith(".jsonl") else []
    out = rng.choice(("out.csv", "out.parquet", "out.arrow", "out.csv.gz"))
    fitted = [*kernel, "--quiet", *(["--method", "spectral"] if not kernel and rng.random() < 0.2 else [])]
    return {
        "fit": ["fit", data, "-k", "3", "--model", "out.apnc", "--labels", out, *fitted],
        "choose": ["choose", data, "--k-max", "4", "--model", "out.apnc", *fitted],
        "plan": ["plan", data, "-k", "3", *kernel],
        "predict": ["predict", model, data, "--labels", out, "--quiet", *trust],
        "embed": ["embed", model, data, "--out", rng.choice((out, "out.npy")), "--quiet", *trust],
        "describe": ["describe", model, data, "--quiet", *trust],
        "certify": ["certify", model, data, "--quiet", *trust],
        "report": ["report", model, data, "--out", "out.html", "--quiet", "--no-certificate", *trust],
        "evaluate": ["evaluate", rng.choice(LABELS), rng.choice(LABELS)],
        "inspect": ["inspect", model],
    }[command]


#: How often commands are drawn; a page, a choice and a plan take longest.
COMMANDS = {
    "fit": 8, "predict": 4, "embed": 3, "evaluate": 4, "inspect": 2, "describe": 2, "certify": 2, "plan": 1,
    "choose": 1, "report": 1,
}  # fmt: skip


def a_command(rng: random.Random) -> str:
    return rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]


def a_file(rng: random.Random) -> str:
    return rng.choice((*DATA, OBJECTS))


def a_value(option: str, rng: random.Random) -> str:
    value = rng.choice(VALUES)
    if option not in ENDLESS:
        return value
    try:
        return value if float(value) <= ENDLESS[option] else str(ENDLESS[option])
    except (ValueError, OverflowError):
        return value


def add_option(words: list[str], rng: random.Random) -> None:
    known = options()
    command = words[0] if words and words[0] in known and rng.random() < 0.9 else rng.choice(list(known))
    name, flag = rng.choice(known[command])
    words += [name] if flag else [name, a_value(name, rng)]


def replace_value(words: list[str], rng: random.Random) -> None:
    i = rng.randrange(1, len(words)) if len(words) > 1 else 0
    if words and not words[i].startswith("-"):
        words[i] = a_value(words[i - 1] if i else "", rng)


def drop_word(words: list[str], rng: random.Random) -> None:
    if words:
        del words[rng.randrange(len(words))]


def repeat_word(words: list[str], rng: random.Random) -> None:
    if words:
        words.insert(rng.randrange(len(words) + 1), rng.choice(words))


def misspell(words: list[str], rng: random.Random) -> None:
    i = rng.randrange(len(words))
    letters = list(words[i])
    if letters:
        letters[rng.randrange(len(letters))] = rng.choice("abcxyz-=.\x07é")
        words[i] = "".join(letters)


def swap_words(words: list[str], rng: random.Random) -> None:
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    words[i], words[j] = words[j], words[i]


WRONG = (
    add_option,
    add_option,
    add_option,
    add_option,
    replace_value,
    drop_word,
    repeat_word,
    misspell,
    swap_words,
)


def invocation(rng: random.Random) -> list[str]:
    """A sound command with one to three things wrong."""
    words = sound(a_command(rng), a_file(rng), rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if words:
            rng.choice(WRONG)(words, rng)
    return words if not endless(words) else ["fit"]


def endless(words: list[str]) -> bool:
    """Whether a changed word has become a request for much work, or for another machine."""
    large = [word for word in words if word.isdecimal() and len(word) < 20 and int(word) > 10_000]
    return bool(large) or any("spark" in word or "://" in word.replace("no.such://", "") for word in words)


TOML_VALUES = (
    "3", "-1", "0", "1.5", "nan", "inf", "1e400", "99999999999999999999", "true", "false", '""', '"rbf"', '"x"',
    '"\\u0000"', '"\\u001b[31m"', '"' + "y" * 3000 + '"', "2024-01-01", "07:32:00", "[]", '["a"]', '["key", "b"]',
    "[1, 2]", '["a", 1]', "[[1]]", "{ a = 1 }", '"""\nx\n"""', "'c:\\x'", '"linear"', '"2GB"', '"auto"', "",
    "0x10", "1_000", '"\\ud800"', "[" * 500 + "]" * 500,
)  # fmt: skip


def configuration(rng: random.Random) -> bytes:
    """A file of options, with values of all types."""
    names = [name.lstrip("-") for found in options().values() for name, _ in found]
    odd = (
        "engine",
        "no-such",
        "N_CLUSTERS",
        "a.b",
        '""',
        '"\\u001b"',
        "k",
        "config",
        "debug",
        "é",
        "x" * 3000,
    )
    lines = ["quiet = true"]
    for _ in range(rng.randrange(1, 5)):
        name = rng.choice(names) if rng.random() < 0.9 else rng.choice(odd)
        name = name.replace("-", "_") if rng.random() < 0.2 else name
        lines.append(f"{name} = {rng.choice(TOML_VALUES)}")
    if rng.random() < 0.1:
        lines.insert(
            rng.randrange(len(lines)), rng.choice(("[table]", "[[x]]", "=", "\x00", "a = = 1", "\r"))
        )
    return "\n".join(lines).encode()


def with_configuration(rng: random.Random) -> list[str]:
    words = sound(a_command(rng), a_file(rng), rng)
    return [*words, "--config", CONFIG]
