"""Uploads compared with earlier ones: by what counts for the score."""

import random
from typing import Any

from metaserver.base.compression import pack_json
from metaserver.base.records import ArticleId
from metaserver.operations.uploads import EXACT, ComparedUpload, compared, differing, digests_of


def upload(payloads: dict[str, Any], *before: ComparedUpload, **counted: Any) -> ComparedUpload:
    known = [pack_json(one.digests) for one in before if one.digests is not None]
    answers = {ArticleId(name): payload for name, payload in payloads.items()}
    return compared(answers, known, counted.get("counted"))


def hits(count: int = 100, **changes: Any) -> dict[str, Any]:
    known = {f"a{n}": [["P1", 1, 0.5], ["P2", 2, 0.25]] for n in range(count)}
    return known | changes


def test_other_numbers_change_nothing_and_other_names_do() -> None:
    first = upload(hits())
    assert first.changed is None
    same = upload(hits(), first)
    assert (same.changed, same.digests) == (None, None)
    sure = {name: [["P1", 4, 0.9], ["P2", 7, 0.1]] for name in hits()}
    assert upload(sure, first).changed == 0
    assert upload(hits(a3=[["P1", 1, 0.5]]), first) == ComparedUpload(100, 1, None)
    assert upload(hits(a3=[["P2", 1, 0.5], ["P1", 2, 0.25]]), first).changed == 1  # ranks count
    other = upload({name: [["P3", 1, 0.5]] for name in hits()}, first)
    assert other.changed == 100
    assert other.digests is not None


def test_an_order_differs_by_the_places_that_have_to_be_moved() -> None:
    pairs = [f"p{n}" for n in range(200)]

    def ordered(names: list[str]) -> dict[str, int]:
        return {name: place for place, name in enumerate(names)}

    def confident(names: list[str]) -> dict[str, float]:
        return {name: place / 7 for place, name in enumerate(names)}

    first = upload(confident(pairs), counted=ordered(pairs))
    moved = [*pairs[1:], pairs[0]]  # every place is another one, and one pair was moved
    found = upload(confident(moved), first, counted=ordered(moved))
    assert (found.changed, found.digests) == (1, None)
    mixed = random.Random(3).sample(pairs, len(pairs))
    found = upload(confident(mixed), first, counted=ordered(mixed))
    assert found.changed > 100
    assert found.digests is not None
    fewer = digests_of({ArticleId(name): 0.5 for name in pairs[:150]}, ordered(pairs[:150]))
    assert differing(first.digests or {}, fewer) == 50
    assert EXACT in fewer
