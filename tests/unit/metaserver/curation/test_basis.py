"""The basis of a curation: later answers come in, names are replaced, what was seen stays."""

import msgspec
import pytest

from metaserver.base.compression import pack, pack_json
from metaserver.base.curations import RequestOptions
from metaserver.base.lanes import Asides
from metaserver.base.records import ServerName
from metaserver.curation.basis import (
    MOST_EVIDENCE,
    Additions,
    CurationBasis,
    ShownCandidate,
    find_basis,
    merged,
    placed,
    renamed,
    undecided,
    united,
)
from metaserver.curation.candidates import CandidateVote, ClassVote, PanelDifference
from metaserver.curation.decisions import fold
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.mentions import CandidateSpan, SentMention
from metaserver.curation.proteins import ReleaseProteins
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.uniprot.directory import NamedEntry
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SHC1, TEXT, event


def vote(server: str, rank: int = 1, evidence: str = "") -> CandidateVote:
    return CandidateVote(
        server=server, rank=rank, confidence=0.5, part=None, evidence=evidence, taxid=None
    )


def candidate(*item: str, votes: tuple[CandidateVote, ...] = (), version: int = 1):
    return ShownCandidate(
        task="INT" if len(item) == 1 else "IPT", item=item, rank=1, score=1.0, probability=None,
        agreement=1.0, bias=None, votes=votes, new_since=version, version=version, method="rrf1",
    )  # fmt: skip


def span(accession: str, *servers: str) -> CandidateSpan:
    return CandidateSpan(start=0, end=4, accession=accession, servers=servers, origin="server")


OLD = CurationBasis(
    version=1,
    teams={ServerName("a"): "blue"},
    candidates=(candidate(EGFR), candidate(GRB2)),
    proteins={EGFR: CuratedProtein(accession=EGFR), GRB2: CuratedProtein(accession=GRB2)},
    spans=(span(EGFR, "a"), span(GRB2, "a")),
)


def test_what_was_shown_stays_with_the_version_it_had() -> None:
    new = CurationBasis(
        version=2,
        teams={ServerName("b"): ""},
        candidates=(candidate(SHC1, version=2), candidate(EGFR, version=2)),
        spans=(span(SHC1, "b"),),
    )
    found = merged(new, OLD)
    assert [(one.item, one.version) for one in found.candidates] == [
        ((SHC1,), 2), ((EGFR,), 2), ((GRB2,), 1),
    ]  # fmt: skip
    assert {one.accession for one in found.spans} == {SHC1, GRB2}
    assert found.teams == {"a": "blue", "b": ""}
    assert merged(new, found).candidates == found.candidates


def test_servers_are_renamed_everywhere_and_sorted_by_their_shown_names() -> None:
    basis = msgspec.structs.replace(
        OLD,
        candidates=(candidate(EGFR, votes=(vote("a"), vote("b"), vote("c", rank=2))),),
        differences={"INT": PanelDifference(absent=("a", "b"), unknown=("c",))},
        relevant=(ClassVote(server="a", relevant=True, confidence=1.0),
                  ClassVote(server="b", relevant=True, confidence=1.0)),
        spans=(span(EGFR, "a", "b"),),
    )  # fmt: skip
    names = {"a": "Team 2", "b": "Team 1", "c": "Team 3"}
    found = renamed(basis, names.__getitem__)
    assert [one.server for one in found.candidates[0].votes] == ["Team 1", "Team 2", "Team 3"]
    assert [one.server for one in found.relevant] == ["Team 1", "Team 2"]
    assert found.differences["INT"].absent == ("Team 1", "Team 2")
    assert found.differences["INT"].unknown == ("Team 3",)
    assert found.spans[0].servers == ("Team 1", "Team 2")


def test_names_and_mentions_are_placed() -> None:
    entry = NamedEntry(
        accession=EGFR, entry_name="EGFR_HUMAN", names=("EGF receptor",), symbols=("EGFR",),
        taxon=9606, organism="Human",
    )  # fmt: skip
    sent = [SentMention(server="a", accession=EGFR, offset=TEXT.index("EGFR"), words="EGFR")]
    basis = CurationBasis(candidates=(candidate(EGFR, votes=(vote("a", evidence="Grb2  binds"),)),))
    found = placed(basis, TEXT, sent, {EGFR: entry})
    assert found.proteins[EGFR].organism == "Human"
    places = {(TEXT[one.start : one.end], one.origin) for one in found.spans}
    assert {("EGFR", "server"), ("EGF receptor", "names")} <= places
    assert {one.accession for one in found.spans} == {EGFR}
    assert [TEXT[one.start : one.end] for one in found.evidence] == ["Grb2 binds"]


def test_what_a_curator_adds_is_united() -> None:
    one = Additions(proteins={EGFR: CuratedProtein(accession=EGFR)}, spans=(span(EGFR),))
    other = Additions(proteins={GRB2: CuratedProtein(accession=GRB2)}, spans=(span(GRB2),))
    both = united(one, other)
    assert both == united(other, one) == united(both, one)
    assert both.proteins.keys() == {EGFR, GRB2}


def test_undecided_are_candidates_and_a_class_that_servers_gave() -> None:
    state = fold([event(1, "accept", "INT", EGFR), event(2, "undecide", "INT", EGFR)])
    assert [one.item for one in undecided(OLD, state)] == [(EGFR,), (GRB2,)]
    voted = msgspec.structs.replace(
        OLD, relevant=(ClassVote(server="a", relevant=True, confidence=1.0),)
    )
    assert undecided(voted, state)[-1].task == "ACT"
    decided = fold([event(3, "relevant", relevant=False)])
    assert "ACT" not in {one.task for one in undecided(voted, decided)}


@pytest.mark.slow
def test_a_hostile_answer_does_not_make_it_large(tmp_path) -> None:
    """Much evidence and many mentions: what is kept is bounded, the first come first."""
    hits = [[f"P{number:05}", number + 1, 0.5] for number in range(30)]
    evidence = [("x" * 2_000, 9606)] * 30
    asides = Asides(hits={"INT": evidence}, mentions=[(0, "Grb2", "protein", "P00000")] * 20_000)  # type: ignore[dict-item]
    answers = [
        RequestAnswer(
            server_id=number, server=ServerName(f"s{number}"), team="", started_at=0.0,
            ended_at=0.0, payloads=pack_json({"INT": hits}),
            asides=pack(msgspec.json.encode(asides)),
        )
        for number in range(20)
    ]  # fmt: skip
    request = StoredRequest(
        id="0" * 16, token_id=1, caller="curator", at=0.0, article="", title="", length=len(TEXT),
        text=pack(TEXT.encode()), options=RequestOptions(cutoff=200), release="", expires_at=0.0,
    )  # fmt: skip
    found = find_basis(request, answers, {}, 3, {}, ReleaseProteins(tmp_path, ""))
    assert len(found.candidates) == 30
    kept = [vote.evidence for one in found.candidates for vote in one.votes]
    assert MOST_EVIDENCE - 2_000 < sum(map(len, kept)) <= MOST_EVIDENCE
    assert all(kept[:100])
    [seen] = found.spans
    assert len(seen.servers) == 20
