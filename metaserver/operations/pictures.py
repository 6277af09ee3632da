"""Pictures of a challenge, which its bundle brought: their bounds, and what is in their headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext
from metaserver.store import phases

FOLDER = "pictures"
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}[.](?:png|jpe?g)"
PLACED = re.compile(rf"\]\({FOLDER}/([^)\s]{{1,100}})\)")
"""How a text refers to a picture: `![words](pictures/NAME)`."""
MOST = 20
MOST_BYTES = 2**19
MOST_SIDE = 4_000
"""Pixels: a small file can become a picture that fills a reader's memory."""
PNG, JPEG = "image/png", "image/jpeg"
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of a JPEG after which its size comes."""


async def picture_of(
    hub: HubContext, caller: Caller, challenge: str, name: str
) -> tuple[str, bytes]:
    """Return the media type and content of a picture, for the challenge's page."""
    seen = await seen_challenge(hub, caller, challenge)
    async with hub.store.reading() as connection:
        content = await phases.picture(connection, seen.id, name)
    if content is None:
        message = f"challenge {seen.name} has no picture {name!r}"
        raise RefusedError(Refusal.UNKNOWN, message, field="picture")
    kind, _ = measured(content)
    return kind, content


def measured(content: bytes) -> tuple[str, tuple[int, int]]:
    """Return a picture's media type, and its width and height; ValueError for any other file."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return PNG, (_number(content[16:20]), _number(content[20:24]))
    if content.startswith(b"\xff\xd8"):
        place = 2
        while content[place : place + 1] == b"\xff" and place + 9 <= len(content):
            marker = content[place + 1]
            if marker in FRAMES:
                height, width = content[place + 5 : place + 7], content[place + 7 : place + 9]
                return JPEG, (_number(width), _number(height))
            place += 2 + max(_number(content[place + 2 : place + 4]), 2)
    raise ValueError("expected a PNG or JPEG picture")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def read_pictures(root: Path, faults: list[InputError]) -> Mapping[str, bytes]:
    """Return the pictures of a bundle by name; what is wrong with others goes to `faults`."""
    folder = root / FOLDER
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    if len(paths) > MOST:
        faults.append(InputError(FOLDER, f"{len(paths):,} files; at most {MOST} are allowed"))
    found = {}
    for path in paths[:MOST]:
        place = path.relative_to(root).as_posix()
        try:
            found[path.name] = _read(place, path)
        except ValueError as error:
            faults.append(InputError(place, str(error)))
    return found


def _read(place: str, path: Path) -> bytes:
    if not re.fullmatch(f"{FOLDER}/{NAME}", place):
        raise ValueError(
            "expected a name of letters, digits, '_' and '-' that ends with .png, .jpg or .jpeg,"
            f" directly in {FOLDER}"
        )
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"larger than {MOST_BYTES >> 10} KiB")
    content = path.read_bytes()
    kind, sides = measured(content)
    if (kind == PNG) != (path.suffix == ".png"):
        raise ValueError(f"its content is {kind}, which its name denies")
    if not all(1 <= side <= MOST_SIDE for side in sides):
        raise ValueError(f"{sides[0]} x {sides[1]} pixels; at most {MOST_SIDE:,} each are allowed")
    return content


def missing(texts: Mapping[str, str], pictures: Iterable[str]) -> Iterator[InputError]:
    """Yield the places at which texts, by file, refer to a picture that is not there."""
    known = set(pictures)
    for place, text in texts.items():
        for number, line in enumerate(text.splitlines(), start=1):
            for name in PLACED.findall(line):
                if name not in known:
                    message = f"there is no picture {FOLDER}/{name} in the bundle"
                    yield InputError(place, message, line=number)
