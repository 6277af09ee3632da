"""A server's attempts and answers in a bundle: each fault with its file and line, in bounds."""

import msgspec
import pytest

from metaserver.base.plans import LimitSettings
from metaserver.base.records import ArticleId, TaskName
from metaserver.boards.frozen import ATTEMPT_HEAD
from metaserver.operations.bundle_files import BundledServer
from metaserver.operations.bundle_lanes import MOST_FAULTS, LaneDraft, LaneRules, read_lane
from metaserver.tasks.plugin import answered_tasks
from tests.fakes.vocabulary import FakeVocabulary

SERVER = BundledServer(server="blue-1", attempts="a.tsv", answers="a.jsonl")
RULES = LaneRules(
    ids=[ArticleId("one"), ArticleId("two")],
    parts=[answered_tasks()[TaskName("INT")]],
    vocabulary=FakeVocabulary.of("P04637"),
    limits=LimitSettings(answer_bytes=1_000, answer_values=100),
    now=2e9,
)
HIT = '{"dbid": "P04637", "rank": 1, "confidence": 0.5}'


def attempt(outcome: str = "ok", **cells: str) -> str:
    """Return an attempt's line."""
    usual = {
        "server": "blue-1", "article": "one", "attempt": "1", "outcome": outcome,
        "started_at": "2026-11-01T10:00:00.000+00:00", "total": "0.5", "bytes_out": "10",
        "bytes_in": "20", "problems": "0", "final": "1",
    }  # fmt: skip
    filled = usual | cells
    return "\t".join(filled.get(name, "") for name in ATTEMPT_HEAD.strip().split("\t")) + "\n"


def answer(hits: str = HIT, article: str = "one") -> str:
    """Return an answer's line."""
    return f'{{"article": "{article}", "answer": {{"normalizations": [{hits}]}}}}\n'


def read(attempts: str, answers: str, rules: LaneRules = RULES) -> LaneDraft:
    """Read a server's files."""
    return read_lane(SERVER, (ATTEMPT_HEAD + attempts).encode(), answers.encode(), rules)


FAILED = attempt("timeout", final="0")


@pytest.mark.parametrize(
    ("attempts", "answers", "said"),
    [
        (attempt(server="red-1"), answer(), "a.tsv:2: server: expected blue-1"),
        (attempt(article="three"), "", "a.tsv:2: article: none of the phase's"),
        (attempt(attempt="0"), "", "a.tsv:2: attempt: Expected `int` >= 1"),
        (attempt(outcome="fine"), "", "a.tsv:2: outcome: 'fine' is none of ok, partial"),
        (attempt(total="nan"), "", "a.tsv:2: total: Expected `float` >= 0.0"),
        (attempt(total=""), "", "a.tsv:2: total: missing"),
        (attempt(bytes_in="-1"), "", "a.tsv:2: bytes_in: Expected `int` >= 0"),
        (attempt(started_at="2026-11-01"), "", "a.tsv:2: started_at: Invalid RFC3339"),
        (attempt(started_at="2999-11-01T10:00:00Z"), "", "a.tsv:2: started_at: before 1970, or"),
        (attempt(declared_cost="1"), "", "a.tsv:2: declared_currency: expected with a cost"),
        (attempt(final="0"), "", "a.tsv:2: final: expected 1 for an answer"),
        (FAILED + FAILED, "", "a.tsv:3: attempt: an attempt of this number"),
        (attempt("dns") + attempt(attempt="2"), answer(), "a.tsv:3: final: an earlier attempt"),
        ("x\ty\n", "", "a.tsv:2: expected 22 columns, got 2"),
        ("x" * 20_000, "", "a.tsv:2: larger than 16 KiB"),
        (attempt(), "", "a.tsv:2: its answer is missing"),
        (FAILED, answer(), "a.jsonl:1: no attempt has brought it"),
        (attempt(), answer() * 2, "a.jsonl:2: article: has an answer already"),
        (FAILED, answer(article="three"), "a.jsonl:1: article: none of the phase's"),
        (attempt(), answer("{}"), "a.jsonl:1: answer: normalizations[0].dbid: missing"),
        (attempt(), answer(HIT.replace("0.5", "1.5")), "a.jsonl:1: answer: 1 of 1 hits dropped"),
        (attempt(), answer(HIT.replace("P04637", "Q99999")), "a.jsonl:1: answer: 1 of 1 hits"),
        (attempt(), answer(f"{HIT}, {HIT}"), "a.jsonl:1: answer: 1 of 2 hits dropped"),
        (attempt(), answer("[" * 50), "a.jsonl:1: not JSON"),
        (attempt(), answer("[],[]," * 60), "a.jsonl:1: larger than an answer may be"),
        (attempt(), answer("1" * 2_000), "a.jsonl:1: larger than an answer may be"),
        (
            attempt(),
            '{"article": "one", "answer": {"pairs": []}}',
            "a.jsonl:1: answer: 'pairs' is of no task of the phase",
        ),
        (attempt(), '{"article": "one", "text": 1}', "a.jsonl:1: text: unknown field"),
    ],
)
def test_every_fault_has_its_file_and_line(attempts: str, answers: str, said: str) -> None:
    assert str(read(attempts, answers).faults[0]).startswith(said)


def test_what_is_right_becomes_a_log() -> None:
    draft = read(FAILED + attempt(attempt="2") + attempt("dns", article="two"), answer())
    assert not draft.faults
    [rows] = draft.rows
    assert (len(rows.attempts), len(rows.answers), draft.cursor) == (3, 1, 2)


def test_deep_answers_and_many_faults_are_read_in_bounds() -> None:
    wide = msgspec.structs.replace(RULES.limits, answer_bytes=2**20, answer_values=2**20)
    rules = LaneRules(
        ids=RULES.ids, parts=RULES.parts, vocabulary=RULES.vocabulary, limits=wide, now=2e9
    )
    deep = f'{{"article": "one", "answer": {"[" * 50_000}{"]" * 50_000}}}'
    assert read(attempt(), deep, rules).faults
    assert len(read("x\n" * 1_000, "x\n" * 1_000).faults) == MOST_FAULTS
    assert "expected the columns" in str(read_lane(SERVER, b"\xff", b"", RULES).faults[0])
