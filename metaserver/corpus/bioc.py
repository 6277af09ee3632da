"""Readers for BioC collections, XML (Comeau et al. 2013, doi:10.1093/database/bat064) and JSON.

A passage's text is its own, or if that is blank, its sentences with a space between them. It keeps
every character, so that offsets inside it stay valid; only a carriage return becomes a space.
Passages are separated by one line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from lxml.etree import _Element

from metaserver.base.errors import InputError
from metaserver.base.publications import UNKNOWN, Publication, sound
from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.lines import line_of

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
        given = {"pmid": self.pmid, "pmcid": pmcid, "doi": self.doi, "year": self.year}
        known = {name: str(one) for name, one in given.items() if isinstance(one, str | int)}
        return sound(**known)


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
                        _text_of(passage.text, [sentence.text for sentence in passage.sentences]),
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
        passages.append((infons, _text_of(passage.findtext("text"), sentences)))
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


def _text_of(text: str | None, sentences: Sequence[str]) -> str:
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
    """Return whether a passage is not an entry in the list of references."""
    return infons.section_type != "REF" and infons.type != "ref"
