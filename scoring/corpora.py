"""Figures of a corpus: items an article, species and where they meet, the rates of words.

After the BC II.5 overview (Leitner et al. 2010): proteins and pairs an article (Fig. 7), the
overlap of species (Fig. 5), and how often words such as "interaction" occur in easy, hard and
irrelevant articles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoring.errors import FileProblem, FormatError, OptionError
from scoring.gold import ItemGold
from scoring.intervals import Bounds, interval
from scoring.rows import TabFile
from scoring.tasks import Accession, Task
from scoring.text import read_bytes
from scoring.views import members

WORDS = ("interact*", "bind*", "complex*", "protein*")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
OTHERS = "others"
"""The name of all species beyond those that are shown."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """A distribution over articles: `articles` maps a number to the articles with so many."""

    name: str
    total: int
    mean: float
    median: float
    most: int
    articles: Mapping[int, int]


@dataclass(frozen=True, kw_only=True)
class Species:
    """The species of a gold: their articles, and how many articles have both of two species.

    `names` are those of most articles, then `OTHERS` where there are more; `together` is a square
    in their order, whose diagonal has the articles of each.
    """

    names: Sequence[str]
    proteins: Sequence[int]
    together: Sequence[Sequence[int]]
    one_species: int  # articles whose proteins are all of one species


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


def count_items(gold: ItemGold) -> list[Counts]:
    """Return the proteins, and for IPT the pairs as well, that the articles have."""
    found = [_counts("proteins", [len(proteins) for proteins in _proteins(gold)])]
    if gold.task is Task.IPT:
        found.append(_counts("pairs", [len(items) for items in gold.items.values()]))
    return found


def _proteins(gold: ItemGold) -> list[set[Accession]]:
    """Return the proteins of each article."""
    return [{one for item in items for one in members(item)} for items in gold.items.values()]


def _counts(name: str, numbers: Sequence[int]) -> Counts:
    return Counts(
        name=name,
        total=sum(numbers),
        mean=float(np.mean(numbers)),
        median=float(np.median(numbers)),
        most=max(numbers),
        articles=dict(sorted(Counter(numbers).items())),
    )


def count_species(gold: ItemGold, taxa: Mapping[Accession, str], most: int = 8) -> Species:
    """Return the species of a gold, the `most` with most articles apart from the others.

    A protein of several articles counts once.
    """
    proteins = _proteins(gold)
    kinds = [{taxa[one] for one in found} for found in proteins]
    order = sorted(Counter(kind for found in kinds for kind in found).items(), key=_most_first)
    shown = [name for name, _ in order[:most]]
    names = [*shown, *[OTHERS] * (len(order) > most)]
    place = {name: shown.index(name) if name in shown else len(shown) for name, _ in order}
    together = np.zeros((len(names), len(names)), dtype=np.int64)
    for found in kinds:
        columns = sorted({place[kind] for kind in found})
        together[np.ix_(columns, columns)] += 1
    by_species = Counter(names[place[taxa[one]]] for one in set().union(*proteins))
    return Species(
        names=names,
        proteins=[by_species[name] for name in names],
        together=together.tolist(),
        one_species=sum(len(found) == 1 for found in kinds),
    )


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


def _occurrences(counts: Mapping[str, int], word: str) -> int:
    word = word.lower()
    if not word.endswith("*"):
        return counts.get(word, 0)
    return sum(count for one, count in counts.items() if one.startswith(word[:-1]))


def _rate(occurrences: float, words: float) -> float | None:
    return 1000 * occurrences / words if words else None


def read_texts(path: Path, articles: Iterable[str]) -> dict[str, str]:
    """Read the articles' texts: a folder of `ARTICLE.txt`, or lines of `article<TAB>text`.

    A slash in an article's id is an underscore in its file's name. Raises `FormatError` with every
    article that has no text, and every file that is not UTF-8.
    """
    texts = _read_folder(path, articles) if path.is_dir() else _read_lines(path)
    missing = [article for article in articles if article not in texts]
    if missing:
        raise FormatError(
            [FileProblem(str(path), 0, 0, f"no text of article {one!r}") for one in missing]
        )
    return texts


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
