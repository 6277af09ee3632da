"""Structured Digital Abstracts."""

import re

import msgspec
from hypothesis import given, settings

from metaserver.curation.experiments import Experiment
from metaserver.curation.exports.mitab import write_sda
from tests.unit.metaserver.curation.samples import DETAILED, SAMPLE, curations

LINE = re.compile(r"[^()\n]+ \(uniprotkb:[^()\n]*\) [^()\n]+ \(MI:\d{4}\) [^()\n]+.*")


def test_pairs_are_sentences() -> None:
    assert write_sda([SAMPLE]).decode() == (
        "EGFR (uniprotkb:P00533) physically interacts (MI:0915) with"
        " GRB2 (uniprotkb:P62993) by pull down (MI:0096)\n"
        "EGFR (uniprotkb:P00533) physically interacts (MI:0915) with"
        " itself by unspecified method (MI:0686)\n"
    )


def test_a_sentence_is_written_once() -> None:
    twice = msgspec.structs.replace(SAMPLE, items=SAMPLE.items * 2)
    assert write_sda([twice]) == write_sda([SAMPLE])


def test_several_articles_have_headings() -> None:
    one, other = write_sda([SAMPLE, SAMPLE]).decode().split("\n\n")
    assert one.splitlines()[0] == "# 10068444"
    assert other.splitlines()[1:] == write_sda([SAMPLE]).decode().splitlines()


def test_modifications_are_named() -> None:
    [pair] = [one for one in SAMPLE.accepted("IPT") if one.experiments]
    kinase = msgspec.structs.replace(pair, experiments=(Experiment(method="MI:0424"),))
    text = write_sda([msgspec.structs.replace(SAMPLE, items=(kinase,))]).decode()
    assert "takes part in a phosphorylation reaction (MI:0217) with GRB2" in text


def test_a_bait_comes_first_and_what_does_not_interact_is_left_out() -> None:
    assert write_sda([DETAILED]).decode().splitlines()[1] == (
        "GRB2 (uniprotkb:P62993) physically interacts (MI:0915) with"
        " EGFR (uniprotkb:P00533-2) by pull down (MI:0096)"
    )
    assert b"two hybrid" not in write_sda([DETAILED])


@settings(max_examples=50)
@given(curations())
def test_any_curation_has_a_line_a_sentence(curation) -> None:
    lines = write_sda([curation]).decode("utf-8").split("\n")
    assert lines.pop() == ""
    assert len(lines) <= len(curation.observations())
    assert all(LINE.fullmatch(line) for line in lines)
