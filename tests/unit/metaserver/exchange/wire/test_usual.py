"""Answers that are read by patterns, and answers that are left to the decoder.

`usual/*.xml` are the answers of the foreign servers in `tests/conformance/peers`, as they were
sent; in that of Node a CDATA section was replaced.
"""

import xmlrpc.client
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotators.protocol import encode_answer
from metaserver.base.records import TaskName
from metaserver.base.states import Outcome
from metaserver.exchange.wire.usual import usual_answer
from metaserver.exchange.wire.validation import Ruling, check
from metaserver.exchange.wire.xmlrpc import Limits, decode_response, encode_response
from metaserver.tasks.plugin import answered_tasks

FOREIGN = {path.stem: path for path in sorted(Path(__file__).parent.glob("usual/*.xml"))}
TASKS = list(answered_tasks().values())
INT_READ = "normalizations[1].confidence: int 1 read as double 1.0"


class Primary:
    """A vocabulary without those that begin with an X."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        return {i: Ruling(None, "unknown") for i, name in enumerate(accessions) if name[0] == "X"}


def taken(body, tasks=TASKS, limits=None):
    """Return what the patterns make of a body, which is what decoder and check make of it."""
    body = body.encode() if isinstance(body, str) else body
    found = usual_answer(body, tasks, Primary(), limits or Limits())
    if found is not None:
        assert repr(found) == repr(check(decode_response(body), tasks, Primary()))
    return found


def answer(**members: Any) -> str:
    return xmlrpc.client.dumps((members,), methodresponse=True)


def hits(*hits: Mapping[str, Any]) -> str:
    return answer(normalizations=list(hits))


def with_value(value: str, *, member: str = "confidence") -> str:
    """Return an answer with one hit that has `value` as the <value> of one member."""
    usual = {
        "dbid": "<string>P1</string>", "rank": "<int>1</int>", "confidence": "<double>1</double>",
    }  # fmt: skip
    members = "".join(
        f"<member><name>{name}</name><value>{inner}</value></member>"
        for name, inner in (usual | {member: value}).items()
    )
    hit = f"<value><struct>{members}</struct></value>"
    return answer(normalizations=[]).replace("<data>\n", f"<data>{hit}")


HIT = {"dbid": "P1", "rank": 1, "confidence": 0.5}


def test_every_language_is_there() -> None:
    assert list(FOREIGN) == ["c", "node", "perl", "php", "python", "ruby"]


@pytest.mark.parametrize("path", FOREIGN.values(), ids=FOREIGN)
def test_the_answers_of_foreign_libraries_are_usual(path: Path) -> None:
    found = taken(path.read_bytes())
    assert found.payloads == {
        "ACT": [True, 0.75],
        "INT": [["P04637", 1, 0.9], ["P38398", 2, 1.0]],
        "IPT": [["P04637", "P38398", 1, 1e-05]],
    }
    assert (found.outcome, found.message, found.hits_kept) == (Outcome.OK, INT_READ, 4)


@pytest.mark.parametrize("encode", [encode_answer, encode_response], ids=["kit", "hub"])
def test_the_answers_of_the_kit_and_the_hub_are_usual(encode: Any) -> None:
    sent = {"normalizations": [HIT, HIT | {"dbid": "P2", "rank": 2}], "interaction": [False, 0.25]}
    found = taken(encode(sent))
    assert found.payloads == {"ACT": [False, 0.25], "INT": [["P1", 1, 0.5], ["P2", 2, 0.5]]}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        (".5", 0.5),
        ("+.5", 0.5),
        ("1", 1.0),
        ("1.", 1.0),
        ("1e-05", 1e-5),
        ("1.0e-05", 1e-5),
        ("1E-5", 1e-5),
        ("5e-324", 5e-324),
        ("0.9000000000000000222", 0.9),
        ("0.1e+01", 1.0),
        ("0.9999999999999999999", 1.0),
        ("0.900000", 0.9),
    ],
)
def test_any_notation_of_a_double_is_usual(text: str, number: float) -> None:
    found = taken(with_value(f"<double>{text}</double>"))
    assert found.payloads == {"INT": [["P1", 1, number]]}


@pytest.mark.parametrize("tag", ["int", "i4"])
def test_one_as_an_int_is_usual_and_noted(tag: str) -> None:
    found = taken(with_value(f"<{tag}>1</{tag}>"))
    assert found.payloads == {"INT": [["P1", 1, 1.0]]}
    assert found.message == "normalizations[0].confidence: int 1 read as double 1.0"


@pytest.mark.parametrize(
    "value",
    [
        *(f"<double>{text}</double>" for text in (
            "1e400", "1e308", "1" * 400, "NaN", "inf", "1e", ".",
            "", " 0.5", "1_0", "0,5", "\u0660.5", "&#49;", "1<!-- -->",
        )),
        "<int>0</int>", "<int>2</int>", "<int>1</i4>", "<i8>1</i8>", "<string>0.5</string>", "0.5",
        "<boolean>1</boolean>", "<nil/>", "<double>0.5</double><double>0.5</double>",
    ],
)  # fmt: skip
def test_any_other_confidence_is_declined(value: str) -> None:
    assert taken(with_value(value)) is None


@pytest.mark.parametrize(
    "value",
    [
        *(f"<int>{text}</int>" for text in (" 1", "1.0", "1" * 19, "", "--1", "1_0")),
        "<int>1</i4>", "<i4>1</int>", "<double>1.0</double>", "<string>1</string>", "1", "<nil/>",
    ],
)  # fmt: skip
def test_any_other_rank_is_declined(value: str) -> None:
    assert taken(with_value(value, member="rank")) is None


@pytest.mark.parametrize("rank", ["1", "+1", "007", "2147483648", "9" * 18])
def test_any_number_of_digits_is_a_rank(rank: str) -> None:
    found = taken(with_value(f"<i4>{rank}</i4>", member="rank"))
    assert found.payloads == {"INT": [["P1", int(rank), 1.0]]}


@pytest.mark.parametrize(
    "value",
    [
        *(f"<string>{text}</string>" for text in (
            "P1\n", "\tP1", "", "&#80;1", "P1]]>", "Р", "P1<!-- -->", "<![CDATA[P1]]>",
        )),
        " <string>P1</string>x", "<string>P1", "P1</string>", "\nP1", "<int>1</int>", "",
    ],
)  # fmt: skip
def test_any_other_accession_is_declined(value: str) -> None:
    body = with_value(value, member="dbid").encode()
    assert usual_answer(body, TASKS, Primary(), Limits()) is None


@pytest.mark.parametrize("value", ["P1", "<string>P1</string>", "\r\n <string>P1</string>\t"])
def test_an_accession_has_a_type_or_none(value: str) -> None:
    assert taken(with_value(value, member="dbid")) is not None


def test_hits_come_by_rank_and_pairs_in_order() -> None:
    pairs = [
        {"dbid_b": "P1", "rank": 3, "confidence": 0.25, "dbid_a": "P2"},
        {"confidence": 0.5, "dbid_a": "P3", "dbid_b": "P3", "rank": 2},
    ]
    found = taken(answer(pairs=pairs))
    assert found.payloads == {"IPT": [["P3", "P3", 2, 0.5], ["P1", "P2", 3, 0.25]]}


def test_without_ranks_confidence_and_then_the_order_is_the_rank() -> None:
    sent = [{"dbid": f"P{i}", "confidence": value} for i, value in enumerate([0.25, 0.5, 0.25])]
    found = taken(hits(*sent))
    assert found.payloads == {"INT": [["P1", 1, 0.5], ["P0", 2, 0.25], ["P2", 3, 0.25]]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"confidence": 0.0}, ".confidence: expected ]0, 1], got 0.0"),
        ({"confidence": -0.0}, ".confidence: expected ]0, 1], got -0.0"),
        (
            {"confidence": 1.0000000000000002},
            ".confidence: expected ]0, 1], got 1.0000000000000002",
        ),
        ({"rank": 0}, ".rank: expected 1 or more, got 0"),
        ({"rank": -7}, ".rank: expected 1 or more, got -7"),
        ({"dbid": "X1"}, ".dbid: unknown"),
        ({"dbid": "X1-2 (a.b)"}, ".dbid: unknown"),
        ({"dbid": "P2"}, ": P2 again, after normalizations[1]"),
    ],
    ids=repr,
)
def test_a_hit_that_is_dropped_is_usual(value: Mapping[str, Any], problem: str) -> None:
    good = {"dbid": "P2", "rank": 2, "confidence": 0.25}
    found = taken(hits(HIT | {"rank": 3} | value, good, HIT | {"dbid": "P3", "confidence": 1}))
    assert found.outcome is Outcome.PARTIAL
    assert found.message == f"1 of 3 hits dropped; normalizations[0]{problem} (and 1 more)"
    assert found.payloads == {"INT": [["P3", 1, 1.0], ["P2", 2, 0.25]]}


def test_a_rank_sent_twice_is_usual() -> None:
    found = taken(hits(HIT, HIT | {"dbid": "P2"}))
    assert found.message == (
        "1 of 2 hits dropped; normalizations[1].rank: rank 1 again, after normalizations[0]"
    )


def test_an_answer_without_a_valid_hit_is_usual() -> None:
    found = taken(answer(interaction=[True, 0.0], normalizations=[HIT | {"rank": 0}]))
    assert (found.outcome, found.payloads) == (Outcome.NO_VALID_HIT, {})


def test_a_pair_sent_both_ways_is_usual() -> None:
    pair = {"dbid_a": "P1", "dbid_b": "P2", "rank": 1, "confidence": 0.5}
    found = taken(answer(pairs=[pair, pair | {"dbid_a": "P2", "dbid_b": "P1", "rank": 2}]))
    assert found.payloads == {"IPT": [["P1", "P2", 1, 0.5]]}


@pytest.mark.parametrize(
    "sent",
    [
        [HIT, {"dbid": "P2", "confidence": 0.5}],
        [{"rank": 1, "confidence": 0.5}],
        [{"dbid": "P1", "rank": 1}],
        [HIT | {"extra": "x"}],
        [HIT | {"taxid": "9606"}],
        [{}],
        [[]],
        ["P1"],
    ],
    ids=repr,
)
def test_hits_of_another_form_are_declined(sent: Sequence[Any]) -> None:
    assert taken(answer(normalizations=sent)) is None


@pytest.mark.parametrize("name", ["dbid", "rank", "confidence", "evidence"])
def test_a_member_sent_twice_is_declined(name: str) -> None:
    body = hits(HIT | {"evidence": "x"})
    start = body.index(f"<member>\n<name>{name}<")
    end = body.index("</member>", start) + len("</member>")
    assert taken(body) is not None
    assert taken(body[:end] + body[start:end] + body[end:]) is None


def test_a_task_sent_twice_is_declined() -> None:
    body = answer(interaction=[True, 0.5])
    start, end = body.index("<member>"), body.rindex("</member>") + len("</member>")
    assert taken(body) is not None
    assert taken(body[:end] + body[start:end] + body[end:]) is None


@pytest.mark.parametrize(
    "words", ["Ste5 binds Ste7.", "a &lt;b&gt; &#38; &apos;", "β-catenin 𝔸", "a = 'b'\r\n", "", " "]
)
def test_words_that_nobody_keeps_are_usual(words: str) -> None:
    assert taken(with_value(f"<int>1</int></value></member><member><name>evidence</name>"
                            f"<value>{words}", member="rank")) is not None  # fmt: skip


@pytest.mark.parametrize(
    "words", ["]]>", "&e;", "&#0;", "\x0b", "\ufffe", "<b>x</b>", "<![CDATA[x]]>", "<!-- x -->"]
)
def test_words_that_are_more_than_words_are_declined(words: str) -> None:
    body = hits(HIT | {"evidence": "WORDS"}).replace("WORDS", words).encode()
    assert usual_answer(body, TASKS, Primary(), Limits()) is None


@pytest.mark.parametrize(
    ("declaration", "usual"),
    [
        ("", True),
        ("<?xml version='1.0'?>", True),
        ('<?xml version="1.0" ?>\r\n', True),
        ('<?xml version="1.0" encoding="us-ascii"?>', True),
        ("<?xml version='1.0' encoding='ISO-8859-1' ?>", True),
        ("<?xml version='1.1'?>", False),
        ("<?xml version='1.0' standalone='yes'?>", False),
        ("<?xml version='1.0' encoding='windows-1252'?>", False),
        ("<!DOCTYPE methodResponse>", False),
        ("\n", False),
        ("\ufeff", False),
    ],
)
def test_a_declaration_is_of_a_known_form(declaration: str, usual: bool) -> None:
    body = declaration + hits(HIT).partition("?>\n")[2]
    assert bool(taken(body)) is usual


@pytest.mark.parametrize(("declared", "usual"), [("UTF-8", True), ("ISO-8859-1", False)])
def test_letters_are_those_of_utf_8(declared: str, usual: bool) -> None:
    body = f"<?xml version='1.0' encoding='{declared}'?>" + hits(HIT | {"evidence": "é"})[22:]
    assert bool(taken(body)) is usual
    assert taken(body.encode("iso-8859-1")) is None


@pytest.mark.parametrize(
    ("behind", "usual"),
    [("\n", True), ("\r\n\0", True), (" \0\n", True), ("x", False), ("<!-- -->", False)],
)
def test_space_and_nul_bytes_may_follow(behind: str, usual: bool) -> None:
    body = (hits(HIT) + behind).encode()
    assert bool(usual_answer(body, TASKS, Primary(), Limits())) is usual
    assert usual is False or taken(body) is not None


def test_a_part_of_an_answer_is_declined() -> None:
    body = hits(HIT).rstrip().encode()
    cut = [usual_answer(body[:end], TASKS, Primary(), Limits()) for end in range(len(body))]
    assert not any(cut)
    assert taken(body) is not None


@pytest.mark.parametrize(
    "members",
    [
        {"interaction": [True, 0.5, 0.5]},
        {"interaction": [1, 0.5]},
        {"interaction": True},
        {"mentions": []},
        {"extra": "x"},
        {"extra": [True, 0.5]},
    ],
    ids=repr,
)
def test_other_members_are_declined(members: Mapping[str, Any]) -> None:
    assert taken(answer(normalizations=[HIT], **members)) is None


def test_one_as_an_int_in_a_classification_is_noted() -> None:
    found = taken(answer(interaction=[False, 1]))
    assert found.payloads == {"ACT": [False, 1.0]}
    assert found.message == "interaction[1]: int 1 read as double 1.0"


@pytest.mark.parametrize("data", ["<data/>", "<data></data>", "<data>\n</data>"])
def test_nothing_found_is_usual(data: str) -> None:
    body = answer(normalizations=[], interaction=[]).replace("<data>\n</data>", data)
    found = taken(body)
    assert found.payloads == {"ACT": [], "INT": []}


def test_a_member_of_a_task_that_is_not_asked_for_is_declined() -> None:
    tasks = [answered_tasks()[TaskName("INT")]]
    assert taken(hits(HIT), tasks) is not None
    assert taken(answer(normalizations=[HIT], interaction=[True, 0.5]), tasks) is None


def test_a_task_without_a_pattern_is_declined() -> None:
    mention = {"offset": 0, "mention": "Ste5", "type": "protein"}
    assert taken(answer(mentions=[mention])) is None


def test_a_body_near_a_limit_is_declined() -> None:
    body = hits(HIT)
    assert taken(body, limits=Limits(values=len(body), depth=3)) is not None
    assert taken(body, limits=Limits(values=len(body) - 1)) is None
    assert taken(body, limits=Limits(depth=2)) is None


def test_notes_beyond_the_first_hundred_are_counted() -> None:
    found = taken(hits(*({"dbid": f"P{i}", "confidence": 1} for i in range(120))))
    assert (len(found.problems), found.problem_count) == (100, 120)
