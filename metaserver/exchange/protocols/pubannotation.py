"""PubAnnotation's annotators: an article as JSON, the answer at once or after looks at a job.

Two kinds of jobs are in use: 303 with a `Location` that is 404 until the result is there, and 201
with a `Location` of a task that says where its result is (docs/protocols.md has the sources).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from metaserver.base.conformance import ConformanceStep, StepState, passed, skipped, warned
from metaserver.base.errors import PeerError
from metaserver.base.records import Server, ServerReport
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.findings import Findings
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
from metaserver.exchange.protocols.options import AnswerOptions, Places, Unit, Words, read_options
from metaserver.exchange.protocols.plugin import (
    ArticleCall,
    OpenChannel,
    Request,
    Response,
    ServerChannel,
)
from metaserver.exchange.protocols.polling import (
    NOT_READY,
    Looks,
    Pauses,
    check_origins,
    job_address,
    look,
    look_until_there,
)
from metaserver.exchange.wire.contract import META, Report
from metaserver.exchange.wire.values import Fault, FaultError, Limits, Value

# -- texts in parts, for servers that take no more than so many characters at a time ---------------

SUMMED = frozenset({"tokens_in", "tokens_out", "cost", "requests"})
"""The `meta` members summed over parts."""


def parts_of(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Yield a text's parts, at most `limit` characters long (0: any), each with its offset.

    Together they are the text. A part ends with a paragraph, else with a sentence, else with a
    word, else anywhere.
    """
    begin = 0
    while limit and len(text) - begin > limit:
        end = begin + limit
        for mark in ("\n", ". ", " "):
            if (cut := text.rfind(mark, begin, end)) > begin:
                end = cut + len(mark)
                break
        yield begin, text[begin:end]
        begin = end
    if begin < len(text) or not text:
        yield begin, text[begin:]


def best(interactions: Iterable[tuple[bool, float] | None]) -> tuple[bool, float] | None:
    """Return what parts say about the whole: relevant if any part is, as surely as that part."""
    return max(
        (interaction for interaction in interactions if interaction is not None), default=None
    )


def summed(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what two parts declare together: sums of numbers, else what came last."""
    before, after = first or {}, second or {}
    sums = {
        name: before[name] + after[name]
        for name in SUMMED & before.keys() & after.keys()
        if _is_number(before[name]) and _is_number(after[name])
    }
    return {**before, **after, **sums}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def pass_on(notes: Report, report: Report) -> None:
    """Add the notes on all parts to the last answer's report."""
    for problem in notes.problems:
        report.note(problem.path, problem.message)


# -- pubAnnotation's annotators: an article as JSON, the answer at once or after looks at a job ----

SOURCE: Final = "BCMS"
PLAIN: Final = "text/plain; charset=utf-8"
FORM: Final = "application/x-www-form-urlencoded"
PROTEIN: Final = "protein"
LEAST_PART: Final = 1_000
"""The fewest characters that a server may be sent at a time."""


class PubAnnotationOptions(AnswerOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for a PubAnnotation server."""

    body: Literal["json", "form", "text"] = "json"
    id_predicates: Words = ("id", "uniprot")
    score_predicates: Words = ("score", "confidence")
    pair_predicates: Words = ("interactsWith", "bindsTo", "ppi")
    relevance_predicates: Words = ("interaction", "relevant")
    poll_origins: Words = ()  # where jobs may be, besides the server's own origin
    max_chars: Annotated[int, Meta(ge=0, le=10**9)] = 0  # of a request; longer texts in parts
    looks_a_second: Looks = 3.0  # at jobs of one host

    def __post_init__(self) -> None:
        super().__post_init__()
        check_origins(self.poll_origins)
        if 0 < self.max_chars < LEAST_PART:
            raise ValueError(f"max_chars must be 0 (any length) or at least {LEAST_PART}")


class PubAnnotation:
    """PubAnnotation's protocol for annotation servers."""

    name: Final = "pubannotation"
    title: Final = "PubAnnotation"
    reports_state: Final = False
    calls_back: Final = False

    def check(self, server: Server) -> None:
        """Raise `ValueError` if the options are not valid."""
        read_options(server.options, PubAnnotationOptions)

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value:
        """Send the article, wait for the job if any, and read the annotations."""
        options = read_options(call.server.options, PubAnnotationOptions)
        text = await call.text.plain()
        notes = Report()
        findings = Findings(text, notes, channel.limits)
        for begin, part in parts_of(text, options.max_chars):
            submitted = await _submit(channel, options, {"text": part, "sourceid": call.article})
            response = await _result(channel, call.server, options, submitted)
            body, findings.begin = response.value, begin
            size = max(len(body), len(part))
            await channel.work(
                read_part, body, part, options, channel.limits, notes, findings, size=size
            )
        answer = await channel.work(findings.answer, size=findings.size)
        pass_on(notes, channel.report)
        return answer

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Return None: the protocol has no states."""
        return None

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Send an empty text: any answer but a failure of the server shows that it is there."""
        options = read_options(server.options, PubAnnotationOptions)
        response = await _submit(channel, options, {"text": ""})
        if response.status >= 500:
            raise failed(response)
        return f"the protocol has no states; an empty text was answered by {response.status}"

    async def examine(
        self, open_channel: OpenChannel, server: Server
    ) -> AsyncIterator[ConformanceStep]:
        """Yield the steps for unknown members, and for a result that is read twice."""
        options = read_options(server.options, PubAnnotationOptions)
        text = "MDM2 binds p53."
        yield await _further_member(open_channel(), server, options, text)
        yield await _read_twice(open_channel(), server, options, text)


PUBANNOTATION: Final = PubAnnotation()


async def _submit(
    channel: ServerChannel, options: PubAnnotationOptions, values: Mapping[str, str]
) -> Response[bytes]:
    if options.body == "text" and channel.login is None:
        body, kind = values["text"].encode(), PLAIN
    else:
        login = {channel.login.name: channel.login.secret} if channel.login else {}
        members = {**values, "sourcedb": SOURCE, **login}
        if options.body == "form":
            body = await channel.work(_form, members, size=len(values["text"]))
            kind = FORM
        else:
            body, kind = msgspec.json.encode(members), CONTENT_TYPE
    request = Request(body, kind, statuses=None, accept=ACCEPT)
    return await channel.send(request, whole_body(channel.limits))


def _form(members: Mapping[str, str]) -> bytes:
    return urlencode(members).encode()


async def _result(
    channel: ServerChannel,
    server: Server,
    options: PubAnnotationOptions,
    submitted: Response[bytes],
) -> Response[bytes]:
    """Return the answer with the result; raises `PeerError` without a result."""
    if submitted.status == 200:
        return submitted
    if submitted.status not in (201, 202, 303):
        raise failed(submitted)
    location = submitted.headers.get("Location")
    place = job_address(location, submitted.url, server.url, options.poll_origins)
    if submitted.status == 303:
        return _there(
            await look_until_there(
                channel, place, options.looks_a_second, submitted=submitted, state="accepted"
            )
        )
    return await _of_task(channel, server, options, place, submitted)


async def _of_task(
    channel: ServerChannel,
    server: Server,
    options: PubAnnotationOptions,
    place: str,
    submitted: Response[bytes],
) -> Response[bytes]:
    """Look at a task until it is done, and fetch its result."""
    pauses, headers, expected = Pauses(), submitted.headers, None
    state = "accepted"
    while True:
        await channel.wait(pauses.next(headers, expected), state)
        response = await look(channel, place, options.looks_a_second)
        if response.status in NOT_READY:
            headers, expected = response.headers, None
            continue
        if response.status != 200:
            raise _lost(response)
        body = response.value
        task = await channel.work(read_json, body, channel.limits, size=len(body))
        if isinstance(task, list) or "denotations" in as_type(task, dict, ""):
            return response  # the place of the task became that of the result
        state = member(task, "status", str, "")
        if state == "ERROR":
            raise FaultError(
                Fault(code="ERROR", string=clean(str(task.get("error_message") or "")))
            )
        if state == "DONE":
            result = job_address(
                task.get("result_location"),
                place,
                server.url,
                options.poll_origins,
                "result_location",
            )
            return _there(await look(channel, result, options.looks_a_second))
        headers, expected = response.headers, task.get("ETR")


def _there(response: Response[bytes]) -> Response[bytes]:
    """Return a result; raises `PeerError` for anything else."""
    if response.status != 200:
        raise _lost(response)
    return response


def _lost(response: Response[bytes]) -> PeerError:
    """Return the error for a job without a result; in either dialect 410 says that it had one."""
    if response.status == 410:
        return FaultError(Fault(code=410, string="the result has been deleted"))
    return failed(response)


def read_part(
    body: bytes,
    text: str,
    options: PubAnnotationOptions,
    limits: Limits,
    report: Report,
    findings: Findings,
) -> None:
    """Add an article part's annotations to those found; notes go to the report."""
    value = read_json(body, limits)
    findings.size += len(body)
    pointer = ""
    if isinstance(value, list) and len(value) == 1:  # as batches are answered
        value, pointer = value[0], "/0"
    document = as_type(value, dict, pointer)
    places = _Places(document.get("text"), text, options.offsets, f"{pointer}/text")
    earlier, findings.interaction = findings.interaction, None
    _Reading(document, pointer, options, findings, places, report).read()
    findings.interaction = best((earlier, findings.interaction))


class _Places:
    """The code points of our text, by offsets in the text that the server answered with.

    A server may have changed white space; the other letters are those that were sent.
    """

    def __init__(self, echoed: Any, text: str, unit: Unit, pointer: str) -> None:
        theirs = text if echoed is None else as_type(echoed, str, pointer)
        self._ours: Sequence[int] | None = None  # places of letters, if theirs are elsewhere
        self._theirs: Sequence[int] = ()
        if theirs.rstrip() != text.rstrip():
            if theirs.split() != text.split() and "".join(theirs.split()) != "".join(text.split()):
                raise PeerError(
                    Outcome.SHAPE,
                    f"{pointer}: the answer is for another text; expected the text that was sent",
                )
            self._ours, self._theirs = _letters(text), _letters(theirs)
        self._places = Places(theirs, unit)
        self._outside = len(text) + 1, len(theirs)

    def begin(self, offset: int) -> int:
        """Return the code point in our text where a span begins."""
        return self._placed(offset, 0)

    def end(self, offset: int) -> int:
        """Return the code point in our text where a span ends, exclusive."""
        return self._placed(offset, 1)

    def _placed(self, offset: int, before: int) -> int:
        place = self._places.code_point(offset)
        if self._ours is None or place < 0:
            return place
        letter = bisect_left(self._theirs, place) - before
        if place > self._outside[1] or not 0 <= letter < len(self._ours):
            return self._outside[0] if letter >= 0 else 0
        return self._ours[letter] + before


def _letters(text: str) -> Sequence[int]:
    """Return the places of all but white space."""
    return [at for at, letter in enumerate(text) if not letter.isspace()]


class _Reading:
    """Reads a document."""

    def __init__(
        self,
        document: Mapping[str, Any],
        pointer: str,
        options: PubAnnotationOptions,
        findings: Findings,
        places: _Places,
        report: Report,
    ) -> None:
        self._document = document
        self._pointer = pointer
        self._options = options
        self._found = findings
        self._places = places
        self._report = report
        self._accessions: defaultdict[str, dict[str, None]] = defaultdict(dict)  # by denotation
        self._scores: dict[str, float] = {}  # by denotation or relation
        self._relevance: list[tuple[str, Any]] = []

    def read(self) -> None:
        """Read attributes first: denotations and relations depend on them."""
        for at, item in self._members("attributes"):
            self._attribute(at, item)
        for at, item in self._members("denotations"):
            self._denotation(at, item)
        for at, item in self._members("relations"):
            self._relation(at, item)
        for subject, value in self._relevance:
            score = self._scores.get(subject, 1.0)
            relevant = value if isinstance(value, bool) else str(value).lower() in ("1", "true")
            self._found.interaction = (relevant, score)
        meta = self._document.get(META)
        self._found.meta = summed(self._found.meta, meta if isinstance(meta, dict) else None)

    def _members(self, name: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        pointer = f"{self._pointer}/{name}"
        return [
            (f"{pointer}/{place}", as_type(item, dict, f"{pointer}/{place}"))
            for place, item in enumerate(array(self._document, name, self._pointer))
        ]

    def _attribute(self, at: str, attribute: Mapping[str, Any]) -> None:
        options, subject = self._options, _name(attribute, "subj")
        predicate, value = member(attribute, "pred", str, at), attribute.get("obj")
        if predicate in options.relevance_predicates:
            self._relevance.append((_name(attribute, "id"), value))
        elif not subject and predicate in (*options.id_predicates, *options.score_predicates):
            self._report.note(f"{at}/subj", "missing: it is of no denotation or relation")
        elif predicate in options.id_predicates:
            accession = self._found.accession(as_type(value, str, f"{at}/obj"), f"{at}/obj")
            if accession is None:
                self._report.note(f"{at}/obj", "names no UniProt accession")
            else:
                self._accessions[subject][accession] = None
        elif predicate in options.score_predicates:
            score = options.scaled(value)
            if score is None:
                self._report.note(f"{at}/obj", "is no number")
            else:
                self._scores[subject] = score

    def _denotation(self, at: str, denotation: Mapping[str, Any]) -> None:
        name, kind = _name(denotation, "id"), member(denotation, "obj", str, at)
        span, where = denotation.get("span"), f"{at}/span"
        if isinstance(span, list) and span:
            if len(span) > 1:
                self._report.note(where, "in pieces: the first is read")
            span, where = span[0], f"{where}/0"
        span = as_type(span, dict, where)
        begin = self._places.begin(member(span, "begin", int, where))
        end = self._places.end(member(span, "end", int, where))
        score = self._scores.get(name)
        accession = self._found.accession(kind, f"{at}/obj")
        accessions = self._accessions[name] if name else {}
        if accession is not None:
            accessions[accession] = None
            kind = PROTEIN
        self._found.mention(at, begin, end, kind, score)
        for accession in accessions:
            self._found.normalization(accession, score)

    def _relation(self, at: str, relation: Mapping[str, Any]) -> None:
        if member(relation, "pred", str, at) not in self._options.pair_predicates:
            return
        ends = [self._accessions.get(_name(relation, name), ()) for name in ("subj", "obj")]
        if not all(ends):
            self._report.note(at, "relates what has no accession")
        score = self._scores.get(_name(relation, "id"))
        for one_end, other_end in product(*ends):
            self._found.pair(one_end, other_end, score)


def _name(struct: Mapping[str, Any], member: str) -> str:
    """Return the id of a denotation or relation, or an empty id."""
    value = struct.get(member)
    return "" if value is None else str(value)


async def _further_member(
    channel: ServerChannel, server: Server, options: PubAnnotationOptions, text: str
) -> ConformanceStep:
    """Return the step of a member that the server does not know: it must be ignored."""
    name = "further member"
    if options.body == "text":
        return skipped(name, "the text alone is sent")
    try:
        submitted = await _submit(channel, options, {"text": text, "bcms_further": "1"})
        await _result(channel, server, options, submitted)
    except PeerError as error:
        return warned(name, f"{error}; expected an unknown member to be ignored", error.outcome)
    return passed(name, "ignored")


async def _read_twice(
    channel: ServerChannel, server: Server, options: PubAnnotationOptions, text: str
) -> ConformanceStep:
    """Return the step of a job whose result is read a second time: it must be gone, or the same."""
    name = "result read twice"
    try:
        submitted = await _submit(channel, options, {"text": text})
        if submitted.status == 200:
            return skipped(name, "answered at once, without a job")
        first = await _result(channel, server, options, submitted)
        again = await look(channel, str(first.url), options.looks_a_second)
    except PeerError as error:
        return warned(name, str(error), error.outcome)
    if again.status == 200 and again.value != first.value:
        message = "a result was fetched twice and differed; expected the same result"
        return ConformanceStep(name=name, state=StepState.FAILED, message=message)
    message = f"a result was fetched twice: the second time the status was {again.status}"
    return passed(name, message)
