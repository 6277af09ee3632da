"""PubAnnotation servers: every dialect is answered alike, every fault ends in its outcome."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from metaserver.client.guard import AddressGuard, read_network
from metaserver.client.http import HttpLimits, open_client
from metaserver.client.pace import HostPace
from metaserver.conformance.procedure import conformance
from metaserver.files.compression import unpack
from metaserver.model.conformance import StepState
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import Attempt
from metaserver.model.states import Outcome
from metaserver.protocols.plugin import AT_ONCE
from metaserver.tasks.plugin import answered_tasks
from metaserver.wire.xmlrpc import Limits
from tests.fakes.pubannotation import SOON, PubAnnotationPeer, pubannotation_peer
from tests.integration.callers import TEXT, VOCABULARY, article_caller, server, threads_that_measure

TASKS = ("ACT", "INT", "IPT", "NER")
PAYLOADS = {
    "ACT": [True, 1.0],
    "INT": [["P04637", 1, 1.0], ["P38398", 2, 1.0]],
    "IPT": [["P04637", "P38398", 1, 1.0]],
    "NER": [[0, "TP53", "protein"], [20, "BRCA1", "protein"]],
}
DIALECTS = ("sync", "303", "201")


async def sent(
    peer: PubAnnotationPeer,
    *,
    text: str = TEXT,
    options: str = "",
    time_limit: float = 60.0,
    limits: HttpLimits | None = None,
    guard: AddressGuard | None = None,
) -> tuple[Attempt, CheckedAnswer | None]:
    """Send one article to a peer."""
    async with article_caller(text, time_limit=time_limit, limits=limits, guard=guard) as caller:
        registered = server(peer.url, protocol="pubannotation", options=options, tasks=TASKS)
        return await caller.call(registered, 0, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_dialect_gives_the_same_answer(dialect: str) -> None:
    async with pubannotation_peer(dialect=dialect) as peer:
        ended, answer = await sent(peer)
    assert (ended.outcome, ended.message) == (Outcome.OK, "confidence: derived from counts")
    assert answer is not None
    assert answer.payloads == PAYLOADS
    assert json.loads(unpack(ended.raw))["text"] == TEXT
    timings = ended.timings
    assert None not in (timings.send, timings.wait, timings.transfer, timings.parse)
    posted = [one for one in peer.requests if one[0] == "POST"]
    assert len(posted) == 1
    assert json.loads(posted[0][3]) == {"text": TEXT, "sourcedb": "BCMS", "sourceid": "a0"}
    assert ended.bytes_out == len(posted[0][3])


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_long_text_is_sent_in_parts(dialect: str) -> None:
    """Offsets are those of the whole text, and what parts declare is summed."""
    first = "TP53 interacts with BRCA1.\n" + "x " * 480 + "\n"
    text = first + "So MDM2 binds p53.\n" + "y " * 600

    def declare(answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"meta": {"tokens_in": 10, "model": "m"}}

    async with pubannotation_peer(dialect=dialect, looks=1) as peer:
        peer.change = declare
        ended, answer = await sent(peer, text=text, options="max_chars = 1000")
    assert ended.outcome is Outcome.OK
    assert answer is not None
    assert [hit[0] for hit in answer.payloads["INT"]] == ["P04637", "P38398", "Q00987"]
    assert answer.payloads["IPT"] == [["P04637", "P38398", 1, 1.0], ["P04637", "Q00987", 2, 1.0]]
    mentions = answer.payloads["NER"]
    assert [text[at : at + len(words)] for at, words, _ in mentions] == [m[1] for m in mentions]
    assert len(mentions) == 4
    posted = [json.loads(one[3])["text"] for one in peer.requests if one[0] == "POST"]
    assert posted[0] == first
    assert "".join(posted) == text
    assert answer.usage is not None
    assert answer.usage.tokens_in == 10 * len(posted)
    assert ended.message == "confidence: derived from counts"


async def test_a_part_that_fails_fails_the_attempt() -> None:
    text = "TP53 interacts with BRCA1.\n" * 80
    async with pubannotation_peer() as peer:
        answers = iter([None, None])
        peer.reply = lambda _request: next(answers, web.Response(status=400, text="{}"))
        ended, answer = await sent(peer, text=text, options="max_chars = 1000")
    assert ended.outcome in (Outcome.FAULT, Outcome.HTTP)
    assert answer is None
    assert len(peer.requests) == 3


async def test_a_text_alone_is_sent_to_who_wants_no_json() -> None:
    async with pubannotation_peer() as peer:
        ended, _ = await sent(peer, options="body = text")
    assert ended.outcome is Outcome.OK
    assert peer.requests[0][3] == TEXT.encode()


def _utf16(answer: dict[str, Any]) -> Any:
    """Count as Java does."""
    text = answer["text"]
    for one in answer["denotations"]:
        for end in ("begin", "end"):
            one["span"][end] = len(text[: one["span"][end]].encode("utf-16-le")) // 2
    return answer


def _returns(answer: dict[str, Any]) -> Any:
    """Answer about the text with the line ends of Windows."""
    text = answer["text"]
    for one in answer["denotations"]:
        for end in ("begin", "end"):
            one["span"][end] += text[: one["span"][end]].count("\n")
    return answer | {"text": text.replace("\n", "\r\n")}


@pytest.mark.parametrize(("change", "options"), [(_utf16, "offsets=utf16"), (_returns, "")])
async def test_offsets_are_those_of_the_hub(change: Callable[..., Any], options: str) -> None:
    text = "𝛼 and\nTP53 bind BRCA1.\n"
    async with pubannotation_peer(change=change) as peer:
        ended, answer = await sent(peer, text=text, options=options)
    assert ended.outcome is Outcome.OK
    assert answer is not None
    found = answer.payloads["NER"]
    assert [text[at : at + len(words)] for at, words, _ in found] == ["TP53", "BRCA1"]


SHAPES: list[tuple[Any, Outcome, str]] = [
    ({"denotations": [{"span": {"begin": "1", "end": 2}, "obj": "x"}]}, Outcome.SHAPE,
     "/denotations/0/span/begin: expected an integer, got a string '1'"),
    ({"denotations": {}}, Outcome.SHAPE, "/denotations: expected an array, got an object"),
    ({"text": "another"}, Outcome.SHAPE, "/text: answered about another text"),
    ([], Outcome.SHAPE, "/: expected an object, got an array"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "outcome", "message"), SHAPES)
async def test_another_shape_is_named_at_its_place(
    answer: Any, outcome: Outcome, message: str
) -> None:
    async with pubannotation_peer(change=lambda _: answer) as peer:
        ended, _ = await sent(peer)
    assert (ended.outcome, ended.message) == (outcome, message)


def _without_ids(answer: dict[str, Any]) -> Any:
    """Find three names, as PubDictionaries does: without ids, and so without relations."""
    spans = [(0, 4, "P04637"), (20, 25, "P38398"), (20, 25, "uniprot:P38398")]
    denotations = [
        {"span": {"begin": begin, "end": end}, "obj": accession} for begin, end, accession in spans
    ]
    attributes = [
        {"pred": "id", "obj": "Q00987"},
        {"subj": None, "pred": "score", "obj": 0.5},
        {"id": "A1", "subj": "", "pred": "id", "obj": "P00533"},
    ]
    relation = {"pred": "ppi"}
    return {"denotations": denotations, "attributes": attributes, "relations": [relation]}


async def test_denotations_without_ids_are_counted_each_by_itself() -> None:
    async with pubannotation_peer(change=_without_ids) as peer:
        ended, answer = await sent(peer)
    assert answer is not None
    assert answer.payloads["INT"] == [["P38398", 1, 1.0], ["P04637", 2, 0.75]]
    assert answer.payloads["IPT"] == []
    notes = [str(problem) for problem in ended.problems if problem.path.startswith("/attributes")]
    missing = "subj: missing: it is of no denotation or relation"
    assert notes == [f"/attributes/{place}/{missing}" for place in range(3)]


def _named_twice(answer: dict[str, Any]) -> Any:
    """Name the accession of the first denotation again, by an attribute."""
    attribute = {"id": "A1", "subj": "T1", "pred": "uniprot", "obj": "P04637"}
    return answer | {"attributes": [attribute]}


async def test_a_denotation_counts_an_accession_once() -> None:
    async with pubannotation_peer(change=_named_twice) as peer:
        _, answer = await sent(peer)
    assert answer is not None
    assert answer.payloads == PAYLOADS


async def test_a_long_text_is_measured_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threads_that_measure(monkeypatch)
    async with pubannotation_peer(change=lambda _: {}) as peer:
        ended, _ = await sent(peer, text="𝛼 " * AT_ONCE, options="offsets = utf8")
    assert ended.outcome is Outcome.OK
    assert threads
    assert threading.get_ident() not in threads


def _multiplied(_answer: dict[str, Any]) -> Any:
    """Relate a denotation with many accessions with itself."""
    names = [{"subj": "T1", "pred": "id", "obj": f"P{number:05}"} for number in range(200)]
    relation = {"pred": "ppi", "subj": "T1", "obj": "T1"}
    return {"attributes": names, "relations": [relation]}


async def test_the_pairs_of_a_relation_are_bounded_by_the_size_of_the_answer() -> None:
    async with pubannotation_peer(change=_multiplied) as peer:
        ended, answer = await sent(peer)
    assert ended.outcome is Outcome.TOO_LARGE
    assert "annotations and names in" in ended.message
    assert answer is None


BODIES = [
    (b'{"text": "cut', Outcome.SYNTAX, "not JSON: Unterminated string"),
    (b"<html>", Outcome.SYNTAX, "'<html>'"),
    (b'{"a": 1, "a": 2}', Outcome.SYNTAX, "occurs twice"),
    (b'{"a": NaN}', Outcome.SYNTAX, "NaN"),
    (b'{"a": 1e999}', Outcome.SYNTAX, "range of doubles"),
    (b'{"a": 99999999999999999999}', Outcome.SYNTAX, "64 bits"),
    (rb'{"a": "\ud800"}', Outcome.SYNTAX, "surrogate"),
    (b'{"a": "\xff"}', Outcome.SYNTAX, "not UTF-8"),
    (b"[" * 65 + b"]" * 65, Outcome.SYNTAX, "nested deeper"),
    (b"[" * 1_900 + b"]" * 1_900, Outcome.SYNTAX, "nested deeper"),
    (b"[" * 100_000, Outcome.TOO_LARGE, "values"),
    (b"[" + b"[[[]]]," * 600 + b"1]", Outcome.TOO_LARGE, "values"),
    (b"[" + b"1," * 3_000 + b"1]", Outcome.TOO_LARGE, "values"),
    (b" " * 2_000_000, Outcome.TOO_LARGE, "bytes"),
]


@pytest.mark.parametrize(("body", "outcome", "message"), BODIES)
async def test_what_is_no_json_is_syntax(body: bytes, outcome: Outcome, message: str) -> None:
    limits = HttpLimits(answer=Limits(bytes=1_000_000, values=2_000))
    async with pubannotation_peer(reply=lambda _: web.Response(body=body)) as peer:
        ended, _ = await sent(peer, limits=limits)
    assert ended.outcome is outcome
    assert message in ended.message


def _only_posts(status: int, **fields: Any) -> Callable[[web.Request], web.Response | None]:
    def reply(request: web.Request) -> web.Response | None:
        return web.Response(status=status, **fields) if request.method == "POST" else None

    return reply


STATUSES: list[tuple[int, dict[str, Any], Outcome, str]] = [
    (400, {"text": '{"message": "no text"}'}, Outcome.FAULT, "400: no text"),
    (500, {"text": "oops"}, Outcome.HTTP, "HTTP status 500"),
    (401, {}, Outcome.CREDENTIALS, "needs credentials"),
    (403, {}, Outcome.CREDENTIALS, "needs credentials"),
    (503, {"text": '{"message": "full"}'}, Outcome.HTTP, "HTTP status 503"),
    (303, {}, Outcome.HTTP, "a job without Location"),
    (303, {"headers": {"Location": "http://127.0.0.2:9/x"}}, Outcome.HTTP, "poll_origins"),
    (303, {"headers": {"Location": "file:///etc/passwd"}}, Outcome.HTTP, "no address"),
    (201, {"headers": {"Location": "http://[::1"}}, Outcome.HTTP, "no address"),
    (302, {"headers": {"Location": "/x"}}, Outcome.HTTP, "HTTP status 302"),
]


@pytest.mark.parametrize(("status", "fields", "outcome", "message"), STATUSES)
async def test_a_status_without_a_result_is_a_failure(
    status: int, fields: dict[str, Any], outcome: Outcome, message: str
) -> None:
    async with pubannotation_peer(reply=_only_posts(status, **fields)) as peer:
        ended, _ = await sent(peer)
    assert ended.outcome is outcome
    assert message in ended.message


async def test_a_job_at_another_origin_passes_the_guard_as_well() -> None:
    """The team allows the place; the hub's guard of addresses still refuses it."""
    there = "http://127.0.0.2:9/x"
    async with pubannotation_peer(reply=_only_posts(303, headers={"Location": there})) as peer:
        guard = AddressGuard([read_network("127.0.0.1/32", "test")])
        ended, _ = await sent(peer, options="poll_origins=http://127.0.0.2:9", guard=guard)
    assert ended.outcome is Outcome.CONNECT
    assert "127.0.0.2 is loopback" in ended.message


def _looks(*answers: web.Response | None) -> Callable[[web.Request], web.Response | None]:
    left = list(answers)

    def reply(request: web.Request) -> web.Response | None:
        return left.pop(0) if request.method == "GET" else None

    return reply


LOOKS: list[tuple[str, Callable[[], web.Response], Outcome, str]] = [
    ("303", lambda: web.Response(status=410), Outcome.FAULT, "410: the result is gone already"),
    ("303", lambda: web.json_response({"message": "sorry"}, status=500), Outcome.FAULT,
     "500: sorry"),
    ("201", lambda: web.json_response({"status": "ERROR", "error_message": "out of memory"}),
     Outcome.FAULT, "ERROR: out of memory"),
    ("201", lambda: web.Response(status=410), Outcome.FAULT, "410: the result is gone already"),
    ("201", lambda: web.json_response({"status": "DONE"}), Outcome.HTTP, "without result_location"),
    ("201", lambda: web.json_response({}), Outcome.SHAPE, "/status: missing"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "look", "outcome", "message"), LOOKS)
async def test_a_job_that_fails_is_a_failure(
    dialect: str, look: Callable[[], web.Response], outcome: Outcome, message: str
) -> None:
    async with pubannotation_peer(dialect=dialect, reply=_looks(look())) as peer:
        ended, _ = await sent(peer)
    assert ended.outcome is outcome
    assert message in ended.message


async def test_a_job_that_never_ends_is_a_timeout() -> None:
    async with pubannotation_peer(dialect="201", looks=10**9) as peer:
        ended, _ = await sent(peer, time_limit=1.0)
    assert ended.outcome is Outcome.TIMEOUT
    assert ended.message.endswith("the server last reported: IN_PROGRESS")


async def test_the_answers_to_all_looks_at_a_job_are_bounded_together() -> None:
    packed = gzip.compress(b" " * 8_000)

    def waiting() -> web.Response:
        return web.Response(status=404, body=packed, headers={"Content-Encoding": "gzip"} | SOON)

    def look(request: web.Request) -> web.Response | None:
        return waiting() if request.method == "GET" else None

    async with pubannotation_peer(dialect="303", reply=look) as peer:
        ended, _ = await sent(peer, limits=HttpLimits(answer=Limits(bytes=10_000)))
    assert ended.outcome is Outcome.TOO_LARGE
    assert [method for method, *_ in peer.requests] == ["POST", "GET", "GET"]


async def test_a_busy_server_is_asked_again_and_no_job_is_begun_twice() -> None:
    busy = web.Response(status=429, headers={"Retry-After": "0"})
    async with pubannotation_peer(dialect="303", reply=_looks(busy, None)) as peer:
        peer.looks = 0
        ended, _ = await sent(peer)
    assert ended.outcome is Outcome.OK
    assert [method for method, *_ in peer.requests] == ["POST", "GET", "GET"]


@pytest.mark.parametrize("dialect", ["sync", "303"])
async def test_a_conformance_run_passes(dialect: str) -> None:
    async with pubannotation_peer(dialect=dialect, looks=0) as peer, open_client() as client:
        registered = server(peer.url, protocol="pubannotation")
        tasks = list(answered_tasks().values())
        found = await conformance(client, registered, tasks, VOCABULARY, time_limit=60.0)
    states = {step.name: step.state for step in found.steps}
    assert found.passed, found.reasons()
    assert states["state"] is StepState.PASSED
    assert states["further member"] is StepState.PASSED
    twice = StepState.SKIPPED if dialect == "sync" else StepState.PASSED
    assert states["result read twice"] is twice


async def at_once(peer: PubAnnotationPeer, options: str, time_limit: float) -> list[Attempt]:
    """Send three articles at the same time."""
    async with article_caller(TEXT, TEXT, TEXT, time_limit=time_limit) as caller:
        registered = server(peer.url, protocol="pubannotation", options=options, concurrency=3)
        calls = (caller.call(registered, position, 1) for position in range(3))
        return [attempt for attempt, _ in await asyncio.gather(*calls)]


async def test_the_looks_of_all_at_one_host_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[tuple[object, float]] = []
    real = HostPace.turn

    def turn(self: HostPace, origin: Any, pause: float, now: float, end: float) -> float:
        wait = real(self, origin, pause, now, end)
        turns.append((origin, now + wait))
        return wait

    monkeypatch.setattr(HostPace, "turn", turn)
    async with pubannotation_peer(dialect="303", looks=1) as peer:
        ended = await at_once(peer, "looks_a_second = 10", 60.0)
    assert {one.outcome for one in ended} == {Outcome.OK}
    assert len(turns) == sum(one[0] == "GET" for one in peer.requests) == 6
    assert len({origin for origin, _ in turns}) == 1
    times = sorted(at for _, at in turns)
    assert all(later - one > 0.0999 for one, later in pairwise(times))


async def test_who_has_no_turn_before_the_deadline_is_said_why() -> None:
    async with pubannotation_peer(dialect="303", looks=0) as peer:
        ended = await at_once(peer, "looks_a_second = 0.2", 2.0)
    assert sorted(one.outcome for one in ended) == [Outcome.OK, Outcome.TIMEOUT, Outcome.TIMEOUT]
    (message,) = {one.message for one in ended if one.outcome is Outcome.TIMEOUT}
    assert message.endswith("accepted; other jobs at its host were waiting for a look")


async def test_a_probe_needs_no_state() -> None:
    async with pubannotation_peer() as peer, article_caller() as caller:
        registered = server(peer.url, protocol="pubannotation")
        assert await caller.probe(registered) is None
        assert await caller.state(registered) is None
        peer.reply = lambda _: web.Response(status=500)
        assert await caller.probe(registered) == "http: HTTP status 500; expected a result"


async def test_the_command_tests_a_server_behind_a_password() -> None:
    def guarded(request: web.Request) -> web.Response | None:
        told = request.headers.get("Authorization")
        return None if told == "Bearer open sesame" else web.Response(status=401)

    async with pubannotation_peer(reply=guarded) as peer:
        command = [sys.executable, "-m", "metaserver.cli.main", "probe", peer.url]
        command += ["--protocol", "pubannotation", "--auth", "bearer", "--json"]
        ended = []
        for secret in ("open sesame", "wrong"):
            run = await asyncio.to_thread(
                subprocess.run,
                command,
                env=os.environ | {"METASERVER_SERVER_SECRET": secret},
                capture_output=True,
                text=True,
                check=False,
            )
            assert "sesame" not in run.stdout + run.stderr
            ended.append((run.returncode, json.loads(run.stdout)["passed"]))
    assert ended == [(0, True), (1, False)]
