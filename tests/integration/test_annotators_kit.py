"""The kit in this process, called by the standard library's client and by plain HTTP."""

import asyncio
import io
import itertools
import threading
from xmlrpc.client import Fault, ServerProxy

import aiohttp
import pytest

from annotators.check import check
from annotators.server import HELP, MAX_REQUEST_BYTES, Kit
from metaserver.uniprot.vocabulary import FormatVocabulary
from tests.integration.kits import served
from tests.integration.peers import answering, peer
from tests.integration.verdicts import agreed


def serving(annotate, **options):
    return served(Kit(annotate, **options))


async def call(url, method, *params):
    def blocking():
        with ServerProxy(url) as proxy:
            return getattr(proxy, method)(*params)

    return await asyncio.to_thread(blocking)


def echo(text, context):
    return {"text": text, "context": context}


async def aecho(text, context):
    return echo(text, context)


@pytest.mark.parametrize("annotate", [echo, aecho])
async def test_both_parameter_styles_arrive(annotate):
    text = " p53 \n α 🧬 <&> "
    async with serving(annotate) as url:
        assert await call(url, "Annotator.getAnnotation", text) == {"text": text, "context": {}}
        answer = await call(url, "Annotator.getAnnotation", text, {"attempt": 2})
        assert answer["context"] == {"attempt": 2}


@pytest.mark.slow
async def test_processes_give_the_same_answers():
    async with serving(echo, processes=True, workers=1) as url:
        assert (await call(url, "Annotator.getAnnotation", "p53"))["text"] == "p53"


async def test_an_exception_becomes_a_fault_without_traceback(caplog):
    def fails(text, context):
        raise RuntimeError("the model is not loaded")

    async with serving(fails) as url:
        with pytest.raises(Fault) as caught:
            await call(url, "Annotator.getAnnotation", "p53")
    assert caught.value.faultCode == -32603
    assert caught.value.faultString == "RuntimeError: the model is not loaded"
    assert "Traceback" in caplog.text  # the team sees it in its own log


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("Annotator.getAnnotation", (), -32602),
        ("Annotator.getAnnotation", (1,), -32602),
        ("Annotator.getAnnotation", ("text", "context"), -32602),
        ("system.methodHelp", ("no.such",), -32602),
        ("no.such", (), -32601),
    ],
)
async def test_a_wrong_call_gets_the_agreed_fault_code(method, params, code):
    async with serving(echo) as url:
        with pytest.raises(Fault) as caught:
            await call(url, method, *params)
    assert caught.value.faultCode == code


async def test_the_server_describes_itself():
    async with serving(echo, workers=3, version="2.0") as url:
        assert await call(url, "system.listMethods") == list(HELP)
        assert await call(url, "system.methodSignature", "Annotator.getState") == [["struct"]]
        assert "article" in await call(url, "system.methodHelp", "Annotator.getAnnotation")
        state = await call(url, "Annotator.getState")
        assert state == {"state": "Running", "version": "2.0", "max_concurrent": 3}
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            assert "Annotator.getAnnotation" in await response.text()


async def test_it_answers_while_a_worker_is_busy_and_says_when_articles_wait():
    release = threading.Event()

    def blocks(text, context):
        release.wait(30)
        return {}

    async with serving(blocks, workers=1) as url:
        waiting = [asyncio.create_task(call(url, "Annotator.getAnnotation", "x")) for _ in range(2)]
        while (await call(url, "Annotator.getState"))["state"] != "Overloaded":
            await asyncio.sleep(0.01)
        release.set()
        assert await asyncio.gather(*waiting) == [{}, {}]


async def test_a_request_above_the_limit_is_refused():
    async with serving(echo) as url, aiohttp.ClientSession() as session:
        body = io.BytesIO(b" " * (MAX_REQUEST_BYTES + 1))
        async with session.post(url, data=body) as response:
            assert response.status == 413


def saying(value: str) -> bytes:
    """Return an answer with one value, in XML."""
    inside = f"<params><param><value>{value}</value></param></params>"
    return f"<methodResponse>{inside}</methodResponse>".encode()


def hit(confidence: str, member: str = "") -> str:
    """Return a struct of an answer with one hit."""
    inside = "<member><name>dbid</name><value>P04637</value></member>"
    inside += f"<member><name>confidence</name><value>{confidence}</value></member>{member}"
    array = f"<array><data><value><struct>{inside}</struct></value></data></array>"
    return f"<struct><member><name>normalizations</name><value>{array}</value></member></struct>"


HALF = hit("<double>0.5</double>")
LATIN = hit("<double>0.5</double>", "<member><name>by</name><value>é</value></member>")
WORD = (
    "<struct><member><name>interaction</name><value><array><data>"
    "<value><boolean>true</boolean></value><value><double>.5</double></value>"
    "</data></array></value></member></struct>"
)
DATE = "<member><name>made</name><value><dateTime.iso8601>0</dateTime.iso8601></value></member>"


@pytest.mark.parametrize(
    ("body", "headers", "passes"),
    [
        (saying(HALF), {}, True),
        (b" \r\n" + saying(HALF) + b"\n\0\0", {}, True),
        (b"\xef\xbb\xbf" + saying(HALF), {}, True),
        (saying(hit("<int>1</int>")), {}, True),
        (saying(hit("0.5")), {}, True),
        (saying(hit("<double>0.5</double>", DATE)), {}, True),
        (saying(WORD), {}, True),
        (saying("<nil/>"), {}, True),
        (saying("<array><data/></array>"), {}, True),
        (saying("<struct></struct>"), {}, True),
        (saying("<struct><member><name>text</name><value>x</value></member></struct>"), {}, True),
        (saying(LATIN).decode().encode("latin-1"), {"content_type": "a/b; charset=latin-1"}, True),
        (saying(hit("<double>NaN</double>")), {}, False),
        (saying(hit("<double>7</double>")), {}, False),
        (saying(hit("high")), {}, False),
        (b"<!DOCTYPE methodResponse []>" + saying(HALF), {}, False),
        (saying(HALF)[:-5], {}, False),
        (saying("none"), {}, False),
    ],
)
async def test_check_and_the_hubs_own_test_agree(body, headers, passes):
    async with peer(answering(body, **headers)) as there:
        run = await agreed(there.url, vocabulary=FormatVocabulary())
    assert run.passed is passes


async def test_check_waits_for_a_server_that_is_busy():
    requests = itertools.count()

    async def script(connection):
        while True:
            await connection.request()
            if next(requests):
                await connection.respond(saying("<struct></struct>"))
            else:
                await connection.respond(b"", status="503 Busy", retry_after="0")

    lines: list[str] = []
    async with peer(script) as there:
        assert await check(there.url, show=lines.append), lines
