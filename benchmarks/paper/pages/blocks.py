"""Building blocks of a page."""

import textwrap
from dataclasses import dataclass

#: Columns in a line of Markdown.
WIDTH = 120


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Grid:
    """A table; the first column names its rows. ``**text**`` is bold."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A chart as SVG with a caption; left out of Markdown."""

    svg: str
    caption: str


Block = Heading | Text | Grid | Figure


def markdown(blocks: list[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks if not isinstance(block, Figure)) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Grid):
        lines = [block.header, ("---",) * len(block.header), *block.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    assert isinstance(block, Text)
    return textwrap.fill(block.text, WIDTH, break_long_words=False, break_on_hyphens=False)
