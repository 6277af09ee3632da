"""Each fault of the faulty server, recognized by a plain HTTP client."""

from xmlrpc.client import Fault, dumps, loads

import aiohttp
import pytest

from annotators.contract import problems
from annotators.faults import FAULTS
from annotators.test_servers import FaultyKit
from tests.integration.kits import served

LIMIT = 64 * 2**20  # bytes, the hub's default


def annotate(text, context):
    return {
        "interaction": [True, 0.9],
        "normalizations": [{"dbid": "P38398", "rank": 1, "confidence": 0.9}],
        "pairs": [{"dbid_a": "P38398", "dbid_b": "Q99728", "rank": 1, "confidence": 0.9}],
    }


@pytest.fixture
async def url():
    async with served(FaultyKit(annotate)) as url:
        yield url


async def ask(session, url, text, deadline):
    """Return (outcome as far as a client without a schema sees it, value)."""
    try:
        async with session.post(
            url,
            data=dumps((text,), "Annotator.getAnnotation"),
            allow_redirects=False,
            timeout=deadline,
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(2**20):
                body += chunk
                if len(body) > LIMIT:
                    return "too_large", None
    except TimeoutError:
        return "timeout", None
    except aiohttp.ClientResponseError:
        return "http", None
    except aiohttp.ClientError:
        return "connect", None
    return decoded(response.status, bytes(body))


def decoded(status, body):
    if b"<!DOCTYPE" in body or body.count(b"<value>") > 1000:
        return "syntax", None
    try:
        return "decoded", loads(body)[0][0]
    except Fault as fault:
        return "fault", fault
    except Exception:
        return ("syntax" if status == 200 else "http"), None


def session_of_one_use():
    """A session that reuses no connection: one fault closes it after its answer."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))


async def first_answers(url):
    """Ask for one article a fault, in order; return what came, by fault."""
    async with session_of_one_use() as session:
        return {
            fault.name: await ask(session, url, f"article {number}", limit(fault))
            for number, fault in enumerate(FAULTS)
        }


def limit(fault):
    return aiohttp.ClientTimeout(total=1 if fault.outcome == "timeout" else 60)


async def test_each_fault_ends_as_its_table_says(url):
    decodes = {"ok", "partial", "shape", "no_valid_hit"}
    answers = await first_answers(url)
    # The standard library reads no <boolean>true</boolean>, a real peer's habit; the hub has to.
    assert answers.pop("quirks") == ("syntax", None)
    for name, (outcome, value) in answers.items():
        (fault,) = (fault for fault in FAULTS if fault.name == name)
        assert outcome == ("decoded" if fault.outcome in decodes else fault.outcome), name
        if fault.outcome in {"shape", "partial"} and name != "some bad hits":
            assert list(problems(value)), name


async def test_bad_hits_are_mixed_with_good_ones(url):
    _, answer = (await first_answers(url))["some bad hits"]
    assert [hit["dbid"] for hit in answer["normalizations"]] == [
        "P38398",
        "TP53",
        "P53_HUMAN",
        "P04637-2",
        "Q0ZZZ9",
    ]


async def test_some_ways_heal_when_asked_again(url):
    healing = [number for number, fault in enumerate(FAULTS) if fault.heals_after]
    await first_answers(url)
    async with session_of_one_use() as session:
        for number in healing:
            fault = FAULTS[number]
            for _ in range(fault.heals_after - 1):
                outcome, _ = await ask(session, url, f"article {number}", limit(fault))
                assert outcome != "decoded", fault.name
            answer = await ask(session, url, f"article {number}", limit(fault))
            assert answer == ("decoded", annotate("", {})), fault.name
    assert healing


def test_every_outcome_that_a_server_can_cause_has_a_way():
    assert {fault.outcome for fault in FAULTS} == {
        "ok",
        "partial",
        "connect",
        "timeout",
        "http",
        "too_large",
        "syntax",
        "fault",
        "shape",
        "no_valid_hit",
    }
