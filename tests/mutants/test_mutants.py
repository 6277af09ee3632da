"""The mutants themselves: what is changed and what is left, the sample, the choice of tests."""

import ast
from pathlib import Path

import msgspec
import pytest

from tests.mutants import selection
from tests.mutants.edits import Mutant, mutants
from tests.mutants.groups import GROUPS
from tests.mutants.judged import as_row, judged
from tests.mutants.report import table
from tests.mutants.sample import draw, of_group
from tests.mutants.selection import Lines
from tests.mutants.trial import Result
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


def test_the_words_of_an_error_are_left_and_a_long_name_is_cut() -> None:
    [mutant] = mutants("m.py", "raise E('" + "a" * 200 + "')")
    assert len(mutant.before) < 100
    assert mutant.applied("raise E('" + "a" * 200 + "')") == "pass"


def test_a_fault_takes_the_place_of_its_own_bytes_alone() -> None:
    source = (
        'class A:\n    def f(self):\n        x = "é", (a\n            < b), "ü"\n        g(1)\n'
    )
    found = {mutant.name: mutant for mutant in mutants("m.py", source)}
    compared = found["m.py:A.f: a < b → a <= b"]
    assert compared.applied(source) == source.replace("a\n            < b", "(a <= b)")
    assert (compared.lines, compared.around, compared.first) == ((3, 4), (2, 5), 3)
    assert found["m.py:A.f: g(1) → pass"].applied(source) == source.replace("g(1)", "pass")


def test_equal_faults_of_a_scope_are_numbered() -> None:
    names = [mutant.name for mutant in mutants("m.py", "def f():\n    g(1 + 1, 1)\n")]
    assert names == [
        "m.py:f: g(1 + 1, 1) → pass",
        "m.py:f: 1 + 1 → 1 - 1",
        "m.py:f: 1 → 2",
        "m.py:f: 1 → 2 (2)",
        "m.py:f: 1 → 2 (3)",
    ]


def test_what_runs_at_import_is_tried_with_the_tests_of_its_scope() -> None:
    source = "X = 3\n\nclass A:\n    y = 4\n\n    def f(self):\n        return 5\n"
    lines = {mutant.before: mutant.lines for mutant in mutants("m.py", source)}
    assert lines == {"3": (1, 7), "4": (3, 7), "5": (7, 7), "return 5": (7, 7)}


@pytest.mark.parametrize("group", GROUPS)
def test_every_mutant_of_the_core_is_another_program(group: str) -> None:
    found = of_group(GROUPS[group])
    assert len(found) >= GROUPS[group].size
    assert len({mutant.name for mutant in found}) == len(found)
    sources = {path: (ROOT / path).read_text("utf-8") for path in GROUPS[group].modules}
    for mutant in draw(found, GROUPS[group].size, seed=1):
        source = sources[mutant.path]
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


def test_a_sample_follows_from_the_seed_and_keeps_what_is_not_edited() -> None:
    source = "".join(f"def f{n}(a):\n    return a + {n}\n" for n in range(20))
    names = [mutant.name for mutant in draw(mutants("m.py", source), 30, seed=1)]
    assert names == [mutant.name for mutant in draw(mutants("m.py", source)[::-1], 30, seed=1)]
    assert names != [mutant.name for mutant in draw(mutants("m.py", source), 30, seed=2)]
    edited = source.replace("def f7(a):\n    return a + 7\n", "x = 1\n")
    kept = {mutant.name for mutant in draw(mutants("m.py", edited), 30, seed=1)}
    assert {name for name in names if ":f7:" not in name} <= kept


def one(path: str = "m.py") -> Mutant:
    return mutants(path, "def f():\n    x()\n\ndef g():\n    y(z())\n")[0]


def test_the_tests_of_the_line_are_chosen_the_fastest_within_the_time() -> None:
    seconds = {"a.py::1": 3.0, "a.py::2": 1.0, "b.py::3": 2.0, "b.py::4": 0.1}
    tests = {"m.py": {2: ["a.py::1", "a.py::2", "b.py::3"], 5: ["b.py::3", "b.py::4"]}}
    lines = Lines(seconds=seconds, tests=tests)
    assert lines.choose(one(), 100.0) == ["b.py::3", "a.py::2", "a.py::1"]  # b.py runs more of it
    assert lines.choose(one(), 3.5) == ["b.py::3", "a.py::2"]
    assert lines.choose(one(), 0.5) == ["a.py::2"]  # one at least
    del tests["m.py"][2]
    assert lines.choose(one(), 100.0) == ["b.py::4", "b.py::3"]  # of the module
    assert lines.choose(one("other.py"), 100.0) == []


def result(name: str, end: str, group: str = "lanes") -> Result:
    return Result(group=group, path="m.py", line=3, name=name, end=end, tests=2)  # type: ignore[arg-type]


def test_a_group_needs_nearly_all_and_survivors_are_reported() -> None:
    good = [result(f"m.py:f: {n}", "detected") for n in range(18)] + [result("t", "timeout")]
    text, enough = table([*good, result("m.py:f: a | b → a & b", "survived")], {})
    assert enough
    assert "95.0%" in text
    assert "m.py:3: survived (2 tests)\n  `m.py:f: a \\| b → a & b`" in text
    _, enough = table([*good, result("x", "survived"), result("y", "not run")], {})
    assert not enough
    text, enough = table([*good, result("x", "survived"), result("y", "survived")], {"x": "equal"})
    assert enough
    assert "survived" in text
    text, _ = table(good, {"t": "equal", "gone": "equal"})
    assert "judged to be no fault, but detected" in text


def test_what_was_judged_is_still_in_the_core_and_has_a_reason() -> None:
    names = {mutant.name for group in GROUPS.values() for mutant in of_group(group)}
    for name, reason in judged().items():
        assert name in names, as_row(name)
        assert len(reason) > 10


def test_tests_that_were_deleted_or_moved_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, kept, gone = "metaserver/a.py", "tests/unit/test_kept.py", "tests/unit/test_gone.py"
    for file in (module, kept, gone):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    monkeypatch.setattr(selection, "KEPT", tmp_path / "lines.json")
    monkeypatch.setattr(selection, "_measure", lambda *arguments: None)
    selection.measured(tmp_path, [module], 1)
    lines = msgspec.json.decode(selection.KEPT.read_bytes(), type=Lines)
    lines.seconds = {f"{file}::test": 1.0 for file in (kept, gone)}
    lines.tests = {module: {1: sorted(lines.seconds)}}
    selection.KEPT.write_bytes(msgspec.json.encode(lines))
    (tmp_path / gone).unlink()
    found = selection.measured(tmp_path, [module], 1)
    assert found.seconds == {f"{kept}::test": 1.0}
    assert found.tests == {module: {1: [f"{kept}::test"]}}
