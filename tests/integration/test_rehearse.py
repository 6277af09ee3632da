"""`metaserver rehearse`: a restart, a deadline, and a store that lost something."""

import asyncio
import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import ClientSession
from aiohttp.test_utils import unused_port
from yarl import URL

from tests.hubs.command import metaserver, start

pytestmark = [pytest.mark.one_store("the store of the command is a file"), pytest.mark.slow]


def rehearsal(out: Path, **changes: object) -> list[object]:
    """Return the arguments of a small rehearsal that ends by itself."""
    options = {"teams": 3, "servers": 6, "articles": 20, "speed": 400, "seed": 3} | changes
    named = [part for name, value in options.items() for part in (f"--{name}", value)]
    return ["rehearse", *named, "--out", out, "--exit"]


def summary_of(out: Path) -> Any:
    return json.loads((out / "summary.json").read_text())


def holding(summary: Any) -> list[bool]:
    return [check["holds"] for check in summary["checks"]]


async def test_a_small_rehearsal_survives_its_restart_and_stays_up(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"http://127.0.0.1:{unused_port()}/"
    *named, _ = rehearsal(out)
    process = await start(*named, "--port", URL(address).port)
    assert process.stdout is not None
    heard = ""
    while "the pages stay up" not in heard:
        line = (await process.stdout.readline()).decode()
        assert line, heard
        heard += line
    assert f"sign in at {address}signin with the token " in heard
    assert "the hub was killed" in heard
    assert heard.endswith(f"the pages stay up until Ctrl-C: {address}\n")
    async with ClientSession() as client, client.get(address) as page:
        assert "A rehearsal" in await page.text()
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0
    summary = summary_of(out)
    assert summary["answered"] + summary["given_up"] == 6 * 20
    assert 0 < summary["answered_before_restart"] < summary["answered"]
    assert holding(summary) == [True] * 4
    assert {first["task"] for first in summary["first"]} == {"ACT", "INT", "IPT"}
    assert sorted(path.name for path in out.iterdir()) == ["results", "summary.json"]
    assert (out / "results" / "report.html").exists()


async def test_a_rehearsal_of_settings_is_cut_off_by_their_deadline(tmp_path: Path) -> None:
    phase = {
        "phase": "week", "release": "2026_04", "tasks": ["INT", "NER"],
        "opens": "2026-12-01T09:00", "freezes": "2026-12-01T09:45",
        "team_names": "hidden", "visibility": "hidden", "limits": {"timeout": 300, "servers": 1},
        "ranking": {"min_coverage": 0.1},
    }  # fmt: skip
    challenge = {"challenge": "bc", "timezone": "Europe/Madrid", "phases": [phase]}
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump({"challenges": [challenge], "limits": {"attempts": 2}}))
    out = tmp_path / "out"
    ended = await metaserver(*rehearsal(out, articles=120), "--config", settings, "--keep")
    assert ended.status == 0, ended.stdout + ended.stderr
    assert ", cut off by the freeze" in ended.stdout
    summary = summary_of(out)
    assert holding(summary) == [True] * 4
    assert summary["without_end"] > 0
    assert summary["seconds"] >= 45 * 60
    assert {first["task"] for first in summary["first"]} == {"INT"}
    assert (out / "results" / "tables" / "INT").is_dir()
    kept = yaml.safe_load((out / "config.yaml").read_text())
    [made] = kept["challenges"][0]["phases"]
    assert (made["phase"], made["team_names"], made["limits"]["servers"]) == ("week", "hidden", 2)
    assert kept["limits"]["attempts"] == 2
    assert (out / "hub" / "metaserver.sqlite").exists()
    assert not (out / "token").exists()


async def test_a_lost_answer_is_noticed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = await start(*rehearsal(out), "--keep")
    assert process.stdout is not None
    heard = []
    async for line in process.stdout:
        heard.append(line.decode())
        if "the hub was killed" in heard[-1]:
            await asyncio.to_thread(lose_an_answer, out / "hub" / "metaserver.sqlite")
    assert await process.wait() == 1, "".join(heard)
    assert "FAILED: no answer is lost (1 lost in the restart)" in "".join(heard)
    assert not summary_of(out)["checks"][0]["holds"]


def lose_an_answer(store: Path) -> None:
    """Turn the first answer in a hub's store into a time-out."""
    with sqlite3.connect(store, timeout=60) as connection:
        changed = connection.execute(
            "UPDATE attempts SET outcome = 'timeout' WHERE rowid ="
            " (SELECT rowid FROM attempts WHERE outcome = 'ok' ORDER BY started_at LIMIT 1)"
        )
        assert changed.rowcount == 1
    connection.close()
