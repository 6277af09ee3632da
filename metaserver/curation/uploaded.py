"""Annotations that came with an article in a BioC file: one more voice beside the servers' answers.

No model knows it, so that it adds candidates and is shown as support, and weighs nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from metaserver.base.compression import pack_json, unpack
from metaserver.base.curations import UPLOADED, UploadedVoice
from metaserver.base.errors import PeerError
from metaserver.base.lanes import Asides
from metaserver.base.records import Problem, ServerName, TaskName
from metaserver.base.states import Outcome
from metaserver.corpus.markup import is_reference, text_of
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.exchange.protocols.bioc import BiocOptions, BiocReading, collection_of_xml
from metaserver.exchange.protocols.json_body import array, as_type, read_json
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.validation import MOST_MENTIONS, WORDS, Part, Vocabulary, check
from metaserver.exchange.wire.values import Limits, Value
from scoring import Task

_CLASS = "interaction"
TASKS = (Task.INT, Task.IPT)
"""The tasks that annotations name candidates of."""
MOST_CANDIDATES = 1_000
"""The most proteins, and pairs, of a file that become candidates."""
MOST_VALUES = 500_000
"""The most values, or tags, of a file whose annotations are read."""
MOST_SKIPPED = 5
"""The most types of relations that are not read that are named."""
MOST_NAMED = 20
"""The most problems that are kept and shown."""
_IDENTIFIER = re.compile(r"(normalizations|pairs)\[([0-9]{1,9})\]\.(dbid(?:_[ab])?)")
_DERIVED = "confidence"
"""The path of the note that confidences are derived: they weigh nothing here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileAnnotations:
    """The annotations of a file as it has them; `places` are those of each accession it names.

    A place has its beginning, its end and its accession. `skipped` counts relations of types that
    are not read. `failure` says why annotations cannot be read.
    """

    source: str
    value: Value = None
    places: Sequence[tuple[int, int, str]] = ()
    report: Report = field(default_factory=Report)
    skipped: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""


class StoredVoice(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations that were accepted, as a request keeps them."""

    voice: UploadedVoice
    payloads: Mapping[str, Any] = {}
    mentions: Sequence[tuple[int, str, str, str]] = ()


def read_annotations(data: bytes, source: str, text: str) -> FileAnnotations | None:
    """Return the annotations of a file's only document; None for a file that has none.

    `text` is the article as it was read out of the file. Bounded by `MOST_VALUES`; slow: call it
    in a thread.

    >>> data = b'''{"passages": [{"offset": 9, "text": "p53", "annotations": [
    ...     {"infons": {"identifier": "P04637"}, "locations": [{"offset": 9, "length": 3}]}]}]}'''
    >>> read_annotations(data, "1.json", "p53").places
    [(0, 3, 'P04637')]
    """
    start = data[:1_000].removeprefix(b"\xef\xbb\xbf").lstrip()
    is_xml = start.startswith(b"<")
    if source.endswith((".txt", ".txt.gz")):  # a text, whatever it looks like
        return None
    if (is_xml and b"<collection" not in start) or not (is_xml or start.startswith((b"{", b"["))):
        return None
    if b"annotation" not in data and b"relation" not in data:
        return None
    limits, report = Limits(values=MOST_VALUES), Report()
    try:
        value = collection_of_xml(data, limits) if is_xml else read_json(data, limits)
        document, options = _document(value), BiocOptions()
        passages, starts, relations = _placed(document, report)
        infons = _opinion(document, options)
        if not (relations or infons or report.problem_count or any(map(_is_annotated, passages))):
            return None
        reading = BiocReading(text, "", options, limits, report)
        read = {"passages": passages, "relations": relations, "infons": infons}
        found = reading.read(read, len(data), starts)
        if not infons and isinstance(found, dict):
            found.pop(_CLASS, None)  # that a pair is there is no opinion of the file
    except PeerError as error:
        return FileAnnotations(source=source, failure=error.message)
    return FileAnnotations(
        source=source,
        value=found,
        places=list(reading.named),
        report=report,
        skipped=reading.skipped,
    )


def checked(
    annotations: FileAnnotations, parts: Sequence[Part], text: str, vocabulary: Vocabulary
) -> bytes:
    """Return annotations that were checked as a server's answer is, packed; slow for many."""
    name = f"{UPLOADED}{annotations.source}"
    if annotations.failure:
        message = f"its annotations cannot be read: {annotations.failure}"
        return pack_json(StoredVoice(voice=UploadedVoice(name=name, left_out=(message,), lost=1)))
    read = [part for part in parts if str(part.name) in (*TASKS, Task.ACT)]
    answer = check(annotations.value, read, vocabulary, annotations.report)
    payloads = {str(task): payload[:MOST_CANDIDATES] for task, payload in answer.payloads.items()}
    ranked = [task for task in TASKS if task in payloads]
    kept = sum(len(payloads[task]) for task in ranked)
    problems = [one for one in answer.problems if one.path != _DERIVED]
    lost = answer.problem_count - (len(answer.problems) - len(problems))
    skipped = Counter(annotations.skipped)
    problems[:0] = [
        Problem(path="", message=f"relations of type {kind or 'unsaid'}: {number:,} not read")
        for kind, number in skipped.most_common(MOST_SKIPPED)
    ]
    lost += skipped.total()
    if over := sum(len(answer.payloads[TaskName(task)]) - len(payloads[task]) for task in ranked):
        message = f"{over:,} candidates: the first {MOST_CANDIDATES:,} of a task are taken"
        problems.insert(0, Problem(path="", message=message))
    return pack_json(
        StoredVoice(
            voice=UploadedVoice(
                name=name,
                hits=kept,
                left_out=tuple(_said(one, annotations.value) for one in problems[:MOST_NAMED]),
                lost=lost + over,
            ),
            payloads=payloads,
            mentions=_mentions(annotations.places, text, vocabulary),
        )
    )


def _said(problem: Problem, value: Any) -> str:
    """Return a problem, with the identifier in place of its path in the values."""
    match = _IDENTIFIER.fullmatch(problem.path)
    if match is None:
        return str(problem)
    return f"{value[match[1]][int(match[2])][match[3]]}: {problem.message}"


def stored_voice(request: StoredRequest) -> StoredVoice | None:
    """Return the annotations that came with a request's article; None without any."""
    if request.uploaded is None:
        return None
    return msgspec.json.decode(unpack(request.uploaded), type=StoredVoice)


def as_answer(request: StoredRequest) -> RequestAnswer | None:
    """Return the annotations that came with a request's article as an answer; None without any."""
    stored = stored_voice(request)
    if stored is None:
        return None
    return RequestAnswer(
        server_id=0,
        server=ServerName(stored.voice.name),
        team="",
        started_at=request.at,
        ended_at=request.at,
        hits=stored.voice.hits,
        payloads=pack_json(stored.payloads),
        asides=pack_json(Asides(mentions=stored.mentions)),
    )


def _document(value: Any) -> Mapping[str, Any]:
    """Return the only document: in a list of collections, in a collection, or by itself."""
    entries = value if isinstance(value, list) else [value]
    found: list[Any] = []
    for entry in entries:
        one = as_type(entry, dict, "")
        found += array(one, "documents", "") if "documents" in one else [one]
    if len(found) != 1:
        raise PeerError(Outcome.SHAPE, f"expected one document, found {len(found)}")
    return as_type(found[0], dict, "/documents/0")


def _opinion(document: Mapping[str, Any], options: BiocOptions) -> Mapping[str, Any]:
    """Return the infons that say whether the article is relevant (ACT), empty if none does."""
    given = document.get("infons")
    infons = given if isinstance(given, dict) else {}
    if not any(key in infons for key in options.relevance_keys):
        return {}
    keys = {*options.relevance_keys, *options.score_keys}
    return {key: value for key, value in infons.items() if key in keys}


def _placed(
    document: Mapping[str, Any], report: Report
) -> tuple[list[dict[str, Any]], list[int], list[Any]]:
    """Return a document's passages, where each begins in the article's text, and its relations.

    A sentence of a passage without a text of its own is a passage. The list of references is not
    in the text.
    """
    relations = list(array(document, "relations", ""))
    placed: list[dict[str, Any]] = []
    starts: list[int] = []
    begin = 0

    def place(passage: Mapping[str, Any], text: str, start: int) -> None:
        at = passage.get("offset", 0)
        placed.append({**passage, "offset": at, "text": text.replace("\r", " ")})
        starts.append(start)

    for number, one in enumerate(array(document, "passages", "")):
        pointer = f"/passages/{number}"
        passage = as_type(one, dict, pointer)
        sentences = [as_type(each, dict, pointer) for each in array(passage, "sentences", pointer)]
        given = passage.get("infons")
        infons = given if isinstance(given, dict) else {}
        holders = [passage, *sentences]
        if is_reference(infons.get("type"), infons.get("section_type")):
            if any(holder.get("annotations") for holder in holders):
                report.note(pointer, "annotations in the list of references are left out")
            continue
        for holder in holders:
            relations += array(holder, "relations", pointer)
        words = [str(sentence.get("text") or "") for sentence in sentences]
        own = passage.get("text")
        text = text_of(own if isinstance(own, str) else None, words)
        if text is not own:
            start = begin
            for sentence, its_words in zip(sentences, words, strict=True):
                place(sentence, its_words, start)
                start += len(its_words) + 1
            passage = {**passage, "sentences": []}
        place(passage, text, begin)
        begin += len(text) + 1 if text else 0
    if annotations := array(document, "annotations", ""):
        placed.append({"offset": 0, "annotations": annotations})
        starts.append(0)
    return [one | {"relations": []} for one in placed], starts, relations


def _is_annotated(passage: Mapping[str, Any]) -> bool:
    sentences = [one for one in passage.get("sentences") or () if isinstance(one, dict)]
    return any(holder.get("annotations") for holder in (passage, *sentences))


def _mentions(
    places: Sequence[tuple[int, int, str]], text: str, vocabulary: Vocabulary
) -> list[tuple[int, str, str, str]]:
    """Return the places as mentions of accessions that the vocabulary has."""
    shown = places[:MOST_MENTIONS]
    rulings = vocabulary.rulings([accession for *_, accession in shown])
    mentions = []
    for number, (start, end, accession) in enumerate(shown):
        known = rulings[number].accession if number in rulings else accession
        words = text[max(0, start) : max(0, end)]
        if known is not None and 0 < len(words) <= WORDS and start >= 0:
            mentions.append((start, words, "", known))
    return mentions
