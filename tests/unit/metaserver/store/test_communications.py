"""Communications on a real store: whose they are, which can be gone on with, what is forgotten."""

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa

from metaserver.base.communications import CallingServer, Communication, Exchanged
from metaserver.base.compression import pack
from metaserver.base.errors import CallbackError, CallbackFault
from metaserver.base.records import ArticleId, Server, ServerName, TeamName
from metaserver.exchange.wire.values import Limits
from metaserver.phases import callbacks
from metaserver.phases.callbacks import CallbackDesk
from metaserver.store import communications, servers, teams
from metaserver.store.store import Store
from tests.waiting import patience

NAMES = ("a", "b")
ABOUT = Exchanged(article=ArticleId("x"), number=1, scope="phase 1")


@pytest.fixture
async def ids(store: Store) -> list[int]:
    """Two servers with keys, of a team each."""
    found = []
    async with store.writing() as connection:
        for name in NAMES:
            team = await teams.add(connection, TeamName(name), "", "")
            server = Server(name=ServerName(name), url="http://a.example/", protocol="becalm")
            found.append(await servers.add(connection, server, team))
            await communications.set_key(connection, found[-1], f"key of {name}")
    return found


def opened(server_id: int, id_: int = 1, at: float = 0.0) -> Communication:
    return Communication(
        id=id_, server_id=server_id, about=ABOUT, opened_at=at, expires_at=at + 600
    )


async def add(store: Store, *given: Communication) -> None:
    async with store.writing() as connection:
        for one in given:
            await communications.add(connection, one)


async def answer(store: Store, id_: int, at: float = 1.0) -> bool:
    async with store.writing() as connection:
        return await communications.answer(connection, id_, "json", b"packed", at)


async def begun(store: Store, server_id: int, about: Exchanged, now: float) -> Communication | None:
    async with store.reading() as connection:
        return await communications.begun(connection, server_id, about, now)


async def test_a_key_is_of_one_server_in_use(store: Store, ids: list[int]) -> None:
    async with store.writing() as connection:
        found = await communications.server_of(connection, "key of a")
        assert found == CallingServer(id=ids[0], name="a")
        assert await communications.server_of(connection, "key of c") is None
        await communications.set_key(connection, ids[0], "another")
        assert await communications.server_of(connection, "key of a") is None
        await servers.retire(connection, ids[0])
        assert await communications.server_of(connection, "another") is None
        await teams.change(connection, TeamName("b"), retired_at=1.0)
        assert await communications.server_of(connection, "key of b") is None


async def test_a_communication_is_known_to_its_server_alone(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0], 2**31 - 1))
    async with store.reading() as connection:
        known = await communications.get(connection, ids[0], 2**31 - 1)
        assert known == opened(ids[0], 2**31 - 1)
        assert await communications.get(connection, ids[1], 2**31 - 1) is None
    with pytest.raises(sa.exc.IntegrityError):
        await add(store, opened(ids[1], 2**31 - 1))


async def test_one_of_several_callbacks_is_taken(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0]))
    result = sorted(await asyncio.gather(*(answer(store, 1) for _ in range(5))))
    assert result == [False] * 4 + [True]
    async with store.writing() as connection:
        assert not await communications.close(connection, 1, 2.0)
        [found] = await communications.answered(connection, [1, 5])
    assert (found.format, found.packed) == ("json", b"packed")


async def test_a_closed_communication_takes_no_callback(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0]))
    async with store.writing() as connection:
        assert await communications.close(connection, 1, 2.0)
    assert not await answer(store, 1)


async def test_a_hub_goes_on_with_what_is_open_or_answered(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0]))
    for other in (replace(ABOUT, number=2), replace(ABOUT, scope=""), replace(ABOUT, article="y")):
        assert await begun(store, ids[0], other, 1.0) is None
    assert await begun(store, ids[1], ABOUT, 1.0) is None
    found = await begun(store, ids[0], ABOUT, 1.0)
    assert found.acknowledged_at is None
    assert await begun(store, ids[0], ABOUT, 601.0) is None
    async with store.writing() as connection:
        await communications.acknowledge(connection, 1, 1.0)
    found = await begun(store, ids[0], ABOUT, 1.0)
    assert found.acknowledged_at == 1.0
    await answer(store, 1)
    found = await begun(store, ids[0], ABOUT, 601.0)  # it came in time
    assert found.packed == b"packed"


async def test_a_later_attempt_closes_the_earlier(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0], 1), opened(ids[1], 2))
    async with store.writing() as connection:
        later = replace(ABOUT, number=2)
        await communications.close_earlier(connection, ids[0], later, 5.0)
    assert (await answer(store, 1), await answer(store, 2)) == (False, True)


async def test_what_is_not_needed_is_forgotten(store: Store, ids: list[int]) -> None:
    await add(store, opened(ids[0], 1), opened(ids[0], 2, at=1_000.0))
    await answer(store, 2, at=1_010.0)
    async with store.writing() as connection:
        await communications.forget(connection, expired_before=900.0, answered=(1_011.0, 2_000.0))
        assert await communications.get(connection, ids[0], 1) is None
        assert await communications.answered(connection, [2])
        await communications.forget(connection, expired_before=900.0, answered=(1_000.0, 2_000.0))
        assert not await communications.answered(connection, [2])
        known = await communications.get(connection, ids[0], 2)
    assert known.answered_at == 1_010.0  # a second callback is still told that it is one


async def test_the_desk_deletes_what_it_has_no_use_for(store, ids, monkeypatch):
    now = 1_000.0
    desk = CallbackDesk(store, lambda: now)
    numbers = iter([6, 6, 6, 7, 8])
    monkeypatch.setattr(callbacks.secrets, "randbelow", lambda _: next(numbers))
    first = await desk.open(ServerName("a"), ABOUT, 10.0, Limits())
    second = await desk.open(ServerName("b"), ABOUT, 10.0, Limits())
    assert (first.communication.id, second.communication.id) == (7, 8)  # 7 was taken twice
    await desk.close(second)
    desk.leave(first)
    calling = CallingServer(id=ids[0], name="a")
    assert (await desk.find(calling, 7)).id == 7
    now = 1_011.0
    with pytest.raises(CallbackError) as late:
        await desk.find(calling, 7)
    assert late.value.fault is CallbackFault.EXPIRED
    now = 1_000.0 + 10.0 + callbacks.KEPT + 1.0
    third = await desk.open(ServerName("a"), replace(ABOUT, number=2), 10.0, Limits())
    await desk.close(third)
    with pytest.raises(CallbackError) as forgotten:
        await desk.find(calling, 7)
    assert forgotten.value.fault is CallbackFault.UNKNOWN


async def test_a_look_that_fails_is_not_the_last(store, ids, monkeypatch):
    lost = sa.exc.InterfaceError("", (), OSError())
    failures = iter([sa.exc.TimeoutError("no connection is free"), lost])
    answered = communications.answered

    async def failing(connection, wanted):  # type: ignore[no-untyped-def]
        for error in failures:
            raise error
        return await answered(connection, wanted)

    monkeypatch.setattr(callbacks, "LOOK", 0.01)
    monkeypatch.setattr(communications, "answered", failing)
    desk = CallbackDesk(store, lambda: 1_000.0)
    awaited = await desk.open(ServerName("a"), ABOUT, 10.0, Limits())
    async with store.writing() as connection:  # as another process does
        id_ = awaited.communication.id
        assert await communications.answer(connection, id_, "json", pack(b"[]"), 1_001.0)
    async with patience():
        await awaited.change()
    assert awaited.callback is not None
    desk.leave(awaited)
