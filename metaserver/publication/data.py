"""Data packages: a phase's articles, with or without its gold, as files for its teams."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import HubError
from metaserver.base.files import FOLDER_MODE
from metaserver.base.phases import Challenge, GoldVersion, PackedData, Phase
from metaserver.base.records import Article, PhaseName, TaskName
from metaserver.boards.gold import read_gold
from metaserver.corpus.writing import TextNames, bioc_collections
from metaserver.phases.jobs import OnProgress, Progress, RowCounter, in_process
from metaserver.publication.folder import PackageFolder
from metaserver.publication.packing import zip_folder
from metaserver.store import phases
from metaserver.store.place import StorePlace
from metaserver.store.reader import open_reader
from metaserver.tasks.plugin import CorpusTask, installed_tasks
from scoring import ActGold, ItemGold
from scoring.files import gold_lines
from scoring.views import members

_DRAFT = ".draft"


class DataOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a data package: gold or not, XML or not, a licence's URL, terms in words.

    `secret` are phases whose gold the XML must not give away.
    """

    phase: str
    gold: bool
    xml: bool = False
    secret: tuple[str, ...] = ()
    license: str = ""
    terms: str = ""


class MadeData(PackedData, frozen=True, kw_only=True):
    """A phase's finished data package."""

    phase: str


class DataMaker:
    """Makes data packages; the zips in its folder are named by their checksums."""

    def __init__(self, store: StorePlace, folder: Path) -> None:
        self._store = store
        self._folder = folder

    def keep(self, checksums: set[str]) -> None:
        """Delete all but some packages."""
        for path in self._folder.glob("*.zip"):
            if path.stem not in checksums:
                path.unlink(missing_ok=True)

    def clear_drafts(self) -> None:
        """Delete what a killed hub began."""
        for path in self._folder.glob(f"{_DRAFT}*"):
            shutil.rmtree(path, ignore_errors=True)

    async def make(self, order: DataOrder, progress: Progress) -> MadeData:
        """Make a package, in its own process; a failure leaves nothing behind."""
        draft = self._folder / f"{_DRAFT}-{order.phase}"
        shutil.rmtree(draft, ignore_errors=True)
        self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        try:
            return await in_process(_make, (self._store, self._folder, draft, order), progress)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _make(
    store: StorePlace, folder: Path, draft: Path, order: DataOrder, *, on_progress: OnProgress
) -> MadeData:
    counted = RowCounter(Progress(), on_progress)
    try:
        writing = asyncio.run(_write(store, draft / "package", order, counted))
        counted.begin("packing")
        zip_folder(draft / "package", draft / "package.zip", f"data-{order.phase}")
        with (draft / "package.zip").open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        (draft / "package.zip").replace(folder / f"{sha256}.zip")
    except OSError as error:
        raise HubError(f"the package cannot be written: {error.strerror}") from error
    return MadeData(
        phase=order.phase,
        sha256=sha256,
        size=size,
        files=writing.files,
        articles=writing.count,
        xml=writing.originals,
        corpus_id=writing.phase.corpus_id,
        gold={task: version.version for task, version in writing.gold.items()},
    )


async def _write(store: StorePlace, out: Path, order: DataOrder, counted: RowCounter) -> _Writing:
    async with open_reader(store) as reader:
        async with reader.reading() as connection:
            phase = await phases.get(connection, PhaseName(order.phase))
            if phase is None:
                raise HubError(f"there is no phase {order.phase} any more")
            challenge = await phases.get_challenge(connection, phase.challenge)
            assert challenge is not None
            gold = await phases.newest_gold(connection, phase.id) if order.gold else {}
            secret = await _secret(connection, order.secret if order.xml else ())
        writing = _Writing(PackageFolder(out), order, phase, challenge, gold, secret)
        counted.begin("articles", len((await reader.corpus(phase.corpus_id)).ids))
        async for batch in reader.articles(phase.corpus_id):
            for article in batch:
                original = b""
                if order.xml:
                    original = await reader.original(phase.corpus_id, writing.count)
                writing.add(article, original)
            counted.count(len(batch))
    counted.begin("BioC, gold, checksums")
    writing.finish()
    return writing


async def _secret(connection: AsyncConnection, names: Iterable[str]) -> Mapping[str, Set[str]]:
    """Return the accessions in the gold of some phases, by article."""
    found: dict[str, set[str]] = {}
    for name in names:
        phase = await phases.get(connection, PhaseName(name))
        versions = {} if phase is None else await phases.newest_gold(connection, phase.id)
        for task, version in versions.items():
            gold = read_gold(task, version.content, version.source)
            if isinstance(gold, ItemGold):
                for article, items in gold.items.items():
                    found.setdefault(article, set()).update(*map(members, items))
    return found


class _Writing:
    """A package's files; it remembers ids and titles, but no text."""

    def __init__(
        self,
        folder: PackageFolder,
        order: DataOrder,
        phase: Phase,
        challenge: Challenge,
        gold: Mapping[TaskName, GoldVersion],
        secret: Mapping[str, Set[str]],
    ) -> None:
        self.phase = phase
        self.gold = gold
        self.originals = 0
        self._secret = secret
        self._folder = folder
        self._order = order
        self._challenge = challenge
        self._names = TextNames()
        self._ranked = False  # whether `scoring evaluate` reads some of the gold
        self._listed: list[tuple[Article, str]] = []  # without their texts

    @property
    def count(self) -> int:
        """The number of articles."""
        return len(self._listed)

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self._folder.about)

    def add(self, article: Article, original: bytes) -> None:
        file = self._names.name(article.id, self.count + 1)
        name = f"text/{file}"
        try:
            self._folder.write(name, article.text, "")
        except UnicodeEncodeError as error:
            message = f"article {article.id} has characters that UTF-8 lacks: {error.reason}"
            raise HubError(message) from error
        if original:
            self._add_original(article, original, f"xml/{file.removesuffix('.txt')}.xml")
        self._listed.append((replace(article, text=""), name))

    def _add_original(self, article: Article, original: bytes, name: str) -> None:
        plain = original.replace(b"\0", b"")  # as in UTF-16
        for accession in self._secret.get(article.id, ()):
            if accession.encode() in plain and accession not in article.text:
                message = f"the XML of article {article.id} has an accession of a test phase's gold"
                raise HubError(f"{message}, and its text has not: make the package without XML")
        self._folder.new(name, "").write_bytes(original)
        self._folder.written(name)
        self.originals += 1

    def finish(self) -> None:
        for number, parts in enumerate(bioc_collections(self._read_again()), start=1):
            lines = (part.decode() for part in parts)
            self._folder.write(f"bioc/articles-{number}.json", lines, "Articles as BioC JSON")
        table = (
            f"{article.id}\t{name}\t{_line(article.title)}\n" for article, name in self._listed
        )
        head = "article\tfile\ttitle\n"
        self._folder.write("articles.tsv", _lines(head, table), "Ids, files and titles")
        for task, version in self.gold.items():
            self._write_gold(task, version)
        self._folder.write("README.md", "\n".join(self._guide()) + "\n", "Where to begin")
        self._folder.finish()

    def _read_again(self) -> Iterator[Article]:
        for article, name in self._listed:
            data = (self._folder.place / name).read_bytes()
            yield replace(article, text=data.decode())

    def _write_gold(self, task: TaskName, version: GoldVersion) -> None:
        """Write a task's gold, restricted to the phase's articles."""
        plugin = installed_tasks()[task]
        gold: Any = read_gold(task, version.content, version.source)
        article_ids = {article.id for article, _ in self._listed}
        about = f"{task}: gold, version {version.version}"
        if isinstance(plugin, CorpusTask) and not article_ids.issuperset(
            plugin.gold_articles(gold)
        ):
            gold = plugin.within(gold, article_ids)
            if not isinstance(gold, ItemGold | ActGold):
                raise HubError(
                    f"the gold of {task} has articles that are not in the phase's corpus, and can"
                    " be given only as a whole: set gold of the phase's own articles first"
                )
        if isinstance(gold, ItemGold | ActGold):
            self._ranked = True
            self._folder.write(f"gold/{task}.tsv", gold_lines(gold), about)
            return
        name = f"gold/{task}{PurePath(version.source).suffix[:9] or '.tsv'}"
        self._folder.new(name, about).write_bytes(version.content)
        self._folder.written(name)

    def _guide(self) -> Iterator[str]:
        phase, challenge = self.phase, self._challenge
        yield f"# {_line(phase.plan.title) or phase.name}"
        yield ""
        yield f"Articles of the phase `{phase.name}` ({phase.plan.kind}) of the challenge"
        yield f"{_line(challenge.title) or challenge.name}: {self.count}, {_gold_words(self.gold)}."
        yield ""
        if self._order.license:
            yield f"Licence: <{self._order.license}>"
            yield ""
        if self._order.terms:
            yield "## Rules"
            yield ""
            yield self._order.terms.strip()
            yield ""
        yield "## Files"
        yield ""
        yield "| file | content |"
        yield "|---|---|"
        for name, about in FILES.items():
            yield f"| `{name}` | {about} |"
        if self.originals:
            yield f"| `xml/*.xml` | {self.originals} of them as the XML that they came in as |"
        for task, version in self.gold.items():
            title = installed_tasks()[task].title
            yield f"| `gold/{task}.*` | {title}: gold, version {version.version} |"
        if self._ranked:
            yield ""
            yield "Score a run of yours: `scoring evaluate --task TASK --gold gold/TASK.tsv RUN`."
        yield ""
        yield "Texts are those that servers are sent, character by character."
        yield "Offsets count Unicode characters from 0, the first of the text file."
        if self.originals:
            yield ""
            yield "An XML file and the text made of it have the same name. Its `DOCTYPE` names its"
            yield "DTD, which is not in here: get it from the publisher, or parse without it."


FILES = {
    "articles.tsv": "each article's id, its text file, its title; tab-separated, with a header",
    "text/*.txt": "one article a file, UTF-8, named by its id, or by its number where that is no"
    " file name",
    "bioc/articles-*.json": "the same articles as BioC JSON collections",
    "checksums.tsv": "SHA-256, size and name of every file",
}


def _lines(head: str, rows: Iterator[str]) -> Iterator[str]:
    yield head
    yield from rows


def _line(text: str) -> str:
    return " ".join(text.split())


def _gold_words(gold: Mapping[TaskName, GoldVersion]) -> str:
    versions = ", ".join(f"{task} (version {version.version})" for task, version in gold.items())
    return f"with the gold of {versions}" if versions else "without gold"
