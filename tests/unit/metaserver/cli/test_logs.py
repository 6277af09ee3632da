"""The log: one JSON object per line, or text on a terminal; a request's id; no secrets."""

import asyncio
import io
import json
import logging
import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import structlog

from metaserver.base.plans import LogFormat, LogLevel
from metaserver.base.records import Server, ServerName
from metaserver.cli.logs import HIDDEN, configure, hidden
from metaserver.store.tokens import PREFIX

SECRET = "Hunter2-Xy"
log = logging.getLogger("metaserver.tests")
events = structlog.stdlib.get_logger("metaserver.tests")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    taken = io.StringIO()
    configure(stream=taken)
    yield taken
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_a_json_object_whoever_logs(stream: io.StringIO) -> None:
    log.warning("the lane %r stopped", "one")
    events.info("lane taken", epoch=3)
    logging.getLogger("aiohttp.server").info("two\nlines")
    first, second, third = lines(stream)
    assert first["message"] == "the lane 'one' stopped"
    assert (first["level"], first["logger"]) == ("warning", "metaserver.tests")
    assert datetime.fromisoformat(first["at"]).tzinfo is not None
    assert (second["message"], second["epoch"]) == ("lane taken", 3)
    assert third["logger"] == "aiohttp.server"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_on_a_terminal_is_text_that_cannot_steer_it(stream: io.StringIO) -> None:
    terminal = Terminal()
    configure(stream=terminal)
    log.warning("the peer said %s", "\x1b[2Jyes\nno")
    events.info("lane taken", server="a\rb")
    try:
        raise ValueError("\x1b[2J")
    except ValueError:
        log.exception("failed")
    told = terminal.getvalue()
    assert r"the peer said \x1b[2Jyes\nno" in told
    assert r"server=a\rb" in told
    assert "\nValueError: \\x1b[2J\n" in told
    assert "\x1b" not in told
    configure(form=LogFormat.JSON, stream=terminal)
    log.warning("json")
    assert json.loads(terminal.getvalue().splitlines()[-1])["message"] == "json"


def test_a_start_does_not_begin_with_the_steps_of_a_library(stream: io.StringIO) -> None:
    logging.getLogger("alembic.runtime.plugins").info("setup plugin")
    logging.getLogger("alembic.runtime.migration").info("Running upgrade")
    logging.getLogger("alembic.runtime.migration").warning("no")
    assert [line["message"] for line in lines(stream)] == ["no"]


def test_what_is_below_the_level_is_not_logged(stream: io.StringIO) -> None:
    configure(level=LogLevel.ERROR, stream=stream)
    log.warning("no")
    events.info("no")
    log.error("yes")
    assert [line["message"] for line in lines(stream)] == ["yes"]


async def test_each_request_has_its_id(stream: io.StringIO) -> None:
    async def work(name: str) -> None:
        with structlog.contextvars.bound_contextvars(request_id=name):
            await asyncio.sleep(0)
            log.info(name)

    await asyncio.gather(work("a"), work("b"))
    log.info("outside")
    assert [line.get("request_id") for line in lines(stream)] == ["a", "b", None]


def test_an_api_token_does_not_pass_wherever_it_stands(stream: io.StringIO) -> None:
    token = f"{PREFIX}t{secrets.token_urlsafe(32)}"
    log.info("called with %s", token)
    events.info(f"/v1/{token}/x", given=[token])
    assert token not in stream.getvalue()
    assert [line["message"] for line in lines(stream)] == ["called with ***", "/v1/***/x"]


@pytest.mark.parametrize(
    "text",
    [
        f"cannot reach http://ana:{SECRET}@example.org:8000/rpc today",
        f"<https://{SECRET}@example.org>",
        f"GET http://example.org/rpc?key={SECRET} failed",
        f"GET /api/v1/servers?token={SECRET}&x=1",
        f"Authorization: Bearer {SECRET}",
        f"header was 'bearer {SECRET}'",
        f"{{'password': '{SECRET} and more of {SECRET}', 'user': 'ana'}}",
        f"api_token={SECRET}, team=blue",
        f'{{"webhook_secret": "{SECRET}"}}',
        f"Cookie: session={SECRET}",
    ],
)
def test_secrets_in_texts_do_not_pass(stream: io.StringIO, text: str) -> None:
    log.error(text)
    log.error("got %s", text)
    events.error("event", reason=text, more=[text, {"deep": (text,)}])
    assert SECRET not in stream.getvalue()
    assert HIDDEN in stream.getvalue()


@pytest.mark.parametrize("form", LogFormat)
def test_values_named_as_secrets_do_not_pass(stream: io.StringIO, form: LogFormat) -> None:
    configure(form=form, stream=stream)
    names = ("token", "api_token", "Authorization", "PASSWORD", "client_secret", "csrf", "cookie")
    events.info("given", **dict.fromkeys(names, SECRET))
    events.info("given", headers={"Authorization": f"Basic {SECRET}"}, body={"token": [SECRET]})
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize("form", LogFormat)
def test_objects_and_tracebacks_are_told_without_secrets(stream, form):
    configure(form=form, stream=stream)
    url = f"http://ana:{SECRET}@example.org/"
    server = Server(name=ServerName("one"), url=url)
    events.info("registered", server=server)
    try:
        raise ValueError(f"no answer from {url}")
    except ValueError:
        log.exception("failed")
        events.exception("failed")
    told = stream.getvalue()
    assert SECRET not in told
    assert told.count("no answer from http://***@example.org/") == 2
    assert "Traceback" in told


def test_what_is_no_secret_is_told_as_it_is() -> None:
    text = "http://example.org:8000/rpc answered in 3 s: 2 of 5 hits kept (ana@example.org)"
    assert hidden(text) == text
