"""docs/three-machines.md, from its first command to its last."""

from pathlib import Path

import pytest

from tests.docs.machines import machines
from tests.docs.transcript import replay, steps
from tests.shared import ROOT
from tests.tools import tool

DOCUMENT = ROOT / "docs" / "three-machines.md"


@pytest.mark.nightly
def test_a_hub_goes_from_one_machine_to_three_as_it_is_told(tmp_path: Path) -> None:
    for program in ("caddy", "psql"):
        tool(program)
    with machines(tmp_path) as session:
        replay(DOCUMENT, session)


def test_each_command_is_typed_on_a_machine() -> None:
    assert {step.machine for step in steps(DOCUMENT.read_text("utf-8"))} == set("abcd")
