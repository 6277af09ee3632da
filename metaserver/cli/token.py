"""`metaserver token`: tokens made in the store itself, even beside a running hub.

Anybody who may write the hub's files may do this.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncEngine

from metaserver.base.errors import InputError
from metaserver.base.phases import DAY
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.viewer import Token
from metaserver.cli.folder import hub_settings, make_folder
from metaserver.operations.tokens import OF_NO_TEAM
from metaserver.store import audit, teams, tokens
from metaserver.store.database import reading, writing
from metaserver.store.opening import is_made, making, opened_for_reading
from metaserver.store.place import StorePlace
from metaserver.web.ui.formatting import day
from scoring.cells import inert

Action: TypeAlias = Callable[[argparse.Namespace, AsyncEngine, StorePlace], Awaitable[None]]


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    place, does = _store(args), ACTIONS[args.action]
    if isinstance(place, Path) and not place.exists():
        make_folder(place.parent)
    asyncio.run(_do(does, args, place))
    return 0


async def _do(does: Action, args: argparse.Namespace, place: StorePlace) -> None:
    """Do something in a store, whoever else has it open; make it first if there is none."""
    if not await is_made(place):
        async with making(place):
            pass
    async with opened_for_reading(place) as engine:
        await does(args, engine, place)


def _store(args: argparse.Namespace) -> StorePlace:
    return Path(args.store) if args.store is not None else hub_settings(args.config).place()


async def _create(args: argparse.Namespace, engine: AsyncEngine, place: StorePlace) -> None:
    role, expires_at = Role(args.role), _expiry(args.expires)
    if not args.label.isprintable() or len(args.label) > 100:
        raise InputError("--label", "expected at most 100 printable characters")
    if (role is Role.TEAM) > (args.team is not None):
        raise InputError("--team", "a team's token needs its team")
    if role in OF_NO_TEAM and args.team is not None:
        raise InputError(
            "--team", f"must be empty: a token with the role {role} belongs to no team"
        )
    async with writing(engine, place) as connection:
        team_id = None
        if args.team is not None:
            team = await teams.get(connection, TeamName(args.team))
            if team is None or team.retired_at is not None:
                raise InputError("--team", f"there is no team {args.team!r} in {place}")
            team_id = team.id
        token_id, secret = await tokens.issue(
            connection, role, args.label, team_id=team_id, expires_at=expires_at
        )
        await audit.add(
            connection,
            actor=_actor(),
            action="tokens.create",
            subject=f"token {token_id}",
            detail={"role": role.value, "team": args.team, "label": args.label},
        )
    print(secret)


async def _list(_: argparse.Namespace, engine: AsyncEngine, place: StorePlace) -> None:
    async with reading(engine, place) as connection:
        listed = await tokens.list_all(connection)
    print("id\trole\tteam\tlabel\tstate\tmade\tlast used\tmade with")
    for token in listed:
        used = day(token.used_at) if token.used_at else "never"
        whose = f"{token.role}\t{token.team or ''}\t{inert(token.label)}"
        made_by = f"{day(token.created_at)}\t{used}\t{token.parent or ''}"
        print(f"{token.id}\t{whose}\t{_state(token)}\t{made_by}")


async def _revoke(args: argparse.Namespace, engine: AsyncEngine, place: StorePlace) -> None:
    async with writing(engine, place) as connection:
        token = await tokens.get(connection, args.id)
        if token is None:
            raise InputError("ID", f"there is no token {args.id} in {place}")
        revoked = await tokens.revoke(
            connection, token.id, time.time(), made_with_it=args.made_with_it
        )
        other_tokens = [token_id for token_id in revoked if token_id != token.id]
        await audit.add(
            connection,
            actor=_actor(),
            action="tokens.revoke",
            subject=f"token {token.id}",
            detail={"others": other_tokens} if other_tokens else None,
        )


def _expiry(days: float | None) -> float | None:
    if days is not None and not 0 < days <= 3650:
        raise InputError("--expires", f"{days:g}; expected days, more than 0 and at most 3650")
    return None if days is None else time.time() + days * DAY


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is None:
        return "holds"
    return "expired" if token.expires_at <= time.time() else f"holds until {day(token.expires_at)}"


def _actor() -> str:
    """Return what the audit log calls who sits at the hub's machine."""
    try:
        return f"command line, {getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name
        return "command line"


ACTIONS: Mapping[str, Action] = {"create": _create, "list": _list, "revoke": _revoke}
