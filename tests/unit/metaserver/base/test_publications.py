"""Identifiers of publications, as people and files write them."""

from typing import Any

import pytest

from metaserver.base.errors import RefusedError
from metaserver.base.publications import Publication, normal, sound


@pytest.mark.parametrize(
    ("field", "written", "kept"),
    [
        ("pmid", "PMID: 010068444", "10068444"),
        ("pmid", "https://pubmed.ncbi.nlm.nih.gov/10068444/", "10068444"),
        ("pmcid", "pmc2375009", "PMC2375009"),
        ("pmcid", "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC2375009/", "PMC2375009"),
        ("doi", "doi:10.1016/j.febslet.2008.02.065", "10.1016/j.febslet.2008.02.065"),
        ("doi", "https://doi.org/10.1002/(SICI)1<2::AID>3.0", "10.1002/(SICI)1<2::AID>3.0"),
    ],
)
def test_an_identifier_is_kept_in_one_form(field: str, written: str, kept: str) -> None:
    given: dict[str, Any] = {field: f" {written} "}
    assert getattr(normal(Publication(**given)), field) == kept
    assert getattr(Publication.named(written), field) == kept


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("pmid", "PMC12"),
        ("pmid", "0"),
        ("pmid", "\uff11\uff12"),
        ("pmid", "unassigned-7"),
        ("pmcid", "10068444"),
        ("doi", "10.1016/with a blank"),
        ("doi", "https://elsewhere.example/10.1016/j.1"),
        ("year", 99),
    ],
)
def test_what_is_no_identifier_is_refused_by_its_field(field: str, written: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        normal(Publication(**{field: written}))
    assert caught.value.field == field


def test_a_file_gives_what_it_has_and_never_fails() -> None:
    found = sound(pmid="n/a", pmcid="PMC7", doi="10.1/x", author=" A\n B ", year="2006 Jan-Feb")
    assert found == Publication(pmcid="PMC7", author="A B", year=2006)
