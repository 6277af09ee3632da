"""docs/board.md: a server of each language and protocol, on one board of a hub of their own."""

import json
from pathlib import Path

import pytest

from annotators.starter import KITS
from metaserver.exchange.protocols.installed import installed_protocols
from tests.conformance.foreign import NEEDED
from tests.docs.transcript import Session, replay
from tests.shared import ROOT

DOCUMENT = ROOT / "docs" / "board.md"
COUNTS = ("tp", "fp", "fn")


@pytest.mark.nightly
def test_all_languages_and_protocols_are_on_one_board(tmp_path: Path) -> None:
    for found in NEEDED.values():
        found()
    with Session.begun(tmp_path) as session:
        replay(DOCUMENT, session)
        board = json.loads(session.run("metaserver boards get test INT --json"))
        afresh = json.loads(
            session.run(
                "scoring evaluate --task INT --gold samples/gold_int.tsv --articles all --json"
                " results/runs/INT/*"
            )
        )
    rows = {row["run"]: row for row in board["rows"]}
    assert set(rows) == {*KITS, *installed_protocols()} - {"xmlrpc"}
    assert {row["place"] for row in rows.values()} == {1}
    assert {row["run"] for row in afresh} == set(rows)
    for score in afresh:
        shown = rows[score["run"]]["values"]
        assert {key: shown[key] for key in score["macro"] if key in shown} == pytest.approx(
            {key: value for key, value in score["macro"].items() if key in shown}
        )
        assert {key: shown[key] for key in COUNTS} == {key: score[key] for key in COUNTS}
