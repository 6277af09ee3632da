"""Values of challenges and phases: pages, corpora, versions of gold, what was released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import msgspec

from metaserver.base.plans import Change, Moments, PhasePlan
from metaserver.base.records import PhaseName, TaskName
from metaserver.base.states import PhaseState

# -- challenge pages and sign-ups: texts, how teams come in, states --------------------------------

DAY = 86_400.0  # seconds
AUTOMATIC_A_DAY = 20
"""The most teams that come into a challenge in 24 hours without an organiser; others wait."""


class SignUpMode(StrEnum):
    """The way in which teams come into a challenge."""

    CLOSED = "closed"  # organisers add teams themselves
    APPROVE = "approve"  # an organiser approves each sign-up
    AUTOMATIC = "automatic"  # whoever has confirmed is in
    CODE = "code"  # whoever knows the invitation code, and has confirmed


class SignUpState(StrEnum):
    """A sign-up's state."""

    INVITED = "invited"  # by an organiser; not filled in yet
    UNCONFIRMED = "unconfirmed"  # its link of confirmation was not used yet
    WAITING = "waiting"  # for an organiser
    APPROVED = "approved"  # its team has no token yet
    JOINED = "joined"  # the first token was shown
    DECLINED = "declined"


class LinkKind(StrEnum):
    """A one-time link's purpose."""

    CONFIRM = "confirm"
    INVITATION = "invitation"
    TOKEN = "token"  # noqa: S105 (a name)


LINK_SECONDS: Mapping[LinkKind, float] = {
    LinkKind.CONFIRM: DAY,
    LinkKind.INVITATION: 14 * DAY,
    LinkKind.TOKEN: DAY,
}
NEXT_LINK: Mapping[SignUpState, LinkKind] = {
    SignUpState.INVITED: LinkKind.INVITATION,
    SignUpState.UNCONFIRMED: LinkKind.CONFIRM,
    SignUpState.APPROVED: LinkKind.TOKEN,
}
"""The link that a sign-up goes on with; none while it waits, or is over."""


def link_path(secret: str) -> str:
    """Return the path to a one-time link's page."""
    return f"/sign-up/link/{secret}"


class ChallengePage(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge page's texts, in Markdown, and how teams sign up."""

    description: str = ""
    evaluation: str = ""
    rules: str = ""
    data: str = ""
    kits: str = ""
    contact: str = ""
    terms: str = ""
    terms_version: str = ""
    sign_up: SignUpMode = SignUpMode.CLOSED


class Section(NamedTuple):
    """A challenge page's text with its heading."""

    name: str
    heading: str


SECTIONS = (
    Section("description", "About"),
    Section("evaluation", "Task and evaluation"),
    Section("data", "Data"),
    Section("kits", "Baselines and starter kits"),
    Section("rules", "Rules"),
    Section("contact", "Contact"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """A message from the organisers to everybody; `text` is Markdown."""

    id: int
    at: float
    title: str
    text: str


class SignUp(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-up as organisers see it; times are Unix seconds.

    `team` is the requested name, or the name of the resulting team; `automatic`: it came in without
    an organiser. `failures` counts failed deliveries of its last e-mail.
    """

    id: int
    challenge: str
    state: SignUpState
    team: str
    people: str
    email: str
    affiliation: str
    terms_version: str
    created_at: float
    automatic: bool
    mailed_at: float | None
    failures: int


# -- challenges and phases, and versions of their corpora and gold ---------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    """A challenge: phases whose dates are shown in one time zone (an IANA name).

    Before `announced_at` (Unix seconds) only organisers see anything about it. `code` is its
    invitation code's digest; empty: no code.
    """

    id: int
    name: str
    title: str
    timezone: str
    announced_at: float | None = None
    page: ChallengePage = field(default_factory=ChallengePage)
    code: str = ""

    def is_embargoed(self, now: float) -> bool:
        """Return whether it is still for organisers alone at `now` (Unix seconds)."""
        return self.announced_at is not None and now < self.announced_at


def label_of(name: str, title: str) -> str:
    """Return how people know a phase: by its title, or as `phase NAME`."""
    return title or f"phase {name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A stored phase. `reached` is the state that an organiser or the clock has set.

    `name` is unique in the hub, `own_name` in its challenge: addresses have that.
    `moments` is when organisers did so. `announced_at` is that of its challenge.
    """

    id: int
    name: PhaseName
    own_name: str
    challenge: str
    challenge_title: str
    timezone: str
    plan: PhasePlan
    reached: PhaseState | None
    corpus_id: int
    release: str
    created_at: float
    announced_at: float | None = None
    moments: Moments = field(default_factory=Moments)

    @property
    def label(self) -> str:
        """How people know the phase: its title, or `phase NAME`."""
        return label_of(self.name, self.plan.title)

    def is_embargoed(self, now: float) -> bool:
        """Return whether it is still for organisers alone at `now` (Unix seconds)."""
        return self.announced_at is not None and now < self.announced_at

    def state(self, now: float) -> PhaseState:
        """Return the phase's state at `now` (Unix seconds)."""
        return self.plan.state(now, self.reached)

    def coming(self, now: float) -> Sequence[Change]:
        """Return the changes by the clock after `now` (Unix seconds), the next change first."""
        return self.plan.coming(now, self.reached)


def labels_of(phases: Sequence[Phase]) -> Mapping[str, str]:
    """Return what a hub's phases are called, by name: no two of them are called alike.

    It is the phase's `label`; if that is not unique, with the title of the challenge, such as
    "Test (Names of proteins)"; if that is not unique, with the phase's name instead.
    """
    choices: dict[str, list[str]] = {
        phase.name: [
            phase.label,
            f"{phase.label} ({phase.challenge_title or phase.challenge})",
            f"{phase.label} ({phase.name})",
        ]
        for phase in phases
    }
    known = Counter(label for labels in choices.values() for label in set(labels))
    return {
        name: next((label for label in labels if known[label] == 1), labels[-1])
        for name, labels in choices.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusVersion:
    """A corpus with the name and version that organisers use for it."""

    name: str
    version: int
    corpus_id: int
    articles: int
    source: str
    created_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldEntry:
    """A version of a task's gold in a phase, without the file; `checksum` is keyed."""

    task: TaskName
    version: int
    source: str
    checksum: str
    created_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldVersion(GoldEntry):
    """A version of a task's gold in a phase; `content` is the file."""

    content: bytes


# -- a phase's data package, as its organiser released it ------------------------------------------


class PackedData(msgspec.Struct, frozen=True, kw_only=True):
    """A data package's file, named by `sha256`, the whole zip's checksum.

    `gold` has the version of each task's gold in it, `articles` the number of articles, `xml` that
    of the original XML files beside them.
    """

    sha256: str
    size: int
    files: int
    articles: int
    xml: int
    corpus_id: int
    gold: dict[str, int]


class DataPackage(PackedData, frozen=True, kw_only=True):
    """A released package.

    `confirmed`: its organiser knew that it has articles of a test phase that is not over. `public`:
    everybody may read it, not teams alone.
    """

    license: str
    public: bool
    confirmed: bool
    released_at: float


# -- what new gold changes: labels by article, values by run ---------------------------------------


class ArticleChange(msgspec.Struct, frozen=True, kw_only=True):
    """An article whose gold has changed: the labels that were added, and removed."""

    article: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


class RunChange(msgspec.Struct, frozen=True, kw_only=True):
    """A run's place and values by column, before and after; null if there was no board."""

    run: str
    place_before: int | None
    place_after: int | None
    before: dict[str, float | int | None] | None
    after: dict[str, float | int | None]


class GoldChange(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that a gold file makes, or would make.

    `version` is its version, null in a preview; `replaces` is the version before it. `articles`
    counts articles that now have gold. `changes` are the articles with other labels, `unknown`
    those missing from the corpus (the first 1,000 each, and 100 labels per article); `added`,
    `removed` and `unknown_articles` are the totals. `unanswerable` are up to 1,000 accessions that
    the phase's release rejects in answers, each with the reason: every run misses them. `runs` have
    each run's values on the raw board before and after. `frozen` is the id of the old board.
    """

    phase: str
    task: str
    version: int | None
    replaces: int | None
    changed: bool
    articles: int
    added: int
    removed: int
    changes: tuple[ArticleChange, ...]
    unknown_articles: int
    unknown: tuple[str, ...]
    unanswerable: dict[str, str] = {}
    runs: tuple[RunChange, ...]
    frozen: str | None = None
