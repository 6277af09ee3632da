"""A store's place: an SQLite file, or a PostgreSQL database by its URL.

It loads neither library: commands ask for it before they know what they need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from metaserver.base.errors import InputError

POOL = (
    "a pool (PgBouncer in the mode transaction) stands before the database, which takes away the "
    "hub's locks: connect directly, or with the mode session"
)
STORE_FILE = "metaserver.sqlite"
"""The file's name, in a hub's folder."""
SCHEMES = ("postgresql", "postgres")
_FORM = "expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE, each character like /@#%: as %XX"


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """The URL of a PostgreSQL database; as text it has no password and no options."""

    secret: str = field(repr=False)
    user: str
    host: str  # a name, an address or the folder of a socket
    port: int
    database: str
    tls: str  # `sslmode`; empty: none was asked for

    def __str__(self) -> str:
        port = "" if self.host.startswith("/") else f":{self.port}"
        return f"postgresql://{self.user}@{self.host}{port}/{self.database}"


StorePlace: TypeAlias = Path | PostgresUrl


def read_url(text: str, setting: str) -> PostgresUrl:
    """Return the URL in a setting; `InputError` says nothing of the text, which has a password.

    >>> str(read_url("postgresql://hub:secret@db.example.org/hub", "store"))
    'postgresql://hub@db.example.org:5432/hub'
    """
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
        port = int(options.get("port") or parts.port or 5432)
    except ValueError:
        raise InputError(setting, f"not the URL of a database; {_FORM}") from None
    user = options.get("user") or unquote(parts.username or "")
    host = options.get("host") or unquote(parts.hostname or "")
    database = options.get("dbname") or unquote(parts.path.removeprefix("/"))
    if parts.scheme not in SCHEMES or not (user and host and database) or "/" in database:
        raise InputError(setting, f"not the URL of a database; {_FORM}")
    if "," in host:
        raise InputError(setting, "names several hosts; expected that of one, or of a proxy")
    if parts.fragment or not text.isprintable() or not (user + host + database).isprintable():
        raise InputError(setting, f"not the URL of a database; {_FORM}")
    tls = options.get("sslmode", "")
    return PostgresUrl(secret=text, user=user, host=host, port=port, database=database, tls=tls)


def read_url_file(path: Path, setting: str) -> PostgresUrl:
    """Return the URL in a file, which may end with a line break."""
    try:
        return read_url(path.read_text("utf-8").strip(), setting)
    except OSError as error:
        raise InputError(setting, f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(setting, f"{path} is not text") from None
