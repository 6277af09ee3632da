"""What an answer says beside what is scored."""

from typing import Any

from metaserver.base.records import TaskName
from metaserver.base.states import Outcome
from metaserver.exchange.wire.validation import check
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.uniprot.vocabulary import FormatVocabulary

PARTS = [ACT, INT, IPT]


def hit(accession: str, rank: int, **more: Any) -> dict[str, Any]:
    return {"dbid": accession, "rank": rank, "confidence": 0.5, **more}


def test_asides_stand_in_the_order_of_the_hits() -> None:
    value = {
        "normalizations": [
            hit("P04637", 3, evidence="third", taxid=9606), hit("P00533", 1, taxid="human"),
            hit("P32917", 1, evidence="dropped: a rank again"), hit("Q9Y6K9", 2, evidence=7),
            hit("P02340", 4, taxid=2**31 - 1), hit("P10361", 5, taxid=2**31),
        ],
        "pairs": [
            {"dbid_a": "P32917", "dbid_b": "P04637", "confidence": 1.0, "evidence": "e" * 9_000}
        ],
    }  # fmt: skip
    answer = check(value, PARTS, FormatVocabulary())
    assert answer.outcome is Outcome.PARTIAL
    hits = answer.payloads[TaskName("INT")]
    assert [name for name, _, _ in hits] == ["P00533", "Q9Y6K9", "P04637", "P02340", "P10361"]
    assert answer.asides.hits[TaskName("INT")] == [
        ("", None), ("", None), ("third", 9606), ("", 2**31 - 1), ("", None),
    ]  # fmt: skip
    assert answer.asides.hits[TaskName("IPT")] == [("e" * 2_000, None)]


def test_an_answer_that_says_nothing_else_or_failed_has_none() -> None:
    for value in (
        None, [], {}, {"interaction": [True, 0.5]}, {"normalizations": [hit("P04637", 1)]},
        {"normalizations": [hit("nothing", 1, evidence="e")]},
        {"normalizations": [hit("P04637", 1, evidence="e")], "pairs": 3},
        {"normalizations": [hit("P04637", 1, evidence="", taxid=-1)]},
    ):  # fmt: skip
        assert check(value, PARTS, FormatVocabulary()).asides is None


def test_mentions_that_no_task_reads_are_kept() -> None:
    value = {
        "mentions": [
            {"offset": "12", "mention": "EGFR", "type": "GENE", "dbid": "P00533"},
            {"offset": 3.0, "mention": 53},
            {"offset": -1.5, "mention": "no place"},
            {"mention": "no place"},
        ]
    }
    answer = check(value, PARTS, FormatVocabulary())
    assert answer.asides.mentions == ((12, "EGFR", "GENE", "P00533"), (3, "53", "", ""))
