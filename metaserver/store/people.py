"""Queries for people: accounts, identities, memberships, one-time links.

An address belongs to one account in all its spellings that differ by letter case alone. Only
digests of links and codes are stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.states import Role
from metaserver.base.viewer import (
    PERSON_LINK_SECONDS,
    Person,
    PersonLink,
    PersonLinkKind,
    Token,
    person_name,
)
from metaserver.store import tokens
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import (
    audit,
    challenges,
    consensus_models,
    curation_rulings,
    curations,
    identities,
    person_links,
    persons,
    requests,
    sessions,
    sign_ups,
    teams,
)
from metaserver.store.tables import tokens as tokens_table
from metaserver.store.tokens import digest

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""The letters of codes: none looks like another."""
CODE_LENGTH = 8
CODE_TRIES = 5
"""How many wrong codes end a sign-in."""

_LINKS = person_links.c
_NAMED = (
    audit.c.actor,
    requests.c.caller,
    curations.c.curator,
    curation_rulings.c.adjudicator,
    consensus_models.c.made_by,
)
"""The columns that name who did something."""


class NewSecret(NamedTuple):
    """A one-time link's secret and the code that may be typed instead; they are not kept."""

    secret: str
    code: str


# -- accounts --------------------------------------------------------------------------------------


async def add(
    connection: AsyncConnection, now: float, *, email: str = "", name: str = "", orcid: str = ""
) -> Person:
    """Store a new person; the address must be nobody's."""
    row = {"email": email, "address": email.lower() or None, "name": name, "orcid": orcid}
    id_ = await insert(connection, persons, {**row, "created_at": now})
    return Person(id=id_, email=email, name=name, orcid=orcid, created_at=now)


async def get(connection: AsyncConnection, person: int) -> Person | None:
    """Return a person by id."""
    return await read_first(connection, sa.select(persons).where(persons.c.id == person), Person)


async def of_address(connection: AsyncConnection, email: str) -> Person | None:
    """Return the person whose address this is, whatever its letter case."""
    return await read_first(
        connection, sa.select(persons).where(persons.c.address == email.lower()), Person
    )


async def of_identity(connection: AsyncConnection, issuer: str, subject: str) -> Person | None:
    """Return the person with a provider's identity."""
    query = sa.select(persons).join(identities, identities.c.person_id == persons.c.id)
    same = (identities.c.issuer == issuer, identities.c.subject == subject)
    return await read_first(connection, query.where(*same), Person)


async def identify(
    connection: AsyncConnection, person: int, issuer: str, subject: str, now: float
) -> None:
    """Store a provider's identity of a person; it must be nobody's."""
    row = {"issuer": issuer, "subject": subject, "person_id": person, "created_at": now}
    await connection.execute(sa.insert(identities).values(row))


async def issuers_of(connection: AsyncConnection, person: int) -> Sequence[str]:
    """Return the providers that a person signs in with."""
    query = sa.select(identities.c.issuer).where(identities.c.person_id == person)
    return list((await connection.execute(query.order_by(identities.c.issuer))).scalars())


async def list_all(connection: AsyncConnection, limit: int) -> Sequence[Person]:
    """Return the people, the newest first."""
    query = sa.select(persons).order_by(persons.c.id.desc()).limit(limit)
    return [read_row(row, Person) for row in await connection.execute(query)]


async def by_ids(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, Person]:
    """Return people by their ids."""
    query = sa.select(persons).where(persons.c.id.in_(ids))
    return {row.id: read_row(row, Person) for row in await connection.execute(query)}


async def rename(connection: AsyncConnection, person: int, name: str) -> None:
    """Change a person's name, which is also the label of their memberships."""
    await connection.execute(sa.update(persons).where(persons.c.id == person).values(name=name))
    theirs = tokens_table.c.person_id == person
    await connection.execute(sa.update(tokens_table).where(theirs).values(label=name))


async def set_orcid(connection: AsyncConnection, person: int, orcid: str) -> None:
    """Store the ORCID iD that a person has proved."""
    await connection.execute(sa.update(persons).where(persons.c.id == person).values(orcid=orcid))


async def delete(connection: AsyncConnection, person: Person, now: float) -> None:
    """Delete an account and what is kept of the person; what the person did keeps a number."""
    memberships = sa.select(tokens_table.c.id).where(tokens_table.c.person_id == person.id)
    for token_id in (await connection.execute(memberships)).scalars().all():
        await tokens.revoke(connection, token_id, now, made_with_it=True)
    await connection.execute(sa.delete(sessions).where(sessions.c.person_id == person.id))
    await connection.execute(sa.delete(identities).where(identities.c.person_id == person.id))
    await connection.execute(sa.delete(person_links).where(_LINKS.person_id == person.id))
    await connection.execute(
        sa.update(tokens_table)
        .where(tokens_table.c.person_id == person.id)
        .values(label="", person_id=None)
    )
    stays = person_name(person.id, "")
    for column in _NAMED:
        named = sa.or_(column.startswith(f"{stays} "), column.startswith(f"{stays},"))
        query = sa.update(column.table).where(named).values({column.name: stays})
        await connection.execute(query)
    if person.email:
        address = person.email.lower()
        for table, values in (
            (teams, {"email": ""}),
            (sign_ups, {"email": "", "people": "", "mail_due": False}),
            (person_links, {"email": "", "mailbox": "", "mail_due": False}),
        ):
            theirs = sa.func.lower(table.c.email) == address
            await connection.execute(sa.update(table).where(theirs).values(values))
        await _forget_in_audit(connection, address)
    await connection.execute(sa.delete(persons).where(persons.c.id == person.id))


async def _forget_in_audit(connection: AsyncConnection, address: str) -> None:
    """Take an address out of the entries of changes of teams' contacts."""
    query = sa.select(audit.c.id, audit.c.detail).where(audit.c.action == "teams.update")
    for row in (await connection.execute(query)).all():
        detail = msgspec.json.decode(row.detail or b"{}")
        if str(detail.get("email", "")).lower() == address:
            values = {"detail": msgspec.json.encode(detail | {"email": ""})}
            await connection.execute(sa.update(audit).where(audit.c.id == row.id).values(values))


# -- memberships: tokens that are a person's -------------------------------------------------------


async def join(
    connection: AsyncConnection,
    person: Person,
    role: Role,
    now: float,
    *,
    team_id: int | None = None,
    owner: bool = False,
    challenge: str | None = None,
) -> int:
    """Make a person a member, unless the person is already; return the membership's id."""
    for known in await tokens.memberships(connection, now, person_id=person.id):
        if (known.role, known.team_id, known.challenge) == (role, team_id, challenge):
            if owner and not known.owner:
                await set_owner(connection, known.id, owner=True)
            return known.id
    id_, _ = await tokens.issue(
        connection,
        role,
        person.name,
        team_id=team_id,
        person=person.id,
        owner=owner,
        challenge=challenge,
    )
    return id_


async def set_owner(connection: AsyncConnection, membership: int, *, owner: bool) -> None:
    """Make a member an owner of the team, or no longer."""
    query = sa.update(tokens_table).where(tokens_table.c.id == membership)
    await connection.execute(query.values(owner=owner))


async def owners(connection: AsyncConnection, team_id: int, now: float) -> Sequence[Token]:
    """Return the memberships of a team's owners."""
    members = await tokens.memberships(connection, now, team_id=team_id)
    return [member for member in members if member.owner]


async def claim(connection: AsyncConnection, person: Person, now: float) -> Sequence[str]:
    """Make a person the owner of the teams whose contact they are and that have no owner.

    Returns the teams' names.
    """
    if not person.email:
        return []
    theirs = sa.func.lower(teams.c.email) == person.email.lower()
    query = sa.select(teams.c.id, teams.c.name).where(theirs, teams.c.retired_at.is_(None))
    claimed = []
    for row in (await connection.execute(query)).all():
        if not await owners(connection, row.id, now):
            await join(connection, person, Role.TEAM, now, team_id=row.id, owner=True)
            claimed.append(row.name)
    return claimed


# -- one-time links --------------------------------------------------------------------------------


async def add_link(
    connection: AsyncConnection, kind: PersonLinkKind, now: float, **values: Any
) -> int:
    """Store a one-time link without a secret; return its id. `values` are columns.

    A browser has one link of a kind: earlier links end.
    """
    if browser := values.get("browser"):
        earlier = sa.and_(_LINKS.browser == browser, _LINKS.kind == kind.value)
        await connection.execute(sa.delete(person_links).where(earlier))
    row = {
        "kind": kind.value,
        "email": "",
        "mailbox": "",
        "mail_due": False,
        "created_at": now,
        "expires_at": now + PERSON_LINK_SECONDS[kind],
    }
    return await insert(connection, person_links, row | values)


async def make_secret(connection: AsyncConnection, link: int) -> NewSecret:
    """Make a link's secret and its code; earlier codes no longer work."""
    secret = secrets.token_hex(32)
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    query = sa.update(person_links).where(_LINKS.id == link)
    await connection.execute(query.values(digest=digest(secret), code=digest(code)))
    return NewSecret(secret, code)


async def find_link(
    connection: AsyncConnection,
    kind: PersonLinkKind,
    now: float,
    *,
    secret: str | None = None,
    browser: str | None = None,
    code: str | None = None,
) -> PersonLink | None:
    """Return the usable link with these secrets; None if it is used, over, or unknown."""
    query = _links().where(_LINKS.kind == kind.value, _is_good(now))
    for column, given in ((_LINKS.digest, secret), (_LINKS.browser, browser), (_LINKS.code, code)):
        if given is not None:
            query = query.where(column == digest(given))
    return await read_first(connection, query, PersonLink)


async def use_link(connection: AsyncConnection, link: int, now: float) -> bool:
    """Use a link; return False if it cannot be used."""
    unused = sa.and_(_LINKS.id == link, _LINKS.used_at.is_(None), _LINKS.expires_at > now)
    query = sa.update(person_links).where(unused).values(used_at=now)
    return bool((await connection.execute(query)).rowcount)


async def count_try(connection: AsyncConnection, browser: str) -> None:
    """Count a wrong code that a browser's user typed."""
    query = sa.update(person_links).where(_LINKS.browser == digest(browser))
    await connection.execute(query.values(tries=_LINKS.tries + 1))


async def count_links(
    connection: AsyncConnection, kind: PersonLinkKind, since: float, mailbox: str | None = None
) -> int:
    """Count the links of a kind that were made since a moment: all, or a mailbox's."""
    query = sa.select(sa.func.count()).where(_LINKS.kind == kind.value, _LINKS.created_at >= since)
    if mailbox is not None:
        query = query.where(_LINKS.mailbox == mailbox)
    return int((await connection.execute(query)).scalar_one())


async def invitations(
    connection: AsyncConnection, now: float, team_id: int | None
) -> Sequence[PersonLink]:
    """Return the open invitations to a team, or to the hub's roles, newest first."""
    query = _links().where(
        _LINKS.kind == PersonLinkKind.INVITATION.value,
        _LINKS.team_id.is_not_distinct_from(team_id),
        _is_good(now),
    )
    return [
        read_row(row, PersonLink)
        for row in await connection.execute(query.order_by(_LINKS.id.desc()))
    ]


async def get_invitation(connection: AsyncConnection, link: int, now: float) -> PersonLink | None:
    """Return an open invitation by its id."""
    query = _links().where(
        _LINKS.id == link, _LINKS.kind == PersonLinkKind.INVITATION.value, _is_good(now)
    )
    return await read_first(connection, query, PersonLink)


async def delete_link(connection: AsyncConnection, link: int) -> None:
    """Delete a link."""
    await connection.execute(sa.delete(person_links).where(_LINKS.id == link))


async def delete_invitations(connection: AsyncConnection, challenge: str) -> None:
    """Delete the invitations to organise a challenge."""
    await connection.execute(sa.delete(person_links).where(_LINKS.challenge == challenge))


async def delete_links(connection: AsyncConnection, kind: PersonLinkKind) -> None:
    """Delete all links of a kind."""
    await connection.execute(sa.delete(person_links).where(_LINKS.kind == kind.value))


async def purge_links(connection: AsyncConnection, now: float, seconds_kept: float) -> None:
    """Delete the links that ended so many seconds ago."""
    await connection.execute(sa.delete(person_links).where(_LINKS.expires_at <= now - seconds_kept))


async def due(connection: AsyncConnection, now: float, at: float) -> Sequence[PersonLink]:
    """Return the links whose mail is to be sent by `at`, oldest first."""
    later = sa.func.coalesce(_LINKS.mail_at, 0.0) > at
    query = _links().where(_LINKS.mail_due, ~later, _is_good(now)).order_by(_LINKS.id)
    return [read_row(row, PersonLink) for row in await connection.execute(query)]


async def mailed(connection: AsyncConnection, link: int, **values: Any) -> None:
    """Change a link's columns after its e-mail."""
    query = sa.update(person_links).where(_LINKS.id == link)
    await connection.execute(query.values(**values))


def _is_good(now: float) -> sa.ColumnElement[bool]:
    return sa.and_(_LINKS.used_at.is_(None), _LINKS.expires_at > now, teams.c.retired_at.is_(None))


def _links() -> sa.Select[Any]:
    title = sa.func.coalesce(challenges.c.title, "").label("challenge_title")
    return sa.select(person_links, teams.c.name.label("team"), title).select_from(
        person_links.outerjoin(teams, teams.c.id == _LINKS.team_id).outerjoin(
            challenges, challenges.c.name == _LINKS.challenge
        )
    )
