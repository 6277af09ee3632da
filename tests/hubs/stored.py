"""What a hub's store holds, read and changed past the hub: a file, or the database in its place.

Values are for `$1`, `$2` and so on in a statement, which both kinds know.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from metaserver.store.place import STORE_FILE, StorePlace
from metaserver.store.postgres import WRITES
from tests import stores


def place_in(folder: Path) -> StorePlace:
    """Return the place of the store of a hub's folder."""
    if stores.chosen[0] == stores.POSTGRESQL:
        return stores.database_of(folder)
    return folder / STORE_FILE


def stored(folder: Path, query: str) -> Sequence[tuple[Any, ...]]:
    """Ask the store of a hub's folder; empty while there is none."""
    if stores.chosen[0] == stores.POSTGRESQL:
        rows = stores.server().ask(query, stores.database_of(folder).database)
        return [tuple(row) for row in rows]
    path = folder / STORE_FILE
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # killed before the first schema was there
                return []
            raise


def require_sound(folder: Path) -> None:
    """Require that the file of a hub is not damaged; a database is looked after by its server."""
    if stores.chosen[0] == stores.SQLITE:
        assert stored(folder, "PRAGMA integrity_check") == [("ok",)]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold what each change of a store waits for."""
    if stores.chosen[0] == stores.POSTGRESQL:
        with stores.server().locked(WRITES, stores.database_of(folder).database):
            yield
        return
    with closing(sqlite3.connect(folder / STORE_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def change(folder: Path, statement: str, *values: object) -> int:
    """Change the store of a hub's folder; return the number of changed rows, if it is of rows."""
    if stores.chosen[0] == stores.POSTGRESQL:
        database = stores.database_of(folder).database
        return stores.server().change(statement, *values, database=database)
    named = {str(number): value for number, value in enumerate(values, 1)}
    with closing(sqlite3.connect(folder / STORE_FILE, timeout=10)) as connection, connection:
        return connection.execute(statement, named).rowcount
