"""BioNLP shared task standoff files: `.txt`, `.a1` (given), `.a2` (to predict), zipped or not.

The format of https://2016.bionlp-st.org/tasks/bb2: text-bound entities (`T`, fragments separated by
a semicolon), relations and events (`R`, `E`), normalizations (`N`) and equivalences (`*`).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from scoring.alignment import Span, span
from scoring.errors import FileProblem, FormatError, Problems
from scoring.text import MOST_UNPACKED, TOO_LARGE

_SUFFIXES = frozenset({".txt", ".a1", ".a2"})


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
    articles = {}
    for name, source in gold.items():
        given = {entity: kept for entity, kept in source.entities.items() if entities_given}
        articles[name] = Annotations(article=name, text=source.text, entities=given)
    for (name, suffix), file in sorted(_files(Path(path)).items()):
        if suffix == ".a2" and name not in gold:
            reader.problem(file.path, 0, "its article is not in the gold")
        elif suffix == ".a2":
            reader.read(articles[name], file)
            articles[name].answered = True
    reader.finish()
    return articles


class _File(NamedTuple):
    path: str
    data: bytes


def _files(path: Path) -> dict[tuple[str, str], _File]:
    """Return the files of a folder or zip file by name and suffix."""
    found: dict[tuple[str, str], _File] = {}
    try:
        if path.is_dir():
            members = [
                (file, str(file), file.read_bytes)
                for file in sorted(filter(_is_annotation_file, path.rglob("*")))
            ]
            return {(file.stem, file.suffix): _File(name, read()) for file, name, read in members}
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
                raise FormatError([FileProblem(str(path), 0, 0, TOO_LARGE)])
            for name in sorted(archive.namelist()):
                member = PurePosixPath(name)
                if _is_annotation_file(member):
                    file = _File(f"{path}/{name}", archive.read(name))
                    found[member.stem, member.suffix] = file
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        message = f"cannot be read ({error}); expected a folder or a zip file"
        raise FormatError([FileProblem(str(path), 0, 0, message)]) from error
    return found


def _is_annotation_file(file: PurePath) -> bool:
    """Return whether a file has annotations or text; macOS adds files `._x.a2` to zip files."""
    return file.suffix in _SUFFIXES and not file.name.startswith(".")


class _Reader:
    """Reads annotation lines and keeps every problem."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._problems = Problems()

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
