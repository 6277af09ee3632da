"""A small challenge in memory, in place of a `PhaseView`: its figures are of a seeded generator."""

import asyncio
import math
import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from metaserver.base.boards import (
    ArticleBoard,
    ArticleLevel,
    Board,
    BoardRow,
    FrozenBoard,
    RunIntervals,
    Score,
)
from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.base.states import Outcome, ServerState
from metaserver.base.usage import RunUsage
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.boards.course import AttemptCourse, CourseReading
from metaserver.boards.frozen import freeze
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus, Tick
from metaserver.tasks.plugin import ComparedTask, TaskPlugin, installed_tasks

LIMIT = 600.0
ARTICLES = 595
GOLD = 61
EDGES = [2.0 * (LIMIT / 2) ** (i / 28) for i in range(29)]
LEAST = 0.9
START = 1_790_000_000.0
HURRY = 400  # the course of the challenge is of more time than has passed
OUTCOMES = {
    Outcome.PARTIAL: "3 of 31 hits dropped: Q9XXX1 is not in the release",
    Outcome.TIMEOUT: "no complete answer within 600 s",
    Outcome.HTTP: "status 502 from the server",
    Outcome.SHAPE: "normalizations[3].rank: not a positive integer",
}
TASKS = tuple(installed_tasks()[TaskName(name)] for name in ("INT", "IPT", "ACT", "NER"))
VIEWS = {"raw": 0.0, "mapped": 0.03, "filtered": 0.02, "both": 0.05}  # and what they add
TEAMS = (7, 9, 10, 13, 14, 16, 18, 22, 31, 37, 42)


def make_score(task: TaskPlugin, skill: float, answered: int, jitter: float = 0.0) -> Score:
    """Make a score whose values and curve agree with one another more or less."""
    top = min(0.95, 0.3 + skill + jitter)
    reach = min(0.95, 0.25 + 0.8 * skill)
    steps = [(reach * (i + 1) / 14, top * math.exp(-2.2 * i / 14)) for i in range(14)]
    auc = sum(p * reach / 14 for _, p in steps)
    found, precision = round(252 * reach), steps[-1][1]
    f_score = 2 * precision * reach / (precision + reach)
    values = {
        "tp": found,
        "fp": round(found / precision) - found,
        "fn": 252 - found,
        "precision": precision,
        "recall": reach,
        "f_score": f_score,
        "auc_ipr": auc,
        "specificity": 0.5 + skill / 2,
        "sensitivity": reach,
        "accuracy": 0.55 + skill / 3,
        "mcc": skill - 0.1,
        "precision_at_full_recall": None if skill < 0.5 else 0.12 + skill / 20,
        "strict_f": f_score,
        "exact_f": f_score + 0.05,
    }
    return Score(
        values={column.key: values.get(column.key, 0) for column in task.columns} if answered else
        dict.fromkeys([column.key for column in task.columns]),
        articles_scored=answered,
        articles_in_gold=GOLD,
        curve=steps if answered and isinstance(task, ComparedTask) else [],
        detail={},
    )  # fmt: skip


@dataclass
class Lane:
    """One server of the challenge."""

    name: ServerName
    task: TaskPlugin
    skill: float
    median: float
    state: ServerState = ServerState.UP
    note: str = ""
    done: int = 0
    answered: int = 40
    recent: deque[Tick] = field(default_factory=lambda: deque(maxlen=48))
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def team(self) -> str:
        """The part of the name before a dot, if there is one."""
        return self.name.partition(" · ")[0] if " · " in self.name else ""


class Challenge:
    """A phase of made-up servers; `step` lets time pass."""

    def __init__(self, seed: int = 5, names: Sequence[str] | None = None) -> None:
        self._random = random.Random(seed)
        self._version = 0
        self._news = asyncio.Condition()
        self._now = START
        self._errors: deque[ErrorEntry] = deque(maxlen=200)
        self._throughput: deque[float] = deque(maxlen=60)
        self._histogram = [0] * (len(EDGES) - 1)
        self._course = AttemptCourse()
        self.finished = False
        self.uploads: list[Lane] = []
        self.behind = 0.0  # how much less the runs scored when the intervals were made
        self.compared = True  # whether intervals have been made
        self.hidden = ""
        self.note = ""
        self.usages: dict[str, RunUsage] = {}
        self._frozen: dict[str, bytes] = {}
        if names is None:
            names = [f"Team {team} · S{i + 1:02}" for i, team in enumerate(TEAMS)]
        self.lanes = [
            Lane(
                name=ServerName(name), task=TASKS[i % 3], skill=0.1 + 0.8 * self._random.random(),
                median=math.exp(self._random.uniform(2.5, 4.8)),
                answered=0 if i == 9 else 21 if i == 6 else GOLD,
            )
            for i, name in enumerate(names)
        ]  # fmt: skip
        for lane in self.lanes[4:5]:
            lane.state, lane.note = ServerState.DOWN, "6 failures running; next probe in 40 s"
        for lane in self.lanes[7:8]:
            lane.state, lane.note = ServerState.SLOW, "the median answer takes 5 min"
            lane.median = 310
        for lane in self.lanes[8:9]:
            lane.state, lane.note = ServerState.PAUSED, "by the team"
        for _ in range(80):
            self._pass_time()

    def _pass_time(self) -> None:
        self._now += 5
        self._throughput.append(48 + 14 * math.sin(self._now / 60) + self._random.uniform(-8, 8))
        for lane in self.lanes:
            if lane.state is not ServerState.PAUSED or not lane.recent:
                self._attempt(lane)

    def _attempt(self, lane: Lane) -> None:
        seconds = min(lane.median * math.exp(self._random.gauss(0, 0.7)), LIMIT)
        failed = lane.state is ServerState.DOWN or self._random.random() < 0.03
        outcome = self._random.choice(list(OUTCOMES)) if failed else Outcome.OK
        if seconds == LIMIT:
            outcome = Outcome.TIMEOUT
        lane.recent.append(Tick(outcome=outcome, seconds=seconds))
        lane.outcomes[outcome] += 1
        self._course.add(START + HURRY * (self._now - START), outcome, seconds)
        lane.done += self._random.randint(1, 6)
        place = sum(seconds >= edge for edge in EDGES) - 1
        self._histogram[min(max(place, 0), len(EDGES) - 2)] += 1
        if outcome is not Outcome.OK:
            self._errors.appendleft(
                ErrorEntry(
                    at=self._now, server=lane.name, article=ArticleId(f"{19_000_000 + lane.done}"),
                    attempt=1, outcome=outcome, message=OUTCOMES.get(outcome, ""),
                    final=outcome is Outcome.SHAPE,
                )
            )  # fmt: skip

    async def step(self) -> None:
        """Let five seconds pass and notify the viewers."""
        self._pass_time()
        await self.tell()

    async def tell(self) -> None:
        """Raise the version."""
        async with self._news:
            self._version += 1
            self._news.notify_all()

    async def changed(self, since: int) -> int:
        async with self._news:
            await self._news.wait_for(lambda: self._version != since)
            return self._version

    @property
    def public(self) -> bool:
        return not self.hidden

    def is_rounded(self, _viewer: Viewer) -> bool:
        return False

    def tasks(self) -> Sequence[TaskPlugin]:
        return TASKS

    def views(self, task: TaskName, viewer: Viewer = ANYBODY) -> Sequence[str]:
        return list(VIEWS) if task in ("INT", "IPT") else ["raw"]

    def counts(self, viewer: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        return {task.name: len(self.board(task.name, viewer=viewer).rows) for task in TASKS}

    def policies(self, task: TaskName) -> Sequence[ArticlePolicy]:
        return tuple(ArticlePolicy) if task != "NER" else (ArticlePolicy.ALL,)

    def board(self, task, view="raw", viewer=ANYBODY, articles=None):
        shown = next(t for t in TASKS if t.name == task)
        lanes = [] if self.hidden and not viewer.organiser else [*self.lanes, *self.uploads]
        more = 0.07 * TASKS.index(shown) + VIEWS[view]
        scored = [(lane, make_score(shown, lane.skill + more, lane.answered)) for lane in lanes]
        main = shown.order[0]
        scored.sort(key=lambda pair: (pair[1].coverage < LEAST, -(pair[1].values[main] or -1)))
        compared = isinstance(shown, ComparedTask)
        rows = [
            BoardRow.of(
                lane.name,
                i + 1 if score.coverage >= LEAST else None,
                score,
                team=lane.team,
                offline=lane in self.uploads,
                interval=self._interval(score, i) if compared and self.compared else None,
                below=0 < score.coverage < LEAST,
            )
            for i, (lane, score) in enumerate(scored)
        ]
        rows = [
            changed(row, usage=self.usages.get(row.run), protocol="" if row.offline else "xmlrpc")
            for row in rows
        ]
        return Board(
            task=task,
            rows=rows,
            signature=f"macro|articles:answered|gold:test-1|view:{view}|release:2009_05|v0.1.0",
            view=view,
            resampling="10,000 resamples of the articles, seed 2009" if compared else "",
            hidden="" if viewer.organiser else self.hidden,
            note=self.note,
            frozen=next(iter(self._frozen), ""),
            order=shown.order,
            ranking=Ranking(),
            articles=articles or ArticlePolicy.ALL,
            policies=tuple(self.policies(task)),
            provisional=True,
        )

    def _interval(self, score: Score, i: int) -> RunIntervals | None:
        auc = score.values["auc_ipr"]
        if auc is None:
            return None
        auc -= self.behind
        return RunIntervals(
            score=auc, low=auc - 0.04, high=auc + 0.03, best_rank=max(i - 1, 1), worst_rank=i + 2
        )

    def articles(self, task: TaskName, view: str = "raw", viewer: Viewer = ANYBODY) -> ArticleBoard:
        shown = next(t for t in TASKS if t.name == task)
        if not isinstance(shown, ComparedTask):
            return ArticleBoard(task=task)
        some = random.Random(task + view)
        runs = frozenset(lane.name for lane in self.lanes if lane.answered)
        scale = 60 if shown.level == "rank" else 0.6
        levels = [
            ArticleLevel(
                article=ArticleId(f"{19_000_000 + 7 * i}"),
                mean=(mean := some.random()) * scale,
                deviation=scale * math.sqrt(mean * (1 - mean)) * some.uniform(0.2, 0.6),
                runs=runs,
            )
            for i in range(GOLD if runs and self.compared else 0)
        ]
        levels.sort(key=lambda level: level.mean, reverse=shown.level != "rank")
        return ArticleBoard(
            task=task, measure=shown.level, levels=levels[2:], least=0.9, withheld=len(levels[:2]),
            ready=self.compared, hidden="" if viewer.organiser else self.hidden,
        )  # fmt: skip

    def frozen(self, key: str) -> FrozenBoard | None:
        """Return a board that was frozen under a key."""
        document = self._frozen.get(key)
        return FrozenBoard.decode(document) if document else None

    def freeze(self, key: str, task: TaskName) -> None:
        """Freeze a task's boards as they stand."""
        shown = next(t for t in TASKS if t.name == task)
        boards = [self.board(task, view) for view in self.views(task)]
        frozen = freeze(shown, boards, phase="Test phase", reason="gold version 1", at=START)
        self._frozen[key] = frozen.encode()

    def monitor(self, viewer: Viewer = ANYBODY) -> Monitor:
        servers = [self._status(lane) for lane in self.lanes]
        return Monitor(
            phase="Test phase", time_limit=LIMIT, servers=servers,
            throughput=list(self._throughput) if servers else [], histogram_edges=EDGES,
            histogram=list(self._histogram), p50=47.2 if servers else None,
            p95=201.5 if servers else None, p99=433.0 if servers else None,
            errors=list(self._errors), finished=self.finished,
            course=self._course.read() if servers else CourseReading(),
        )  # fmt: skip

    def _status(self, lane: Lane) -> ServerStatus:
        times = sorted(tick.seconds for tick in lane.recent)
        return ServerStatus(
            name=lane.name,
            address="http://127.0.0.1:8080",
            tasks=[lane.task.name],
            state=lane.state,
            note=lane.note,
            done=min(lane.done, ARTICLES),
            given_up=lane.outcomes[Outcome.SHAPE],
            total=ARTICLES,
            in_flight=1,
            recent=list(lane.recent),
            last=lane.recent[-1].seconds if times else None,
            p50=times[len(times) // 2] if times else None,
            p95=times[int(len(times) * 0.95)] if times else None,
            p99=times[int(len(times) * 0.99)] if times else None,
            network_share=0.02 if times else None,
            eta=lane.median * (ARTICLES - lane.done) if lane.done < ARTICLES else None,
            outcomes=dict(lane.outcomes),
        )

    async def set_state(self, name: str, state: ServerState) -> None:
        """Put a server into a state and notify the viewers."""
        for lane in self.lanes:
            if lane.name == name:
                lane.state = state
        await self.tell()

    async def add_run(self, name: str, skill: float) -> None:
        """Let another server join, with answers to all articles."""
        self.lanes.append(
            replace(self.lanes[0], name=ServerName(name), skill=skill, recent=deque(maxlen=48))
        )
        await self.tell()

    async def upload(self, name: str, skill: float) -> None:
        """Add a run that came as a file."""
        self.uploads.append(replace(self.lanes[0], name=ServerName(name), skill=skill))
        await self.tell()
