"""The kit's faulty server: what it mixes and what heals; test_conformance.py has each fault."""

from dataclasses import replace

import pytest

from annotators.faults import FAULTS, FaultyAnswer
from annotators.test_servers import FaultyKit, Turns
from metaserver.base.states import ANSWERED, Outcome
from metaserver.uniprot.vocabulary import FormatVocabulary
from tests.integration.callers import SECONDS, article_caller, server
from tests.integration.kits import served
from tests.integration.peers import ANSWER
from tests.integration.verdicts import agreed

HEALING = [fault for fault in FAULTS if fault.heals_after]


def faulty(fault: FaultyAnswer) -> FaultyKit:
    kit = FaultyKit(lambda text, context: ANSWER)
    kit._turns = Turns((fault,))
    return kit


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_the_hubs_test_and_the_teams_agree_on_each_way(fault: FaultyAnswer) -> None:
    limit = 1.0 if fault.outcome == "timeout" else SECONDS
    async with served(faulty(replace(fault, heals_after=0))) as url:
        await agreed(url, vocabulary=FormatVocabulary(), limit=limit)


@pytest.mark.slow
@pytest.mark.parametrize("fault", HEALING, ids=lambda fault: fault.name)
async def test_some_ways_heal_when_asked_again(fault: FaultyAnswer) -> None:
    limit = 0.3 if fault.outcome == "timeout" else SECONDS
    async with served(faulty(fault)) as url:
        async with article_caller(time_limit=limit) as caller:
            for number in range(fault.heals_after):
                attempt, _ = await caller.call(server(url), 0, number + 1)
                assert attempt.outcome not in ANSWERED
        async with article_caller() as caller:
            attempt, _ = await caller.call(server(url), 0, fault.heals_after + 1)
    assert attempt.outcome is Outcome.OK


def test_every_outcome_that_a_server_can_cause_has_a_way() -> None:
    assert HEALING
    others = {Outcome.DNS, Outcome.TLS, Outcome.CREDENTIALS, Outcome.CANCELLED}
    assert {fault.outcome for fault in FAULTS} == {*Outcome} - others
