"""The files of SemEval-2013 task 9.1: the DDI corpus (XML), runs (XML or tab-separated), tables.

`charOffset`s are inclusive, fragments separated by a semicolon: `12-15;21-25`. A gold table has the
columns of a run, with whole articles in place of sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from scoring.alignment import Span, length, span
from scoring.errors import FileProblem, FormatError, Problems
from scoring.rows import lost_lines, name_fault, without_answers
from scoring.semeval_ner import TYPES, MentionSpan
from scoring.semeval_program import WrittenMention
from scoring.text import Source, read_bytes, read_lines, rereadable

_OFFSETS = re.compile(r"\d{1,9}-\d{1,9}(;\d{1,9}-\d{1,9})*", re.ASCII)
_COLUMNS = "sentence, charOffset, text, type"
_TABLE = "article, charOffset, text, type"


class Sentence(NamedTuple):
    """A sentence of the corpus: its document, and its text, which a table does not have."""

    document: str
    text: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MentionCorpus:
    """A corpus: its sentences by id, and the mentions in them (`place` is the sentence's id).

    A table has articles in place of sentences. It need not be `complete`: a run may have articles
    and types that the table does not name.
    """

    sentences: Mapping[str, Sentence]
    mentions: tuple[MentionSpan, ...]
    written: tuple[WrittenMention, ...]  # the same mentions, in the order of the corpus
    complete: bool = True


class _Row(NamedTuple):
    """A mention's fields (place, offsets, text, type) with their place, and all that is wrong."""

    path: Source
    line: int
    fields: Sequence[str]
    faults: Sequence[tuple[int, str]]  # a column, 0 for the line, and a message


def read_ner_gold(path: Source | str) -> MentionCorpus:
    r"""Read a corpus: a file, or all `.xml` files of a folder and the folders in it, sorted.

    A file that is not XML is a table: `article<TAB>charOffset<TAB>text<TAB>type`, or `article`
    alone where it has no mention. Raises `FormatError` with every problem: XML, ids, columns,
    offsets, a text of another length, a mention that comes twice.

    >>> _ = Path("gold.tsv").write_text("s1\t0-6\taspirin\tdrug\ns2\n")
    >>> read_ner_gold("gold.tsv").mentions
    (MentionSpan(place='s1', span=((0, 7),), type='drug'),)
    """
    path = rereadable(path)
    if not _is_xml(path):
        return _read_table(path)
    corpus = _Corpus()
    for file in _xml_files(path):
        corpus.read(file)
    if not corpus.sentences and not corpus.problems:
        message = "no <sentence> element; expected the corpus XML of SemEval-2013 task 9"
        corpus.problems.add(path, 0, 0, message)
    corpus.problems.finish()
    return MentionCorpus(
        sentences=corpus.sentences,
        mentions=tuple(corpus.mentions),
        written=tuple(corpus.written),
    )


def read_ner_run(
    path: Source | str, gold: MentionCorpus, warnings: list[FileProblem] | None = None
) -> list[MentionSpan]:
    r"""Read a run: `sentence<TAB>charOffset<TAB>text<TAB>type`, or XML as the corpus is.

    The text is not compared, and the organisers' own separator `|` is read too; XML is a file or a
    folder. Raises `FormatError` with every problem: columns, a sentence that is not in the gold,
    offsets, a type, a prediction that comes twice. Where the gold is a table, other sentences are
    left out, and a type that it does not name is wrong: `warnings` takes what may be misspelt.

    >>> _ = Path("gold.tsv").write_text("s1\t0-6\taspirin\tdrug\n")
    >>> _ = Path("run.tsv").write_text("s1\t0-6\taspirin\tbrand\n")
    >>> read_ner_run("run.tsv", read_ner_gold("gold.tsv"))
    [MentionSpan(place='s1', span=((0, 7),), type='brand')]
    """
    mentions = _mentions(_run_rows(rereadable(path), gold, warnings), "prediction")
    return [mention for mention in mentions if mention.place in gold.sentences]


def read_written_run(
    path: Source | str, gold: MentionCorpus, warnings: list[FileProblem] | None = None
) -> list[WrittenMention]:
    """Read a run for `scoring.semeval_program`: as `read_ner_run`, but repetitions are kept."""
    written: list[WrittenMention] = []
    problems = Problems()
    for row in _run_rows(rereadable(path), gold, warnings):
        for column, message in row.faults:
            problems.add(row.path, row.line, column, message)
        if not row.faults and row.fields[0] in gold.sentences:
            written.append(_written(row.fields))
    problems.finish()
    return written


def _is_xml(path: Source) -> bool:
    if isinstance(path, Path) and (path.is_dir() or path.suffix == ".xml"):
        return True
    return read_bytes(path).lstrip().startswith(b"<")


def _xml_files(path: Source) -> Sequence[Source]:
    if not isinstance(path, Path) or not path.is_dir():
        return [path]
    files = sorted(path.rglob("*.xml"))
    if not files:
        raise FormatError([FileProblem(str(path), 0, 0, "no .xml file in this folder")])
    return files


def _written(fields: Sequence[str]) -> WrittenMention:
    return WrittenMention(fields[0], fields[1], fields[3])


def _run_rows(
    path: Source, gold: MentionCorpus, warnings: list[FileProblem] | None
) -> Iterator[_Row]:
    """Yield a run's predictions, each with all that is wrong with it."""
    types = dict.fromkeys([*TYPES, *(mention.type for mention in gold.mentions)])
    if _is_xml(path):
        rows = [row for file in _xml_files(path) for row in _XmlRun(file).rows]
    else:
        lines = enumerate(read_lines(path), start=1)
        rows = [(path, number, _fields(line)) for number, line in lines]
    if warnings is not None and not rows:
        warnings.append(without_answers(path))
    if warnings is not None and not gold.complete:
        warnings += _oddities(
            path, [fields for _, _, fields in rows if len(fields) == 4], gold, types
        )
    for file, number, fields in rows:
        yield _Row(file, number, fields, list(_faults(fields, gold, types)))


def _oddities(
    path: Source, rows: Sequence[Sequence[str]], gold: MentionCorpus, types: Mapping[str, None]
) -> Iterator[FileProblem]:
    """Yield warnings of articles and types that a gold table does not name."""
    named = {mention.place for mention in gold.mentions}
    without = gold.sentences.keys() - named  # nothing is to be found in these
    lines = Counter(place for place, *_ in rows if place not in without)
    yield from lost_lines(path, lines, named)
    others = [kind for place, _, _, kind in rows if place in gold.sentences and kind not in types]
    if others:
        message = f"{len(others)} predictions are of types that the gold does not name"
        yield FileProblem(str(path), 0, 0, f"{message}, the first of {others[0]!r}: they are wrong")


def _read_table(path: Source) -> MentionCorpus:
    rows = [(number, _fields(line)) for number, line in enumerate(read_lines(path), start=1)]
    if not rows:
        raise FormatError([FileProblem(str(path), 0, 0, f"empty; expected lines of {_TABLE}")])
    named = [row for row in rows if len(row[1]) > 1 or name_fault(row[1][0], "article")]
    mentions = _mentions(
        (_Row(path, number, fields, list(_table_faults(fields))) for number, fields in named),
        "mention",
    )
    return MentionCorpus(
        sentences={fields[0]: Sentence(fields[0], None) for _, fields in rows},
        mentions=tuple(mentions),
        written=tuple(_written(fields) for _, fields in named),
        complete=False,
    )


def _fields(line: str) -> list[str]:
    return line.split("\t" if "\t" in line else "|")


def _mentions(rows: Iterable[_Row], what: str) -> list[MentionSpan]:
    """Return the mentions of rows; raises `FormatError` with all that is wrong."""
    seen: dict[MentionSpan, int] = {}
    problems = Problems()
    for path, number, fields, faults in rows:
        for column, message in faults:
            problems.add(path, number, column, message)
        if faults:
            continue
        mention = MentionSpan(fields[0], parse_offsets(fields[1]), fields[3])
        if mention in seen:
            message = f"the same {what} as line {seen[mention]}; expected it once"
            problems.add(path, number, 0, message)
        seen.setdefault(mention, number)
    problems.finish()
    return list(seen)


def parse_offsets(text: str) -> Span:
    """Return the span of inclusive offsets such as `12-15;21-25`; raises `ValueError`.

    >>> parse_offsets("12-15;21-25")
    ((12, 16), (21, 26))
    """
    if not _OFFSETS.fullmatch(text):
        raise ValueError(f"offsets {text!r}; expected inclusive ones such as 12-15;21-25")
    ends = [tuple(map(int, fragment.split("-"))) for fragment in text.split(";")]
    if any(end < start for start, end in ends):
        raise ValueError(f"offsets {text!r}: a fragment ends before it begins")
    return span((start, end + 1) for start, end in ends)


def _faults(
    fields: Sequence[str], gold: MentionCorpus, types: Mapping[str, None]
) -> Iterator[tuple[int, str]]:
    """Yield column (0: the line) and message of everything wrong with a line of a run."""
    if len(fields) != 4:
        yield 0, f"{len(fields)} columns; expected 4 separated by tabs: {_COLUMNS}"
        return
    sentence = gold.sentences.get(fields[0])
    if sentence is None and gold.complete:
        yield 1, f"sentence {fields[0]!r} is not in the gold"
    elif sentence is None and (fault := name_fault(fields[0], "article")):
        yield 1, fault
    try:
        end = parse_offsets(fields[1])[-1][1]
    except ValueError as error:
        yield 2, str(error)
    else:
        if sentence and sentence.text is not None and end > len(sentence.text):
            yield 2, f"offset {end - 1} is after the sentence's last, {len(sentence.text) - 1}"
    if fields[3] not in types and gold.complete:
        yield 4, f"type {fields[3]!r}; expected {', '.join(types)}"


def _table_faults(fields: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield column (0: the line) and message of everything wrong with a line of a gold table."""
    if len(fields) != 4 and (len(fields) > 1 or not fields[0]):
        found = f"{len(fields)} columns" if any(fields) else "an empty line"
        yield 0, f"{found}; expected {_TABLE}, separated by tabs, or an article alone"
        return
    for column, name in ((1, "article"), (4, "type"))[: len(fields)]:
        if fault := name_fault(fields[column - 1], name):
            yield column, fault
    if len(fields) == 1:
        return
    try:
        fragments = parse_offsets(fields[1])
    except ValueError as error:
        yield 2, str(error)
        return
    size = length(fragments)
    if len(fragments) == 1 and len(fields[2]) != size:
        yield 3, f"text of {len(fields[2])} characters; expected {size} by its offsets"


class _Corpus:
    """The parts of a corpus read so far; expat loads no DTD and bounds what entities expand to."""

    def __init__(self) -> None:
        self.sentences: dict[str, Sentence] = {}
        self.mentions: dict[MentionSpan, None] = {}
        self.written: list[WrittenMention] = []
        self.problems = Problems()
        self._path: Source = Path()
        self._document = self._sentence = ""

    def read(self, path: Source) -> None:
        self._path, self._document, self._sentence = path, Path(path.name).stem, ""
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        try:
            self._parser.Parse(read_bytes(path), True)
        except expat.ExpatError as error:
            self._problem(f"broken XML: {expat.ErrorString(error.code)}", error.lineno)
        except (LookupError, ValueError) as error:  # the encoding it declares cannot be read
            self._problem(f"broken XML: {error}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "document":
            self._document = attributes.get("id", self._document)
        elif tag == "sentence":
            self._add_sentence(attributes)
        elif tag == "entity":
            self._add_entity(attributes)

    def _add_sentence(self, attributes: dict[str, str]) -> None:
        self._sentence = attributes.get("id", "")
        if not self._sentence or "text" not in attributes:
            self._problem("<sentence> without id or text")
        elif self._sentence in self.sentences:
            self._problem(f"sentence {self._sentence!r} comes twice")
        self.sentences[self._sentence] = Sentence(self._document, attributes.get("text", ""))

    def _add_entity(self, attributes: dict[str, str]) -> None:
        try:
            fragments = parse_offsets(attributes["charOffset"])
            mention = MentionSpan(self._sentence, fragments, attributes["type"])
        except KeyError as error:
            self._problem(f"<entity> without {error.args[0]}")
        except ValueError as error:
            self._problem(str(error))
        else:
            if mention in self.mentions:
                self._problem("the same entity as one before it; expected it once")
            self.mentions[mention] = None
            self.written.append(
                WrittenMention(mention.place, attributes["charOffset"], mention.type)
            )

    def _problem(self, message: str, line: int | None = None) -> None:
        line = self._parser.CurrentLineNumber if line is None else line
        self.problems.add(self._path, line, 0, message)


class _XmlRun:
    """The predictions of an XML file, as rows of the columns of a table.

    Attributes that are missing are empty fields, which the check of the rows refuses. Only what a
    run needs is read: sentences need no text.
    """

    def __init__(self, path: Source) -> None:
        self.rows: list[tuple[Source, int, list[str]]] = []
        self._path = path
        self._sentence: str | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        try:
            self._parser.Parse(read_bytes(path), True)
        except expat.ExpatError as error:
            message = f"broken XML: {expat.ErrorString(error.code)}"
            raise FormatError([FileProblem(str(path), error.lineno, 0, message)]) from error
        except (LookupError, ValueError) as error:  # the encoding it declares cannot be read
            raise FormatError([FileProblem(str(path), 0, 0, f"broken XML: {error}")]) from error
        if self._sentence is None:
            message = "no <sentence> element; expected XML as the corpus is"
            raise FormatError([FileProblem(str(path), 0, 0, message)])

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "sentence":
            self._sentence = attributes.get("id", "")
        elif tag == "entity":
            names = ("charOffset", "text", "type")
            fields = [self._sentence or "", *(attributes.get(name, "") for name in names)]
            self.rows.append((self._path, self._parser.CurrentLineNumber, fields))
