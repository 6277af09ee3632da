"""E-mail by SMTP and signed webhooks: the senders, and the one-time links in mail.

The words of a message may be anybody's, and so may be the address that it goes to. So nothing here
reads them as headers: an address is plain, a subject always encoded, the recipient an argument.

A webhook is a JSON message with a signature by which its receiver can verify the sender, and with a
plain `text` too, which chat services show.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import re
import smtplib
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.charset import QP, Charset
from email.header import Header
from email.mime.text import MIMEText
from email.utils import formataddr, parseaddr
from typing import Any

import msgspec

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError
from metaserver.base.phases import DAY, LINK_SECONDS, NEXT_LINK, LinkKind, SignUp, link_path
from metaserver.base.viewer import PersonLink, PersonLinkKind
from metaserver.config import NoticeSettings, Settings
from metaserver.exchange.http.client import HttpClient
from metaserver.store import people, phases, sign_ups
from metaserver.store.store import Store

log = logging.getLogger(__name__)

SMTP_SECONDS = 30.0
MAX_SUBJECT = 200  # characters

_ATOM = r"[A-Za-z0-9_&'*+=~-]+"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LAST = r"[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"  # with a digit in front: a number of IPv4
MAX_ADDRESS = 254  # characters (RFC 5321, 4.5.3.1)
ADDRESS = rf"(?!-)(?=.{{1,64}}@){_ATOM}(\.{_ATOM})*@({_LABEL}\.)*{_LAST}"
"""A plain address, at most `MAX_ADDRESS` characters: a dot-atom and a host name.

It has no `?`, so no encoded word (RFC 2047), and no characters for routes, options or pipes.
"""
_UTF8 = Charset("utf-8")
_UTF8.body_encoding = QP


def canonical(address: str) -> str:
    """Return a mailbox's canonical spelling: small letters, without what follows a `+`.

    Example: `canonical("Ada+news@X.example")` returns `"ada@x.example"`; mail for both reaches the
    same person.
    """
    local, _, host = address.lower().rpartition("@")
    return f"{local[:1]}{local[1:].partition('+')[0]}@{host}"


def send_mail(settings: NoticeSettings, to: str, subject: str, text: str) -> None:
    """Send a message to an address; blocks.

    With `smtp_starttls` or `smtp_tls`, nothing is sent before the server has shown a certificate
    for its name that `smtp_ca` (empty: the system) trusts: there is no fallback to plain text.
    Raises `OSError` (TLS errors included) if the server cannot be reached, and
    `smtplib.SMTPException` if it, or the address, refuses only this message.
    """
    if len(to) > MAX_ADDRESS or not re.fullmatch(ADDRESS, to):
        raise smtplib.SMTPException(f"{to[:80]!a} is not a plain address")
    name, sender = parseaddr(settings.smtp_from)  # the operator's
    message = MIMEText(_encodable(text), "plain", _UTF8)  # type: ignore[arg-type]
    message["Subject"] = Header(  # type: ignore[assignment]
        _subject(subject), "utf-8", header_name="Subject"
    )
    message["From"] = formataddr((name, sender))
    message["To"] = to
    with _connected(settings) as smtp:
        if settings.smtp_starttls and not settings.smtp_tls:
            smtp.starttls(context=smtp_context(settings))
        if settings.smtp_user:
            smtp.login(settings.smtp_user, settings.smtp_password)
        try:
            smtp.sendmail(sender, [to], message.as_string(maxheaderlen=78))
        except TimeoutError as error:  # it is there, and waits with this message
            raise smtplib.SMTPServerDisconnected("the server did not answer") from error


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _subject(text: str) -> str:
    """Return a text on one line: others may have written it."""
    words = "".join(
        character if character.isprintable() else " " for character in text[: 4 * MAX_SUBJECT]
    )
    return " ".join(words.split())[:MAX_SUBJECT]


def _connected(settings: NoticeSettings) -> smtplib.SMTP:
    host, port = settings.smtp_host, settings.smtp_port
    if settings.smtp_tls:
        context = smtp_context(settings)
        return smtplib.SMTP_SSL(host, port, timeout=SMTP_SECONDS, context=context)
    return smtplib.SMTP(host, port, timeout=SMTP_SECONDS)


def smtp_context(settings: NoticeSettings) -> ssl.SSLContext:
    """Return the TLS context that checks the server's certificate; `OSError` for a bad file."""
    return ssl.create_default_context(cafile=settings.smtp_ca or None)


class MailServer:
    """The hub's SMTP server; its log says once that no mail can be sent, and when it can again."""

    def __init__(self, settings: NoticeSettings) -> None:
        self._settings = settings
        self._is_away = False

    async def send(self, to: str, subject: str, text: str) -> None:
        """Send a message, with the errors of `send_mail`; those that `is_away` are logged."""
        try:
            await asyncio.to_thread(send_mail, self._settings, to, subject, text)
        except OSError as error:
            if is_away(error) and not self._is_away:
                place = f"{self._settings.smtp_host} port {self._settings.smtp_port}"
                log.warning("no mail can be sent by %s: %s", place, error)
                self._is_away = True
            raise
        if self._is_away:
            log.warning("mail can be sent again")
            self._is_away = False


def is_away(error: BaseException) -> bool:
    """Return whether the SMTP server cannot be reached, rather than a message be sent."""
    return isinstance(error, OSError) and not isinstance(error, smtplib.SMTPException)


# -- mail with the one-time links of sign-ups ------------------------------------------------------
# A sign-up whose mail is due stays so in the store until it was sent: a restart forgets none. The
# link is made when its mail is sent, so that no secret has to be kept until then.

AGAIN_SECONDS = 60.0
"""Seconds until a mail that could not be sent is tried again; then twice as long, and so on."""
MOST_SECONDS = 3_600.0
"""The longest of these waits: a mail is tried until it is sent, or its sign-up is deleted."""

SUBJECTS = {
    LinkKind.CONFIRM: "confirm team {team}",
    LinkKind.INVITATION: "an invitation",
    LinkKind.TOKEN: "team {team} takes part",
}
TEXTS = {
    LinkKind.CONFIRM: """Team {team} was signed up for the challenge {challenge} with this address.
If it was you, please confirm the sign-up here:

{link}

The link works once, within {good}.
If it was not you, ignore this message: nothing will happen.
""",
    LinkKind.INVITATION: """The organisers of the challenge {challenge} invite you to take part.
To accept, open this link and enter the name of your team:

{link}

The link works once, within {good}.
If you do not want to take part, ignore this message.
""",
    LinkKind.TOKEN: """Team {team} takes part in the challenge {challenge}.
This link signs you in and shows your team's first token, which is shown only once:

{link}

It works once, within {good}.
Anybody who opens it acts for your team, so do not pass it on.
""",
}

PERSON_PATHS = {
    PersonLinkKind.SIGN_IN: "/signin/link/",
    PersonLinkKind.INVITATION: "/invitations/",
}
PERSON_SUBJECTS = {
    PersonLinkKind.SIGN_IN: "Sign in to the Meta-Server",
    PersonLinkKind.INVITATION: "An invitation {to}",
}
PERSON_TEXTS = {
    PersonLinkKind.SIGN_IN: """To sign in, open this link in the browser in which you asked for it:

{link}

Or type this code there: {code}

The link and the code work once, within 15 minutes.
If you did not ask for this, ignore this message, and do not give the code to anybody.
""",
    PersonLinkKind.INVITATION: """You are invited {to}.
Accept it here:

{link}

The link works once, within 14 days. Anybody who opens it can accept, so do not pass it on.
If you do not want to accept, ignore this message.
""",
}


class SignUpMailer:
    """Sends one-time links; `clock` returns Unix seconds."""

    def __init__(
        self, store: Store, settings: Settings, mail: MailServer, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._mail = mail
        self._settings = settings
        self._clock = clock
        self._due = asyncio.Event()
        self._due.set()  # of an earlier run

    @property
    def able(self) -> bool:
        """True if it can send: there is an SMTP server, and the hub knows its own address."""
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
        """Send the link for each sign-up whose e-mail is due: by now, or by another moment.

        Any failure delays only that e-mail: further requests neither hasten nor end its tries.
        Without a connection the others are not tried.
        """
        self._store.require_writable()
        at = self._clock() if at is None else at
        async with self._store.reading() as connection:
            due = await sign_ups.due(connection, at)
            people_due = await people.due(connection, self._clock(), at)
        for link in people_due:  # somebody is waiting
            if not await run_uncancelled(self._send_person(link)):
                return
        for sign_up in due:
            if not await run_uncancelled(self._send(sign_up, at)):
                break

    async def _send_person(self, link: PersonLink) -> bool:
        """Send a person's link; return whether the SMTP server could be reached."""
        async with self._store.writing() as connection:
            new = await people.make_secret(connection, link.id)
        of = link.challenge_title or f"challenge {link.challenge}" if link.challenge else "this hub"
        to = f"to team {link.team}" if link.team else f"to be {link.role} of {of}"
        values = {
            "link": self._settings.web.url.rstrip("/") + PERSON_PATHS[link.kind] + new.secret,
            "code": f"{new.code[:4]} {new.code[4:]}",
            "to": to,
        }
        subject = PERSON_SUBJECTS[link.kind].format(**values)
        text = PERSON_TEXTS[link.kind].format(**values)
        what = f"{link.kind} {link.id}"
        reached, wait = await self._deliver(link.email, subject, text, what, link.failures)
        later = {} if wait is None else {"mail_at": wait, "failures": link.failures + 1}
        async with self._store.writing() as connection:
            await people.mailed(connection, link.id, **later or {"mail_due": False})
        return reached

    async def _deliver(
        self, to: str, subject: str, text: str, what: str, failures: int
    ) -> tuple[bool, float | None]:
        """Send an e-mail; return whether the server could be reached, and when to try again."""
        try:
            await self._mail.send(to, subject, text)
        except Exception as error:  # anybody may have written it: the others are sent all the same
            if not isinstance(error, OSError):
                log.exception("the mail of %s could not be sent", what)
            elif not is_away(error) and not failures:
                log.warning("the mail of %s could not be sent: %r", what, error)
            wait = min(MOST_SECONDS, AGAIN_SECONDS * 2.0 ** min(failures, 10))
            return not is_away(error), self._clock() + wait
        return True, None

    async def _send(self, sign_up: SignUp, at: float) -> bool:
        """Send an e-mail; return whether the SMTP server could be reached."""
        kind = NEXT_LINK[sign_up.state]
        async with self._store.writing() as connection:
            if not await sign_ups.is_due(connection, sign_up.id, at):
                return True  # an organiser has handed a link out meanwhile
            link = await sign_ups.make_link(connection, sign_up.id, kind, self._clock())
            challenge = await phases.get_challenge(connection, sign_up.challenge)
        title = (challenge and challenge.title) or sign_up.challenge
        subject, text = self._message(sign_up, title, kind, link.secret)
        reached, wait = await self._deliver(
            sign_up.email, subject, text, f"sign-up {sign_up.id}", sign_up.failures
        )
        values: dict[str, object] = {
            "mail_due": False,
            "mailed_at": self._clock(),
            "mail_at": None,
            "failures": 0,
        }
        if wait is not None:
            values = {"failures": sign_up.failures + 1, "mail_at": wait}
        async with self._store.writing() as connection:
            await sign_ups.mailed(connection, sign_up, **values)
        return reached

    def _message(
        self, sign_up: SignUp, challenge: str, kind: LinkKind, secret: str
    ) -> tuple[str, str]:
        days = LINK_SECONDS[kind] / DAY
        values = {
            "team": sign_up.team,
            "challenge": challenge,
            "link": self._settings.web.url.rstrip("/") + link_path(secret),
            "good": "24 hours" if days == 1 else f"{days:.0f} days",
        }
        subject = SUBJECTS[kind].format(**values)
        return f"{challenge}: {subject}", TEXTS[kind].format(**values)


WEBHOOK_SECONDS = 10.0


async def post_webhook(
    client: HttpClient, url: str, secret: str, message: Mapping[str, Any], now: float
) -> None:
    """Post a message at `now` (Unix seconds); raises `PeerError` unless it was accepted.

    A message that is posted again, as nobody knows whether it came, has the same idempotency key.

    The client's guard decides which addresses it may go to.
    """
    body, at = msgspec.json.encode(message), str(int(now))
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": hashlib.sha256(body).hexdigest()[:32],
        "X-Metaserver-Timestamp": at,
        "X-Metaserver-Signature": f"sha256={signature(secret, at, body)}",
    }
    await client.deliver(url, body, headers, WEBHOOK_SECONDS)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature for a webhook's body: HMAC-SHA256 over "TIMESTAMP.BODY", hexadecimal."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
