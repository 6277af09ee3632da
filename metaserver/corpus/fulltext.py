"""Readers for full-text articles: JATS (ANSI/NISO Z39.96, as in PubMed Central), publishers' XML.

The publishers are Elsevier, IOP Publishing, Nature and the Royal Society of Chemistry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

from lxml.etree import _Element

from metaserver.base.publications import Publication, sound
from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.lines import line_of, local_name, one_line, text_lines

_JATS_PARTS = (
    "{*}front/{*}article-meta/{*}abstract",
    "{*}body",
    "{*}back",
    "{*}floats-group",
)
_ELSEVIER_PARTS = (
    ".//{*}head/{*}abstract",
    ".//{*}body",
    ".//{*}tail",
    ".//{*}simple-tail",
    ".//{*}floats",
)
_IOP_PARTS = (
    "{*}header/{*}abstract-group/{*}abstract[1]",  # the others are in other languages
    "{*}body",
    "{*}back/{*}footnotes",
)
_NATURE_PARTS = ("{*}fm/{*}abs", "{*}fm/{*}stndfrst", "{*}bdy", "{*}bm")
_RSC_PARTS = ("{*}art-front/{*}abstract", "{*}art-body", "{*}art-back")
_PUBLISHED = {"ppub": 0, "collection": 1}
_SHOWN = 3
"""How many children are named for an unknown kind of article."""


def read_article(article: _Element) -> ArticleDraft:
    """Return any kind of `article`: several DTDs share this root, and differ in its children.

    Raises `ValueError`, which names the children, for any other kind.
    """
    names = set(map(local_name, article))
    for name, reader in _KINDS.items():
        if name in names:
            return reader(article)
    children = ", ".join(f"<{local_name(child):.40}>" for child in islice(article, _SHOWN))
    raise ValueError(f"root element <article> with {children or 'nothing in it'}")


def read_jats(article: _Element) -> ArticleDraft:
    """Return a JATS `article`: title, abstracts, body, back matter, without the references.

    Reviews and replies printed with it (`sub-article`, `response`) are other articles and are left
    out.
    """
    meta = "{*}front/{*}article-meta/"
    ids = {
        identifier.get("pub-id-type"): one_line(identifier)
        for identifier in article.findall(meta + "{*}article-id")
    }
    return ArticleDraft.of_lines(
        ids.get("pmid") or _pmcid(ids.get("pmcid") or ids.get("pmc")) or ids.get("doi", ""),
        one_line(article.find(meta + "{*}title-group/{*}article-title")),
        _lines_of(article, _JATS_PARTS),
        line_of(article),
        _jats_publication(article, ids),
    )


def _jats_publication(article: _Element, ids: Mapping[str | None, str]) -> Publication:
    """Return identifiers, journal, first author and year; a printed issue's year before others."""
    front = "{*}front/"
    journal = front + "{*}journal-meta/"
    dates = article.findall(front + "{*}article-meta/{*}pub-date")
    dates.sort(key=lambda one: _PUBLISHED.get(one.get("pub-type") or "", 2))
    years = (one_line(one.find("{*}year")) for one in dates)
    contributors = front + "{*}article-meta/{*}contrib-group/{*}contrib"
    authors = (
        one_line(one.find("{*}name/{*}surname")) or one_line(one.find("{*}collab"))
        for one in article.iterfind(contributors)
        if one.get("contrib-type", "author") == "author"
    )
    return sound(
        pmid=ids.get("pmid", ""),
        pmcid=_pmcid(ids.get("pmcid") or ids.get("pmc")),
        doi=ids.get("doi", ""),
        journal=one_line(article.find(journal + "{*}journal-title-group/{*}journal-title"))
        or one_line(article.find(journal + "{*}journal-title")),
        author=next(filter(None, authors), ""),
        year=next(filter(None, years), ""),
    )


def read_elsevier(article: _Element) -> ArticleDraft:
    """Return an Elsevier article, alone or in the `full-text-retrieval-response` of their API.

    A response without the full text still has a title and an abstract (`dc:description`).
    """
    title = one_line(article.find(".//{*}head/{*}title"))
    title = title or one_line(article.find(".//{*}simple-head/{*}title"))
    lines = _lines_of(article, _ELSEVIER_PARTS)
    return ArticleDraft.of_lines(
        one_line(article.find("{*}pubmed-id")) or one_line(article.find(".//{*}doi")),
        title or one_line(article.find("{*}coredata/{*}title")),
        lines or [one_line(article.find("{*}coredata/{*}description"))],
        line_of(article),
    )


def read_iop(article: _Element) -> ArticleDraft:
    """Return an IOP Publishing `article`; its DOI is the id."""
    return ArticleDraft.of_lines(
        one_line(article.find("{*}article-metadata/{*}article-data/{*}doi")),
        one_line(article.find("{*}header/{*}title-group/{*}title")),
        _lines_of(article, _IOP_PARTS),
        line_of(article),
    )


def read_nature(article: _Element) -> ArticleDraft:
    """Return an `article` of Nature Publishing Group; its DOI is the id.

    Figures and tables come after the text, as in the source.
    """
    return ArticleDraft.of_lines(
        one_line(article.find("{*}pubfm/{*}doi")),
        one_line(article.find("{*}fm/{*}atl")),
        _lines_of(article, _NATURE_PARTS),
        line_of(article),
    )


def read_rsc(article: _Element) -> ArticleDraft:
    """Return a Royal Society of Chemistry `article`; its DOI is the id."""
    return ArticleDraft.of_lines(
        one_line(article.find("{*}art-admin/{*}doi")),
        one_line(article.find("{*}art-front/{*}titlegrp/{*}title")),
        _lines_of(article, _RSC_PARTS),
        line_of(article),
    )


_KINDS: dict[str, Callable[[_Element], ArticleDraft]] = {
    "front": read_jats,
    "item-info": read_elsevier,
    "header": read_iop,
    "fm": read_nature,
    "art-front": read_rsc,
    "body": read_jats,
}
"""Readers for an `article`, by a child that only that kind has; `body`, which several have, is
last.
"""


def _lines_of(article: _Element, parts: tuple[str, ...]) -> list[str]:
    return [line for path in parts for part in article.findall(path) for line in text_lines(part)]


def _pmcid(number: str | None) -> str:
    """Return a PMCID with its letters, which older JATS omits."""
    return f"PMC{number}" if number and number.isdecimal() else number or ""
