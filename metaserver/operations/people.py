"""A person's own account, and the invitations that the person accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.base.viewer import PersonLink, PersonLinkKind, person_name
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import Title
from metaserver.operations.memberships import require_another_owner
from metaserver.operations.table import Nothing, operation
from metaserver.store import people, tokens

DELETE = "delete"
"""The word that confirms a deletion."""

Name = Annotated[
    Title, Meta(title="Your name", description="Your name as your teams and the audit log show it")
]
Secret = Annotated[str, Meta(max_length=100, description="The last part of the link")]


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """A person's membership: a team, or a role on a challenge or the hub.

    `since` is in Unix seconds.
    """

    id: int
    role: Role
    team: str | None
    challenge: str | None
    owner: bool
    since: float
    challenge_title: str = ""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept of a person. `acts_by` is the membership of the session."""

    id: int
    email: str
    name: str
    orcid: str
    created_at: float
    issuers: Sequence[str]
    memberships: Sequence[Capacity]
    acts_by: int | None


class NewPersonName(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's new name."""

    name: Name


class Deletion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An account to be deleted."""

    confirm: Annotated[str, Meta(max_length=20, title="Confirm", description=f"Write “{DELETE}”")]


class OneInvitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The link of an invitation."""

    secret: Secret


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """What an invitation gives."""

    role: Role
    team: str | None
    challenge: str | None
    owner: bool
    challenge_title: str = ""


@operation("People.me", "GET /account", None)
async def me(hub: HubContext, caller: Caller, _request: Nothing) -> Account:
    """Return all that is kept of the person who is signed in."""
    person = caller.require_person()
    async with hub.store.reading() as connection:
        issuers = await people.issuers_of(connection, person.id)
        held = await tokens.memberships(connection, hub.clock(), person_id=person.id)
    memberships = [convert(token, Capacity, since=token.created_at) for token in held]
    return convert(
        person, Account, issuers=issuers, memberships=memberships, acts_by=caller.token_id
    )


@operation("People.rename", "PATCH /account", None)
async def rename(hub: HubContext, caller: Caller, request: NewPersonName) -> None:
    """Change the name of the person who is signed in."""
    person = caller.require_person()
    async with hub.store.writing() as connection:
        await people.rename(connection, person.id, request.name.strip())
        await audit_log(connection, caller, "people.rename", person_name(person.id, ""))


@operation("People.delete", "POST /account/delete", None)
async def delete(hub: HubContext, caller: Caller, request: Deletion) -> None:
    """Delete the account of the person who is signed in, with their memberships and tokens.

    Teams and runs stay. The only owner of a team must first make another member its owner.
    """
    person, now = caller.require_person(), hub.clock()
    if request.confirm != DELETE:
        raise RefusedError(Refusal.INVALID, f"type “{DELETE}” to confirm", field="confirm")
    async with hub.store.writing() as connection:
        for token in await tokens.memberships(connection, now, person_id=person.id):
            if token.team_id is None:
                continue
            if len(await tokens.memberships(connection, now, team_id=token.team_id)) > 1:
                await require_another_owner(connection, token, now)
        await people.delete(connection, person, now)
        await audit_log(
            connection,
            Caller(name=person_name(person.id, ""), request_id=caller.request_id),
            "people.delete",
            person_name(person.id, ""),
        )


@operation("People.look", "POST /invitations/look", None)
async def look(hub: HubContext, _caller: Caller, request: OneInvitation) -> Invitation:
    """Return what an invitation gives, without using it up."""
    async with hub.store.reading() as connection:
        link = await people.find_link(
            connection, PersonLinkKind.INVITATION, hub.clock(), secret=request.secret
        )
    return _seen(link)


@operation("People.accept", "POST /invitations/accept", None)
async def accept(hub: HubContext, caller: Caller, request: OneInvitation) -> Capacity:
    """Accept an invitation as the person who is signed in."""
    person, now = caller.require_person(), hub.clock()
    async with hub.store.writing() as connection:
        link = await people.find_link(
            connection, PersonLinkKind.INVITATION, now, secret=request.secret
        )
        invitation = _seen(link)
        assert link is not None
        if not await people.use_link(connection, link.id, now):
            raise _dead()
        id_ = await people.join(
            connection,
            person,
            invitation.role,
            now,
            team_id=link.team_id,
            owner=invitation.owner,
            challenge=link.challenge,
        )
        of = {"team": link.team, "challenge": link.challenge}
        detail = {"role": invitation.role.value, **of, "invitation": link.id}
        await audit_log(connection, caller, "people.accept", person_name(person.id, ""), **detail)
    return Capacity(
        id=id_,
        role=invitation.role,
        owner=invitation.owner,
        since=now,
        **of,
        challenge_title=link.challenge_title,
    )


def _seen(link: PersonLink | None) -> Invitation:
    if link is None or link.role is None:
        raise _dead()
    return convert(link, Invitation)


def _dead() -> RefusedError:
    message = "this invitation has been used, withdrawn, or has expired"
    return RefusedError(Refusal.UNKNOWN, message)
