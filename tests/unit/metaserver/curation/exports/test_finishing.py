"""A finished curation of a log: ranks, decisions, mentions."""

import msgspec

from metaserver.curation.exports.finished import MOST_QUOTED, Passage
from tests.unit.metaserver.curation.samples import EGFR, GRB2, LOG, SAMPLE, SHC1, TEXT


def test_items_keep_the_order_of_the_candidates() -> None:
    assert [(one.task, one.item, one.accepted) for one in SAMPLE.items] == [
        ("INT", (EGFR,), True),
        ("INT", (GRB2,), True),
        ("INT", (SHC1,), False),
        ("IPT", (EGFR, GRB2), True),
        ("IPT", (EGFR, EGFR), True),
    ]
    assert [one.servers != () for one in SAMPLE.items] == [True, True, True, True, False]
    assert SAMPLE.events == tuple(LOG)


def test_mentions_and_evidence_are_places_of_the_text() -> None:
    assert {TEXT[one.start : one.end] for one in SAMPLE.places(GRB2)} == {"Grb2"}
    [pair] = [one for one in SAMPLE.accepted("IPT") if one.experiments]
    assert [*SAMPLE.evidence_of(pair)] == ["EGFR (α-phosphorylated) was pulled down with Grb2."]
    assert Passage(start=1, end=2) < Passage(start=2, end=3)


def test_evidence_has_an_end_however_much_of_the_article_it_is() -> None:
    [pair] = [one for one in SAMPLE.accepted("IPT") if one.experiments]
    article = msgspec.structs.replace(SAMPLE.article, text="x" * 1_000)
    long = msgspec.structs.replace(SAMPLE, article=article)
    all_of_it = msgspec.structs.replace(pair, evidence=(Passage(start=0, end=1_000),) * 50)
    assert sum(map(len, long.evidence_of(all_of_it))) == MOST_QUOTED
