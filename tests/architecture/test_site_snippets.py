"""The snippets of the tutorials, the short how-to pages and the FAQ run in an empty folder, from top to bottom.

A page may have files (code blocks with a caption, which is the file's name), then examples of Python, then commands.
Pages that need Spark are run by ``tests/spark/test_documents.py``, in-depth guides by ``test_documents.py``.
"""

import codeop
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = {
    f"how-to/{name}.md" for name in ("choosing", "explaining", "sources", "objects", "spark", "extending")
}
ON_SPARK = {"tutorials/spark.md", "how-to/cluster.md"}
PAGES = sorted(
    {
        page.relative_to(DOCS).as_posix()
        for page in (*DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md"), DOCS / "faq.md")
    }
    - GUIDES
)
FENCE = re.compile(r"^```(\S+)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r":caption: (\S+)\n\n?(.*)", flags=re.DOTALL)
#: A command, which goes on after a line that ends in a backslash, and what the page says that it prints.
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
#: Where a page says ... anything may be printed.
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page, kind):
    return [text for found, text in FENCE.findall((DOCS / page).read_text()) if found == kind]


@pytest.mark.parametrize("page", PAGES)
def test_there_are_only_blocks_that_are_run(page):
    kinds = {kind for kind, _ in FENCE.findall((DOCS / page).read_text())}
    allowed = (
        {"pycon", "{toctree}"} if page in ON_SPARK else {"pycon", "console", "{code-block}", "{toctree}"}
    )
    assert kinds <= allowed


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ON_SPARK])
@pytest.mark.filterwarnings("ignore")
def test_snippets(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    before = set(sys.modules)
    for text in blocks(page, "{code-block}"):
        name, content = CAPTION.fullmatch(text).groups()
        Path(name).write_text(content)
    try:
        run_examples(page, "\n".join(blocks(page, "pycon")))
    finally:
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
                del sys.modules[name]
    for command, expected in COMMAND.findall("".join(blocks(page, "console"))):
        run_command(command, expected)


def copied(block):
    """What the site's copy button gives: lines with a prompt, without it, and empty lines."""
    return [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ")) or not line]


@pytest.mark.parametrize("page", sorted({*PAGES, *GUIDES, "reference/model-files.md"}))
def test_snippets_can_be_pasted_into_python(page):
    """Before Python 3.13 the prompt takes the end of a function or a loop from an empty line alone."""
    for block in blocks(page, "pycon"):
        statement = []
        for line in copied(block):
            statement.append(line)
            if codeop.compile_command("\n".join(statement), symbol="single"):
                statement = []
        assert not "".join(statement), f"{page}: unfinished at the end of a block: {statement}"


def run_examples(page, text):
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    wrong = []
    doctest.DocTestRunner(optionflags=LOOSE, verbose=False).run(examples, out=wrong.append)
    assert not wrong, "".join(wrong)


def run_command(command, expected):
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    if expected.strip():
        matches = doctest.OutputChecker().check_output(expected, done.stdout, LOOSE)
        assert matches, f"{command}\nexpected:\n{expected}\nfound:\n{done.stdout}"
