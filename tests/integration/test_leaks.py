"""Nothing that a reader is sent lets the gold be guessed: the attack on its digest, replayed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from metaserver.lifecycle import Visibility
from metaserver.operations.catalogue import OPERATIONS
from scoring import ActGold
from tests.integration.test_roles import (
    BLUE,
    PLACES,
    ROWS,
    Hub,
    by_http,
    by_rpc,
    hub_with_blue,
)

pytestmark = pytest.mark.slow

ARTICLES = [f"sample{number:02}" for number in range(1, 11)]
LABELS = (True, False, False, True, True, False, True, False, False, True)
LEAST = 8  # hexadecimal digits that tell more than chance
HEX = re.compile(rf"[0-9a-f]{{{LEAST},}}", re.IGNORECASE)
READERS = ("", "reader", "red", "blue")


def gold_file(labels: Sequence[bool]) -> bytes:
    """Return a gold file of ACT."""
    rows = zip(ARTICLES, labels, strict=True)
    return "".join(f"{article}\t{label:d}\n" for article, label in rows).encode()


def digests(labels: Sequence[bool]) -> Iterator[str]:
    """Yield what the digest of a gold might be: of its file or its content, by usual functions."""
    gold = ActGold(relevant=dict(zip(ARTICLES, labels, strict=True)))
    content, lines = gold_file(labels), gold_file(labels).decode().splitlines()
    forms = {content, content.rstrip(), "\n".join(sorted(lines)).encode()}
    yield gold.digest
    for form in forms:
        for function in (hashlib.sha256, hashlib.sha1, hashlib.md5, hashlib.blake2b):
            yield function(form).hexdigest()


def guessed(told: Mapping[str, str]) -> Sequence[tuple[str, Sequence[bool]]]:
    """Try all golds that there could be; return where which of them was recognized."""
    seen = {
        found[0][:LEAST].lower(): place
        for place, text in told.items()
        for found in HEX.finditer(text)
    }
    return [
        (seen[digest[:LEAST]], labels)
        for labels in product((False, True), repeat=len(ARTICLES))
        for digest in digests(labels)
        if digest[:LEAST] in seen
    ]


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    """A hub with the hidden gold, its boards frozen once by a change of it."""
    async with hub_with_blue(tmp_path) as made:
        given = {"phase": "test", "task": "ACT", "source": "gold_act.tsv"}
        await made.running.do("gold.set", **given, content=gold_file(LABELS))
        other = [not label for label in LABELS]
        change = await made.running.do("gold.set", **given, content=gold_file(other))
        made.board = change.frozen
        yield made


async def told_to(hub: Hub, who: str) -> Mapping[str, str]:
    """Return all that pages and operations answer somebody who only looks."""
    told = {}
    head = {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
    for address in pages(hub):
        async with hub.client.get(address, headers=head) as response:
            told[address] = f"{response.headers}{await response.text()}"
    for name, row in ROWS.items():
        if OPERATIONS[name].method == "GET":
            values = await hub.values(row, who or "anyone")
            if name.startswith("boards.") and "task" in values:
                values["task"] = "ACT"
            for ask in (by_http, by_rpc):
                _, told[f"{name} {ask.__name__}"] = await ask(hub, name, who, values)
    return told


def pages(hub: Hub) -> Iterator[str]:
    """Yield the addresses of all pages that end, those of the boards in every form."""
    assert hub.client.app is not None
    places = PLACES | {"task": "ACT", "key": hub.board, "name": BLUE}
    for route in hub.client.app.router.routes():
        place = route.resource.canonical if route.resource is not None else ""
        if route.method == "GET" and not place.endswith("/events") and "static" not in place:
            yield re.sub(r"{(\w+)}", lambda found: places.get(found[1], "test"), place)


@pytest.mark.parametrize("visibility", Visibility)
async def test_no_guess_at_the_gold_can_be_checked(hub: Hub, visibility: Visibility) -> None:
    await hub.running.do("phases.update", phase="test", visibility=visibility)
    for who in READERS:
        told = await told_to(hub, who)
        assert any("|release:" in text for text in told.values())  # signatures are among it
        assert guessed(told) == [], who
    told = await told_to(hub, "organiser")
    shown = {place: text for place, text in told.items() if not place.startswith("gold.get")}
    assert guessed(shown) == []  # organisers are told keyed digests
    assert any("|mark:" in text for text in shown.values())


def test_the_attack_recognizes_a_plain_digest() -> None:
    gold = ActGold(relevant=dict(zip(ARTICLES, LABELS, strict=True)))
    found = guessed({"/t/ACT": f"ACT|gold:{gold.digest}|articles:answered"})
    assert ("/t/ACT", LABELS) in found


async def test_equal_golds_have_equal_marks_and_a_reader_sees_versions(hub: Hub) -> None:
    async def signature(who: str) -> str:
        _, told = await by_http(hub, "boards.get", who, {"phase": "test", "task": "ACT"})
        found = re.search(r'"signature": ?"([^"]*)"', told)
        assert found is not None
        return found[1]

    given = {"phase": "test", "task": "ACT", "source": "gold_act.tsv"}
    first = await signature("organiser")
    await hub.running.do("gold.set", **given, content=gold_file(LABELS))
    second = await signature("organiser")
    await hub.running.do("gold.set", **given, content=gold_file([not one for one in LABELS]))
    third, seen = await signature("organiser"), await signature("blue")
    marks = [one.rsplit("|mark:", 1)[1] for one in (first, second, third)]
    assert marks[0] == marks[2] != marks[1]
    assert seen == third.rsplit("|mark:", 1)[0]
    assert "|gold:5|" in seen
