"""Fast path for the usual answer: from its text straight to checked payloads, without values.

Patterns match the few forms that XML-RPC libraries write: a response with a struct, whose members
are the tasks' arrays. A form is matched as a whole or not at all, and every value in it has the
agreed type, or 1 for 1.0. Any other answer is declined (`None`), and left to the decoder and
`validation.check`. So what is taken here must be what they would have returned, problems included:
`benchmarks/fuzz_decoding.py` compares the two.

Between tags there is nothing but white space, names, scalars and words without `<` and `>`: no
CDATA section, comment or attribute, and every `<member>` is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Any, Final, Protocol

from metaserver.base.lanes import Asides, CheckedAnswer, HitAside
from metaserver.base.records import TaskName
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.validation import Part, Vocabulary, checked_answer
from metaserver.exchange.wire.values import Limits

SPACE: Final = r"[ \t\r\n]*+"
_DEPTH: Final = 3  # struct, array, struct
_CHARACTERS: Final = r"[^\x00-\x08\x0b\x0c\x0e-\x1f<>&\ud800-\udfff\ufffe\uffff]*+"
_REFERENCE: Final = r"&(?:amp|lt|gt|quot|apos|#3[2-9]|#[4-9][0-9]);"
_WORDS: Final = f"{_CHARACTERS}(?:{_REFERENCE}{_CHARACTERS})*"
_END: Final = "</data>"

_DECLARATION: Final = (
    r"""<\?xml version=(["'])1\.0\1(?: encoding=(["'])(?i:(utf-8)|us-ascii|iso-8859-1)\2)? ?\?>"""
)
_OPENING: Final = re.compile(
    rf"(?:{_DECLARATION}{SPACE})?<methodResponse>{SPACE}<params>{SPACE}<param>{SPACE}<value>{SPACE}"
    rf"<struct>{SPACE}",
    re.ASCII,
)
_ARRAY: Final = re.compile(
    rf"<member>{SPACE}<name>([0-9A-Z_a-z]+)</name>{SPACE}<value>{SPACE}<array>{SPACE}"
    rf"(?:<data>{SPACE}|(<data/>))"
)
_ARRAY_END: Final = re.compile(rf"{SPACE}</array>{SPACE}</value>{SPACE}</member>{SPACE}")
_CLOSING: Final = re.compile(
    rf"</struct>{SPACE}</value>{SPACE}</param>{SPACE}</params>{SPACE}</methodResponse>[\0 \t\r\n]*+"
)


class UsualPart(Part, Protocol):
    """The port to a task whose usual answer member can be checked as text.

    A task without `check_usual` is left to the decoder, and so is any answer with its member.
    """

    def check_usual(
        self, array: str, report: Report, vocabulary: Vocabulary
    ) -> tuple[Any, Sequence[HitAside]] | None:
        """Return a usually formed array's payload and asides; None declines it.

        `array` is the text between `<data>` and `</data>`. What is returned and reported must be
        what `check` (or `check_with_asides`) returns and reports for the array's values; a report
        is dropped with a None.
        """


def usual_answer(
    body: bytes | bytearray, parts: Sequence[Part], vocabulary: Vocabulary, limits: Limits
) -> CheckedAnswer | None:
    """Return the checked answer in a usually formed body; None for any other.

    `limits.bytes` is left to the caller; so is the header's charset, which must be in `UTF8`.
    """
    if limits.depth < _DEPTH or len(body) > limits.values:  # fewer values than bytes
        return None
    try:
        arrays = _arrays(body.decode())
    except UnicodeDecodeError:
        return None
    if arrays is None:
        return None
    report = Report()
    payloads: dict[TaskName, Any] = {}
    beside: dict[TaskName, Sequence[HitAside]] = {}
    hits_kept = 0
    for part in parts:
        array = arrays.pop(part.key, None)
        if array is None:
            continue
        check = getattr(part, "check_usual", None)  # of a `UsualPart`
        checked = check and check(array, report, vocabulary)
        if checked is None or checked[0] is None:
            return None
        payloads[part.name], asides = checked
        if asides:
            beside[part.name] = asides
        hits_kept += part.count(payloads[part.name])
    return None if arrays else checked_answer(report, payloads, hits_kept, Asides(hits=beside))


def _arrays(text: str) -> dict[str, str] | None:
    """Return the text of each member's array; None if the message has another form."""
    opening = _OPENING.match(text)
    if opening is None or not (text.isascii() or opening[3] or not opening[2]):
        return None
    place = opening.end()
    arrays: dict[str, str] = {}
    while match := _ARRAY.match(text, place):
        start = match.end()
        end = start if match[2] else text.find(_END, start)
        behind = _ARRAY_END.match(text, end if match[2] else end + len(_END))
        if end < 0 or behind is None or match[1] in arrays:
            return None
        arrays[match[1]] = text[start:end]
        place = behind.end()
    return arrays if _CLOSING.fullmatch(text, place) else None


def _string(characters: str) -> str:
    """Return a string's pattern, typed or not: its tags match by looking ahead."""
    return (
        rf"<value>(?:{SPACE}<string>(?=[^<]*+</string>)|(?=[^<]*+</value>))"
        rf"{characters}(?:</string>{SPACE})?</value>"
    )


_ACCESSION: Final = _string("([ !-%'-;=?-~]++)")
_INTEGER: Final = (
    rf"<value>{SPACE}(?:<int>(?=[^<]*+</int>)|<i4>(?=[^<]*+</i4>))"
    rf"([-+]?[0-9]{{1,18}})</(?:int|i4)>{SPACE}</value>"
)
_DOUBLE: Final = (  # always a number, and finite
    r"[-+]?(?:[0-9]{1,99}(?:\.[0-9]*+)?|\.[0-9]++)(?:[Ee](?:-[0-9]++|\+?[0-9]{1,2}))?"
)
CONFIDENCE: Final = (
    rf"<value>{SPACE}(?:<double>({_DOUBLE})</double>|(<int>1</int>|<i4>1</i4>)){SPACE}</value>"
)
"""A confidence: a double in any notation, in group 1, or 1 as an int, in group 2."""

_OPTIONAL: Final[Mapping[type, str]] = {str: _string(f"({_WORDS})"), int: _INTEGER}


@dataclass(frozen=True, slots=True)
class HitColumns:
    """The values in an array's hits: `names` per field, `ranks` None if no hit has a rank.

    `integers` are the places of `confidences` sent as an int. `optional` has the columns that any
    hit has a value in, by name.
    """

    names: Sequence[Sequence[str]]
    ranks: Sequence[int] | None
    confidences: Sequence[float]
    integers: Sequence[int]
    optional: Mapping[str, Sequence[str | int | None]]


@dataclass(frozen=True)
class HitPattern:
    """The pattern for an array of hits, each a struct with its members in any order.

    `fields` have accessions; the `optional` members are strings and integers.
    """

    fields: Sequence[str]
    optional: Mapping[str, type]

    @cached_property
    def _hit(self) -> re.Pattern[str]:
        """A hit's pattern; groups: fields, rank, two for the confidence, optional members."""
        members = [
            *((re.escape(name), _ACCESSION) for name in self.fields),
            ("rank", _INTEGER),
            ("confidence", CONFIDENCE),
            *((re.escape(name), _OPTIONAL[kind]) for name, kind in self.optional.items()),
        ]
        member = "|".join(rf"{name}</name>{SPACE}{value}" for name, value in members)
        return re.compile(
            rf"<value>{SPACE}<struct>{SPACE}"
            rf"(?:<member>{SPACE}<name>(?:{member}){SPACE}</member>{SPACE})*"
            rf"</struct>{SPACE}</value>{SPACE}"
        )

    def read(self, array: str) -> HitColumns | None:
        """Return the hits in an array's text; None if any part does not match.

        A hit without a required member is not matched, nor is a hit with a member twice: there are
        more `<member>`s then than groups with a value.
        """
        between, *columns = _columns(self._hit, array)
        width = len(self.fields)
        names, (ranks, doubles, ones), others = (
            columns[:width],
            columns[width : width + 3],
            columns[width + 3 :],
        )
        size = len(doubles)
        unranked = ranks.count(None)
        members = size * (width + 2) - unranked + sum(size - each.count(None) for each in others)
        if (
            any(between)
            or any(None in each for each in names)
            or unranked not in (0, size)
            or array.count("<member>") != members
        ):
            return None
        integers: Sequence[int] = ()
        if None in doubles:
            integers = [place for place, double in enumerate(doubles) if double is None]
            if any(ones[place] is None for place in integers):
                return None
        return HitColumns(
            names=names,
            ranks=None if unranked else list(map(int, ranks)),
            confidences=[float(double or 1) for double in doubles]
            if integers
            else list(map(float, doubles)),
            integers=integers,
            optional={
                name: [text if text is None else _READ[kind](text) for text in column]
                for (name, kind), column in zip(self.optional.items(), others, strict=True)
                if column.count(None) < size
            },
        )


def _words(text: str) -> str:
    """Return a string as an XML parser does: its line ends and references."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unescape(text) if "&" in text else text


_READ: Final[Mapping[type, Callable[[str], str | int]]] = {str: _words, int: int}


def _columns(pattern: re.Pattern[str], text: str) -> list[list[Any]]:
    """Return what is between a pattern's matches, then its groups' values."""
    pieces = pattern.split(text)
    return [pieces[place :: pattern.groups + 1] for place in range(pattern.groups + 1)]
