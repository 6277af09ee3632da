"""Mail with the one-time links of sign-ups.

A sign-up whose mail is due stays so in the store until it was sent: a restart forgets none. The
link is made when its mail is sent, so that no secret has to be kept until then.
"""

from __future__ import annotations

import asyncio
import logging
import math
import smtplib
from collections.abc import Callable
from contextlib import suppress

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError
from metaserver.base.phases import DAY, LINK_SECONDS, NEXT_LINK, LinkKind, SignUp, link_path
from metaserver.config import Settings
from metaserver.phases.mail import send_mail
from metaserver.store import sign_ups
from metaserver.store.store import Store

AGAIN_SECONDS = 60.0
"""Seconds until a mail that could not be sent is tried again; then twice as long, and so on."""
MOST_SECONDS = 3_600.0
"""The longest of these waits: a mail is tried until it is sent, or its sign-up is deleted."""

SUBJECTS = {
    LinkKind.CONFIRM: "confirm team {team}",
    LinkKind.INVITATION: "an invitation",
    LinkKind.TOKEN: "team {team} is in",
}
TEXTS = {
    LinkKind.CONFIRM: """Somebody, you we hope, signed team {team} up for the challenge {challenge}.
Confirm it here:

{link}

The link is good for {good}, and once.
If it was not you, ignore this message: nothing happens then.
""",
    LinkKind.INVITATION: """The organisers of the challenge {challenge} invite you to take part.
Name your team here:

{link}

The link is good for {good}, and once.
If you do not want to, ignore this message.
""",
    LinkKind.TOKEN: """Team {team} takes part in the challenge {challenge}.
Its first token, with which you sign in, is shown once here:

{link}

The link is good for {good}, and once.
Whoever opens it acts for your team: do not pass it on.
""",
}

log = logging.getLogger(__name__)


class SignUpMailer:
    """The sender of one-time links; `clock` returns Unix seconds."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float]) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._due = asyncio.Event()
        self._due.set()  # of an earlier run

    @property
    def able(self) -> bool:
        """True where it can send: there is an SMTP server, and the hub knows its own address."""
        return bool(self._settings.notices.smtp_host and self._settings.web.url)

    def wake(self) -> None:
        """Let it look for what is due."""
        self._due.set()

    async def run(self) -> None:
        """Send what is due, until cancelled; at the start also what waits for its next try."""
        at: float | None = math.inf
        while self.able:
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await self._due.wait()
            self._due.clear()
            try:
                with suppress(UnavailableError):  # the store is blocked: it waits
                    await self.send(at)
            except Exception:
                log.exception("links of sign-ups could not be sent")
            at = None

    async def send(self, at: float | None = None) -> None:
        """Send the link of each sign-up whose mail is due: by now, or by another moment.

        A failure, whatever it is, puts off that mail alone: who asks for others neither hastens nor
        ends its tries. Without a connection the others are not tried, each of which would wait for
        one.
        """
        self._store.require_writable()
        at = self._clock() if at is None else at
        async with self._store.reading() as connection:
            due = await sign_ups.due(connection, at)
        for one in due:
            if not await run_uncancelled(self._send(one, at)):
                break

    async def _send(self, one: SignUp, at: float) -> bool:
        """Send one mail; return whether the SMTP server could be reached."""
        kind = NEXT_LINK[one.state]
        async with self._store.writing() as connection:
            if not await sign_ups.is_due(connection, one.id, at):
                return True  # an organiser has handed a link out meanwhile
            made = await sign_ups.make_link(connection, one.id, kind, self._clock())
        reached = True
        try:
            subject, text = self._message(one, kind, made.secret)
            await asyncio.to_thread(send_mail, self._settings.notices, one.email, subject, text)
        except Exception as error:  # anybody may have written it: the others are sent all the same
            log.warning("the mail of sign-up %d could not be sent: %r", one.id, error)
            reached = isinstance(error, smtplib.SMTPException) or not isinstance(error, OSError)
            wait = min(MOST_SECONDS, AGAIN_SECONDS * 2.0 ** min(one.failures, 10))
            values: dict[str, object] = {
                "failures": one.failures + 1,
                "mail_at": self._clock() + wait,
            }
        else:
            values = {
                "mail_due": False,
                "mailed_at": self._clock(),
                "mail_at": None,
                "failures": 0,
            }
        async with self._store.writing() as connection:
            await sign_ups.mailed(connection, one, **values)
        return reached

    def _message(self, one: SignUp, kind: LinkKind, secret: str) -> tuple[str, str]:
        days = LINK_SECONDS[kind] / DAY
        values = {
            "team": one.team,
            "challenge": one.challenge,
            "link": self._settings.web.url.rstrip("/") + link_path(secret),
            "good": "24 hours" if days == 1 else f"{days:.0f} days",
        }
        subject = SUBJECTS[kind].format(**values)
        return f"{one.challenge}: {subject}", TEXTS[kind].format(**values)
