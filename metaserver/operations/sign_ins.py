"""Signing people in: by a one-time link in a mail or a provider, and their sessions.

These are no operations that a caller asks for: they find out who the caller is. An answer reveals
nothing about known addresses: whoever proves an address that nobody has gets an account.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import DAY
from metaserver.base.viewer import Person, PersonLinkKind, Session, Token, person_name
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.openid import FAILURES, Answer, Claims, Provider
from metaserver.operations.recent import RecentCounts
from metaserver.operations.sign_ups import network_of
from metaserver.phases.mail import ADDRESS, MAX_ADDRESS, canonical
from metaserver.store import audit, people, tokens

T = TypeVar("T")
log = logging.getLogger(__name__)

OF_ORIGIN, ORIGIN_SECONDS = 20, 3600.0
"""The maximum links that a network address may request within so many seconds."""
OF_MAILBOX, MAILBOX_SECONDS = 5, 3600.0
"""The maximum mails to a mailbox within so many seconds; more are answered alike, and not sent."""
OPEN, OPEN_SECONDS = 1_000, 900.0
"""The maximum links that all may request within so many seconds."""


class SignInCounts(RecentCounts):
    """The sign-ins that each network address has asked for lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(OF_ORIGIN, ORIGIN_SECONDS, clock)


class SignIns:
    """The ways in which people sign in to a hub."""

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
        home = hub.settings.web.url.rstrip("/")
        self.providers = [
            Provider(one, f"{home}{provider_path(number)}/back", hub.servers.client, hub.clock)
            for number, one in enumerate(hub.settings.sign_in)
        ]

    @property
    def by_mail(self) -> bool:
        """True if the hub can send links."""
        return self._hub.notices.sign_ups.able

    async def ask(self, caller: Caller, email: str, browser: str) -> None:
        """Let a link be sent that signs in only the browser with this secret cookie.

        Raises `RefusedError` for what is no address, and for too many requests.
        """
        if not _is_address(email):
            raise RefusedError(
                Refusal.INVALID,
                "is not an e-mail address; expected one such as ana@example.org",
                field="email",
            )
        if not self.by_mail:
            raise RefusedError(Refusal.STATE, "this hub sends no mail: sign in with a token")
        self.count(caller)
        now, mailbox = self._hub.clock(), canonical(email)
        kind = PersonLinkKind.SIGN_IN
        async with self._hub.store.writing() as connection:
            await people.purge_links(connection, now, DAY)
            if await people.count_links(connection, kind, now - OPEN_SECONDS) >= OPEN:
                message = "too many people are signing in"
                raise RefusedError(Refusal.TOO_MANY, message, retry_after=OPEN_SECONDS)
            sent = await people.count_links(connection, kind, now - MAILBOX_SECONDS, mailbox)
            person = await people.of_address(connection, email)
            await people.add_link(
                connection,
                kind,
                now,
                email=person.email if person else email,  # never another spelling of the address
                mailbox=mailbox,
                browser=tokens.digest(browser),
                mail_due=sent < OF_MAILBOX,
            )
        self._hub.notices.sign_ups.wake()

    def count(self, caller: Caller) -> None:
        """Count a try of a network address; `RefusedError` if it has had too many."""
        if wait := self._hub.part(SignInCounts).take(network_of(caller.origin)):
            message = f"too many sign-ins from your network: try again in {wait / 60:.0f} min"
            raise RefusedError(Refusal.TOO_MANY, message, retry_after=wait)

    async def is_bound(self, secret: str, browser: str) -> bool:
        """Return whether a link can be used by this browser; looking does not use it."""
        async with self._hub.store.reading() as connection:
            found = await people.find_link(
                connection,
                PersonLinkKind.SIGN_IN,
                self._hub.clock(),
                secret=secret,
                browser=browser,
            )
        return found is not None

    async def by_link(self, secret: str, browser: str) -> Person:
        """Return the person whose mail had this link, and use it up; else `RefusedError`."""
        now = self._hub.clock()
        async with self._hub.store.writing() as connection:
            link = await people.find_link(
                connection, PersonLinkKind.SIGN_IN, now, secret=secret, browser=browser
            )
            if link is None or not await people.use_link(connection, link.id, now):
                raise _dead()
            return await _of_verified(connection, link.email, now)

    async def by_code(self, code: str, browser: str) -> Person:
        """Return the person whose mail had this code, and use it up; else `RefusedError`.

        A few wrong codes end the sign-in.
        """
        now, kind = self._hub.clock(), PersonLinkKind.SIGN_IN
        typed = re.sub(r"[\s-]", "", code[:40]).upper()
        async with self._hub.store.writing() as connection:
            link = await people.find_link(connection, kind, now, browser=browser)
            if link is None or link.tries >= people.CODE_TRIES:
                raise _dead()
            right = await people.find_link(connection, kind, now, browser=browser, code=typed)
            if right is not None and await people.use_link(connection, right.id, now):
                return await _of_verified(connection, right.email, now)
            await people.count_try(connection, browser)
        raise RefusedError(
            Refusal.INVALID,
            "is not the code in the newest mail; expected 8 characters",
            field="code",
        )

    async def to_provider(
        self, caller: Caller, provider: Provider, browser: str, adds: Person | None = None
    ) -> str:
        """Return the provider's address to which this browser is led.

        `adds` is the person to whose account the provider is added. Raises `RefusedError`.
        """
        self.count(caller)
        now, kind = self._hub.clock(), PersonLinkKind.PROVIDER
        address = await _heard(provider, provider.begin(browser))
        async with self._hub.store.writing() as connection:
            await people.purge_links(connection, now, DAY)
            person_id = adds.id if adds else None
            bound = tokens.digest(browser)
            await people.add_link(connection, kind, now, browser=bound, person_id=person_id)
        return address

    async def by_provider(self, provider: Provider, answer: Answer, browser: str) -> Person:
        """Return the person of whom a provider speaks, once; else `RefusedError`."""
        now, kind = self._hub.clock(), PersonLinkKind.PROVIDER
        if not browser or not provider.is_answer(answer, browser):
            raise _dead()
        async with self._hub.store.writing() as connection:
            link = await people.find_link(connection, kind, now, browser=browser)
            if link is None or not await people.use_link(connection, link.id, now):
                raise _dead()
        claims = await _heard(provider, provider.redeem(answer, browser))
        async with self._hub.store.writing() as connection:
            person = await people.of_identity(connection, claims.iss, claims.sub)
            if link.person_id is not None:
                return await _added(connection, person, link.person_id, claims, now)
            if person is not None:
                return person
            believed = provider.settings.emails and claims.email_verified
            email = claims.email if believed and _is_address(claims.email) else ""
            if email and await people.of_address(connection, email):
                message = (
                    "there is an account with this address already: sign in by mail, then"
                    " add the provider to your account"
                )
                raise RefusedError(Refusal.STATE, message)
            person = await people.add(
                connection, now, email=email, name=claims.shown, orcid=claims.orcid
            )
            await people.identify(connection, person.id, claims.iss, claims.sub, now)
            return person

    async def begin(
        self,
        person: Person,
        *,
        way: str,
        now: float,
        seconds: float,
        earlier: str | None,
        request_id: str,
        membership: int | None = None,
        team: str | None = None,
    ) -> tuple[str, Session]:
        """Begin a person's session; the `earlier` session of the browser is ended.

        The person acts by a membership, or for a team, or else by what was used last;
        `RefusedError` for a membership of somebody else. Returns the cookie and the session.
        """
        async with self._hub.store.writing() as connection:
            token = await _capacity(connection, person, membership, team, now)
            await tokens.purge_sessions(connection, now)
            if earlier:
                await tokens.end_session(connection, earlier)
            if token is not None:
                await tokens.touch(connection, token, now)
            session = await tokens.begin_session(connection, token, now, seconds, person)
            await audit.add(
                connection,
                actor=token.bearer if token else person_name(person.id, person.name),
                action="signin",
                subject=f"person {person.id}",
                detail={"way": way},
                request_id=request_id,
            )
        return session


def provider_path(number: int) -> str:
    """Return the path by which browsers are led to a provider; it comes back below it."""
    return f"/signin/with/{number}"


def _is_address(email: str) -> bool:
    return len(email) <= MAX_ADDRESS and re.fullmatch(ADDRESS, email) is not None


async def _heard(provider: Provider, answer: Awaitable[T]) -> T:
    """Await what a provider says; what is wrong with it is for the log."""
    try:
        return await answer
    except FAILURES as error:
        log.warning("sign-in by %s failed: %s", provider.settings.issuer, error)
        message = "the provider could not confirm who you are: try again, or sign in another way"
        raise RefusedError(Refusal.STATE, message) from error


async def _added(
    connection: AsyncConnection, known: Person | None, person_id: int, claims: Claims, now: float
) -> Person:
    """Add a provider's identity to an account, if it is nobody else's."""
    person = await people.get(connection, person_id)
    if person is None or (known is not None and known.id != person.id):
        raise RefusedError(Refusal.STATE, "this identity belongs to another account")
    if known is None:
        await people.identify(connection, person.id, claims.iss, claims.sub, now)
        if claims.orcid:
            await people.set_orcid(connection, person.id, claims.orcid)
        await audit.add(
            connection,
            actor=person_name(person.id, person.name),
            action="people.add-provider",
            subject=person_name(person.id, ""),
            detail={"issuer": claims.iss},
        )
    return person


async def _of_verified(connection: AsyncConnection, email: str, now: float) -> Person:
    """Return the person with an address that was just verified: a new person, if it is nobody's."""
    person = await people.of_address(connection, email)
    return person or await people.add(connection, now, email=email)


async def _capacity(
    connection: AsyncConnection,
    person: Person,
    membership: int | None,
    team: str | None,
    now: float,
) -> Token | None:
    """Return the membership that a person acts by."""
    await people.claim(connection, person, now)
    memberships = await tokens.memberships(connection, now, person_id=person.id)
    if membership is None:
        chosen = [token for token in memberships if token.team == team] if team else memberships
        return chosen[0] if chosen else None
    for token in memberships:
        if token.id == membership:
            return token
    raise RefusedError(Refusal.UNKNOWN, "you have no such membership", field="membership")


def _dead() -> RefusedError:
    message = "this link or code has been used, has expired, or was asked for in another browser"
    return RefusedError(Refusal.UNKNOWN, message)
