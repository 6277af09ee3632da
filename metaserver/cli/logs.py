"""Logs on standard error: text on a terminal, else JSON per line; no secrets.

Everything goes through it, libraries' logs too. Modules ask `logging.getLogger(__name__)`, or where
an event has values (`log.info("lane taken", epoch=3)`) `structlog.stdlib.get_logger(__name__)`.
What `structlog.contextvars` binds, a request's id, is on each line.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from metaserver.base.plans import LogFormat, LogLevel
from metaserver.exchange.http.urls import without_secrets
from metaserver.store.tokens import FORM as TOKEN

HIDDEN = "***"
TOO_OPEN = ("aiosqlite",)
"""Loggers that write every statement's values at debug level: texts, gold, addresses."""
TOO_CHATTY = ("alembic",)
"""Loggers that say how they begin; the hub itself says what becomes of its store."""
SECRET = r"(?>[\w-]*(?:token|secret|password|passwd|authorization|cookie|csrf|api_?key)[\w-]*)"  # noqa: S105 (a pattern)
NAME = re.compile(SECRET, re.IGNORECASE)
SCHEME = re.compile(r"\b(bearer|basic|digest)\s+[\w.~+/=:-]{6,}", re.IGNORECASE)
GIVEN = re.compile(
    rf"((?<![\w-]){SECRET}['\"]?\s*[:=]\s*)(?:b?'[^']*'|\"[^\"]*\"|[^\s,;&)}}\]]+)", re.IGNORECASE
)


def configure(
    *,
    form: LogFormat = LogFormat.AUTO,
    level: LogLevel = LogLevel.INFO,
    stream: TextIO | None = None,
) -> None:
    """Send all logs of this process to `stream` (None: the standard error), from `level` on."""
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.PositionalArgumentsFormatter(),
    ]
    structlog.configure(
        processors=[*common, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    if form is LogFormat.AUTO:
        form = LogFormat.CONSOLE if handler.stream.isatty() else LogFormat.JSON
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.StackInfoRenderer(),
                structlog.processors.format_exc_info,  # no values of variables
                hide_secrets,
                *_RENDERERS[form],
            ],
        )
    )
    for name in TOO_OPEN:
        logging.getLogger(name).setLevel(logging.INFO)
    for name in TOO_CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


_RENDERERS: Mapping[LogFormat, tuple[Processor, ...]] = {
    LogFormat.JSON: (
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(sort_keys=True),
    ),
    LogFormat.CONSOLE: (
        lambda _logger, _method, event: {name: _inert(name, event[name]) for name in event},
        structlog.dev.ConsoleRenderer(
            timestamp_key="at", colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ),
}


def hide_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace what must not be logged: credentials in URLs, whatever is named as a secret."""
    return {name: _shown(name, value) for name, value in event.items()}


def _shown(name: str, value: object) -> Any:
    if NAME.fullmatch(name):
        return HIDDEN
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): _shown(str(key), inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_shown("", inner) for inner in value]
        case _:
            return hidden(value if isinstance(value, str) else repr(value))


def _inert(name: str, value: Any) -> Any:
    """Return a value whose text cannot steer a terminal or add lines; a traceback keeps its own."""
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = "\n" if name in ("exception", "stack") else ""
    return "".join(one if one.isprintable() or one in kept else repr(one)[1:-1] for one in value)


def hidden(text: str) -> str:
    """Return a text without the secrets that its words give away."""
    text = TOKEN.sub(HIDDEN, without_secrets(text))
    text = SCHEME.sub(rf"\1 {HIDDEN}", text)
    return GIVEN.sub(rf"\1{HIDDEN}", text)
