"""Reports: what is on the page, and how it looks and works in a browser."""

import re
import shutil
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_iris

import apnc
from apnc import KernelKMeans, SpectralClustering
from apnc.report.map import layout, leading, placed
from apnc.report.sample import Sampled

ATTACK = "</script><script>document.title='attacked'</script>"
CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
)
WIDTHS = {"phone": 360, "tablet": 800, "desk": 1280}


@pytest.fixture(scope="module")
def iris():
    found = load_iris()
    return found.data, found.feature_names


@pytest.fixture(scope="module")
def page(iris, tmp_path_factory):
    """A report with everything on it, whose texts try to escape."""
    X, names = iris
    choice = apnc.choose(X, KernelKMeans(random_state=0), n_clusters=range(2, 5), fit=False)
    km = KernelKMeans(3, random_state=0).fit(X)
    path = tmp_path_factory.mktemp("report") / "report.html"
    hostile = [f"{ATTACK}{names[0]}", *names[1:]]
    km.report(X, path, title=ATTACK, feature_names=hostile, certificate=km.certify(X), choice=choice)
    return path


def test_the_page_holds_everything(page):
    text = page.read_text()
    for heading in ("Sizes", "Map", "How clusters merge", "Clusters", "How good is it?", "Settings"):
        assert re.search(rf"<h2[^>]*>{re.escape(heading)}</h2>", text)
    assert "150 rows in 3 clusters" in text
    assert re.search(r"<a href=\"#answer1\">How good is it\?</a> As good as exact", text)
    assert "contains rows of the data" in text
    assert "KernelKMeans(" in text
    assert len(text) < 5e6


def test_ids_are_shown(iris, tmp_path):
    X, names = iris
    table = pa.table({"key": [f"flower-{i}" for i in range(150)], **dict(zip(names, X.T, strict=True))})
    source = apnc.open(table, id_columns=["key"])
    km = KernelKMeans(3, random_state=0).fit(source)
    km.report(source, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    for examples in km.prototypes(source, n=5):
        assert all(name in text for name in examples.ids["key"])
    assert "row 1" not in text
    assert text.count("flower-") > 150, "on the map, too"


def test_text_in_the_data_stays_text(page):
    text = page.read_text()
    assert ATTACK not in text
    assert "&lt;/script&gt;" in text


def title(path):
    return re.search(r"<title>(.*)</title>", path.read_text()).group(1)


def test_the_title_names_the_data(iris, tmp_path):
    X, target = iris[0], tmp_path / "r.html"
    columns = {"key": [f"flower {i}" for i in range(len(X))], **{f"x{j}": X[:, j] for j in range(4)}}
    pq.write_table(pa.table(columns), tmp_path / "flowers.parquet")
    np.save(tmp_path / "flowers.npy", X)
    km = KernelKMeans(3, random_state=0).fit(X)
    assert title(km.report(X, target)) == "Clusters"
    assert title(km.report(X, target, title="Mine")) == "Mine"
    assert title(km.report(tmp_path / "flowers.npy", target)) == "Clusters of flowers.npy"
    both = apnc.open([tmp_path / "flowers.parquet"] * 2, exclude=["key"])
    assert (
        title(KernelKMeans(3, random_state=0).fit(both).report(both, target))
        == "Clusters of flowers.parquet and 1 more"
    )
    keyed = apnc.open(str(tmp_path / "flowers.parquet"), id_columns=["key"])
    by_name = KernelKMeans(3, random_state=0).fit(keyed)
    assert title(by_name.report(keyed, target)) == "Clusters of flowers.parquet"
    text = target.read_text()
    assert "from flowers.parquet." in text
    assert re.search(r"<td class=\"name\">flower \d+</td>", text)


def test_words_and_objects(tmp_path):
    rng = np.random.default_rng(0)
    words = sparse.csr_array((rng.random((60, 12)) < 0.3) * rng.random((60, 12)))
    names = [f"word{j}" for j in range(12)]
    km = KernelKMeans(2, kernel="cosine", random_state=0).fit(words)
    text = km.report(words, tmp_path / "words.html", feature_names=names).read_text()
    assert "Words that set it apart" in text
    assert re.search(r"<td class=\"text\">word\d+, word\d+", text)
    objects = [f"{letter * (i % 7 + 1)}<b>" for i in range(40) for letter in "ab"]
    km = KernelKMeans(2, kernel=shared_letters, random_state=0).fit(objects)
    text = km.report(objects, tmp_path / "objects.html").read_text()
    assert "aaa&lt;b&gt;" in text
    assert "set it apart</h4>" not in text


def shared_letters(A, B):
    return np.array([[sum(a.count(c) * b.count(c) for c in "ab") + 0.1 for b in B] for a in A])


@pytest.mark.parametrize(
    "estimator", [KernelKMeans(1), SpectralClustering(1), KernelKMeans(2, embedding="stable")]
)
def test_few_clusters_and_other_discrepancies(estimator, iris, tmp_path):
    path = estimator.set_params(random_state=0).fit(iris[0]).report(iris[0], tmp_path / "one.html")
    assert ("How clusters merge" in path.read_text()) == (estimator.n_clusters > 1)


def test_a_report_does_not_depend_on_the_order_of_rows(iris, tmp_path):
    X = iris[0][np.unique(iris[0], axis=0, return_index=True)[1]]
    km, order = KernelKMeans(3, random_state=0).fit(X), np.random.default_rng(0).permutation(len(X))
    texts = [km.report(rows, tmp_path / "r.html").read_text() for rows in (X, X[order])]
    parts = [re.search(r"<h2>Sizes.*?<h2>Map", text, re.DOTALL).group() for text in texts]
    assert parts[0] == parts[1]


def test_errors(iris, tmp_path):
    X = iris[0]
    km = KernelKMeans(2, random_state=0)
    with pytest.raises(Exception, match="not fitted"):
        km.report(X, tmp_path / "r.html")
    km.fit(X)
    with pytest.raises(ValueError, match=r"ends in \.html"):
        km.report(X, tmp_path / "r.pdf")
    with pytest.raises(ValueError, match="features"):
        km.report(X[:, :2], tmp_path / "r.html")
    with pytest.raises(ValueError, match="feature_names has 1"):
        km.report(X, tmp_path / "r.html", feature_names=["a"])
    with pytest.raises(FileNotFoundError, match="no folder"):
        km.report(X, tmp_path / "nowhere" / "r.html")
    assert not list(tmp_path.iterdir())


def test_clusters_far_apart_are_far_apart_on_the_map():
    centers = np.array([[0.0, 0], [1, 0], [0, 9], [30, 0]])
    squares = ((centers[:, None] - centers) ** 2).sum(axis=2)
    places = layout(squares)
    gaps = squareform(pdist(places))
    assert gaps[0, 1] == gaps[gaps > 0].min()
    assert gaps.sum(axis=1).argmax() == 3
    np.testing.assert_array_equal(layout(np.zeros((3, 3))), np.zeros((3, 2)))


def test_rows_lie_between_the_clusters_that_they_are_near_to():
    centroids = np.array([[0.0, 0, 0], [4, 0, 0]])
    Y = np.array([[0.0, 0, 0], [4, 0, 0], [2, 0, 0]])
    shares = np.array([[1.0, 0], [0, 1], [0.5, 0.5]])
    found = placed(Y, np.array([0, 1, 0]), shares, centroids, np.array([[0.0, 0], [1, 0]]))
    assert found[0, 0] < found[2, 0] < found[1, 0]


def test_leading_directions_are_those_of_the_svd():
    rows = np.random.default_rng(0).normal(size=(50, 6)) * [5, 3, 1, 1, 0.1, 0.1]
    expected = np.linalg.svd(rows)[2][:2]
    np.testing.assert_allclose(np.abs(leading(rows, 2) @ expected.T), np.eye(2), atol=1e-9)
    assert leading(np.zeros((3, 4)), 2).shape == (0, 4)


def test_the_sample_keeps_each_key_once():
    ids = np.empty((2, 0), object)
    one = Sampled(np.array([3, 1], np.uint64), np.array([0, 1]), np.ones((2, 2)), np.array([0, 1]), ids)
    two = Sampled(np.array([1, 2], np.uint64), np.array([2, 3]), np.zeros((2, 2)), np.array([1, 1]), ids)
    both = one + two
    assert both.keys.tolist() == [1, 2, 3]
    assert both.numbers.tolist() == [1, 3, 0]


@contextmanager
def opened(path, width, **options):
    """The page in a browser; fails if it asks for anything else, or an error occurs."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector(".bk-Figure, .bk-figure", state="attached")
        page.wait_for_function("() => Bokeh.documents.length > 0")
        yield page
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
        assert said == []
        browser.close()


@needs_browser
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_page_fits_the_screen(page, width):
    with opened(page, width) as shown:
        wide = shown.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width
        assert shown.title() == ATTACK
        cut = shown.evaluate(
            """() => [...document.querySelectorAll('table')].filter(t => !t.closest('.wide')
              && t.getBoundingClientRect().right > innerWidth).length"""
        )
        assert cut == 0
        reach = (
            "q => Math.max(...[...document.querySelectorAll(q)].map(e => e.getBoundingClientRect().right))"
        )
        assert shown.evaluate(reach, "#sizes, .tree svg, .cluster table") <= width
        leaves, branches = (shown.locator(part).bounding_box() for part in (".tree ol", ".tree svg"))
        assert leaves["height"] == branches["height"]


@needs_browser
def test_a_finger_on_the_map_scrolls_the_page(page):
    with opened(page, WIDTHS["phone"], has_touch=True, is_mobile=True) as shown:
        shown.locator(".bk-Figure").evaluate("map => map.scrollIntoView({block: 'center'})")
        before, touch = shown.evaluate("scrollY"), shown.context.new_cdp_session(shown)
        for kind, y in (("touchStart", 500), *(("touchMove", y) for y in range(480, 300, -20))):
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": 180, "y": y}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        shown.wait_for_function("before => scrollY > before + 100", arg=before, timeout=10_000)


@needs_browser
def test_clicks_show_one_cluster_and_all_again(page):
    faint = "() => Bokeh.documents[0].get_model_by_name('points').data.alpha.filter(a => a < 0.5).length"
    with opened(page, WIDTHS["desk"]) as shown:
        button = shown.locator(".names button").nth(1)
        assert shown.evaluate(faint) == 0
        button.click()
        assert shown.locator("section.cluster:visible").count() == 1
        assert shown.evaluate(faint) > 50
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
        assert shown.locator("section.cluster:visible").count() == 3
        assert shown.evaluate(faint) == 0
        shown.evaluate("() => choose(2)")
        shown.emulate_media(media="print")
        assert shown.locator("section.cluster:visible").count() == 3
