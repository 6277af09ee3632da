"""The conformance run against real servers: which step says what is wrong."""

import asyncio
import socket
from typing import Any
from xmlrpc.client import Fault

import pytest

from annotators.faults import FAULTS, FaultyAnswer
from annotators.server import Kit
from annotators.test_servers import FaultyKit, Turns
from metaserver.base.conformance import Conformance, ConformanceStep, StepState
from metaserver.base.states import ANSWERED, RULES, Outcome
from metaserver.exchange.conformance.procedure import ARTICLES, conformance
from metaserver.exchange.http.client import HttpLimits, open_client
from metaserver.exchange.wire.values import FORBIDDEN, Limits
from metaserver.exchange.wire.xmlrpc import decode_call
from metaserver.tasks.plugin import answered_tasks
from tests.integration.callers import SECONDS, VOCABULARY, conformance_of, server
from tests.integration.kits import served
from tests.integration.peers import ANSWER, GOOD, Connection, Script, answering, peer, response

TASKS = ("ACT", "INT", "IPT")
NETWORK = ["resolve", "connect", "TLS"]
NAMES = [*NETWORK, "state", *(article.name for article in ARTICLES), "two at once"]
RUNNING = response({"state": "Running", "version": "1", "max_concurrent": 2})
NO_METHOD = response(Fault(-32601, "no such method"))
WRONG_LETTERS = response(Fault(1, "wrong letters"))
LIMITS = HttpLimits(answer=Limits(bytes=2_000_000))


async def probed(
    url: str,
    *,
    time_limit: float = SECONDS,
    told: list[ConformanceStep] | None = None,
    **options: Any,
) -> Conformance:
    """Return how the server at `url` fares."""
    async with open_client(LIMITS) as client:
        return await conformance(
            client,
            server(url, **options),
            [task for task in answered_tasks().values() if task.name in TASKS],
            VOCABULARY,
            time_limit=time_limit,
            on_step=None if told is None else told.append,
        )


async def scripted(script: Script, **options: Any) -> Conformance:
    async with peer(script) as there:
        return await probed(there.url, **options)


def states(run: Conformance) -> dict[str, str]:
    """Return the state of each step."""
    return {step.name: str(step.state) for step in run.steps}


def step(run: Conformance, name: str) -> ConformanceStep:
    (found,) = (step for step in run.steps if step.name == name)
    return found


def by_method(**responses: bytes) -> Script:
    """Return a script that answers each method (named after its dot) with its own bytes."""

    async def script(connection: Connection) -> None:
        while True:
            method = decode_call((await connection.request()).body).method
            await connection.respond(responses.get(method.partition(".")[2], NO_METHOD))

    return script


def good(text: str, context: Any) -> Any:
    return ANSWER


class OneArticle(Turns):
    """Deals its fault to the article with one text, and lets all others alone."""

    def __init__(self, fault: FaultyAnswer, text: str) -> None:
        super().__init__((fault,))
        self._text = FORBIDDEN.sub("\ufffd", text)  # as it arrives

    def take(self, text: str) -> FaultyAnswer | None:
        return super().take(text) if text == self._text else None


def faulty(turns: Turns) -> FaultyKit:
    kit = FaultyKit(good)
    kit._turns = turns
    return kit


def limit(fault: FaultyAnswer) -> float:
    return 2.0 if fault.outcome == "timeout" else SECONDS


# A server that is as it should be


async def test_the_kit_passes_and_each_step_is_told_as_it_ends() -> None:
    told: list[ConformanceStep] = []
    async with served(Kit(good, workers=2)) as url:
        run = await probed(url.replace("127.0.0.1", "localhost"), told=told)
    assert [step.name for step in run.steps] == NAMES
    assert states(run) == dict.fromkeys(NAMES, "passed") | {"TLS": "skipped"}
    assert told == list(run.steps)
    assert run.passed
    assert run.reasons() == []
    assert run.url.startswith("http://localhost:")
    assert all(step.seconds is not None for step in run.steps if step.name != "TLS")
    assert step(run, "short article").message == "hits: 4 (ACT, INT, IPT)"
    assert "<methodResponse>" in step(run, "short article").raw


async def test_the_articles_arrive_with_their_context() -> None:
    seen: dict[str, tuple[str, Any]] = {}

    def note(text: str, context: Any) -> Any:
        seen[context["article_id"]] = (text, context)
        return ANSWER

    async with served(Kit(note)) as url:
        run = await probed(url, parameters="text+context", tasks=("INT", "ACT"))
    assert run.passed
    texts = {name.removeprefix("conformance-"): text for name, (text, _) in seen.items()}
    assert list(texts) == ["short", "long", "non-ascii", "astral", "empty", "control"]
    assert 300_000 <= len(texts["long"]) < 302_000
    assert {"α", "é", "蛋", "Б"} < set(texts["non-ascii"])
    assert max(texts["non-ascii"]) < "\U00010000" <= max(texts["astral"])
    assert texts["empty"] == ""
    assert texts["control"].count("\ufffd") == 6
    for _, context in seen.values():
        assert sorted(context["tasks"]) == ["ACT", "INT"]
        assert context["attempt"] == 1


async def test_an_answer_without_hits_is_a_good_one() -> None:
    run = await scripted(by_method(getState=RUNNING, getAnnotation=response({})))
    assert run.passed
    assert step(run, "short article").message == "the answer has no member of any task"


async def test_a_task_that_no_answer_has_is_a_warning() -> None:
    async with served(Kit(lambda _text, _context: {"normalizations": []})) as url:
        run, registered = await probed(url), await probed(url, tasks=["INT"])
    found = step(run, "tasks")
    assert (found.state, found.message) == (
        "warning",
        "no answer had a hit for ACT, IPT, which the server is registered for",
    )
    assert run.passed
    assert "tasks" not in states(registered)


# The faulty server's faults


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_each_fault_on_one_article_is_told_at_its_step(fault: FaultyAnswer) -> None:
    long = ARTICLES[1]
    async with served(faulty(OneArticle(fault, long.text))) as url:
        run = await probed(url, time_limit=limit(fault))
    found = step(run, long.name)
    expected = {"ok": "passed", "partial": "warning"}.get(fault.outcome, "failed")
    assert (found.outcome, found.state) == (fault.outcome, expected)
    others = {name: state for name, state in states(run).items() if name != long.name}
    assert set(others.values()) == {"passed", "skipped"}
    assert [name for name in others if others[name] == "skipped"] == ["resolve", "TLS"]
    assert run.passed is (found.state != "failed")
    assert run.reasons() == ([] if run.passed else [f"{long.name}: {found.message}"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_each_fault_on_every_article_ends_as_its_outcome_says(fault: FaultyAnswer) -> None:
    async with served(faulty(Turns((fault,)))) as url:
        run = await probed(url, time_limit=limit(fault))
    outcome = Outcome(fault.outcome)
    assert run.passed is (outcome in ANSWERED)
    assert step(run, "state").state == "passed"
    assert step(run, "short article").outcome == outcome
    after = [step for step in run.steps if step.name in NAMES[5:]]
    if RULES[outcome].circuit:
        assert {(step.state, step.message) for step in after} == {
            ("skipped", "short article failed")
        }
    else:
        assert {step.outcome for step in after[:-1]} == {outcome}
        assert (after[-1].state == "skipped") is not run.passed


@pytest.mark.parametrize("place", [3, 4, 5])
@pytest.mark.parametrize("fault", ["fault", "hangs up", "http 500", "malformed", "wrong types"])
async def test_a_fault_on_an_article_that_no_corpus_need_hold_is_a_warning(fault, place):
    (played,) = (known for known in FAULTS if known.name == fault)
    async with served(faulty(OneArticle(played, ARTICLES[place].text))) as url:
        run = await probed(url)
    expected = StepState.WARNING if fault == "fault" else StepState.FAILED
    assert step(run, ARTICLES[place].name).state is expected
    assert run.passed is (fault == "fault")


# Resolve, connect, TLS


async def test_a_name_that_does_not_resolve() -> None:
    run = await probed("http://no.such.host.invalid/")
    assert states(run) == dict.fromkeys(NAMES, "skipped") | {"resolve": "failed"}
    assert run.reasons() == ["resolve: the name 'no.such.host.invalid' does not resolve"]
    assert step(run, "resolve").outcome is Outcome.DNS
    assert step(run, "state").message == "resolve failed"


@pytest.mark.parametrize(("host", "resolved"), [("127.0.0.1", "skipped"), ("localhost", "passed")])
async def test_a_port_where_nobody_listens(host: str, resolved: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    run = await probed(f"http://{host}:{port}/")
    found = states(run)
    assert (found.pop("resolve"), found.pop("connect")) == (resolved, "failed")
    assert set(found.values()) == {"skipped"}
    (reason,) = run.reasons()
    assert reason.startswith("connect: ")


async def test_a_server_without_tls_where_https_is_asked_for() -> None:
    async def plain(connection: Connection) -> None:
        await connection.reader.read(1)
        await connection.respond(GOOD)

    async with peer(plain) as there:
        run = await probed(there.url.replace("http:", "https:"))
    assert [states(run)[name] for name in NETWORK] == ["skipped", "passed", "failed"]
    assert step(run, "TLS").outcome is Outcome.TLS
    assert step(run, "two at once").message == "TLS failed"


async def closing(connection: Connection) -> None:
    await connection.request()
    await connection.respond(GOOD, connection="close")


@pytest.mark.parametrize(
    ("script", "name", "said"),
    [
        (answering(GOOD), "connect", "a connection was open already"),
        (closing, "resolve", "the name was looked up a moment ago"),
    ],
    ids=["connection", "name"],
)
async def test_what_was_there_before_is_said_to_be(script: Script, name: str, said: str) -> None:
    async with peer(script) as there, open_client() as client:
        found = server(there.url.replace("127.0.0.1", "localhost"))
        first, again = await conformance_of(found, client), await conformance_of(found, client)
    assert step(first, "resolve").seconds is not None
    assert step(again, name).message == said


# State


async def state_of(script: Script, **options: Any) -> tuple[ConformanceStep, Conformance]:
    run = await scripted(script, **options)
    return step(run, "state"), run


async def test_a_server_that_says_it_is_away_gets_no_article() -> None:
    state, run = await state_of(by_method(getState=response({"state": "Suspended"})))
    assert (state.state, state.message) == ("failed", "the server reports the state Suspended")
    assert {states(run)[name] for name in NAMES[4:]} == {"skipped"}


@pytest.mark.parametrize(
    ("methods", "ends", "says"),
    [
        (response(["Annotator.getAnnotation"]), "passed", "no Annotator.getState, which is opt"),
        (response(["Annotator.getannotation"]), "warning", "system.listMethods does not list"),
        (NO_METHOD, "warning", "neither Annotator.getState (fault: -32601: no such method) nor"),
    ],
    ids=["listed", "not listed", "neither"],
)
async def test_a_server_without_a_state_is_asked_for_its_methods(methods, ends, says):
    state, run = await state_of(by_method(listMethods=methods, getAnnotation=GOOD))
    assert state.state == ends
    assert state.message.startswith(says)
    assert run.passed


async def test_a_status_for_a_method_that_is_not_there_is_a_warning() -> None:
    async def script(connection: Connection) -> None:
        while True:
            if decode_call((await connection.request()).body).method == "Annotator.getAnnotation":
                await connection.respond(GOOD)
            else:
                await connection.respond(b"what?", status="500 Internal Server Error")

    state, run = await state_of(script)
    assert state.state == "warning"
    assert state.message == (
        "Annotator.getState: HTTP status 500 Internal Server Error; expected 200;"
        " expected a fault if the server has no such method"
    )
    assert run.passed


@pytest.mark.parametrize("unknown", ["Annotator.getState", "system.listMethods"])
async def test_a_server_that_hangs_up_on_a_method_fails(unknown: str) -> None:
    async def script(connection: Connection) -> None:
        while (method := decode_call((await connection.request()).body).method) != unknown:
            await connection.respond(GOOD if method.endswith("Annotation") else NO_METHOD)

    state, run = await state_of(script)
    assert (state.state, state.outcome) == ("failed", Outcome.CONNECT)
    assert step(run, "short article").state == "passed"
    assert len(run.reasons()) == 1


async def test_ascii_is_proposed_to_who_cannot_read_other_letters() -> None:
    async def script(connection: Connection) -> None:
        while True:
            body = (await connection.request()).body
            method = decode_call(body).method
            refusal = NO_METHOD if not method.endswith("Annotation") else WRONG_LETTERS
            await connection.respond(
                GOOD if refusal is WRONG_LETTERS and body.isascii() else refusal
            )

    run = await scripted(script)
    letters = step(run, "non-ASCII article")
    assert (letters.state, letters.outcome) == ("failed", Outcome.FAULT)
    assert letters.message.endswith("register the server with encoding = ascii")
    assert states(await scripted(script, encoding="ascii"))["non-ASCII article"] == "passed"


# Two at once


def hits(accession: str) -> Any:
    return {"normalizations": [{"dbid": accession, "rank": 1, "confidence": 0.5}]}


def of_text(text: str) -> Any:
    return hits("P04637" if "α" in text else "Q00987")


class Forgetful:
    """A server that keeps the article it works on where the next one overwrites it."""

    def __init__(self) -> None:
        self._text = ""

    async def annotate(self, text: str, context: Any) -> Any:
        self._text = text
        await asyncio.sleep(0.3)
        return of_text(self._text)


class OneAtATime:
    """A server that refuses an article while it has another."""

    def __init__(self) -> None:
        self._busy = False

    async def annotate(self, text: str, context: Any) -> Any:
        if self._busy:
            raise RuntimeError("busy")
        self._busy = True
        try:
            await asyncio.sleep(0.3)
            return of_text(text)
        finally:
            self._busy = False


@pytest.mark.parametrize(("concurrency", "ends"), [(2, "failed"), (1, "warning")])
@pytest.mark.parametrize(
    ("kind", "outcome", "said"),
    [(Forgetful, Outcome.OK, "got each other's answers"), (OneAtATime, Outcome.FAULT, "busy")],
)
async def test_a_server_that_takes_one_at_a_time_fails_if_registered_for_more(
    kind: Any, outcome: Outcome, said: str, concurrency: int, ends: str
) -> None:
    async with served(Kit(kind().annotate, workers=2)) as url:
        run = await probed(url, concurrency=concurrency)
    found = step(run, "two at once")
    assert (found.state, found.outcome) == (ends, outcome)
    assert said in found.message
    assert run.passed is (concurrency == 1)


async def test_different_articles_may_get_different_answers_at_once() -> None:
    async def annotate(text: str, context: Any) -> Any:
        await asyncio.sleep(0.1)
        return of_text(text)

    async with served(Kit(annotate)) as url:
        assert step(await probed(url), "two at once").state == "passed"
