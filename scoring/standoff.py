"""BioNLP shared task standoff files: `.txt`, `.a1` (given), `.a2` (to predict), zipped or not.

The format of https://2016.bionlp-st.org/tasks/bb2: text-bound entities (`T`, fragments separated by
a semicolon), relations and events (`R`, `E`), normalizations (`N`) and equivalences (`*`).
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from scoring.alignment import Span, span
from scoring.errors import FileProblem, FormatError, Problems
from scoring.text import MOST_UNPACKED, TOO_LARGE

_SUFFIXES = frozenset({".txt", ".a1", ".a2"})
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # others have errors of their own
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError),
)


class Entity(NamedTuple):
    """A text-bound annotation: `span` counts characters of the article's text."""

    id: str
    type: str
    span: Span


class Relation(NamedTuple):
    """A relation or event: the ids of the entities in its roles."""

    id: str
    type: str
    roles: Mapping[str, str]


class Schema(NamedTuple):
    """Allowed annotations: entity types by role by relation, a knowledge base by entity type."""

    relations: Mapping[str, Mapping[str, frozenset[str]]]
    knowledge_bases: Mapping[str, str]


@dataclass(kw_only=True, slots=True)
class Annotations:
    """The annotations of one article, by id."""

    article: str
    text: str
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    referents: dict[str, set[str]] = field(default_factory=dict)
    """Entity id -> identifiers in the knowledge base of the entity's type."""
    answered: bool = False  # a run has an `.a2` file for it
    same: dict[str, str] = field(default_factory=dict)
    """Entity id -> the first id of its equivalence class, for equivalent entities."""


def read_standoff_gold(path: Path | str, schema: Schema) -> dict[str, Annotations]:
    """Read the articles of a folder or zip file, each with its `.txt`, `.a1` and `.a2`.

    Raises `FormatError` with every problem in any file.
    """
    files = _files(Path(path))
    names = sorted(name for name, suffix in files if suffix == ".txt")
    reader = _Reader(schema)
    if not names:
        reader.problem(str(path), 0, "no .txt file; expected .txt, .a1 and .a2 files")
    articles = {}
    for name in names:
        articles[name] = reader.begin(name, files[name, ".txt"])
        for suffix in (".a1", ".a2"):
            if (name, suffix) in files:
                reader.read(articles[name], files[name, suffix])
            else:
                reader.problem(files[name, ".txt"].path, 0, f"no {name}{suffix} beside it")
    reader.finish()
    return articles


def read_standoff_run(
    path: Path | str, schema: Schema, gold: Mapping[str, Annotations], *, entities_given: bool
) -> dict[str, Annotations]:
    """Read the `.a2` files of a run over the gold's texts and, where given, its entities.

    An article without a file has no annotation. Raises `FormatError` with every problem, such as a
    file for an article that is not in the gold.
    """
    reader = _Reader(schema)
    articles = _blank(gold, entities_given=entities_given)
    for (name, suffix), file in sorted(_files(Path(path)).items()):
        if suffix == ".a2" and name not in gold:
            reader.problem(file.path, 0, "its article is not in the gold")
        elif suffix == ".a2":
            reader.read(articles[name], file)
            articles[name].answered = True
    reader.finish()
    return articles


def written_annotations(path: Path | str) -> dict[str, str]:
    r"""Return the `.a2` texts of a run by article, as `read_standoff_run` has checked them.

    >>> Path("run").mkdir()
    >>> _ = Path("run/doc-1.a2").write_text("T3\tHabitat 0 4\tmilk\n")
    >>> written_annotations("run")
    {'doc-1': 'T3\tHabitat 0 4\tmilk\n'}
    """
    return {
        name: file.data.decode("utf-8-sig", "replace")
        for (name, suffix), file in sorted(_files(Path(path)).items())
        if suffix == ".a2"
    }


def annotated(
    written: Mapping[str, str],
    schema: Schema,
    gold: Mapping[str, Annotations],
    *,
    entities_given: bool,
) -> dict[str, Annotations]:
    """Read `.a2` texts by article over a gold that may be another than they were written for.

    What does not fit it is left out: an article that it does not have, a line that names an entity
    that it does not have.
    """
    reader = _Reader(schema, _Ignored())
    articles = _blank(gold, entities_given=entities_given)
    for name in sorted(written.keys() & gold.keys()):
        reader.read(articles[name], _File(name, written[name].encode()))
        articles[name].answered = True
    return articles


def _blank(gold: Mapping[str, Annotations], *, entities_given: bool) -> dict[str, Annotations]:
    """Return the articles of a gold with what is given of them: the text, or the entities too."""
    return {
        name: Annotations(
            article=name,
            text=source.text,
            entities=dict(source.entities) if entities_given else {},
        )
        for name, source in gold.items()
    }


class _File(NamedTuple):
    path: str
    data: bytes


def _files(path: Path) -> dict[tuple[str, str], _File]:
    """Return the files of a folder or zip file by name and suffix.

    Raises `FormatError` where two are of one name, in different folders.
    """
    try:
        if path.is_dir():
            return _by_name(
                (file, _File(str(file), file.read_bytes()))
                for file in sorted(path.rglob("*"))
                if _is_annotation_file(file)
            )
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type not in _METHODS for member in archive.infolist()):
                raise zipfile.BadZipFile("a file is not compressed by deflate")
            if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
                raise FormatError([FileProblem(str(path), 0, 0, TOO_LARGE)])
            return _by_name(
                (PurePosixPath(name), _File(f"{path}/{name}", archive.read(name)))
                for name in sorted(archive.namelist())
                if _is_annotation_file(PurePosixPath(name))
            )
    except _BROKEN as error:
        message = f"cannot be read ({str(error) or 'too short'}); expected a folder or a zip file"
        raise FormatError([FileProblem(str(path), 0, 0, message)]) from error


def _by_name(files: Iterable[tuple[PurePath, _File]]) -> dict[tuple[str, str], _File]:
    found: dict[tuple[str, str], _File] = {}
    problems = Problems()
    for place, file in files:
        first = found.setdefault((place.stem, place.suffix), file)
        if first is not file:
            message = f"{place.name} comes twice, first as {first.path}; expected it once"
            problems.add(file.path, 0, 0, message)
    problems.finish()
    return found


def _is_annotation_file(file: PurePath) -> bool:
    """Return whether a file has annotations or text; macOS adds files `._x.a2` to zip files."""
    return file.suffix in _SUFFIXES and not file.name.startswith(".")


class _Ignored(Problems):
    """Problems that are not reported."""

    def add(self, file: object, line: int, column: int, message: str) -> None:
        """Keep nothing."""


class _Reader:
    """Reads annotation lines and keeps every problem."""

    def __init__(self, schema: Schema, problems: Problems | None = None) -> None:
        self._schema = schema
        self._problems = Problems() if problems is None else problems

    def problem(self, path: str, line: int, message: str) -> None:
        self._problems.add(path, line, 0, message)

    def finish(self) -> None:
        self._problems.finish()

    def begin(self, name: str, file: _File) -> Annotations:
        return Annotations(article=name, text=self._decoded(file))

    def read(self, article: Annotations, file: _File) -> None:
        """Add the lines of one file; entities first, as other lines may point ahead."""
        lines = [
            (number, line.removesuffix("\r"))
            for number, line in enumerate(self._decoded(file).split("\n"), start=1)
            if line.strip()
        ]
        for number, line in sorted(lines, key=lambda item: not item[1].startswith("T")):
            try:
                _add(article, line, self._schema)
            except ValueError as error:
                self.problem(file.path, number, str(error))

    def _decoded(self, file: _File) -> str:
        try:
            return file.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = file.data.count(b"\n", 0, error.start) + 1
            self.problem(file.path, line, "not UTF-8; expected UTF-8 text")
            return ""


def _add(article: Annotations, line: str, schema: Schema) -> None:
    """Add one annotation line to an article; raises `ValueError` with the fault."""
    name, *fields = line.split("\t")
    if name in article.entities or name in article.relations:
        raise ValueError(f"id {name} comes twice in this article")
    match name[:1], fields:
        case "T", [position, *text]:
            _add_entity(article, name, position, text)
        case "R" | "E", [content, *_]:
            kind, *arguments = content.split(" ")
            relation = Relation(name, kind.partition(":")[0], _roles(article, arguments))
            _check_roles(article, relation, schema)
            article.relations[name] = relation
        case "N", [content, *_]:
            kind, *arguments = content.split(" ")
            _add_referent(article, kind, arguments, schema)
        case "*", [content, *_]:
            kind, *members = content.split(" ")
            if kind != "Equiv" or len(members) < 2:
                raise ValueError(f"{content!r}; expected Equiv and two entities or more")
            _join(article, [_entity(article, member) for member in members])
        case _:
            raise ValueError(f"{line[:60]!r}; expected a T, R, E, N or * line with tabs")


def _add_entity(article: Annotations, name: str, position: str, text: list[str]) -> None:
    kind, _, offsets = position.partition(" ")
    try:
        pairs = [fragment.split(" ") for fragment in offsets.split(";")]
        fragments = [(int(start), int(end)) for start, end in pairs]
    except ValueError as error:
        expected = "expected a type and offsets such as Habitat 3 10;14 20"
        raise ValueError(f"{position!r}; {expected}") from error
    kept = span(fragments)
    if kept[-1][1] > len(article.text):
        raise ValueError(
            f"{name} ends at {kept[-1][1]}; the text has {len(article.text)} characters"
        )
    if sum(end - start for start, end in fragments) > len(article.text):  # before it is copied
        raise ValueError(f"{name} covers characters several times; expected fragments apart")
    covered = " ".join(article.text[start:end] for start, end in fragments)
    if text and text[0].split() != covered.split():
        raise ValueError(f"{name} says {text[0][:40]!r}; the text has {covered[:40]!r} there")
    article.entities[name] = Entity(name, kind, kept)


def _roles(article: Annotations, arguments: list[str]) -> dict[str, str]:
    roles = {}
    for argument in arguments:
        role, _, member = argument.partition(":")
        roles[role] = _entity(article, member)
    return roles


def _check_roles(article: Annotations, relation: Relation, schema: Schema) -> None:
    roles = schema.relations.get(relation.type)
    if roles is None:
        raise ValueError(f"relation {relation.type!r}; expected {', '.join(schema.relations)}")
    if relation.roles.keys() != roles.keys():
        raise ValueError(f"roles {', '.join(relation.roles)}; expected {', '.join(roles)}")
    for role, member in relation.roles.items():
        if article.entities[member].type not in roles[role]:
            expected = " or ".join(sorted(roles[role]))
            found = article.entities[member].type
            raise ValueError(f"{role} {member} is of type {found}; expected {expected}")


def _add_referent(article: Annotations, kind: str, arguments: list[str], schema: Schema) -> None:
    values = dict(argument.partition(":")[::2] for argument in arguments)
    if values.keys() != {"Annotation", "Referent"} or not values["Referent"]:
        raise ValueError(f"{' '.join(arguments)!r}; expected Annotation:T1 Referent:ID")
    member = _entity(article, values["Annotation"])
    entity_type = article.entities[member].type
    if schema.knowledge_bases.get(entity_type) != kind:
        raise ValueError(f"{kind} for {member}, which is of type {entity_type}")
    article.referents.setdefault(member, set()).add(values["Referent"])


def _entity(article: Annotations, name: str) -> str:
    if name not in article.entities:
        raise ValueError(f"entity {name!r} is not in this article")
    return name


def _join(article: Annotations, members: list[str]) -> None:
    """Make one equivalence class of the members and of all that is equivalent to them already."""
    joined = {article.same.get(member, member) for member in members}
    everyone = {*members, *(member for member, first in article.same.items() if first in joined)}
    article.same.update(dict.fromkeys(everyone, min(everyone)))
