"""Nothing in a message writes into its envelope or headers, against a real SMTP server.

It is a unit test since the email package differs between versions of Python: `make pythons` runs it
on each.
"""

import asyncio
import smtplib

import msgspec
import pytest

from metaserver.config import NoticeSettings
from metaserver.operations.sign_ups import Address
from metaserver.phases.mail import MailServer, canonical, is_away, send_mail
from tests.fakes.mailbox import HOST, Mailbox, mailbox

ADDRESSES = [
    "ada@x.example", "a.b-c_d+tag@sub.x-y.example", "o'brien=x.org&co~1@XN--bcher-kva.example",
    "root@localhost", f"{'a' * 64}@{'b' * 63}.example",
]  # fmt: skip
HOSTILE_ADDRESSES = [
    "",
    "ada",
    "@x.example",
    "ada@",
    "ada@@x.example",
    "ada@x.example@y.example",
    "=?utf-8?q??=@x",  # an empty word, at which the email package fails
    "=?utf-8?q?ada?=@x.example",
    "=?utf-8?b?YWRh?=@x.example",
    "=?utf-8?q?a=40y.example=2Cb=40y.example?=@x.example",  # three recipients
    "=?utf-8?q?a=0D=0ABcc:b=40y.example?=@x.example",
    "ada@=?utf-8?q?x=2Eexample?=",
    "ada@=?utf-8?q?x.example=2Cb=40y.example=2Cc=40y.example=2Cd=40y.example=2Ce=40y.example?=",
    "ada@=?utf-8?q?x=0D=0ABcc=3A_b=40y.example?=",
    "ada@=?utf-8?q?x=0D=0A=0D=0AAnother_body?=",
    "ada@x.example\r\nBcc:b@y.example",
    "ada@x.example\n",
    "ada\x00@x.example",
    "ada@x.example,b@y.example",
    "ada@x.example b@y.example",
    "<ada@x.example>",
    "Ada<ada@x.example>",
    '"ada"@x.example',
    "ada(here)@x.example",
    "a\\da@x.example",
    ".ada@x.example",
    "ada.@x.example",
    "a..da@x.example",
    "ada@x..example",
    "ada@.x.example",
    "ada@x.example.",
    "ada@-x.example",
    "ada@x-.example",
    "ada@x_y.example",
    "ada@[127.0.0.1]",
    "ada@127.0.0.1",
    "ada@2130706433",
    "ada@0x7f000001",
    "ada%y.example@x.example",  # a route through x.example
    "y.example!ada@x.example",
    "-oQ/tmp@x.example",  # an option of a sendmail
    "|sh@x.example",
    "/dev/null@x.example",
    "\u0430da@x.example",  # Cyrillic
    "ada@\u217b.example",  # a small Roman eight, which a resolver may take for viii
    "ada@x\uff0eexample",
    "\uff41da@x.example",
    "a\u0301da@x.example",
    "\u017fam@x.example",
    "ada\u200b@x.example",
    "ada@x.example\u2028",
    "\udcffda@x.example",
    f"{'a' * 65}@x.example",
    f"ada@{'b' * 64}.example",
    f"ada@{'b.' * 126}example",
    "a" * 100_000 + "@x.example",
]
HOSTILE_WORDS = [
    "=?utf-8?q?x=0D=0ABcc:_b=40y.example?=",
    "=?utf-8?q?x=0D=0A=0D=0AAnother_body?=",
    "=?utf-8?b?eA0KQmNjOiBiQHkuZXhhbXBsZQ==?=",
    "=?utf-8?q?x=0ABcc:_b=40y.example?=",
    "=?utf-8?q?x=0DBcc:_b=40y.example?=",
    "=?utf-8?q??=",
    "=?utf-8?q?",
    "=?=?=",
    "=?unknown?q?x=0D=0ABcc:_b=40y.example?=",
    "=?utf-7?q?+AA0ACg-Bcc:?=",
    "x\r\nBcc: b@y.example",
    "x\nBcc: b@y.example",
    "x\r\n\r\nAnother body\r\n.\r\nRCPT TO:<b@y.example>",
    "x\n.\nRCPT TO:<b@y.example>",
    "x\x0bBcc: b@y.example\x0c\x1c\x1d\x1e\x85\u2028\u2029",
    "x\x00\x1b[31m\x7f",
    "\udcff\ud800",
    "\u202etxet\u200b",
    "Unavailable \U0001f6a7" * 40,
    "x" * 2_000,
    " " * 2_000,
    ":;,<>()[]\\\"",
    "",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_plain_address_is_taken(address: str) -> None:
    assert msgspec.convert(address, Address) == address


async def test_a_hostile_address_is_refused_and_mail_to_it_not_sent() -> None:
    async with mailbox() as mail:
        for address in HOSTILE_ADDRESSES:
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert(address, Address)
            with pytest.raises(smtplib.SMTPException, match="not a plain address"):
                await send(mail, address, "A subject", "the text\n")
    assert mail == Mailbox(port=mail.port)


async def test_words_of_others_write_nothing_into_headers() -> None:
    async with mailbox() as mail:
        for words in HOSTILE_WORDS:
            text = f"down: HTTP status 500 {words}"
            await send(mail, "ada@x.example", text, f"{text}\nthe end\n")
    assert mail.to == ["ada@x.example"] * len(HOSTILE_WORDS)
    for number, raw in enumerate(mail.messages):
        head, _, _ = raw.partition("\r\n\r\n")
        names = [line.partition(":")[0] for line in head.split("\r\n") if line[0] not in " \t"]
        assert sorted(name.lower() for name in names) == [
            "content-transfer-encoding", "content-type", "from", "mime-version", "subject", "to",
        ], raw  # fmt: skip
        assert raw.isascii()
        assert max(map(len, raw.split("\r\n"))) <= 998  # RFC 5322, 2.1.1
        found = mail.parsed(number)
        assert (found["From"], found["To"]) == ("metaserver@localhost", "ada@x.example")
        assert mail.text(number).endswith("the end\r\n")


async def test_a_subject_is_read_as_it_was_written() -> None:
    subject, text = "Café =?utf-8?q?x?= \U0001f6a7", "Ünïcode: a line of = and " + "long " * 40
    async with mailbox() as mail:
        await send(mail, "ada@x.example", subject, f"{text}\n.\nFrom here on\n")
    assert mail.subject() == subject
    assert mail.text() == f"{text}\r\n.\r\nFrom here on\r\n"


async def test_the_name_of_the_sender_is_encoded() -> None:
    async with mailbox() as mail:
        await send(mail, "ada@x.example", "x", "x\n", smtp_from="Die Hürde <hub@hub.example>")
    assert mail.sender == "hub@hub.example"
    assert mail.parsed()["From"] == "Die Hürde <hub@hub.example>"


async def test_a_server_that_is_away_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with mailbox() as mail:
        pass
    server = MailServer(NoticeSettings(smtp_host=HOST, smtp_port=mail.port, smtp_starttls=False))
    for _ in range(3):
        with pytest.raises(OSError, match="refused") as raised:
            await server.send("ada@x.example", "x", "x\n")
        assert is_away(raised.value)
    async with mailbox(port=mail.port) as mail:
        with pytest.raises(smtplib.SMTPException) as refused:
            await server.send("nobody", "x", "x\n")
        assert not is_away(refused.value)
        for _ in range(3):
            await server.send("ada@x.example", "x", "x\n")
    away, again = caplog.messages
    assert away.startswith(f"no mail can be sent by {HOST} port {mail.port}: [Errno ")
    assert again == "mail can be sent again"


def test_a_mailbox_has_one_canonical_form() -> None:
    spellings = [
        "ada@x.example", "ADA@x.example", "ada@X.Example", "Ada+1@x.example", "ada+@x.example",
    ]  # fmt: skip
    assert {canonical(one) for one in spellings} == {"ada@x.example"}
    assert canonical("+ada@x.example") == "+ada@x.example"


async def send(mail: Mailbox, to: str, subject: str, text: str, **changes: str) -> None:
    settings = NoticeSettings(
        smtp_host=HOST,
        smtp_port=mail.port,
        smtp_starttls=False,
        **changes,  # type: ignore[arg-type]
    )
    await asyncio.to_thread(send_mail, settings, to, subject, text)
