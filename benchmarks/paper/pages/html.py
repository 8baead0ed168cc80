"""Blocks as one self-contained HTML file."""

import re
from html import escape

from benchmarks.paper.pages.blocks import Block, Figure, Heading, Text

COLOURS = ("#0a6fa8", "#c2410c", "#14804a", "#8b3fa8", "#8a6d00", "#b3175e", "#4a5568", "#0f766e")
DARK_COLOURS = ("#5db8ef", "#ff9d5c", "#5fd38f", "#d59bf0", "#e6c545", "#ff7fb5", "#b6c2d1", "#5eead4")

STYLE = """
:root { color-scheme: light dark; BRIGHT LIGHT }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e6e9ed; --soft: #9aa4b0; --rule: #343b44; --head: #1f242a; DARK } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin-top: 1.8rem; } p { max-width: 46rem; }
code { font-size: 0.92em; } a { color: var(--c0); }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 0.7rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
thead th { background: var(--head) !important; white-space: nowrap; }
td { white-space: nowrap; } td.long { white-space: normal; min-width: 12rem; text-align: left; }
@media (max-width: 40rem) { td:first-child { white-space: normal; min-width: 8rem; max-width: 10rem; }
  th, td { padding: 0.3rem 0.45rem; } }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; break-inside: avoid; } figcaption { color: var(--soft); font-size: 0.85rem; }
svg.chart { width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: var(--ink); }
svg .title { font-weight: 600; font-size: 12px; } svg .grid { stroke: var(--rule); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.15rem 0.9rem; margin: 0.2rem 0; padding: 0;
  font-size: 0.8rem; }
.key { width: 0.8rem; height: 0.8rem; margin-right: 0.3rem; vertical-align: -0.1rem; overflow: visible; }
polyline, path { fill: none; stroke-width: 1.6; }
SERIES
@media print {
  :root { BRIGHT LIGHT }
  body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; }
  table { font-size: 8pt; break-inside: avoid; } thead th, td { padding: 0.15rem 0.4rem; white-space: normal; }
  h2, h3 { break-after: avoid; } }
"""

BRIGHT = "--paper: #fff; --ink: #1b1f24; --soft: #5b6470; --rule: #d9dee4; --head: #f2f4f7;"


def style() -> str:
    series = "\n".join(
        f".line{i} {{ stroke: var(--c{i}); }} .fill{i} {{ fill: var(--c{i}); }}" for i in range(len(COLOURS))
    )
    light, dark = (" ".join(f"--c{i}: {c};" for i, c in enumerate(cs)) for cs in (COLOURS, DARK_COLOURS))
    return (
        STYLE.replace("SERIES", series)
        .replace("BRIGHT", BRIGHT)
        .replace("LIGHT", light)
        .replace("DARK", dark)
        .strip()
    )


def html(title: str, blocks: list[Block]) -> str:
    body = "\n".join(_grouped(blocks))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style()}\n</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _grouped(blocks: list[Block]) -> list[str]:
    """Put consecutive charts into one grid."""
    parts: list[str] = []
    inside = False
    for block in blocks:
        if isinstance(block, Figure) != inside:
            parts.append("</div>" if inside else '<div class="figures">')
            inside = not inside
        parts.append(_html(block))
    return [*parts, "</div>"] if inside else parts


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{_inline(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Figure):
        return f"<figure>{block.svg}<figcaption>{_inline(block.caption)}</figcaption></figure>"
    head = "".join(f"<th>{_inline(text)}</th>" for text in block.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in block.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(text: str) -> str:
    return f'<td class="long">{_inline(text)}</td>' if len(text) > 60 else f"<td>{_inline(text)}</td>"


def _inline(text: str) -> str:
    text = escape(text, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[(.+?)\]\((.+?)\)", r'<a href="\2">\1</a>', text)
