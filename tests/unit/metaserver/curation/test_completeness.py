"""What the rules of MIMIx and IMEx require, field by field."""

from msgspec.structs import replace

from metaserver.base.publications import UNKNOWN, Publication
from metaserver.curation.completeness import missing
from metaserver.curation.experiments import Experiment, Participant
from tests.unit.metaserver.curation.samples import EGFR, GRB2, PULLED, SAMPLE

WHOLE = Experiment(
    method="MI:0096",
    type="MI:0915",
    host=-1,
    figure="Fig. 1",
    evidence=(PULLED,),
    participants=tuple(
        Participant(
            accession=accession,
            experimental_role=role,
            biological_role="MI:0499",
            identification="MI:0113",
        )
        for accession, role in ((f"{EGFR}-2", "MI:0498"), (GRB2, "MI:0496"))
    ),
)
[PAIR, _] = SAMPLE.pairs()


def lacking(*experiments: Experiment, publication: Publication | None = None) -> list[str]:
    pair = replace(PAIR, experiments=experiments, evidence=())
    article = SAMPLE.article
    if publication is not None:
        article = replace(article, publication=publication)
    found = missing(replace(SAMPLE, article=article, items=(pair,)))
    return [f"{one.rules} {one.experiment} {one.participant} {one.field}" for one in found]


def test_a_whole_experiment_lacks_nothing() -> None:
    assert lacking(WHOLE) == []


def test_each_field_of_an_experiment_is_named_if_it_is_empty() -> None:
    for name, empty, rules in (
        ("method", "", "MIMIx"),
        ("type", "", "MIMIx"),
        ("host", None, "MIMIx"),
        ("figure", "", "IMEx"),
        ("evidence", (), "IMEx"),
    ):
        assert lacking(WHOLE, replace(WHOLE, **{name: empty})) == [f"{rules} 2  {name}"]


def test_each_field_of_a_participant_is_named_if_it_is_empty() -> None:
    first, second = WHOLE.participants
    for name, rules in (
        ("experimental_role", "MIMIx"),
        ("identification", "MIMIx"),
        ("biological_role", "IMEx"),
    ):
        one = replace(WHOLE, participants=(first, replace(second, **{name: ""})))
        assert lacking(one) == [f"{rules} 1 {GRB2} {name}"]
    unknown = replace(WHOLE, participants=(first, second, replace(second, accession="Q00000")))
    assert lacking(unknown) == ["MIMIx 1 Q00000 organism"]


def test_a_publication_has_a_pmid_author_year_and_journal() -> None:
    found = lacking(WHOLE, publication=UNKNOWN)
    assert found == ["MIMIx 0  pmid", "IMEx 0  author", "IMEx 0  year", "IMEx 0  journal"]
    known = Publication(doi="10.1000/a.1", author="A", year=2006, journal="J")
    assert lacking(WHOLE, publication=known) == ["IMEx 0  pmid"]


def test_an_article_without_pairs_lacks_nothing() -> None:
    assert missing(replace(SAMPLE, items=())) == []
