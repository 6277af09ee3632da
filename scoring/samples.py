"""Small made-up data of every evaluation, so that each command can be typed at once.

No text, name or number is of a real corpus. The same data come at each call.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scoring.bacteria_biotope import SubTask
from scoring.errors import OptionError
from scoring.files import gold_lines, result_lines
from scoring.gold import ActGold, ItemGold
from scoring.ppi3d import simulate
from scoring.tasks import Classification, Hit, Item, Task, pair
from scoring.views import members

_ARTICLES = [f"10.9999/sample.{number:03d}" for number in range(1, 41)]
_TAXA = {"P": "human", "Q": "mouse", "O": "yeast", "D": "fly"}  # by an accession's first letter
_GENES = range(1, 61)
_TEAMS = {"T10": (0.8, 0.5), "T18": (0.7, 0.15), "T37": (0.5, 0.3), "T42": (0.6, 0.7)}
"""Of each team, how much it finds and how often it names another species' protein."""


def write_samples(out: Path) -> list[Path]:
    """Write the files into a new or empty folder; return their paths below it, sorted.

    Raises `OptionError` for a folder that has something in it.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"{out} is there; expected a new or empty folder")
    for name, text in _files():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())


def _files() -> Iterator[tuple[str, str]]:
    yield from _items()
    yield from _two_lists()
    yield from _articles()
    yield from _drugs()
    yield from _biotopes()
    yield from _predictors()


def _items() -> Iterator[tuple[str, str]]:
    """Yield gold of two annotators and runs of four teams for INT and IPT, homologs and taxa."""
    chance = random.Random(2009)
    first = {article: _proteins(chance) for article in _ARTICLES}
    second = {
        article: [
            *(one for one in found if chance.random() < 0.85),
            ("D" if chance.random() < 0.3 else "P") + f"{1 + int(chance.random() * 60):05d}",
        ]
        for article, found in first.items()
    }
    of_task: Mapping[Task, Sequence[dict[str, frozenset[Item]]]] = {
        Task.INT: [{a: frozenset(found) for a, found in side.items()} for side in (first, second)],
        Task.IPT: [{a: _pairs(found) for a, found in side.items()} for side in (first, second)],
    }
    for task, sides in of_task.items():
        folder = task.lower()
        for name, items in zip(("gold", "gold_second"), sides, strict=True):
            yield f"{folder}/{name}.tsv", "".join(gold_lines(ItemGold(task=task, items=items)))
        for team, (finds, strays) in _TEAMS.items():
            for run in (1, 2):
                answers = {
                    article: _hits(chance, items, finds + 0.05 * run, strays)
                    for article, items in sides[0].items()
                    if chance.random() < 0.9
                }
                lines = result_lines(task, answers.items())
                yield f"{folder}/{team}_R{run}.tsv", "".join(lines)
        authors = {
            article: _hits(chance, items, 0.7, 0.0, 0) for article, items in sides[1].items()
        }
        yield f"{folder}/authors.tsv", "".join(result_lines(task, authors.items()))
    accessions = [f"{letter}{gene:05d}" for letter in _TAXA for gene in _GENES]
    yield "taxa.tsv", "".join(f"{one}\t{_TAXA[one[0]]}\n" for one in accessions)
    yield (
        "homologs.tsv",
        "".join(f"{one}\t{','.join(letter + one[1:] for letter in _TAXA)}\n" for one in accessions),
    )


def _proteins(chance: random.Random) -> list[str]:
    """Return one to six proteins of an article, most of one species."""
    letter = "PPPQO"[int(chance.random() * 5)]
    genes = {1 + int(chance.random() * len(_GENES)) for _ in range(1 + int(chance.random() * 6))}
    return [f"{letter if chance.random() < 0.9 else 'P'}{gene:05d}" for gene in sorted(genes)]


def _pairs(proteins: Sequence[str]) -> frozenset[Item]:
    """Return the pairs of neighbours; a single protein binds itself."""
    others = proteins[1:] or proteins[:1]
    return frozenset(pair(*both) for both in zip(proteins, others, strict=False))


def _hits(
    chance: random.Random,
    gold: frozenset[Item],
    finds: float,
    strays: float,
    wrong: int = 8,
) -> list[Hit]:
    """Return a ranked list: some of the gold, perhaps of another species, and wrong items."""

    def other_species(item: Item) -> Item:
        names = tuple("PQO"[int(chance.random() * 3)] + one[1:] for one in members(item))
        return names[0] if isinstance(item, str) else pair(*names)

    scores: dict[Item, float] = {}
    for item in sorted(gold):
        if chance.random() < finds:
            named = other_species(item) if chance.random() < strays else item
            scores[named] = 0.4 + 0.5 * chance.random()
    example = min(gold)
    for _ in range(int(chance.random() * (wrong + 1))):
        names = tuple(f"P{1 + int(chance.random() * 60):05d}" for _ in members(example))
        item = names[0] if isinstance(example, str) else pair(*names)
        scores.setdefault(item, 0.05 + 0.7 * chance.random())
    ranked = sorted(scores, key=lambda item: (-scores[item], item))
    return [Hit(item, rank, round(scores[item], 3)) for rank, item in enumerate(ranked, start=1)]


def _two_lists() -> Iterator[tuple[str, str]]:
    """Yield the example of the evaluation page's section 4: two lists of ten, four items to find.

    A has its correct hits at ranks 1 and 10, B at ranks 2 and 3.
    """
    yield "page/gold.tsv", "".join(f"example\tP{number:05d}\n" for number in range(1, 5))
    for name, right in {"A": (1, 10), "B": (2, 3)}.items():
        yield (
            f"page/{name}.tsv",
            "".join(
                f"example\t{f'P{right.index(rank) + 1:05d}' if rank in right else f'X{rank:05d}'}"
                f"\t{rank}\t{1 - rank / 20}\n"
                for rank in range(1, 11)
            ),
        )


_COMMON = ("cell", "study", "result", "sample", "method", "growth", "gene", "model", "level")
_TELLING = ("interaction", "interacts", "binding", "binds", "complex", "protein", "proteins")
_TAGS = {"interacts": "VBZ", "binds": "VBZ", "proteins": "NNS"}  # all others are NN


def _articles() -> Iterator[tuple[str, str]]:
    """Yield gold, texts and runs of ACT."""
    chance = random.Random(2010)
    relevant = {article: chance.random() < 0.3 for article in _ARTICLES}
    yield "act/gold.tsv", "".join(gold_lines(ActGold(relevant=relevant)))
    texts, tagged = [], []
    for article, label in relevant.items():
        share = (0.25 if label else 0.05) * (0.5 + chance.random())
        words = [_any(chance, _TELLING if chance.random() < share else _COMMON) for _ in range(120)]
        texts.append(f"{article}\t{' '.join(words)}.\n")
        tokens = " ".join(f"{word}/{_TAGS.get(word, 'NN')}" for word in words)
        tagged.append(f"{article}\t{tokens} ./.\n")
    yield "act/texts.tsv", "".join(texts)
    yield "act/tagged.tsv", "".join(tagged)
    for team in _TEAMS:
        for run in (1, 2):
            answers = {}
            for article, label in relevant.items():
                leaning = (1.0 if label else -0.6) + 1.6 * (chance.random() - 0.5) * (run + 0.5)
                sure = round(min(0.99, 0.05 + abs(leaning) / 3), 3)
                answers[article] = Classification(leaning > 0, sure, None)
            yield f"act/{team}_R{run}.tsv", "".join(result_lines(Task.ACT, answers.items()))


def _any(chance: random.Random, words: Sequence[str]) -> str:
    return words[int(chance.random() * len(words))]


_DRUG_TEXTS = (
    ("Zelotine raises the level of Arbuprol in plasma.", {"Zelotine": "drug", "Arbuprol": "brand"}),
    (
        "Opiates and sedating amines were not studied with xenomide-7.",
        {"Opiates": "group", "sedating amines": "group", "xenomide-7": "drug_n"},
    ),
    ("Both Zelotine and merodone acid were given.", {"Zelotine": "drug", "merodone acid": "drug"}),
)


_EXAMPLE_TEXT = (
    "In one study of tablets placebo was compared with an older Zelocor and given to patients of"
    " both groups who had been taking dl-xenomide, but not to any who had the merodonates at night,"
    " or morning arbuprole, sibutorafine and oral gabaxen amides."
)
_EXAMPLE_GOLD = {
    "Zelocor": "brand",
    "xenomide": "drug",
    "merodonates": "drug",
    "arbuprole": "drug",
    "sibutorafine": "drug",
    "gabaxen amides": "group",
}
_EXAMPLE_RUN = {
    "placebo": "brand",
    "dl-xenomide": "drug",
    "merodonates": "brand",
    "arbuprole": "drug",
    "sibutorafine": "drug",
    "oral gabaxen amides": "drug",
}


def _drugs() -> Iterator[tuple[str, str]]:
    """Yield drug names as SemEval-2013 task 9.1 has them: corpus XML and two runs.

    The example has the offsets and types of the task description's Table 1.
    """
    yield "ner/gold.xml", _corpus(_DRUG_TEXTS)
    first, second = "", ""
    for number, (text, names) in enumerate(_DRUG_TEXTS):
        first += _mentions(number, text, dict.fromkeys(names, "drug"))
        second += _mentions(number, text, {name.split()[0]: kind for name, kind in names.items()})
    yield "ner/first.tsv", first
    yield "ner/second.tsv", second
    yield "ner/example.xml", _corpus([(_EXAMPLE_TEXT, _EXAMPLE_GOLD)])
    yield "ner/example_run.tsv", _mentions(0, _EXAMPLE_TEXT, _EXAMPLE_RUN)


def _corpus(sentences: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<document id="sample">']
    for number, (text, names) in enumerate(sentences):
        place = f"sample.s{number}"
        lines.append(f'<sentence id="{place}" text="{text}">')
        for at, (name, kind) in enumerate(names.items()):
            entity = f'<entity id="{place}.e{at}" charOffset="{_offsets(text, name)}"'
            lines.append(f'{entity} type="{kind}" text="{name}"/>')
        lines.append("</sentence>")
    return "\n".join([*lines, "</document>", ""])


def _mentions(number: int, text: str, names: Mapping[str, str]) -> str:
    return "".join(
        f"sample.s{number}\t{_offsets(text, name)}\t{name}\t{kind}\n"
        for name, kind in names.items()
    )


def _offsets(text: str, name: str) -> str:
    start = text.index(name)
    return f"{start}-{start + len(name) - 1}"


_BIOTOPE_TEXT = "Vibrio salina was isolated from sea water and salt marsh soil near Port Alma."
_ENTITIES = {
    "Vibrio salina": ("Bacteria", "T1", "NCBI_Taxonomy", "900001"),
    "sea water": ("Habitat", "T2", "OntoBiotope", "S:000011"),
    "salt marsh soil": ("Habitat", "T3", "OntoBiotope", "S:000021"),
    "Port Alma": ("Geographical", "T4", "", ""),
}
_CONCEPTS = (
    ("S:000010", "S:000001"),
    ("S:000011", "S:000010"),
    ("S:000020", "S:000001"),
    ("S:000021", "S:000020"),
)
"""An ontology of two branches: child and parent."""


def _biotopes() -> Iterator[tuple[str, str]]:
    """Yield gold and a run of each sub-task of Bacteria Biotope 2016, and an ontology.

    The run names a part of one habitat, the parent of one concept, and one location less.
    """
    yield "bb/ontology.tsv", "".join(f"{child}\t{parent}\n" for child, parent in _CONCEPTS)
    parents = dict(_CONCEPTS)
    for subtask in SubTask:
        given = not subtask.endswith("+ner")
        folder, article = f"bb/{subtask}", "sample-1"
        events = "" if subtask.startswith("cat") else "".join(map(_event, (2, 3, 4)))
        fewer = "" if subtask.startswith("cat") else "".join(map(_event, (2, 3)))
        concepts = less = ""
        if not subtask.startswith("event"):
            concepts = _concepts({})
            less = _concepts({"T3": parents["S:000021"]})
        entities, parts = _entities({}), _entities({"salt marsh soil": "marsh soil"})
        yield f"{folder}/gold/{article}.txt", _BIOTOPE_TEXT
        yield f"{folder}/gold/{article}.a1", entities if given else ""
        yield f"{folder}/gold/{article}.a2", ("" if given else entities) + concepts + events
        yield f"{folder}/run/{article}.a2", ("" if given else parts) + less + fewer


def _entities(shorter: Mapping[str, str]) -> str:
    lines = []
    for name, (kind, number, _, _) in _ENTITIES.items():
        written = shorter.get(name, name)
        start = _BIOTOPE_TEXT.index(written)
        lines.append(f"{number}\t{kind} {start} {start + len(written)}\t{written}\n")
    return "".join(lines)


def _concepts(others: Mapping[str, str]) -> str:
    known = [one for one in _ENTITIES.values() if one[2]]
    return "".join(
        f"N{place}\t{source} Annotation:{number} Referent:{others.get(number, concept)}\n"
        for place, (_, number, source, concept) in enumerate(known, start=1)
    )


def _event(location: int) -> str:
    return f"R{location - 1}\tLives_In Bacteria:T1 Location:T{location}\n"


def _predictors() -> Iterator[tuple[str, str]]:
    """Yield labels and two predictors' confidences of 400 pairs of proteins."""
    for name, (alpha, beta) in {"first": (0.1, 0.1), "second": (0.25, 0.25)}.items():
        labels, confidences = simulate(
            alpha=alpha, beta=beta, positive_share=0.2, pairs=400, seed=2015
        )
        rows = list(zip(labels.tolist(), confidences.tolist(), strict=True))
        if name == "first":
            yield (
                "ppi3d/gold.tsv",
                "".join(f"pair{place}\t{label:d}\n" for place, (label, _) in enumerate(rows)),
            )
        yield f"ppi3d/{name}.tsv", "".join(f"{label:d}\t{value:.6f}\n" for label, value in rows)
        yield (
            f"ppi3d/{name}_pairs.tsv",
            "".join(f"pair{place}\t{value:.6f}\n" for place, (_, value) in enumerate(rows)),
        )
