"""Curations and sets in a hub's archive: nothing of them is lost, and no token is in it."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec

from metaserver.archive.reading import import_archive
from metaserver.archive.writing import export_store
from metaserver.model.errors import Refusal
from metaserver.operations.caller import Caller
from metaserver.store import tokens
from tests.hubs.inside import ORGANISER, Running, at_work, settings
from tests.hubs.release import ACCESSIONS
from tests.integration.curating import curator
from tests.integration.test_curation_sets import decide, made, refusal
from tests.integration.test_curations import P53, RAS, asked, sent

FIRST, SECOND = ACCESSIONS[:2]
ITEM = {"set": "round-1", "task": "INT"}


async def curated(hub: Running, ana: Caller, request: str) -> str:
    """Have a curation of a request, and a set with one ruling; return the curation's id."""
    opened = await hub.do("curation.open", ana, request=request)
    events = [
        sent("0001", "accept", "INT", P53, evidence=[[0, 4]]),
        sent("0002", "add", "INT", RAS),
        sent("0003", "note", note="for later"),
        sent("0004", "undo", undoes="event-0002"),
    ]
    await hub.do("curation.append", ana, curation=opened.curation, seen=0, events=events)
    await hub.do("curation.submit", ana, curation=opened.curation, undecided=True)
    bob, judge = await curator(hub, "bob"), await curator(hub, "judge")
    await made(hub, (ana, bob), adjudicators=(judge.token_id,))
    await decide(hub, ana, "sample01", (FIRST,))
    await decide(hub, bob, "sample01", (FIRST, SECOND))
    ruling = {"article": "sample01", "item": (SECOND,), "choice": "2"}
    await hub.do("curation-sets.rule", judge, **ITEM, **ruling)
    return str(opened.curation)


async def shown(hub: Running, curation: str) -> list[Any]:
    """Return what organisers see of the curation and of the set."""
    found = [
        await hub.do("curation.get", curation=curation),
        await hub.do("curation.events", curation=curation),
        await hub.do("curation.export", curation=curation, format="json"),
        await hub.do("curation-sets.get", set="round-1"),
        await hub.do("curation-sets.agreement", **ITEM),
        await hub.do("curation-sets.disagreements", **ITEM),
        await hub.do("curation-sets.report", **ITEM),
        await hub.do("curation-sets.export", set="round-1", format="json"),
    ]
    plain = [msgspec.to_builtins(one) for one in found]
    del plain[0]["newest_version"]  # of the request, which is in no archive
    return plain


async def test_curations_are_read_back_and_given_to_new_tokens(tmp_path: Path) -> None:
    first, second, alone = (tmp_path / f"{name}.zip" for name in ("first", "second", "alone"))
    async with asked(tmp_path) as (hub, ana, request, _):
        curation = await curated(hub, ana, request)
        before = await shown(hub, curation)
        async with hub.service.store.reading() as connection:
            known = await tokens.list_all(connection)
    given = await settings(tmp_path)
    await asyncio.to_thread(export_store, given.place(), first, given)
    await asyncio.to_thread(export_store, given.place(), alone, given, ["test"])
    other = msgspec.structs.replace(given, folder=str(tmp_path / "other"), store="")
    (tmp_path / "other").mkdir()
    store = tmp_path / "other" / "metaserver.sqlite"
    await asyncio.to_thread(import_archive, first, store)
    await asyncio.to_thread(export_store, other.place(), second, other)
    assert first.read_bytes() == second.read_bytes()
    async with at_work(other) as hub:
        assert await shown(hub, curation) == before
        old = {one.label: one for one in await hub.do("tokens.list") if one.label}
        assert old.keys() == {"ana", "bob", "judge"}  # of no team's token, and of no organiser's
        assert all(one.revoked_at for one in old.values())
        new = await curator(hub, "ana")
        assert new.token_id not in {one.id for one in known}
        assert (await refusal(hub, "curation.get", new, curation=curation)).refusal is (
            Refusal.UNKNOWN
        )
        moved = await hub.do("curation.reassign", curator=old["ana"].id, to=new.token_id)
        assert moved.curations == 1
        await hub.do(
            "curation-sets.reassign", set="round-1", curator=old["ana"].id, to=new.token_id
        )
        assert (await hub.do("curation.get", new, curation=curation)).own
        own = await hub.do("curation-sets.get", new, set="round-1")
        assert (own.given, own.submitted) == (6, 1)
        await hub.do("curation.reopen", new, curation=curation)
        events = [sent("0009", "reject", "INT", P53)]
        await hub.do("curation.append", new, curation=curation, seen=4, events=events)
    check_contents(first, alone, curation)


def check_contents(whole: Path, alone: Path, curation: str) -> None:
    with zipfile.ZipFile(whole) as found:
        contents = {name: found.read(name) for name in found.namelist()}
    kept = [json.loads(line) for line in contents["tables/tokens.jsonl"].splitlines()]
    assert [one["label"] for one in kept] == ["ana", "bob", "judge"]
    assert all(one["digest"] is None for one in kept)
    assert contents[f"curations/{curation}.txt"].startswith(b"TP53 binds MDM2.")
    with zipfile.ZipFile(alone) as found:
        assert f"curations/{curation}.txt" not in found.namelist()  # it is of no phase
        kept = [json.loads(line) for line in found.read("tables/curations.jsonl").splitlines()]
        assert [one["article"] for one in kept] == ["sample01", "sample01"]
        assert curation.encode() not in found.read("tables/curation_events.jsonl")
        assert found.read("tables/curation_rulings.jsonl").count(b"\n") == 1


async def test_a_phase_without_sets_takes_no_curators_along(tmp_path: Path) -> None:
    out = tmp_path / "next.zip"
    async with asked(tmp_path) as (hub, ana, request, _):
        await curated(hub, ana, request)
        new = {"challenge": "bc", "phase": "next", "corpus": "demo", "release": "test"}
        await hub.do("phases.create", ORGANISER, **new)
    given = await settings(tmp_path)
    await asyncio.to_thread(export_store, given.place(), out, given, ["next"])
    with zipfile.ZipFile(out) as found:
        assert not [name for name in found.namelist() if name.startswith("curations/")]
        for name in ("tokens", "curations", "curation_events", "curation_sets", "curation_seats"):
            assert found.read(f"tables/{name}.jsonl") == b""


async def test_a_token_of_an_archive_opens_nothing(tmp_path: Path) -> None:
    out, store = tmp_path / "out.zip", tmp_path / "copy" / "metaserver.sqlite"
    given = await settings(tmp_path)
    async with at_work(given) as hub:
        issued = await hub.do("tokens.create", role="curator", label="ana")
    await asyncio.to_thread(export_store, given.place(), out, given)
    store.parent.mkdir()
    await asyncio.to_thread(import_archive, out, store)
    other = msgspec.structs.replace(given, folder=str(store.parent), store="")
    async with at_work(other) as hub, hub.service.store.reading() as connection:
        [kept] = await tokens.list_all(connection)
        assert (kept.id, kept.label, kept.revoked_at) == (issued.id, "ana", kept.created_at)
        assert await tokens.find(connection, issued.token, 0.0) is None
