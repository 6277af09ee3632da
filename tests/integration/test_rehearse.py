"""`metaserver rehearse`: a small one, with its restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hubs.command import metaserver


@pytest.mark.slow
async def test_a_small_rehearsal_survives_its_restart(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = await metaserver(
        "rehearse", "--teams", 3, "--servers", 6, "--articles", 20, "--speed", 400,
        "--seed", 3, "--out", out,
    )  # fmt: skip
    assert ended.status == 0, ended.stdout + ended.stderr
    assert "sign in at http://127.0.0.1:" in ended.stdout
    assert "the hub was killed" in ended.stdout
    summary = json.loads((out / "summary.json").read_text())
    assert summary["answered"] + summary["given_up"] == 6 * 20
    assert 0 < summary["answered_before_restart"] < summary["answered"]
    assert [check["holds"] for check in summary["checks"]] == [True] * 4
    assert {first["task"] for first in summary["first"]} == {"ACT", "INT", "IPT"}
    assert sorted(path.name for path in out.iterdir()) == ["results", "summary.json"]
    assert (out / "results" / "report.html").exists()
