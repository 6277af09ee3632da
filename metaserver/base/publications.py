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
        plain = plain_id(article)
        for kind in KINDS:
            if identifier := _of_kind(kind, plain):
                return msgspec.structs.replace(UNKNOWN, **{kind: identifier})
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


def normal(publication: Publication) -> Publication:
    """Return what a curator gave in its one form; `RefusedError` names the field of what is none.

    >>> normal(Publication(pmid="PMID: 010068444", pmcid="pmc2375009", year=1999)).ids
    ('10068444', 'PMC2375009')
    """
    ids = {kind: _of_kind(kind, plain_id(getattr(publication, kind))) for kind in KINDS}
    for kind, identifier in ids.items():
        if getattr(publication, kind).strip() and not identifier:
            raise RefusedError(Refusal.INVALID, f"expected {_EXAMPLES[kind]}", field=kind)
    if publication.year is not None and publication.year not in YEARS:
        message = f"expected a year from {YEARS.start} to {YEARS.stop - 1}"
        raise RefusedError(Refusal.INVALID, message, field="year")
    words = {name: " ".join(getattr(publication, name).split()) for name in ("journal", "author")}
    return Publication(**ids, **words, year=publication.year)


def sound(**texts: str) -> Publication:
    """Return what a file says of its article, without what is of no known form."""
    ids = {kind: _of_kind(kind, plain_id(texts.get(kind, "")[:300])) for kind in KINDS}
    words = {name: " ".join(texts.get(name, "")[:300].split()) for name in ("journal", "author")}
    digits = re.match(r"\s*([0-9]{4})(?![0-9])", texts.get("year", "")[:20], re.ASCII)
    year = int(digits[1]) if digits and int(digits[1]) in YEARS else None
    return Publication(**ids, **words, year=year)


def _of_kind(kind: str, value: str) -> str:
    """Return an identifier in the one form of a kind, without zeros in front; else ""."""
    if kind == "pmcid":
        value = re.sub(r"^pmc\s?0*", "PMC", value, flags=re.IGNORECASE)
    if kind == "pmid":
        value = value.lstrip("0")
    return value if KINDS[kind].fullmatch(value) else ""
