"""The mutants themselves: what is changed, and what is left."""

import ast

import pytest

from tests.mutants.edits import mutants
from tests.mutants.groups import GROUPS
from tests.mutants.judged import as_row, judged
from tests.mutants.sample import draw, of_group
from tests.shared import ROOT


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants("m.py", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {("a < b", "a <= b")}),
        ("x = a < b <= c", {("a < b <= c", "a <= b <= c"), ("a < b <= c", "a < b < c")}),
        ("x = a is not b", {("a is not b", "a is b")}),
        ("x = a + b * c", {("a + b * c", "a - b * c"), ("b * c", "b / c")}),
        ("x = a and b", {("a and b", "a or b")}),
        ("x = not a", {("not a", "a")}),
        ("x = -a", {("-a", "a")}),
        ("x = 3", {("3", "4")}),
        ("x = True", {("True", "False")}),
        ("x = 'a', b''", {("'a'", "''"), ("b''", "b'x'")}),
        ("x = a[i:3]", {("i", "i + 1"), ("3", "4")}),
        ("x = a if b else c", {("b", "not b")}),
        ("x = [a for a in b if c]", {("c", "not c")}),
        ("f(a)", {("f(a)", "pass")}),
        ("x.y = a", {("x.y = a", "pass")}),
        ("del x[y]", {("del x[y]", "pass")}),
        ("raise E('a')", {("raise E('a')", "pass")}),
        ("x += a", {("x += a", "pass"), ("x += a", "x -= a")}),
        ("while a:\n    break", {("a", "not a"), ("break", "continue")}),
        ("while True: ...", {("True", "False")}),
        ("async def f():\n    await g()", {("await g()", "pass")}),
        ("def f():\n    return a", {("return a", "return None")}),
        ("def f(a=1): ...", {("1", "2")}),
        ("with f(a == b): ...", {("a == b", "a != b")}),
        ("if a != b: ...", {("a != b", "a == b")}),
    ],
)
def test_each_kind_of_fault(source: str, expected: set[tuple[str, str]]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""',
        "def f():\n    '''Words.'''",
        "x: Annotated[int, 3]",
        "def f(a: Literal[3]) -> Literal[True]: ...",
        "@route('/', 3)\ndef f(): ...",
        "assert a == 3, 'words'",
        "log.info('words %s', 3)",
        "x = Meta(description='words')",
        "x = f'{a + 3}'",
        "def f():\n    return None",
        "import a",
    ],
)
def test_what_is_left_as_it_is(source: str) -> None:
    assert mutants("m.py", source) == []


def test_a_fault_takes_the_place_of_its_own_bytes_alone() -> None:
    source = (
        'class A:\n    def f(self):\n        x = "é", (a\n            < b), "ü"\n        g(1)\n'
    )
    found = {mutant.name: mutant for mutant in mutants("m.py", source)}
    compared = found["m.py:A.f: a < b → a <= b"]
    assert compared.applied(source) == source.replace("a\n            < b", "(a <= b)")
    assert (compared.lines, compared.around, compared.first) == ((3, 4), (2, 5), 3)
    assert found["m.py:A.f: g(1) → pass"].applied(source) == source.replace("g(1)", "pass")


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_mutant_of_the_core_is_another_program(group: str) -> None:
    found = of_group(GROUPS[group])
    assert len(found) >= GROUPS[group].size
    assert len({mutant.name for mutant in found}) == len(found)
    sources = {path: (ROOT / path).read_text("utf-8") for path in GROUPS[group].modules}
    for mutant in draw(found, GROUPS[group].size, seed=1):
        source = sources[mutant.path]
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


def test_what_was_judged_is_still_in_the_core_and_has_a_reason() -> None:
    names = {mutant.name for group in GROUPS.values() for mutant in of_group(group)}
    for name, reason in judged().items():
        assert name in names, as_row(name)
        assert len(reason) > 10
