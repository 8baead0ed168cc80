"""From a file to a report without knowing the number of clusters, on the command line and in Python."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app

TOPICS = {
    "cooking": "salt pepper oven butter flour sugar onion garlic pan boil simmer recipe taste dish sauce",
    "football": "goal match referee striker league penalty keeper season coach kick tackle stadium fans corner cup",
    "astronomy": "orbit planet star telescope galaxy comet moon eclipse nebula gravity mass lunar probe crater dust",
    "banking": "loan interest account credit deposit branch bond rate debt fund asset audit ledger cash fee",
}
COMMON = (
    "time people year day good new first last long great little own other old right big high small next early"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def documents(n=800, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.integers(len(TOPICS), size=n)
    words = [text.split() for text in TOPICS.values()]
    texts = [" ".join([*rng.choice(words[topic], 18), *rng.choice(COMMON.split(), 10)]) for topic in topics]
    return texts, topics


def test_documents(folder):
    """A sparse file of tf-idf rows: k, labels and words of each cluster, a page."""
    texts, topics = documents()
    vectorizer = TfidfVectorizer().fit(texts)
    sparse.save_npz("texts.npz", sparse.csr_matrix(vectorizer.transform(texts)))
    (folder / "words.txt").write_text("\n".join(vectorizer.get_feature_names_out()))
    options = ("--kernel", "cosine", "--k-max", 8, "--model", "texts.apnc", "--labels", "labels.parquet")
    chosen = json.loads(run("choose", "texts.npz", *options, "--quiet", "--json"))
    assert chosen["clusters"] == len(TOPICS)
    labels = pd.read_parquet("labels.parquet")["label"]
    assert normalized_mutual_info_score(topics, labels) > 0.95
    told = json.loads(
        run("describe", "texts.apnc", "texts.npz", "--feature-names", "words.txt", "--quiet", "--json")
    )
    for cluster in told["clusters"]:
        found = {contrast["name"] for contrast in cluster["contrasts"]}
        assert any(found <= set(words.split()) for words in TOPICS.values())
    run("report", "texts.apnc", "texts.npz", "--feature-names", "words.txt", "--out", "texts.html", "--quiet")
    page = (folder / "texts.html").read_text()
    assert "Why so many clusters?" in page
    assert "How good is it?" in page
    assert "Words that set it apart" in page


def customers(n=1200, seed=0):
    """Four kinds of customers: number and category columns."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(4, size=n)
    return (
        pd.DataFrame(
            {
                "age": rng.normal(np.array([25, 45, 68, 38])[kind], 3),
                "orders": rng.poisson(np.array([40, 8, 2, 20])[kind]),
                "spend": rng.lognormal(np.array([3.0, 4.5, 3.5, 6.5])[kind], 0.25),
                "plan": np.array(["free", "basic", "basic", "business"])[kind],
                "device": np.array(["phone", "laptop", "tablet", "laptop"])[kind],
            }
        ),
        kind,
    )


def test_customers(folder):
    """Mixed columns by a ColumnTransformer, in Python."""
    frame, kind = customers()
    scale = make_column_transformer(
        (StandardScaler(), ["age", "orders", "spend"]),
        (OneHotEncoder(sparse_output=False), ["plan", "device"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    X = scale.fit_transform(frame)
    choice = apnc.choose(X, apnc.KernelKMeans(random_state=0), n_clusters=range(2, 9))
    assert choice.n_clusters == 4
    km = choice.estimator
    assert normalized_mutual_info_score(kind, km.labels_) > 0.95
    certificate = km.certify(X)
    assert certificate.verdict.startswith("As good as exact")
    page = km.report(X, folder / "customers.html", certificate=certificate, choice=choice).read_text()
    assert choice.reason.split(":")[0] in page
    assert "plan_business" in page
    fewer = km.cut(2)
    assert set(fewer.predict(X)) == {0, 1}


def test_digits(folder):
    """Classes that overlap: no recommendation, but a hint to go on with, and a memory limit that is kept."""
    X, y = load_digits(return_X_y=True)
    names = [f"pixel{j}" for j in range(64)]
    pd.DataFrame(X, columns=names).rename_axis("digit").reset_index().to_parquet("digits.parquet")
    common = ("--id-columns", "digit", "--memory-limit", "2GB", "--quiet")
    told = json.loads(run("choose", "digits.parquet", *common, "--json"))
    assert told["clusters"] is None
    assert "o clear structure" in told["reason"]
    k = int(re.search(r"\d+", told["hint"]).group())
    assert 5 <= k <= 15
    fit = ("--method", "spectral", "-k", k, "--model", "digits.apnc", "--labels", "labels.parquet")
    run("fit", "digits.parquet", *common, *fit)
    assert normalized_mutual_info_score(y, pd.read_parquet("labels.parquet")["label"]) > 0.8
    out = ("--with", "distance,membership,outlier", "--labels", "more.parquet")
    run("predict", "digits.apnc", "digits.parquet", "--quiet", *out)
    more = pd.read_parquet("more.parquet")
    assert more["outlier"].between(0, 1).all()
    np.testing.assert_allclose(more.filter(like="membership").sum(axis=1), 1)
    run("report", "digits.apnc", "digits.parquet", "--out", "digits.html", "--quiet")
    assert "clusters: the largest has" in (folder / "digits.html").read_text()
