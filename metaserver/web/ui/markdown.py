"""Markdown as safe HTML: texts that organisers write and everybody reads.

Markup in a text is shown as text, and what the parser makes is sanitised again: two libraries must
fail before a script gets through, and then the pages' Content-Security-Policy still refuses it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from metaserver.operations.pictures import FOLDER, NAME

MOST = 50_000
"""The most characters of one text."""

DEEPER = 2
"""Levels that a text's headings are below its own: the page has the first two."""

PICTURE = re.compile(rf"!\[([^\]\n]{{0,200}})\]\({FOLDER}/({NAME})\)")
"""A picture of the challenge itself; pictures of other hosts would reveal readers to them."""

TAGS = frozenset(
    ["a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol",
     "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"]
)  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"alt", "loading", "src"},
    "ol": {"start"},
    **{f"h{level}": {"id"} for level in range(3, 7)},
}
SCHEMES = frozenset({"http", "https", "mailto"})


@lru_cache(maxsize=256)
def render(text: str, name: str = "text", challenge: str = "") -> Markup:
    """Return a text's HTML; the ids of its headings begin with `name`.

    Pictures are shown if they are of a `challenge`; else their words are.

    A text of thousands of words takes some dozens of milliseconds: call it in a thread. Raises
    ValueError for one that is too long.
    """
    if len(text) > MOST:
        raise ValueError(f"a text has at most {MOST:,} characters")
    rendered = _parser().render(text, {"name": name, "challenge": challenge})
    return Markup(  # noqa: S704 (sanitised here)
        nh3.clean(
            rendered,
            tags=set(TAGS),
            attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
            url_schemes=set(SCHEMES),
            link_rel="nofollow noopener",
        )
    )


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.inline.ruler.before("link", "picture", _picture)
    parser.core.ruler.push("headings", _headings)
    return parser


def _picture(state: StateInline, silent: bool) -> bool:
    """Read a picture of the challenge's own."""
    match = PICTURE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        words, name = match.groups()
        if challenge := state.env["challenge"]:
            token = state.push("picture", "img", 0)
            source = f"/pictures/{quote(challenge, safe='')}/{name}"
            token.attrs = {"src": source, "alt": words, "loading": "lazy"}
        else:
            state.push("text", "", 0).content = words
    state.pos = match.end()
    return True


def _headings(state: StateCore) -> None:
    """Put the headings below those of the page, each with an anchor of its own."""
    anchors = Counter[str]()
    for index, token in enumerate(state.tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + DEEPER)}"
        if token.type == "heading_open":
            words = state.tokens[index + 1].content.lower()
            plain = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:60]
            anchor = f"{state.env['name']}-{plain or 'heading'}"
            anchors[anchor] += 1
            token.attrSet("id", anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor]}")
