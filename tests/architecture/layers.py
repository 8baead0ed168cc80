"""The parts of the package, top to bottom: tests check it, and ``docs/explanation/architecture.md`` is written from it.

``python -m tests.architecture.layers`` writes the picture and the table anew.
"""

from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
#: A part is a folder or module; a longer name stands on its own. A module may import its own part and those below it,
#: also where it imports late. Parts of one group are drawn side by side, and keep the order of the list.
GROUPS: dict[str, dict[str, str]] = {
    "surfaces": {
        "cli": "commands and their options, generated from the parameter table",
        "spark": "estimators and models for pyspark.ml",
    },
    "estimators": {
        "estimators": "the public classes, which check, run the pipeline and restore; their registry",
        "persistence": "model files: container, codec, functions",
    },
    "beside": {
        "certifying": "labels compared with the exact method's, on a sample",
        "baselines": "methods to compare with",
        "testing": "checks for extensions",
        "evaluation": "labels compared with the truth",
        "report": "a fit on one page",
        "choosing": "how many clusters, and why",
        "describing": "what is in the clusters: prototypes, contrasts, tree",
    },
    "flow": {
        "run.forecast": "plans: the pipeline timed on a few rows",
        "pipeline": "the whole fit as a list of stages",
        "outputs": "labels and more to arrays, files, columns",
        "checks": "errors and warnings",
        "model": "the result of a fit, frozen",
        "run": "source, memory budget, costs",
        "settings": "what the user asked for",
    },
    "data": {
        "engines.spark": "DataFrames as sources, chunks on executors",
        "engines.dask": "arrays, dataframes and bags as sources, chunks in workers",
        "sources": "rows in memory, files and frames, behind one interface",
        "progress": "progress of long work",
    },
    "the paper": {
        "embeddings": "Algorithms 1, 3 and 4: y = R K_L(x)",
        "clustering": "Algorithm 2: seeding and Lloyd",
        "sampling": "landmarks by content",
        "scaling": "feature scaling",
        "discrepancy": "Property 4: e, and the nearest centroid",
        "kernels": "similarities",
    },
    "ground": {
        "engines": "map and reduce over chunks: contract, local, spill",
        "parameters": "one table of all parameters",
        "rows": "containers of rows",
        "stored": "classes that model files may contain",
        "caching": "values computed once",
        "temporary": "temporary files, and those of dead processes",
        "wording": "how messages quote data",
        "typing": "type aliases",
        "version": "the package version",
        "loops": "all compiled code",
        "forking": "locks and forks",
    },
}
LAYERS = tuple(part for parts in GROUPS.values() for part in parts)

WIDTH, ROW, LEFT, PAD = 980, 58, 110, 6
PICTURE = "images/architecture.svg"


def picture() -> str:
    """The groups as rows of boxes, from top to bottom."""
    height = 30 + (ROW + 22) * len(GROUPS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        "<style>.t{font-size:14px;font-weight:600;fill:#123}.s{font-size:10.5px;fill:#456}"
        ".g{font-size:12px;fill:#777}</style>",
    ]
    for i, (group, members) in enumerate(GROUPS.items()):
        top = 14 + i * (ROW + 22)
        parts.append(f'<text class="g" x="10" y="{top + ROW / 2 + 4}">{group}</text>')
        width = (WIDTH - LEFT - 10) / len(members)
        for j, (name, said) in enumerate(members.items()):
            parts += box(LEFT + j * width, top, width - PAD, name, said)
        if i + 1 < len(GROUPS):
            x, y = LEFT + (WIDTH - LEFT) / 2, top + ROW + 7
            parts.append(f'<path d="M{x} {y} v12 m-4 -5 l4 5 l4 -5" stroke="#888" fill="none"/>')
    return "\n".join([*parts, "</svg>", ""])


def box(x: float, y: float, width: float, name: str, said: str) -> list[str]:
    """A part: its name, and what it is for in up to three lines."""
    lines = wrapped(said, int(width / 6.1))[:3]
    texts = [
        f'<text class="s" x="{x + 6:.0f}" y="{y + 29 + 12 * n:.0f}">{escape(line)}</text>'
        for n, line in enumerate(lines)
    ]
    return [
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW + 6}" rx="5" fill="#eef4fb" stroke="#9bb8d8"/>',
        f'<text class="t" x="{x + 6:.0f}" y="{y + 16}">{name}</text>',
        *texts,
    ]


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def table() -> str:
    """The same for readers: parts and what they are for."""
    rows = [f"| `{name}` | {said} |" for members in GROUPS.values() for name, said in members.items()]
    return "\n".join(["| part | what it is for |", "| --- | --- |", *rows])


def page(text: str) -> str:
    """The page with its table between the marks written anew."""
    begin, end = "<!-- parts -->", "<!-- end of parts -->"
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{table()}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    (DOCS / PICTURE).write_text(picture())
    (DOCS / "architecture.md").write_text(page((DOCS / "architecture.md").read_text()))
