"""Secrets of annotation servers: sealed with the hub's key, and opened only to send a request."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from metaserver.base import files
from metaserver.base.errors import HubError, InputError, PeerError
from metaserver.base.states import Outcome

KEY_FILE = "credentials.key"
"""The name of the key's file in the hub's folder, unless the settings say another place."""
DIGITS = 16
"""The number of digits of a key's digest: enough to distinguish keys."""


class Keyring:
    """The hub's key, in a file that only its owner may read; it is made with the first secret.

    Without a `path` the key is only in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._fernet: Fernet | None = None

    def seal(self, secret: str, *, first: bool = True) -> str:
        """Return a secret encrypted, to be stored; raises `HubError` if there is no key.

        A key is made only for the `first` secret: another key than the stored secrets' would hide
        that these are lost. The file is read again, so that nothing is sealed that the hub could
        not open after its next start.
        """
        try:
            self._fernet = self._sealing(first=first)
        except FileNotFoundError as error:
            message = (
                f"the key file {self.path} is missing, and stored credentials were sealed with it:"
                " put it back, or make another and enter them all again (docs/security.md)"
            )
            raise HubError(message) from error
        except (OSError, InputError) as error:
            raise HubError(f"the key of the hub cannot be used: {error}") from error
        return self._fernet.encrypt(secret.encode()).decode()

    def open(self, sealed: str) -> str:
        """Return a stored secret; raises `PeerError` if it must be entered again."""
        if not sealed:
            raise _lost("none is stored")
        try:
            return self._opened(sealed)
        except (OSError, InputError) as error:
            raise _lost("the key of the hub cannot be read") from error
        except InvalidToken as error:
            raise _lost("they were sealed with another key") from error

    def opens(self, sealed: str) -> bool:
        """Return whether the key is here that a stored secret was sealed with."""
        try:
            self._opened(sealed)
        except (OSError, InputError, InvalidToken):
            return False
        return True

    def digest(self) -> str:
        """Return a digest of the key's file, by which processes compare keys; empty without one."""
        try:
            key = b"" if self.path is None else self.path.read_bytes().strip()
        except OSError:
            return ""
        return hashlib.sha256(b"metaserver key " + key).hexdigest()[:DIGITS] if key else ""

    def _opened(self, sealed: str) -> str:
        try:
            return self._opening().decrypt(sealed.encode()).decode()
        except InvalidToken:
            if self.path is None:
                raise
            self._fernet = None  # the file may have been replaced meanwhile
            return self._opening().decrypt(sealed.encode()).decode()

    def _sealing(self, *, first: bool) -> Fernet:
        if self.path is None:
            return self._opening()
        if first:
            _make(self.path)
        return read_key(self.path)

    def _opening(self) -> Fernet:
        if self._fernet is None:
            path = self.path
            self._fernet = Fernet(Fernet.generate_key()) if path is None else read_key(path)
        return self._fernet


def read_key(path: Path) -> Fernet:
    """Return the key in a file; raises `OSError`, and `InputError` if it is not a key."""
    try:
        return Fernet(path.read_bytes().strip())
    except ValueError as error:
        raise InputError(path, "is no key of Fernet: 32 bytes in base64") from error


def _make(path: Path) -> None:
    """Write a new key, whole or not at all, unless a key exists."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.new")
    with files.create(draft) as file:
        file.write(Fernet.generate_key() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # another process was first: its key counts
        os.link(draft, path)
    draft.unlink()


def _lost(reason: str) -> PeerError:
    return PeerError(Outcome.CREDENTIALS, f"needs credentials: {reason}")
