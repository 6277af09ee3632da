"""The other evaluations: speed beside nervaluate and a dense assignment, and runs on real data.

python -m benchmarks other_evaluations                 the speed
python -m benchmarks.other_evaluations FOLDER          the runs, whose inputs go to FOLDER

Without the corpora of `../shared` the runs are those of `scoring samples`.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import sized
from scoring.alignment import best_pairing, overlaps, span
from scoring.bacteria_biotope import SCHEMA, SubTask, evaluate_paths
from scoring.cli import main as scoring
from scoring.files import read_gold
from scoring.gold import ActGold
from scoring.samples import write_samples
from scoring.semeval_ner import TYPES, Criterion, MentionSpan, evaluate
from scoring.standoff import Annotations, read_standoff_gold

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
BB = SHARED / "bb2016"
MENTIONS = sized(10_000, 200)
PARENTS = BB / "OntoBiotope_BioNLP-ST-2016_parents.txt"
Result = TypeVar("Result")


def timed(name: str, call: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = call()
    print(f"{name:58} {time.perf_counter() - start:8.3f} s")
    return result


def some_mentions(count: int, seed: int, *, articles: int, gap: int) -> list[MentionSpan]:
    """Return names of 3 to 12 characters without overlaps, each 0 to 2 characters displaced."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        start = number // articles * gap + chance.randint(0, 2)
        fragments = ((start, start + chance.randint(3, 12)),)
        found.append(MentionSpan(f"a{number % articles}", fragments, chance.choice(TYPES)))
    return found


def with_nervaluate(gold: list[MentionSpan], run: list[MentionSpan]) -> dict[str, Any]:
    from nervaluate import Evaluator

    places = sorted({mention.place for mention in (*gold, *run)})
    sides: list[list[list[dict[str, Any]]]] = []
    for mentions in (gold, run):
        by_place: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for place, ((start, end),), kind in mentions:
            by_place[place].append({"start": start, "end": end - 1, "label": kind})
        sides.append([by_place[place] for place in places])
    result: dict[str, Any] = Evaluator(*sides, tags=list(TYPES), loader="dict").evaluate()
    return result


def compare_counts(gold: list[MentionSpan], run: list[MentionSpan], ours: Any, theirs: Any) -> None:
    names = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}
    for criterion, name in names.items():
        one, other = ours.micro[Criterion(criterion)], theirs["overall"][name]
        assert (one.cor, one.inc, one.par) == (other.correct, other.incorrect, other.partial)
        assert (one.mis, one.spu) == (other.missed, other.spurious)
    print(f"the same counts by all four criteria, {len(gold):,} x {len(run):,} mentions")


def main() -> None:
    for articles in (500, 10):
        score_names(articles)
    for extent in (1_000_000, 100_000, 20_000):
        pair_one_text(extent)


def score_names(articles: int) -> None:
    gold = some_mentions(MENTIONS, 1, articles=articles, gap=20)
    run = some_mentions(MENTIONS, 2, articles=articles, gap=20)
    name = f"names, {MENTIONS:,} x {MENTIONS:,} in {articles} articles: scoring"
    ours = timed(name, lambda: evaluate(gold, run))
    theirs = timed("    the same: nervaluate", lambda: with_nervaluate(gold, run))
    compare_counts(gold, run, ours, theirs)


def pair_one_text(extent: int) -> None:
    """Pair `MENTIONS` spans with as many in one text, the more crowded the shorter the text."""
    chance = np.random.default_rng(extent)
    sides = []
    for _ in range(2):
        starts = chance.integers(0, extent, MENTIONS).tolist()
        sizes = chance.integers(1, 20, MENTIONS).tolist()
        sides.append([("a", span([(s, s + n)])) for s, n in zip(starts, sizes, strict=True)])

    def sparse() -> tuple[float, int]:
        left, right, weights = overlaps(*sides)
        chosen = best_pairing(left, right, weights)
        return float(weights[chosen].sum()), len(chosen)

    def dense() -> tuple[float, int]:
        left, right, weights = overlaps(*sides)
        matrix = np.zeros((MENTIONS, MENTIONS))
        matrix[left, right] = weights + 1e-9
        kept = matrix[linear_sum_assignment(matrix, maximize=True)]
        return float(kept.sum() - 1e-9 * np.count_nonzero(kept)), int(np.count_nonzero(kept))

    found = timed(f"spans, {MENTIONS:,} x {MENTIONS:,} in {extent:,} characters: scoring", sparse)
    expected = timed("    the same: dense linear_sum_assignment", dense)
    assert abs(found[0] - expected[0]) < 1e-6
    assert found[1] == expected[1]
    print(f"the same optimum: {found[1]:,} pairs, sum of Jaccard {found[0]:.3f}")


def command(*words: object) -> None:
    print("\n$ scoring", *(Path(word).name if isinstance(word, Path) else word for word in words))
    status = scoring([str(word) for word in words])
    assert status == 0


def runs(folder: Path) -> None:
    """Score simple runs over real corpora with each command."""
    if not SHARED.is_dir():
        on_samples(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_gene_names(folder)
    command("ner", "--gold", folder / "genes.xml", "--run", folder / "genes_run.tsv")
    write_cooccurrences(folder)
    gold = BB / "BioNLP-ST-2016_BB-event_dev.zip"
    command("bb", "--task", "event", "--gold", gold, "--run", folder / "cooccurrence.zip")
    for task in ("cat", "cat+ner", "kb"):
        gold = BB / f"BioNLP-ST-2016_BB-{task}_dev.zip"
        write_parents(gold, folder / f"parents_{task}.zip")
        run = folder / f"parents_{task}.zip"
        command("bb", "--task", task, "--gold", gold, "--run", run, "--ontology", PARENTS)
    for subtask in SubTask:
        score_gold_as_run(subtask)
    write_confidences(folder / "act.tsv")
    command("ppi3d", "--scores", folder / "act.tsv")


def on_samples(folder: Path) -> None:
    """Score the samples with each command: without the corpora there is nothing else to score."""
    write_samples(folder)
    runs = [folder / "ner" / name for name in ("first.tsv", "second.tsv")]
    command("ner", "--gold", folder / "ner/gold.xml", "--run", *runs)
    for task in SubTask:
        gold, run = folder / "bb" / task / "gold", folder / "bb" / task / "run"
        ontology = folder / "bb/ontology.tsv"
        command("bb", "--task", task, "--gold", gold, "--run", run, "--ontology", ontology)
    command("ppi3d", "--scores", folder / "ppi3d/first.tsv", folder / "ppi3d/second.tsv")


def score_gold_as_run(subtask: SubTask) -> None:
    gold = BB / f"BioNLP-ST-2016_BB-{subtask}_dev.zip"
    call = partial(evaluate_paths, subtask, gold, gold, PARENTS)
    first = timed(f"gold as run: {subtask}", call).to_dict()["scores"][0]
    print({name: first[name] for name in list(first)[1:4]})


def write_gene_names(folder: Path) -> None:
    """Write gene names of BioCreative VI PM: gold of the test set, names of the training set."""
    training = json.loads((SHARED / "bc6pm/PMtask_Relations_TrainingSet.json").read_text())
    names = {
        note["text"]
        for document in training["documents"]
        for passage in document["passages"]
        for note in passage["annotations"]
        if len(note["text"]) > 2
    }
    ordered = sorted(names, key=lambda name: (-len(name), name))
    known = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, ordered)) + r")(?!\w)")
    test = json.loads((SHARED / "bc6pm/PMtask_Relations_TestSet.json").read_text())
    corpus, run = ["<documents>"], []
    for document in test["documents"]:
        corpus.append(f"<document id={quoteattr(document['id'])}>")
        for number, passage in enumerate(document["passages"]):
            name, text = f"{document['id']}.s{number}", passage["text"]
            corpus.append(f"<sentence id={quoteattr(name)} text={quoteattr(text)}>")
            corpus += [
                f'<entity charOffset="{offsets}" type="gene"/>'
                for offsets in sorted(gene_offsets(passage))
            ]
            corpus.append("</sentence>")
            run += [
                f"{name}\t{found.start()}-{found.end() - 1}\t{found[0]}\tgene"
                for found in known.finditer(text)
            ]
        corpus.append("</document>")
    corpus.append("</documents>")
    (folder / "genes.xml").write_text("\n".join(corpus))
    (folder / "genes_run.tsv").write_text("\n".join(run))


def gene_offsets(passage: dict[str, Any]) -> set[str]:
    """Return offsets in the passage's text; the few wrong ones of the corpus are left out."""
    offsets = set()
    for note in passage["annotations"]:
        [place] = note["locations"][:1]
        start = place["offset"] - passage["offset"]
        if passage["text"][start : start + place["length"]] == note["text"]:
            offsets.add(f"{start}-{start + place['length'] - 1}")
    return offsets


def write_cooccurrences(folder: Path) -> None:
    """Write BB-event runs: every bacterium with every location of the same sentence."""
    gold = read_standoff_gold(BB / "BioNLP-ST-2016_BB-event_dev.zip", SCHEMA)
    with zipfile.ZipFile(folder / "cooccurrence.zip", "w") as archive:
        for name, article in gold.items():
            pairs = enumerate(same_sentence(article), start=1)
            lines = [f"R{n}\tLives_In Bacteria:{a} Location:{b}\n" for n, (a, b) in pairs]
            archive.writestr(f"{name}.a2", "".join(lines))


def same_sentence(article: Annotations) -> Iterator[tuple[str, str]]:
    ends = [found.end() for found in re.finditer(r"[.?!]\s+(?=[A-Z])|\n", article.text)]
    sentence = {
        name: int(np.searchsorted(ends, entity.span[0][0], side="right"))
        for name, entity in article.entities.items()
    }
    for one in article.entities.values():
        for other in article.entities.values():
            location = other.type in ("Habitat", "Geographical")
            if one.type == "Bacteria" and location and sentence[one.id] == sentence[other.id]:
                yield one.id, other.id


def write_parents(gold: Path, run: Path) -> None:
    """Write the gold with every habitat's concept replaced by its first parent."""
    parents = dict(line.split("\t") for line in reversed(PARENTS.read_text().splitlines()))
    with zipfile.ZipFile(gold) as source, zipfile.ZipFile(run, "w") as archive:
        for name in source.namelist():
            if name.endswith(".a2"):
                text = re.sub(
                    r"OBT:\d+",
                    lambda found: parents.get(found[0], found[0]),
                    source.read(name).decode(),
                )
                archive.writestr(name, text)


def write_confidences(path: Path) -> None:
    """Write the relevance of BioCreative VI PM abstracts, as a linear model ranked them."""
    gold = read_gold("ACT", SHARED / "runs/bc6pm_act_gold.txt")
    assert isinstance(gold, ActGold)
    relevant = dict(zip(gold.articles, gold.truth.tolist(), strict=True))
    lines = []
    for line in (SHARED / "runs/bc6pm_act_result.txt").read_text().splitlines():
        article, label, _, confidence = line.split("\t")
        signed = float(confidence) if label == "1" else -float(confidence)
        lines.append(f"{int(relevant[article])}\t{signed}\n")
    path.write_text("".join(lines))


if __name__ == "__main__":
    runs(Path(sys.argv[1])) if sys.argv[1:] else main()
