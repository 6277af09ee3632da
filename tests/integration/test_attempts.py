"""`metaserver attempts`: why an answer was refused, from what a run has stored."""

from pathlib import Path

import pytest

from metaserver.wire.xmlrpc import encode_response
from tests.hubs.command import DEMO, metaserver
from tests.hubs.release import release_at
from tests.integration.kits import asked_server
from tests.integration.peers import answering, peer

pytestmark = pytest.mark.one_store("the store of the command is a file")

WRONG = {
    "normalizations": [
        {"dbid": "P04637", "rank": 1, "confidence": 0.9},
        {"dbid": "P00000", "rank": 2, "confidence": 7.0},
    ]
}


async def test_every_problem_is_told_with_its_place_and_the_answer_as_it_came(
    tmp_path: Path,
) -> None:
    release, out = release_at(tmp_path / "uniprot"), tmp_path / "out"
    async with peer(answering(encode_response(WRONG))) as wrong, asked_server() as right:
        ended = await metaserver(
            "run", "--articles", DEMO / "articles" / "sample01.txt", "--uniprot", release,
            "--server", f"right={right.url}", "--server", f"wrong={wrong.url}", "--out", out,
        )  # fmt: skip
        assert ended.status == 0, ended.stderr
    ended = await metaserver("attempts", "--out", out, "--outcome", "partial", "--raw")
    assert ended.status == 0, ended.stderr
    assert " wrong sample01 attempt 1: partial, the last; " in ended.stdout
    assert " right " not in ended.stdout
    assert "  normalizations[1].confidence: expected ]0, 1], got 7.0\n" in ended.stdout
    assert "  normalizations[1].dbid: unknown: " in ended.stdout
    assert "<methodResponse>" in ended.stdout


async def test_what_is_no_store_is_bad_input_and_left_alone(tmp_path: Path) -> None:
    ended = await metaserver("attempts", "--out", tmp_path)
    assert ended.status == 2
    assert "there is no store" in ended.stderr
    (tmp_path / "metaserver.sqlite").write_text("my notes, and more of them\n" * 200)
    ended = await metaserver("attempts", "--out", tmp_path)
    assert ended.status == 2
    assert "not a hub's SQLite store" in ended.stderr
    assert (tmp_path / "metaserver.sqlite").read_text().startswith("my notes")
