"""Configuration of the documentation's site: `make docs` builds it with Sphinx, MyST and Furo.

The pages are those of `docs/`, as GitHub and a running hub (`/docs`) show them. The site adds the
reference of operations and of the Python API, out of the docstrings. The contents are those of
`docs/README.md`: each of its headings with links becomes a part of the side bar.
"""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.reference import to_markdown

ROOT = Path(__file__).parents[2]
Path(__file__).with_name("operations.md").write_text(to_markdown(OPERATIONS), "utf-8")

project = "BioCreative Meta-Server"
author = "The BioCreative Meta-Server developers"
project_copyright = author
version = release = version_of("biocreative-metaserver")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md"]
exclude_patterns = ["docs/notebooks"]
root_doc = "docs/README"
suppress_warnings = ["misc.highlighting_failure"]  # a shortened JSON has lines of three dots
default_role = "code"
smartquotes = False  # options such as --out stay as they are typed
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True}
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"{project} {version}"
html_extra_path = ["index.html"]  # leads to the front page
html_favicon = "../../metaserver/web/static/icon.svg"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))


def contents(text: str) -> str:
    """Return the trees of contents of the front page: one for each heading with links."""
    trees = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.splitlines()[0]
        links = re.findall(r"^- \[[^\]]+\]\(([^)#]+)\.md\)", part, re.MULTILINE)
        trees.append(_tree(heading, [one.replace("../", "/") for one in links]))
    trees.append(_tree("Reference", ["site/operations", "site/scoring", "site/annotators"]))
    return "\n".join([text, *trees])


def _tree(caption: str, names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""])


def read(_app: Any, page: str, source: list[str]) -> None:
    """Add to the pages what only the site has; links that show a file's name show its title."""
    source[0] = re.sub(r"\[[\w-]+\.md\](?=\([^)#]+\))", "[]", source[0])
    if page == root_doc:
        source[0] = contents(source[0])
    elif page == "docs/adr/README":
        source[0] += "\n```{toctree}\n:glob:\n:titlesonly:\n\n[0-9]*\n```\n"


def link(_app: Any, _what: str, _name: str, _of: Any, _options: Any, lines: list[str]) -> None:
    """Make links of the pages that docstrings name."""
    lines[:] = [re.sub(r"\bdocs/([\w-]+)\.md", r":doc:`/docs/\1`", line) for line in lines]


def setup(app: Any) -> None:
    """Let Sphinx call `read` and `link`."""
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", link)
