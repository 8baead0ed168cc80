"""Charts as SVG, sized for a phone screen; colours come from the page's style sheet."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 26, 36
#: Values that differ by more than this factor get a logarithmic axis.
MANY_SIZES = 30
MARKS = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True)
class Point:
    """A mean and its spread at one position on the horizontal axis."""

    x: float
    y: float
    error: float = 0.0


@dataclass(frozen=True)
class Axis:
    """Maps values to positions on the page, logarithmically if ``log``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(cls, points: Sequence[Point], start: float, end: float) -> "Axis":
        """An axis with room for all points and their error bars; logarithmic for a wide range of values."""
        values = [point.y for point in points]
        if min(values) > 0 and max(values) > MANY_SIZES * min(values):
            return cls(min(values) / 1.5, max(values) * 1.5, start, end, log=True)
        ends = [point.y + sign * point.error for point in points for sign in (-1, 1)]
        pad = 0.08 * (max(ends) - min(ends)) or 1.0
        return cls(max(0.0, min(ends) - pad), max(ends) + pad, start, end)

    @property
    def ticks(self) -> list[float]:
        if not self.log:
            return ticks(self.low, self.high)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (step * 10.0**power for power in powers for step in (1, 3))
        return [step for step in steps if self.low <= step <= self.high]

    def __call__(self, value: float) -> float:
        if self.log:
            low, high, value = (math.log10(max(v, self.low)) for v in (self.low, self.high, value))
            return self.start + (value - low) / (high - low) * (self.end - self.start)
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * s for s in (1, 2, 5, 10) if power * s >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def line_chart(title: str, x_name: str, y_name: str, series: Mapping[str, Sequence[Point]]) -> str:
    """One line with error bars per series; positions on the horizontal axis are evenly spaced."""
    places = sorted({point.x for points in series.values() for point in points})
    across = Axis(0, max(1, len(places) - 1), LEFT + 24, WIDTH - RIGHT - 24)
    up = Axis.around([point for points in series.values() for point in points], HEIGHT - BOTTOM, TOP)
    drawn = [*_frame(title, x_name, y_name, up)]
    drawn += [_label(across(i), f"{x:g}") for i, x in enumerate(places)]
    for number, points in enumerate(series.values()):
        at = [(across(places.index(p.x)) + 3 * (number - len(series) / 2), p) for p in points]
        drawn.append(_line(number, [(x, up(p.y)) for x, p in at]))
        drawn += [_error(number, x, up(p.y - p.error), up(p.y + p.error)) for x, p in at if p.error]
        drawn += [_mark(number, x, up(p.y)) for x, p in at]
    return _figure(title, drawn, _legend(series))


def stacked_bars(title: str, unit: str, parts: Sequence[str], bars: Mapping[str, Sequence[float]]) -> str:
    """Horizontal bars, each the sum of its parts."""
    height = TOP + 30 * len(bars) + 6
    across = Axis(0, max(sum(values) for values in bars.values()) * 1.18, 112, WIDTH - RIGHT)
    drawn = [f'<text class="title" x="8" y="16">{escape(title)}</text>']
    for place, (name, values) in enumerate(bars.items()):
        y, before = TOP + 30 * place + 6, 0.0
        drawn.append(f'<text x="106" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        for number, value in enumerate(values):
            x, width = across(before), across(value) - across(0)
            drawn.append(f'<rect class="fill{number}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="18"/>')
            before += value
        drawn.append(f'<text x="{across(before) + 4:.1f}" y="{y + 13}">{before:.3g} {unit}</text>')
    return _figure(title, drawn, _legend(parts, kind="fill"), height)


def _frame(title: str, x_name: str, y_name: str, up: Axis) -> Iterable[str]:
    yield f'<text class="title" x="8" y="16">{escape(title)}</text>'
    for value in up.ticks:
        y = up(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    yield f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_name)}</text>'
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>'


def _label(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{text}</text>'


def _line(number: int, points: Sequence[tuple[float, float]]) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="line{number % 8}" points="{places}"/>'


def _error(number: int, x: float, low: float, high: float) -> str:
    ends = "".join(f"M{x - 3:.1f} {y:.1f}h6" for y in (low, high))
    return f'<path class="line{number % 8}" d="M{x:.1f} {low:.1f}V{high:.1f}{ends}"/>'


def _mark(number: int, x: float, y: float) -> str:
    kind, style = MARKS[(number + number // 8) % len(MARKS)], f'class="fill{number % 8}"'
    if kind == "circle":
        return f'<circle {style} cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    if kind == "square":
        return f'<rect {style} x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
    shape = "-4 0 0 -4 4 0 0 4" if kind == "diamond" else "-4 3 0 -4 4 3"
    return f'<polygon {style} points="{shape}" transform="translate({x:.1f} {y:.1f})"/>'


def _legend(names: Iterable[str], kind: str = "line") -> str:
    """In HTML, so that it wraps."""
    items = "".join(
        f'<li><svg viewBox="0 0 12 12" class="key">{_key(number, kind)}</svg>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def _key(number: int, kind: str) -> str:
    return _mark(number, 6, 6) if kind == "line" else f'<rect class="fill{number}" width="12" height="12"/>'


def _figure(title: str, drawn: Iterable[str], legend: str, height: int = HEIGHT) -> str:
    shapes = "".join(drawn)
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    return f'<svg class="chart" {box}>{shapes}</svg>{legend}'
