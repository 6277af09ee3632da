"""Values of leaderboards: scores, boards live and frozen, how hard articles are, methods.

A frozen board is a document that holds all that its page shows, columns included: a later version
or other gold does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Meta

from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.usage import RunUsage, tokens_text

# -- method descriptions: what a team says about a run for a paper's readers -----------------------

Long: TypeAlias = Annotated[str, Meta(max_length=3_000)]

LINK = r"^(https?://[!-~]+)?$(?!\n)"  # `$` alone also matches before a final line end
Link: TypeAlias = Annotated[str, Meta(pattern=LINK, max_length=500)]


Part: TypeAlias = Literal[
    "title", "abstract", "full text", "figure captions", "tables", "references", "metadata"
]
Lexicon: TypeAlias = Literal[
    "UniProt",
    "Entrez Gene",
    "organisms' databases",
    "NCBI Taxonomy",
    "MeSH or UMLS",
    "Gene Ontology",
    "PSI-MI",
    "interaction databases",
    "lists of our own",
]
Processing: TypeAlias = Literal[
    "sentence splitting",
    "part-of-speech tagging",
    "stemming or lemmatisation",
    "shallow parsing",
    "dependency or full parsing",
    "gene and protein names",
    "abbreviations",
    "species",
    "co-occurrence",
    "patterns or rules",
]
Learning: TypeAlias = Literal[
    "none",
    "naive Bayes",
    "maximum entropy",
    "support vector machine",
    "conditional random field",
    "decision trees",
    "neural network",
    "language model",
    "ranking",
    "ensemble",
]
Training: TypeAlias = Literal[
    "none", "the challenge's data", "other corpora", "databases", "data of our own"
]


class MethodDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A description of a run's method, in plain text; what was not said is empty.

    The first fields are the questionnaire's: the answers that the team ticked.
    """

    parts: tuple[Part, ...] = ()
    lexicons: tuple[Lexicon, ...] = ()
    processing: tuple[Processing, ...] = ()
    learning: tuple[Learning, ...] = ()
    training: tuple[Training, ...] = ()
    summary: Long = ""
    resources: Long = ""
    corpora: Long = ""
    contact: Annotated[str, Meta(max_length=300)] = ""
    link: Link = ""

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return any(msgspec.structs.astuple(self))


HEADINGS = {
    "parts": "Parts of the articles",
    "lexicons": "Lexical resources",
    "processing": "Language processing",
    "learning": "Machine learning",
    "training": "Trained on",
    "summary": "Method",
    "resources": "Resources",
    "corpora": "Training corpora",
    "contact": "Contact",
    "link": "Link",
}
"""The headings for its fields, in order."""

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "parts": get_args(Part),
    "lexicons": get_args(Lexicon),
    "processing": get_args(Processing),
    "learning": get_args(Learning),
    "training": get_args(Training),
}
"""The questionnaire: fields of a description, with the answers that can be ticked."""


class Answers(NamedTuple):
    """How many runs, and of how many teams, have an answer to a question ticked."""

    question: str
    answer: str
    runs: int
    teams: int


def counted_answers(described: Iterable[tuple[str, MethodDescription]]) -> list[Answers]:
    """Return the questionnaire counted over teams and their runs' methods, in its order.

    Answers that no run has are left out.
    """
    teams: dict[tuple[str, str], list[str]] = {}
    for team, method in described:
        for question in QUESTIONS:
            for answer in getattr(method, question):
                teams.setdefault((question, answer), []).append(team)
    return [
        Answers(HEADINGS[question], answer, len(found), len(set(found)))
        for question, answers in QUESTIONS.items()
        for answer in answers
        if (found := teams.get((question, answer)))
    ]


# -- run scores, their intervals, and how hard articles are ----------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A leaderboard column: `key` into `Score.values`, heading, decimals, and help line."""

    key: str
    heading: str
    decimals: int = 3
    help: str = ""
    count: bool = False  # an integer
    rising: bool = False  # the lowest value is the best, as of an error rate

    @property
    def ranks(self) -> bool:
        """True if places may be by it: a count grows with the articles that are answered."""
        return not self.count

    @property
    def open(self) -> bool:
        """True if an open test phase may show it, rounded: a count would reveal single hits."""
        return not self.count

    def text(self, value: Any) -> str:
        """Write a value of the column; n/a if it is undefined.

        For example 0.5 is "0.500" if the column has three decimals.
        """
        if value is None:
            return "n/a"
        return str(value) if self.count or isinstance(value, str) else f"{value:.{self.decimals}f}"


OWN_COLUMNS = (
    Column(
        key="place",
        heading="#",
        count=True,
        rising=True,
        help="Place on the board; ties share a place",
    ),
    Column(
        key="run",
        heading="Run",
        rising=True,
        help="The team and its annotation server, or its file",
    ),
    Column(
        key="mode",
        heading="Mode",
        rising=True,
        help="online: answered as a server; offline: as a file",
    ),
    Column(
        key="articles",
        heading="Articles",
        count=True,
        help="Articles answered / that count: those of the gold, so far those over for the run",
    ),
)
USAGE_COLUMNS = (
    Column(
        key="tokens",
        heading="Tokens",
        rising=True,
        help="Tokens of an answered article on average, sent to a model and received, as the"
        " run's team declares them: the hub cannot check it",
    ),
    Column(
        key="cost",
        heading="Cost",
        rising=True,
        help="Cost of an answered article on average, as the run's team declares it: the hub"
        " cannot check it",
    ),
)
"""The further columns of a board with runs whose teams declare what they took."""


def board_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns of a board, given those of its task: every table of it begins here."""
    return (*OWN_COLUMNS, *columns)


def column_named(columns: Iterable[Column], key: str) -> Column:
    """Return the column with a key."""
    return next(column for column in columns if column.key == key)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A run's score on one task at one moment.

    `values` has a value for each task column; None is undefined ("n/a", sorted last). `curve` is
    the run's interpolated precision/recall steps as (recall, precision), or empty. `detail` is the
    scorer's full JSON-ready result (`Scorecard.to_dict()` if any). Its `signature`, if any, states
    how the run was scored and contains no gold digest: boards show it to viewers who must not learn
    the gold. It may be computed when it is first read. `card` is the value by which a
    `ComparedTask` compares runs; it never leaves the hub. `articles_counted` are the gold's
    articles that count so far; None: all. `answered` are those with an answer, be it empty; None:
    `articles_scored`. `confidence` is the mean confidence of the articles' hits, None without
    confidences.
    """

    values: Mapping[str, float | int | None]
    articles_scored: int
    articles_in_gold: int
    curve: Sequence[tuple[float, float]]
    detail: Mapping[str, Any]
    card: Any = field(default=None, compare=False, repr=False)
    articles_counted: int | None = None
    answered: int | None = None
    confidence: float | None = None

    @property
    def coverage(self) -> float:
        """The share of the counted articles that are in the score; 0 if none count.

        If all articles count, an empty answer is in it, as zero. If only answered articles count,
        it is not: a run with hits in a single article has a score for that article only, however
        many empty answers it has.
        """
        return self.articles_scored / self.counted if self.counted else 0.0

    @property
    def counted(self) -> int:
        """The number of the gold's articles that count so far."""
        return self.articles_in_gold if self.articles_counted is None else self.articles_counted


@dataclass(frozen=True, kw_only=True, slots=True)
class RunIntervals:
    """The 95 % intervals for a run's measure (`low` to `high`) and for its rank.

    `score` is the value they belong to; it differs once the run is scored again.
    """

    score: float
    low: float
    high: float
    best_rank: int
    worst_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleLevel:
    """An article's difficulty: mean and standard deviation over `runs`."""

    article: ArticleId
    mean: float
    deviation: float
    runs: frozenset[str]


class ArticlePair(msgspec.Struct, frozen=True, kw_only=True):
    """An article's value of a measure for two runs; null if a run is not scored on it."""

    article: str
    first: float | None
    second: float | None


class PairedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A paired test of two runs on the articles that both are scored on, `articles` of them.

    `difference` is the first's score less the second's there, with its 95 % interval; null if there
    are no such articles. `p` is two-sided; `test` says how it is made, `command` which command
    gives the same. `items` is what is counted in place of articles. `pairs` are the gold's articles
    with `measure`, those that differ most first; none for a task that scores no single article.
    """

    articles: int
    difference: float | None
    low: float | None
    high: float | None
    p: float
    test: str
    measure: str
    items: str = "articles"
    command: str = "scoring compare"
    pairs: tuple[ArticlePair, ...] = ()


# -- leaderboard values: live and frozen ones, and how hard articles are ---------------------------

View: TypeAlias = str
"""The scored hits: all ("raw"), "mapped", "filtered", "both"; or all in the "public" part."""

RAW: View = "raw"
PUBLIC: View = "public"
"""All hits, on the articles of the gold that scores use while a test phase is open."""
FORMAT = 1
"""Raised when a document of an earlier format can no longer be read as it is."""


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a board, live or frozen: `values` by column, null if undefined.

    `place` is 1, 2, 2, 4, ... or null for a run without a score, or `below` the phase's least
    coverage. `team` and its `title` may be empty; `offline` runs were uploaded as a file, others
    came by a `protocol`, which is empty if others may not see it. `articles_counted` are the gold's
    articles that count so far: those that are over for the run while the phase is open, then all;
    null on boards frozen by an earlier version. `confidence` is the mean confidence of the
    articles' hits. `curve` has the precision/recall steps as (recall, precision), or is empty.
    `interval` is the 95 % interval for the ranking measure and the rank; null until computed for
    the present score. `usage` is what its answers took, as its team declares; null if it declares
    nothing, or others may not see it. `baseline`: its team is the organisers'.
    """

    run: str
    place: int | None
    team: str = ""
    title: str = ""
    offline: bool = False
    protocol: str = ""
    articles_scored: int
    articles_in_gold: int
    values: Mapping[str, float | int | None]
    curve: tuple[tuple[float, float], ...] = ()
    interval: RunIntervals | None = None
    articles_counted: int | None = None
    confidence: float | None = None
    below: bool = False
    usage: RunUsage | None = None
    baseline: bool = False

    @property
    def counted(self) -> int:
        """The number of the gold's articles that count so far."""
        return self.articles_in_gold if self.articles_counted is None else self.articles_counted

    @property
    def name(self) -> str:
        """What the run is called: with its team's title.

        Without a title it is with the team's name, unless its own name begins with that already.
        """
        if self.title:
            return f"{self.title} · {self.run}"
        return f"{self.team} · {self.run}" if not self.run.startswith(self.team) else self.run

    def value(self, key: str) -> Any:
        """Return what the row is sorted by in a column of `board_columns`, or None."""
        match key:
            case "place":
                return self.place
            case "run":
                return self.name
            case "mode":
                return "offline" if self.offline else "online"
            case "articles":
                return self.articles_scored
            case "tokens":
                return self.usage.tokens if self.usage else None
            case "cost":
                return self.usage.cost if self.usage else None
        return self.values.get(key)

    def text(self, column: Column) -> str:
        """Return what the row shows in a column of `board_columns`; n/a if it is undefined."""
        match column.key:
            case "articles":
                return f"{self.articles_scored:,}/{self.counted:,}"
            case "tokens":
                return tokens_text(self.value("tokens"))
            case "cost":
                return self.usage.amount if self.usage else "n/a"
        return column.text(self.value(column.key))

    def anonymous(self, run: str, team: str) -> BoardRow:
        """Return the row under other names: a field that is not named here is concealed."""
        return BoardRow(
            run=run,
            team=team,
            place=self.place,
            offline=self.offline,
            articles_scored=self.articles_scored,
            articles_in_gold=self.articles_in_gold,
            values=self.values,
            curve=self.curve,
            interval=self.interval,
            articles_counted=self.articles_counted,
            confidence=self.confidence,
            below=self.below,
            usage=self.usage,
        )

    @classmethod
    def of(
        cls,
        run: str,
        place: int | None,
        score: Score,
        *,
        team: str = "",
        offline: bool = False,
        interval: RunIntervals | None = None,
        below: bool = False,
    ) -> BoardRow:
        """Return a score's row, without what only the hub may know."""
        return cls(
            run=run,
            place=place,
            team=team,
            offline=offline,
            articles_scored=score.articles_scored,
            articles_in_gold=score.articles_in_gold,
            values=score.values,
            curve=tuple(score.curve),
            interval=interval,
            articles_counted=score.articles_counted,
            confidence=score.confidence,
            below=below,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A task's leaderboard in one view, best run first, runs without a score last.

    `resampling` describes the interval computation; empty without intervals. `unresampled` is the
    reason, in a sentence, if only the ranking measure has none. `hidden` is the reason, in full
    sentences, why the viewer may see no run, and empty otherwise. `gold` is the gold's keyed
    digest, which only organisers see. `note` is a line above the rows; `frozen` is the id of the
    board's permanent link, if any. `catching_up` says how many servers' stored answers are in it
    while the hub reads them, and is empty otherwise. `order` are the columns it is sorted by; the
    first gives the places. `articles` are the articles that count in its scores, which its viewer
    may choose otherwise than `ranking` if `policies` has both. `provisional`: the phase is open, so
    that places may change. `digits` are those that its scores were rounded to, if any.
    """

    task: TaskName
    rows: Sequence[BoardRow]
    signature: str  # scorer version, article policy, gold version, UniProt release
    gold: str = ""
    view: str = "raw"
    resampling: str = ""
    unresampled: str = ""
    hidden: str = ""
    note: str = ""
    frozen: str = ""
    catching_up: str = ""
    order: tuple[str, ...] = ()
    ranking: Ranking | None = None
    articles: ArticlePolicy = ArticlePolicy.ANSWERED
    policies: tuple[ArticlePolicy, ...] = ()
    provisional: bool = False
    digits: int | None = None

    def columns(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """Return its task's columns with no more decimals than its scores have."""
        if self.digits is None:
            return tuple(columns)
        digits = self.digits
        return tuple(replace(one, decimals=min(one.decimals, digits)) for one in columns)


def marked(signature: str, gold: str) -> str:
    """Return a signature as organisers see it: with its gold's keyed digest."""
    return f"{signature}|mark:{gold}" if gold else signature


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleBoard:
    """The levels of a task's articles, easiest first, as far as the viewer may see them.

    `measure` is the averaged measure, empty if the task has no levels. Means are over runs with the
    `least` coverage. `withheld` counts the articles not shown because too few teams' runs answered
    them; `ready` is False until levels have been computed.
    """

    task: TaskName
    measure: str = ""
    levels: Sequence[ArticleLevel] = ()
    least: float = 0.0
    withheld: int = 0
    ready: bool = True
    hidden: str = ""


class FrozenView(msgspec.Struct, frozen=True, kw_only=True):
    """A `Board` in one view; `gold` is the gold's keyed digest, for organisers."""

    signature: str
    gold: str = ""
    resampling: str
    unresampled: str = ""
    rows: tuple[BoardRow, ...]


class FrozenBoard(msgspec.Struct, frozen=True, kw_only=True):
    """A task's leaderboards at the moment `at` (seconds since the Unix epoch), by view.

    `columns` and `order` are the board's at that moment; `reason` is why it was frozen, in a few
    words. `ranking` is the phase's rule, null on boards from an earlier version, which count the
    answered articles. `others` are the views in which other articles count than in the ranking.
    `newer` is the id of a board that supersedes it (newer gold, another freeze): not stored, but
    set when the board is read, as `gone`: runs that were deleted since. `methods` are its runs'
    descriptions by name.
    """

    name: TaskName
    title: str
    phase: str
    reason: str
    at: float
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    views: Mapping[str, FrozenView]
    methods: Mapping[str, MethodDescription] = {}
    format: int = FORMAT
    ranking: Ranking | None = None
    others: Mapping[str, FrozenView] = {}
    provisional: bool = False
    newer: str = ""
    gone: tuple[str, ...] = ()

    @property
    def articles(self) -> ArticlePolicy:
        """The articles that count by the phase's rule."""
        return self.ranking.articles if self.ranking else ArticlePolicy.ANSWERED

    @property
    def policies(self) -> tuple[ArticlePolicy, ...]:
        """The articles that a viewer may choose to count."""
        return tuple(ArticlePolicy) if self.others else (self.articles,)

    def board(self, view: str, articles: ArticlePolicy | None = None) -> Board:
        """Return the board for one of `views` and one of `policies`."""
        articles = articles or self.articles
        frozen = (self.views if articles is self.articles else self.others)[view]
        return Board(
            task=self.name,
            rows=frozen.rows,
            signature=frozen.signature,
            view=view,
            resampling=frozen.resampling,
            unresampled=frozen.unresampled,
            order=self.order,
            ranking=self.ranking,
            articles=articles,
            policies=self.policies,
            provisional=self.provisional,
        )

    def without_usage(self) -> FrozenBoard:
        """Return the board without what runs took."""
        views, other_views = (
            {
                name: msgspec.structs.replace(
                    view, rows=tuple(msgspec.structs.replace(row, usage=None) for row in view.rows)
                )
                for name, view in board_views.items()
            }
            for board_views in (self.views, self.others)
        )
        return msgspec.structs.replace(self, views=views, others=other_views)

    def encode(self) -> bytes:
        """Return the JSON document."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, document: bytes) -> FrozenBoard:
        """Read a document of `encode`; raises `msgspec.ValidationError` for anything else."""
        return msgspec.json.decode(document, type=cls)
