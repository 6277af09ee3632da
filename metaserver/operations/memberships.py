"""Memberships: which people belong to a team, or are organisers and curators of the hub.

A membership is a token that only the sessions of its person use: it ends as a token does, with the
tokens that were made by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import DAY
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.base.viewer import PersonLink, PersonLinkKind, Token, person_name
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import EMAIL, END, GREATEST, TeamField
from metaserver.operations.table import Scope, operation
from metaserver.operations.tokens import OF_NO_TEAM, OfChallenge, require_organiser_of
from metaserver.phases.mail import ADDRESS, MAX_ADDRESS, PERSON_PATHS, canonical
from metaserver.store import people, teams, tokens

MOST = 100
"""The most members of a team, and the most open invitations to it; also of hub and challenge."""
MAILS_A_DAY = 5
"""The most invitations per mailbox and day; more are answered alike, and not sent."""

InvitedRole = Annotated[
    Role, Meta(title="May do", description="Of a team: team. Of the hub: organiser or curator")
]
Owner = Annotated[
    bool, Meta(title="Owner", description="An owner also invites and removes members of the team")
]
InvitedEmail = Annotated[
    str,
    Meta(
        pattern=rf"^({ADDRESS})?{END}",
        max_length=MAX_ADDRESS,
        title="E-mail",
        description="Address that the invitation is sent to; empty: you pass the link on yourself",
        extra=EMAIL,
    ),
]


class MembershipQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team whose members are listed; none: organisers and curators, of one challenge its own."""

    team: TeamField | None = None


class NewInvitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An invitation to a team, or to a role on the hub."""

    role: InvitedRole = Role.TEAM
    team: TeamField | None = None
    email: InvitedEmail = ""
    owner: Owner = False
    challenge: OfChallenge | None = None


class OneInvitationId(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An invitation by its id."""

    id: Annotated[int, Meta(ge=1, le=GREATEST, description="The invitation's id")]


class OneMembership(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A membership by its id."""

    id: Annotated[int, Meta(ge=1, le=GREATEST, description="The membership's id")]


class Ownership(OneMembership, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A member who becomes an owner, or no longer is."""

    owner: Owner


class MembershipDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A person's membership. `since` is in Unix seconds."""

    id: int
    person: int
    name: str
    email: str
    role: Role
    team: str | None
    challenge: str | None
    owner: bool
    since: float
    challenge_title: str = ""


class InvitationDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An open invitation. `link` is shown once, to be handed out; empty: it is sent by mail."""

    id: int
    role: Role
    team: str | None
    challenge: str | None
    email: str
    owner: bool
    expires_at: float
    link: str = ""
    challenge_title: str = ""

    @classmethod
    def of(cls, link: PersonLink, address: str = "") -> InvitationDetail:
        """Return a stored invitation."""
        assert link.role is not None
        return convert(link, cls, link=address)


@operation("Memberships.list", "GET /memberships", Role.TEAM, scope=Scope.OWN)
async def list_(
    hub: HubContext, caller: Caller, request: MembershipQuery
) -> Sequence[MembershipDetail]:
    """Return the people of a team; without a team, for organisers, those of the hub.

    The organiser of one challenge sees its organisers.
    """
    async with hub.store.reading() as connection:
        team_id = await _team_id(connection, caller, request.team)
        held = await tokens.memberships(connection, hub.clock(), team_id=team_id)
        held = [token for token in held if token.team_id == team_id and _is_seen(caller, token)]
        known = await people.by_ids(connection, [_person_of(token) for token in held])
    return [
        convert(
            token,
            MembershipDetail,
            person=_person_of(token),
            name=known[_person_of(token)].name,
            email=known[_person_of(token)].email,
            since=token.created_at,
        )
        for token in sorted(held, key=lambda token: token.id)
    ]


@operation("Memberships.invite", "POST /memberships/invitations", Role.TEAM, scope=Scope.CHALLENGE)
async def invite(hub: HubContext, caller: Caller, request: NewInvitation) -> InvitationDetail:
    """Invite a person to a team, or as organiser or curator: by mail, or by a link to hand out.

    A team's owners invite to it. While it has none, whoever holds a token of it does. The
    organiser of one challenge invites other organisers of it.
    """
    _check_role(request)
    now, kind = hub.clock(), PersonLinkKind.INVITATION
    mails = bool(request.email) and hub.notices.sign_ups.able
    async with hub.store.writing() as connection:
        team_id = await _team_id(connection, caller, request.team)
        await _require_managing(connection, caller, request.team, team_id, now)
        if request.challenge is not None:
            await seen_challenge(hub, caller, request.challenge)
        held = await tokens.memberships(connection, now, team_id=team_id)
        opened = await people.invitations(connection, now, team_id)
        of = (team_id, request.challenge)
        present = [[(one.team_id, one.challenge) for one in listed] for listed in (held, opened)]
        if max(listed.count(of) for listed in present) >= MOST:
            raise RefusedError(
                Refusal.STATE,
                f"there are {MOST} members and open invitations already, which is the limit",
            )
        mailbox = canonical(request.email) if request.email else ""
        sent = await people.count_links(connection, kind, now - DAY, mailbox) if mails else 0
        id_ = await people.add_link(
            connection,
            kind,
            now,
            email=request.email,
            mailbox=mailbox,
            role=request.role.value,
            team_id=team_id,
            challenge=request.challenge,
            owner=request.owner,
            mail_due=mails and sent < MAILS_A_DAY,
        )
        address = ""
        if not mails:
            secret = (await people.make_secret(connection, id_)).secret
            address = hub.address_for(caller) + PERSON_PATHS[kind] + secret
        link = await people.get_invitation(connection, id_, now)
        assert link is not None
        detail = {"role": request.role.value, "team": request.team, "owner": request.owner}
        await audit_log(
            connection,
            caller,
            "memberships.invite",
            f"invitation {id_}",
            **detail,
            challenge=request.challenge,
        )
    hub.notices.sign_ups.wake()
    return InvitationDetail.of(link, address)


@operation("Memberships.invitations", "GET /memberships/invitations", Role.TEAM, scope=Scope.OWN)
async def invitations(
    hub: HubContext, caller: Caller, request: MembershipQuery
) -> Sequence[InvitationDetail]:
    """Return the open invitations to a team; without a team, for organisers, to the hub's roles.

    The organiser of one challenge sees those to organise it.
    """
    async with hub.store.reading() as connection:
        team_id = await _team_id(connection, caller, request.team)
        opened = await people.invitations(connection, hub.clock(), team_id)
    return [InvitationDetail.of(link) for link in opened if _is_seen(caller, link)]


@operation(
    "Memberships.withdraw",
    "POST /memberships/invitations/{id}/withdraw",
    Role.TEAM,
    scope=Scope.INVITATION,
)
async def withdraw(hub: HubContext, caller: Caller, request: OneInvitationId) -> None:
    """Take an invitation back: its link no longer works."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        link = await people.get_invitation(connection, request.id, now)
        if link is None or not _may_see(caller, link.team):
            message = f"there is no open invitation {request.id}"
            raise RefusedError(Refusal.UNKNOWN, message, field="id")
        await _require_managing(connection, caller, link.team, link.team_id, now)
        await people.delete_link(connection, link.id)
        await audit_log(
            connection, caller, "memberships.withdraw", f"invitation {link.id}", team=link.team
        )


@operation("Memberships.change", "PATCH /memberships/{id}", Role.TEAM)
async def change(hub: HubContext, caller: Caller, request: Ownership) -> None:
    """Make a member an owner of the team, or end that; the last owner stays owner."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        membership = await _membership(connection, caller, request.id, now)
        if membership.team_id is None:
            raise RefusedError(Refusal.STATE, "only teams have owners", field="id")
        await _require_managing(connection, caller, membership.team, membership.team_id, now)
        if not request.owner:
            await require_another_owner(connection, membership, now)
        await people.set_owner(connection, membership.id, owner=request.owner)
        await _note(connection, caller, "memberships.change", membership, owner=request.owner)


@operation("Memberships.end", "POST /memberships/{id}/end", Role.READER, scope=Scope.TOKEN)
async def end(hub: HubContext, caller: Caller, request: OneMembership) -> None:
    """Remove a member, or leave the team; tokens that the member created end too.

    The last owner of a team makes another member owner first.
    """
    now = hub.clock()
    async with hub.store.writing() as connection:
        membership = await _membership(connection, caller, request.id, now)
        own = caller.person is not None and caller.person.id == membership.person
        if not own:
            await _require_managing(connection, caller, membership.team, membership.team_id, now)
        if own or not caller.organiser:
            await require_another_owner(connection, membership, now)
        await tokens.revoke(connection, membership.id, now, made_with_it=True)
        await _note(connection, caller, "memberships.end", membership)


def _person_of(token: Token) -> int:
    assert token.person is not None
    return token.person


def _check_role(request: NewInvitation) -> None:
    require_organiser_of(request.role, request.challenge)
    if request.role in OF_NO_TEAM:
        if request.team is not None:
            message = f"must be empty: the role {request.role} belongs to no team"
            raise RefusedError(Refusal.INVALID, message, field="team")
        if request.owner:
            raise RefusedError(Refusal.INVALID, "only teams have owners", field="owner")
    elif request.role is not Role.TEAM:
        raise RefusedError(Refusal.INVALID, "must be team, organiser or curator", field="role")
    elif request.team is None:
        raise RefusedError(Refusal.INVALID, "is required", field="team")


def _may_see(caller: Caller, team: str | None) -> bool:
    if team is None:
        return caller.organiser
    return caller.challenge is None and caller.viewer.owns(team)


def _is_seen(caller: Caller, one: Token | PersonLink) -> bool:
    """Return whether a role is of the challenge that the caller organises alone."""
    return caller.challenge in (None, one.challenge)


async def _team_id(connection: AsyncConnection, caller: Caller, name: str | None) -> int | None:
    """Return the id of a team of the caller; None for the hub itself, which is organisers'."""
    if not _may_see(caller, name):
        raise caller.not_your_team()
    if name is None:
        return None
    team = await teams.get(connection, TeamName(name))
    if team is None or team.retired_at is not None:
        raise RefusedError(Refusal.UNKNOWN, f"there is no team {name!r}", field="team")
    return team.id


async def _require_managing(
    connection: AsyncConnection, caller: Caller, team: str | None, team_id: int | None, now: float
) -> None:
    """Raise `RefusedError` unless the caller decides who belongs to a team."""
    if caller.organiser:
        return
    own = team_id is not None and _may_see(caller, team)
    if not own or (not caller.owner and await people.owners(connection, team_id or 0, now)):
        message = "only an owner of the team may do this, signed in with an account"
        raise RefusedError(Refusal.NOT_YOURS, message)


async def _membership(connection: AsyncConnection, caller: Caller, id_: int, now: float) -> Token:
    membership = await tokens.get_valid(connection, id_, now)
    if membership is not None and membership.person is not None:
        own = caller.person is not None and caller.person.id == membership.person
        if own or _may_see(caller, membership.team):
            return membership
    raise RefusedError(Refusal.UNKNOWN, f"there is no membership {id_}", field="id")


async def require_another_owner(connection: AsyncConnection, membership: Token, now: float) -> None:
    """Raise `RefusedError` if a team would be left without an owner."""
    if not membership.owner or membership.team_id is None:
        return
    if len(await people.owners(connection, membership.team_id, now)) < 2:
        message = (
            f"team {membership.team} would have no owner left: make another member an owner first"
        )
        raise RefusedError(Refusal.STATE, message)


async def _note(
    connection: AsyncConnection,
    caller: Caller,
    action: str,
    membership: Token,
    **detail: object,
) -> None:
    person = person_name(_person_of(membership), "")
    of = {"team": membership.team, "challenge": membership.challenge}
    role = membership.role.value
    await audit_log(connection, caller, action, person, role=role, **of, **detail)
