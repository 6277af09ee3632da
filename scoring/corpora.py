"""Figures of a corpus: items an article, species and where they meet, the rates of words.

After the BC II.5 overview (Leitner et al. 2010): proteins and pairs an article (Fig. 7), the
overlap of species (Fig. 5), and how often words such as "interaction" occur in easy, hard and
irrelevant articles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from scoring.errors import FileProblem, FormatError, OptionError
from scoring.gold import ItemGold
from scoring.intervals import Bounds, interval
from scoring.rows import TabFile
from scoring.tasks import Accession, Item, Task
from scoring.text import read_bytes
from scoring.views import members

WORDS = ("interact*", "bind*", "complex*", "protein*")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"))
"""Tags of nouns: of the Penn Treebank, and Universal Dependencies'."""
OTHERS = "others"
"""The name of all species beyond those that are shown."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """A distribution over articles: `articles` maps a number to the articles with so many.

    `source` names the gold. `total` counts an item once per article that has it (annotations),
    `distinct` once in all.
    """

    source: str
    name: str
    total: int
    distinct: int
    mean: float
    median: float
    most: int
    articles: Mapping[int, int]


@dataclass(frozen=True, kw_only=True)
class Species:
    """The species of a gold: their articles, and how many articles have both of two species.

    `names` are those of most articles, then `OTHERS` where there are more; `together` is a square
    in their order, whose diagonal has the articles of each. `annotations` count a protein once per
    article that has it, `proteins` once in all. `source` names the gold.
    """

    source: str
    names: Sequence[str]
    annotations: Sequence[int]
    proteins: Sequence[int]
    together: Sequence[Sequence[int]]
    one_species: int  # articles whose proteins are all of one species


@dataclass(frozen=True, kw_only=True)
class SpeciesAgreement:
    """How far two golds agree in their species (caption of Fig. 5 of the BC II.5 overview).

    The proteins whose species occurs in the other gold, over the proteins of both, in [0, 1]:
    by annotations, and by distinct accessions of each gold.
    """

    a: str
    b: str
    annotations: float
    accessions: float


@dataclass(frozen=True, kw_only=True)
class WordRate:
    """Occurrences of a word in a group of articles, per 1,000 words, with its interval."""

    word: str
    group: str
    articles: int
    words: int
    occurrences: int
    rate: float | None
    bounds: Bounds | None


def count_items(gold: ItemGold, source: str = "") -> list[Counts]:
    """Return the proteins, and for IPT the pairs as well, that the articles have."""
    found = [_counts(source, "proteins", _proteins(gold))]
    if gold.task is Task.IPT:
        found.append(_counts(source, "pairs", list(gold.items.values())))
    return found


def _proteins(gold: ItemGold) -> list[set[Accession]]:
    """Return the proteins of each article."""
    return [{one for item in items for one in members(item)} for items in gold.items.values()]


def _counts(source: str, name: str, items: Sequence[Set[Item]]) -> Counts:
    numbers = [len(of_article) for of_article in items]
    return Counts(
        source=source,
        name=name,
        total=sum(numbers),
        distinct=len(set().union(*items)),
        mean=float(np.mean(numbers)),
        median=float(np.median(numbers)),
        most=max(numbers),
        articles=dict(sorted(Counter(numbers).items())),
    )


def count_species(
    golds: Mapping[str, ItemGold], taxa: Mapping[Accession, str], most: int = 8
) -> list[Species]:
    """Return the species of golds by name, the same for all: the `most` with most articles in all.

    The others are counted together.
    """
    kinds = {
        name: [{taxa[one] for one in found} for found in _proteins(gold)]
        for name, gold in golds.items()
    }
    articles = Counter(kind for gold in kinds.values() for found in gold for kind in found)
    order = [name for name, _ in sorted(articles.items(), key=_most_first)]
    names = [*order[:most], *[OTHERS] * (len(order) > most)]
    place = {name: min(at, most) for at, name in enumerate(order)}
    species = []
    for source, gold in golds.items():
        together = np.zeros((len(names), len(names)), dtype=np.int64)
        for found in kinds[source]:
            columns = sorted({place[kind] for kind in found})
            together[np.ix_(columns, columns)] += 1
        proteins = _proteins(gold)
        annotations = Counter(place[taxa[one]] for found in proteins for one in found)
        accessions = Counter(place[taxa[one]] for one in set().union(*proteins))
        species.append(
            Species(
                source=source,
                names=names,
                annotations=[annotations[at] for at in range(len(names))],
                proteins=[accessions[at] for at in range(len(names))],
                together=together.tolist(),
                one_species=sum(len(found) == 1 for found in kinds[source]),
            )
        )
    return species


def species_agreements(
    golds: Mapping[str, ItemGold], taxa: Mapping[Accession, str]
) -> list[SpeciesAgreement]:
    """Return the agreement of each two golds in their species."""
    annotations = {
        name: Counter(taxa[one] for found in _proteins(gold) for one in found)
        for name, gold in golds.items()
    }
    accessions = {
        name: Counter(taxa[one] for one in set().union(*_proteins(gold)))
        for name, gold in golds.items()
    }
    return [
        SpeciesAgreement(
            a=a,
            b=b,
            annotations=_shared(annotations[a], annotations[b]),
            accessions=_shared(accessions[a], accessions[b]),
        )
        for a, b in combinations(golds, 2)
    ]


def _shared(one: Counter[str], other: Counter[str]) -> float:
    both = one.keys() & other.keys()
    return sum(one[kind] + other[kind] for kind in both) / (one.total() + other.total())


def _most_first(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]


def word_rates(
    texts: Mapping[str, str],
    groups: Mapping[str, Sequence[str]],
    words: Sequence[str] = WORDS,
    *,
    resamples: int = 10_000,
    seed: int = 2009,
) -> list[WordRate]:
    """Return the rate of each word in each group of articles, by complete articles resampled.

    Words are compared without case; one that ends in `*` is the beginning of a word.
    """
    found = []
    counted = {
        article: Counter(match[0].lower() for match in _WORD.finditer(texts[article]))
        for articles in groups.values()
        for article in articles
    }
    lengths = {article: counts.total() for article, counts in counted.items()}
    for word in words:
        hits = {article: _occurrences(counts, word) for article, counts in counted.items()}
        for group, articles in groups.items():
            rows = [(hits[article], lengths[article]) for article in articles]
            occurrences, total = sum(row[0] for row in rows), sum(row[1] for row in rows)
            found.append(
                WordRate(
                    word=word,
                    group=group,
                    articles=len(rows),
                    words=total,
                    occurrences=occurrences,
                    rate=_rate(occurrences, total),
                    bounds=interval(rows, _rate, resamples=resamples, seed=seed),
                )
            )
    return found


def frequent_words(texts: Mapping[str, str], count: int) -> list[str]:
    """Return the words that most texts have, most frequent first; of equal ones by the alphabet.

    Words have three letters or more, and are neither numbers nor function words.
    """
    found = Counter(
        word
        for text in texts.values()
        for word in {match[0].lower() for match in _WORD.finditer(text)}
        if len(word) > 2 and not word.isdecimal() and word not in _FUNCTION_WORDS
    )
    return [word for word, _ in sorted(found.items(), key=_most_first)[:count]]


_FUNCTION = """
about after all also although among and any are because been before being between both but can
could did does during each either for from further had has have having here how however into its
itself may might more most must neither nor not now off one only onto other our out over own same
several shall should since some such than that the their them then there therefore these they this
those through thus too two under until upon very via was were what when where whereas whether
which while who whose why will with within without would yet
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


def _occurrences(counts: Mapping[str, int], word: str) -> int:
    word = word.lower()
    if not word.endswith("*"):
        return counts.get(word, 0)
    return sum(count for one, count in counts.items() if one.startswith(word[:-1]))


def _rate(occurrences: float, words: float) -> float | None:
    return 1000 * occurrences / words if words else None


def read_texts(path: Path, articles: Iterable[str]) -> dict[str, str]:
    r"""Read the articles' texts: a folder of `ARTICLE.txt`, or lines of `article<TAB>text`.

    A slash in an article's id is an underscore in its file's name. Raises `FormatError` with every
    article that has no text, and every file that is not UTF-8.

    >>> _ = Path("texts.tsv").write_text("10.1\tMDM2 binds p53.\n")
    >>> read_texts(Path("texts.tsv"), ["10.1"])
    {'10.1': 'MDM2 binds p53.'}
    """
    texts = _read_folder(path, articles) if path.is_dir() else _read_lines(path)
    missing = [article for article in articles if article not in texts]
    if missing:
        raise FormatError(
            [FileProblem(str(path), 0, 0, f"no text of article {one!r}") for one in missing]
        )
    return texts


def split_tags(path: Path, tagged: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    r"""Return the texts of tagged ones, and the nouns of each: `word/TAG`, blanks between.

    Raises `FormatError` with the first token of each article that has no tag.

    >>> split_tags(Path("tagged.tsv"), {"10.1": "MDM2/NNP binds/VBZ p53/NN ./."})
    ({'10.1': 'MDM2 binds p53 .'}, {'10.1': 'MDM2 p53'})
    """
    texts: dict[str, str] = {}
    nouns: dict[str, str] = {}
    problems = []
    for article, text in tagged.items():
        tokens = [(token, *token.rpartition("/")[::2]) for token in text.split()]
        bad = next((token for token, word, tag in tokens if not (word and tag)), None)
        if bad is not None:
            message = f"article {article!r}: token {bad[:40]!r} has no tag; expected word/TAG"
            problems.append(FileProblem(str(path), 0, 0, message))
        texts[article] = " ".join(word for _, word, _ in tokens)
        nouns[article] = " ".join(word for _, word, tag in tokens if tag in _NOUNS)
    if problems:
        raise FormatError(problems)
    return texts, nouns


def _read_folder(path: Path, articles: Iterable[str]) -> dict[str, str]:
    texts = {}
    for article in articles:
        file = path / f"{article.replace('/', '_')}.txt"
        if file.parent != path or not file.is_file():
            continue
        try:
            texts[article] = read_bytes(file).decode()
        except UnicodeDecodeError as error:
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8; expected UTF-8 text"
            raise FormatError([FileProblem(str(file), 0, 0, message)]) from error
    return texts


def _read_lines(path: Path) -> dict[str, str]:
    sheet = TabFile(path, ("article", "text"))
    texts: dict[str, str] = {}
    for line, (article, text) in sheet.rows():
        if article in texts:
            sheet.problem(line, 1, f"article {article!r} again; expected one text an article")
        texts[article] = text
    sheet.finish()
    return texts


def check_words(words: Sequence[str]) -> None:
    """Raise `OptionError` for what is not one word, with or without `*` at its end."""
    for word in words:
        if not _WORD.fullmatch(word.removesuffix("*")):
            raise OptionError(f"word {word!r}; expected one word, or its beginning and *")
