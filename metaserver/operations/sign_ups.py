"""Team sign-ups: requested by anybody, invited and decided by organisers.

An answer reveals nothing about known addresses: it is always the same, and e-mail is sent later, by
`phases.sign_up_mail`. `sign_up_links` has what is done with a link.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from ipaddress import ip_network
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import (
    DAY,
    NEXT_LINK,
    Challenge,
    LinkKind,
    SignUp,
    SignUpMode,
    SignUpState,
    link_path,
)
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import (
    END,
    GREATEST,
    NAME,
    NAME_HELP,
    ChallengeField,
    NewName,
    OneChallenge,
)
from metaserver.operations.recent import RecentCounts
from metaserver.operations.table import Scope, operation
from metaserver.phases.mail import ADDRESS, MAX_ADDRESS, canonical
from metaserver.store import people, sign_ups, teams
from metaserver.store.keys import digest_key, keyed_digest
from metaserver.store.tokens import digest

OPEN = 5_000
"""The most sign-ups of a day that are not confirmed, and the most that wait for approval."""
OF_ADDRESS = 3
"""The maximum sign-ups per mailbox and day; more are answered alike, and not kept."""
OF_ORIGIN, ORIGIN_SECONDS = 10, 3600.0
"""The maximum trials from a network address within so many seconds."""
SITE_BITS = 48
"""The bits of an IPv6 network that count as one address here: a customer may have all of it."""
OPEN_OF_ORIGIN = 20
"""The maximum undecided sign-ups per day from a network address."""
KEPT = 7 * DAY
"""Seconds for which a sign-up is kept whose link was not sent: an organiser may hand it out."""
LISTED = 1_000
INVITED = 200


class SignUpCounts(RecentCounts):
    """The sign-ups that each network address has tried lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(OF_ORIGIN, ORIGIN_SECONDS, clock)


_WAITS = (SignUpState.INVITED, SignUpState.UNCONFIRMED, SignUpState.WAITING)
_LINE = rf"^[^\x00-\x1f\x7f]*{END}"  # one line: it stands in headers of mail, and in tables

Address = Annotated[
    str,
    Meta(pattern=rf"^{ADDRESS}{END}", max_length=MAX_ADDRESS, description="The e-mail address"),
]
People = Annotated[
    str, Meta(min_length=1, max_length=2_000, description="The team's members, one name per line")
]
Affiliation = Annotated[
    str, Meta(max_length=200, pattern=_LINE, description="Your institution or company")
]
Accepted = Annotated[
    str, Meta(max_length=40, description="The version of the terms that you accept")
]
Code = Annotated[
    str, Meta(max_length=100, description="The invitation code, if the challenge needs one")
]
TeamNamed = Annotated[
    str,
    Meta(pattern=NAME, description=f"The team's name, which cannot be changed later: {NAME_HELP}"),
]


class NewSignUp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team that would like to take part."""

    challenge: ChallengeField
    team: TeamNamed
    people: People
    email: Address
    affiliation: Affiliation = ""
    terms: Accepted = ""
    code: Code = ""


class SignUpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a sign-up: the same for every address.

    A person who is signed in with the address has confirmed it: `secret` is that of the link.
    """

    message: str
    secret: str = ""


class OneSignUp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sign-up by its id."""

    id: Annotated[int, Meta(ge=1, le=GREATEST, description="The sign-up's id, as in the list")]


class Approval(OneSignUp, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sign-up to be approved."""

    team: Annotated[NewName, Meta(description="Another name for the team")] | None = None


class Invitations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People who are invited to bring a team."""

    challenge: ChallengeField
    emails: Annotated[
        tuple[Address, ...],
        Meta(min_length=1, max_length=INVITED, description="Their e-mail addresses"),
    ]


class SignUpLink(msgspec.Struct, frozen=True, kw_only=True):
    """A one-time link that an organiser hands out; `link` is shown only once.

    It begins with the hub's address (`web.url`), or if that is not set with the address that the
    request came by.
    """

    id: int
    kind: LinkKind
    link: str
    expires_at: float


_APPROVABLE = (SignUpState.WAITING,)


@operation("SignUps.begin", "POST /challenges/{challenge}/sign-ups", None)
async def begin(hub: HubContext, caller: Caller, request: NewSignUp) -> SignUpAnswer:
    """Sign up a team: a confirmation link is sent to its e-mail address.

    The answer is the same for every address.
    """
    challenge = await seen_challenge(hub, caller, request.challenge)
    site = network_of(caller.origin)
    if wait := hub.part(SignUpCounts).take(site):
        message = f"too many sign-ups from your network: try again in {wait / 60:.0f} min"
        raise RefusedError(Refusal.TOO_MANY, message, retry_after=wait)
    _require_open(challenge, request)
    now, mailbox = hub.clock(), canonical(request.email)
    person, secret = caller.person, ""
    own = person is not None and bool(person.email) and person.email == request.email
    async with hub.store.writing() as connection:
        await sign_ups.purge(connection, now, KEPT)
        key = await digest_key(connection)
        origin = keyed_digest(key, f"origin {site}".encode())
        await _require_room(connection, challenge, origin, now - DAY)
        count = await sign_ups.count(
            connection, tuple(SignUpState), mailbox=mailbox, since=now - DAY
        )
        if count < OF_ADDRESS:
            sign_up = await sign_ups.add(
                connection,
                challenge.id,
                now,
                state=SignUpState.UNCONFIRMED,
                team=request.team,
                people=request.people,
                email=request.email,
                affiliation=request.affiliation,
                terms_version=challenge.page.terms_version,
                origin=origin,
                code=digest(request.code) if request.code else None,
                mail_due=hub.notices.sign_ups.able and not own,
            )
            if own:
                new = await sign_ups.make_link(connection, sign_up, LinkKind.CONFIRM, now)
                secret = new.secret
    hub.notices.sign_ups.wake()
    return SignUpAnswer(message=_words(able=hub.notices.sign_ups.able), secret=secret)


def network_of(origin: Hashable) -> str:
    """Return an origin's network that one party may have: for IPv6 a /48 (RFC 6177)."""
    try:
        network = ip_network(str(origin))
    except ValueError:
        return str(origin)
    wide = network.version == 6 and network.prefixlen > SITE_BITS
    return str(network.supernet(new_prefix=SITE_BITS) if wide else network)


async def _require_room(
    connection: AsyncConnection, challenge: Challenge, origin: str, since: float
) -> None:
    """Raise `RefusedError` if too many sign-ups are open: from an origin, or in a challenge.

    Nobody alone can keep others out: an origin has few, and what is not confirmed counts for a day.
    Invitations do not count.
    """
    count = partial(sign_ups.count, connection, challenge_id=challenge.id)
    undecided = (SignUpState.UNCONFIRMED, SignUpState.WAITING)
    if await count(undecided, origin=origin, since=since) >= OPEN_OF_ORIGIN:
        message = (
            "too many sign-ups from your network are waiting to be confirmed: try again tomorrow"
        )
        raise RefusedError(Refusal.TOO_MANY, message, retry_after=DAY)
    unconfirmed = await count([SignUpState.UNCONFIRMED], since=since)
    if max(unconfirmed, await count([SignUpState.WAITING])) >= OPEN:
        message = "too many sign-ups are waiting: try again tomorrow, or write to the organisers"
        raise RefusedError(Refusal.STATE, message)


def _words(*, able: bool) -> str:
    if able:
        return (
            "A link is on its way to this address: open it within a day to confirm."
            " If it does not arrive, look in your spam folder"
        )
    return "This hub sends no mail: an organiser will send you a link to confirm"


def _require_open(challenge: Challenge, request: NewSignUp) -> None:
    page = challenge.page
    if page.sign_up is SignUpMode.CLOSED:
        message = (
            f"teams cannot sign up for {challenge.title or challenge.name} here: write to"
            " its organisers"
        )
        raise RefusedError(Refusal.STATE, message, field="challenge")
    if page.sign_up is SignUpMode.CODE and digest(request.code) != challenge.code:
        raise RefusedError(Refusal.INVALID, "is not the challenge's invitation code", field="code")
    require_terms(challenge, request.terms)


def require_terms(challenge: Challenge, accepted: str) -> None:
    """Raise `RefusedError` unless the newest terms were accepted."""
    page = challenge.page
    if page.terms and accepted != page.terms_version:
        message = f"accept the terms (version {page.terms_version}) to sign up"
        raise RefusedError(Refusal.INVALID, message, field="terms")


@operation(
    "SignUps.list", "GET /challenges/{challenge}/sign-ups", Role.ORGANISER, scope=Scope.CHALLENGE
)
async def list_(hub: HubContext, caller: Caller, request: OneChallenge) -> Sequence[SignUp]:
    """Return a challenge's sign-ups, newest first."""
    challenge = await seen_challenge(hub, caller, request.challenge)
    async with hub.store.reading() as connection:
        return await sign_ups.list_all(connection, challenge.name, LISTED)


@operation(
    "SignUps.invite",
    "POST /challenges/{challenge}/invitations",
    Role.ORGANISER,
    scope=Scope.CHALLENGE,
)
async def invite(hub: HubContext, caller: Caller, request: Invitations) -> Sequence[SignUp]:
    """Invite people by their addresses: each is sent a link, good for 14 days.

    An invited team takes part once it has filled in the form that the link opens.
    """
    challenge = await seen_challenge(hub, caller, request.challenge)
    async with hub.store.writing() as connection:
        ids = [
            await sign_ups.add(
                connection,
                challenge.id,
                hub.clock(),
                state=SignUpState.INVITED,
                email=email,
                mail_due=hub.notices.sign_ups.able,
            )
            for email in {email.lower(): email for email in request.emails}.values()
        ]
        sign_ups_made = [await sign_ups.get(connection, sign_up_id) for sign_up_id in ids]
        await audit_log(connection, caller, "sign-ups.invite", challenge.name, people=len(ids))
    hub.notices.sign_ups.wake()
    return [sign_up for sign_up in sign_ups_made if sign_up]


@operation("SignUps.approve", "POST /sign-ups/{id}/approve", Role.ORGANISER, scope=Scope.SIGN_UP)
async def approve(hub: HubContext, caller: Caller, request: Approval) -> SignUp:
    """Let a team in: it is made, and sent a one-time link to its first token.

    On a hub that sends no mail its address need not be confirmed before: you hand the link out.
    """
    async with hub.store.writing() as connection:
        states = (
            _APPROVABLE if hub.notices.sign_ups.able else (*_APPROVABLE, SignUpState.UNCONFIRMED)
        )
        waiting = await _waiting(connection, request.id, states)
        name = request.team or waiting.team
        await let_in(connection, waiting, name, hub.clock(), mail_due=hub.notices.sign_ups.able)
        await audit_log(connection, caller, "sign-ups.approve", f"sign-up {waiting.id}", team=name)
        approved = await sign_ups.get(connection, waiting.id)
    hub.notices.sign_ups.wake()
    assert approved is not None
    return approved


@operation("SignUps.decline", "POST /sign-ups/{id}/decline", Role.ORGANISER, scope=Scope.SIGN_UP)
async def decline(hub: HubContext, caller: Caller, request: OneSignUp) -> SignUp:
    """Decline a sign-up, or take an invitation back. No mail is sent: write to them yourself."""
    async with hub.store.writing() as connection:
        sign_up_known = await _known(connection, request.id)
        if sign_up_known.state not in _WAITS:
            raise RefusedError(
                Refusal.STATE, f"sign-up {sign_up_known.id} is {sign_up_known.state}", field="id"
            )
        values = {"state": SignUpState.DECLINED, "decided_at": hub.clock(), "mail_due": False}
        await sign_ups.change(connection, sign_up_known.id, **values)
        await audit_log(
            connection,
            caller,
            "sign-ups.decline",
            f"sign-up {sign_up_known.id}",
            team=sign_up_known.team,
        )
        declined = await sign_ups.get(connection, sign_up_known.id)
    assert declined is not None
    return declined


@operation(
    "SignUps.links",
    "POST /challenges/{challenge}/sign-up-links",
    Role.ORGANISER,
    scope=Scope.CHALLENGE,
)
async def links(hub: HubContext, caller: Caller, request: OneChallenge) -> Sequence[SignUpLink]:
    """Return a new link for each sign-up that needs one, newest first; earlier links end."""
    return [
        await link(hub, caller, OneSignUp(id=one.id))
        for one in await list_(hub, caller, request)
        if one.state in NEXT_LINK
    ]


@operation("SignUps.link", "POST /sign-ups/{id}/link", Role.ORGANISER, scope=Scope.SIGN_UP)
async def link(hub: HubContext, caller: Caller, request: OneSignUp) -> SignUpLink:
    """Return a new link that a sign-up goes on with, to be handed out; earlier links end.

    Whoever opens it acts for the team: give it only to its members.
    """
    now = hub.clock()
    async with hub.store.writing() as connection:
        sign_up_known = await _known(connection, request.id)
        kind = NEXT_LINK.get(sign_up_known.state)
        if kind is None:
            message = f"sign-up {sign_up_known.id} is {sign_up_known.state}: it needs no link"
            raise RefusedError(Refusal.STATE, message, field="id")
        new_link = await sign_ups.make_link(connection, sign_up_known.id, kind, now)
        await sign_ups.change(connection, sign_up_known.id, mail_due=False)
        await audit_log(
            connection,
            caller,
            "sign-ups.link",
            f"sign-up {sign_up_known.id}",
            kind=kind.value,
            team=sign_up_known.team,
        )
    address = hub.address_for(caller) + link_path(new_link.secret)
    return SignUpLink(id=sign_up_known.id, kind=kind, link=address, expires_at=new_link.expires_at)


def taken(name: str) -> RefusedError:
    """Return the refusal for a team name that is taken."""
    message = f"the team name {name!r} is taken: choose another name"
    return RefusedError(Refusal.STATE, message, field="team")


async def let_in(
    connection: AsyncConnection,
    sign_up: SignUp,
    name: str,
    now: float,
    *,
    mail_due: bool,
    automatic: bool = False,
) -> None:
    """Make a sign-up's team; `RefusedError` if its name is taken."""
    if await teams.is_taken(connection, name):
        raise taken(name)
    team_id = await teams.add(connection, TeamName(name), sign_up.affiliation, sign_up.email)
    await sign_ups.change(
        connection,
        sign_up.id,
        state=SignUpState.APPROVED,
        team=name,
        team_id=team_id,
        decided_at=now,
        automatic=automatic,
        mail_due=mail_due,
        mail_at=None,
        failures=0,
    )
    person = await people.of_address(connection, sign_up.email)
    if person is not None:
        await people.claim(connection, person, now)


async def _known(connection: AsyncConnection, sign_up: int) -> SignUp:
    stored = await sign_ups.get(connection, sign_up)
    if stored is None:
        raise RefusedError(Refusal.UNKNOWN, f"there is no sign-up {sign_up}", field="id")
    return stored


async def _waiting(
    connection: AsyncConnection, sign_up: int, states: Sequence[SignUpState]
) -> SignUp:
    stored = await _known(connection, sign_up)
    if stored.state not in states:
        message = f"sign-up {stored.id} is {stored.state}: it is not waiting for approval"
        raise RefusedError(Refusal.STATE, message, field="id")
    return stored
