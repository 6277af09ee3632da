from metaserver.base.phases import Phase, labels_of
from metaserver.base.plans import PhasePlan
from metaserver.base.records import PhaseName
from metaserver.base.states import PhaseState


def phase(name: str, title: str, challenge: str = "bc", challenge_title: str = "") -> Phase:
    return Phase(
        id=1, name=PhaseName(name), own_name=name, challenge=challenge,
        challenge_title=challenge_title, timezone="UTC",
        plan=PhasePlan(kind=PhaseState.TEST, title=title), reached=None, corpus_id=1, release="",
        created_at=0.0,
    )  # fmt: skip


def test_phases_of_the_same_title_are_told_apart() -> None:
    labels = labels_of([
        phase("plain", ""),
        phase("final", "Final"),
        phase("test", "Test", "names", "Names of proteins"),
        phase("bc.test", "Test"),
        phase("one", "Training"),
        phase("two", "Training"),
    ])  # fmt: skip
    assert labels == {
        "plain": "phase plain",
        "final": "Final",
        "test": "Test (Names of proteins)",
        "bc.test": "Test (bc)",
        "one": "Training (one)",
        "two": "Training (two)",
    }
