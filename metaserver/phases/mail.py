"""E-mail by SMTP, sent only to a server whose certificate is valid where TLS is configured."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage

from metaserver.config import NoticeSettings

SMTP_SECONDS = 30.0


def send_mail(settings: NoticeSettings, to: str, subject: str, text: str) -> None:
    """Send one message; blocks.

    With `smtp_starttls` or `smtp_tls`, nothing is sent before the server has shown a certificate
    for its name that `smtp_ca` (empty: the system) trusts: there is no fallback to plain text.
    Raises `OSError` (TLS errors included) or `smtplib.SMTPException`.
    """
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = settings.smtp_from
    message["To"] = to
    message.set_content(text)
    with _connected(settings) as smtp:
        if settings.smtp_starttls and not settings.smtp_tls:
            smtp.starttls(context=smtp_context(settings))
        if settings.smtp_user:
            smtp.login(settings.smtp_user, settings.smtp_password)
        smtp.send_message(message)


def _connected(settings: NoticeSettings) -> smtplib.SMTP:
    host, port = settings.smtp_host, settings.smtp_port
    if settings.smtp_tls:
        context = smtp_context(settings)
        return smtplib.SMTP_SSL(host, port, timeout=SMTP_SECONDS, context=context)
    return smtplib.SMTP(host, port, timeout=SMTP_SECONDS)


def smtp_context(settings: NoticeSettings) -> ssl.SSLContext:
    """Return the TLS context that checks the server's certificate; `OSError` for a bad file."""
    return ssl.create_default_context(cafile=settings.smtp_ca or None)
