"""Challenge pages and sign-ups: texts, how teams come in, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import msgspec

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
