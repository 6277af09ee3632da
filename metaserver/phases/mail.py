"""E-mail by SMTP, sent only to a server whose certificate is valid where TLS is configured.

The words of a message may be anybody's, and so may be the address that it goes to. So nothing here
reads them as headers: an address is plain, a subject always encoded, the recipient an argument.
"""

from __future__ import annotations

import re
import smtplib
import ssl
from email.charset import QP, Charset
from email.header import Header
from email.mime.text import MIMEText
from email.utils import formataddr, parseaddr

from metaserver.config import NoticeSettings

SMTP_SECONDS = 30.0
MAX_SUBJECT = 200  # characters

_ATOM = r"[A-Za-z0-9_&'*+=~-]+"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LAST = r"[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"  # with a digit in front: a number of IPv4
MAX_ADDRESS = 254  # characters (RFC 5321, 4.5.3.1)
ADDRESS = rf"(?!-)(?=.{{1,64}}@){_ATOM}(\.{_ATOM})*@({_LABEL}\.)*{_LAST}"
"""One plain address of at most `MAX_ADDRESS` characters: a dot-atom and the name of a host.

It has no `?`, so that it holds no encoded word (RFC 2047), and none of the letters of routes,
options and pipes.
"""
_UTF8 = Charset("utf-8")
_UTF8.body_encoding = QP


def canonical(address: str) -> str:
    """Return one form of all spellings of a mailbox: small letters, without what follows a `+`.

    `Ada+news@X.example` is `ada@x.example`: mail for both comes to the same person.
    """
    local, _, host = address.lower().rpartition("@")
    return f"{local[:1]}{local[1:].partition('+')[0]}@{host}"


def send_mail(settings: NoticeSettings, to: str, subject: str, text: str) -> None:
    """Send one message to one address; blocks.

    With `smtp_starttls` or `smtp_tls`, nothing is sent before the server has shown a certificate
    for its name that `smtp_ca` (empty: the system) trusts: there is no fallback to plain text.
    Raises `OSError` (TLS errors included) where the server cannot be reached, and
    `smtplib.SMTPException` where it, or the address, is to blame for this message alone.
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
    """Return a text in one line: others may have written it."""
    words = "".join(one if one.isprintable() else " " for one in text[: 4 * MAX_SUBJECT])
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
