"""A checkpoint's content: what was computed from a lane's log up to a serial.

It is used only if everything else it depends on is the same; otherwise the log is read from its
beginning.
"""

from __future__ import annotations

import hashlib

import msgspec
import zstandard

from metaserver.base.compression import pack, unpack
from metaserver.boards.scoreboard import ScorerDump
from metaserver.boards.snapshots import KeptMonitor
from metaserver.boards.windows import KeptWindows
from metaserver.config import Settings
from metaserver.uniprot import ReleaseVocabulary

FORMAT = 9
"""The version for what is computed from attempts, and for its form; raised when either changes."""
DIGEST_BYTES = 16


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the text is the reason."""


class Basis(msgspec.Struct, frozen=True, array_like=True):
    """The values that a checkpoint depends on besides the log, gold and scorers.

    `time_limit` is an article's, in seconds; `release` is a digest of the UniProt release.
    """

    time_limit: float
    release: str
    format: int = FORMAT


def basis_of(settings: Settings, vocabulary: ReleaseVocabulary) -> Basis:
    """Return the basis for a phase with these settings."""
    release = hashlib.sha256(msgspec.msgpack.encode(vocabulary.release.meta))
    return Basis(time_limit=settings.limits.timeout, release=release.hexdigest())


class Content(msgspec.Struct, frozen=True, array_like=True):
    """A lane's aggregates; a scoreboard with another gold refuses the `runs`."""

    basis: Basis
    monitor: KeptMonitor
    windows: KeptWindows
    runs: tuple[ScorerDump, ...]


def encode(content: Content) -> bytes:
    """Return a content as it is stored; slow for a long lane: call it in a thread."""
    packed = pack(_encoder.encode(content))
    return _digest(packed) + packed


def decode(stored: bytes, basis: Basis) -> Content:
    """Return a stored content; `CheckpointError` if it is damaged or has another basis."""
    digest, packed = stored[:DIGEST_BYTES], stored[DIGEST_BYTES:]
    if digest != _digest(packed):
        raise CheckpointError("it is damaged")
    try:
        document = unpack(packed)
        made_for = _basis.decode(document).basis
        if made_for != basis:
            raise CheckpointError(f"it was made with {made_for}, now it is {basis}")
        return _content.decode(document)
    except (msgspec.MsgspecError, zstandard.ZstdError) as error:
        raise CheckpointError(f"it is of another format: {error}") from error


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=DIGEST_BYTES).digest()


class _OnlyBasis(msgspec.Struct, frozen=True, array_like=True):
    """A content's first member: the others are not read."""

    basis: Basis


_encoder = msgspec.msgpack.Encoder()
_content = msgspec.msgpack.Decoder(Content)
_basis = msgspec.msgpack.Decoder(_OnlyBasis)
