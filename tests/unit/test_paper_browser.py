"""The page of results in a browser: on a phone, in the dark, and on paper."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.paper.pages.html import html
from benchmarks.paper.pages.numbers import Rows
from benchmarks.paper.render import TITLE, extras, results
from tests.paper.rows import made_up_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
)

COMMITTED = Path(__file__).parents[2] / "docs" / "results" / "paper-results.html"
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
#: Contrast that WCAG asks of text.
READABLE = 4.5
CONTRAST = """() => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = text => { const c = text.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]); };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return ['h2', 'td', 'p', 'figcaption', 'svg.chart text'].map(name => document.querySelector(name)).filter(Boolean)
    .map(e => [getComputedStyle(e)[e.tagName === 'text' ? 'fill' : 'color'], paper])
    .map(([text, paper]) => { const ink = light(text);
      return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); }); }"""


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A page with every table and chart in it."""
    rows = Rows(list(made_up_rows()))
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(html(TITLE, [*results(rows), *extras(rows)]))
    return path


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, size, **options):
    """The page; fails if it asks for anything else or complains."""
    page = browser.new_page(viewport=size, **options)
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    yield page
    assert asked == [path.as_uri()]
    assert said == []
    page.close()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("which", ["made up", "committed"])
def test_the_page_does_not_scroll_sideways(browser, made_up, size, which):
    with opened(browser, made_up if which == "made up" else COMMITTED, size) as page:
        wide, shown = page.evaluate(
            "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert shown == size["width"]
        assert wide <= shown


def test_wide_tables_scroll_within_and_keep_their_first_column(browser, made_up):
    with opened(browser, made_up, PHONE) as page:
        box = page.locator(".wide").filter(has=page.locator("th", has_text="embedding, l = 1500")).first
        assert box.evaluate("e => e.scrollWidth > e.clientWidth")
        box.evaluate("e => { e.scrollLeft = 200; }")
        first, around = box.locator("tbody td").first.bounding_box(), box.bounding_box()
        assert first["x"] == pytest.approx(around["x"], abs=1)


def test_no_table_is_cut_off_on_a_phone(browser, made_up):
    """What is wider than the screen can be reached by scrolling its own box."""
    with opened(browser, made_up, PHONE) as page:
        reached = page.evaluate(
            """() => [...document.querySelectorAll('table')].map(table => { const box = table.closest('.wide');
              box.scrollLeft = 1e6; const last = table.querySelector('th:last-child').getBoundingClientRect();
              return [box.getBoundingClientRect().right, last.right]; })"""
        )
        assert len(reached) > 30
        assert max(box for box, _ in reached) <= PHONE["width"]
        assert all(last <= box + 1 for box, last in reached)


def test_charts_can_be_read_on_a_phone(browser, made_up):
    with opened(browser, made_up, PHONE) as page:
        charts = page.locator("svg.chart")
        assert charts.count() > 20
        heights = page.evaluate(
            "() => [...document.querySelectorAll('svg.chart text')].map(e => e.getBoundingClientRect().height)"
        )
        assert min(heights) >= 9
        boxes = page.evaluate(
            "() => [...document.querySelectorAll('svg.chart')].map(e => e.getBoundingClientRect().right)"
        )
        assert max(boxes) <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser, made_up, scheme):
    with opened(browser, made_up, DESK, color_scheme=scheme) as page:
        found = page.evaluate(CONTRAST)
        assert len(found) == 5
        assert min(found) >= READABLE
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_print_is_dark_on_white_and_cuts_no_table(browser, made_up):
    with opened(browser, made_up, {"width": 700, "height": 990}, color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert min(page.evaluate(CONTRAST)) >= READABLE
        widest = page.evaluate(
            "() => Math.max(...[...document.querySelectorAll('table')].map(e => e.getBoundingClientRect().right))"
        )
        assert widest <= 700
