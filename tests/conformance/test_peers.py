"""The hub against annotation servers in other languages with their own XML-RPC libraries."""

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.compression import unpack
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from metaserver.exchange.wire.usual import usual_answer
from metaserver.exchange.wire.values import Limits
from metaserver.exchange.wire.xmlrpc import decode_response, escape_text
from metaserver.tasks.plugin import answered_tasks
from tests.conformance.foreign import LANGUAGES, Command, careless, param, perl, running, tcl
from tests.integration.callers import TEXT, VOCABULARY, article_caller, conformance_of, server
from tests.integration.verdicts import agreed

PAYLOADS = {
    "ACT": [True, 0.75],
    "INT": [["P04637", 1, 0.9], ["P38398", 2, 1.0]],
    "IPT": [["P04637", "P38398", 1, 1e-05]],
}
INT_READ = "normalizations[1].confidence: int 1 read as double 1.0"  # no doubles, or no difference
LINE = "TP53 binds <b>BRCA1</b> & MDM2; Ångström, 中文, 'quoted' \"twice\".\n"
TEXTS = {
    "plain": TEXT,
    "markup": "if 1 < 2 && 3 > 2 then <tag attr='x'> &amp; ]]> end",
    "letters": "Ä é ß µ 中文 日本語 Ελληνικά кириллица",
    "space": "  two\n\n\tparagraphs \n",
    "long": LINE * (300_000 // len(LINE.encode())),
}


@pytest.fixture(scope="module", params=[param(one.__name__, one) for one in LANGUAGES])
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of each language in turn, for all tests of this module."""
    language: Callable[[int, Path], Command] = request.param
    with running(language, tmp_path_factory.mktemp(language.__name__)) as url:
        yield url


async def asked(url: str, text: str, **options: Any) -> tuple[Attempt, CheckedAnswer | None]:
    async with article_caller(text) as caller:
        return await caller.call(server(url, **options), 0, 1)


def evidence(attempt: Attempt) -> list[str]:
    """Return what the peer wrote as the evidence of its INT hits."""
    answer: Any = decode_response(unpack(attempt.raw))
    return [hit["evidence"] for hit in answer["normalizations"]]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_an_article_arrives_whole_and_the_answer_is_the_same(peer: str, text: str) -> None:
    attempt, answer = await asked(peer, text)
    assert (attempt.outcome, attempt.message) in ((Outcome.OK, ""), (Outcome.OK, INT_READ))
    assert answer is not None
    assert answer.payloads == PAYLOADS
    counted, letters = evidence(attempt)
    assert counted == f"{len(text)} {zlib.crc32(text.encode()):08x}"
    assert letters.replace("𝔸 ", "") == 'Ångström 中 <&> "'


async def test_its_answer_is_read_by_patterns(peer: str) -> None:
    attempt, answer = await asked(peer, TEXT)
    body = re.sub(rb"<!\[CDATA\[(.*?)\]\]>", _escaped, unpack(attempt.raw))  # Node's, for letters
    tasks = list(answered_tasks().values())
    assert usual_answer(body, tasks, VOCABULARY, Limits()) == answer


def _escaped(section: re.Match[bytes]) -> bytes:
    return escape_text(section[1].decode())


async def test_letters_beyond_the_first_plane_arrive_or_are_a_fault(peer: str) -> None:
    text = "𝔸𝕓 🧬 \U0010ffff"
    attempt, _ = await asked(peer, text)
    if attempt.outcome is Outcome.FAULT:  # xmlrpc-c
        assert "not in the Basic Multilingual Plane" in attempt.message
    else:
        counted, letters = evidence(attempt)
        assert counted == f"{len(text)} {zlib.crc32(text.encode()):08x}"
        assert "𝔸" in letters


async def test_the_context_arrives(peer: str) -> None:
    attempt, _ = await asked(peer, TEXT, parameters="text+context")
    assert attempt.outcome is Outcome.OK
    assert evidence(attempt)[0].endswith(" a0")


async def test_one_client_asks_again_and_again(peer: str) -> None:
    async with article_caller(*(f"article {number}" for number in range(20))) as caller:
        ends = [await caller.call(server(peer), position, 1) for position in range(20)]
    assert {attempt.outcome for attempt, _ in ends} == {Outcome.OK}


async def test_a_fault_is_a_fault(peer: str) -> None:
    attempt, answer = await asked(peer, "fault, please")
    assert (attempt.outcome, attempt.message) == (Outcome.FAULT, "42: no model for Ä & <b>")
    assert answer is None


async def test_a_failure_of_its_code_does_not_pass_for_an_answer(peer: str) -> None:
    attempt, _ = await asked(peer, "crash, please")
    assert attempt.outcome in (Outcome.FAULT, Outcome.HTTP)


async def test_a_server_that_is_there_is_found(peer: str) -> None:
    async with article_caller() as caller:
        assert await caller.probe(server(peer)) is None


@pytest.mark.slow
async def test_perl_sends_a_length_and_chunks_above_a_mebibyte(tmp_path: Path) -> None:
    with running(perl, tmp_path) as url:
        async with article_caller("large " + LINE * 40_000, "small") as caller:
            large, answer = await caller.call(server(url), 0, 1)
            small, _ = await caller.call(server(url), 1, 1)
    assert (large.outcome, small.outcome) == (Outcome.OK, Outcome.OK), large.message
    assert answer is not None
    assert answer.payloads == PAYLOADS
    assert large.bytes_in > 2_000_000
    assert large.bytes_out > 2 * 2**20
    assert evidence(large)[0].endswith("." * 2_000_000)


@pytest.mark.nightly
async def test_a_careless_server_of_php_is_read(tmp_path: Path) -> None:
    with running(careless, tmp_path) as url:
        async with article_caller(TEXT, "nothing") as caller:
            attempt, answer = await caller.call(server(url), 0, 1)
            nothing, _ = await caller.call(server(url), 1, 1)
    assert attempt.outcome is Outcome.OK, attempt.message
    assert answer is not None
    assert answer.payloads == {"INT": [["P04637", 1, 0.5]]}
    assert [str(problem) for problem in attempt.problems] == [
        "made: '00000000T00:00:00' is no dateTime.iso8601",
        "made: '00000000T00:00:00' is no dateTime.iso8601",
        "made: a second member of this name; the last one counts",
    ]
    assert evidence(attempt) == ["Ångström"]
    assert (nothing.outcome, nothing.message) == (Outcome.OK, "")


@pytest.mark.nightly
@pytest.mark.parametrize("text", TEXTS.values(), ids=[f"tcl-{name}" for name in TEXTS])
async def test_an_article_in_ascii_arrives_whole(tmp_path: Path, text: str) -> None:
    with running(tcl, tmp_path) as url:
        attempt, answer = await asked(url, text, encoding="ascii")
        fault, _ = await asked(url, "fault, please", encoding="ascii")
    assert (attempt.outcome, attempt.message) == (Outcome.OK, "")
    assert answer is not None
    assert answer.payloads == PAYLOADS
    counted, letters = evidence(attempt)
    assert counted == f"{len(text)} {zlib.crc32(text.encode()):08x}"
    assert letters == 'Ångström 中 <&> "'
    assert fault.outcome is Outcome.CONNECT  # it is a byte shorter than its Content-Length


@pytest.mark.nightly
async def test_tcl_passes_the_hubs_test_in_ascii_which_it_proposes(tmp_path: Path) -> None:
    with running(tcl, tmp_path) as url:
        utf8 = await conformance_of(server(url), time_limit=2.0)
        ascii_run = await conformance_of(server(url, encoding="ascii"))
    (letters,) = (step for step in utf8.steps if step.name == "non-ASCII article")
    assert letters.message.endswith(
        "the same text in ASCII was answered: register the server with encoding = ascii"
    )
    assert ascii_run.passed, ascii_run.reasons()


@pytest.mark.slow  # Perl's server holds an idle connection for 10 s before it takes the next
async def test_it_passes_the_hubs_test_and_the_teams(peer: str) -> None:
    run = await agreed(peer)
    assert run.passed, run.reasons()
    assert [step.name for step in run.steps if step.state == "skipped"] == ["resolve", "TLS"]
