"""The documentation's files, by their addresses on the hub; and what explains each error."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

PREFIX = "/docs"
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")
SITE = "docs/site/"
"""Pages of the site alone (`make docs`)."""
TYPES = {
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".ipynb": "application/x-ipynb+json",
}
"""Files that are served as they are."""


@dataclass(frozen=True, kw_only=True)
class ManualSection:
    """A heading of a page with the text below it, up to the next heading.

    `page` is the page's address, `title` its title, `anchor` what follows `#` in the address.
    """

    page: str
    title: str
    heading: str
    anchor: str
    text: str

    @property
    def url(self) -> str:
        """The section's address."""
        return f"{self.page}#{self.anchor}" if self.anchor else self.page


@dataclass(frozen=True, kw_only=True)
class Library:
    """The documentation: pages and other files by address, read from a folder.

    The folder holds `docs/` and `ROOT_PAGES`.
    """

    folder: Path
    pages: Mapping[str, str]  # address -> file below the folder
    files: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path) -> Library:
        """Return the documentation in a folder."""
        names_found = [name for name in ROOT_PAGES if (folder / name).is_file()]
        inner = folder / "docs"
        names = [path.relative_to(folder).as_posix() for path in sorted(inner.rglob("*.*"))]
        names_found += [name for name in names if not name.startswith(SITE)]
        return cls(
            folder=folder,
            pages={address(name): name for name in names_found if name.endswith(".md")},
            files={address(name): name for name in names_found if Path(name).suffix in TYPES},
        )

    def read(self, url: str) -> str:
        """Return a page's text in Markdown; raises KeyError for an unknown address."""
        return (self.folder / self.pages[url]).read_text("utf-8")

    def resolve(self, page: str, link: str) -> str | None:
        """Return the address that a link in a file leads to; none if the hub does not serve it."""
        target, mark, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            return link
        if not target:
            return link
        url = address(posixpath.normpath(posixpath.join(posixpath.dirname(page), target)))
        return url + mark + anchor if url in self.pages or url in self.files else None

    def below(self, url: str) -> Sequence[tuple[str, str]]:
        """Return title and address of the pages in a page's folder, such as the decisions."""
        if not self.pages[url].endswith("README.md") or url == PREFIX:
            return []
        return [
            (title_of(self.read(page)), page) for page in self.pages if page.startswith(f"{url}/")
        ]

    def sections(self) -> Sequence[ManualSection]:
        """Return all sections of all pages; a page's first has its title."""
        return [section for url in self.pages for section in split(url, self.read(url))]


def address(name: str) -> str:
    """Return the address of a file of the documentation."""
    inner = name.removeprefix("docs/").removesuffix(".md").removesuffix("README").rstrip("/")
    return f"{PREFIX}/{inner}" if inner else PREFIX


def anchor_of(heading: str, anchors: Counter[str]) -> str:
    """Return a heading's anchor, as GitHub makes it, and count it among those of its page."""
    anchor = re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
    anchors[anchor] += 1
    return anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor] - 1}"


def split(url: str, text: str) -> list[ManualSection]:
    """Return the sections of a page in Markdown."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced and (heading := re.match(r"#{1,6} (.+)", line)):
            parts.append((plain(heading[1]), []))
        else:
            parts[-1][1].append(line)
    headed = [(heading, lines) for heading, lines in parts if heading]
    anchors = Counter[str]()
    return [
        ManualSection(
            page=url,
            title=headed[0][0],
            heading=heading,
            anchor=anchor_of(heading, anchors) if lines is not headed[0][1] else "",
            text=plain("\n".join(lines)).strip(),
        )
        for heading, lines in headed
    ]


def title_of(text: str) -> str:
    """Return the title of a page in Markdown: its first heading."""
    return next((plain(line[2:]) for line in text.splitlines() if line.startswith("# ")), "")


def plain(text: str) -> str:
    """Return Markdown as words: links are their texts, marks are gone."""
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    return re.sub(r"[`*|]|^[#>-]+ ", "", text, flags=re.MULTILINE)


@cache
def library() -> Library:
    """Return the documentation that came with the hub: beside this module, or in a checkout."""
    here = Path(__file__).parent
    return Library.of(here if (here / "docs").is_dir() else here.parents[2])


STATUSES = {
    401: "security#tokens",
    403: "security#tokens",
    413: "security#limits-on-what-comes-in",
    429: "security#limits-on-what-comes-in",
}
"""By status of an error; the others are explained in one place."""


_FILE = re.compile(r"\bdocs/([a-z-]+)\.md(#[a-z0-9-]+)?")


def linked(text: str) -> Markup:
    """Return a text whose files of the documentation are links to the hub's own pages."""
    return Markup(_FILE.sub(rf'<a href="{PREFIX}/\1\2">docs/\1.md</a>', str(escape(text))))  # noqa: S704


def address_of(place: str) -> str:
    """Return the address of a place in the documentation, such as `organisers#jobs`."""
    return f"{PREFIX}/{place}" if place else PREFIX


def help_of_error(status: int) -> str:
    """Return the place of what explains an error."""
    return STATUSES.get(status, "interfaces#errors")


def help_of_fault(code: int) -> str:
    """Return the address of what explains a fault: its code is an error's status, or negative."""
    return address_of(help_of_error(code) if code > 0 else "interfaces#xml-rpc")
