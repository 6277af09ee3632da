"""The articles of a conformance run, and their forgiven outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, product

from metaserver.base.records import ArticleId
from metaserver.base.states import Outcome

LONG_BYTES = 300_000
A_FAULT = frozenset({Outcome.FAULT})


@dataclass(frozen=True, kw_only=True, slots=True)
class ConformanceArticle:
    """An article of the test; `forgiven` outcomes are only warnings."""

    name: str
    id: ArticleId
    text: str
    forgiven: frozenset[Outcome] = frozenset()


SHORT = """\
MDM2 binds the transactivation domain of p53 and promotes its degradation.
The E3 ubiquitin ligase MDM2 interacts with the tumour suppressor p53 (TP53), as shown by \
co-immunoprecipitation from U2OS cells and by a yeast two-hybrid assay. BRCA1 did not compete.
"""

LETTERS = """\
Interaktion von α-Synuclein mit Parkin: une étude à l'échelle de la protéine.
α-Synuclein (SNCA) binds Parkin (PRKN) with a Kd of 1.5 µM ± 0.2; β-catenin and γ-tubulin do not. \
La même liaison a été décrite par Müller, Håkansson et Dvořák. Αλληλεπίδραση πρωτεϊνών. \
Белок p53 связывает MDM2. 蛋白质相互作用：p53 与 MDM2 结合。タンパク質間相互作用。 \
If a < b && b > c, then "Δ" ≥ 'δ'.
"""

ASTRAL = """\
𝛼-Synuclein and 𝐏𝐚𝐫𝐤𝐢𝐧, set in mathematical letters.
Offsets count code points, after 🧬 and 🔬 too: 𝑝53 binds MDM2, and 𠀋 is one of them.
"""

CONTROL = """\
A form feed\x0c and a null \x00 within an abstract on RAD51.
RAD51\x1finteracts\x0bwith BRCA2 in the repair\x01 of breaks; \ufffe\x7f\x85 p53 may bind both.
"""

_PAIRS = (
    ("EGFR", "GRB2"),
    ("GRB2", "SOS1"),
    ("BRCA1", "BARD1"),
    ("RAD51", "BRCA2"),
    ("CDK2", "cyclin E1"),
    ("JAK2", "STAT3"),
    ("SMAD3", "SMAD4"),
    ("BAX", "BCL2"),
    ("APAF1", "caspase-9"),
    ("TRAF6", "IRAK1"),
    ("KEAP1", "NRF2"),
    ("Ste5", "Fus3"),
    ("VHL", "HIF1A"),
)
_SENTENCES = (
    "In experiment {n} the interaction of {a} with {b} was confirmed by co-immunoprecipitation.",
    "Fluorescence resonance energy transfer placed {a} within 8 nm of {b} in {n} cells.",
    "A deletion of the amino-terminal domain of {a} abolished its binding to {b} (sample {n}).",
    "Neither stress nor serum starvation for {n} min changed how much {b} was bound to {a}.",
    "Surface plasmon resonance gave a dissociation constant of {n} nM for {a} and {b}.",
    "Antibodies to {b} precipitated {a} from lysate {n}, but not from cells that lacked {b}.",
    "Phosphorylation of {a} at residue {n} is required before {b} can be recruited.",
)
_PARAGRAPH = 9  # sentences


def _long() -> str:
    """Return plain biomedical English of `LONG_BYTES` or slightly more, without repetitions."""
    parts = ["A survey of signalling complexes by six methods.\n"]
    size = len(parts[0])
    sentences = _sentences()
    while size < LONG_BYTES:
        parts.append(f"Section {len(parts)}\n{' '.join(islice(sentences, _PARAGRAPH))}\n")
        size += len(parts[-1])
    return "".join(parts)


def _sentences() -> Iterator[str]:
    for number in count(1):
        for sentence, (a, b) in product(_SENTENCES, _PAIRS):
            yield sentence.format(n=number, a=a, b=b)


ARTICLES: Sequence[ConformanceArticle] = (
    ConformanceArticle(name="short article", id=ArticleId("conformance-short"), text=SHORT),
    ConformanceArticle(
        name="long article (300 KB)", id=ArticleId("conformance-long"), text=_long()
    ),
    ConformanceArticle(
        name="non-ASCII article", id=ArticleId("conformance-non-ascii"), text=LETTERS
    ),
    ConformanceArticle(
        name="astral article",
        id=ArticleId("conformance-astral"),
        text=ASTRAL,
        forgiven=A_FAULT,  # libraries with 16-bit characters refuse it (xmlrpc-c)
    ),
    ConformanceArticle(
        name="empty article", id=ArticleId("conformance-empty"), text="", forgiven=A_FAULT
    ),
    ConformanceArticle(
        name="control characters",
        id=ArticleId("conformance-control"),
        text=CONTROL,
        forgiven=A_FAULT,
    ),
)
"""The articles in the order in which they are sent, one at a time."""

FIRST, TOGETHER = 0, (0, 2)
"""Places in `ARTICLES`: the one that the others depend on; the two that are also sent at once."""
