"""docs/challenge.md, from its first command to its last, against a hub of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.transcript import Session, fits, steps
from tests.shared import ROOT

DOCUMENT = ROOT / "docs" / "challenge.md"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_challenge_goes_as_it_is_told(tmp_path: Path) -> None:
    with Session.begun(tmp_path) as session:
        for step in steps(DOCUMENT.read_text("utf-8")):
            printed = session.do(step)
            assert fits(step.expected, printed), f"{step.source}\n{step.expected}---\n{printed}"


TEXT = """\
```console
$ echo one \\
>   two
one two
$ true
```

```pycon
>>> for number in (1, 2):
...     print(number)
1
2
```
"""


def test_steps_have_their_source_and_what_they_print() -> None:
    found = [(step.source, step.expected, TEXT[step.start : step.end]) for step in steps(TEXT)]
    assert found == [
        ("echo one \\\n  two", "one two\n", "one two\n"),
        ("true", "", ""),
        ("for number in (1, 2):\n    print(number)\n", "1\n2\n", "1\n2\n"),
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
