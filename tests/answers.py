"""Answers that tests of the lanes hand on."""

from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import ArticleId, Attempt, Server
from metaserver.model.states import ANSWERED, Outcome

NO_HITS = CheckedAnswer(
    outcome=Outcome.OK,
    message="",
    payloads={},
    problems=(),
    problem_count=0,
    hits_kept=0,
    hits_dropped=0,
)


def ended(
    server: Server, position: int, number: int, outcome: Outcome
) -> tuple[Attempt, CheckedAnswer | None]:
    """Return an attempt that ended so, and its answer if it is one."""
    attempt = Attempt(
        server=server.name,
        article=ArticleId(str(position)),
        number=number,
        started_at=0.0,
        outcome=outcome,
    )
    return attempt, NO_HITS if outcome in ANSWERED else None
