"""Result files matched against a gold standard at the speed of reading them.

INT and IPT files take this way, whatever the order of their lines and the characters in their
names. Of a block of the file that has a malformed line, each line is looked at by itself, and so
are the lines of articles whose items or ranks may come twice: what is wrong is reported as
`scoring.files.read_run_by_line` does. That function reads the rest, such as ranks of ten digits.
Nothing is approximate: items with equal hashes are compared again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from scoring.columns import ByteColumn, Places, Truths, Words, split_columns
from scoring.ranking import Matches
from scoring.rows import (
    ALL_COLUMNS,
    MARKS,
    RESULT_COLUMNS,
    ResultLine,
    TabFile,
    check_rows,
    result_rows,
)
from scoring.tasks import Hit, Item, Task, pair
from scoring.text import Source, decoded_lines, line_blocks

Number = TypeVar("Number", bound=np.generic)
Numbers: TypeAlias = NDArray[np.int32]
"""Articles as numbers."""
Ranks: TypeAlias = NDArray[np.uint32]
"""Ranks of at most eight digits."""

_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_FOLD = np.uint64(0xD6E8FEB86659FD93)
_SHORT = 16
"""Bytes of an accession that are compared as they are; a longer one gets a number."""
_NUMBERED = 0xFF << 56  # no text has 0xFF as its sixteenth byte
_MOST_BITS = 24
_SORTED = 1 << 15
"""Rows that are sorted at a time to find items that come twice: all those of some articles."""
_PIECE = 1 << 16
_ROWS_AGAIN = 50_000
"""Rows that are looked at again at a time, at least, because something may be wrong with them."""
_FEW = 4
"""Rows an article in a block, at least, where articles are together."""


class Members(NamedTuple):
    """A column of accessions: their first eight bytes and the next eight, if any has more."""

    words: Words
    more: Words | None

    def at(self, rows: Places | slice) -> Members:
        """Return some rows of the column."""
        return Members(self.words[rows], None if self.more is None else self.more[rows])

    def folded(self) -> Words:
        """Return one word a row, which depends on all bytes."""
        return self.words if self.more is None else self.words ^ (self.more * _FOLD)

    def equals(self, other: Members) -> Truths:
        """Return, for each row, whether it has the same bytes as the other's."""
        same: Truths = self.words == other.words
        if self.more is not None or other.more is not None:
            same &= _or_zeros(self) == _or_zeros(other)
        return same


class GoldIndex:
    """A gold standard as sorted hashes of (article, item), to be looked up in bulk."""

    def __init__(self, items: Mapping[str, frozenset[Item]]) -> None:
        self.place = {article: place for place, article in enumerate(items)}
        self.sizes = [len(found) for found in items.values()]
        self.numbers: dict[bytes, int] = {}
        pairs = [
            (self.place[article], item if isinstance(item, tuple) else (item,))
            for article, found in items.items()
            for item in found
        ]
        articles = np.array([place for place, _ in pairs], dtype=np.int64)
        columns = zip(*(members for _, members in pairs), strict=True)
        members = _ordered([self._members_of(column) for column in columns])
        hashes = _hashes(articles, members)
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self.ambiguous = _any_equal(hashes)  # two items with one hash: cannot be looked up
        self._articles = articles[order]
        self._members = [member.at(order) for member in members]
        # Of the hashes' upper bits, so many that one in sixty of other items has those of one here.
        bits = min(_MOST_BITS, 6 + len(hashes).bit_length())
        self._shift = np.uint64(64 - bits)
        self._known = np.zeros(1 << bits, dtype=bool)
        self._known[self._hashes >> self._shift] = True

    def _members_of(self, accessions: Iterable[str]) -> Members:
        texts = [accession.encode() for accession in accessions]
        pairs = [_two_words(text, self.numbers) for text in texts]
        words, more = np.array(pairs, dtype=np.uint64).T
        return Members(words, more)

    def find(self, articles: Numbers, members: Sequence[Members], hashes: Words) -> Places:
        """Return the rows whose item is in the gold of their article."""
        known = [self._known[hashes[piece] >> self._shift] for piece in _pieces(len(hashes))]
        rows = np.flatnonzero(np.concatenate(known))
        found = np.searchsorted(self._hashes, hashes[rows])
        found = np.minimum(found, len(self._hashes) - 1)
        same = self._articles[found] == articles[rows]
        for ours, theirs in zip(self._members, members, strict=True):
            same &= ours.at(found).equals(theirs.at(rows))
        matched: Places = rows[same]
        return matched


@dataclass(frozen=True, kw_only=True)
class MatchedFile:
    """A result file's articles, each with its matches, and what is odd in the file.

    `wide` is the first line with unknown columns, if any; `rising` are (line, rank) of confidences
    that rise; `confidences` are the mean of each article's hits; `marked` are the accessions with a
    sign of `rows.MARKS`, counted.
    """

    matches: Mapping[str, Matches]
    confidences: Mapping[str, float]
    marked: Mapping[str, int]
    wide: int | None
    rising: Sequence[tuple[int, int]]


def match_file(
    path: Source, task: Task, index: GoldIndex, *, lenient_ranks: bool = False
) -> MatchedFile | None:
    """Return an INT or IPT file's matches; None: it must be read line by line.

    Raises `FormatError` with every problem of the file.
    """
    parts = _PartsWithMarks(path, task, index.place, index.numbers)
    if index.ambiguous or not parts.read():
        return None
    rows = _Rows(parts)
    members = _ordered([rows.members(column) for column in parts.members()])
    hashes = _hashes(rows.articles, members)
    if parts.doubted(rows, hashes, lenient=lenient_ranks):
        return None
    return MatchedFile(
        matches=rows.matches(index.find(rows.articles, members, hashes), index),
        confidences=rows.mean_confidences(),
        marked={name.decode(): count for name, count in parts.marked.items()},
        wide=parts.wide,
        rising=rows.rising(),
    )


@dataclass(frozen=True, kw_only=True)
class HitsFile:
    """A result file's hits by article, both in file order, and what is odd in the file.

    `wide` and `rising` are those of `MatchedFile`.
    """

    answers: Mapping[str, Sequence[Hit]]
    wide: int | None
    rising: Sequence[tuple[int, int]]


def read_hits(path: Source, task: Task, *, lenient_ranks: bool = False) -> HitsFile | None:
    """Return an INT or IPT file's hits; None: it must be read line by line.

    Raises `FormatError` with every problem of the file.
    """
    parts = _Parts(path, task, {}, {})
    if not parts.read():
        return None
    rows = _Rows(parts)
    members = [rows.members(column) for column in parts.members()]
    if parts.doubted(rows, _hashes(rows.articles, _ordered(members)), lenient=lenient_ranks):
        return None
    answers = _StoredHits(rows, members, parts)
    return HitsFile(answers=answers, wide=parts.wide, rising=rows.rising())


class _StoredHits(Mapping[str, Sequence[Hit]]):
    """A file's hits by article, both in file order, in columns: a tenth of the size of objects."""

    def __init__(self, rows: _Rows, members: Sequence[Members], parts: _Parts) -> None:
        self._places = rows.places()
        self._rows, self._members = rows, members
        self._long = list(parts.accession_numbers)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, article: object) -> bool:
        return article in self._places

    def __getitem__(self, article: str) -> Sequence[Hit]:
        return _ArticleHits(self, self._places[article])

    def count(self, place: int) -> int:
        """Return the number of an article's hits."""
        return self._rows.count(place)

    def hits(self, place: int) -> list[Hit]:
        """Return an article's hits."""
        rows, ranks, confidences = self._rows.listed(place)
        names = [self._texts(column.at(rows)) for column in self._members]
        items: Iterable[Item] = names[0] if len(names) == 1 else map(pair, *names)
        return list(map(partial(tuple.__new__, Hit), zip(items, ranks, confidences, strict=True)))

    def _texts(self, column: Members) -> list[str]:
        if column.more is None:
            return list(map(bytes.decode, column.words.view("S8").tolist()))
        both = np.stack([column.words, column.more], axis=1).view("S16")[:, 0].tolist()
        numbered = column.more == np.uint64(_NUMBERED)
        for place in np.flatnonzero(numbered).tolist():
            both[place] = self._long[int(column.words[place])]
        return list(map(bytes.decode, both))


class _ArticleHits(Sequence[Hit]):
    """The hits of one article, made whenever more than their number is asked for."""

    def __init__(self, stored: _StoredHits, place: int) -> None:
        self._stored, self._place = stored, place

    def __len__(self) -> int:
        return self._stored.count(self._place)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._stored.hits(self._place))

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._stored.hits(self._place)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)


class _Parts:
    """The columns of a file, collected block by block; articles and long accessions as numbers.

    `articles` and `accessions` are numbers that are known already.
    """

    def __init__(
        self,
        path: Source,
        task: Task,
        articles: Mapping[str, int],
        accessions: Mapping[bytes, int],
    ) -> None:
        self._sheet, self._task = TabFile(path, RESULT_COLUMNS[task]), task
        self._width, self._known = len(RESULT_COLUMNS[task]), len(ALL_COLUMNS[task])
        self.accession_numbers = dict(accessions)
        self.article_numbers = dict(articles)
        self.articles: list[Numbers] = []
        self.ranks: list[Ranks] = []
        self.confidences: list[NDArray[np.float64]] = []
        self.wide: int | None = None
        self._lines = 0
        self._numbers_of_lines: list[range | list[int]] = []
        self._members: list[list[Members]] = []

    def read(self) -> bool:
        """Read the file; return False if only the line by line reader can, or it is empty."""
        _keep_freed_memory()
        if not all(map(self._take, line_blocks(self._sheet.path))):
            return False
        if not self.ranks:
            self._sheet.finish()
        return bool(self.ranks)

    def _take(self, block: bytes) -> bool:
        """Add the well-formed lines of a block; the others become problems of the sheet.

        The lines of a block that has such a line are written again in the plainest form.
        """
        first, count = self._lines + 1, self._add(block)
        numbers: range | list[int] = range(first, first + count)
        if not count:
            count = block.count(b"\n")
            lines = decoded_lines(self._sheet.path, block, first)
            rows = list(result_rows(self._sheet, self._task, lines))
            if rows and not self._add("".join(map(_plain, rows)).encode()):
                return False
            numbers = [row.line for row in rows]
            if self.wide is None and self._sheet.warnings:
                self.wide = self._sheet.warnings[0].line
        self._numbers_of_lines.append(numbers)
        self._lines += count
        return True

    def doubted(self, rows: _Rows, hashes: Words, *, lenient: bool) -> bool:
        """Return whether anything may be wrong with the items and ranks, although it is not.

        Raises `FormatError` with every problem of the file. Articles are looked at again a few at
        a time, until there are too many problems.
        """
        articles = rows.doubted_articles(hashes, lenient=lenient)
        if len(articles):
            numbers = np.concatenate(
                [np.asarray(some, dtype=np.int64) for some in self._numbers_of_lines]
            )
            for some in rows.rows_of(articles):
                lines = _chosen_lines(self._sheet.path, numbers[some])
                again = TabFile(self._sheet.path, self._sheet.columns)
                read = list(result_rows(again, self._task, lines))
                check_rows(self._sheet, self._task, read, lenient_ranks=lenient)
        self._sheet.finish()
        return len(articles) > 0

    def _add(self, block: bytes) -> int:
        """Add one block and return its number of lines; 0 where any of them is malformed."""
        split = split_columns(block, self._width, self._width - 2, self._known)
        if split is None:
            return 0
        article, *accessions, rank, confidence = split.columns
        ranks, fits = rank.integers()
        confidences = confidence.numbers()
        if not fits.all() or not ranks.all():
            return 0
        if not ((confidences > 0) & (confidences <= 1)).all():
            return 0
        if self.wide is None and split.wide is not None:
            self.wide = self._lines + split.wide + 1
        self.articles.append(self._numbered(article))
        self.ranks.append(ranks.astype(np.uint32))
        self.confidences.append(confidences)
        self._members.append([_members(column, self.accession_numbers) for column in accessions])
        self._taken(accessions)
        return split.lines

    def _taken(self, accessions: Sequence[ByteColumn]) -> None:
        """Take note of a block that was added; there is nothing more to take from it."""

    def members(self) -> list[Members]:
        """Return a whole-file column for each accession of an item, once."""
        columns = list(zip(*self._members, strict=True))
        self._members.clear()
        return [_joined(column) for column in columns]

    def _numbered(self, article: ByteColumn) -> Numbers:
        """Return the articles' numbers; the text of an article is looked at as rarely as can be."""
        heads = np.flatnonzero(np.concatenate([[True], ~article.repeats()]))
        if len(heads) * _FEW <= len(article.starts):
            numbers = self._numbers(article.texts(heads))
            return np.repeat(numbers, np.diff(heads, append=len(article.starts)))
        rows, which = article.distinct()
        return self._numbers(article.texts(rows))[which]

    def _numbers(self, names: Iterable[bytes]) -> Numbers:
        known = self.article_numbers
        numbers = [known.setdefault(name.decode(), len(known)) for name in names]
        return np.array(numbers, dtype=np.int32)


class _PartsWithMarks(_Parts):
    """The columns of a file, and the accessions that have a sign of `MARKS`."""

    def __init__(
        self,
        path: Source,
        task: Task,
        articles: Mapping[str, int],
        accessions: Mapping[bytes, int],
    ) -> None:
        super().__init__(path, task, articles, accessions)
        self.marked: Counter[bytes] = Counter()

    def _taken(self, accessions: Sequence[ByteColumn]) -> None:
        for column in accessions:
            rows = column.containing(MARKS)
            if len(rows):
                marked = column.some(rows)
                firsts, which = marked.distinct()
                counts = np.bincount(which).tolist()
                self.marked.update(dict(zip(marked.texts(firsts), counts, strict=True)))


class _Rows:
    """The rows of a file in such an order that articles are together and their ranks rise.

    The columns of the parts are taken over.
    """

    def __init__(self, parts: _Parts) -> None:
        self._names = list(parts.article_numbers)
        articles, ranks = _whole(parts.articles), _whole(parts.ranks)
        self._order = _order(articles, ranks)
        self.articles, self._ranks = self.ordered(articles), self.ordered(ranks)
        self._confidences = self.ordered(_whole(parts.confidences))
        self._starts = np.flatnonzero(_begins(self.articles))
        self._lengths = np.diff(self._starts, append=len(ranks))

    def ordered(self, column: NDArray[Number]) -> NDArray[Number]:
        """Return a column of the file in the order of the rows."""
        return column if self._order is None else column[self._order]

    def members(self, column: Members) -> Members:
        """Return a column of accessions in the order of the rows."""
        return column if self._order is None else column.at(self._order)

    def doubted_articles(self, hashes: Words, *, lenient: bool) -> Places:
        """Return the articles whose ranks are not 1, 2, 3, ... or whose items may come twice.

        If `lenient`, ranks may have gaps. `hashes` are of the rows' items.
        """
        if lenient:
            same = self.articles[1:] == self.articles[:-1]
            wrong = np.flatnonzero(same & (self._ranks[1:] == self._ranks[:-1]))
        else:
            expected = np.concatenate([self._ranks[:1], self._ranks[:-1] + np.uint32(1)])
            expected[self._starts] = 1
            wrong = np.flatnonzero(self._ranks != expected)
        cuts = np.searchsorted(self._starts, np.arange(0, len(hashes), _SORTED))
        starts = [*np.unique(self._starts[np.minimum(cuts, len(self._starts) - 1)]), len(hashes)]
        twice = np.concatenate([_repeated(hashes[at:end]) for at, end in pairwise(starts)])
        alike = np.flatnonzero(np.isin(hashes, twice)) if len(twice) else twice.astype(np.int64)
        return np.unique(self.articles[np.concatenate([wrong, alike])])

    def places(self) -> dict[str, int]:
        """Return the places of the articles among the rows, in the order of the file."""
        numbers = self.articles[self._starts].tolist()
        in_file = range(len(numbers))
        if self._order is not None:
            in_file = np.argsort(np.minimum.reduceat(self._order, self._starts)).tolist()
        return {self._names[numbers[place]]: place for place in in_file}

    def count(self, place: int) -> int:
        """Return the number of an article's rows."""
        return int(self._lengths[place])

    def listed(self, place: int) -> tuple[Places, list[int], list[float]]:
        """Return the rows of an article's hits in the order of the file, and these columns."""
        rows = self._starts[place] + np.arange(self._lengths[place])
        if self._order is not None:
            rows = rows[np.argsort(self._order[rows])]
        return rows, self._ranks[rows].tolist(), self._confidences[rows].tolist()

    def rows_of(self, articles: Places) -> Iterator[Places]:
        """Yield the rows of some articles in the order of the file, some articles at a time."""
        sizes = np.cumsum(np.bincount(self.articles)[articles])
        cuts = np.searchsorted(sizes, np.arange(_ROWS_AGAIN, sizes[-1], _ROWS_AGAIN)) + 1
        for some in np.split(articles, np.unique(cuts)):
            if len(some):
                rows = np.flatnonzero(np.isin(self.articles, some))
                yield rows if self._order is None else np.sort(self._order[rows])

    def matches(self, correct: Places, index: GoldIndex) -> dict[str, Matches]:
        """Return each article's matches from the rows of the correct hits."""
        bounds = np.searchsorted(correct, [*self._starts, len(self.articles)]).tolist()
        firsts = self._starts[np.searchsorted(self._starts, correct, side="right") - 1]
        places = (correct - firsts + 1).tolist()
        sizes = index.sizes
        matches: dict[str, Matches] = {}
        for block, (start, length) in enumerate(
            zip(self._starts.tolist(), self._lengths.tolist(), strict=True)
        ):
            number = int(self.articles[start])
            ranks = tuple(places[bounds[block] : bounds[block + 1]])
            size = sizes[number] if number < len(sizes) else 0
            matches[self._names[number]] = Matches(ranks, length, size)
        return matches

    def mean_confidences(self) -> dict[str, float]:
        """Return the mean confidence of each article's hits."""
        means = np.add.reduceat(self._confidences, self._starts) / self._lengths
        names = (self._names[number] for number in self.articles[self._starts].tolist())
        return dict(zip(names, means.tolist(), strict=True))

    def rising(self) -> list[tuple[int, int]]:
        """Return the first (line, rank) in each article whose confidence exceeds the one above."""
        confidences = self._confidences
        above = self.articles[1:] == self.articles[:-1]
        rows = np.flatnonzero(above & (confidences[1:] > confidences[:-1])) + 1
        _, firsts = np.unique(self.articles[rows], return_index=True)
        lines = rows if self._order is None else self._order[rows]
        return [(int(lines[at]) + 1, int(self._ranks[rows[at]])) for at in firsts]


def _whole(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """Return the parts of a column as one, and empty the list, so that both are never kept."""
    whole: NDArray[Number] = np.concatenate(parts)
    parts.clear()
    return whole


def _begins(column: Numbers) -> Truths:
    """Return, for each row, whether its value differs from the row above; the first row does."""
    begins = np.ones(len(column), dtype=bool)
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    return begins


def _order(articles: Numbers, ranks: Ranks) -> Places | None:
    """Return the order by article and rank, or None where the rows have it.

    Where an article's ranks are 1 to n, each row's place follows from the counts of the articles.
    """
    begins = _begins(articles)
    heads = articles[begins]
    together = len(heads) == len(set(heads.tolist()))
    if together and ((ranks[1:] > ranks[:-1]) | begins[1:]).all():
        return None
    counts = np.bincount(articles)
    if (ranks <= counts[articles]).all():
        order = np.full(len(ranks), -1)
        firsts = np.cumsum(counts) - counts - 1
        order[firsts[articles] + ranks.astype(np.int64)] = np.arange(len(ranks))
        if (order >= 0).all():  # no rank twice
            return order
    return np.lexsort((ranks, articles))


def _members(column: ByteColumn, numbers: dict[bytes, int]) -> Members:
    """Return accessions as words: their own bytes up to sixteen, a number for a longer one."""
    words = column.prefixes()
    if column.longest <= 8:
        return Members(words, None)
    more = column.windows(8)
    for row in np.flatnonzero(column.lengths > _SHORT).tolist():
        words[row], more[row] = _two_words(column.text(row), numbers)
    return Members(words, more)


def _two_words(text: bytes, numbers: dict[bytes, int]) -> tuple[int, int]:
    if len(text) <= _SHORT:
        return int.from_bytes(text[:8], "little"), int.from_bytes(text[8:], "little")
    return numbers.setdefault(text, len(numbers)), _NUMBERED


def _joined(parts: Sequence[Members]) -> Members:
    words = np.concatenate([part.words for part in parts])
    if all(part.more is None for part in parts):
        return Members(words, None)
    return Members(words, np.concatenate([_or_zeros(part) for part in parts]))


def _or_zeros(members: Members) -> Words:
    return np.zeros_like(members.words) if members.more is None else members.more


def _ordered(members: Sequence[Members]) -> list[Members]:
    """Return the members of unordered pairs in one order; a single member as it is."""
    if len(members) == 1:
        return list(members)
    one, other = members
    if one.more is None and other.more is None:
        lower, upper = np.minimum(one.words, other.words), np.maximum(one.words, other.words)
        return [Members(lower, None), Members(upper, None)]
    mores = _or_zeros(one), _or_zeros(other)
    swap = (one.words > other.words) | ((one.words == other.words) & (mores[0] > mores[1]))
    return [
        Members(np.where(swap, b, a), np.where(swap, more_b, more_a))
        for (a, more_a), (b, more_b) in (
            ((one.words, mores[0]), (other.words, mores[1])),
            ((other.words, mores[1]), (one.words, mores[0])),
        )
    ]


def _hashes(articles: NDArray[np.signedinteger], members: Sequence[Members]) -> Words:
    """Return 64 mixed bits of each (article, item): equal for equals, almost surely not else."""
    hashes = np.empty(len(articles), dtype=np.uint64)
    for piece in _pieces(len(articles)):
        mixed = articles[piece].astype(np.uint64)
        for member in members:
            mixed = (mixed * _MULTIPLIERS[0]) ^ member.at(piece).folded()
            mixed ^= mixed >> np.uint64(32)
            mixed *= _MULTIPLIERS[1]
            mixed ^= mixed >> np.uint64(29)
        hashes[piece] = mixed
    return hashes


def _pieces(length: int) -> Iterator[slice]:
    """Yield slices of a column, so small that what is computed of one stays in a cache."""
    return (slice(at, at + _PIECE) for at in range(0, length, _PIECE))


def _any_equal(hashes: Words) -> bool:
    return len(_repeated(hashes)) > 0


def _repeated(hashes: Words) -> Words:
    """Return the hashes that come more than once; halves are sorted first, in half the time."""
    halves = np.sort(hashes.astype(np.uint32))
    if not (halves[1:] == halves[:-1]).any():
        return hashes[:0]
    ordered = np.sort(hashes)
    repeated: Words = ordered[1:][ordered[1:] == ordered[:-1]]
    return repeated


def _plain(row: ResultLine) -> str:
    """Return a line in the form that is read in bulk, without further columns."""
    names = "\t".join(row.key) if isinstance(row.key, tuple) else row.key
    return f"{row.article}\t{names}\t{row.rank}\t{row.confidence!r}\n"


def _chosen_lines(path: Source, numbers: Places) -> Iterator[tuple[int, str]]:
    """Yield lines of a file that is known to be UTF-8, by their rising numbers from 1."""
    first = 1
    for block in line_blocks(path):
        count = block.count(b"\n")
        low, high = np.searchsorted(numbers, [first, first + count])
        if low < high:
            lines = block.split(b"\n")
            for number in numbers[low:high].tolist():
                yield number, lines[number - first].decode()
        first += count


@cache
def _keep_freed_memory() -> None:
    """Have the C library keep what is freed, since every file needs the same memory again.

    glibc returns freed memory to the system unless a mapped block up to 32 MB was freed before
    (mallopt(3), M_MMAP_THRESHOLD); getting it back, page by page, takes as long as the arithmetic.
    Elsewhere this does nothing.
    """
    bytes(31 << 20)
