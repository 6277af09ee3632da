from metaserver.base.plans import Normalisation
from metaserver.uniprot import FormatVocabulary, ReleaseVocabulary, Ruling, SecondaryPolicy
from metaserver.uniprot.verdicts import INTENTS, Intent
from metaserver.uniprot.vocabulary import Policies, split_name


def test_only_strings_not_accepted_unchanged_have_a_ruling(release):
    vocabulary = ReleaseVocabulary(release=release)
    assert vocabulary.rulings(["P04637", "P02340", "A0A023GPI8"]) == {}
    assert vocabulary.rulings([]) == {}


def test_reject_accepts_primary_accessions_only(release):
    sent = ["P04637", "Q15086", "P29358", "O00001", "P99999", "P04637-2"]
    assert ReleaseVocabulary(release=release).rulings(sent) == {
        1: Ruling(None, "secondary: merged into P04637: send P04637"),
        2: Ruling(None, "secondary: split into P68250, P68251: send the one that is meant"),
        3: Ruling(None, "deleted: deleted from UniProt without a successor: leave it out"),
        4: Ruling(
            None, "unknown: not in UniProt 2025_04: send a primary accession of that release"
        ),
        5: Ruling(None, "names an isoform, not an entry: send P04637"),
    }


def test_map_replaces_a_merged_accession_and_never_picks_for_a_split_one(release):
    vocabulary = ReleaseVocabulary(release=release, secondary=SecondaryPolicy.MAP)
    rulings = vocabulary.rulings(["Q15086", "P29358", "Q15086-2", "P04637"])
    assert rulings[0] == Ruling("P04637", "secondary: merged into P04637, counted as P04637")
    assert [rulings[i].accession for i in (1, 2)] == [None, None]
    assert set(rulings) == {0, 1, 2}


def test_scores_are_signed_with_the_release_and_an_unusual_policy(release):
    assert ReleaseVocabulary(release=release).name == "2025_04"
    mapped = ReleaseVocabulary(release=release, secondary=SecondaryPolicy.MAP)
    assert mapped.name == "2025_04+map"


def test_earlier_accepted_strings_change_no_ruling(release):
    vocabulary = ReleaseVocabulary(release=release)
    sent = ["P04637", "P99999", "P02340", "Q15086", "A0A023GPI8"]
    first = vocabulary.rulings(sent)
    assert set(first) == {1, 3}
    assert vocabulary.rulings(sent) == first
    assert vocabulary.rulings(["P02340", "A0A023GPI8", "P99999"]) == {2: first[1]}


def test_without_a_release_the_form_of_an_accession_decides():
    sent = ["P04637", "Q0ZZZ9", "A0A023GPI8", "P04637-2", "P53_HUMAN", "TP53", "", "p04637"]
    assert FormatVocabulary().rulings(sent) == {
        3: Ruling(None, "names an isoform, not an entry: perhaps P04637 is meant"),
        4: Ruling(None, "is an entry name, not an accession"),
        5: Ruling(None, f"{INTENTS[Intent.NONE]}"),
        6: Ruling(None, f"{INTENTS[Intent.NONE]}"),
        7: Ruling(None, "is not in upper case: perhaps P04637 is meant"),
    }
    assert FormatVocabulary().rulings([]) == {}


def test_mend_reads_the_accession_that_a_string_contains(release):
    vocabulary = ReleaseVocabulary(release=release, normalise=Normalisation.MEND)
    sent = ["P04637-2", " p04637", "uniprot:P04637", "https://www.uniprot.org/uniprot/P04637"]
    rulings = vocabulary.rulings([*sent, "P04637", "P99999-1", "Q15086-2", "P53_HUMAN", "TP53"])
    assert [rulings[i].accession for i in range(4)] == ["P04637"] * 4
    assert rulings[0].note == "names an isoform, not an entry: read as P04637"
    assert [rulings[i].accession for i in range(5, 9)] == [None] * 4
    assert 4 not in rulings


def test_mend_and_map_work_together(release):
    policies = Policies(SecondaryPolicy.MAP, Normalisation.MEND)
    vocabulary = ReleaseVocabulary(release=release, **policies._asdict())
    assert vocabulary.rulings(["Q15086-2"])[0].accession == "P04637"
    assert vocabulary.name == "2025_04+map+mend"
    assert split_name(vocabulary.name, Policies()) == ("2025_04", policies)
    assert split_name("2025_04", Policies()) == ("2025_04", Policies())
