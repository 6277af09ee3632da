"""CSRF values as pages carry them: masked, in every page otherwise.

Pages are compressed, and some repeat what their address says: if they also held a secret, the
length of many answers would reveal it (BREACH). A random mask leaves nothing to compare.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets


def masked(value: str) -> str:
    """Return a value under a mask of its own length, with the mask before it."""
    plain = value.encode()
    mask = secrets.token_bytes(len(plain))
    return base64.urlsafe_b64encode(mask + _xor(mask, plain)).decode()


def matches(masked: str, value: str) -> bool:
    """Return whether `given` is a masked `value`."""
    try:
        raw = base64.b64decode(masked.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return False
    half = len(raw) // 2
    return hmac.compare_digest(_xor(raw[:half], raw[half:]), value.encode())


def _xor(first: bytes, second: bytes) -> bytes:
    if len(first) != len(second):
        return b""
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
