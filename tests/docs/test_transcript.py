"""The tutorials, each from its first command to its last; two pages have a test of their own."""

import re
from pathlib import Path

import pytest

from tests.docs.transcript import Session, fits, replay, steps
from tests.shared import ROOT

LISTED = ROOT / "docs" / "README.md"
TUTORIALS = ("challenge", "curating", "evaluating", "server")
SHORT = "server"  # which `.ci/run` types; the others are nightly
ELSEWHERE = ("three-machines", "tutorial-browser")  # on networks of its own, in a browser


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == SHORT else pytest.mark.nightly)
        for name in TUTORIALS
    ],
)
def test_a_tutorial_goes_as_it_is_told(name: str, tmp_path: Path) -> None:
    with Session.begun(tmp_path) as session:
        replay(ROOT / "docs" / f"{name}.md", session)


def test_what_is_called_a_tutorial_is_replayed() -> None:
    called = re.findall(r"\(([\w-]+)\.md\): a tutorial;", LISTED.read_text("utf-8"))
    assert sorted(called) == sorted([*TUTORIALS, *ELSEWHERE])


TEXT = """\
```console
$ echo one \\
>   two
one two
b$ true
```

```pycon
>>> for number in (1, 2):
...     print(number)
1
2
```
"""


def test_steps_have_their_source_and_what_they_print() -> None:
    found = [
        (step.machine, step.source, step.expected, TEXT[step.start : step.end])
        for step in steps(TEXT)
    ]
    assert found == [
        ("", "echo one \\\n  two", "one two\n", "one two\n"),
        ("b", "true", "", ""),
        ("", "for number in (1, 2):\n    print(number)\n", "1\n2\n", "1\n2\n"),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "fit"),
    [
        ("a  b\n", "a b  \n", True),
        ("id ... is made\n", "id 17 is made\n", True),
        ("id ...\n", "id 17\nand more\n", False),
        ("one\n...\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("one\n...\n", "one\n", True),
        ("1.5\n", "175\n", False),
        ("", "anything\n", False),
    ],
)
def test_dots_stand_for_what_differs(expected: str, printed: str, fit: bool) -> None:
    assert fits(expected, printed) is fit
