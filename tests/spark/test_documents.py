"""The examples for Spark in the documents run as they stand, on the session of these tests."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("docs/how-to/spark.md", 20),
        ("docs/how-to/cluster.md", 10),
        ("docs/tutorials/spark.md", 15),
        ("README.md", 5),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_examples_in_the_documents(spark, page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    for name in ("rings.apnc", "rings-again.apnc", "rings-pipeline", "labels.parquet"):
        text = text.replace(f'"{name}"', f'"{tmp_path}/{name}"')
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner().run(examples)
    assert result.attempted >= least
    assert result.failed == 0
