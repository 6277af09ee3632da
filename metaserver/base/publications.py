"""Publications: the identifiers, the journal, the first author and the year of an article."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError

_Words: TypeAlias = Annotated[str, Meta(max_length=300)]

KINDS = {
    "pmid": re.compile(r"[1-9][0-9]{0,8}", re.ASCII),
    "pmcid": re.compile(r"PMC[1-9][0-9]{0,8}", re.ASCII),
    "doi": re.compile(r"10\.[0-9]{4,9}/[^\s\x00-\x1f\x7f-\x9f]{1,180}"),
}
"""The kinds of identifiers, each in its one form, in the order in which they name an article."""
_EXAMPLES = {
    "pmid": "a number, such as 10068444",
    "pmcid": "PMC and a number, such as PMC2375009",
    "doi": "such as 10.1016/j.febslet.2008.02.065",
}
_BEFORE = re.compile(
    r"(?:https?://)?(?:www\.|dx\.)?(?:doi\.org/|pubmed\.ncbi\.nlm\.nih\.gov/"
    r"|ncbi\.nlm\.nih\.gov/(?:pubmed/|pmc/articles/)|pmc\.ncbi\.nlm\.nih\.gov/articles/"
    r"|europepmc\.org/article/(?:MED|PMC)/)|(?:pmid|pmcid|doi|pubmed)(?::\s*|\s+)",
    re.IGNORECASE,
)
"""The words and addresses before an identifier that is copied from somewhere."""
YEARS = range(1600, 2200)


class Publication(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An article among publications; what is not known is empty, or None.

    `author` is the family name of the first author.
    """

    pmid: _Words = ""
    pmcid: _Words = ""
    doi: _Words = ""
    journal: _Words = ""
    author: _Words = ""
    year: Annotated[int, Meta(ge=0, le=9_999)] | None = None

    @classmethod
    def named(cls, article: str) -> Publication:
        """Return the publication that an article's id names; empty for any other id."""
        value = plain_id(article)
        for kind in KINDS:
            if found := _of_kind(kind, value):
                return msgspec.structs.replace(UNKNOWN, **{kind: found})
        return UNKNOWN

    @property
    def ids(self) -> tuple[str, ...]:
        """Its identifiers: PMID, PMCID, DOI, as far as they are known."""
        return tuple(filter(None, (self.pmid, self.pmcid, self.doi)))

    def over(self, other: Publication) -> Publication:
        """Return this publication with what it lacks from another."""
        return msgspec.structs.replace(
            self,
            **{
                name: getattr(other, name)
                for name in self.__struct_fields__
                if getattr(self, name) in ("", None)
            },
        )


UNKNOWN = Publication()
"""The publication of an article of which nothing is known."""


def plain_id(article: str) -> str:
    """Return an identifier without blanks, the words before it and the slash after it."""
    article = article.strip()
    before = _BEFORE.match(article)
    return article[before.end() if before else 0 :].strip().rstrip("/")


def normal(given: Publication) -> Publication:
    """Return what a curator gave in its one form; `RefusedError` names the field of what is none.

    >>> normal(Publication(pmid="PMID: 010068444", pmcid="pmc2375009", year=1999)).ids
    ('10068444', 'PMC2375009')
    """
    found = {kind: _of_kind(kind, plain_id(getattr(given, kind))) for kind in KINDS}
    for kind, value in found.items():
        if getattr(given, kind).strip() and not value:
            raise RefusedError(Refusal.INVALID, f"expected {_EXAMPLES[kind]}", field=kind)
    if given.year is not None and given.year not in YEARS:
        message = f"expected a year from {YEARS.start} to {YEARS.stop - 1}"
        raise RefusedError(Refusal.INVALID, message, field="year")
    words = {name: " ".join(getattr(given, name).split()) for name in ("journal", "author")}
    return Publication(**found, **words, year=given.year)


def sound(**given: str) -> Publication:
    """Return what a file says of its article, without what is of no known form."""
    found = {kind: _of_kind(kind, plain_id(given.get(kind, "")[:300])) for kind in KINDS}
    words = {name: " ".join(given.get(name, "")[:300].split()) for name in ("journal", "author")}
    year = re.match(r"\s*([0-9]{4})(?![0-9])", given.get("year", "")[:20], re.ASCII)
    known = int(year[1]) if year and int(year[1]) in YEARS else None
    return Publication(**found, **words, year=known)


def _of_kind(kind: str, value: str) -> str:
    """Return an identifier in the one form of a kind, without zeros in front; else ""."""
    if kind == "pmcid":
        value = re.sub(r"^pmc\s?0*", "PMC", value, flags=re.IGNORECASE)
    if kind == "pmid":
        value = value.lstrip("0")
    return value if KINDS[kind].fullmatch(value) else ""
