"""Pages of the documentation as HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup

from metaserver.web.manual.library import PREFIX, Library, anchor_of, plain, title_of

SCROLL = '<div class="scroll" role="group" aria-label="{}" tabindex="0">'


@dataclass(frozen=True, kw_only=True)
class ManualPage:
    """A page: its title, its HTML with the title as `h1`, and its `h2` headings with anchors."""

    title: str
    body: Markup
    headings: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Door:
    """A part of the documentation's front page: its heading, and the pages that it links."""

    heading: str
    links: Sequence[tuple[str, str]]  # label, address


def render(library: Library, url: str) -> ManualPage:
    """Return a page as HTML; raises KeyError for an unknown address.

    Takes up to some dozens of milliseconds.
    """
    env: dict[str, Any] = {"library": library, "page": library.pages[url], "headings": []}
    body = _parser().render(library.read(url), env)
    [title, *_] = [heading for level, heading, _ in env["headings"] if level == 1] or [url]
    return ManualPage(
        title=title,
        body=Markup(body),  # noqa: S704 (our own text, in which HTML is text)
        headings=[(text, anchor) for level, text, anchor in env["headings"] if level == 2],
    )


def doors(library: Library) -> Sequence[Door]:
    """Return the parts of the front page, each with its links to pages of the documentation."""
    front = library.pages[PREFIX]
    doors_found: list[Door] = []
    tokens = _parser().parse(library.read(PREFIX), {"library": library, "page": front})
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            doors_found.append(Door(heading=plain(tokens[index + 1].content), links=[]))
        elif doors_found and token.type == "inline":
            links = [*doors_found[-1].links, *_links(token.children or [])]
            doors_found[-1] = Door(
                heading=doors_found[-1].heading, links=list(dict.fromkeys(links))
            )
    return [door for door in doors_found if door.links]


def _links(children: Sequence[Token]) -> list[tuple[str, str]]:
    return [
        (children[index + 1].content, str(token.attrs["href"]))
        for index, token in enumerate(children)
        if token.type == "link_open"
        and str(token.attrs["href"]).startswith(PREFIX)
        and "#" not in str(token.attrs["href"])
    ]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("links", _resolve)
    parser.core.ruler.push("anchors", _anchors)
    parser.core.ruler.push("empty headers", _empty_headers)
    for rule in (table_open, table_close, fence, code_block):
        parser.add_render_rule(rule.__name__, rule)
    return parser


def _resolve(state: StateCore) -> None:
    """Let links and pictures lead to addresses of the hub; others that are not URLs are text.

    A link that shows the name of a page's file shows the page's title.
    """
    library: Library = state.env["library"]
    for token in state.tokens:
        link_kept: list[bool] = []
        for child, after in zip_longest(token.children or [], (token.children or [])[1:]):
            if child.type == "link_open":
                url = library.resolve(state.env["page"], str(child.attrs["href"]))
                link_kept.append(url is not None)
                _set(child, "href", url)
                if url and url in library.pages and after.content.endswith(".md"):
                    after.content = title_of(library.read(url))
            elif child.type == "link_close" and not link_kept.pop():
                _set(child, "href", None)
            elif child.type == "image":
                url = library.resolve(state.env["page"], str(child.attrs["src"]))
                child.attrSet("src", url or "")
                child.attrSet("loading", "lazy")


def _set(token: Token, name: str, value: str | None) -> None:
    if value is None:  # a link to a file of the source: its text alone
        token.type, token.tag, token.content, token.nesting = "text", "", "", 0
    else:
        token.attrSet(name, value)


def _anchors(state: StateCore) -> None:
    """Give each heading the anchor that GitHub gives it."""
    anchors = Counter[str]()
    for token, inline in zip(state.tokens, state.tokens[1:], strict=False):
        if token.type == "heading_open":
            text = plain(inline.content)
            anchor = anchor_of(text, anchors)
            token.attrSet("id", anchor)
            state.env.setdefault("headings", []).append((int(token.tag[1]), text, anchor))


def _empty_headers(state: StateCore) -> None:
    """Make empty headers of columns plain cells, which readers of screens skip."""
    for opening, inline, closing in zip(
        state.tokens, state.tokens[1:], state.tokens[2:], strict=False
    ):
        if opening.type == "th_open" and not inline.content:
            opening.tag = closing.tag = "td"


def table_open(_: RendererHTML, *__: Any) -> str:
    """Return a table's beginning, in a part that scrolls by itself."""
    return SCROLL.format("Table") + "<table>"


def table_close(_: RendererHTML, *__: Any) -> str:
    """Return the end of a table and of its part."""
    return "</table></div>"


def fence(renderer: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    """Return a block of code, in a part that scrolls by itself."""
    return SCROLL.format("Code") + RendererHTML.fence(renderer, tokens, index, *rest) + "</div>"


def code_block(renderer: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    """Return an indented block of code, in a part that scrolls by itself."""
    block = RendererHTML.code_block(renderer, tokens, index, *rest)
    return f"{SCROLL.format('Code')}{block}</div>"
