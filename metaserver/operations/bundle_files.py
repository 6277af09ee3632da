"""Bundles of challenges: a zip of `challenge.yaml` beside texts, articles, gold and runs.

A bundle is not trusted: it is bounded before it is read, and checked as a whole, each fault with
its file and line, before anything comes of it.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import EnumType
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
import yaml
from msgspec import Meta

from metaserver.base.boards import MethodDescription
from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.phases import SECTIONS, ChallengePage, SignUpMode
from metaserver.base.plans import WrittenPlan
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.structs import convert
from metaserver.base.zips import files_in, zip_of
from metaserver.boards.gold import read_gold
from metaserver.config import line_at, steps_of, yaml_fault
from metaserver.corpus.files import ZipLimits, article_files, unpack
from metaserver.corpus.reader import read_unpacked
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.operations.challenge_pages import ChallengeEdit, Mode, Version
from metaserver.operations.challenges import NewChallenge, Zone, moment_in
from metaserver.operations.fields import END, NAME, NAME_HELP, NewName, Title
from metaserver.operations.methods import cleaned
from metaserver.operations.phases import NewPhase, planned
from metaserver.operations.pictures import missing, read_pictures
from metaserver.operations.planning import takes_uploads_only
from metaserver.operations.text_files import unpacked
from metaserver.store.articles import PackedArticles, pack_articles
from metaserver.tasks.plugin import answered_tasks, installed_tasks

S = TypeVar("S", bound=msgspec.Struct)

PLAN = "challenge.yaml"
LIMITS = ZipLimits()
BLOCK = 2**12
"""Bytes that each file counts beside its own."""
MOST_YAML = 2**18
"""Bytes of `challenge.yaml`, which a library in Python reads."""
MOST_DEPTH = 16
"""Lists and mappings within each other."""
MOST_PHASES = 50
MOST_RUNS = 5_000
MOST_SERVERS = 1_000
MOST_METHOD = 2**16
"""Bytes of a line that describes a method."""
MOST_FAULTS = 200
MOST_QUOTED = 64
"""Characters of a name that nobody knows."""
NAMED = frozenset({"challenge", "phase", "release", "run", "server", "team"})
"""Fields of `challenge.yaml` that give a name."""
_SURROGATE = re.compile("[\ud800-\udfff]")  # of `"\ud800"`, which no store or answer takes

NoneOrName = Annotated[str, Meta(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]{{0,63}})?{END}")]


def _require_plain(text: str) -> None:
    """Raise `InputError` for YAML that is deep, refers to itself, or has what is no character.

    The library's time grows with the square of the depth, so events are looked at as they come.
    """
    depth = 0
    for event in yaml.parse(text, yaml.BaseLoader):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent):
            raise InputError(PLAN, "refers to another part of itself", line=line)
        if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
            raise InputError(PLAN, "has half of a character", line=line)
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


class BundledServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server's run: its team, the tasks that it was registered for, its files in the bundle."""

    server: NewName
    team: NoneOrName = ""
    tasks: Annotated[
        tuple[str, ...], Meta(max_length=20, description="None: all that its phases have")
    ] = ()
    protocol: Annotated[str, Meta(max_length=32)] = "xmlrpc"
    attempts: Annotated[str, Meta(description="A table: the columns of `attempts.tsv`")]
    answers: Annotated[str, Meta(description="A JSON object per line: article and answer")]


class BundledMethod(
    MethodDescription, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A run's method: an uploaded run's, with its team and task, or a server's by its name."""

    run: NewName
    team: str = ""
    task: str = ""


class BundledTeam(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team with runs; `host`: it is the organisers', and its runs are the baselines."""

    team: NewName
    title: Title = ""
    host: bool = False


class BundledPlan(WrittenPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's plan and files."""

    phase: Annotated[NewName, Meta(description=f"Its name in addresses: {NAME_HELP}")]
    title: Title = ""
    release: Annotated[
        NoneOrName,
        Meta(description="The UniProt release of its answers; none: the newest that was built"),
    ] = ""
    articles: Annotated[
        str,
        Meta(
            description="A file or folder of the bundle, by whose name the corpus is known. Phases"
            " of uploads have none."
        ),
    ] = ""
    gold: Annotated[
        dict[str, str], Meta(description="A file or folder of the bundle for each task")
    ] = msgspec.field(default_factory=dict)
    runs: Annotated[
        tuple[BundledRun, ...], Meta(max_length=MOST_RUNS, description="Its uploaded runs")
    ] = ()
    servers: Annotated[
        tuple[BundledServer, ...],
        Meta(max_length=MOST_SERVERS, description="Its servers, with all attempts and answers"),
    ] = ()
    methods: Annotated[
        str, Meta(description="A file of the bundle with its runs' methods, a JSON object per line")
    ] = ""


class BundleHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge as `challenge.yaml` in a bundle says it."""

    bundle: Annotated[int, Meta(ge=1, le=1, description="The version of this format")]
    challenge: Annotated[NewName, Meta(description=f"Its name in addresses: {NAME_HELP}")]
    title: Title = ""
    timezone: Annotated[
        Zone, Meta(description="The zone of its dates, such as Europe/Madrid or UTC")
    ] = "UTC"
    terms_version: Version = ""
    sign_up: Mode = SignUpMode.CLOSED
    teams: Annotated[
        tuple[BundledTeam, ...], Meta(max_length=MOST_RUNS, description="The teams of its runs")
    ] = ()
    phases: Annotated[
        tuple[BundledPlan, ...], Meta(max_length=MOST_PHASES, description="Its phases")
    ] = ()


@dataclass(frozen=True, kw_only=True)
class PhaseDraft:
    """A phase of a bundle, read whole: gold files by task with their places, and runs."""

    plan: NewPhase
    line: int
    corpus: str
    articles: PackedArticles
    gold: Mapping[TaskName, tuple[str, bytes]]
    runs: Sequence[tuple[BundledRun, bytes]]
    servers: Sequence[tuple[BundledServer, bytes, bytes]]
    methods: Sequence[BundledMethod]


@dataclass(kw_only=True)
class ChallengeDraft:
    """The contents of a bundle, as far as they could be read, and all that is wrong with it.

    `unchecked`: what could not be checked, if that is no fault of the bundle.
    """

    challenge: NewChallenge | None = None
    page: ChallengePage = field(default_factory=ChallengePage)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    teams: Mapping[str, BundledTeam] = field(default_factory=dict)
    phases: list[PhaseDraft] = field(default_factory=list)
    faults: list[InputError] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def fault(self, place: str, message: str, line: int | None = None) -> None:
        """Note what is wrong, in a file and line of the bundle."""
        self.faults.append(InputError(place, message, line=line))


def read_bundle(content: bytes, release: str, name: str = "") -> ChallengeDraft:
    """Read a bundle, with all that is wrong in it; takes seconds for a large bundle: for a thread.

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
    """Return the folder of `challenge.yaml`: the only folder, where that was packed.

    Hidden files, and what macOS adds to each zip, are looked past.
    """
    entries = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
    if len(entries) == 1 and entries[0].is_dir():
        return entries[0]
    return folder


class _Reader:
    def __init__(self, root: Path, draft: ChallengeDraft, release: str, name: str) -> None:
        self._root = root
        self._draft = draft
        self._release = release
        self._name = name
        self._node: Any = None  # of the whole `challenge.yaml`
        self._articles: dict[str, PackedArticles] = {}
        self._left = 2 * LIMITS.bytes  # 5,000 runs may name one file: each is kept

    def read(self) -> None:
        """Read all of it."""
        loaded = self._loaded()
        if loaded is None:
            return
        listed = loaded.pop("phases", [])
        head = self._converted(loaded, BundleHead)
        zone = self._challenge(head) if head else "UTC"
        self._draft.pictures = read_pictures(self._root, self._draft.faults)
        self._draft.page = self._page(head)
        self._draft.teams = {team.team: team for team in head.teams} if head else {}
        if not isinstance(listed, list) or len(listed) > MOST_PHASES:
            self._fault(f"phases: expected a list of at most {MOST_PHASES}", "phases")
            return
        names: set[str] = set()
        for place, values in enumerate(listed):
            phase = self._phase(values, zone, "phases", str(place))
            if phase is None:
                continue
            if phase.plan.phase in names:
                self._draft.fault(PLAN, f"phase {phase.plan.phase!r} comes twice", phase.line)
            names.add(phase.plan.phase)
            self._draft.phases.append(phase)

    def _loaded(self) -> dict[str, Any] | None:
        path = self._root / PLAN
        try:
            data = path.read_bytes()[: MOST_YAML + 1] if path.is_file() else None
            if data is None:
                message = "missing; expected it at the top of the bundle, or in its only folder"
                raise InputError(PLAN, message)
            if len(data) > MOST_YAML:
                raise InputError(PLAN, f"larger than {MOST_YAML >> 10} KiB")
            text = data.decode()
            _require_plain(text)
            loader = yaml.BaseLoader(text)
            self._node = loader.get_single_node()
            loaded = {} if self._node is None else loader.construct_document(self._node)
            if isinstance(loaded, dict):
                return loaded
            self._draft.fault(PLAN, "expected fields, such as challenge and phases", 1)
        except InputError as error:
            self._draft.faults.append(error)
        except UnicodeDecodeError:
            self._draft.fault(PLAN, "not UTF-8 text")
        except yaml.YAMLError as error:
            self._draft.faults.append(yaml_fault(PLAN, error))
        except (ValueError, OverflowError):  # `%YAML 99...9.1`, `"\UFFFFFFFF"`
            self._draft.fault(PLAN, "not YAML: a number that is too large")
        return None

    def _fault(self, message: str, *where: str) -> None:
        """Note what is wrong at a place in `challenge.yaml`, whose line takes a walk to find."""
        if len(self._draft.faults) >= MOST_FAULTS:
            return
        self._draft.fault(PLAN, message, line_at(self._node, where))

    def _converted(self, values: Any, kind: type[S], *where: str) -> S | None:
        """Return a part of `challenge.yaml`; None if it lacks what it needs.

        A field that is wrong is a fault and is left out, so that all else is looked at too.
        """
        if not isinstance(values, dict):
            self._fault("expected fields, such as phase", *where)
            return None
        fields = kind.__struct_fields__
        remaining = {name: value for name, value in values.items() if name in fields}
        wrong = [name for name in values if name not in fields]
        for name in wrong[: max(0, MOST_FAULTS - len(self._draft.faults))]:
            close = get_close_matches(name[:MOST_QUOTED], fields, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            self._fault(f"{name[:MOST_QUOTED]}: unknown field{meant}", *where, name)
        while True:
            try:
                converted = msgspec.convert(remaining, kind, strict=False)
            except msgspec.ValidationError as error:
                message, steps = said(error, kind)
                first = steps[0] if steps else ""
                if first not in wrong:
                    self._fault(message, *where, *steps)
                wrong.append(first)
                if remaining.pop(first, None) is None:
                    return None
            else:
                return converted

    def _challenge(self, head: BundleHead) -> str:
        """Keep what the challenge is; return its time zone, or UTC if it is unknown."""
        self._name = self._name or head.challenge
        self._draft.challenge = NewChallenge(
            challenge=self._name, title=head.title, timezone=head.timezone
        )
        if head.sign_up is SignUpMode.CODE:
            message = "a bundle has no invitation code: choose approve, automatic or closed"
            self._fault(message, "sign_up")
        try:
            moment_in("2026-01-01T00:00", head.timezone, "timezone")
        except RefusedError as error:
            self._fault(error.message, "timezone")
            return "UTC"
        return head.timezone

    def _page(self, head: BundleHead | None) -> ChallengePage:
        """Return the page, whose texts are files in `texts`."""
        texts: dict[str, str] = {}
        for name in (*(section.name for section in SECTIONS), "terms"):
            place = f"texts/{name}.md"
            path = self._root / place
            if not path.is_file():
                continue
            try:
                texts[name] = path.read_bytes().decode()
                msgspec.convert({"challenge": "x", name: texts[name]}, ChallengeEdit)
            except UnicodeDecodeError as error:
                self._draft.fault(place, f"not UTF-8 text: {error.reason}")
            except msgspec.ValidationError as error:
                self._draft.fault(place, said(error, ChallengeEdit)[0])
        placed = {f"texts/{name}.md": text for name, text in texts.items()}
        self._draft.faults += islice(missing(placed, self._draft.pictures), MOST_FAULTS)
        if head is None:
            return ChallengePage()
        if texts.get("terms") and not head.terms_version:
            self._fault("terms_version is needed where there are terms", "terms_version")
        return ChallengePage(sign_up=head.sign_up, terms_version=head.terms_version, **texts)

    def _phase(self, values: Any, zone: str, *where: str) -> PhaseDraft | None:
        written = self._converted(values, BundledPlan, *where)
        if written is None:
            return None
        corpus = PurePosixPath(written.articles).name.partition(".")[0]
        if written.articles and not re.fullmatch(NAME, corpus):
            message = f"articles: {corpus[:64]!r} names its corpus: expected {NAME_HELP}"
            self._fault(message, *where, "articles")
        release = written.release
        if not release and not takes_uploads_only(written.tasks):
            release = self._release
        values_beside = {"challenge": self._name, "corpus": corpus, "release": release}
        plan = convert(written, NewPhase, **values_beside, gold=())  # its files are read below
        try:
            planned(plan, zone)
        except RefusedError as error:
            self._fault(f"{error.field} {error.message}", *where, *error.field.split("."))
            if error.field == "tasks":
                return None  # its files cannot be judged
        articles = self._read_articles(written.articles, *where, "articles")
        ids = [ArticleId(row["article_id"]) for row in articles.rows] if articles else []
        gold = dict(self._gold(written.gold, plan, ids, *where, "gold"))
        runs = list(self._runs(written.runs, *where, "runs"))
        servers = list(self._servers(written.servers, plan, *where, "servers"))
        own_runs = {(run.team, run.task, run.run) for run in written.runs}
        own_runs |= {("", "", server.server) for server in written.servers}
        methods = list(self._methods(written.methods, own_runs, *where, "methods"))
        if articles is None:
            return None
        return PhaseDraft(
            plan=plan,
            line=line_at(self._node, where) or 1,
            corpus=corpus,
            articles=articles,
            gold=gold,
            runs=runs,
            servers=servers,
            methods=methods,
        )

    def _at(self, place: str, *where: str) -> Path | None:
        """Return a file or folder of the bundle; None, with a fault, where there is none."""
        parts = PurePosixPath(place).parts
        inside = parts and not PurePosixPath(place).is_absolute() and ".." not in parts
        path = self._root.joinpath(*parts) if inside and "\0" not in place else None
        try:
            if path is not None and path.exists():
                if self._left > 0:
                    files = files_in(path) if path.is_dir() else [(place, path)]
                    self._left -= sum(BLOCK + file.stat().st_size for _, file in files)
                if self._left > 0:
                    return path
                size = f"{2 * LIMITS.bytes >> 20:,} MiB"
                self._fault(f"this file and those named before it have more than {size}", *where)
                return None
        except OSError:
            pass  # a name that is too long
        self._fault(f"{place[:200]!r} is no file or folder of the bundle", *where)
        return None

    def _read_articles(self, place: str, *where: str) -> PackedArticles | None:
        if not place:
            return pack_articles([])
        if place in self._articles:
            return self._articles[place]
        path = self._at(place, *where)
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
        self,
        files: Mapping[str, str],
        plan: NewPhase,
        ids: Collection[ArticleId],
        *where: str,
    ) -> Iterator[tuple[TaskName, tuple[str, bytes]]]:
        for name, place in files.items():
            task = installed_tasks().get(TaskName(name))
            if task is None:
                names = ", ".join(installed_tasks())
                self._fault(f"gold of {name[:64]!r}, which is none of {names}", *where, name)
                continue
            if plan.tasks and name not in plan.tasks:
                self._fault(f"gold of {name}, which is no task of the phase", *where, name)
                continue
            content = self._content(place, *where, name)
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
            has_articles = ids and not takes_uploads_only(plan.tasks)
            if labelled and has_articles and labelled.isdisjoint(ids):
                self._draft.fault(place, "none of its articles is in the phase's corpus")
                continue
            yield task.name, (place, content)

    def _runs(self, runs: Iterable[BundledRun], *where: str) -> Iterator[tuple[BundledRun, bytes]]:
        for place, run in enumerate(runs):
            if (content := self._content(run.file, *where, str(place))) is not None:
                yield run, content

    def _servers(
        self, servers: Iterable[BundledServer], plan: NewPhase, *where: str
    ) -> Iterator[tuple[BundledServer, bytes, bytes]]:
        names: set[str] = set()
        for place, server in enumerate(servers):
            here = (*where, str(place))
            if server.server in names:
                self._fault(f"server {server.server!r} comes twice", *here)
            names.add(server.server)
            if takes_uploads_only(plan.tasks):
                self._fault("its phase takes uploads only", *here)
            for task in server.tasks:
                if task not in answered_tasks():
                    self._fault(f"tasks: {task[:MOST_QUOTED]!r} is answered by no server", *here)
            if server.protocol not in installed_protocols():
                self._fault(f"protocol: {server.protocol!r} is not installed", *here, "protocol")
            attempts = self._content(server.attempts, *here, "attempts")
            answers = self._content(server.answers, *here, "answers")
            if attempts is not None and answers is not None:
                yield server, attempts, answers

    def _methods(
        self, place: str, runs: Collection[tuple[str, str, str]], *where: str
    ) -> Iterator[BundledMethod]:
        content = self._content(place, *where) if place else None
        described: set[tuple[str, str, str]] = set()
        for number, line in enumerate(io.BytesIO(content or b""), start=1):
            try:
                method = method_of(line)
            except RefusedError as error:
                self._draft.fault(place, str(error), number)
                if len(self._draft.faults) > MOST_FAULTS:
                    return
                continue
            key = (method.team, method.task, method.run)
            if key not in runs:
                self._draft.fault(place, "its run is none of the phase's", number)
            elif key in described:
                self._draft.fault(place, "describes a run again", number)
            described.add(key)
            yield method

    def _content(self, place: str, *where: str) -> bytes | None:
        """Return a file's content; a folder's as a zip."""
        path = self._at(place, *where)
        if path is None:
            return None
        if path.is_file():
            return path.read_bytes()
        return zip_of(files_in(path))


def method_of(line: bytes) -> BundledMethod:
    """Return the method that a line describes; raises `RefusedError`."""
    if len(line) > MOST_METHOD:
        raise RefusedError(Refusal.INVALID, f"larger than {MOST_METHOD >> 10} KiB")
    try:
        method = msgspec.json.decode(line, type=BundledMethod)
    except msgspec.ValidationError as error:
        raise RefusedError(Refusal.INVALID, said(error, BundledMethod)[0]) from error
    except msgspec.DecodeError as error:
        raise RefusedError(Refusal.INVALID, f"not JSON: {error}") from error
    return msgspec.structs.replace(method, **cleaned(method))


def said(error: msgspec.ValidationError, kind: type[msgspec.Struct]) -> tuple[str, Sequence[str]]:
    """Return what is wrong with a field of a struct, and the steps that lead to it."""
    what, at, path = str(error).rpartition(" - at `$")
    if not at:
        what, path = path, ""
    field, steps = path.strip(".`"), steps_of(path)
    if lacking := re.fullmatch(
        r"Object (missing required|contains unknown) field `(.*)`", what, re.DOTALL
    ):
        name = lacking[2]
        field = f"{field}.{name[:MOST_QUOTED]}".lstrip(".")
        steps = [*steps, name]
        what = "missing" if lacking[1] == "missing required" else "unknown field"
    elif steps and steps[-1] in NAMED and what.startswith("Expected `str` matching"):
        what = f"expected {NAME_HELP}"
    elif choice := re.fullmatch("Invalid enum value (.*)", what, re.DOTALL):
        what = f"{choice[1][:MOST_QUOTED]} is none of {', '.join(_choices(kind, steps))}"
    return f"{field}: {what}" if field else what, steps


def _choices(kind: Any, steps: Iterable[str]) -> Iterator[str]:
    """Yield the words that a struct's field may be, to which steps lead."""
    for step in steps:
        kind = get_args(kind)[0] if step.isdecimal() else get_type_hints(kind)[step]
    for option in get_args(kind) or (kind,):  # words, or an enumeration, perhaps beside None
        yield from (
            option if isinstance(option, EnumType) else [option] if isinstance(option, str) else []
        )


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
