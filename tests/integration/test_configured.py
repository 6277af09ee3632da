"""Challenges of config.yaml: created, changed when the file changes, and checked before."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import InputError
from metaserver.base.states import PhaseState
from metaserver.cli.doctor import examine
from metaserver.cli.findings import FindingSeverity
from metaserver.config import ChallengeSettings, PhaseSettings, Settings, WebSettings
from metaserver.store.store import open_store
from metaserver.web.public.open_pages import health_app
from metaserver.web.server import serve_app
from tests.hubs.command import DEMO, metaserver
from tests.hubs.inside import at_work, settings
from tests.hubs.release import release_at

ARTICLES = str(DEMO / "articles")


async def configured(folder: Path, *phases: PhaseSettings, zone: str = "Europe/Madrid") -> Settings:
    challenge = ChallengeSettings(challenge="bc", timezone=zone, phases=list(phases))
    return await settings(folder, challenges=[challenge])


def phase(**changes: Any) -> PhaseSettings:
    values: dict[str, Any] = {"phase": "one", "release": "test", "articles": [ARTICLES]}
    return PhaseSettings(**values | changes)


async def test_phases_are_made_with_their_articles_and_gold(tmp_path: Path) -> None:
    gold = {"INT": str(DEMO / "gold_int.tsv")}
    given = await configured(tmp_path, phase(gold=gold, opens="2020-01-01", kind="training"))
    async with at_work(given) as running:
        made = await running.do("phases.get", phase="one")
        assert (made.state, made.articles, made.gold) == (PhaseState.TRAINING, 32, {"INT": 1})
        assert made.opens.isoformat() == "2020-01-01T00:00:00+01:00"
        assert [one.corpus for one in await running.do("corpora.list")] == ["one"]


async def test_what_is_changed_by_command_stays_until_the_file_changes(tmp_path: Path) -> None:
    first = await configured(tmp_path, phase(title="First"))
    async with at_work(first) as running:
        await running.do("phases.update", phase="one", title="By command")
    async with at_work(first) as running:
        assert (await running.do("phases.get", phase="one")).title == "By command"
    async with at_work(await configured(tmp_path, phase(title="Second"))) as running:
        assert (await running.do("phases.get", phase="one")).title == "Second"
        assert len(await running.do("corpora.list")) == 1


async def test_what_cannot_be_done_is_named(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"release": "none"}, "challenges[0].phases[0].release"),
        ({"opens": "soon"}, "challenges[0].phases[0].opens"),
        ({"opens": "2026-12-02", "freezes": "2026-12-01"}, "challenges[0].phases[0].freezes"),
        ({"tasks": ["XYZ"]}, "challenges[0].phases[0].tasks"),
        ({"articles": [], "corpus": "none"}, "challenges[0].phases[0].corpus"),
        ({"gold": {"INT": "none.tsv"}}, "challenges[0].phases[0].gold.INT"),
        ({"phase": "not a name"}, "challenges[0].phases[0].phase"),
    ]
    for changes, place in wrong:
        given = await configured(tmp_path, phase(**changes))
        with pytest.raises(InputError) as told:
            async with at_work(given):
                pass
        assert told.value.place == place


@pytest.mark.slow
async def test_the_doctor_says_what_is_wrong_where(tmp_path: Path) -> None:
    release_at(tmp_path / "releases" / "test")
    path = tmp_path / "config.yaml"
    good = f"""
folder: {tmp_path}/hub
uniprot: {{releases: {tmp_path}/releases}}
web: {{port: 0}}
challenges:
- challenge: bc
  phases:
  - {{phase: one, release: test, articles: [{ARTICLES}], gold: {{INT: {DEMO}/gold_int.tsv}}}}
"""
    path.write_text(good)
    ended = await metaserver("doctor", "--config", path)
    assert ended.status == 0, ended.stdout
    assert "is fit to serve" in ended.stdout
    assert "gold.INT" in ended.stdout
    assert not (tmp_path / "hub").exists()
    path.write_text(
        good.replace("release: test", "release: none")
        .replace("gold_int.tsv", "none.tsv")
        .replace("phase: one", "phase: one, opens: 2026-12-02, closes: 2026-12-01")
        + f"notices: {{smtp_host: mail.example.org, smtp_starttls: false, smtp_ca: {path}}}"
    )
    ended = await metaserver("doctor", "--config", path)
    assert ended.status == 1
    wrong = [line.split(": ")[0] for line in ended.stdout.splitlines() if line.startswith("error")]
    assert "notices.smtp_starttls: mail, and the password of smtp_user, go" in ended.stdout
    assert [place.split()[-1] for place in wrong] == [
        "notices.smtp_ca",
        "challenges[0].phases[0].closes",
        "challenges[0].phases[0].release",
        "challenges[0].phases[0].gold.INT",
    ]


def random_header(content: bytes) -> bytes:
    return bytes(range(100)) + content[100:]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def overwritten(content: bytes) -> bytes:
    return content[: 8 * 4096] + b"\xa5" * (len(content) - 8 * 4096)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "arguments", "fault"),
    [
        (random_header, (), "not a hub's SQLite store: file is not a database"),
        (half, (), "not a hub's SQLite store: database disk image is malformed"),
        (lambda _: b"", (), "is empty: if there was a store, restore it"),
        (overwritten, ("--deep",), "to repair: stop the hub, and restore its last backup"),
        (lambda _: b"", ("--deep",), "to repair: stop the hub, and restore its last backup"),
    ],
    ids=["header", "half", "empty", "overwritten", "empty, in depth"],
)
async def test_the_doctor_finds_a_store_that_is_damaged(
    tmp_path: Path, damage: Callable[[bytes], bytes], arguments: Sequence[str], fault: str
) -> None:
    store = tmp_path / "hub" / "metaserver.sqlite"
    store.parent.mkdir()
    async with open_store(store):
        pass
    store.write_bytes(damage(store.read_bytes()))
    config = tmp_path / "config.yaml"
    config.write_text(f"folder: {store.parent}\nstore: ''\nweb: {{port: 0}}\n")
    ended = await metaserver("doctor", *arguments, "--config", config)
    assert fault in ended.stdout
    assert ended.status == ("is empty" not in fault)
    assert ended.stderr == ""


async def test_the_doctor_knows_a_hub_from_others_at_its_address(tmp_path: Path) -> None:
    async def found(port: int) -> tuple[FindingSeverity, str]:
        given = Settings(folder=str(tmp_path), web=WebSettings(port=port))
        findings = await asyncio.to_thread(lambda: list(examine(given)))
        [one] = [one for one in findings if one.place.startswith("web: ")]
        return one.severity, one.message

    async with serve_app(health_app(lambda: True), WebSettings(port=0)) as address:
        assert await found(int(address.strip("/").split(":")[-1])) == (
            FindingSeverity.OK,
            "a hub is at work there",
        )
    with socket.create_server(("127.0.0.1", 0)) as other:
        severity, message = await found(other.getsockname()[1])
    assert severity is FindingSeverity.ERROR
    assert message.startswith("cannot be served at: Address already in use")


@pytest.mark.slow
async def test_the_doctor_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = await metaserver("doctor", fresh=True)
    assert "folder: hub: " in ended.stdout
    assert "the default configuration" in ended.stdout


async def test_serve_tells_a_bad_setting_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"folder: {tmp_path}/hub\nweb:\n  port: many\n")
    ended = await metaserver("serve", "--config", path)
    assert ended.status == 2
    assert ended.stderr == f"metaserver: {path}:3: Expected `int`, got `str` - at `$.web.port`\n"
