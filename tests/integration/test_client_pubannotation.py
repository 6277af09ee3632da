"""PubAnnotation servers: what only they can do; test_client_contract.py has the rest."""

import asyncio
import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web

from metaserver.base.compression import unpack
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from metaserver.exchange.http.client import HostPace, HttpLimits
from metaserver.exchange.http.guard import AddressGuard, read_network
from metaserver.exchange.wire.values import Limits
from tests.fakes.pubannotation import SOON, PubAnnotationPeer, annotated, pubannotation_peer
from tests.hubs.command import metaserver
from tests.integration.callers import TEXT, article_caller, server

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
async def test_an_article_is_posted_once(dialect: str) -> None:
    async with pubannotation_peer(dialect=dialect) as peer:
        ended, _ = await sent(peer)
    assert ended.message == "confidence: derived from counts"
    assert json.loads(unpack(ended.raw))["text"] == TEXT
    assert ended.timings.parse is not None
    [body] = [one[3] for one in peer.requests if one[0] == "POST"]
    assert json.loads(body) == {"text": TEXT, "sourcedb": "BCMS", "sourceid": "a0"}
    assert ended.bytes_out == len(body)


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


async def test_article_is_sent_as_a_form_to_who_reads_text_from_one() -> None:
    text = "TP53 & BRCA1 = 100 %\u2009\u03b1"
    async with pubannotation_peer() as peer:
        peer.change = lambda _answer: annotated(
            dict(parse_qsl(peer.requests[-1][3].decode()))["text"]
        )
        ended, answer = await sent(peer, text=text, options="body = form")
    assert ended.outcome is Outcome.OK
    assert [mention[:2] for mention in answer.payloads["NER"]] == [[0, "TP53"], [7, "BRCA1"]]
    form = dict(parse_qsl(peer.requests[0][3].decode(), strict_parsing=True))
    assert form == {"text": text, "sourceid": "a0", "sourcedb": "BCMS"}


@pytest.mark.parametrize(
    "echoed",
    ["TP53 interacts\r\nwith BRCA1.", " TP53  interacts with\tBRCA1 .", "TP53interactswithBRCA1."],
)
async def test_spans_in_a_text_with_other_white_space_are_put_at_the_words(echoed: str) -> None:
    async with pubannotation_peer(change=lambda _answer: annotated(echoed)) as peer:
        ended, answer = await sent(peer, text="TP53 interacts\nwith BRCA1.\n")
    assert ended.outcome is Outcome.OK
    assert answer.payloads["NER"] == [[0, "TP53", "protein"], [20, "BRCA1", "protein"]]


async def test_two_accessions_of_one_span_are_two_normalizations() -> None:
    def twice(answer: dict[str, Any]) -> dict[str, Any]:
        (first, *_) = answer["denotations"]
        return answer | {"denotations": [first, first | {"id": "T9", "obj": "P38398"}]}

    async with pubannotation_peer(change=twice) as peer:
        ended, answer = await sent(peer, text="TP53 here.")
    assert [hit[0] for hit in answer.payloads["INT"]] == ["P04637", "P38398"]
    assert answer.payloads["NER"] == [[0, "TP53", "protein"]]
    assert ended.message == "confidence: derived from counts"


async def test_a_text_alone_is_sent_to_who_wants_no_json() -> None:
    async with pubannotation_peer() as peer:
        ended, _ = await sent(peer, options="body = text")
    assert ended.outcome is Outcome.OK
    assert peer.requests[0][3] == TEXT.encode()


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
    assert answer.payloads == PAYLOADS


def _only_posts(status: int, **fields: Any) -> Callable[[web.Request], web.Response | None]:
    def reply(request: web.Request) -> web.Response | None:
        return web.Response(status=status, **fields) if request.method == "POST" else None

    return reply


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
    ("303", lambda: web.Response(status=410), Outcome.FAULT, "410: the result has been deleted"),
    ("303", lambda: web.json_response({"message": "sorry"}, status=500), Outcome.FAULT,
     "500: sorry"),
    ("201", lambda: web.json_response({"status": "ERROR", "error_message": "out of memory"}),
     Outcome.FAULT, "ERROR: out of memory"),
    ("201", lambda: web.Response(status=410), Outcome.FAULT, "410: the result has been deleted"),
    ("201", lambda: web.json_response({"status": "DONE"}), Outcome.HTTP, "has no result_location"),
    ("201", lambda: web.json_response({}), Outcome.SHAPE, "/status: missing"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "look", "outcome", "message"), LOOKS)
async def test_a_job_that_fails_is_a_failure(dialect, look, outcome, message):
    async with pubannotation_peer(dialect=dialect, reply=_looks(look())) as peer:
        ended, _ = await sent(peer)
    assert ended.outcome is outcome
    assert message in ended.message


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


@pytest.mark.slow
async def test_the_command_tests_a_server_behind_a_password(monkeypatch):
    def guarded(request: web.Request) -> web.Response | None:
        told = request.headers.get("Authorization")
        return None if told == "Bearer open sesame" else web.Response(status=401)

    async with pubannotation_peer(reply=guarded) as peer:
        words = ("probe", peer.url, "--protocol", "pubannotation", "--auth", "bearer", "--json")
        ended = []
        for secret in ("open sesame", "wrong"):
            monkeypatch.setenv("METASERVER_SERVER_SECRET", secret)
            run = await metaserver(*words)
            assert "sesame" not in run.stdout + run.stderr
            ended.append((run.status, json.loads(run.stdout)["passed"]))
    assert ended == [(0, True), (1, False)]
