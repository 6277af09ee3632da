"""What the hub's own test says of a server, and what a team's says, step by step."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from annotators.check import check
from metaserver.base.conformance import Conformance, ConformanceStep, StepState
from metaserver.exchange.wire.validation import Vocabulary
from tests.integration.callers import SECONDS, VOCABULARY, conformance_of, server

STEPS = {
    "a short article": "short article",
    "a long article (300 KB)": "long article (300 KB)",
    "an article in many scripts": "non-ASCII article",
    "an article beyond 16 bits": "astral article",
    "an empty article": "empty article",
    "an article with control characters": "control characters",
    "two articles at once": "two at once",
    "the server's state": "state",
}
"""The steps of a team's test that the hub's has too, with their names there."""
STEP = re.compile(r"(wrong|warn|ok) +[\d.]+ s  (.+?)(  \(.*)?")
FIELD = re.compile(r" +([\w.\[\]]+): .*")


class Verdict(NamedTuple):
    """What a test says of a step: `ok`, `warn` or `wrong`, and which fields it names."""

    kind: str
    fields: frozenset[str]


async def agreed(
    url: str, *, vocabulary: Vocabulary = VOCABULARY, limit: float = SECONDS
) -> Conformance:
    """Test a server with both tests, which must agree; return the hub's run.

    The team's names each field that the hub's does, and may warn of more: a member that no hub
    reads may be a slip of the pen.
    """
    lines: list[str] = []
    run = await conformance_of(server(url), vocabulary=vocabulary, time_limit=limit)
    assert await check(url, limit=limit, show=lines.append) is run.passed, (lines, run.reasons())
    hub = {step.name: step for step in run.steps}
    for name, verdict in _of_team(lines).items():
        step = hub.get(STEPS.get(name, ""))
        if step is None or step.state is StepState.SKIPPED:
            continue
        kind, fields = _of_hub(step)
        assert verdict.kind in ({"ok", "warn"} if kind == "ok" else {kind}), (step, verdict)
        assert fields <= verdict.fields, (step, verdict)
    return run


def _of_hub(step: ConformanceStep) -> Verdict:
    noted = "warn" if step.problems else "ok"
    kinds = {StepState.FAILED: "wrong", StepState.WARNING: "warn"}
    fields = frozenset(one.path for one in step.problems if one.path)  # none is the answer itself
    return Verdict(kinds.get(step.state, noted), fields)


def _of_team(lines: Sequence[str]) -> Mapping[str, Verdict]:
    found: dict[str, Verdict] = {}
    for line in lines:
        if begun := STEP.fullmatch(line):
            name = begun[2]
            found[name] = Verdict(begun[1], frozenset())
        elif named := FIELD.fullmatch(line):
            found[name] = found[name]._replace(fields=found[name].fields | {named[1]})
    assert set(STEPS) <= set(found)
    return found
