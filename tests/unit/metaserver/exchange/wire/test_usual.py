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
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import Limits
from metaserver.exchange.wire.xmlrpc import decode_response, encode_response
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot.verdicts import Ruling

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


DOUBLES = {
    "0.5": 0.5, ".5": 0.5, "+.5": 0.5, "1": 1.0, "1.": 1.0, "1e-05": 1e-5, "1.0e-05": 1e-5,
    "1E-5": 1e-5, "5e-324": 5e-324, "0.9000000000000000222": 0.9, "0.1e+01": 1.0,
    "0.9999999999999999999": 1.0, "0.900000": 0.9,
}  # fmt: skip
PAIR = {"dbid_a": "P1", "dbid_b": "P2", "rank": 1, "confidence": 0.5}
EMPTY = answer(normalizations=[], interaction=[])
WORDS = "<int>1</int></value></member><member><name>evidence</name><value>"
USUAL = [
    *((with_value(f"<double>{text}</double>"), {"INT": [["P1", 1, number]]}, "")
      for text, number in DOUBLES.items()),
    *((with_value(f"<{tag}>1</{tag}>"), {"INT": [["P1", 1, 1.0]]},
       "normalizations[0].confidence: int 1 read as double 1.0") for tag in ("int", "i4")),
    *((with_value(f"<i4>{rank}</i4>", member="rank"), {"INT": [["P1", int(rank), 1.0]]}, "")
      for rank in ("1", "+1", "007", "2147483648", "9" * 18)),
    *((with_value(value, member="dbid"), {"INT": [["P1", 1, 1.0]]}, "")
      for value in ("P1", "<string>P1</string>", "\r\n <string>P1</string>\t")),
    *((with_value(WORDS + words, member="rank"), {"INT": [["P1", 1, 1.0]]}, "")
      for words in ("Ste5 binds Ste7.", "a &lt;b&gt; &#38; &apos;", "β-catenin 𝔸", "a = 'b'\r\n",
                    "", " ")),
    (answer(pairs=[{"dbid_b": "P1", "rank": 3, "confidence": 0.25, "dbid_a": "P2"},
                   {"confidence": 0.5, "dbid_a": "P3", "dbid_b": "P3", "rank": 2}]),
     {"IPT": [["P3", "P3", 2, 0.5], ["P1", "P2", 3, 0.25]]}, ""),
    (hits(*({"dbid": f"P{i}", "confidence": one} for i, one in enumerate([0.25, 0.5, 0.25]))),
     {"INT": [["P1", 1, 0.5], ["P0", 2, 0.25], ["P2", 3, 0.25]]}, ""),
    (hits(HIT, HIT | {"dbid": "P2"}), {"INT": [["P1", 1, 0.5]]},
     "1 of 2 hits dropped; normalizations[1].rank: rank 1 again, after normalizations[0]"),
    (answer(pairs=[PAIR, PAIR | {"dbid_a": "P2", "dbid_b": "P1", "rank": 2}]),
     {"IPT": [["P1", "P2", 1, 0.5]]},
     "1 of 2 hits dropped; pairs[1]: P1 and P2 again, after pairs[0]"),
    (answer(interaction=[False, 1]), {"ACT": [False, 1.0]},
     "interaction[1]: int 1 read as double 1.0"),
    *((EMPTY.replace("<data>\n</data>", data), {"ACT": [], "INT": []}, "")
      for data in ("<data/>", "<data></data>", "<data>\n</data>")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "payloads", "message"), USUAL, ids=range(len(USUAL)))
def test_a_usual_answer_is_read_as_the_decoder_does(body, payloads, message):
    found = taken(body)
    assert (found.payloads, found.message) == (payloads, message)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"confidence": 0.0}, ".confidence: expected a confidence above 0 and up to 1, got 0.0"),
        ({"confidence": -0.0}, ".confidence: expected a confidence above 0 and up to 1, got -0.0"),
        (
            {"confidence": 1 + 2**-52},
            ".confidence: expected a confidence above 0 and up to 1, got 1.0000000000000002",
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


def test_an_answer_without_a_valid_hit_is_usual() -> None:
    found = taken(answer(interaction=[True, 0.0], normalizations=[HIT | {"rank": 0}]))
    assert (found.outcome, found.payloads) == (Outcome.NO_VALID_HIT, {})


def twice(body: str, begin: str) -> str:
    """Return a body with a member sent twice; without that it is usual."""
    assert taken(body) is not None
    start = body.index(begin)
    end = body.index("</member>", start) + len("</member>")
    return body[:end] + body[start:end] + body[end:]


CLASS = answer(interaction=[True, 0.5])
QUOTED = hits(HIT | {"evidence": "WORDS"})
DECLINED = [
    *(with_value(f"<double>{text}</double>") for text in (
        "1e400", "1e308", "1" * 400, "NaN", "inf", "1e", ".",
        "", " 0.5", "1_0", "0,5", "\u0660.5", "&#49;", "1<!-- -->",
    )),
    *map(with_value, (
        "<int>0</int>", "<int>2</int>", "<int>1</i4>", "<i8>1</i8>", "<string>0.5</string>", "0.5",
        "<boolean>1</boolean>", "<nil/>", "<double>0.5</double><double>0.5</double>",
    )),
    *(with_value(f"<int>{text}</int>", member="rank")
      for text in (" 1", "1.0", "1" * 19, "", "--1", "1_0")),
    *(with_value(value, member="rank") for value in (
        "<int>1</i4>", "<i4>1</int>", "<double>1.0</double>", "<string>1</string>", "1", "<nil/>",
    )),
    *(with_value(f"<string>{text}</string>", member="dbid") for text in (
        "P1\n", "\tP1", "", "&#80;1", "P1]]>", "Р", "P1<!-- -->", "<![CDATA[P1]]>",
    )),
    *(with_value(value, member="dbid") for value in (
        " <string>P1</string>x", "<string>P1", "P1</string>", "\nP1", "<int>1</int>", "",
    )),
    *(answer(normalizations=sent) for sent in (
        [HIT, {"dbid": "P2", "confidence": 0.5}], [{"rank": 1, "confidence": 0.5}],
        [{"dbid": "P1", "rank": 1}], [HIT | {"extra": "x"}], [HIT | {"taxid": "9606"}],
        [{}], [[]], ["P1"],
    )),
    *(twice(QUOTED, f"<member>\n<name>{name}<")
      for name in ("dbid", "rank", "confidence", "evidence")),
    twice(CLASS, "<member>"),
    *(QUOTED.replace("WORDS", words) for words in (
        "]]>", "&e;", "&#0;", "\x0b", "\ufffe", "<b>x</b>", "<![CDATA[x]]>", "<!-- x -->",
    )),
    *(answer(normalizations=[HIT], **members) for members in (
        {"interaction": [True, 0.5, 0.5]}, {"interaction": [1, 0.5]}, {"interaction": True},
        {"mentions": []}, {"extra": "x"}, {"extra": [True, 0.5]},
    )),
    answer(mentions=[{"offset": 0, "mention": "Ste5", "type": "protein"}]),  # a task of no pattern
]  # fmt: skip


@pytest.mark.parametrize("body", DECLINED, ids=range(len(DECLINED)))
def test_any_other_answer_is_declined(body: str) -> None:
    assert usual_answer(body.encode(), TASKS, Primary(), Limits()) is None


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


def test_a_member_of_a_task_that_is_not_asked_for_is_declined() -> None:
    tasks = [answered_tasks()[TaskName("INT")]]
    assert taken(hits(HIT), tasks) is not None
    assert taken(answer(normalizations=[HIT], interaction=[True, 0.5]), tasks) is None


def test_a_body_near_a_limit_is_declined() -> None:
    body = hits(HIT)
    assert taken(body, limits=Limits(values=len(body), depth=3)) is not None
    assert taken(body, limits=Limits(values=len(body) - 1)) is None
    assert taken(body, limits=Limits(depth=2)) is None


def test_notes_beyond_the_first_hundred_are_counted() -> None:
    found = taken(hits(*({"dbid": f"P{i}", "confidence": 1} for i in range(120))))
    assert (len(found.problems), found.problem_count) == (100, 120)
