"""A finished curation as its documents show it, and any curation that a hostile peer may cause."""

import random

import msgspec
from hypothesis import strategies as st

from metaserver.base.publications import Publication
from metaserver.curation.decisions import CurationEvent, DecisionDetail, DecisionKind
from metaserver.curation.experiments import Experiment, Feature, Participant
from metaserver.curation.exports.finished import (
    CuratedArticle,
    CuratedItem,
    CuratedProtein,
    CurationOrigin,
    FinishedCuration,
    Passage,
    ProposedBy,
)
from metaserver.curation.exports.finishing import ProposedItem, finish
from metaserver.curation.mentions import CandidateSpan
from scoring import Task

TITLE = "Grb2 binds the EGF receptor."
TEXT = f"{TITLE}\nEGFR (α-phosphorylated) was pulled down with Grb2. EGFR forms dimers."
PUBLICATION = Publication(
    pmid="10068444", doi="10.1000/grb2.1", journal="J. Examples", author="Smith", year=1999
)
ARTICLE = CuratedArticle(id="10068444", title=TITLE, text=TEXT, publication=PUBLICATION)
SUBMITTED = 1_763_820_000.0  # 2025-11-22 14:00 UTC
EGFR, GRB2, SHC1 = "P00533", "P62993", "P98083"
PROTEINS = {
    EGFR: CuratedProtein(
        accession=EGFR, entry_name="EGFR_HUMAN", name="Epidermal growth factor receptor",
        symbols=("EGFR", "ERBB1"), taxid=9606, organism="Homo sapiens (Human)",
    ),
    GRB2: CuratedProtein(
        accession=GRB2, entry_name="GRB2_HUMAN", name="Growth factor receptor-bound protein 2",
        symbols=("GRB2",), taxid=9606, organism="Homo sapiens (Human)",
    ),
}  # fmt: skip
ORIGIN = CurationOrigin(
    hub="hub.example.org", request="r17", request_version=3, method="stacked",
    model="INT 2025-11-20", release="2025_04", source="mint", source_id="MI:0471",
)  # fmt: skip


def span(words: str, accession: str, *, after: int = 0) -> CandidateSpan:
    start = TEXT.index(words, after)
    return CandidateSpan(start=start, end=start + len(words), accession=accession)


SPANS = [
    span("Grb2", GRB2), span("EGF receptor", EGFR), span("EGFR", EGFR),
    span("Grb2", GRB2, after=len(TITLE)), span("EGFR", EGFR, after=TEXT.index("forms") - 6),
]  # fmt: skip


def event(number: int, kind: str, task: str = "", *item: str, **detail: object) -> CurationEvent:
    return CurationEvent(
        key=f"event-{number:04}", kind=DecisionKind(kind), at=SUBMITTED - 300 + number,
        task=Task(task) if task else None, item=item, detail=DecisionDetail(**detail),
    )  # fmt: skip


PULLED = (TEXT.index("EGFR (α"), TEXT.index(" EGFR forms"))
MUTANT = (
    Feature(type="MI:0119", name="Y1092F", start=1092, end=1092),
    Feature(type="MI:0518", name="N-terminal"),
    Feature(type="MI:0429", end=679),
)
PULLED_DOWN = (
    Experiment(
        method="MI:0096",
        host=-1,
        figure="Fig. 1B",
        participants=(
            Participant(accession=f"{EGFR}-2", experimental_role="MI:0498", features=MUTANT),
            Participant(accession=GRB2, experimental_role="MI:0496", identification="MI:0113"),
        ),
    ),
    Experiment(method="MI:0018", host=4932, negative=True),
)
LOG = [
    event(1, "accept", "INT", EGFR, seen_rank=1, seen_probability=0.97),
    event(2, "accept", "IPT", EGFR, GRB2, evidence=(PULLED,)),
    event(3, "method", "IPT", EGFR, GRB2, method="MI:0096"),
    event(4, "reject", "INT", SHC1, reason="wrong species"),
    event(5, "pair", "IPT", EGFR, EGFR),
    event(6, "relevant", relevant=True),
]
PROPOSED = {
    (Task.INT, (EGFR,)): ProposedItem(
        probability=0.97,
        servers=(
            ProposedBy(server="team7", rank=1, confidence=0.99),
            ProposedBy(server="team2", rank=4, confidence=0.4, evidence="EGFR forms dimers."),
        ),
    ),
    (Task.INT, (GRB2,)): ProposedItem(
        probability=0.91, servers=(ProposedBy(server="team7", rank=2, confidence=0.9),)
    ),
    (Task.INT, (SHC1,)): ProposedItem(
        probability=0.12, servers=(ProposedBy(server="team2", rank=9, confidence=0.1),)
    ),
    (Task.IPT, (EGFR, GRB2)): ProposedItem(
        probability=0.93, servers=(ProposedBy(server="team7", rank=1, confidence=0.8),)
    ),
}
SAMPLE = finish(
    "c42", ARTICLE, "curator 1", LOG, submitted_at=SUBMITTED, opened_at=SUBMITTED - 300,
    proposed=PROPOSED, proteins=PROTEINS, spans=SPANS, origin=ORIGIN,
)  # fmt: skip

DETAILED = msgspec.structs.replace(
    SAMPLE,
    items=tuple(
        msgspec.structs.replace(one, experiments=PULLED_DOWN) if one.item == (EGFR, GRB2) else one
        for one in SAMPLE.items
    ),
)
"""The sample with two experiments of its pair, one of them negative."""

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs", "Cc"]),
        st.sampled_from("|():\t\"\\<>&'-\n\r\x00\ufffe\u2028]"),
    ),
    max_size=12,
)


@st.composite
def curations(draw: st.DrawFn) -> FinishedCuration:
    """Draw a curation whose every text is hostile, and whose places may lie outside the article.

    Texts are drawn, and put together by a seed: drawing every field takes a hundred times as long.
    """
    texts = draw(st.lists(HOSTILE, min_size=6, max_size=6))
    chance = random.Random(draw(st.integers(0, 2**32)))
    return _Hostile([*texts, ""], chance).curation()


class _Hostile:
    def __init__(self, texts: list[str], chance: random.Random) -> None:
        self.texts, self.chance = texts, chance
        self.known = [EGFR, GRB2, *filter(None, texts[:2])]

    def curation(self) -> FinishedCuration:
        title, text = self.text(), self.text()
        if self.yes():
            text = f"{title}\n{text}"
        return FinishedCuration(
            id=self.text(),
            article=CuratedArticle(
                id=self.chance.choice(["10068444", "PMC12", "10.1016/j.1", self.text()]),
                title=title,
                text=text,
                publication=Publication(
                    pmid=self.chance.choice(["", "10068444"]),
                    doi=self.chance.choice(["", "10.1016/j.1"]), journal=self.text(),
                    author=self.text(), year=self.chance.choice([None, 1999]),
                ),
            ),
            curator=self.text(),
            submitted_at=self.chance.uniform(0, 4e9),
            relevant=self.chance.choice([None, True, False]),
            proteins={one: self.protein(one) for one in self.known if self.yes()},
            mentions={one: self.passages(len(text)) for one in self.known},
            items=tuple(
                {
                    (one.task, one.item): one
                    for task, size in (("INT", 1), ("IPT", 2))
                    for one in [self.item(task, size, len(text)) for _ in range(3)]
                }.values()
            )[self.chance.randint(0, 5) :],
            origin=CurationOrigin(hub=self.text(), source=self.text(), source_id=self.text()),
        )  # fmt: skip

    def protein(self, accession: str) -> CuratedProtein:
        return CuratedProtein(
            accession=accession, entry_name=self.text(), name=self.text(),
            symbols=(self.text(), self.text()) if self.yes() else (),
            taxid=self.chance.choice([None, 9606, -1, 2**40]), organism=self.text(),
        )  # fmt: skip

    def item(self, task: str, size: int, length: int) -> CuratedItem:
        return CuratedItem(
            task=Task(task),
            item=tuple(sorted(self.chance.choice(self.known) for _ in range(size))),
            accepted=self.chance.random() < 0.7,
            probability=self.chance.choice([None, 0.0, 0.5, 1.0]),
            servers=(ProposedBy(server=self.text(), rank=3, confidence=0.5, evidence=self.text()),)
            if self.yes()
            else (),
            evidence=self.passages(length),
            experiments=tuple(
                self.experiment(length)
                for _ in range(self.chance.randint(0, 2) if size == 2 else 0)
            ),
            reason=self.text(),
            note=self.text(),
            curator=self.text(),
        )

    def experiment(self, length: int) -> Experiment:
        return Experiment(
            method=self.chance.choice(["", "MI:0096", "MI:0107", self.text()]),
            type=self.chance.choice(["", "MI:0407", self.text()]),
            host=self.chance.choice([None, -1, 9606]),
            figure=self.text(),
            negative=self.yes(),
            evidence=tuple((max(0, one.start), max(0, one.end)) for one in self.passages(length)),
            note=self.text(),
            participants=tuple(
                Participant(
                    accession=self.chance.choice(self.known),
                    experimental_role=self.chance.choice(["", "MI:0496", self.text()]),
                    biological_role=self.chance.choice(["", "MI:0501"]),
                    identification=self.chance.choice(["", "MI:0113"]),
                    features=tuple(
                        Feature(
                            type=self.chance.choice(["MI:0117", self.text()]),
                            name=self.text(),
                            start=self.chance.choice([None, 1]),
                            end=self.chance.choice([None, 100_000]),
                        )
                        for _ in range(self.chance.randint(0, 2))
                    ),
                )
                for _ in range(self.chance.choice([0, 2, 3]))
            ),
        )

    def passages(self, length: int) -> tuple[Passage, ...]:
        places = [self.chance.randint(-2, length + 2) for _ in range(4)]
        return (
            Passage(start=places[0], end=places[1]),
            Passage(start=min(places[2:]), end=max(places[2:])),
        )

    def text(self) -> str:
        return self.chance.choice(self.texts)

    def yes(self) -> bool:
        return self.chance.random() < 0.5
