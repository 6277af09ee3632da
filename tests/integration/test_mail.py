"""Mail goes to a server that proves its name, or stays: against a real SMTP server with TLS."""

import asyncio
import smtplib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from metaserver.config import NoticeSettings
from metaserver.phases.mail import send_mail
from tests.fakes.mailbox import HOST, Mailbox, mailbox

LAST_YEAR = datetime.now(UTC) - timedelta(days=365)


def proving(cert: trustme.LeafCert) -> ssl.SSLContext:
    """Return the context of a server with a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    cert.configure_cert(context)
    return context


async def test_mail_goes_by_tls_from_the_first_byte_to_a_server_that_proves_its_name(tmp_path, ca):
    other = trustme.CA()
    other.cert_pem.write_to_path(tmp_path / "other.pem")
    async with mailbox(proving(ca.issue_cert(HOST))) as mail:
        await send(settings(mail.port, tmp_path / "ca.pem", smtp_tls=True))
        with pytest.raises(ssl.SSLCertVerificationError):
            await send(settings(mail.port, tmp_path / "other.pem", smtp_tls=True))
    assert mail.to == ["blue@example.org"]
    assert "the text" in mail.text()


def settings(port: int, ca: Path | None, **changes: Any) -> NoticeSettings:
    values = {"smtp_host": HOST, "smtp_port": port, "smtp_ca": str(ca or "")}
    return NoticeSettings(**values | changes)


async def send(given: NoticeSettings) -> None:
    await asyncio.to_thread(send_mail, given, "blue@example.org", "A subject", "the text\n")


@pytest.fixture
def ca(tmp_path: Path) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


@pytest.mark.parametrize(
    ("name", "values", "trusted", "told"),
    [
        (HOST, {}, "", "unable to get local issuer certificate"),
        (HOST, {}, "other.pem", "unable to get local issuer certificate"),
        ("mail.example.org", {}, "ca.pem", "IP address mismatch"),
        (HOST, {"not_before": LAST_YEAR, "not_after": LAST_YEAR + timedelta(days=30)}, "ca.pem",
         "certificate has expired"),
    ],
)  # fmt: skip
async def test_a_server_that_does_not_is_sent_nothing(tmp_path, ca, name, values, trusted, told):
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    async with mailbox(proving(ca.issue_cert(name, **values)), starttls=True) as mail:
        with pytest.raises(ssl.SSLCertVerificationError, match=told):
            await send(settings(mail.port, tmp_path / trusted if trusted else None))
    assert mail == Mailbox(port=mail.port)


async def test_there_is_no_way_back_to_plain_text(tmp_path: Path, ca: trustme.CA) -> None:
    async with mailbox() as mail:  # as if who is between took STARTTLS out
        with pytest.raises(smtplib.SMTPNotSupportedError):
            await send(settings(mail.port, tmp_path / "ca.pem"))
        assert mail == Mailbox(port=mail.port)
        await send(settings(mail.port, None, smtp_starttls=False))  # asked for in the settings
    assert len(mail.messages) == len(mail.plain) == 1


async def test_a_server_that_refuses_tls_is_sent_nothing() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            heard.append(line.split()[0].upper())
            answers = {
                b"EHLO": b"250-here\r\n250 STARTTLS\r\n",
                b"STARTTLS": b"454 not now\r\n",
                b"QUIT": b"221 bye\r\n",
            }
            writer.write(answers.get(heard[-1], b"250 ok\r\n"))
            await writer.drain()
        writer.close()

    heard: list[bytes] = []
    server = await asyncio.start_server(talk, HOST, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(smtplib.SMTPResponseException, match="not now"):
            await send(settings(port, None, smtp_user="hub", smtp_password="secret"))
    assert not {b"AUTH", b"MAIL", b"DATA"} & set(heard)
