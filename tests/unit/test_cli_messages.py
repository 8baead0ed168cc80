"""What the command line says of odd data: columns that are left out, and nothing that a terminal would obey."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import apnc
from apnc.cli.app import app
from apnc.cli.failures import LINE
from apnc.cli.standard_streams import prepare_streams
from apnc.wording import LONGEST, told

#: A title, a colour, both forms of the control sequence introducer, writing from right to left, and half a character.
ESCAPE = "\x1b]0;owned\x07\x1b[31m\x9b31m\u202e\udc80"
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
    for text in (done.stdout, done.stderr):
        assert all(line.isprintable() for line in text.split("\n")), repr(text)
    if "--debug" not in words:
        assert all(len(line) <= LINE for line in done.stderr.split("\n"))
    if code == 2:
        assert done.stderr.splitlines()[-1].startswith("apnc: ")
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


def write(name, text):
    Path(name).write_bytes(text.encode(errors="replace"))


def test_control_characters_of_data_are_escaped():
    write("odd.csv", f"{ESCAPE}a,b,c\n" + "1,2,x\n3,4,y\n5,6,z\n" * 5)
    assert (
        r"\x1b]0;owned\x07\x1b[31m\x9b31m\u202e?a"
        in run("fit", "odd.csv", "-k", "2", "--columns", "d", "--model", "m", code=2).stderr
    )
    done = run("fit", "odd.csv", "-k", "2", "--quiet", "--model", "m.apnc")
    assert r"\x1b]0;owned" in done.stdout
    run("predict", "m.apnc", "rows.csv", "--labels", "l.csv", code=2)
    run("fit", "odd.csv", "-k", "2", "--columns", f"{ESCAPE}c", "--model", "m", code=2)
    run("fit", f"{ESCAPE}.csv", "-k", "2", "--model", "m", code=2)
    run("inspect", "m.apnc")


WIDE = "x" * 3000
ODD = {"escapes": ESCAPE, "lines": "a\nb\r\nc\x85d\u2028e", "endless": WIDE}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
def test_nothing_of_an_option_reaches_the_terminal_raw(odd, debug):
    fit = ["fit", "rows.parquet", *debug, "-k", "2", "--quiet"]
    for words in (
        [odd],
        ["fit", odd],
        [*fit, f"--{odd}", "1"],
        [*fit, "--columns", odd, "--model", "m"],
        [*fit, "--model", f"{odd}/m"],
        [*fit, "--labels", odd],
        [*fit, "--kernel", odd, "--model", "m"],
        [*fit, "--kernel", f"{odd}:{odd}", "--model", "m"],
        [*fit, "--method", odd, "--model", "m"],
        [*fit, "--gamma", odd, "--model", "m"],
        [*fit, "--memory-limit", odd, "--model", "m"],
        [*fit, "--config", odd, "--model", "m"],
        [*fit, "--format", odd, "--model", "m"],
        ["inspect", odd],
        ["evaluate", odd, "rows.csv"],
    ):
        run(*words, code=2)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_nothing_of_a_configuration_reaches_the_terminal_raw(odd):
    plain = odd.encode(errors="ignore").decode()
    for text in (
        f"{json.dumps(plain)} = 1",
        f"gamma = {json.dumps(plain)}",
        f"columns = [{json.dumps(plain)}]",
        f"= {plain}",
    ):
        write("c.toml", text)
        run("fit", "rows.parquet", "-k", "2", "--model", "m", "--config", "c.toml", code=2)


def test_nothing_of_results_reaches_the_terminal_raw():
    """Names of columns and classes in summaries and tables, which have as many lines as before."""
    name = f"{ESCAPE[:-1]}\nrows  9"
    frame = pd.DataFrame(X, columns=["a", name])
    frame.to_parquet("odd.parquet")
    done = run("fit", "odd.parquet", "-k", "2", "--quiet", "--model", "m.apnc", "--labels", "l.csv")
    assert sum(line.startswith("rows ") for line in done.stdout.splitlines()) == 1
    for words in (["inspect", "m.apnc"], ["describe", "m.apnc", "odd.parquet", "--quiet"]):
        run(*words)
        shown = run(*words, "--json").stdout
        assert json.dumps(name) in json.dumps(json.loads(shown))
        assert shown.count("\n") == 1
    pd.DataFrame({"row": range(60), "label": [name, ESCAPE[:-1]] * 30}).to_csv("truth.csv", index=False)
    run("evaluate", "l.csv", "truth.csv")
    shown = run("evaluate", "l.csv", "truth.csv", "--json").stdout
    assert json.dumps(name) in json.dumps(json.loads(shown))


def test_names_of_files_that_are_no_text():
    """They are written as they are and shown escaped; pyarrow takes none."""
    data, model = (os.fsdecode(name) for name in (b"r\xff.npy", b"m\xff.apnc"))
    np.save(data, X)
    fit = ["fit", data, "-k", "2", "--quiet", "--model", model]
    assert r"m\udcff.apnc" in run(*fit).stdout
    assert json.loads(run(*fit, "--json").stdout)["model"] == model
    assert r"m\udcff.apnc" in run("inspect", model).stdout
    run(*fit, "--labels", os.fsdecode(b"l\xff.csv"), code=2)


def test_messages_of_the_library_are_cut_and_escaped_too():
    with pytest.raises(ValueError, match=r"\\x1b\[31m") as caught:
        apnc.open("rows.parquet", columns=[ESCAPE, WIDE])
    assert len(str(caught.value)) <= LONGEST


def test_endless_names_end_somewhere():
    Path("wide.csv").write_text(
        ",".join(f"{'x' * 500}{j}" for j in range(40)) + "\n" + ",".join(["1"] * 40) + "\n"
    )
    said = run("fit", "wide.csv", "-k", "2", "--columns", "d", "--model", "m", code=2).stderr
    assert len(said) <= LINE + 1
    assert "there is no column 'd'" in said
    with zipfile.ZipFile("long.apnc", "w") as archive:
        archive.writestr("y" * 60_000, "")
    said = run("inspect", "long.apnc", code=2).stderr
    assert len(said) <= LINE + 1
    assert "names are plain, without folders" in said


def test_a_letter_that_standard_output_has_not_is_escaped(monkeypatch):
    import io
    import sys

    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    prepare_streams()
    print("Größe", flush=True)
    assert raw.getvalue() == rb"Gr\xf6\xdfe" + b"\n"


def test_what_is_cut_has_the_length_that_was_asked_for():
    assert len(told("x" * 2000, 400)) == 400
    assert told("x" * 400, 400) == "x" * 400


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
