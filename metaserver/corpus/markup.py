"""Readers of XML files and BioC: the root element names the kind, articles are read one at a time.

No DTD is loaded, no entity is expanded, nothing is fetched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
from lxml import etree
from lxml.etree import _Element

from metaserver.base.errors import InputError
from metaserver.base.publications import UNKNOWN, Publication, sound
from metaserver.corpus.lines import line_of, local_name, one_line, text_lines

# -- the article draft that a format's reader returns ----------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleDraft:
    """An article before it has its final id; `id` is "" if the source has none.

    `line` is the line in its file on which it begins (from 1), or None if unknown;
    `publication` is what the file says of it, `xml` its element as a document of its own, if that
    is kept.
    """

    id: str
    title: str
    text: str
    line: int | None = None
    publication: Publication = UNKNOWN
    xml: bytes = b""

    @classmethod
    def of_lines(
        cls,
        article_id: str,
        title: str,
        lines: Iterable[str],
        line: int | None,
        publication: Publication | None = None,
    ) -> ArticleDraft:
        """Return a draft whose text is the title and then the lines."""
        return cls(
            id=article_id,
            title=title,
            text="\n".join(filter(None, [title, *lines])),
            line=line,
            publication=(publication or UNKNOWN).over(Publication.named(article_id)),
        )


# -- readers for BioC collections ------------------------------------------------------------------
# A passage's text is its own, or if that is blank, its sentences with a space between them. It
# keeps every character, so that offsets inside it stay valid; only a carriage return becomes a
# space. Passages are separated by one line end.

_BYTE = re.compile(r"\(byte (\d+)\)")


MOST_OBJECTS = 1_000_000
"""The most JSON objects in a file; an article with its annotations has some thousands."""


class _Infons(msgspec.Struct, frozen=True):
    """The infons of a passage that are read; the others are skipped, and take no memory."""

    type: str | int | float | bool | None = None
    section_type: str | int | float | bool | None = None
    pmid: Any = msgspec.field(name="article-id_pmid", default=None)
    pmcid: Any = msgspec.field(name="article-id_pmc", default=None)
    doi: Any = msgspec.field(name="article-id_doi", default=None)
    year: Any = None

    def publication(self) -> Publication:
        """Return the identifiers and the year that PMC's BioC has in its first passage."""
        pmcid = f"PMC{self.pmcid}" if str(self.pmcid)[:12].isdecimal() else self.pmcid
        infons = {"pmid": self.pmid, "pmcid": pmcid, "doi": self.doi, "year": self.year}
        return sound(
            **{name: str(text) for name, text in infons.items() if isinstance(text, str | int)}
        )


class _Sentence(msgspec.Struct):
    text: str = ""


class _Passage(msgspec.Struct):
    text: str | None = None
    infons: _Infons = _Infons()
    sentences: list[_Sentence] = []


class _Document(msgspec.Struct):
    """A document or a collection of documents: a file has either, without naming its kind."""

    id: str | int = ""
    passages: list[_Passage] | None = None
    documents: list[_Document] | None = None


def read_bioc_json(path: Path, data: bytes) -> Iterator[ArticleDraft]:
    """Yield the documents in a BioC JSON collection, a list of collections, or a single document.

    Raises `InputError`, with the line if the JSON is malformed, else with the path in it.

    >>> data = b'{"id": "1", "passages": [{"offset": 0, "text": "MDM2 binds p53."}]}'
    >>> [draft.text for draft in read_bioc_json(Path("1.json"), data)]
    ['MDM2 binds p53.']
    """
    for entry in _decode(path, data):
        if entry.documents is None and entry.passages is None:
            raise InputError(path, "JSON without documents or passages; expected BioC JSON", line=1)
        for document in entry.documents or [entry]:
            yield _draft(
                str(document.id),
                [
                    (
                        passage.infons,
                        text_of(passage.text, [sentence.text for sentence in passage.sentences]),
                    )
                    for passage in document.passages or ()
                ],
                None,
            )


def read_bioc_xml(document: _Element) -> ArticleDraft:
    """Return a BioC XML collection's `document`."""
    passages = []
    for passage in document.iterfind("passage"):
        values = {infon.get("key", ""): infon.text or "" for infon in passage.iterfind("infon")}
        infons = msgspec.convert(values, _Infons)
        sentences = [sentence.text or "" for sentence in passage.iterfind("sentence/text")]
        passages.append((infons, text_of(passage.findtext("text"), sentences)))
    return _draft(document.findtext("id") or "", passages, line_of(document))


def _decode(path: Path, data: bytes) -> list[_Document]:
    if data.count(b"{") > MOST_OBJECTS:
        raise InputError(path, f"more than {MOST_OBJECTS:,} JSON objects; split it into files")
    try:
        decoded = msgspec.json.decode(data, type=_Document | list[_Document])
    except msgspec.ValidationError as error:
        raise InputError(path, f"not BioC JSON: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = _BYTE.search(str(error))
        line = data.count(b"\n", 0, int(place[1]) if place else len(data)) + 1
        raise InputError(path, f"broken JSON: {error}", line=line) from error
    return decoded if isinstance(decoded, list) else [decoded]


def text_of(text: str | None, sentences: Sequence[str]) -> str:
    """Return a passage's text; libraries write an empty text beside the sentences."""
    return text if text and (text.strip() or not sentences) else " ".join(sentences)


def _draft(
    document_id: str, passages: Sequence[tuple[_Infons, str]], line: int | None
) -> ArticleDraft:
    passages_used = [
        (infons, text.replace("\r", " ")) for infons, text in passages if _is_article(infons)
    ]
    title = next((text.strip() for infons, text in passages_used if _is_title(infons)), "")
    text = "\n".join(text for _, text in passages_used if text)
    said = passages[0][0].publication() if passages else UNKNOWN
    return ArticleDraft(
        id=document_id.strip(),
        title=title,
        text=text,
        line=line,
        publication=said.over(Publication.named(document_id)),
    )


def _is_title(infons: _Infons) -> bool:
    """Return whether a passage is a title: type "title" in PubTator, "front" in PMC's BioC."""
    return str(infons.type).lower() in {"title", "front"}


def _is_article(infons: _Infons) -> bool:
    return not is_reference(infons.type, infons.section_type)


def is_reference(kind: object, section: object) -> bool:
    """Return whether a passage, by two of its infons, is an entry in the list of references."""
    return section == "REF" or kind == "ref"


# -- readers for full-text articles ----------------------------------------------------------------
# The publishers are Elsevier, IOP Publishing, Nature, the Royal Society of Chemistry and Springer
# (A++); TEI is what GROBID makes of a PDF.

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
_SPRINGER_PARTS = (
    "{*}ArticleHeader/{*}Abstract",
    "{*}Body",
    "{*}ArticleBackmatter",
)
_TEI_PARTS = ("{*}teiHeader/{*}profileDesc/{*}abstract", "{*}text/{*}body", "{*}text/{*}back")
_PUBLISHED = {"ppub": 0, "collection": 1}
_SHOWN = 3
"""How many children are named for an unknown kind of article."""


def read_article(article: _Element) -> ArticleDraft:
    """Return any kind of `article`: several DTDs share this root, and differ in its children.

    Raises `ValueError`, which names the children, for any other kind.
    """
    names = set(map(local_name, article))
    for name, reader in _FULLTEXT_KINDS.items():
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
    dates.sort(key=lambda date: _PUBLISHED.get(date.get("pub-type") or "", 2))
    years = (one_line(date.find("{*}year")) for date in dates)
    contributors = front + "{*}article-meta/{*}contrib-group/{*}contrib"
    authors = (
        one_line(person.find("{*}name/{*}surname")) or one_line(person.find("{*}collab"))
        for person in article.iterfind(contributors)
        if person.get("contrib-type", "author") == "author"
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


def read_springer(article: _Element) -> ArticleDraft:
    """Return an `Article` of Springer's A++; its DOI is the id."""
    info = "{*}ArticleInfo/{*}"
    return ArticleDraft.of_lines(
        one_line(article.find(info + "ArticleDOI")),
        one_line(article.find(info + "ArticleTitle")),
        _lines_of(article, _SPRINGER_PARTS),
        line_of(article),
    )


def read_tei(document: _Element) -> ArticleDraft:
    """Return a `TEI` document: title, abstract, body and back matter without the references.

    Its PMID is the id, else its PMCID, else its DOI.
    """
    ids = {
        (number.get("type") or "").upper(): one_line(number)
        for number in document.iterfind("{*}teiHeader/{*}fileDesc/{*}sourceDesc//{*}idno")
    }
    for division in document.findall(".//{*}div[@type='references']"):
        division[:] = []
    pmcid = _pmcid(ids.get("PMCID") or ids.get("PMC"))
    return ArticleDraft.of_lines(
        ids.get("PMID") or pmcid or ids.get("DOI", ""),
        one_line(document.find("{*}teiHeader/{*}fileDesc/{*}titleStmt/{*}title")),
        _lines_of(document, _TEI_PARTS),
        line_of(document),
        sound(pmid=ids.get("PMID", ""), pmcid=pmcid, doi=ids.get("DOI", "")),
    )


_FULLTEXT_KINDS: dict[str, Callable[[_Element], ArticleDraft]] = {
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


# -- reader for PubMed records: titles and abstracts (the `pubmed_190101.dtd` family) --------------


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


# -- reader for PubTator's text: titles and abstracts, each in a line ------------------------------

PUBTATOR = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,100}[^\s|]{1,100}\|t\|")
"""How a file of PubTator begins."""


def read_pubtator(path: Path, data: bytes) -> Iterator[ArticleDraft]:
    r"""Yield the articles of a file in PubTator's format; its annotations are skipped.

    An article's offsets are kept: the abstract begins one character after the title. Raises
    `InputError` with the line.

    >>> data = b"1|t|MDM2 binds p53.\n1|a|Both bind DNA.\n"
    >>> [draft.text for draft in read_pubtator(Path("1.txt"), data)]
    ['MDM2 binds p53.\nBoth bind DNA.']
    """
    title, begun = ("", ""), 0
    for number, line in enumerate(utf8(path, data).split("\n"), start=1):
        name, _, rest = line.partition("|")
        kind, mark, text = rest.partition("|")
        if "\t" in name:
            continue
        if mark and kind == "t" and not title[0]:
            title, begun = (name.strip(), text.strip()), number
        elif mark and kind == "a" and name.strip() == title[0]:
            yield _of_pubtator(*title, text.strip(), begun)
            title = ("", "")
        elif mark and kind in ("t", "a"):
            raise InputError(
                path, f"{line[:40]!r}; expected ID|t|TITLE, then ID|a|ABSTRACT", line=number
            )
    if title[0]:
        yield _of_pubtator(*title, "", begun)


def _of_pubtator(article_id: str, title: str, abstract: str, line: int) -> ArticleDraft:
    return ArticleDraft.of_lines(article_id, title, [abstract], line)


def utf8(path: Path, data: bytes) -> str:
    """Return a file's text; raises `InputError` with the line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(path, "not UTF-8; expected UTF-8 text", line=line) from error


# -- reader for XML files: the root element names the kind, articles are read one at a time --------


class _Kind(NamedTuple):
    article: tuple[str, ...]  # the local names of the elements that contain one article
    read: Callable[[_Element], ArticleDraft]


_PUBMED = _Kind(("PubmedArticle", "PubmedBookArticle"), read_pubmed)
_CITATION = _Kind(("MedlineCitation",), read_pubmed)
_KINDS = {
    "article": _Kind(("article",), read_article),
    "pmc-articleset": _Kind(("article",), read_article),
    "full-text-retrieval-response": _Kind(("full-text-retrieval-response",), read_elsevier),
    "converted-article": _Kind(("converted-article",), read_elsevier),
    "simple-article": _Kind(("simple-article",), read_elsevier),
    "PubmedArticleSet": _PUBMED,
    "PubmedArticle": _PUBMED,
    "PubmedBookArticle": _PUBMED,
    "PubmedBookArticleSet": _PUBMED,
    "MedlineCitationSet": _CITATION,
    "MedlineCitation": _CITATION,
    "collection": _Kind(("document",), read_bioc_xml),
    "Publisher": _Kind(("Article",), read_springer),
    "TEI": _Kind(("TEI",), read_tei),
    "teiCorpus": _Kind(("TEI",), read_tei),
}
_EXPECTED = "expected JATS, Elsevier, IOP, Nature, RSC, Springer, TEI, PubMed or BioC XML"

MOST_TAGS = 1_000_000
"""The maximum number of tags between two articles' ends; a long article has some ten thousand."""
LONGEST_DOCTYPE = 1_000
"""The longest name of a DTD, in characters, that is kept for each article of a file."""
_BLOCK = 2**20
_DECLARED = re.compile(
    rb"""(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<\?xml\s[^>]*?\sencoding\s*=\s*["']([!-~]{1,40}?)["']"""
)
_EBCDIC = "<?xm".encode("cp037")
_ENCODINGS = re.compile(
    r"utf-?(8|16(le|be)?)|(us-)?ascii|iso[-_]?8859-\d{1,2}|latin-?1|(windows-|cp)125\d"
    r"|gb(k|2312|18030)|big5|euc-(jp|kr)|shift_jis|koi8-[ru]",
    re.IGNORECASE,
)


def read_xml(path: Path, data: bytes, *, keep: int = 0) -> Iterator[ArticleDraft]:
    """Yield an XML file's articles; raises `InputError` with the line.

    Each has its XML, unless the file is longer than `keep` bytes, or BioC, which may hold
    annotations; and none after `keep` bytes in all, since each repeats the file's name spaces.
    """
    _check_encoding(path, data)
    try:
        kind = _kind(path, data)
        tags = [f"{{*}}{name}" for name in kind.article]
        left = 0 if len(data) > keep or kind.read is read_bioc_xml else keep
        empty = True
        for element in _parse(path, data, "end", tags):
            xml = _alone(element) if left > 0 else b""
            left -= len(xml)
            _write_out_entities(path, element)
            yield replace(_read(path, kind, element), xml=xml)
            _forget(element)
            empty = False
    except etree.XMLSyntaxError as error:
        message = (error.msg or "no content").partition(", line ")[0].strip()
        raise InputError(path, f"broken XML: {message}", line=error.lineno) from error
    if empty:
        raise InputError(path, f"no article in it; expected <{'> or <'.join(kind.article)}>")


def _alone(element: _Element) -> bytes:
    """Return an article's element as a document in UTF-8, with the DTD that its file declares."""
    declared = element.getroottree().docinfo
    doctype = declared.doctype.replace(declared.root_name, local_name(element), 1)  # type: ignore[attr-defined]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        doctype if len(doctype) <= LONGEST_DOCTYPE else "",
        etree.tostring(element, encoding="unicode", with_tail=False),
    ]
    return "\n".join(filter(None, lines)).encode()


def _read(path: Path, kind: _Kind, element: _Element) -> ArticleDraft:
    try:
        return kind.read(element)
    except ValueError as error:
        raise InputError(path, f"{error}; {_EXPECTED}", line=line_of(element)) from error


def _parse(
    path: Path, data: bytes, event: Literal["start", "end"], tags: list[str]
) -> Iterator[_Element]:
    """Yield the elements with these tags; the tree built between two of them is bounded."""
    parser = etree.XMLPullParser(
        events=(event,),
        tag=tags,
        load_dtd=False,
        no_network=True,
        resolve_entities=False,
        remove_comments=True,
        remove_pis=True,
    )
    opened = 0
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        opened += block.count(b"<")
        if opened > MOST_TAGS:
            raise InputError(path, f"more than {MOST_TAGS:,} tags in one article")
        parser.feed(block)
        for _, element in parser.read_events():
            opened = 0
            yield cast(_Element, element)
    try:
        parser.close()
    except etree.XMLSyntaxError as error:
        first = next(iter(parser.feed_error_log), None)  # lxml hides an entity that is not declared
        message, line = (first.message, first.line) if first else (error.msg, error.lineno)
        raise InputError(path, f"broken XML: {message}", line=line) from error


def _kind(path: Path, data: bytes) -> _Kind:
    root = next(_parse(path, data, "start", ["{*}*"]))
    name = local_name(root)
    if name not in _KINDS:
        raise InputError(path, f"root element <{name:.40}>; {_EXPECTED}", line=line_of(root))
    return _KINDS[name]


def _check_encoding(path: Path, data: bytes) -> None:
    """Refuse an encoding in which "<", by which tags are counted, may be another byte."""
    start = data[:1024].replace(b"\0", b"")  # as in UTF-16
    declaration = _DECLARED.match(start)
    encoding = (
        "EBCDIC"
        if data.startswith(_EBCDIC)
        else declaration[1].decode()
        if declaration
        else "UTF-8"
    )
    if not _ENCODINGS.fullmatch(encoding):
        raise InputError(path, f"encoding {encoding}; expected UTF-8, or one like ASCII", line=1)


def _write_out_entities(path: Path, article: _Element) -> None:
    """Replace entities such as `&alpha;`, defined by a DTD that is not loaded, by characters."""
    for entity in article.iter(etree.Entity):
        name = entity.text or ""
        character = html.unescape(name)
        if character == name:
            raise InputError(path, f"unknown entity {name}", line=line_of(entity))
        entity.tail = character + (entity.tail or "")
    etree.strip_elements(article, etree.Entity, with_tail=False)


def _forget(article: _Element) -> None:
    """Free an article and its earlier siblings: a collection takes one article's memory."""
    article.clear()
    collection = article.getparent()
    while collection is not None and article.getprevious() is not None:
        del collection[0]
