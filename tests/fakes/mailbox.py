"""A real SMTP server that keeps what it is sent."""

import asyncio
import email
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

HOST = "127.0.0.1"


@dataclass
class Mailbox:
    """The messages that an SMTP server received, at a port; `plain` are senders without TLS."""

    port: int = 0
    messages: list[str] = field(default_factory=list)
    to: list[str] = field(default_factory=list)
    sender: str = ""
    refused: str = ""
    plain: list[str] = field(default_factory=list)

    async def handle_MAIL(  # as aiosmtpd calls it
        self, _server: Any, session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        envelope.mail_from = address
        if session.ssl is None:
            self.plain.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:
        """Keep a message; one to the address `refused` is not taken."""
        if self.refused in map(str, envelope.rcpt_tos):
            return "554 not this one"
        self.sender = str(envelope.mail_from)
        content = envelope.content or b""
        self.messages.append(content if isinstance(content, str) else content.decode())
        self.to += [str(one) for one in envelope.rcpt_tos]
        return "250 OK"

    def parsed(self, number: int = -1) -> EmailMessage:
        """Return a message as a mail reader has it."""
        return email.message_from_string(self.messages[number], policy=policy.default)

    def text(self, number: int = -1) -> str:
        """Return the text of a message."""
        return str(self.parsed(number).get_content())

    def subject(self, number: int = -1) -> str:
        """Return the subject of a message."""
        return str(self.parsed(number)["Subject"])

    def link(self, number: int = -1) -> str:
        """Return the path of the link in a message."""
        found = re.search(r"https?://[^/]+(/(?:sign|inv)\S+/\S+)", self.text(number))
        assert found, self.text(number)
        return found[1]


@asynccontextmanager
async def mailbox(
    context: ssl.SSLContext | None = None, *, port: int = 0, starttls: bool = False
) -> AsyncIterator[Mailbox]:
    """Run an SMTP server, at a free port if none is given.

    With a context it has TLS: from the first byte, or after STARTTLS.
    """
    loop, kept = asyncio.get_running_loop(), Mailbox()
    later = context if starttls else None
    server = await loop.create_server(
        lambda: SMTP(kept, hostname="mail.test", loop=loop, tls_context=later),
        HOST, port, ssl=None if starttls else context,
    )  # fmt: skip
    async with server:
        kept.port = server.sockets[0].getsockname()[1]
        yield kept
