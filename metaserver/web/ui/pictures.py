"""Pictures for link previews, which take no SVG: bars, drawn without a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

WIDTH, HEIGHT = 1200, 630
"""The size that other sites show whole."""
MARGIN = 60
BARS = 10
"""The maximum number of bars."""
PALETTE = bytes.fromhex("ffffffe4e7ec2a5bd0")
"""White, the light grey of a bar's rail, the blue of its value."""


def bars(shares: Sequence[float]) -> bytes:
    """Return a PNG of horizontal bars, the first on top; a share is in [0, 1]."""
    length, step = WIDTH - 2 * MARGIN, (HEIGHT - 2 * MARGIN) // BARS
    lines = [bytes(WIDTH)] * HEIGHT
    for place, share in enumerate(shares[:BARS]):
        filled, top = round(share * length), MARGIN + place * step
        bar = b"\2" * filled + b"\1" * (length - filled)
        lines[top : top + 2 * step // 3] = [bytes(MARGIN) + bar + bytes(MARGIN)] * (2 * step // 3)
    pixels = b"".join(b"\0" + line for line in lines)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, content)
        for kind, content in (
            (b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)),  # 8 bits, a palette
            (b"PLTE", PALETTE),
            (b"IDAT", zlib.compress(pixels)),
            (b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))
