"""Bundles of challenges: a zip of `challenge.yaml` beside texts, articles, gold and runs.

A bundle is not trusted: it is bounded before it is read, and checked as a whole, each fault with
its file and line, before anything comes of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta

from metaserver.base.errors import InputError, RefusedError
from metaserver.base.phases import SECTIONS, ChallengePage, SignUpMode
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.zips import files_in, zip_of
from metaserver.boards.gold import read_gold
from metaserver.config import line_of, yaml_fault
from metaserver.corpus.files import ZipLimits, article_files, unpack
from metaserver.corpus.reader import read_unpacked
from metaserver.operations.challenge_pages import ChallengeEdit
from metaserver.operations.challenges import NewChallenge, moment_in
from metaserver.operations.fields import NewName
from metaserver.operations.phases import NewPhase, planned
from metaserver.operations.planning import takes_uploads_only
from metaserver.operations.text_files import unpacked
from metaserver.store.articles import PackedArticles, pack_articles
from metaserver.tasks.plugin import installed_tasks

PLAN = "challenge.yaml"
LIMITS = ZipLimits()
MOST_YAML = 2**16
"""Bytes of `challenge.yaml`, which a library in Python reads."""
MOST_DEPTH = 16
"""Lists and mappings within each other."""
MOST_PHASES = 50
MOST_RUNS = 5_000
MOST_FAULTS = 200


def _require_plain(text: str) -> None:
    """Raise `InputError` for YAML that is deep or refers to itself, before it is read further.

    The library's time grows with the square of the depth, so events are looked at as they come.
    """
    depth = 0
    for event in yaml.parse(text, yaml.BaseLoader):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent):
            raise InputError(PLAN, "refers to another part of itself", line=line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise InputError(PLAN, "nested too deeply", line=line)


class BundledRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An uploaded run: its team, its task, and its file or folder in the bundle."""

    run: NewName
    team: NewName
    task: str
    file: str


class BundledParts(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a phase: its articles (a file or folder), its gold by task, its runs.

    A phase of uploads has no articles.
    """

    articles: str = ""
    gold: dict[str, str] = {}
    runs: Annotated[tuple[BundledRun, ...], Meta(max_length=MOST_RUNS)] = ()


class BundleHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document `challenge.yaml`: its version, the challenge, its phases."""

    bundle: Annotated[int, Meta(ge=1, le=1)]
    challenge: NewName
    title: str = ""
    timezone: str = "UTC"
    terms_version: str = ""
    sign_up: SignUpMode = SignUpMode.CLOSED
    phases: Annotated[tuple[dict[str, Any], ...], Meta(max_length=MOST_PHASES)] = ()


@dataclass(frozen=True, kw_only=True)
class PhaseDraft:
    """A phase of a bundle, read whole: gold files by task with their names, runs with theirs."""

    plan: NewPhase
    line: int
    corpus: str
    articles: PackedArticles
    gold: Mapping[TaskName, tuple[str, bytes]]
    runs: Sequence[tuple[BundledRun, bytes]]


@dataclass(kw_only=True)
class ChallengeDraft:
    """The contents of a bundle, as far as they could be read, and all that is wrong with it."""

    challenge: NewChallenge | None = None
    page: ChallengePage = field(default_factory=ChallengePage)
    phases: list[PhaseDraft] = field(default_factory=list)
    faults: list[InputError] = field(default_factory=list)

    def fault(self, place: str, message: str, line: int | None = None) -> None:
        """Note what is wrong, in a file and line of the bundle."""
        self.faults.append(InputError(place, message, line=line))


def read_bundle(content: bytes, release: str, name: str = "") -> ChallengeDraft:
    """Read a bundle, with all that is wrong in it; takes seconds for a large one: for a thread.

    `release` is that of phases which name none, `name` another name of the challenge.
    """
    draft = ChallengeDraft()
    with tempfile.TemporaryDirectory(prefix="metaserver-bundle-") as place:
        folder = Path(place)
        try:
            unpack("the bundle", content, folder, LIMITS)
        except InputError as error:
            draft.faults.append(error)
            return draft
        root = _root(folder)
        _Reader(root, draft, release, name).read()
    draft.faults[:] = draft.faults[:MOST_FAULTS]
    return draft


def _root(folder: Path) -> Path:
    """Return the folder of `challenge.yaml`: the only one, where a folder was packed."""
    entries = list(folder.iterdir())
    if len(entries) == 1 and entries[0].is_dir():
        return entries[0]
    return folder


class _Reader:
    def __init__(self, root: Path, draft: ChallengeDraft, release: str, name: str) -> None:
        self._root = root
        self._draft = draft
        self._release = release
        self._name = name
        self._articles: dict[str, PackedArticles] = {}

    def read(self) -> None:
        """Read all of it."""
        plan = self._plan()
        if plan is None:
            return
        head, node = plan
        name = self._name or head.challenge
        try:
            self._draft.challenge = msgspec.convert(
                {"challenge": name, "title": head.title, "timezone": head.timezone}, NewChallenge
            )
            moment_in("2026-01-01T00:00", head.timezone, "timezone")
        except msgspec.ValidationError as error:
            self._draft.fault(PLAN, _said(error), line_of(node, str(error)))
            return
        except RefusedError as error:
            self._draft.fault(PLAN, error.message, line_of(node, " - at `$.timezone`"))
            return
        self._draft.page = self._page(head)
        if head.sign_up is SignUpMode.CODE:
            message = "a bundle has no invitation code: choose approve, automatic or closed"
            self._draft.fault(PLAN, message, line_of(node, " - at `$.sign_up`"))
        known: set[str] = set()
        for place, values in enumerate(head.phases):
            where = f"$.phases[{place}]"
            phase = self._phase(name, head.timezone, values, where, node)
            if phase is None:
                continue
            if phase.plan.phase in known:
                self._draft.fault(PLAN, f"phase {phase.plan.phase!r} comes twice", phase.line)
            known.add(phase.plan.phase)
            self._draft.phases.append(phase)

    def _plan(self) -> tuple[BundleHead, Any] | None:
        path = self._root / PLAN
        try:
            data = path.read_bytes()[: MOST_YAML + 1] if path.is_file() else None
            if data is None:
                raise InputError(PLAN, "missing; expected it at the top of the bundle")
            if len(data) > MOST_YAML:
                raise InputError(PLAN, f"larger than {MOST_YAML >> 10} KiB")
            text = data.decode()
            _require_plain(text)
            loader = yaml.BaseLoader(text)
            node = loader.get_single_node()
            loaded = {} if node is None else loader.construct_document(node)
        except InputError as error:
            self._draft.faults.append(error)
        except UnicodeDecodeError:
            self._draft.fault(PLAN, "not UTF-8 text")
        except yaml.YAMLError as error:
            self._draft.faults.append(yaml_fault(PLAN, error))
        else:
            try:
                return msgspec.convert(loaded or {}, BundleHead, strict=False), node
            except msgspec.ValidationError as error:
                self._draft.fault(PLAN, _said(error), line_of(node, str(error)))
        return None

    def _page(self, head: BundleHead) -> ChallengePage:
        """Return the page, whose texts are files in `texts`."""
        values: dict[str, Any] = {"sign_up": head.sign_up, "terms_version": head.terms_version}
        for name in (*(section.name for section in SECTIONS), "terms"):
            place = f"texts/{name}.md"
            path = self._root / place
            if not path.is_file():
                continue
            try:
                values[name] = path.read_bytes().decode()
            except UnicodeDecodeError as error:
                self._draft.fault(place, f"not UTF-8 text: {error.reason}")
        try:
            given = msgspec.convert({"challenge": "x", **values}, ChallengeEdit)
        except msgspec.ValidationError as error:
            field = str(error).partition(" - at `$.")[2].rstrip("`")
            self._draft.fault(f"texts/{field}.md" if field in values else PLAN, _said(error))
            return ChallengePage()
        if values.get("terms") and not head.terms_version:
            self._draft.fault(PLAN, "terms_version is needed where there are terms")
        return ChallengePage(**{name: getattr(given, name) for name in values})

    def _phase(
        self, challenge: str, zone: str, values: dict[str, Any], where: str, node: Any
    ) -> PhaseDraft | None:
        line = line_of(node, f" - at `{where}`") or 1
        parts = {key: values[key] for key in BundledParts.__struct_fields__ if key in values}
        own = {key: value for key, value in values.items() if key not in parts}
        try:
            files = msgspec.convert(parts, BundledParts, strict=False)
            corpus = PurePosixPath(files.articles).name.partition(".")[0]
            given = {**own, "challenge": challenge, "corpus": corpus}
            if twice := {"challenge", "corpus"} & own.keys():
                raise msgspec.ValidationError(
                    f"Object contains unknown field `{min(twice)}` - at `$`"
                )
            plan = msgspec.convert(given, NewPhase, strict=False)
            if not plan.release and not takes_uploads_only(plan.tasks):
                plan = msgspec.structs.replace(plan, release=self._release)
            if files.articles:
                msgspec.convert(corpus, NewName)
            planned(plan, zone)
        except msgspec.ValidationError as error:
            message, at, path = str(error).partition(" - at `$")
            found = f"{message}{at or ' - at `$'}".replace("$", where) + (path or "`")
            self._draft.fault(PLAN, _said(error), line_of(node, found) or line)
            return None
        except RefusedError as error:
            at_field = line_of(node, f" - at `{where}.{error.field}`") or line
            self._draft.fault(PLAN, f"{error.field} {error.message}", at_field)
            return None
        articles = self._read_articles(files.articles, line)
        if articles is None:
            return None
        ids = [ArticleId(row["article_id"]) for row in articles.rows]
        return PhaseDraft(
            plan=plan,
            line=line,
            corpus=corpus,
            articles=articles,
            gold=dict(self._gold(files.gold, plan, frozenset(ids), line)),
            runs=list(self._runs(files.runs, line)),
        )

    def _at(self, place: str, line: int) -> Path | None:
        """Return a file or folder of the bundle; None, with a fault, where there is none."""
        parts = PurePosixPath(place).parts
        inside = parts and not PurePosixPath(place).is_absolute() and ".." not in parts
        path = self._root.joinpath(*parts) if inside and "\0" not in place else None
        try:
            if path is not None and path.exists():
                return path
        except OSError:
            pass  # a name that is too long
        self._draft.fault(PLAN, f"{place[:200]!r} is no file or folder of the bundle", line)
        return None

    def _read_articles(self, place: str, line: int) -> PackedArticles | None:
        if not place:
            return pack_articles([])
        if place in self._articles:
            return self._articles[place]
        path = self._at(place, line)
        if path is None:
            return None
        problems: list[InputError] = []
        try:
            paths = list(article_files([path]))
            packed = pack_articles(read_unpacked(paths, self._root, place, problems))
        except InputError as error:
            self._draft.fault(place, error.message)
            return None
        self._draft.faults += problems
        if not packed.rows and not problems:
            self._draft.fault(place, "no article in it")
        self._articles[place] = packed
        return packed

    def _gold(
        self, files: Mapping[str, str], plan: NewPhase, ids: frozenset[ArticleId], line: int
    ) -> Iterator[tuple[TaskName, tuple[str, bytes]]]:
        for name, place in files.items():
            task = installed_tasks().get(TaskName(name))
            if task is None:
                known = ", ".join(installed_tasks())
                self._draft.fault(PLAN, f"gold of {name!r}, which is none of {known}", line)
                continue
            if plan.tasks and name not in plan.tasks:
                self._draft.fault(PLAN, f"gold of {name}, which is no task of the phase", line)
                continue
            content = self._content(place, line)
            if content is None:
                continue
            try:
                gold = read_gold(task.name, unpacked(content), place)
            except InputError as error:
                self._draft.faults.append(error)
                continue
            except RefusedError as error:
                self._draft.fault(place, error.message)
                continue
            labelled = frozenset(map(ArticleId, getattr(task, "gold_articles", lambda _: ())(gold)))
            if labelled and not takes_uploads_only(plan.tasks) and labelled.isdisjoint(ids):
                self._draft.fault(place, "none of its articles is in the phase's corpus")
                continue
            yield task.name, (PurePosixPath(place).name, content)

    def _runs(self, runs: Iterable[BundledRun], line: int) -> Iterator[tuple[BundledRun, bytes]]:
        for run in runs:
            if (content := self._content(run.file, line)) is not None:
                yield run, content

    def _content(self, place: str, line: int) -> bytes | None:
        """Return a file's content; a folder's as a zip."""
        path = self._at(place, line)
        if path is None:
            return None
        if path.is_file():
            return path.read_bytes()
        return zip_of(files_in(path))


def _said(error: msgspec.ValidationError) -> str:
    """Return what is wrong with a value, with the name of its field."""
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    return f"{field}: {message}" if field else message


@contextmanager
def unzipped_content(content: bytes) -> Iterator[Mapping[str, bytes] | None]:
    """Yield the files of a zip by name; None for what is no zip."""
    if not content.startswith(b"PK"):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="metaserver-bundle-") as place:
        folder = Path(place)
        unpack("the file", content, folder, LIMITS)
        yield {name: path.read_bytes() for name, path in files_in(folder)}


def written_plan(head: Mapping[str, Any], phases: Sequence[Mapping[str, Any]]) -> bytes:
    """Return `challenge.yaml`."""
    document = {"bundle": 1, **head, "phases": list(phases)}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100).encode()
