"""Readers of full-text articles: JATS (ANSI/NISO Z39.96, as in PubMed Central) and Elsevier XML."""

from __future__ import annotations

from lxml.etree import _Element

from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.lines import line_of, one_line, text_lines

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


def read_jats(article: _Element) -> ArticleDraft:
    """Return a JATS `article`: title, abstracts, body, back matter, without the references.

    Reviews and replies printed with it (`sub-article`, `response`) are other articles and are left
    out.
    """
    meta = "{*}front/{*}article-meta/"
    ids = {
        found.get("pub-id-type"): one_line(found)
        for found in article.findall(meta + "{*}article-id")
    }
    return ArticleDraft.of_lines(
        ids.get("pmid") or _pmcid(ids.get("pmcid") or ids.get("pmc")) or ids.get("doi", ""),
        one_line(article.find(meta + "{*}title-group/{*}article-title")),
        _lines_of(article, _JATS_PARTS),
        line_of(article),
    )


def read_elsevier(article: _Element) -> ArticleDraft:
    """Return an Elsevier article, alone or in the `full-text-retrieval-response` of their API.

    A response without the full text has a title and an abstract of its own (`dc:description`).
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


def _lines_of(article: _Element, parts: tuple[str, ...]) -> list[str]:
    return [line for path in parts for part in article.findall(path) for line in text_lines(part)]


def _pmcid(number: str | None) -> str:
    """Return a PMCID with its letters, which older JATS omits."""
    return f"PMC{number}" if number and number.isdecimal() else number or ""
