"""BioC over REST, JSON or XML: an article as a collection, which comes back annotated.

The answer comes at once, or (`style = session`, as PubTator's text services) the server answers
with a session's number, and its result is looked for at `result_url`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec
from lxml import etree
from lxml.etree import _Element

from metaserver.base.conformance import ConformanceStep, StepState
from metaserver.base.errors import PeerError
from metaserver.base.records import AuthKind, Server, ServerReport
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.findings import Findings, gene_name
from metaserver.exchange.protocols.json_body import (
    ACCEPT,
    CONTENT_TYPE,
    array,
    as_type,
    clean,
    failed,
    member,
    read_json,
    whole_body,
)
from metaserver.exchange.protocols.options import AnswerOptions, Places, Words, read_options
from metaserver.exchange.protocols.plugin import (
    ArticleCall,
    OpenChannel,
    Request,
    Response,
    ServerChannel,
)
from metaserver.exchange.protocols.polling import (
    Looks,
    check_origins,
    job_address,
    look_until_there,
)
from metaserver.exchange.wire.contract import DECLARED, Report
from metaserver.exchange.wire.values import Limits, Value
from metaserver.exchange.wire.xmlrpc import escape_text

XML: Final = "application/xml"
_XML_BEGINS: Final = (b"<?xml", b"<!DOCTYPE collection", b"<collection")
SESSION: Final = "{session}"
_WORD: Final = re.compile(rb'\s*([^\s\x00-\x1f\x7f-\xff<>[\]{}"]+)(?:\s|\Z)')
_LONGEST: Final = 200
"""The maximum length of a session's number."""
_SHOWN: Final = 60
"""The characters of a name that a note shows."""
_BETWEEN: Final = re.compile(r"[,;|]")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
GENE: Final = "Gene"
"""The type of annotations whose identifiers are NCBI Gene ids, if they are numbers (PubTator)."""
_TRUE: Final = frozenset({"1", "true", "yes"})


class BiocOptions(AnswerOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for a BioC server."""

    format: Literal["json", "xml"] = "json"  # of requests; answers are read in either
    style: Literal["sync", "session"] = "sync"
    result_url: str = ""  # of a session's result, with {session} in it
    id_keys: Words = ("identifier", "UniProt", "uniprot")
    gene_keys: Words = ("NCBI Gene", "NCBI_Gene", "NCBI GENE")
    score_keys: Words = ("score", "confidence")
    pair_types: Words = ("ppi", "PPI", "interaction", "bind", "Association")
    relevance_keys: Words = ("interaction", "relevant")
    poll_origins: Words = ()
    looks_a_second: Looks = 3.0  # at jobs of one host

    def __post_init__(self) -> None:
        super().__post_init__()
        check_origins(self.poll_origins)
        if self.style == "session" and SESSION not in self.result_url:
            raise ValueError(f"a session needs result_url with {SESSION} in it")

    def score(self, infons: Mapping[str, Any]) -> float | None:
        """Return the score among the infons, on the contract's scale; None without a score."""
        scores = (self.scaled(infons.get(key)) for key in self.score_keys)
        return next((score for score in scores if score is not None), None)


class _Begun(msgspec.Struct):
    """A session that has begun."""

    id: str | int


class Bioc:
    """BioC over REST, as the PubTator services (JSON) and OGER (XML) speak it."""

    name: Final = "bioc"
    title: Final = "BioC"
    reports_state: Final = False
    calls_back: Final = False

    def check(self, server: Server) -> None:
        """Raise `ValueError` if the options are not valid."""
        options = read_options(server.options, BiocOptions)
        if options.format == "xml" and server.access.auth is AuthKind.BODY:
            raise ValueError(
                "format = xml has no place for a secret in the body; choose another auth"
            )

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value:
        """Send the article as a collection, and read the annotations that come back."""
        options = read_options(call.server.options, BiocOptions)
        text = await call.text.plain()
        submitted = await _submit(channel, options, call.article, text)
        response = await _result(channel, call.server, options, submitted)
        body = response.value

        def read() -> Value:
            reading = BiocReading(text, call.article, options, channel.limits, channel.report)
            return reading.read(read_collection(body, channel.limits), len(body))

        return await channel.work(read, size=max(len(body), len(text)))

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Return None: the protocol has no states."""
        return None

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Send an empty document: any answer but a failure of the server shows that it is there."""
        options = read_options(server.options, BiocOptions)
        response = await _submit(channel, options, "probe", "")
        if response.status >= 500:
            raise failed(response)
        return f"the protocol has no states; an empty document was answered by {response.status}"

    async def examine(
        self, open_channel: OpenChannel, server: Server
    ) -> AsyncIterator[ConformanceStep]:
        """Yield the steps for a document that comes back as sent."""
        options = read_options(server.options, BiocOptions)
        yield await _comes_back(open_channel(), server, options)


BIOC: Final = Bioc()


def collection(article: str, text: str) -> dict[str, Any]:
    """Return an article as a collection: offsets are those of the text, title and rest passages."""
    title, _, rest = text.partition("\n")
    passages = [_passage("title", 0, title)]
    if rest:
        passages.append(_passage("abstract", len(title) + 1, rest))
    document = {"id": article, "infons": {}, "passages": passages}
    empty: dict[str, Any] = {"annotations": [], "relations": []}
    return {
        "source": "BCMS",
        "date": "",
        "key": "bcms.key",
        "infons": {},
        "documents": [document | empty],
    }


def _passage(kind: str, offset: int, text: str) -> dict[str, Any]:
    return {
        "infons": {"type": kind},
        "offset": offset,
        "text": text,
        "sentences": [],
        "annotations": [],
        "relations": [],
    }


# -- collections in XML, as the values that BioC-JSON has ------------------------------------------
# No DTD is loaded, no entity is expanded, nothing is fetched.

_MANY: Final = {
    "document": "documents",
    "passage": "passages",
    "sentence": "sentences",
    "annotation": "annotations",
    "relation": "relations",
    "location": "locations",
    "node": "nodes",
}
"""The elements that may be repeated, by the name of their array in JSON."""
_ATTRIBUTES: Final = ("id", "refid", "role", "offset", "length")
"""BioC's attributes: listing an element's takes quadratic time."""
_NUMBERS: Final = frozenset({"offset", "length"})
_DIGITS: Final = 15


def collection_of_xml(body: bytes, limits: Limits) -> Any:
    """Return a collection; its time grows with the body's size. Raises `PeerError`."""
    if body.count(b"<") > limits.values:
        raise PeerError(Outcome.TOO_LARGE, f"more than {limits.values:,} tags")
    parser = etree.XMLParser(
        encoding="utf-8",
        load_dtd=False,
        no_network=True,
        resolve_entities=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        message = (error.msg or "no content").partition(", line ")[0].strip()
        raise PeerError(Outcome.SYNTAX, f"not XML: {message}: line {error.lineno}") from error
    return _value(root)


def _value(element: _Element) -> dict[str, Any]:
    """Return an element as an object; the parser bounds the depth."""
    members: dict[str, Any] = {
        name: _number(name, str(value))
        for name in _ATTRIBUTES
        if (value := element.get(name)) is not None
    }
    infons: dict[str, str] = {}
    for child in element:
        name = str(child.tag)
        if name == "infon":
            infons[str(child.get("key", ""))] = child.text or ""
        elif name in _MANY:
            members.setdefault(_MANY[name], []).append(_value(child))
        elif name.isidentifier():  # an entity's is not
            members[name] = _number(name, child.text or "")
    return members | {"infons": infons}


def _number(name: str, text: str) -> int | str:
    """Return an attribute's or element's value: offsets and lengths are integers."""
    plain = text.strip()
    if name in _NUMBERS and plain.isascii() and plain.isdigit() and len(plain) <= _DIGITS:
        return int(plain)
    return text


def read_collection(body: bytes, limits: Limits) -> Any:
    """Return a collection in XML or JSON, as JSON's values; raises `PeerError`.

    A page of HTML is neither.
    """
    if body[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_XML_BEGINS):
        return collection_of_xml(body, limits)
    return read_json(body, limits)


def collection_as_xml(article: str, text: str) -> bytes:
    """Return an article as a collection in XML; what XML forbids becomes U+FFFD."""
    value = collection(article, text)
    (document,) = value["documents"]
    passages = b"".join(
        b'<passage><infon key="type">%s</infon><offset>%d</offset><text>%s</text></passage>'
        % (passage["infons"]["type"].encode(), passage["offset"], escape_text(passage["text"]))
        for passage in document["passages"]
    )
    source, key = value["source"].encode(), value["key"].encode()
    return (
        b'<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE collection SYSTEM "BioC.dtd">'
        b"<collection><source>%s</source><date></date><key>%s</key><document><id>%s</id>%s"
        b"</document></collection>" % (source, key, escape_text(article), passages)
    )


async def _submit(
    channel: ServerChannel, options: BiocOptions, article: str, text: str
) -> Response[bytes]:
    if options.format == "xml":
        body = await channel.work(collection_as_xml, article, text, size=len(text))
        request = Request(body, XML, statuses=None, accept=XML)
    else:
        login = {channel.login.name: channel.login.secret} if channel.login else {}
        body = msgspec.json.encode(collection(article, text) | login)
        request = Request(body, CONTENT_TYPE, statuses=None, accept=ACCEPT)
    return await channel.send(request, whole_body(channel.limits))


async def _result(
    channel: ServerChannel, server: Server, options: BiocOptions, submitted: Response[bytes]
) -> Response[bytes]:
    """Return the answer with the annotations; raises `PeerError` without it."""
    if submitted.status not in (200, 201, 202):
        raise failed(submitted)
    if options.style == "sync":
        return submitted
    body = submitted.value
    session = await channel.work(session_of, body, size=len(body))
    address = options.result_url.replace(SESSION, quote(session, safe=""))
    place = job_address(address, server.url, server.url, options.poll_origins, "result_url")
    response = await look_until_there(
        channel, place, options.looks_a_second, submitted=submitted, state="session begun"
    )
    if response.status != 200:
        raise failed(response)
    return response


def session_of(body: bytes) -> str:
    """Return the number of a session: JSON, the id in an object, else the first word."""
    try:
        begun_job = msgspec.json.decode(body, type=_Begun | str)
        session = str(begun_job.id if isinstance(begun_job, _Begun) else begun_job)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        word = _WORD.match(body)
        session = word[1].decode() if word else ""
    if not 0 < len(session) <= _LONGEST or set(session) <= {"."}:
        excerpt = body[:200].decode("utf-8", "replace")
        expected = f"the number of a session, of {_LONGEST} characters at most"
        raise PeerError(Outcome.SHAPE, f"expected {expected}, got {excerpt!r}")
    return session


class BiocReading:
    """Reads an answer; `read` raises `PeerError` for another shape."""

    def __init__(
        self, text: str, article: str, options: BiocOptions, limits: Limits, report: Report
    ) -> None:
        self._text = text
        self._article = article
        self._options = options
        self._limits = limits
        self._report = report
        self._found = Findings(text, report, limits)
        self._accessions: defaultdict[str, list[str]] = defaultdict(list)  # by annotation
        self._whole = Places(text, options.offsets)
        self.named: dict[tuple[int, int, str], None] = {}
        """The places that name an accession: where they begin and end, and the accession."""
        self.skipped: Counter[str] = Counter()
        """Relations of types that are not read, by the first characters of their type."""

    def read(self, value: Any, size: int, starts: Sequence[int] | None = None) -> Value:
        """Return the values of the contract in a collection, which came in so many bytes.

        `starts` says where each passage begins in the text; without it, at its offset.
        """
        self._found.size = size
        pointer, document = self.document(value)
        passages = list(_objects(document, "passages", pointer))
        for number, (at, passage) in enumerate(passages):
            self._passage(at, passage, None if starts is None else starts[number])
        for at, holder in [(pointer, document), *passages]:
            for where, relation in _objects(holder, "relations", at):
                self._relation(where, relation)
        infons = _infons(document, pointer)
        for key in self._options.relevance_keys:
            if key in infons:
                relevant = str(infons[key]).lower() in _TRUE
                score = self._options.score(infons)
                self._found.interaction = (relevant, 1.0 if score is None else score)
        self._found.meta = {key: infons[key] for key in DECLARED if key in infons}
        return self._found.answer()

    def document(self, value: Any) -> tuple[str, Mapping[str, Any]]:
        """Return our document with its pointer: in a collection, in a list, or by itself.

        It is the document with our id, or the only document if that has none.
        """
        pointer = ""
        if isinstance(value, dict) and "passages" not in value:
            key = next((key for key in ("documents", "PubTator3") if key in value), "documents")
            value, pointer = member(value, key, list, ""), f"/{key}"
        if isinstance(value, dict):
            documents: Sequence[tuple[str, Mapping[str, Any]]] = [(pointer, value)]
        else:
            documents = list(_each(as_type(value, list, pointer), pointer))
        own_documents = [
            document for document in documents if str(document[1].get("id")) == self._article
        ]
        if len(own_documents) == 1:
            return own_documents[0]
        if len(documents) != 1:
            message = (
                f"{pointer or '/'}: {len(documents)} documents, {len(own_documents)} of them ours"
            )
            raise PeerError(Outcome.SHAPE, message)
        [(pointer, document)] = documents
        if document.get("id") not in (None, ""):
            message = f"{pointer}/id: {str(document['id'])!r:.60} is not the id that was sent"
            raise PeerError(Outcome.SHAPE, message)
        return pointer, document

    def _passage(self, pointer: str, passage: Mapping[str, Any], begin: int | None) -> None:
        start = member(passage, "offset", int, pointer)
        begin = start if begin is None else begin
        text = passage.get("text")
        if isinstance(text, str) and (text.strip() or not passage.get("sentences")):
            places = Places(text, self._options.offsets)
        else:  # shared: many such passages must not take the time of as many texts
            text, start, begin, places = self._text, 0, 0, self._whole
        annotations = list(_objects(passage, "annotations", pointer))
        for at, sentence in _objects(passage, "sentences", pointer):
            annotations += _objects(sentence, "annotations", at)
        listed = [annotation for _, annotation in annotations]
        shift = self._shift(start, begin, text, places, listed)
        if shift:
            self._report.note(f"{pointer}/annotations", f"offsets in the passage: moved by {shift}")
        for at, annotation in annotations:
            self._annotation(at, annotation, start - shift, begin, places)

    def _shift(
        self,
        start: int,
        begin: int,
        text: str,
        places: Places,
        annotations: Sequence[Mapping[str, Any]],
    ) -> int:
        """Return the offset of a passage whose annotations count from its own beginning, else 0."""
        located = [
            (location.get("offset"), annotation.get("text"))
            for annotation in annotations
            if (location := _first_location(annotation)) is not None
        ]
        fits = [
            isinstance(at, int)
            and isinstance(words, str)
            and text.startswith(words, places.code_point(at))
            and not self._text.startswith(words, places.code_point(at - start) + begin)
            for at, words in located
        ]
        return start if start and fits and all(fits) else 0

    def _annotation(
        self,
        pointer: str,
        annotation: Mapping[str, Any],
        origin: int,
        place: int,
        places: Places,
    ) -> None:
        """Read an annotation whose offsets count from `origin`, in a passage at `place`."""
        options, infons = self._options, _infons(annotation, pointer)
        score = options.score(infons)
        locations = list(_objects(annotation, "locations", pointer))
        if len(locations) > 1:
            self._report.note(f"{pointer}/locations", "in pieces: the first is read")
        words = annotation.get("text")
        span = None
        if locations:
            at, location = locations[0]
            first = member(location, "offset", int, at) - origin
            last = first + member(location, "length", int, at)
            span = self._found.mention(
                pointer,
                places.code_point(first) + place,
                places.code_point(last) + place,
                str(infons.get("type") or "unknown"),
                score,
                words if isinstance(words, str) and len(locations) == 1 else None,
            )
        name = str(annotation.get("id", ""))
        for accession in dict.fromkeys(self._named(infons, pointer)):
            if name:
                self._accessions[name].append(accession)
            self._found.normalization(accession, score)
            if span is not None and (not isinstance(words, str) or self._stands(words, span)):
                self.named[*span, accession] = None

    def _stands(self, words: str, span: tuple[int, int]) -> bool:
        """Return whether words stand at a place, or begin there if they are in pieces."""
        return words.startswith(self._text[slice(*span)])

    def _named(self, infons: Mapping[str, Any], pointer: str) -> Iterator[str]:
        """Yield the accessions that the infons name."""
        for key in dict.fromkeys((*self._options.id_keys, *self._options.gene_keys)):
            texts = _BETWEEN.split(str(infons.get(key) or ""), self._limits.values)
            genes = key in self._options.gene_keys or infons.get("type") == GENE
            for text in filter(None, map(str.strip, texts)):
                accession = self._accession(text, f"{pointer}/infons/{key}", genes=genes)
                if accession is None:
                    message = f"{clean(text[:_SHOWN])} names no UniProt accession"
                    self._report.note(f"{pointer}/infons/{key}", message)
                else:
                    yield accession

    def _accession(self, text: str, pointer: str, *, genes: bool) -> str | None:
        """Return the accession in a text; with `genes`, a number is an NCBI Gene id."""
        if genes and _NUMBER.fullmatch(text):
            text = gene_name(int(text))
        return self._found.accession(text, pointer)

    def _relation(self, pointer: str, relation: Mapping[str, Any]) -> None:
        infons = _infons(relation, pointer)
        kind = str(infons.get("type", ""))
        if kind not in self._options.pair_types:
            self.skipped[clean(kind[:_SHOWN])] += 1
            return
        ends: list[Sequence[str]] = [
            self._accessions.get(str(node.get("refid", "")), ())
            for _, node in _objects(relation, "nodes", pointer)
        ]
        if not ends:
            ends = [self._role(infons, role, pointer) for role in ("role1", "role2")]
        score = self._options.score(infons)
        ends_found = [end for end in ends if end]
        if len(ends_found) < max(2, len(ends)):
            self._report.note(pointer, "relates what has no accession")
        for one_end, other_end in combinations(ends_found, 2):
            for first in one_end:
                for second in other_end:
                    self._found.pair(first, second, score)

    def _role(self, infons: Mapping[str, Any], role: str, pointer: str) -> Sequence[str]:
        """Return the accession in a role.

        Examples: `Gene|P04637`, `Gene|7157`.
        """
        kind, _, text = str(infons.get(role, "")).rpartition("|")
        accession = self._accession(text, f"{pointer}/infons/{role}", genes=kind == GENE)
        return () if accession is None else (accession,)


def _first_location(annotation: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return an annotation's location to read, or None."""
    locations = annotation.get("locations")
    first = locations[0] if isinstance(locations, list) and locations else None
    return first if isinstance(first, dict) else None


def _objects(
    holder: Mapping[str, Any], name: str, pointer: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield an array's objects with their pointers; an absent array is empty."""
    return _each(array(holder, name, pointer), f"{pointer}/{name}")


def _each(values: Sequence[Any], pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, value in enumerate(values):
        yield f"{pointer}/{place}", as_type(value, dict, f"{pointer}/{place}")


def _infons(holder: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    infons = holder.get("infons")
    return {} if infons is None else as_type(infons, dict, f"{pointer}/infons")


def _passage_text(passage: Mapping[str, Any], pointer: str) -> str:
    """Return a passage's text: its own, or if that is missing or blank, its sentences."""
    text = str(passage.get("text") or "")
    if text.strip() or not passage.get("sentences"):
        return text
    sentences = _objects(passage, "sentences", pointer)
    return " ".join(str(sentence.get("text") or "") for _, sentence in sentences)


async def _comes_back(
    channel: ServerChannel, server: Server, options: BiocOptions
) -> ConformanceStep:
    """Return a document's step: its id and texts must come back as sent.

    A changed text is a warning, another document a failure.
    """
    name, article, text = "document comes back", "conformance-bioc", "α-Synuclein\nbinds 𝛽 Parkin."
    expected = [
        passage["text"] for passage in collection(article, text)["documents"][0]["passages"]
    ]
    try:
        submitted = await _submit(channel, options, article, text)
        response = await _result(channel, server, options, submitted)
        body = response.value

        def read() -> tuple[StepState, str]:
            reading = BiocReading(text, article, options, channel.limits, channel.report)
            pointer, document = reading.document(read_collection(body, channel.limits))
            passages = _objects(document, "passages", pointer)
            texts = [_passage_text(passage, at) for at, passage in passages]
            whole = "".join(texts).casefold()
            if whole.strip() and not any(word in whole for word in ("synuclein", "parkin")):
                return (
                    StepState.FAILED,
                    "its passages have none of the names in the article that was sent",
                )
            wrong = [] if document.get("id") else ["it has no id"]
            if texts != expected:
                message = (
                    "its passages have another text than was sent, so names are looked up"
                    " in the text instead"
                )
                wrong.append(message)
            return StepState.WARNING if wrong else StepState.PASSED, "; ".join(wrong) or "unchanged"

        state, message = await channel.work(read, size=len(body))
    except PeerError as error:
        state = StepState.FAILED if error.outcome is Outcome.SHAPE else StepState.WARNING
        return ConformanceStep(name=name, state=state, message=str(error), outcome=error.outcome)
    return ConformanceStep(name=name, state=state, message=message)
