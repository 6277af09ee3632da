"""Compiled SQL that all SQLite stores of a process share: compiling is a third of a hub's start.

SQLAlchemy keeps compiled statements per engine, and only for the engine's own dialect object.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

_compiled: dict[Any, Any] = {}


class _Shared:
    """A dialect that equals all others of its class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class SharedAiosqlite(_Shared, SQLiteDialect_aiosqlite):
    """The dialect of a store's engine."""

    supports_statement_cache = True


class SharedPysqlite(_Shared, SQLiteDialect_pysqlite):
    """The dialect of a writer's engine."""

    supports_statement_cache = True


def share() -> None:
    """Have the SQLite engines that are made from now on share what they compile."""
    registry.register("sqlite.aiosqlite", __name__, SharedAiosqlite.__name__)
    registry.register("sqlite", __name__, SharedPysqlite.__name__)
    sa.event.listen(sa.Engine, "engine_connect", _connected)


def _connected(connection: sa.Connection) -> None:
    if isinstance(connection.dialect, _Shared):
        connection.execution_options(compiled_cache=_compiled)
