"""Tokens and sessions on a real store."""

import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.viewer import Token
from metaserver.store import teams, tokens
from metaserver.store.store import Store
from metaserver.store.tokens import FORM

NOW = time.time()
DAY = 86_400.0


async def issued(store, role=Role.ORGANISER, label="ana", **values):
    async with store.writing() as connection:
        return await tokens.issue(connection, role, label, **values)


async def found(store: Store, secret: str, now: float = NOW) -> Token | None:
    async with store.reading() as connection:
        return await tokens.find(connection, secret, now)


async def team_of(store: Store, name: str) -> int:
    async with store.writing() as connection:
        return await teams.add(connection, TeamName(name), "", "")


async def test_a_token_is_found_by_itself_and_kept_nowhere(store: Store, tmp_path: Path) -> None:
    token_id, secret = await issued(store)
    assert FORM.fullmatch(secret)
    assert secret.startswith("bcms_o")
    token = await found(store, secret)
    assert (token.id, token.role, token.bearer) == (token_id, Role.ORGANISER, "organiser ana")
    for kept in tmp_path.iterdir():
        assert secret[6:].encode() not in kept.read_bytes()


async def test_an_invalid_token_is_not_found(store: Store) -> None:
    _, secret = await issued(store)
    digest = tokens.digest(secret)
    for wrong in ("", secret[:-1], secret + "A", secret.lower(), digest, "bcms_o" + "A" * 43, "\0",
                  "' OR 1=1 --", "\ud800"):  # fmt: skip
        assert await found(store, wrong) is None


async def test_a_token_expires_and_can_be_revoked(store: Store) -> None:
    token_id, secret = await issued(store, expires_at=NOW + DAY)
    assert await found(store, secret, NOW + DAY - 1)
    assert await found(store, secret, NOW + DAY) is None
    async with store.writing() as connection:
        await tokens.revoke(connection, token_id, NOW)
        await tokens.revoke(connection, token_id, NOW + 5)
    assert await found(store, secret) is None
    async with store.reading() as connection:
        token = await tokens.get(connection, token_id)
    assert token.revoked_at == NOW  # when it was revoked first


async def test_a_teams_tokens_are_its_own_and_end_with_it(store: Store) -> None:
    blue, red = await team_of(store, "blue"), await team_of(store, "red")
    _, secret = await issued(store, Role.TEAM, team_id=blue)
    await issued(store, Role.READER, team_id=blue)
    await issued(store, Role.TEAM, team_id=red)
    token = await found(store, secret)
    assert (token.team, token.bearer) == ("blue", "team blue")
    async with store.reading() as connection:
        result = [known.role for known in await tokens.list_all(connection, blue)]
        assert result == ["team", "reader"]
        assert len(await tokens.list_all(connection)) == 3
        assert await tokens.count(connection, blue, None, NOW) == 2
        assert await tokens.count(connection, None, None, NOW) == 0
    async with store.writing() as connection:
        await teams.change(connection, TeamName("blue"), retired_at=NOW)
    assert await found(store, secret) is None


async def test_use_is_kept_once_a_minute(store: Store) -> None:
    _, secret = await issued(store)
    token = await found(store, secret)
    assert tokens.must_touch(token, NOW)
    async with store.writing() as connection:
        await tokens.touch(connection, token, NOW)
    token = await found(store, secret)
    assert token.used_at == NOW
    assert not tokens.must_touch(token, NOW + 59)
    assert tokens.must_touch(token, NOW + 60)


async def test_a_session_holds_as_long_as_it_and_its_token(store: Store) -> None:
    token_id, secret = await issued(store, expires_at=NOW + DAY)
    token = await found(store, secret)
    assert token is not None
    async with store.writing() as connection:
        short, _ = await tokens.begin_session(connection, token, NOW, 100.0)
        long, begun = await tokens.begin_session(connection, token, NOW, 10 * DAY)
    assert begun.expires_at == NOW + DAY  # never longer than its token
    async with store.reading() as connection:
        session = await tokens.find_session(connection, short, NOW + 99)
        assert (session.token, session.expires_at) == (token, NOW + 100)
        assert await tokens.find_session(connection, short, NOW + 100) is None
        assert await tokens.find_session(connection, long, NOW + 100) == begun
        assert await tokens.find_session(connection, begun.csrf, NOW) is None
        assert await tokens.find_session(connection, tokens.digest(long), NOW) is None
    async with store.writing() as connection:
        await tokens.revoke(connection, token_id, NOW)
    async with store.reading() as connection:
        assert await tokens.find_session(connection, long, NOW) is None


async def test_sessions_end_and_are_purged(store: Store) -> None:
    _, secret = await issued(store)
    token = await found(store, secret)
    assert token is not None
    async with store.writing() as connection:
        cookies = [
            (await tokens.begin_session(connection, token, NOW, seconds))[0]
            for seconds in (10.0, 20.0, 30.0)
        ]
        await tokens.end_session(connection, cookies[2])
        await tokens.end_session(connection, "none")
        await tokens.purge_sessions(connection, NOW + 10)
    async with store.reading() as connection:
        left = [await tokens.find_session(connection, cookie, NOW) for cookie in cookies]
    assert [session is not None for session in left] == [False, True, False]
    async with store.reading() as connection:
        kept = await connection.execute(sa.text("SELECT digest FROM sessions"))
        assert kept.scalars().all() == [tokens.digest(cookies[1])]


async def test_a_token_ends_with_the_one_that_it_was_made_with(store: Store) -> None:
    parent_id, _ = await issued(store, expires_at=NOW + DAY)
    async with store.reading() as connection:
        parent = await tokens.get(connection, parent_id)
    assert tokens.last_moment(parent, None) == NOW + DAY
    assert tokens.last_moment(parent, NOW + 2 * DAY) == NOW + DAY
    assert tokens.last_moment(parent, NOW + 1) == NOW + 1
    assert tokens.last_moment(None, None) is None


async def test_all_that_a_token_made_can_be_revoked_with_it(store: Store) -> None:
    first, _ = await issued(store)
    second, _ = await issued(store, parent=first)
    third, secret = await issued(store, parent=second)
    other, _ = await issued(store)
    token = await found(store, secret)
    assert token.parent == second
    async with store.writing() as connection:
        cookie, _ = await tokens.begin_session(connection, token, NOW, DAY)
        assert await tokens.revoke(connection, second, NOW) == [second]
    assert await found(store, secret) is not None  # it alone was revoked
    async with store.writing() as connection:
        assert await tokens.revoke(connection, first, NOW, made_with_it=True) == [first, third]
        assert await tokens.revoke(connection, first, NOW, made_with_it=True) == []
        assert await tokens.find_session(connection, cookie, NOW) is None
        assert await tokens.get_valid(connection, other, NOW) is not None
    assert await found(store, secret) is None


@pytest.mark.slow
async def test_a_long_line_of_tokens_is_revoked_at_once(store: Store) -> None:
    made = None
    async with store.writing() as connection:
        for _ in range(2_000):
            made, _ = await tokens.issue(connection, Role.READER, "", parent=made)
        assert len(await tokens.revoke(connection, 1, NOW, made_with_it=True)) == 2_000


async def test_all_valid_tokens_are_listed_and_the_newest_others(store: Store) -> None:
    async with store.writing() as connection:
        blue = await teams.add(connection, TeamName("blue"), "", "")
    ended = [(await issued(store, expires_at=NOW - DAY))[0] for _ in range(4)]
    old, _ = await issued(store, team_id=blue)
    revoked, _ = await issued(store, team_id=blue)
    new, _ = await issued(store)
    async with store.writing() as connection:
        await tokens.revoke(connection, revoked, NOW)
    for most, others in ((0, []), (2, [ended[-1], revoked]), (9, [*ended, revoked])):
        async with store.reading() as connection:
            known = await tokens.list_valid(connection, NOW, ended=most)
        assert [token.id for token in known] == sorted([old, new, *others])
    async with store.reading() as connection:
        known = await tokens.list_valid(connection, NOW, ended=9, team_id=blue)
    assert [token.id for token in known] == [old, revoked]
