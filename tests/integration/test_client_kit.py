"""The hub against the team's kit: two codecs that know nothing of each other."""

from __future__ import annotations

from typing import Any

import pytest

from annotators.faults import FAULTS, FaultyAnswer
from annotators.server import Kit
from annotators.test_servers import FaultyKit, Turns
from metaserver.client.http import HttpLimits
from metaserver.files.compression import unpack
from metaserver.model.states import ANSWERED
from metaserver.wire.xmlrpc import Limits, decode_response
from tests.integration.callers import SECONDS, article_caller, server
from tests.integration.kits import served
from tests.integration.peers import ANSWER, PAYLOADS


def echo(text: str, context: Any) -> Any:
    hits = [ANSWER["normalizations"][0] | {"evidence": f"{context.get('article_id')}: {text}"}]
    return ANSWER | {"normalizations": hits}


async def test_text_and_context_arrive_and_the_answer_comes_back() -> None:
    text = "  <TP53> & Ångström\n\n 𝔸 ]]> \t"
    async with served(Kit(echo)) as url, article_caller(text) as caller:
        attempt, answer = await caller.call(server(url, parameters="text+context"), 0, 1)
        assert await caller.probe(server(url)) is None
    assert answer is not None
    assert answer.payloads["ACT"] == PAYLOADS["ACT"]
    sent: Any = decode_response(unpack(attempt.raw))
    assert sent["normalizations"][0]["evidence"] == f"a0: {text}"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_the_faulty_server_gets_the_outcomes_it_is_made_for(fault: FaultyAnswer) -> None:
    kit = FaultyKit(lambda text, context: ANSWER)
    kit._turns = Turns((fault,))
    limits = HttpLimits(answer=Limits(bytes=2_000_000))
    time_limit = 0.3 if fault.outcome == "timeout" else SECONDS
    async with served(kit) as url, article_caller(time_limit=time_limit, limits=limits) as caller:
        attempt, answer = await caller.call(server(url), 0, 1)
    assert attempt.outcome == fault.outcome
    assert (answer is not None) is (attempt.outcome in ANSWERED)
