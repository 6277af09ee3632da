"""The live leaderboards: an article is scored when its answer arrives, means when requested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from metaserver.base.boards import PUBLIC, RAW, Board, BoardRow, Score, View, column_named
from metaserver.base.plans import ArticlePolicy, Ranking, Ties
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.coverage import Coverage, Mask
from metaserver.tasks.plugin import CountingScorer, KeptScorer, Scorer, TaskPlugin

WORK, RUN = 14_000, 400
"""Articles whose scores are averaged at a time on the event loop, and how many a run counts as."""


PUBLISHED = Ranking(articles=ArticlePolicy.ANSWERED, min_coverage=0.0)
NO_RUN = ServerName("")
NO_SCORES: Mapping[ArticlePolicy, Score] = MappingProxyType({})


class GoldMark(NamedTuple):
    """The mark of a gold on boards: its version, and for organisers its keyed digest."""

    version: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTask:
    """A task, the gold it is scored on, and the UniProt release its answers are checked by.

    `mark` names the gold if it is stored. `views` creates a scorer for each view beside the raw
    view. `public` is the gold's public part, if an open phase scores only a part, and
    `public_share` its share. `outside` are the gold file's articles outside the corpus: they are
    not in `gold` and count in no score.
    """

    plugin: TaskPlugin
    gold: Any
    release: str
    mark: GoldMark | None = None
    outside: Sequence[ArticleId] = ()
    views: Mapping[View, Callable[[], Scorer]] = field(default_factory=dict)
    public: Any = None
    public_share: float = 1.0

    def scorers(self) -> Mapping[View, Callable[[], Scorer]]:
        """Return factories for empty scorers, by view."""
        factories: dict[View, Callable[[], Scorer]] = {
            RAW: partial(self.plugin.scorer, self.gold),
            **self.views,
        }
        if self.public is not None:
            factories[PUBLIC] = partial(self.plugin.scorer, self.public)
        return factories

    def gold_of(self, view: View) -> Any:
        """Return the gold that a view is scored on."""
        return self.public if view == PUBLIC else self.gold


@dataclass(frozen=True, eq=False, slots=True)
class BoardKey:
    """The key for scoring a task on one gold, in one view. Boards never share keys.

    `empty` is a scorer that stays empty: it prepares all runs' answers.
    """

    make: Callable[[], Scorer]
    empty: Scorer

    @classmethod
    def of(cls, make: Callable[[], Scorer]) -> BoardKey:
        """Return the key for a scorer factory."""
        return cls(make, make())


Prepared: TypeAlias = dict[BoardKey, Any]
"""An answer's prepared values, by board: `Scorer.prepare` results."""
NOTHING: Mapping[BoardKey, Any] = MappingProxyType({})


class ScorerDump(NamedTuple):
    """A run scorer's state in one view, to be stored in the hub's store and nowhere else.

    `data` says which hits are correct, and is empty if the run has no answers. `fingerprint` names
    all that must be equal to continue from it: gold, release and scorer.
    """

    task: TaskName
    view: View
    fingerprint: str
    data: bytes


@dataclass(kw_only=True, slots=True, eq=False)
class _Averaging:
    """A run's mean that a thread is computing, and the answers that arrived meanwhile.

    `touched`: its score has changed meanwhile without an answer.
    """

    touched: bool = False
    waiting: list[tuple[ArticleId, Any]] = field(default_factory=list)
    made: asyncio.Task[Score] | None = None


def _by_policy(*, counts: bool) -> Mapping[ArticlePolicy, dict[ServerName, Any]]:
    """Return an empty mapping for each policy; a shared mapping if they make no difference."""
    shared: dict[ServerName, Any] = {}
    return {policy: {} if counts else shared for policy in ArticlePolicy}


@dataclass(kw_only=True, slots=True, eq=False)
class _Runs:
    """A board's runs by server, with their scores by the articles that count.

    `changed` have no score, or answers since it; the longest changed come first. `counts`: scores
    depend on which articles count; otherwise a run has a single score, which only its answers
    change.
    """

    mask: Callable[[ServerName], Mask]  # the gold's articles that count, where a scorer counts all
    counts: bool
    scorers: dict[ServerName, Scorer] = field(default_factory=dict)
    scores: Mapping[ArticlePolicy, dict[ServerName, Score]] = field(init=False)
    changed: Mapping[ArticlePolicy, dict[ServerName, None]] = field(init=False)
    averaging: dict[ServerName, _Averaging] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scores = _by_policy(counts=self.counts)
        self.changed = _by_policy(counts=self.counts)

    def put(self, server: ServerName, key: BoardKey, article: ArticleId, prepared: Any) -> None:
        """Keep a prepared answer, or have it wait for the mean that a thread is computing."""
        if server in self.averaging:
            self.averaging[server].waiting.append((article, prepared))
            return
        if server not in self.scorers:
            self.scorers[server] = key.make()
        self.keep(server, article, prepared)

    def keep(self, server: ServerName, article: ArticleId, prepared: Any) -> None:
        """Keep a prepared answer."""
        self.scorers[server].keep(article, prepared)
        self._change(server)

    def _change(self, server: ServerName) -> None:
        for changed in self.changed.values():
            changed[server] = None

    def touch(self, server: ServerName) -> None:
        """Note that other articles count in a run's score."""
        if self.counts and server in self.scorers:
            self._change(server)
            if server in self.averaging:
                self.averaging[server].touched = True

    def enter(
        self, server: ServerName, scorer: Scorer, scores: Mapping[ArticlePolicy, Score] = NO_SCORES
    ) -> None:
        """Add a run that has answers already."""
        self.scorers[server] = scorer
        self._change(server)
        for policy, score in scores.items():
            self.scores[policy][server] = score
            self.changed[policy].pop(server, None)

    def drop(self, server: ServerName) -> None:
        """Forget a run."""
        parts: list[dict[ServerName, Any]] = [self.scorers, self.averaging]
        for part in (*parts, *self.scores.values(), *self.changed.values()):
            part.pop(server, None)

    def newest(self, server: ServerName, policy: ArticlePolicy) -> Score | None:
        """Return a run's score, None if not computed yet."""
        return None if server in self.changed[policy] else self.scores[policy].get(server)

    def known(self, server: ServerName) -> Mapping[ArticlePolicy, Score]:
        """Return a run's scores that need not be computed."""
        scores = {policy: self.newest(server, policy) for policy in ArticlePolicy}
        return {policy: score for policy, score in scores.items() if score is not None}

    def score(self, server: ServerName, policy: ArticlePolicy) -> Score:
        """Return a run's score; a changed run's score is computed now."""
        if (score := self.newest(server, policy)) is None:
            score = score_of(self.scorers[server], policy, self.mask(server))
            self.scores[policy][server] = score
            self.changed[policy].pop(server, None)
        return score

    async def average(self, server: ServerName, policy: ArticlePolicy) -> Score:
        """Return a run's score, computed in a thread; no other thread is computing it."""
        averaging = self.averaging[server] = _Averaging()
        averaging.made = asyncio.create_task(
            self._make(server, self.scorers[server], policy, averaging), name="mean"
        )
        return await asyncio.shield(
            averaging.made
        )  # the thread cannot be ended, so neither is this

    async def _make(
        self, server: ServerName, scorer: Scorer, policy: ArticlePolicy, averaging: _Averaging
    ) -> Score:
        score: Score | None = None
        try:
            score = await asyncio.to_thread(score_of, scorer, policy, self.mask(server))
            return score
        finally:
            if self.averaging.get(server) is averaging:  # it was not dropped meanwhile
                del self.averaging[server]
                if score is not None:
                    self.scores[policy][server] = score
                    if not averaging.touched:
                        self.changed[policy].pop(server, None)
                for article, prepared in averaging.waiting:
                    self.keep(server, article, prepared)


def score_of(scorer: Scorer, policy: ArticlePolicy, mask: Mask) -> Score:
    """Return a run's score; `mask` says which articles of the gold are over for it."""
    if not _counts(scorer):
        return scorer.score()
    if policy is ArticlePolicy.ALL:
        return scorer.score_all(mask)
    score = scorer.score()
    counted = max(int(np.count_nonzero(mask)), score.answered or 0, score.articles_scored)
    return replace(score, articles_counted=counted)


_counting: dict[type[Scorer], bool] = {}  # Python looks up each member at every question


def _counts(scorer: Scorer) -> TypeGuard[CountingScorer]:
    if (kind := type(scorer)) not in _counting:
        _counting[kind] = isinstance(scorer, CountingScorer)
    return _counting[kind]


def score_alone(
    task: TaskPlugin, gold: Any, article: ArticleId, payload: Any, policy: ArticlePolicy
) -> Score:
    """Return the score of an answer on the gold of its article alone."""
    scorer = task.scorer(gold)
    scorer.keep(article, scorer.prepare(article, payload))
    articles = scorer.articles if isinstance(scorer, CountingScorer) else ()
    return score_of(scorer, policy, np.ones(len(articles), dtype=bool))


class Scoreboard:
    """The leaderboards for the tasks that have gold. A run is a server's answers to a task.

    `ranking` is the rule of their places (None: as BioCreative II.5 published), and says which
    articles count if a caller does not; `coverage` says which articles are over for a run.
    """

    def __init__(
        self,
        tasks: Sequence[ScoredTask],
        ranking: Ranking | None = None,
        coverage: Coverage | None = None,
    ) -> None:
        self.ranking = ranking or PUBLISHED
        self.coverage = coverage or Coverage()
        self._was_open = self.coverage.is_open()
        self._tasks: Mapping[TaskName, ScoredTask] = {task.plugin.name: task for task in tasks}
        self._keys: Mapping[TaskName, Mapping[View, BoardKey]] = {
            task.plugin.name: {view: BoardKey.of(make) for view, make in task.scorers().items()}
            for task in tasks
        }
        masks = {
            (name, view): self._mask(key.empty)
            for name, keys in self._keys.items()
            for view, key in keys.items()
        }
        empty = {
            (name, view, policy): score_of(key.empty, policy, masks[name, view](NO_RUN))
            for name, keys in self._keys.items()
            for view, key in keys.items()
            for policy in ArticlePolicy
        }
        self._signatures = {
            board: score.detail.get("signature", board[0]) for board, score in empty.items()
        }
        self._at_once = {
            (name, view): max(1, WORK // (RUN + score.articles_in_gold))
            for (name, view, _), score in empty.items()
        }
        self._boards: Mapping[tuple[TaskName, View], _Runs] = {
            (name, view): _Runs(
                mask=masks[name, view], counts=isinstance(key.empty, CountingScorer)
            )
            for name, keys in self._keys.items()
            for view, key in keys.items()
        }

    def counted(self, task: TaskName, server: ServerName) -> tuple[Mask, NDArray[np.int64]]:
        """Return which gold articles are over for a run, and their corpus positions.

        Both are empty if the task's scorer alone decides which articles count.
        """
        empty = self._keys[task][RAW].empty
        articles = empty.articles if isinstance(empty, CountingScorer) else ()
        return self._boards[task, RAW].mask(server), self.coverage.places(articles)

    def _mask(self, empty: Scorer) -> Callable[[ServerName], Mask]:
        """Return the function from a run to which of its task's gold articles are over for it."""
        if not isinstance(empty, CountingScorer):
            return lambda _: np.ones(0, dtype=bool)
        articles = empty.articles
        if not self.coverage.positions:
            everything = np.ones(len(articles), dtype=bool)
            return lambda _: everything
        return partial(_covered, self.coverage, self.coverage.places(articles))

    @property
    def _runs(self) -> Mapping[tuple[TaskName, View], _Runs]:
        """The runs of all boards; all have changed once the phase is no longer open."""
        if self._was_open is not (is_open := self.coverage.is_open()):
            self._was_open = is_open
            for runs in self._boards.values():
                for server in runs.scorers:
                    runs.touch(server)
        return self._boards

    def touch(self, server: ServerName) -> None:
        """Note that other articles are over for a server."""
        for runs in self._runs.values():
            runs.touch(server)

    def rank(self, ranking: Ranking) -> None:
        """Place the runs by another rule from now on."""
        self.ranking = ranking

    def policies(self, task: TaskName) -> tuple[ArticlePolicy, ...]:
        """Return which articles can count in a task's scores: all articles if it matters."""
        signatures = {self._signatures[task, RAW, policy] for policy in ArticlePolicy}
        return tuple(ArticlePolicy) if len(signatures) > 1 else (self.ranking.articles,)

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that are scored."""
        return [task.plugin for task in self._tasks.values()]

    def scored(self) -> Sequence[ScoredTask]:
        """Return the tasks that are scored, with their gold."""
        return list(self._tasks.values())

    def scored_task(self, task: TaskName) -> ScoredTask:
        """Return a scored task, with its gold."""
        return self._tasks[task]

    def views(self, task: TaskName) -> Sequence[View]:
        """Return the views that a task is scored in, the raw view first."""
        return list(self._keys[task])

    def count(self, task: TaskName) -> int:
        """Return a task's number of runs."""
        return len(self._runs[task, RAW].scorers) if task in self._keys else 0

    def is_prepared(
        self, payloads: Mapping[TaskName, Any], prepared: Mapping[BoardKey, Any]
    ) -> bool:
        """Return whether `put` would be quick: the answer is prepared for all of this board."""
        return all(key in prepared for _, _, key in self._keys_of(payloads))

    def prepare(
        self, article: ArticleId, payloads: Mapping[TaskName, Any], prepared: Prepared
    ) -> None:
        """Add the missing entries to `prepared`. May be called in a thread."""
        for name, _, key in self._keys_of(payloads):
            if key not in prepared:
                prepared[key] = key.empty.prepare(article, payloads[name])

    def put(
        self,
        server: ServerName,
        article: ArticleId,
        payloads: Mapping[TaskName, Any],
        prepared: Mapping[BoardKey, Any] = NOTHING,
    ) -> None:
        """Score an article for a server's runs; tasks without gold are skipped.

        Missing preparations are made now.
        """
        self._put(self._runs, server, article, payloads, prepared)

    def put_all(
        self, server: ServerName, answers: Iterable[tuple[ArticleId, Mapping[TaskName, Any]]]
    ) -> None:
        """Score many articles for a server's runs."""
        boards = self._runs
        for article, payloads in answers:
            self._put(boards, server, article, payloads, NOTHING)

    def _put(
        self,
        boards: Mapping[tuple[TaskName, View], _Runs],
        server: ServerName,
        article: ArticleId,
        payloads: Mapping[TaskName, Any],
        prepared: Mapping[BoardKey, Any],
    ) -> None:
        for name, view, key in self._keys_of(payloads):
            value = prepared[key] if key in prepared else key.empty.prepare(article, payloads[name])
            boards[name, view].put(server, key, article, value)

    def _keys_of(self, payloads: Iterable[TaskName]) -> Iterator[tuple[TaskName, View, BoardKey]]:
        keys = self._keys  # one mapping throughout: a thread may be here while it is replaced
        for name in payloads:
            for view, key in keys.get(name, {}).items():
                yield name, view, key

    def drop(self, server: ServerName) -> None:
        """Forget a server's runs."""
        for runs in self._runs.values():
            runs.drop(server)

    def dump(self, server: ServerName) -> Sequence[ScorerDump]:
        """Return a server's scorer states, with the answers that wait for a mean.

        Runs are left out if their task's scorer cannot be kept, or its gold has no mark. The call
        takes about a millisecond for 10,000 answers.
        """
        return [
            ScorerDump(name, view, fingerprint, self._dumped(server, name, view))
            for name, keys in self._keys.items()
            for view, key in keys.items()
            if isinstance(key.empty, KeptScorer) and (fingerprint := self._fingerprint(name, view))
        ]

    def _dumped(self, server: ServerName, task: TaskName, view: View) -> bytes:
        runs = self._runs[task, view]
        scorer = runs.scorers.get(server)
        if scorer is None:
            return b""
        assert isinstance(scorer, KeptScorer)
        if not (averaging := runs.averaging.get(server)) or not averaging.waiting:
            return scorer.dump()
        complete = self._keys[task][view].make()
        assert isinstance(complete, KeptScorer)
        complete.load(scorer.dump())
        for article, prepared in averaging.waiting:
            complete.keep(article, prepared)
        return complete.dump()

    def load(self, server: ServerName, dumps: Iterable[ScorerDump]) -> Mapping[TaskName, str]:
        """Replace a server's runs by dumped runs; return the tasks to be scored from the store.

        Each returned task has the reason why its dumps cannot be used, and no run from this server.
        """
        self.drop(server)
        by_board = {(dump.task, dump.view): dump for dump in dumps}
        refused: dict[TaskName, str] = {}
        for name, keys in self._keys.items():
            try:
                loaded = {
                    view: self._loaded(name, view, key, by_board.get((name, view)))
                    for view, key in keys.items()
                }
            except ValueError as error:
                refused[name] = str(error)
                continue
            for view, scorer in loaded.items():
                if scorer is not None:
                    self._runs[name, view].enter(server, scorer)
        return refused

    def _loaded(
        self, task: TaskName, view: View, key: BoardKey, dump: ScorerDump | None
    ) -> Scorer | None:
        """Return a dump's scorer, None for a run without answers; raises `ValueError`."""
        scorer = key.make()
        if not isinstance(scorer, KeptScorer):
            raise ValueError("its scorer cannot be kept")
        if dump is None:
            raise ValueError(f"no dump in the view {view}")
        if dump.fingerprint != self._fingerprint(task, view):
            raise ValueError(f"the dump in the view {view} is of another gold, release or scorer")
        if not dump.data:
            return None
        scorer.load(dump.data)
        return scorer

    def _fingerprint(self, task: TaskName, view: View) -> str:
        """Return all that a dump depends on besides the answers; empty if unknown."""
        scored = self._tasks[task]
        if scored.mark is None:
            return ""
        signature = _signature(scored, view, self._signatures[task, view, ArticlePolicy.ANSWERED])
        return f"{signature}|mark:{scored.mark.digest}|board:{view}"

    def regrade(self, other: Scoreboard) -> None:
        """Replace tasks, with their gold and runs, by another board's."""
        merged = {**self._tasks, **other._tasks}
        self._tasks = {name: merged[name] for name in sorted(merged)}
        self._keys = {**self._keys, **other._keys}
        self._signatures = {**self._signatures, **other._signatures}
        self._at_once = {**self._at_once, **other._at_once}
        rest = {board: runs for board, runs in self._runs.items() if board[0] not in other._tasks}
        self._boards = {**rest, **other._runs}

    def mark(self, task: TaskName, mark: GoldMark) -> None:
        """Set the mark for a task's gold, once it is stored."""
        self._tasks = {**self._tasks, task: replace(self._tasks[task], mark=mark)}

    def adopt(self, other: Scoreboard, server: ServerName) -> None:
        """Replace a server's runs by those on a board with the same tasks."""
        self.drop(server)
        for board, runs in other._runs.items():
            if server in runs.scorers:
                self._boards[board].enter(server, runs.scorers[server], runs.known(server))

    def board(self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None) -> Board:
        """Return a task's leaderboard as of now."""
        return self.board_of(task, view, self.scores(task, view, policy), policy)

    def board_of(
        self,
        task: TaskName,
        view: View,
        scores: Mapping[ServerName, Score],
        policy: ArticlePolicy | None = None,
    ) -> Board:
        """Return a task's leaderboard with these scores."""
        scored, policy = self._tasks[task], policy or self.ranking.articles
        return Board(
            task=task,
            rows=ranked(scored.plugin, self.ranking, scores),
            signature=_signature(scored, view, self._signatures[task, view, policy]),
            gold=scored.mark.digest if scored.mark else "",
            view=view,
            order=order_of(scored.plugin, self.ranking),
            ranking=self.ranking,
            articles=policy,
            policies=self.policies(task),
            provisional=self.coverage.is_open(),
        )

    def runs(self, task: TaskName, view: View = RAW) -> Sequence[ServerName]:
        """Return the names of a task's runs."""
        return list(self._runs[task, view].scorers)

    def scores(
        self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None
    ) -> Mapping[ServerName, Score]:
        """Return the scores of a task's runs; all that changed are averaged again, at once."""
        runs, policy = self._runs[task, view], policy or self.ranking.articles
        return {server: runs.score(server, policy) for server in runs.scorers}

    def recent(
        self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None
    ) -> Mapping[ServerName, Score]:
        """Return the newest scores for a task's runs, in bounded time (about 10 ms).

        A few changed runs are averaged again, the longest changed first. Others have their previous
        score, if any (see `behind`).
        """
        runs, policy = self._runs[task, view], policy or self.ranking.articles
        for server in list(islice(runs.changed[policy], self._at_once[task, view])):
            runs.score(server, policy)
        return dict(runs.scores[policy])

    def behind(self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None) -> bool:
        """Return whether a run has changed since its score in `recent`."""
        return bool(self._runs[task, view].changed[policy or self.ranking.articles])

    async def refresh(
        self,
        task: TaskName,
        view: View = RAW,
        policy: ArticlePolicy | None = None,
        *,
        pause: float = 0.0,
    ) -> None:
        """Average the runs that have changed before the call, a few at a time on the event loop.

        `pause` are the seconds between the few and the next.
        """
        changed = self._runs[task, view].changed[policy or self.ranking.articles]
        for _ in range(0, len(changed), self._at_once[task, view]):
            self.recent(task, view, policy)
            await asyncio.sleep(pause)

    async def averaged(
        self, task: TaskName, view: View = RAW, policy: ArticlePolicy | None = None
    ) -> Mapping[ServerName, Score]:
        """Return the scores for a task's runs, averaged in turn in threads (see `average`)."""
        runs = self.runs(task, view)
        scores = {name: await self.average(task, view, name, policy) for name in runs}
        return {name: score for name, score in scores.items() if score is not None}

    async def average(
        self,
        task: TaskName,
        view: View,
        server: ServerName,
        policy: ArticlePolicy | None = None,
    ) -> Score | None:
        """Return a run's score, computed in a thread; None if there is no such run.

        It covers the answers that arrived before the call; if the run's mean is already being
        computed, those that arrive before that ends (see `at_rest`). Answers that arrive meanwhile
        are scored afterwards, so that `scores` may return a newer score next.
        """
        await self.at_rest(task, view, server)
        runs, policy = self._runs[task, view], policy or self.ranking.articles
        if server not in runs.scorers:
            return None
        return runs.newest(server, policy) or await runs.average(server, policy)

    def averaging(self, task: TaskName, view: View, server: ServerName) -> bool:
        """Return whether a mean of a run is being computed, so that answers wait to be scored."""
        return server in self._runs[task, view].averaging

    async def at_rest(self, task: TaskName, view: View, server: ServerName) -> None:
        """Wait until no run's mean is being computed, and no answer waits for a mean."""
        while (averaging := self._runs[task, view].averaging.get(server)) is not None:
            assert averaging.made is not None
            await asyncio.wait([averaging.made])


def _signature(task: ScoredTask, view: View, scorer: str) -> str:
    """Return all that must be equal for two boards to be comparable, on one line.

    `scorer` is the task scorer's signature.
    """
    name, *rest = scorer.split("|")
    gold = [f"gold:{task.mark.version}"] if task.mark else []
    part = [f"public:{task.public_share:g}"] if view == PUBLIC else []
    release = [f"release:{task.release}"] if task.release else []
    return "|".join([name, *gold, *part, *rest, *release])


def _covered(coverage: Coverage, places: NDArray[np.int64], server: ServerName) -> Mask:
    return coverage.mask(server, places)


def order_of(plugin: TaskPlugin, ranking: Ranking) -> tuple[str, ...]:
    """Return the columns by which a task's board is ordered, that of the ranking first."""
    measures = {column.key for column in plugin.columns if column.ranks}
    first = ranking.measure if ranking.measure in measures else plugin.order[0]
    return (first, *(key for key in plugin.order if key != first))


def too_short(scores: Mapping[ServerName, Score], least: float) -> Set[ServerName]:
    """Return the runs that have answered too few articles for a place: less than a share of them.

    That is of the articles that count for the run, and while the phase is open of those that count
    for the run that is furthest: a server that began late is not placed by its first articles.
    """
    furthest = max((score.counted for score in scores.values()), default=0)
    return {
        server
        for server, score in scores.items()
        if score.coverage < least or score.articles_scored / max(1, furthest) < least
    }


def ranked(
    plugin: TaskPlugin, ranking: Ranking, scores: Mapping[ServerName, Score]
) -> Sequence[BoardRow]:
    """Order runs by the ranking's measure, best first, ties as it says.

    Runs that answered too little come after the others, runs without a value last; neither has a
    place. See `too_short`.
    """
    measure = order_of(plugin, ranking)[0]
    short = too_short(scores, ranking.min_coverage)
    sign = 1 if column_named(plugin.columns, measure).rising else -1

    def key(server: ServerName, score: Score) -> tuple[bool, bool, float, float]:
        value = score.values.get(measure)
        confidence = (score.confidence or 0.0) if ranking.ties is Ties.CONFIDENCE else 0.0
        return value is None, server in short, sign * (value or 0.0), -confidence

    rows: list[BoardRow] = []
    before: object = None
    place = 0
    ordered = sorted((key(server, score), server) for server, score in scores.items())
    for count, (measures, server) in enumerate(ordered, 1):
        if measures != before:
            before, place = measures, count
        unscored, below, *_ = measures
        rows.append(
            BoardRow.of(server, None if unscored or below else place, scores[server], below=below)
        )
    return rows
