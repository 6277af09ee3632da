"""Reader for PubMed records: titles and abstracts (the `pubmed_190101.dtd` family)."""

from __future__ import annotations

from lxml.etree import _Element

from metaserver.base.publications import sound
from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.lines import line_of, one_line


def read_pubmed(record: _Element) -> ArticleDraft:
    """Return a `PubmedArticle`, `MedlineCitation` or `PubmedBookArticle`.

    Each part of a structured abstract is a line that begins with its label: "METHODS: We ...".
    """
    pmid = one_line(record.find(".//PMID"))
    dated = record.find(".//JournalIssue/PubDate")
    title = one_line(record.find(".//ArticleTitle")) or one_line(record.find(".//BookTitle"))
    return ArticleDraft.of_lines(
        pmid,
        title,
        [_abstract_line(part) for part in record.iterfind(".//Abstract/AbstractText")],
        line_of(record),
        sound(
            pmid=pmid,
            pmcid=one_line(record.find("PubmedData/ArticleIdList/ArticleId[@IdType='pmc']")),
            doi=one_line(record.find("PubmedData/ArticleIdList/ArticleId[@IdType='doi']"))
            or one_line(record.find(".//ELocationID[@EIdType='doi']")),
            journal=one_line(record.find(".//Journal/Title")),
            author=one_line(record.find(".//AuthorList/Author/LastName")),
            year=""
            if dated is None
            else one_line(dated.find("Year")) or one_line(dated.find("MedlineDate")),
        ),
    )


def _abstract_line(part: _Element) -> str:
    text = one_line(part)
    label = part.get("Label")
    return f"{label}: {text}" if label and text else text
