"""Reader for PubMed records: titles and abstracts (the `pubmed_190101.dtd` family)."""

from __future__ import annotations

from lxml.etree import _Element

from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.lines import line_of, one_line


def read_pubmed(record: _Element) -> ArticleDraft:
    """Return a `PubmedArticle`, `MedlineCitation` or `PubmedBookArticle`.

    Each part of a structured abstract is a line that begins with its label: "METHODS: We ...".
    """
    title = one_line(record.find(".//ArticleTitle")) or one_line(record.find(".//BookTitle"))
    return ArticleDraft.of_lines(
        one_line(record.find(".//PMID")),
        title,
        [_abstract_line(part) for part in record.iterfind(".//Abstract/AbstractText")],
        line_of(record),
    )


def _abstract_line(part: _Element) -> str:
    text = one_line(part)
    label = part.get("Label")
    return f"{label}: {text}" if label and text else text
