"""A Spark session for the tests; without Java or pyspark they are skipped."""

import os

import pytest


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark", reason="pyspark is missing")
    import apnc.spark

    try:
        apnc.spark.starting.check_java()
    except apnc.spark.JavaMissingError as error:
        pytest.skip(str(error))
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    settings["spark.ui.showConsoleProgress"] = "false"
    if os.environ.get("APNC_SPARK") == "connect":
        session = apnc.spark.session(**settings, **{"spark.remote": "local[2]"})
    else:
        session = apnc.spark.session("local[2]", **settings)
    yield session
    session.stop()
