"""One contract of all protocols: whatever a server speaks, what it does has the same outcome."""

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xmlrpc.client import dumps, loads

import pytest
from aiohttp import web

from metaserver.base.conformance import StepState
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt, Server
from metaserver.base.states import Outcome
from metaserver.exchange.http.caller import ArticleCaller
from metaserver.exchange.http.client import HttpClient, HttpLimits
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.exchange.protocols.plugin import AT_ONCE
from metaserver.exchange.wire.values import Limits
from tests.fakes.becalm import becalm_peer
from tests.fakes.bioc import bioc_peer
from tests.fakes.pubannotation import NAMES, pubannotation_peer
from tests.fakes.web_peer import web_peer
from tests.integration.callers import (
    SECONDS,
    article_caller,
    conformance_of,
    server,
    threads_that_measure,
)
from tests.integration.calling import TASKS, TEXT, calling_hub

PAIR = ["P04637", "P38398", 1]


def payloads(score: float, pairs: list[Any], kind: str, **more: Any) -> Mapping[str, Any]:
    """Return what an answer holds of the article."""
    hits = [["P04637", 1, score], ["P38398", 2, score]]
    mentions = [[5, "TP53", kind], [29, "BRCA1", kind]]
    return {"INT": hits, "NER": mentions, **({"IPT": pairs} if pairs else {}), **more}


FOUND: Mapping[str, Mapping[str, Any]] = {
    "xmlrpc": payloads(0.5, [[*PAIR, 0.5]], "protein"),
    "bioc": payloads(0.5, [[*PAIR, 0.25]], "gene", ACT=[True, 0.25]),
    "pubannotation": payloads(1.0, [[*PAIR, 1.0]], "protein", ACT=[True, 1.0]),
    "becalm": payloads(0.5, [], "protein"),
}


@dataclass
class XmlRpcPeer:
    """A server of the challenge's own protocol."""

    change: Callable[[dict[str, Any]], Any] = lambda answer: answer
    reply: Callable[[web.Request], web.Response | None] = lambda _request: None
    state: str = "Running"
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one call."""
        parameters, method = loads(await request.read())
        if (said := self.reply(request)) is not None:
            return said
        value: Any = {"state": self.state, "version": "1", "max_concurrent": 2}
        if method == "Annotator.getAnnotation":
            value = self.change(found_in(str(parameters[0])))
        body = dumps((value,), methodresponse=True)
        return web.Response(text=body, content_type="text/xml")


def found_in(text: str) -> dict[str, Any]:
    """Return what the peers of the other protocols find."""
    at = {name: text.find(name) for name in ("TP53", "BRCA1") if name in text}
    hits = [
        {"dbid": NAMES[name], "rank": rank, "confidence": 0.5} for rank, name in enumerate(at, 1)
    ]
    pair = {"dbid_a": "P04637", "dbid_b": "P38398", "rank": 1, "confidence": 0.5}
    mentions = [{"offset": at[name], "mention": name, "type": "protein"} for name in at]
    return {"normalizations": hits, "pairs": [pair] * (len(at) > 1), "mentions": mentions}


@asynccontextmanager
async def xmlrpc_peer(**settings: Any) -> AsyncIterator[XmlRpcPeer]:
    peer = XmlRpcPeer(**settings)
    async with web_peer(peer.handle) as peer.url:
        yield peer


@dataclass(frozen=True, kw_only=True)
class Way:
    """A protocol, with options of the server and settings of its peer."""

    protocol: str
    options: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


SESSION = "style = session\nresult_url = results/{session}"
WAYS = {
    "xmlrpc": Way(protocol="xmlrpc"),
    "bioc": Way(protocol="bioc"),
    "bioc session": Way(protocol="bioc", options=SESSION, settings={"session": True}),
    **{
        f"pubannotation {dialect}": Way(protocol="pubannotation", settings={"dialect": dialect})
        for dialect in ("sync", "303", "201")
    },
    **{
        f"becalm {form} {'first' * first}": Way(
            protocol="becalm", settings={"form": form, "first": first, "becalm_key": "secret"}
        )
        for form in ("JSON", "TSV", "BIOC")
        for first in (False, True)
    },
}
PEERS: Mapping[str, Callable[..., Any]] = {
    "xmlrpc": xmlrpc_peer,
    "bioc": bioc_peer,
    "pubannotation": pubannotation_peer,
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A peer, and the hub's client that asks it about the article."""

    peer: Any
    server: Server
    caller: ArticleCaller
    client: HttpClient

    async def send(self) -> tuple[Attempt, CheckedAnswer | None]:
        return await self.caller.call(self.server, 0, 1)


@asynccontextmanager
async def line(
    folder: Path,
    way: Way,
    *,
    options: str = "",
    text: str = TEXT,
    time_limit: float = SECONDS,
    limits: HttpLimits | None = None,
    **settings: Any,
) -> AsyncIterator[Line]:
    """Connect a peer of a protocol with the hub."""
    given, settings = {"options": options or way.options}, {**way.settings, **settings}
    if way.protocol == "becalm":
        async with calling_hub(folder, limits=limits) as hub, becalm_peer(**settings) as peer:
            known = await hub.register(peer, **given)
            yield Line(peer=peer, server=known, caller=hub.caller(time_limit), client=hub.client)
        return
    async with (
        PEERS[way.protocol](**settings) as peer,
        article_caller(text, time_limit=time_limit, limits=limits) as caller,
    ):
        known = server(peer.url, protocol=way.protocol, tasks=TASKS, **given)
        yield Line(peer=peer, server=known, caller=caller, client=caller._client)


def test_every_protocol_is_held_to_the_contract() -> None:
    assert {way.protocol for way in WAYS.values()} == {*installed_protocols()}


def found(answer: CheckedAnswer | None) -> Any:
    """Return what an answer holds; servers write the types of mentions as they like."""
    held = {task: payload for task, payload in answer.payloads.items() if payload}
    return held | {"NER": [[at, words, kind.lower()] for at, words, kind in held["NER"]]}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_the_same_is_found_whatever_a_server_speaks(tmp_path: Path, way: Way) -> None:
    async with line(tmp_path, way) as hub:
        ended, answer = await hub.send()
    assert ended.outcome is Outcome.OK, ended.message
    assert found(answer) == FOUND[way.protocol]
    timings = ended.timings
    assert None not in (timings.send, timings.wait, timings.transfer)
    assert min(ended.bytes_in, ended.bytes_out, len(ended.raw)) > 0


# -- other forms of the same answer ----------------------------------------------------------------


def _spans(answer: dict[str, Any], change: Callable[[str, int], int]) -> dict[str, Any]:
    """Change the offsets of a PubAnnotation answer."""
    for one in answer["denotations"]:
        for end in ("begin", "end"):
            one["span"][end] = change(answer["text"], one["span"][end])
    return answer


def _of_java(text: str, at: int) -> int:
    return len(text[:at].encode("utf-16-le")) // 2


def _windows(answer: dict[str, Any]) -> Any:
    """Answer about the text with the line ends of Windows."""
    moved = _spans(answer, lambda text, at: at + text[:at].count("\n"))
    return moved | {"text": answer["text"].replace("\n", "\r\n")}


def _places(answer: dict[str, Any], change: Callable[[dict[str, Any], int], int]) -> Any:
    """Change the offsets of a BioC answer, which may depend on their passages."""
    for passage in answer["documents"][0]["passages"]:
        for annotation in passage["annotations"]:
            [at] = annotation["locations"]
            at["offset"] = change(passage, at["offset"])
    return answer


def _in_passage(answer: dict[str, Any]) -> Any:
    return _places(answer, lambda passage, at: at - passage["offset"])


def _bytes(answer: dict[str, Any]) -> Any:
    """Count bytes in each passage."""
    return _places(
        answer,
        lambda passage, at: (
            passage["offset"] + len(passage["text"][: at - passage["offset"]].encode())
        ),
    )


def _each(**changes: Callable[[dict[str, Any]], object]) -> Callable[..., Any]:
    """Change members of each annotation of a BeCalm answer."""
    return lambda listed: [
        one | {name: change(one) for name, change in changes.items()} for one in listed
    ]


def _later(name: str) -> Callable[[dict[str, Any]], int]:
    """Count the one astral letter of the title twice, as UTF-16 does."""
    return lambda one: int(one[name]) + (one["section"] == "T")


OTHER: Mapping[str, tuple[str, Callable[..., Any], str, str]] = {
    "UTF-16": ("pubannotation sync", lambda answer: _spans(answer, _of_java), "offsets=utf16", ""),
    "line ends": ("pubannotation sync", _windows, "", ""),
    "in passages": ("bioc", _in_passage, "", "moved by 11"),
    "moved": ("bioc", lambda answer: _places(answer, lambda _, at: at + 3), "", "moved by -3"),
    "bytes": ("bioc", _bytes, "offsets = utf8", ""),
    "bytes in passages": ("bioc", lambda answer: _in_passage(_bytes(answer)), "offsets = utf8",
                          "moved by 11"),
    "documents": ("bioc", lambda answer: answer["documents"], "", ""),
    "a document": ("bioc", lambda answer: answer["documents"][0], "", ""),
    "PubTator3": ("bioc", lambda answer: {"PubTator3": answer["documents"]}, "", ""),
    "becalm UTF-16": ("becalm JSON ", _each(init=_later("init"), end=_later("end")),
                      "offsets = utf16", ""),
    "scores to 100": ("becalm JSON ", _each(score=lambda _: 50), "score_max = 100", ""),
    "strings": ("becalm JSON ", _each(init=lambda one: str(one["init"])), "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "options", "note"), OTHER.values(), ids=OTHER)
async def test_other_forms_are_read_alike(tmp_path, name, change, options, note):
    async with line(tmp_path, WAYS[name], options=options, change=change) as hub:
        ended, answer = await hub.send()
    assert found(answer) == FOUND[WAYS[name].protocol], ended.message
    assert note in ended.message


def _judged(score: float) -> Callable[..., Any]:
    pair = {"dbid_a": "P04637", "dbid_b": "uniprot:P38398", "confidence": score}
    return lambda listed: {
        "annotations": [one | {"score": 2 * score} for one in listed],
        "pairs": [pair],
        "interaction": [True, 3 * score],
    }


@pytest.mark.parametrize(("score", "options"), [(0.25, ""), (25, "score_max = 100")])
async def test_a_callback_may_judge_and_relate(tmp_path: Path, score: float, options: str) -> None:
    way = WAYS["becalm JSON "]
    async with line(tmp_path, way, options=options, change=_judged(score)) as hub:
        _, answer = await hub.send()
    assert (answer.payloads["ACT"], answer.payloads["IPT"]) == ([True, 0.75], [[*PAIR, 0.25]])
    assert answer.payloads["INT"] == [["P04637", 1, 0.5], ["P38398", 2, 0.5]]


@pytest.mark.parametrize("change", [lambda _: [], _each(type=lambda _: "CHEMICAL")])
async def test_a_callback_may_have_found_nothing(tmp_path: Path, change: Any) -> None:
    async with line(tmp_path, WAYS["becalm JSON "], change=change) as hub:
        ended, answer = await hub.send()
    assert ended.outcome is Outcome.OK, ended.message
    assert not any(answer.payloads.get(task) for task in ("ACT", "INT", "IPT"))


# -- what is no answer -----------------------------------------------------------------------------


def _says(status: int, **fields: Any) -> Callable[..., Any]:
    """Answer a request for an article so, and no look at a job."""
    return lambda asked: (
        web.Response(status=status, **fields)
        if isinstance(asked, dict) or asked.method == "POST"
        else None
    )


def _tells(status: int, /, **members: Any) -> Callable[..., Any]:
    return lambda _: web.json_response(members, status=status)


def _leads(status: int, place: str) -> Callable[..., Any]:
    return _says(status, headers={"Location": place})


PUB, BECALM = "pubannotation sync", "becalm JSON "
ELSEWHERE = "style=session\nresult_url=http://127.0.0.2:9/{session}"
BEYOND = b"[" + b"1," * 3_000 + b"1]"
FAILURES: list[tuple[str, Any, str, Outcome, str]] = [
    *((name, _says(status), "", Outcome.CREDENTIALS, str(status))
      for name in ("xmlrpc", "bioc", PUB, BECALM) for status in (401, 403)),
    *((name, _says(302, headers={"Location": "/x"}), "", Outcome.HTTP, "302")
      for name in ("xmlrpc", "bioc", PUB, BECALM)),
    *((name, _says(200, text="<html>"), "", Outcome.SYNTAX, "<html>")
      for name in ("bioc", PUB, BECALM)),
    ("xmlrpc", _says(200, text="<html>"), "", Outcome.SYNTAX, ""),
    ("bioc", _says(200, text="[Warning] : wait"), "", Outcome.SYNTAX, "[Warning] : wait"),
    ("bioc", _says(200, text="<html>"), SESSION, Outcome.SHAPE, "the number of a session"),
    ("bioc", _says(400), "", Outcome.HTTP, "400"),
    ("bioc", _says(200, text="1000"), ELSEWHERE, Outcome.HTTP, "poll_origins"),
    (PUB, _says(400, text='{"message": "no text"}'), "", Outcome.FAULT, "400: no text"),
    (PUB, _says(500, text="oops"), "", Outcome.HTTP, "500"),
    (PUB, _says(503, text='{"message": "full"}'), "", Outcome.HTTP, "503"),
    (PUB, _says(303), "", Outcome.HTTP, "the job has no Location"),
    (PUB, _leads(303, "http://127.0.0.2:9/x"), "", Outcome.HTTP, "poll_origins"),
    (PUB, _leads(303, "file:///etc/passwd"), "", Outcome.HTTP, "not an address"),
    (PUB, _leads(201, "http://[::1"), "", Outcome.HTTP, "not an address"),
    (PUB, _says(200, body=b'{"text": "cut'), "", Outcome.SYNTAX, "Unterminated string"),
    (PUB, _says(200, body=b'{"a": 1, "a": 2}'), "", Outcome.SYNTAX, "the same name twice"),
    (PUB, _says(200, body=b'{"a": NaN}'), "", Outcome.SYNTAX, "NaN"),
    (PUB, _says(200, body=b'{"a": 1e999}'), "", Outcome.SYNTAX, "range of doubles"),
    (PUB, _says(200, body=b'{"a": 99999999999999999999}'), "", Outcome.SYNTAX, "64 bits"),
    (PUB, _says(200, body=rb'{"a": "\ud800"}'), "", Outcome.SYNTAX, "surrogate"),
    (PUB, _says(200, body=b'{"a": "\xff"}'), "", Outcome.SYNTAX, "not UTF-8"),
    (PUB, _says(200, body=b"[" * 65 + b"]" * 65), "", Outcome.SYNTAX, "nested deeper"),
    (PUB, _says(200, body=b"[" * 1_900 + b"]" * 1_900), "", Outcome.SYNTAX, "nested deeper"),
    (PUB, _says(200, body=b"[" * 100_000), "", Outcome.TOO_LARGE, "values"),
    (PUB, _says(200, body=b"[" + b"[[[]]]," * 600 + b"1]"), "", Outcome.TOO_LARGE, "values"),
    *((name, _says(200, body=BEYOND), "", Outcome.TOO_LARGE, "values") for name in ("bioc", PUB)),
    *((name, _says(200, body=b" " * 2_000_000), "", Outcome.TOO_LARGE, "bytes")
      for name in ("xmlrpc", "bioc", PUB)),
    (BECALM, _tells(200, status=400, success=False, errorCode="7", errorName="X", message="no"),
     "", Outcome.FAULT, "7: X: no"),
    (BECALM, _tells(200, success="yes"), "", Outcome.SHAPE, "/success: "),
    (BECALM, _tells(200), "", Outcome.SHAPE, "/success: missing"),
    (BECALM, _tells(500, message="broken"), "", Outcome.FAULT, "500: broken"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reply", "options", "outcome", "said"),
    FAILURES,
    ids=[f"{name.strip()}: {outcome} {said}" for name, _, _, outcome, said in FAILURES],
)
async def test_what_is_no_answer_ends_in_its_outcome(tmp_path, name, reply, options, outcome, said):
    limits = HttpLimits(answer=Limits(bytes=1_000_000, values=2_000))
    async with line(tmp_path, WAYS[name], options=options, reply=reply, limits=limits) as hub:
        ended, answer = await hub.send()
    assert (ended.outcome, answer) == (outcome, None), ended.message
    assert said in ended.message


def _located(locations: object) -> Any:
    return {"passages": [{"offset": 1, "text": "x", "annotations": [{"locations": locations}]}]}


SHAPES: list[tuple[str, Any, str]] = [
    ("xmlrpc", {"mentions": 5}, "mentions: "),
    (PUB, {"denotations": [{"span": {"begin": "1", "end": 2}, "obj": "x"}]},
     "/denotations/0/span/begin: "),
    (PUB, {"denotations": {}}, "/denotations: "),
    (PUB, {"text": "another"}, "/text: "),
    (PUB, [], "/: "),
    ("bioc", {"documents": []}, "/documents: 0 documents, 0 of them ours"),
    ("bioc", {}, "/documents: missing"),
    ("bioc", {"id": "a1", "passages": []}, "/id: 'a1' is not the id that was sent"),
    ("bioc", {"documents": [{"id": 7, "passages": []}]}, "/documents/0/id: '7' is not the id"),
    ("bioc", {"passages": [{"text": "x"}]}, "/passages/0/offset: missing"),
    ("bioc", {"passages": 1}, "/passages: "),
    ("bioc", {"passages": [], "infons": []}, "/infons: "),
    ("bioc", _located(5), "/annotations/0/locations: "),
    ("bioc", _located([5]), "/annotations/0/locations/0: "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sent", "place"), SHAPES)
async def test_another_shape_is_named_at_its_place(tmp_path, name, sent, place):
    async with line(tmp_path, WAYS[name], change=lambda _: sent) as hub:
        ended, _ = await hub.send()
    assert ended.outcome is Outcome.SHAPE
    assert place in ended.message


WITHOUT_END: Mapping[str, tuple[dict[str, Any], str]] = {
    "bioc session": ({"looks": 10**9}, "the server last reported: not ready (404)"),
    "pubannotation 201": ({"looks": 10**9}, "the server last reported: IN_PROGRESS"),
}


@pytest.mark.parametrize("name", WITHOUT_END)
async def test_work_without_end_is_a_timeout_that_says_how_far_it_came(tmp_path, name):
    settings, said = WITHOUT_END[name]
    async with line(tmp_path, WAYS[name], time_limit=1.0, **settings) as hub:
        ended, _ = await hub.send()
    assert ended.outcome is Outcome.TIMEOUT
    assert said in ended.message


# -- much in little --------------------------------------------------------------------------------


def _of_bioc(_: object) -> Any:
    """Relate an annotation that has a great many accessions with itself."""
    names = ",".join(f"P{number:05}" for number in range(1_300))
    annotation = {"id": "1", "infons": {"identifier": names}, "locations": []}
    relation = {"infons": {"type": "ppi"}, "nodes": [{"refid": "1"}, {"refid": "1"}]}
    passage = {"offset": 0, "text": "x", "annotations": [annotation], "relations": [relation]}
    return {"id": "a0", "passages": [passage]}


def _of_pubannotation(_: object) -> Any:
    names = [{"subj": "T1", "pred": "id", "obj": f"P{number:05}"} for number in range(200)]
    return {"attributes": names, "relations": [{"pred": "ppi", "subj": "T1", "obj": "T1"}]}


@pytest.mark.parametrize(
    ("name", "change"), [("bioc", _of_bioc), ("pubannotation sync", _of_pubannotation)]
)
async def test_the_pairs_of_a_relation_are_bounded_by_the_size_of_the_answer(
    tmp_path: Path, name: str, change: Any
) -> None:
    async with line(tmp_path, WAYS[name], change=change) as hub:
        ended, answer = await hub.send()
    assert (ended.outcome, answer) == (Outcome.TOO_LARGE, None)
    assert "annotations and names in" in ended.message


@pytest.mark.parametrize(("name", "sent"), [("bioc", {"passages": []}), ("pubannotation sync", {})])
async def test_a_long_text_is_measured_in_a_thread(tmp_path, monkeypatch, name, sent):
    threads = threads_that_measure(monkeypatch)
    given = {"options": "offsets = utf8", "text": "𝛼 " * AT_ONCE}
    async with line(tmp_path, WAYS[name], **given, change=lambda _: sent) as hub:  # type: ignore[arg-type]
        ended, _ = await hub.send()
    assert ended.outcome is Outcome.OK
    assert threads
    assert threading.get_ident() not in threads


# -- tests, probes, options ------------------------------------------------------------------------

STEPS: Mapping[str, tuple[str, ...]] = {
    "xmlrpc": ("state",),
    "bioc": ("document comes back",),
    "pubannotation": ("state", "further member"),
    "becalm": ("state", "wrong key", "unknown type", "no documents"),
}


@pytest.mark.parametrize(
    "name", ["xmlrpc", "bioc", "pubannotation sync", "pubannotation 303", "becalm JSON "]
)
async def test_a_conformance_run_passes(tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    async with line(tmp_path, way) as hub:
        run = await conformance_of(hub.server, hub.client)
    assert run.passed, run.reasons()
    states = {step.name: step.state for step in run.steps}
    for step in STEPS[way.protocol]:
        assert states[step] is StepState.PASSED, run.steps
    if way.protocol == "pubannotation":  # a result is read twice where there is a job
        twice = StepState.SKIPPED if name.endswith("sync") else StepState.PASSED
        assert states["result read twice"] is twice
    assert "secret" not in str(run)


AWAY = {"Running": "", "Pending": "", "Suspended": "Suspended", "SHUTDOWN": "Shutdown"}
SAID = AWAY | {"Overloaded": "", "Shutdown": "Shutdown"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *(("xmlrpc", said) for said in ("Running", "Overloaded", "Suspended", "Shutdown")),
        *(("becalm JSON ", said) for said in AWAY),
    ],
)
async def test_a_probe_reads_the_state(tmp_path: Path, name: str, said: str) -> None:
    async with line(tmp_path, WAYS[name], state=said) as hub:
        probed = await hub.caller.probe(hub.server)
    assert probed == (f"the server reports the state {SAID[said]}" if SAID[said] else None)


async def test_a_probe_needs_no_state(tmp_path: Path) -> None:
    async with line(tmp_path, WAYS["pubannotation sync"]) as hub:
        assert await hub.caller.probe(hub.server) is None
        assert await hub.caller.state(hub.server) is None
        hub.peer.reply = lambda _: web.Response(status=500)
        assert await hub.caller.probe(hub.server) == "http: HTTP status 500; expected a result"


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        *((protocol, options) for protocol in ("becalm", "bioc", "pubannotation")
          for options in ("score_min=1", "nonsense", "extra=1", "offsets=words")),
        ("bioc", "style=session"),
        ("bioc", "style=later"),
        ("bioc", "poll_origins=jobs.example.org"),
        ("bioc", "poll_origins=https://[::1"),
    ],
)  # fmt: skip
def test_unusable_options_are_refused(protocol: str, options: str) -> None:
    known = server("http://a.example/", protocol=protocol, options=options)
    with pytest.raises(ValueError, match=r"."):
        installed_protocols()[protocol].check(known)
