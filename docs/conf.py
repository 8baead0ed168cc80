"""The site: pages in Markdown, the gallery from ``examples/``, the reference from docstrings."""

import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from apnc import __version__  # noqa: E402
from docs import parameter_page  # noqa: E402
from tests.unit.test_examples import EXAMPLES  # noqa: E402

parameter_page.write(Path(__file__).parent)

project, author, copyright = "apnc", "the apnc developers", "the apnc developers"
version = release = __version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.zip",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
# Functions among the settings of the gallery cannot be cached.
suppress_warnings = ["config.cache"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# Without it the button leaves out the second line of a command.
copybutton_line_continuation_character = "\\"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def few_rows(conf, path):
    """For a quick build, have the next script run on as few rows as in the tests."""
    warnings.simplefilter("ignore")
    if os.environ.get("APNC_GALLERY") == "small":
        os.environ["ROWS"] = str(EXAMPLES[Path(path).stem][0])


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", few_rows),
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "apnc"
html_static_path = ["_static"]
html_css_files = ["apnc.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def ours(app, what, name, item, skip, options):
    """Leave out what scikit-learn adds to every estimator."""
    module = getattr(item, "__module__", None) or ""
    return True if module.startswith("sklearn.") or name.endswith("_request") else None


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", ours)
