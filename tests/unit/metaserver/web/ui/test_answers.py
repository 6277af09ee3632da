"""An answer with its places: every problem leads to one, whatever the answer is made of."""

import re
from urllib.parse import unquote

from metaserver.base.records import Problem
from metaserver.exchange.wire.xmlrpc import encode_fault, encode_response
from metaserver.web.ui.answers import SHOWN_LINES, SHOWN_VALUES, read_answer, read_lines, tree

MARKUP = '<img src=x onerror="alert(1)">'


def hits(count):
    return [
        {"dbid": f"P{number:05}", "rank": number + 1, "confidence": 0.5} for number in range(count)
    ]


def places(shown):
    return re.findall(r'id="([^"]+)"', shown.html)


def problem(path, message="expected int, got string 'x'"):
    return Problem(path=path, message=message)


def test_a_problem_leads_to_its_value():
    value = {"interaction": [True, 2.0], "normalizations": hits(3)}
    shown = tree(value, [problem("normalizations[1].rank"), problem("interaction[1]")])
    assert [link.place for link in shown.links] == [
        "answer.normalizations[1].rank", "answer.interaction[1]",
    ]  # fmt: skip
    for link in shown.links:
        assert link.place in places(shown)
        assert unquote(link.href) == f"#{link.place}"
    item = shown.html.split('id="answer.normalizations[1].rank"')[1].split("</li>")[0]
    assert "expected int, got string &#39;x&#39;" in item
    assert '<span class="kind">int</span> <code>2</code>' in item


def test_what_is_missing_leads_to_what_it_is_missing_from():
    shown = tree(
        {"normalizations": hits(2)}, [problem("normalizations[1].taxid"), problem("pairs")]
    )
    assert [link.place for link in shown.links] == ["answer.normalizations[1]", "answer"]
    assert tree("text", [problem("")]).links[0].place == "answer"


def test_a_huge_answer_is_bounded_and_its_problems_are_shown():
    value = {"normalizations": hits(20_000), "pairs": [{"dbid_a": "P1"}], "interaction": [True, 1]}
    wrong = [problem(f"normalizations[{index}].rank") for index in (7, 19_998)]
    shown = tree(value, wrong)
    assert len(places(shown)) < SHOWN_VALUES + 20
    assert {link.place for link in shown.links} <= set(places(shown))
    assert "answer.pairs[0].dbid_a" in places(shown)
    assert re.search(r"… 19\d{3} more, not shown", shown.html)


def test_a_struct_of_many_members_is_bounded():
    shown = tree({f"member{number}": number for number in range(50_000)}, [])
    assert len(places(shown)) == SHOWN_VALUES + 1


def test_markup_is_text():
    shown = tree({MARKUP: MARKUP}, [problem(MARKUP, MARKUP)])
    assert "<img" not in shown.html
    assert shown.html.count("&lt;img") >= 3
    assert not re.search(r'id="[^"]*\s', shown.html)


def test_ids_are_given_once():
    shown = tree({"a.b": 1, "a": {"b": 2}}, [problem("a.b")])
    assert places(shown).count("answer.a.b") == 1


def test_long_texts_are_cut():
    shown = tree({"note": "x" * 5_000}, [])
    assert "3000 more characters" in shown.html


def test_an_answer_is_read_from_its_bytes():
    shown = read_answer(encode_response({"normalizations": hits(1)}), [])
    assert "answer.normalizations[0].dbid" in places(shown)
    fault = read_answer(encode_fault(17, "out of memory"), [])
    assert "answer.faultString" in places(fault)
    assert "out of memory" in fault.html
    assert read_answer(b"<html>", []) is None


def test_what_is_no_xml_is_shown_by_lines_with_the_error_marked():
    raw = b"<methodResponse>\n<params>\n<param></params>\n"
    message = "not well-formed XML: mismatched tag: line 3, column 9"
    shown = read_lines(raw, message)
    assert [line.number for line in shown.lines] == [1, 2, 3, 4]
    assert [line.at for line in shown.lines] == [None, None, 9, None]
    assert shown.lines[2].text[9:] == "params>"


def test_lines_are_cut_about_the_error():
    raw = "\n".join(f"{number:04} {'é' * 1_000}" for number in range(1, 2_001)).encode()
    shown = read_lines(raw, "line 1500, column 900")
    assert len(shown.lines) == SHOWN_LINES
    assert shown.total == 2_000
    marked = next(line for line in shown.lines if line.at is not None)
    assert marked.number == 1500
    assert marked.cut
    assert len(marked.text) <= 400
    assert read_lines(b"\xff\xfe no text", "line 9, column 5").lines[0].text
