"""BeCalm servers' answers, in their three formats, as the contract's values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from metaserver.base.communications import Callback
from metaserver.base.errors import PeerError
from metaserver.base.records import ArticleId
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.bioc import BiocOptions, BiocReading, read_collection
from metaserver.exchange.protocols.findings import Findings
from metaserver.exchange.protocols.json_body import array, as_type, member, read_json
from metaserver.exchange.protocols.options import AnswerOptions, Places, Words
from metaserver.exchange.wire.contract import META, Report
from metaserver.exchange.wire.values import Limits, Value

COLUMNS: Final = (
    "document_id", "section", "init", "end", "score", "annotated_text", "type", "database_id",
)  # fmt: skip
"""The TSV columns, which are an annotation's members in JSON; the last may be absent."""
_BETWEEN: Final = re.compile(r"[,;|]")
_WHOLE: Final = re.compile(r"[0-9]{1,15}")


class BecalmOptions(AnswerOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a BeCalm server."""

    types: Words = ("GENE", "PROTEIN")  # that it is asked for
    documents: Literal["inline", "fetch"] = "inline"  # whether requests have the texts
    source: Annotated[str, Meta(min_length=1, max_length=100)] = "BCMS"  # of all documents
    expired: Literal["blank", "iso"] = "blank"  # between date and time: a blank, or T
    custom_parameters: Words = ()  # NAME=VALUE, sent as they are
    protein_types: Words = ("GENE", "PROTEIN")  # whose database ids are read as accessions

    def __post_init__(self) -> None:
        super().__post_init__()
        for given in self.custom_parameters:
            if not given.partition("=")[1]:
                raise ValueError(f"custom_parameters: {given[:40]!r}; expected NAME=VALUE")

    @property
    def custom(self) -> Mapping[str, str]:
        """The custom parameters by name.

        >>> BecalmOptions(custom_parameters=("apikey = K", "mode=a=b")).custom
        {'apikey': 'K', 'mode': 'a=b'}
        """
        pairs = (given.partition("=") for given in self.custom_parameters)
        return {name.strip(): value.strip() for name, _, value in pairs}

    def expires(self, at: float) -> str:
        """Return when a request expires, as its server reads it.

        >>> BecalmOptions().expires(0), BecalmOptions(expired="iso").expires(0)
        ('1970-01-01 00:00:00Z', '1970-01-01T00:00:00Z')
        """
        between = "T" if self.expired == "iso" else " "
        return datetime.fromtimestamp(at, UTC).strftime(f"%Y-%m-%d{between}%H:%M:%SZ")


class BecalmReading:
    """Reads an answer about an article; `read` raises `PeerError`.

    With an empty text only its form is checked.
    """

    def __init__(
        self, text: str, article: ArticleId, options: BecalmOptions, limits: Limits, report: Report
    ) -> None:
        title, _, rest = text.partition("\n")
        self._text = text
        self._article = article
        self._options = options
        self._limits = limits
        self._report = report
        self._found = Findings(text, report, limits)
        self._sections = {
            "T": (0, Places(title, options.offsets)),
            "A": (len(title) + 1, Places(rest, options.offsets)),
        }
        self._proteins = {kind.casefold() for kind in options.protein_types}

    def read(self, callback: Callback) -> Value:
        """Return the contract's values; its time grows with the body's size."""
        self._found.size = len(callback.body)
        if not callback.body.strip():
            return self._found.answer()  # nothing was found
        return _READERS[callback.format](self, callback.body)

    # -- JSON and TSV ----------------------------------------------------------------------------

    def json(self, body: bytes) -> Value:
        """Read an array of annotations, or an object with it, and with pairs and relevance."""
        value, pointer = read_json(body, self._limits), ""
        if isinstance(value, dict):
            self._further(value)
            meta = value.get(META)
            self._found.meta = meta if isinstance(meta, dict) else None
            value, pointer = member(value, "annotations", list, ""), "/annotations"
        for place, item in enumerate(as_type(value, list, pointer)):
            at = f"{pointer}/{place}"
            self._annotation(at, f"{at}/", as_type(item, dict, at))
        return self._found.answer()

    def tsv(self, body: bytes) -> Value:
        """Read lines of columns, with or without a heading line."""
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"not UTF-8: {error.reason} at byte {error.start}"
            raise PeerError(Outcome.SYNTAX, message) from error
        if text.count("\t") + text.count("\n") > self._limits.values:
            raise PeerError(Outcome.TOO_LARGE, self._limits.exceeded("values"))
        for line, row in _rows(text):
            self._annotation(f"line {line}", f"line {line}, column ", row)
        return self._found.answer()

    def _annotation(self, at: str, inside: str, annotation: Mapping[str, Any]) -> None:
        """Read an annotation; `at` is its place, and `inside` begins the places in it."""

        def needed(name: str) -> Any:
            if annotation.get(name) in (None, ""):
                raise PeerError(Outcome.SHAPE, f"{inside}{name}: missing")
            return annotation[name]

        document, section = str(needed("document_id")), str(needed("section")).upper()
        if document != self._article:
            message = f"{inside}document_id: {document!r:.60} is not the document that was sent"
            raise PeerError(Outcome.SHAPE, message)
        if section not in self._sections:
            raise PeerError(Outcome.SHAPE, f"{inside}section: expected T or A, got {section!r:.40}")
        start, places = self._sections[section]
        begin, end = (_whole(needed(name), inside + name) for name in ("init", "end"))
        words, kind = (
            annotation.get("annotated_text"),
            str(annotation.get("type") or "unknown").lower(),
        )
        score = self._options.scaled(annotation.get("score"))
        self._found.mention(
            at,
            places.code_point(begin) + start,
            places.code_point(end) + start,
            kind,
            score,
            words if isinstance(words, str) else None,
        )
        if kind.casefold() in self._proteins:
            self._names(inside + "database_id", str(annotation.get("database_id") or ""), score)

    def _names(self, at: str, ids: str, score: float | None) -> None:
        """Read the accessions among a protein's ids."""
        accessions: dict[str, None] = {}
        for name in filter(None, map(str.strip, _BETWEEN.split(ids, self._limits.values))):
            accession = self._found.accession(name, at)
            if accession is None:
                self._report.note(at, "names no UniProt accession")
            else:
                accessions[accession] = None
        for accession in accessions:
            self._found.normalization(accession, score)

    def _further(self, value: Mapping[str, Any]) -> None:
        """Read what BeCalm has no place for: pairs, and whether the article is relevant."""
        for place, item in enumerate(array(value, "pairs", "")):
            at = f"/pairs/{place}"
            pair = as_type(item, dict, at)
            score = self._options.scaled(pair.get("confidence"))
            ends = [
                self._found.accession(member(pair, name, str, at), f"{at}/{name}")
                for name in ("dbid_a", "dbid_b")
            ]
            if None in ends:
                self._report.note(at, "names no UniProt accession")
            else:
                self._found.pair(str(ends[0]), str(ends[1]), score)
        if value.get("interaction") is not None:
            relevance = as_type(value["interaction"], list, "/interaction")
            if len(relevance) != 2:
                raise PeerError(Outcome.SHAPE, "/interaction: expected [true or false, confidence]")
            score = self._options.scaled(relevance[1])
            truth = as_type(relevance[0], bool, "/interaction/0")
            self._found.interaction = (truth, 1.0 if score is None else score)

    # -- BioC ------------------------------------------------------------------------------------

    def bioc(self, body: bytes) -> Value:
        """Read a collection in XML or in JSON."""
        value = read_collection(body, self._limits)
        options = self._options
        bioc = BiocOptions(
            offsets=options.offsets, score_min=options.score_min, score_max=options.score_max
        )
        reading = BiocReading(self._text, self._article, bioc, self._limits, self._report)
        return reading.read(value, len(body))


_READERS: Final[Mapping[str, Callable[[BecalmReading, bytes], Value]]] = {
    "json": BecalmReading.json,
    "tsv": BecalmReading.tsv,
    "bioc": BecalmReading.bioc,
}
FORMATS: Final = frozenset(_READERS)
"""The formats that a callback may have."""


def _rows(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the TSV rows with their line numbers."""
    names: tuple[str, ...] = COLUMNS
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        cells = [cell.strip() for cell in content.rstrip("\r").split("\t")]
        if line == 1 and cells[0].lower() == COLUMNS[0]:
            names = tuple(cell.lower() for cell in islice(cells, len(COLUMNS)))
            continue
        if len(cells) < len(names) - 1 or len(cells) > len(names):
            expected = f"{len(names) - 1} or {len(names)} columns"
            raise PeerError(Outcome.SHAPE, f"line {line}: expected {expected}, got {len(cells)}")
        yield line, dict(zip(names, cells, strict=False))


def _whole(value: Any, at: str) -> int:
    """Return a number of characters, even if written as a string."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    return as_type(value, int, at)
