"""A release against a simple model: Python sets and the pattern."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.uniprot import Release, ReleaseVocabulary, SecondaryPolicy, Status, build_release
from metaserver.uniprot.codec import PATTERN, encode

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ANY = LETTERS + "0123456789"
PREFIXES = ["A0A023", "A0A1B0", "B3KQF5", "Z9Z999", "N0A0A0"]


def a_string(rng: random.Random) -> str:
    """Return six or ten characters, most of them an accession; few prefixes, so that many recur."""
    if rng.random() < 0.5:
        tail = [rng.choice(LETTERS), rng.choice("AZ09"), rng.choice(ANY), rng.choice("0123456789")]
        text = rng.choice(PREFIXES) + "".join(tail)
    else:
        places = ["ABOPQZ", "0189", ANY, "AZ09", ANY, "0123456789"]
        text = "".join(rng.choice(place) for place in places)
    if rng.random() < 0.05:
        place = rng.randrange(len(text))
        text = text[:place] + rng.choice("-. aé\n٣") + text[place + 1 :]
    return text


def expected(text: str, live: set[str], merged: dict[str, str], deleted: set[str]) -> Status:
    if not PATTERN.fullmatch(text):
        return Status.MALFORMED
    if text in live:
        return Status.PRIMARY
    if text in merged:
        return Status.SECONDARY
    return Status.DELETED if text in deleted else Status.UNKNOWN


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def a_release(folder: Path, live: set[str], merged: dict[str, str], deleted: set[str]) -> Release:
    former = [f"{old}  {new}" for old, new in merged.items()]
    sources = [
        write(folder / "live", sorted(live)),
        write(folder / "secondary", ["Name:        sec_ac.txt", "____", *former]),
        write(folder / "deleted", ["Name:        delac_sp.txt", "____", *deleted]),
    ]
    return build_release(sources, name="random", out=folder / "release")


@pytest.mark.parametrize(
    "count", [100_000, pytest.param(1_000_000, marks=pytest.mark.nightly, id="a million")]
)
def test_random_strings_agree_with_the_pattern_and_sets(tmp_path, count):
    rng = random.Random(25)
    strings = [a_string(rng) for _ in range(count)]
    valid = sorted({text for text in strings if PATTERN.fullmatch(text)})
    rng.shuffle(valid)
    third, sixth = len(valid) // 3, len(valid) // 6
    live = set(valid[:third])
    merged = dict(zip(valid[third : third + sixth], valid, strict=False))
    deleted = set(valid[third + sixth : third + 2 * sixth])
    release = a_release(tmp_path, live, merged, deleted)
    found = release.judge(strings)
    assert found.tolist() == [expected(text, live, merged, deleted) for text in strings]
    assert np.bincount(found, minlength=5).min() > count // 100
    some = rng.sample(sorted(merged), 1_000)
    assert [verdict.accessions for verdict in release.lookup(some)] == [(merged[t],) for t in some]
    assert release.bits.count == len(live)


def test_the_first_and_the_last_accession_of_each_form_are_found(tmp_path):
    ends = ["A0AAA0", "Z9Z999", "O0AAA0", "Q99999", "A0AAA0AAA0", "Z9Z999Z999"]
    release = a_release(tmp_path, set(ends), {"P00001": "Q99999"}, {"P00002"})
    assert release.judge(ends).tolist() == [Status.PRIMARY] * len(ends)
    others = ["P00001", "B0AAA0AAA0", "x"]
    assert release.bits.ranks(encode(ends + others)).tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1]


@given(sent=st.lists(st.text(max_size=20) | st.sampled_from(["P04637", "Q15086", "P29358"])))
def test_every_string_is_accepted_or_ruled_on(tmp_path_factory, sent):
    vocabulary = ReleaseVocabulary(release=fixed(tmp_path_factory), secondary=SecondaryPolicy.MAP)
    rulings = vocabulary.rulings(sent)
    for place, text in enumerate(sent):
        if text == "P04637":
            assert place not in rulings
        else:
            assert rulings[place].accession == ("P04637" if text == "Q15086" else None)
            assert rulings[place].note


_FIXED: list[Release] = []


def fixed(tmp_path_factory) -> Release:
    """Return one small release for all examples."""
    if not _FIXED:
        merged = {"Q15086": "P04637"}
        _FIXED.append(a_release(tmp_path_factory.mktemp("fixed"), {"P04637"}, merged, {"P29358"}))
    return _FIXED[0]
