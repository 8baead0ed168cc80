"""What the command line says of odd data: columns that are left out, and nothing that a terminal would obey."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app
from apnc.wording import LONGEST, told

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(town="Bern")
    frame.to_csv("rows.csv")
    frame.assign(id=np.arange(60)).to_parquet("rows.parquet")


def run(*words, code=0):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    assert "\x1b" not in done.output
    assert "\x07" not in done.output
    return done


@pytest.mark.parametrize(
    ("data", "listed"),
    [("rows.csv", "'' (an index), 'town' (text)"), ("rows.parquet", "'town' (text), 'id' (an index)")],
)
def test_fit_and_plan_say_what_is_left_out_and_predict_need_not(data, listed):
    said = f"apnc: warning: {data}: 2 columns are not features: {listed}. To use one"
    assert said in run("plan", data, "-k", "2").stderr
    done = run("fit", data, "-k", "2", "--quiet", "--model", "m.apnc")
    assert said in done.stderr
    assert "2: a, b" in done.stdout
    assert run("predict", "m.apnc", data, "--quiet", "--labels", "l.csv").stderr == ""
    assert list(apnc.load("m.apnc").feature_names_in_) == ["a", "b"]


def test_options_silence_the_warning():
    for options in (["--exclude", "town,id"], ["--id-columns", "id,town"], ["--columns", "a,b"]):
        assert run("plan", "rows.parquet", "-k", "2", *options).stderr == ""


def test_control_characters_of_data_are_escaped():
    Path("odd.csv").write_text(f"{ESCAPE}a,b,c\n" + "1,2,x\n3,4,y\n5,6,z\n" * 5)
    assert (
        r"\x1b]0;owned\x07\x1b[31ma"
        in run("fit", "odd.csv", "-k", "2", "--columns", "d", "--model", "m", code=2).stderr
    )
    done = run("fit", "odd.csv", "-k", "2", "--quiet", "--model", "m.apnc")
    assert r"\x1b]0;owned" in done.stdout
    run("predict", "m.apnc", "rows.csv", "--labels", "l.csv", code=2)
    run("fit", "odd.csv", "-k", "2", "--columns", f"{ESCAPE}c", "--model", "m", code=2)
    run("fit", f"{ESCAPE}.csv", "-k", "2", "--model", "m", code=2)
    run("inspect", "m.apnc")


def test_endless_names_end_somewhere():
    Path("wide.csv").write_text(
        ",".join(f"{'x' * 500}{j}" for j in range(40)) + "\n" + ",".join(["1"] * 40) + "\n"
    )
    said = run("fit", "wide.csv", "-k", "2", "--columns", "d", "--model", "m", code=2).stderr
    assert len(said) < LONGEST + 50
    assert "there is no column 'd'" in said
    with zipfile.ZipFile("long.apnc", "w") as archive:
        archive.writestr("y" * 60_000, "")
    said = run("inspect", "long.apnc", code=2).stderr
    assert len(said) < LONGEST + 50
    assert "names are plain, without folders" in said


def test_messages_keep_letters_of_all_languages():
    assert told("Größe «π» 中文") == "Größe «π» 中文"
    assert told("a\x00b\u202ec\udc80") == r"a\x00b\u202ec\udc80"


def test_a_line_is_never_longer_than_it_may_be():
    assert len(told("x" * 10_000)) == LONGEST == 400
    assert told("a" * 10_000 + " Do this.").endswith("a Do this.")


def test_options_that_are_nested_without_end():
    Path("deep.toml").write_text(f"n-clusters = {'[' * 500}{']' * 500}\n")
    said = run("fit", "rows.csv", "--config", "deep.toml", "--model", "m.apnc", code=2).stderr
    assert "deep.toml is not a file of options: its values are nested too deep." in said
