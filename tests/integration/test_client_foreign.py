"""Answers as libraries of other languages and careless servers send them, over real connections."""

from __future__ import annotations

import pytest

from metaserver.base.compression import unpack
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from tests.integration.callers import call
from tests.integration.peers import GOOD, PAYLOADS, Script, answering, peer, response, sending

EX = b"<methodResponse xmlns:ex='http://ws.apache.org/xmlrpc/namespaces/extensions'>"
FIRST = b"<struct>\n<member>\n<name>interaction</name>"


async def ended(script: Script) -> tuple[Attempt, CheckedAnswer | None]:
    async with peer(script) as there:
        return await call(there.url)


def with_member(name: str, value: str) -> bytes:
    """Return the good answer with one more member before its others."""
    assert FIRST in GOOD
    member = f"<member><name>{name}</name><value>{value}</value></member>".encode()
    return GOOD.replace(FIRST, b"<struct>" + member + FIRST[len(b"<struct>") :], 1)


UNREAD = {
    "a date": ("<dateTime.iso8601>yesterday</dateTime.iso8601>",
               "'yesterday' is no dateTime.iso8601"),
    "NaN": ("<double>NaN</double>", "'NaN' is no double"),
    "infinity": ("<double>INF</double>", "'INF' is no double"),
    "a number beyond 64 bits": (f"<i8>{2**63}</i8>", f"'{2**63}' is no i8"),
    "an element of Apache's": ("<ex:node><a b='c'><d/></a></ex:node>",
                               "<ex:node> is no type of XML-RPC"),
    "a type of its own": ("<decimal>1.5</decimal>", "<decimal> is no type of XML-RPC"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), UNREAD.values(), ids=UNREAD)
@pytest.mark.parametrize("root", [b"<methodResponse>", EX])
async def test_a_member_that_nobody_reads_costs_nothing(
    text: str, message: str, root: bytes
) -> None:
    body = with_member("extra", text).replace(b"<methodResponse>", root)
    attempt, answer = await ended(answering(body))
    assert attempt.outcome is Outcome.OK, attempt.message
    assert answer is not None
    assert answer.payloads == PAYLOADS
    assert (attempt.message, attempt.problem_count) == (f"extra: {message}", 1)
    assert [str(problem) for problem in attempt.problems] == [f"extra: {message}"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"<double>0.9</double>", b"<double>NaN</double>",
         "normalizations[0].confidence: expected double, got unreadable double"),
        (b"<int>1</int>", b"<int>first</int>",
         "normalizations[0].rank: expected int, got unreadable int"),
        (b"<double>0.75</double>", b"<money>0.75</money>",
         "interaction[1]: expected double, got unreadable type"),
    ],
)  # fmt: skip
async def test_one_that_is_read_fails_the_attempt_and_is_named(
    old: bytes, new: bytes, problem: str
) -> None:
    body = GOOD.replace(old, new, 1)
    attempt, answer = await ended(answering(body))
    assert (attempt.outcome, answer) == (Outcome.SHAPE, None)
    assert attempt.message.startswith(problem)
    assert attempt.problems[1].path == problem.partition(":")[0]


NIL = b"<methodResponse><params><param><value><nil/></value></param></params></methodResponse>"


@pytest.mark.parametrize("body", [NIL, NIL.replace(b"nil", b"ex:nil"), response([]), response({})])
async def test_an_answer_of_nothing_is_that_nothing_was_found(body: bytes) -> None:
    attempt, answer = await ended(answering(body))
    assert (attempt.outcome, attempt.message) == (Outcome.OK, "")
    assert answer is not None
    assert (answer.payloads, answer.hits_dropped) == ({}, 0)


async def test_a_second_member_of_one_name_is_told() -> None:
    body = with_member("normalizations", "<array><data/></array>")
    attempt, answer = await ended(answering(body))
    assert attempt.outcome is Outcome.OK
    assert attempt.message == "normalizations: a second member of this name; the last one counts"
    assert answer is not None
    assert answer.payloads == PAYLOADS


def declared(encoding: str | None, said: str | None) -> bytes:
    """Return an answer with an é in it, in an encoding that is declared or not."""
    head = f"<?xml version='1.0' encoding='{said}'?>" if said else "<?xml version='1.0'?>"
    body = GOOD.partition(b"?>")[2].decode().replace("P04637", "é")
    return (head + body).encode(encoding or "utf-8")


@pytest.mark.parametrize(
    ("charset", "said", "encoding"),
    [("ISO-8859-1", None, "latin-1"), ("utf-8", "iso-8859-1", "utf-8"), ("UTF-8", None, "utf-8")],
)
@pytest.mark.parametrize("form", ["text/xml; charset={}", 'text/html;CHARSET="{}"; x=y'])
async def test_the_charset_of_the_header_counts(
    charset: str, said: str | None, encoding: str, form: str
) -> None:
    body = declared(encoding, said)
    attempt, _ = await ended(answering(body, content_type=form.format(charset)))
    assert "é is not in the release" in attempt.message
    assert unpack(attempt.raw) == body


@pytest.mark.parametrize("encoding", ["", "identity", "Identity "])
async def test_an_encoding_that_is_none_is_none(encoding: str) -> None:
    attempt, _ = await ended(answering(GOOD, content_encoding=encoding))
    assert attempt.outcome is Outcome.OK


@pytest.mark.parametrize("before", [b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\n\xef\xbb\xbf\n"])
@pytest.mark.parametrize("behind", [b"", b"\n", b"\0", b"\r\n\0\0"])
async def test_what_a_script_writes_around_its_answer_is_passed_over(
    before: bytes, behind: bytes
) -> None:
    attempt, answer = await ended(answering(before + GOOD + behind, content_type="text/html"))
    assert attempt.outcome is Outcome.OK, attempt.message
    assert answer is not None
    assert answer.payloads == PAYLOADS


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Type: text/plain\nConnection: close\n\n",
    ],
    ids=["HTTP/1.0", "with fields", "without a reason", "bare line feeds"],
)
async def test_an_answer_without_a_length_ends_with_its_connection(head: bytes) -> None:
    attempt, answer = await ended(sending(head + GOOD))
    assert attempt.outcome is Outcome.OK, attempt.message
    assert answer is not None
    assert answer.payloads == PAYLOADS
