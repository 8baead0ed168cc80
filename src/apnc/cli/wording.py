"""Messages of the library in the words of the command line, and what a misspelt option may have meant."""

import difflib
import re
import shlex
from collections.abc import Iterable

#: Parameters of the library, and the options that they are.
OPTIONS = {
    "n_clusters": "clusters",
    "n_landmarks": "landmarks",
    "n_components": "components",
    "n_jobs": "threads",
    "random_state": "seed",
    "id_columns": "id-column",
    **{
        name: name.replace("_", "-")
        for name in (
            *("columns", "exclude", "weight_column", "drop_null", "format", "object_field", "separator"),
            *(
                "scale",
                "kernel",
                "gamma",
                "coef0",
                "degree",
                "normalize_kernel",
                "embedding",
                "init",
                "n_init",
            ),
            *("max_iter", "tol", "memory_limit", "trust"),
        )
    },
}
#: Parameters that are no words of English, so that they are options wherever they stand.
UNMISTAKABLE = tuple(name for name in OPTIONS if "_" in name or name == "tol")

#: What else only Python has. In these the options are still parameters.
PHRASES = {
    r"apnc\.(?:sources\.open|load)\((?:\.\.\.|path), ([^()]*)\)": r"\1",
    r"\bkernel=function\b": "kernel=package.module:function",
    r"\bn_samples=(\d+)": r"\1",
    r"\bresidual_=": "residual ",
    re.escape('pip install "apnc[files]"'): 'pip install "apnc[cli]"',
}
#: Not part of a path, and not in quotes.
APART = r"(?<![\w./'\"-])"
#: A value as Python shows it: a list, a text, anything up to a space; or none.
VALUE = r"((?>\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^\s,;()/'\"\[]*[^\s.,:;()/'\"\[]|\.\.\.))?+(?!/)"
ASSIGNED = re.compile(rf"{APART}({'|'.join(OPTIONS)})={VALUE}")
BARE = re.compile(rf"{APART}({'|'.join(UNMISTAKABLE)})(?![\w/'\"=-]|\.\w)")


def in_options(message: str) -> str:
    """A message of the library in the words of the command line: ``n_clusters=3`` is ``--clusters 3``."""
    for pattern, phrase in PHRASES.items():
        message = re.sub(pattern, phrase, message)
    message = ASSIGNED.sub(lambda found: _typed(OPTIONS[found[1]], found[2] or ""), message)
    return BARE.sub(lambda found: f"--{OPTIONS[found[1]]}", message)


def _typed(option: str, value: str) -> str:
    """An option as it would be typed."""
    if value in ("", "True", "...", "[...]"):
        return f"--{option}"
    items = value.strip("[]").split(", ") if value.startswith("[") else [value]
    return f"--{option} {shlex.quote(','.join(item.strip(QUOTES) for item in items))}"


QUOTES = "'\""


def meant(name: str, known: Iterable[str]) -> str | None:
    """The option that was probably meant by ``name``; both without dashes in front."""
    known = list(known)
    translated = OPTIONS.get(name.replace("-", "_"), name)
    if translated in known:
        return translated
    near = difflib.get_close_matches(translated, known, n=1, cutoff=0.6)
    begun = [option for option in known if any(_begins(translated, word) for word in option.split("-"))]
    return next(iter((*near, *begun)), None)


def _begins(one: str, other: str) -> bool:
    return min(len(one), len(other)) > 1 and (one.startswith(other) or other.startswith(one))
