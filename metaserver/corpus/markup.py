"""Reader for XML files: the root element names the kind, articles are read one at a time.

No DTD is loaded, no entity is expanded, nothing is fetched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, cast

from lxml import etree
from lxml.etree import _Element

from metaserver.base.errors import InputError
from metaserver.corpus.bioc import read_bioc_xml
from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.fulltext import read_article, read_elsevier
from metaserver.corpus.lines import line_of, local_name
from metaserver.corpus.pubmed import read_pubmed


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
}
_EXPECTED = "expected JATS, Elsevier, IOP, Nature, RSC, PubMed or BioC XML"

MOST_TAGS = 1_000_000
"""The maximum number of tags between two articles' ends; a long article has some ten thousand."""
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


def read_xml(path: Path, data: bytes) -> Iterator[ArticleDraft]:
    """Yield an XML file's articles; raises `InputError` with the line."""
    _check_encoding(path, data)
    try:
        kind = _kind(path, data)
        tags = [f"{{*}}{name}" for name in kind.article]
        empty = True
        for element in _parse(path, data, "end", tags):
            _write_out_entities(path, element)
            yield _read(path, kind, element)
            _forget(element)
            empty = False
    except etree.XMLSyntaxError as error:
        message = (error.msg or "no content").partition(", line ")[0].strip()
        raise InputError(path, f"broken XML: {message}", line=error.lineno) from error
    if empty:
        raise InputError(path, f"no article in it; expected <{'> or <'.join(kind.article)}>")


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
    """Free an article and its earlier siblings, so that a collection takes a single article's
    memory.
    """
    article.clear()
    collection = article.getparent()
    while collection is not None and article.getprevious() is not None:
        del collection[0]
