"""Answers that tests of the lanes hand on."""

from metaserver.lifecycle import Outcome
from metaserver.wire.validation import CheckedAnswer

NO_HITS = CheckedAnswer(
    outcome=Outcome.OK,
    message="",
    payloads={},
    problems=(),
    problem_count=0,
    hits_kept=0,
    hits_dropped=0,
)
