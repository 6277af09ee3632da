"""The driver of PostgreSQL, asyncpg, whose errors are made to say no values of rows.

An error's words go into logs and onto pages. By themselves they have a DETAIL, which shows the key
or the whole row that was refused (texts, digests of tokens, gold), and quote what was malformed.
"""

from __future__ import annotations

from typing import Any

import asyncpg


def keep_values_out_of_errors() -> None:
    """Have all errors of the driver, in this process, say what is wrong but not of which value."""
    asyncpg.PostgresError.__str__ = _said
    asyncpg.DataError.__init__ = _quote_nothing  # SQLAlchemy takes its words from `args`


def _said(error: Any) -> str:
    """Return an error's words; its `detail` stays an attribute."""
    message = str(error.args[0]) if error.args else ""
    return f"{message}\nHINT:  {error.hint}" if error.hint else message


def _quote_nothing(error: Exception, message: str = "") -> None:
    """Make an error of a malformed value, which stands after a colon."""
    Exception.__init__(error, message.partition(":")[0])
