"""Making a package: a phase read from its store, and all its files written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import msgspec

from metaserver.base.boards import PUBLIC, RAW, BoardRow, FrozenBoard, FrozenView
from metaserver.base.errors import HubError
from metaserver.base.records import PhaseName, TaskName
from metaserver.config import Settings
from metaserver.phases.jobs import OnProgress, Progress, RowCounter, ignore_progress
from metaserver.phases.restore import vocabulary_of
from metaserver.publication.figures import (
    Figure,
    board_figures,
    has_matplotlib,
    task_figures,
    write_figure,
)
from metaserver.publication.folder import PackageFolder, write_crate
from metaserver.publication.report import TaskPart, report_page, view_part
from metaserver.publication.responses import (
    ServerResponses,
    outcomes_table,
    read_responses,
    responses_chart,
    responses_table,
)
from metaserver.publication.runs import write_gold, write_runs
from metaserver.publication.source import PhaseSource, read_source
from metaserver.publication.tables import (
    BoardTables,
    answers_table,
    board_tables,
    methods_table,
    run_methods,
    write_board,
    write_difficulty,
    write_overview,
    write_usefulness,
)
from metaserver.store.place import StorePlace
from metaserver.store.reader import open_reader
from metaserver.uniprot import Release
from scoring import SCORER_VERSION, ActGold, ItemGold
from scoring.tables import csv_table

REPORT = "report.html"


class PackageOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A package's contents; `license` is a URL, `authors` are one per line."""

    phase: str
    gold: bool = False
    license: str = ""
    authors: str = ""
    plots: bool = True


async def make_package(
    store: StorePlace,
    settings: Settings,
    order: PackageOrder,
    out: Path,
    on_progress: OnProgress = ignore_progress,
    *,
    frozen: Mapping[TaskName, FrozenBoard] = MappingProxyType({}),
    opened: Mapping[str, Release] = MappingProxyType({}),
) -> int:
    """Write a package into the new folder `out`; return its number of files.

    The same phase gives the same bytes on any day. A failure leaves nothing behind. `frozen` are
    its boards if the store has none. It blocks: give it its own event loop.
    """
    counted = RowCounter(Progress(), on_progress)
    try:
        async with open_reader(store) as reader:
            source = await read_source(
                reader, settings, PhaseName(order.phase), frozen, opened, counted
            )
            folder = PackageFolder(out)
            counted.begin("result files", await reader.answer_count(source.phase.id))
            accessions = await write_runs(folder, reader, source, counted)
            if order.gold:
                release = vocabulary_of(settings, source.phase.release, opened).release
                write_gold(folder, source, release, accessions)
            counted.begin("responses of the servers")
            responses = await read_responses(reader, source)
        _Writing(folder, source, order, counted).write(responses)
    except OSError as error:
        shutil.rmtree(out, ignore_errors=True)
        raise HubError(f"the package cannot be written: {error.strerror}") from error
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return len(folder.about)


class _Writing:
    """The files that follow from the scores."""

    def __init__(
        self, folder: PackageFolder, source: PhaseSource, order: PackageOrder, counted: RowCounter
    ) -> None:
        self._folder = folder
        self._source = source
        self._order = order
        self._counted = counted
        self._printed = order.plots and has_matplotlib()
        self._compared: list[BoardTables] = []

    def write(self, responses: Sequence[ServerResponses]) -> None:
        tasks = [self._task(frozen) for frozen in self._source.frozen.values()]
        write_overview(self._folder, self._compared)
        self._responses(responses)
        methods = run_methods(self._source)
        text = csv_table(methods_table(methods)) + "\n"
        self._folder.write("tables/methods.csv", text, "The methods, as the teams described them")
        text = csv_table(answers_table(methods)) + "\n"
        about = "The questionnaire of methods: runs and teams by answer"
        self._folder.write("tables/questionnaire.csv", text, about)
        self._documents()
        self._counted.begin("report")
        page = report_page(
            title=self._title,
            facts=dict(self._facts()),
            tasks=tasks,
            responses=responses_table(responses),
            responses_chart=responses_chart(responses),
            methods=methods,
            files=dict(sorted(self._folder.about.items())),
            commands=list(self._commands()),
            gold=self._order.gold,
            printed=self._printed,
        )
        self._folder.write(REPORT, page, "All of it on one page")
        write_crate(
            self._folder,
            name=self._title,
            description=f"Leaderboards, tests, figures and runs of the phase {self._order.phase}.",
            published=f"{self._frozen_at:%Y-%m-%d}",
            license_url=self._order.license,
            authors=[line.strip() for line in self._order.authors.splitlines() if line.strip()],
            keywords=["text mining", "evaluation", *self._source.frozen],
        )
        self._folder.finish()

    def _task(self, frozen: FrozenBoard) -> TaskPart:
        source, gold = self._source, self._order.gold
        views, board_drawings, raw = [], list[Figure](), None
        for view in sorted(frozen.views, key=lambda view: (view != RAW, view)):
            self._counted.begin(f"tables of {frozen.name}, {view}")
            tables = board_tables(source, frozen, view)
            write_board(self._folder, tables, gold=gold)
            figures = list(board_figures(tables, gold=gold))
            views.append(view_part(tables, figures))
            board_drawings += figures
            if source.ranked_gold(frozen.name) is not None and view != PUBLIC:
                self._compared.append(tables)  # the public part is scored on a part of the gold
            raw = raw or tables
        assert raw is not None
        ranked = source.ranked_gold(frozen.name)
        about: list[Figure] = []
        if raw.cards and ranked is not None:
            write_difficulty(self._folder, source, raw, gold=gold)
            useful = (
                write_usefulness(self._folder, ranked, raw) if isinstance(ranked, ItemGold) else []
            )
            about = list(task_figures(source, raw, useful, gold=gold))
        for place, figure in enumerate([*board_drawings, *about]):
            self._counted.begin(
                f"figures of {frozen.name}, {place} of {len(board_drawings) + len(about)}"
            )
            write_figure(self._folder, figure, printed=self._printed)
        return TaskPart(
            name=frozen.name,
            title=frozen.title,
            gold_version=source.gold[frozen.name].version,
            views=views,
            figures=about,
        )

    def _responses(self, responses: Sequence[ServerResponses]) -> None:
        about = "What the servers answered, and how fast: times in seconds, TIPS means"
        self._folder.table("tables/responses", responses_table(responses), about)
        outcomes = csv_table(outcomes_table(responses)) + "\n"
        self._folder.write("tables/outcomes.csv", outcomes, "How the servers' attempts ended")
        if (chart := responses_chart(responses)) is not None:
            figure = Figure("responses", chart, "Response times of the servers")
            write_figure(self._folder, figure, printed=self._printed)

    def _documents(self) -> None:
        """Write the boards as they were frozen, the signatures, and a guide to the files."""
        signatures = ["task\tview\tsignature\n"]
        for task, frozen in self._source.frozen.items():
            views, other_views = self._seen(frozen.name, frozen.views, frozen.others)
            board = msgspec.structs.replace(frozen, views=views, others=other_views).encode()
            text = msgspec.json.format(board.decode()) + "\n"
            self._folder.write(f"boards/{task}.json", text, f"{task}: the board as it was frozen")
            signatures += [f"{task}\t{name}\t{view.signature}\n" for name, view in views.items()]
        self._folder.write("signatures.tsv", signatures, "What each board's scores depend on")
        self._folder.write("README.md", "\n".join(self._guide()) + "\n", "Where to begin")

    def _seen(
        self, task: TaskName, *parts: Mapping[str, FrozenView]
    ) -> Sequence[Mapping[str, FrozenView]]:
        """Return views as a package has them: without the gold's mark.

        Without the gold, ACT boards have no curves: a step is a relevant article's rank.
        """
        labelled = isinstance(self._source.ranked_gold(task), ActGold) and not self._order.gold
        return [
            {
                name: msgspec.structs.replace(
                    view, gold="", rows=_without_curves(view.rows) if labelled else view.rows
                )
                for name, view in part.items()
            }
            for part in parts
        ]

    @property
    def _title(self) -> str:
        source = self._source
        challenge = source.challenge.title or source.challenge.name
        return f"{challenge}: {source.phase.plan.title or source.phase.name}"

    @property
    def _frozen_at(self) -> datetime:
        newest = max((board.at for board in self._source.frozen.values()), default=0.0)
        return datetime.fromtimestamp(newest, UTC)

    def _facts(self) -> Iterator[tuple[str, str]]:
        source = self._source
        yield "Challenge", source.challenge.title or source.challenge.name
        yield "Phase", source.phase.name
        yield "Frozen", f"{self._frozen_at:%Y-%m-%d %H:%M} UTC"
        yield "Articles", f"{len(source.corpus):,}"
        yield "UniProt release", source.phase.release
        yield (
            "Gold",
            ", ".join(f"{task} version {version.version}" for task, version in source.gold.items()),
        )
        yield (
            "Scorer",
            f"version {SCORER_VERSION}, biocreative-metaserver {version('biocreative-metaserver')}",
        )

    def _commands(self) -> Iterator[str]:
        for task in self._source.frozen:
            cards = self._source.cards(task, RAW)
            if not cards:
                continue
            views = self._source.frozen[task].views
            more = (
                f" --map gold/{task}.map.tsv --taxa gold/{task}.taxa.tsv --views all"
                if (self._order.gold and views.keys() - {RAW, PUBLIC})
                else ""
            )
            policy = cards[0].card.signature.articles
            yield (
                f"scoring evaluate --task {task} --gold gold/{task}.tsv --articles {policy}{more}"
                f" runs/{task}/*.tsv"
            )

    def _guide(self) -> Iterator[str]:
        yield f"# {' '.join(self._title.split())}"
        yield ""
        yield "Open `report.html` first: it shows all of it on one page, and needs no network."
        yield ""
        for place, what in _PLACES.items():
            if any(name == place or name.startswith(place) for name in self._folder.about) or (
                "/" not in place
            ):
                yield f"- `{place}`: {what}"
        yield ""
        yield "The numbers are those of the frozen boards, digit for digit."
        commands = list(self._commands())
        if commands and self._order.gold:
            yield "These commands give them again:"
        elif commands:
            yield "With the gold, which is not here, these commands give them again:"
        yield ""
        yield from (f"    {command}" for command in commands)


def _without_curves(rows: Sequence[BoardRow]) -> tuple[BoardRow, ...]:
    return tuple(msgspec.structs.replace(row, curve=()) for row in rows)


_PLACES: Mapping[str, str] = MappingProxyType(
    {
        "report.html": "tables, figures and tests on one page",
        "tables/": "each board as CSV (all digits) and LaTeX (booktabs), paired tests, articles",
        "tables/overview/": "the tables of an overview paper",
        "tables/responses.csv": "what the servers answered, and how fast",
        "tables/methods.csv": "the methods, as the teams described them",
        "tables/questionnaire.csv": "runs and teams by answer to the questionnaire of methods",
        "figures/": "figures as SVG, and as PDF where matplotlib was installed",
        "runs/": "the runs as result files, the form of which is in the hub's docs/scoring.md",
        "evidence/": "what servers gave as evidence of their hits; it may quote the articles",
        "gold/": "the gold that was scored on, and the files of its views",
        "boards/": "the boards as they were frozen",
        "signatures.tsv": "what each board's scores depend on",
        "checksums.tsv": "SHA-256 and size of every file",
        "ro-crate-metadata.json": "RO-Crate metadata, for a deposit with a DOI",
    }
)
