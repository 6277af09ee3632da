"""BeCalm servers: callbacks are taken once, from their servers alone, and none is lost."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from metaserver.base.compression import unpack
from metaserver.base.conformance import StepState
from metaserver.base.errors import UnavailableError
from metaserver.base.records import Server
from metaserver.base.states import Outcome
from metaserver.exchange.http import channel
from metaserver.exchange.http.client import HttpLimits
from metaserver.exchange.protocols import becalm
from metaserver.exchange.wire.values import Limits
from metaserver.store import communications
from metaserver.store.store import Store
from metaserver.web.access import auth
from tests.fakes.becalm import BecalmPeer, becalm_peer, honestly
from tests.hubs.stored import stored
from tests.integration.callers import SECONDS, conformance_of, server
from tests.integration.calling import ACKNOWLEDGED, KEY, TEXT, CallingHub, calling_hub
from tests.waiting import until

FOUND = {
    "IPT": [],
    "INT": [["P04637", 1, 0.5], ["P38398", 2, 0.5]],
    "NER": [[5, "TP53", "protein"], [29, "BRCA1", "protein"]],
}


async def test_a_request_has_the_article_with_its_parts_and_the_key(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(becalm_key="secret") as peer:
        await hub.send(peer)
        await until(lambda: bool(peer.made))
    (asked,) = peer.asked
    assert asked["becalm_key"] == "secret"
    (document,) = asked["parameters"]["documents"]
    assert document["text"] == f"{document['title']}\n{document['abstractText']}" == TEXT
    assert 0 < asked["parameters"]["communication_id"] < 2**31
    assert [one.status for one in peer.made] == [200]


async def _never(_peer: BecalmPeer, _parameters: dict[str, Any]) -> None:
    pass


async def test_an_acknowledgement_alone_is_a_timeout(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=_never) as peer:
        ended, _ = await hub.send(peer, time_limit=1.0)
        assert ended.outcome is Outcome.TIMEOUT
        assert re.search(r"acknowledged after 0\.\d s, but no saveAnnotations", ended.message)
        late = await peer.call(peer.asked[0]["parameters"], "[]")
        assert (late.status, late.answer["errorCode"]) == (400, "9")


async def _twice(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    await honestly(peer, parameters)
    await peer.call(parameters, "not even JSON")


async def _slowly(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    (document,) = parameters["documents"]

    async def body() -> AsyncIterator[bytes]:
        for byte in peer.written(document).encode():
            yield bytes([byte])
            await asyncio.sleep(0.001)

    await peer.call(parameters, body())


async def _compressed(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    await peer.call(parameters, b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    await honestly(peer, parameters)


async def _at_the_other_address(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    (document,) = parameters["documents"]
    await peer.call(parameters, peer.written(document), prefix="api")


async def _fetches_what_was_sent(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    await peer.fetch(parameters, "a0")
    await honestly(peer, parameters)


@pytest.mark.parametrize(
    ("calls", "made"),
    [
        (_twice, [(200, None), (400, "REQUEST_CLOSED")]),
        (_slowly, [(200, None)]),
        (_compressed, [(415, "FORMAT_ERROR"), (200, None)]),
        (_at_the_other_address, [(200, None)]),
        (_fetches_what_was_sent, [(404, "UNKNOWN"), (200, None)]),
    ],
)
async def test_what_is_no_callback_is_refused_and_harms_none(tmp_path, calls, made):
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=calls) as peer:
        ended, answer = await hub.send(peer)
        await until(lambda: len(peer.made) == len(made))
    assert ended.outcome is Outcome.OK
    assert answer is not None
    assert [(one.status, one.answer.get("errorName")) for one in peer.made] == made


BAD = [
    ("JSON", "{", 400, "FORMAT_ERROR", "not JSON"),
    ("JSON", b"\xff", 400, "FORMAT_ERROR", "not UTF-8"),
    *(("JSON", body, 400, "INCORRECT_FIELD", told) for body, told in (
        ("5", "/: expected an array"),
        ("[5]", "/0: expected an object"),
        ('[{"document_id": "a0"}]', "/0/section: missing"),
        ('{"annotations": 1}', "/annotations: expected an array"),
        ('[{"document_id": "other", "section": "T", "init": 0, "end": 1}]',
         "/0/document_id: 'other' is not the document that was sent"),
        ('[{"document_id": "a0", "section": "X", "init": 0, "end": 1}]',
         "/0/section: expected T or A"),
        ('[{"document_id": "a0", "section": "T", "init": 0.5, "end": 1}]',
         "/0/init: expected an integer"),
    )),
    ("TSV", "a0\tT\t0", 400, "INCORRECT_FIELD", "line 1: expected 7 or 8 columns, got 3"),
    ("TSV", "a0\tT\tx\t4\t1\tTP53\tPROTEIN\tP04637", 400, "INCORRECT_FIELD",
     "line 1, column init: expected an integer"),
    ("BIOC", "<collection>", 400, "FORMAT_ERROR", "not XML"),
    ("BIOC", "<collection/>", 400, "INCORRECT_FIELD", "/documents: missing"),
    ("BIOC", '{"documents": []}', 400, "INCORRECT_FIELD", "0 documents"),
    ("BRAT", "[]", 400, "FORMAT_ERROR", "expected one of BIOC, JSON, TSV"),
    ("JSON", " " * 70_000 + "[" + "0," * 60_000, 413, "NOT_VALID_BY_SCHEMA", "values"),
    ("TSV", "\n" * 60_000 + "x", 413, "NOT_VALID_BY_SCHEMA", "values"),
    ("JSON", " " * 200_000, 413, "NOT_VALID_BY_SCHEMA", "larger than an answer"),
]  # fmt: skip


@pytest.mark.slow
async def test_a_bad_callback_is_refused_and_may_be_corrected(tmp_path: Path) -> None:
    limits = HttpLimits(answer=Limits(bytes=199_999, values=50_000))
    tried = asyncio.Queue[None]()

    async def wrong_first(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        form, body, *_ = BAD[len(peer.asked) - 1]
        await peer.call(parameters, body, form=form)
        await honestly(peer, parameters)
        tried.put_nowait(None)

    async with calling_hub(tmp_path, limits=limits) as hub, becalm_peer(calls=wrong_first) as peer:
        registered = await hub.register(peer)
        for number, (form, _, status, name, message) in enumerate(BAD, start=1):
            ended, answer = await hub.caller().call(registered, 0, number)
            await tried.get()
            bad, good = peer.made[-2:]
            assert (bad.status, bad.answer["errorName"]) == (status, name), (form, bad.answer)
            assert message in bad.answer["message"]
            assert (good.status, ended.outcome) == (200, Outcome.OK), (form, good.answer)
            assert answer is not None


async def test_what_is_never_corrected_is_the_outcome(tmp_path, monkeypatch):
    async def wrong(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        await peer.call(parameters, "[5]")

    monkeypatch.setattr(channel, "REPAIR", 0.5)
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=wrong) as peer:
        ended, _ = await hub.send(peer)
    assert ended.outcome is Outcome.SHAPE
    assert ended.message == "its callback was refused: /0: expected an object, got an integer 5"


async def test_bad_callbacks_are_not_taken_for_ever(tmp_path: Path) -> None:
    async def wrong(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        while (await peer.call(parameters, "{")).answer["errorName"] == "FORMAT_ERROR":
            pass

    async with calling_hub(tmp_path) as hub, becalm_peer(calls=wrong) as peer:
        ended, _ = await hub.send(peer)
        await until(lambda: peer.made[-1].answer["errorName"] == "REQUEST_EXPIRED")
    assert ended.outcome is Outcome.SYNTAX


async def test_what_is_not_the_servers_own_is_unknown(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def waits(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        await release.wait()
        await honestly(peer, parameters)

    async with (
        calling_hub(tmp_path) as hub,
        becalm_peer(calls=waits) as peer,
        becalm_peer() as other,
    ):
        registered = await hub.register(peer)
        await hub.register(other, "other")
        sending = asyncio.create_task(hub.caller().call(registered, 0, 1))
        await until(lambda: bool(peer.asked))
        parameters = peer.asked[0]["parameters"]
        theirs = await other.call(parameters, "[]")
        nobodys = await other.call(parameters, "[]", communication=2**31 - 2)
        assert theirs.status == nobodys.status == 404
        assert theirs.answer == nobodys.answer
        assert theirs.answer["errorName"] == "UNKNOWN_COMMUNICATION_ID"
        for key in ("wrong", KEY.format("nobody"), "x" * 5_000):
            refused = await other.call(parameters, "[]", key=key)
            assert refused.status == 401
            assert key not in json.dumps(refused.answer)
        assert (await other.call(parameters, "[]", communication="1;2")).status == 400
        here = f"{hub.address}becalm/saveAnnotations/JSON?apikey={other.key}"
        async with aiohttp.ClientSession() as session, session.get(here) as response:
            assert response.status == 405
            read = await response.json()
            assert read["errorName"] == "INCORRECT_TRANSFER_REQUEST_METHOD"
        async with hub.store.reading() as connection:
            assert await communications.server_of(connection, "") is None
        release.set()
        ended, answer = await sending
    assert ended.outcome is Outcome.OK
    assert answer is not None


async def test_a_server_without_a_key_is_not_asked(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer() as peer:
        ended, _ = await hub.caller().call(server(peer.url, protocol="becalm"), 0, 1)
        assert peer.asked == []
    assert ended.outcome is Outcome.CREDENTIALS
    assert "metaserver servers callback-key peer" in ended.message


async def test_an_answer_is_taken_where_only_the_acknowledgement_fails(tmp_path: Path) -> None:
    async def broken(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        await honestly(peer, parameters)
        raise web.HTTPInternalServerError

    async with calling_hub(tmp_path) as hub, becalm_peer(first=True, calls=broken) as peer:
        ended, answer = await hub.send(peer)
    assert ended.outcome is Outcome.OK
    assert answer is not None
    assert "HTTP status 500" in str(ended.problems[0])


async def _fetching(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    (named,) = parameters["documents"]
    assert set(named) == {"document_id", "source"}
    answers = [
        await peer.fetch(parameters, named["document_id"]),
        await peer.fetch(parameters, "another"),
        await peer.fetch(parameters, named["document_id"], key=KEY.format("other")),
        await peer.fetch(parameters, named["document_id"], key="wrong"),
        await peer.fetch(parameters, named["document_id"], communication=2**31 - 2),
        await peer.fetch(parameters, named["document_id"], communication="x"),
    ]
    assert [one.status for one in answers] == [200, 404, 404, 401, 404, 400]
    assert not any("TP53" in str(one.answer) for one in answers[1:])
    await peer.call(parameters, peer.written(answers[0].answer))
    closed = await peer.fetch(parameters, named["document_id"])
    assert (closed.status, closed.answer["errorName"]) == (400, "REQUEST_CLOSED")


async def test_a_server_may_fetch_its_article_while_it_is_asked_about_it(tmp_path: Path) -> None:
    async with (
        calling_hub(tmp_path) as hub,
        becalm_peer(calls=_fetching) as peer,
        becalm_peer() as other,
    ):
        await hub.register(other, "other")
        ended, answer = await hub.send(peer, options="documents = fetch")
        await until(lambda: len(peer.made) == 8)
    assert (ended.outcome, ended.message) == (Outcome.OK, "")
    assert answer.payloads == FOUND
    assert peer.made[0].answer["text"] == TEXT
    assert stored(tmp_path, "SELECT id FROM communications WHERE document IS NOT NULL") == []


async def leave(
    hub: CallingHub, registered: Server, when: Callable[[], object], time_limit: float = SECONDS
) -> None:
    """Send an article, and stop as a hub does; the hub that goes on keeps the time limit."""
    caller = hub.caller(time_limit, scope="phase 1")
    sending = asyncio.create_task(caller.call(registered, 0, 1))
    await until(when)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)


async def test_an_article_is_fetched_from_a_hub_that_was_started_again(tmp_path: Path) -> None:
    async with becalm_peer(calls=_never) as peer:
        async with calling_hub(tmp_path) as hub:
            registered = await hub.register(peer, options="documents = fetch")
            await leave(hub, registered, lambda: stored(tmp_path, ACKNOWLEDGED))
        async with calling_hub(tmp_path) as hub:
            peer.hub = hub.address
            fetched = await peer.fetch(peer.asked[0]["parameters"], "a0")
    assert (fetched.status, fetched.answer["text"]) == (200, TEXT)


async def test_an_article_that_is_not_answered_is_fetched_no_longer(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=_never) as peer:
        ended, _ = await hub.send(peer, time_limit=1.0, options="documents = fetch")
        late = await peer.fetch(peer.asked[0]["parameters"], "a0")
    assert ended.outcome is Outcome.TIMEOUT
    assert (late.status, late.answer["errorName"]) == (400, "REQUEST_EXPIRED")
    assert stored(tmp_path, "SELECT id FROM communications WHERE document IS NOT NULL") == []


async def test_a_late_acknowledgement_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(becalm, "SOON", 0.0)
    async with calling_hub(tmp_path) as hub, becalm_peer() as peer:
        ended, _ = await hub.send(peer)
    assert ended.outcome is Outcome.OK
    [note] = [one.message for one in ended.problems if one.path == "acknowledgement"]
    assert note.endswith("expected the acknowledgement at once, before the work")


async def test_a_callback_may_say_what_it_took(tmp_path: Path) -> None:
    meta = {"tokens_in": 900, "tokens_out": 30, "cost": 0.01, "currency": "EUR", "model": "m"}
    async with (
        calling_hub(tmp_path) as hub,
        becalm_peer(change=lambda found: {"annotations": found, "meta": meta}) as peer,
    ):
        ended, _ = await hub.send(peer)
    assert ended.usage is not None
    assert (ended.usage.tokens_in, ended.usage.cost, ended.usage.currency) == (900, 0.01, "EUR")


async def test_a_secret_that_is_a_word_of_the_protocol_harms_no_callback(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(becalm_key="section") as peer:
        ended, _ = await hub.send(peer)
    assert (ended.outcome, ended.message) == (Outcome.OK, "")


@pytest.mark.parametrize("key", ["a-key-of-blue", "0.50"])
async def test_a_callback_that_repeats_a_secret_is_stored_without_it(tmp_path, key):
    def repeated(found: list[dict[str, Any]]) -> Any:
        return [one | {"score": 0.50, "becalm_key": key} for one in found]

    async with calling_hub(tmp_path) as hub, becalm_peer(change=repeated, becalm_key=key) as peer:
        ended, answer = await hub.send(peer)
    assert (ended.outcome, bool(answer and answer.payloads["INT"])) == (Outcome.OK, True)
    [(body,)] = stored(tmp_path, "SELECT body FROM communications")
    assert key.encode() not in unpack(body)
    assert key.encode() not in unpack(ended.raw)


async def test_a_server_that_anybody_may_use_is_warned(tmp_path: Path) -> None:
    def trusting(asked: dict[str, Any]) -> web.Response | None:
        asked["becalm_key"] = "secret"
        if asked["method"] == "getAnnotations" and not asked["parameters"]["documents"]:
            return web.Response(status=500, text="IndexOutOfBounds")
        return None

    async with (
        calling_hub(tmp_path) as hub,
        becalm_peer(becalm_key="secret", reply=trusting) as peer,
    ):
        registered = await hub.register(peer)
        found = await conformance_of(registered, hub.client)
    steps = {step.name: step for step in found.steps}
    assert found.passed
    assert steps["state"].message == "the server says it is Running; documents it takes: 515"
    assert steps["wrong key"].state is StepState.WARNING
    assert steps["no documents"].state is StepState.WARNING


async def test_a_hub_that_is_started_again_goes_on(tmp_path: Path) -> None:
    async with becalm_peer(calls=_never) as peer:
        async with calling_hub(tmp_path) as hub:
            registered = await hub.register(peer)
            await leave(hub, registered, lambda: stored(tmp_path, ACKNOWLEDGED))
        async with calling_hub(tmp_path) as hub:
            peer.hub = hub.address
            parameters = peer.asked[0]["parameters"]
            made = await peer.call(parameters, peer.written(parameters["documents"][0]))
            assert made.status == 200  # nobody waits yet: it is kept
        async with calling_hub(tmp_path) as hub:
            peer.hub = hub.address
            ended, answer = await hub.caller(scope="phase 1").call(registered, 0, 1)
            assert (ended.outcome, len(peer.asked)) == (Outcome.OK, 1)
            assert answer.payloads == FOUND
            again = asyncio.create_task(hub.caller(scope="phase 1").call(registered, 0, 2))
            await until(lambda: len(peer.asked) == 2)  # another attempt is another request
            await honestly(peer, peer.asked[1]["parameters"])
            ended, _ = await again
            assert ended.outcome is Outcome.OK


async def test_a_callback_that_the_hub_missed_is_not_charged(tmp_path: Path) -> None:
    async with becalm_peer(calls=_never) as peer:
        async with calling_hub(tmp_path) as hub:
            registered = await hub.register(peer)
            await leave(hub, registered, lambda: stored(tmp_path, ACKNOWLEDGED), 3.0)
        async with calling_hub(tmp_path) as hub:
            ended, _ = await hub.caller(scope="phase 1").call(registered, 0, 1)
    assert ended.outcome is Outcome.CANCELLED
    assert "the hub was restarted" in ended.message
    assert len(peer.asked) == 1


async def test_a_request_that_was_not_acknowledged_is_sent_again(tmp_path: Path) -> None:
    stuck = asyncio.Event()

    async def slow(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        if len(peer.asked) == 1:
            await stuck.wait()
        await honestly(peer, parameters)

    async with becalm_peer(first=True, calls=slow) as peer:
        async with calling_hub(tmp_path) as hub:
            registered = await hub.register(peer)
            await leave(hub, registered, lambda: peer.asked)
        async with calling_hub(tmp_path) as hub:
            peer.hub = hub.address
            ended, answer = await hub.caller(scope="phase 1").call(registered, 0, 1)
            stuck.set()
    assert ended.outcome is Outcome.OK
    assert answer is not None
    first, second = (asked["parameters"]["communication_id"] for asked in peer.asked)
    assert first == second


async def test_a_store_that_takes_nothing_is_not_the_servers_fault(tmp_path, monkeypatch):
    def unwritable(_store: Store) -> None:
        raise UnavailableError("disk full")

    async def blocked(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "require_writable", unwritable)
            await honestly(peer, parameters)
        await honestly(peer, parameters)

    async with calling_hub(tmp_path) as hub, becalm_peer(calls=blocked) as peer:
        registered = await hub.register(peer)
        with monkeypatch.context() as patch:
            patch.setattr(Store, "require_writable", unwritable)
            ended, _ = await hub.caller().call(registered, 0, 1)
        assert (ended.outcome, peer.asked) == (Outcome.CANCELLED, [])
        ended, _ = await hub.caller().call(registered, 0, 1)
        await until(lambda: len(peer.made) == 2)
    first = peer.made[0]
    assert (first.status, first.answer["errorName"]) == (503, "VALIDATIONS_ON_SAVE")
    assert "Retry-After" in first.headers
    assert ended.outcome is Outcome.OK


async def test_the_callbacks_of_a_server_are_counted(tmp_path, monkeypatch):
    async def many(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        while (made := await peer.call(parameters, "[]", communication=5)).status != 429:
            pass
        await asyncio.sleep(int(made.headers["Retry-After"]))  # as it is asked to
        await honestly(peer, parameters)

    monkeypatch.setattr(auth, "CALLBACKS_A_MINUTE", 60)
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=many) as peer:
        ended, _ = await hub.send(peer)
        await until(lambda: peer.made[-1].status == 200)
    assert ended.outcome is Outcome.OK
    assert len(peer.made) > 60
