"""The settings of a rehearsal: the organiser's, or the defaults, in the rehearsal's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.errors import InputError
from metaserver.base.states import Visibility
from metaserver.base.zones import read_moment
from metaserver.cli.rehearsal import published
from metaserver.config import ChallengeSettings, PhaseSettings, Settings

NAME = "rehearsal"
LEAST_CONNECT = 1.0  # seconds: to connect takes no less in a rehearsal
NO_BOUND = 1_000_000  # requests a minute: all teams act from one address
TIMES: Mapping[str, tuple[str, ...]] = {
    "limits": ("timeout", "connect"),
    "retry": ("base", "cap"),
    "circuit": ("probe_base", "probe_cap", "patience", "health"),
    "notices": ("batch", "alerts"),
}
"""The settings in seconds that pass `speed` times as fast."""


@dataclass(frozen=True, kw_only=True)
class RehearsalTerms:
    """The challenge and phase that are rehearsed, as the organiser planned them.

    `length` is the time from its opening to its freeze in seconds, None without these dates.
    """

    settings: Settings
    challenge: ChallengeSettings
    phase: PhaseSettings
    tasks: Sequence[str]
    length: float | None


def read_terms(settings: Settings, source: str) -> RehearsalTerms:
    """Return what is rehearsed: the first test phase of the settings, else the first phase.

    Settings without a phase rehearse a public one of ACT, INT and IPT.
    """
    planned = [(one, phase) for one in settings.challenges for phase in one.phases]
    planned.sort(key=lambda one: one[1].kind != "test")
    if not planned:
        phase = PhaseSettings(phase=NAME, release=NAME, visibility=Visibility.PUBLIC)
        planned = [(ChallengeSettings(challenge=NAME, title="A rehearsal"), phase)]
    challenge, phase = planned[0]
    tasks = [task for task in published.TASKS if task in phase.tasks or not phase.tasks]
    if not tasks:
        known = ", ".join(published.TASKS)
        raise InputError(source, f"phase {phase.phase} has none of the tasks {known}: no scores")
    length = _length(phase, challenge.timezone, source)
    return RehearsalTerms(
        settings=settings, challenge=challenge, phase=phase, tasks=tasks, length=length
    )


def _length(phase: PhaseSettings, zone: str, source: str) -> float | None:
    if phase.opens is None or phase.freezes is None:
        return None
    try:
        opens, freezes = (read_moment(text, zone) for text in (phase.opens, phase.freezes))
    except ValueError as error:
        raise InputError(source, f"phase {phase.phase}: {error}") from error
    length = (freezes - opens).total_seconds()
    if length <= 0:
        raise InputError(source, f"phase {phase.phase} freezes before it opens")
    return length


def rehearsed(
    terms: RehearsalTerms,
    folder: Path,
    *,
    gold: Mapping[str, Path],
    speed: float,
    port: int,
    a_team: int,
) -> Settings:
    """Return the settings of the rehearsal's hub, all times divided by `speed`.

    Articles, gold and release are those in the folder; servers and their teams are local.
    """
    given: dict[str, Any] = msgspec.to_builtins(terms.settings)
    for section, names in TIMES.items():
        for name in names:
            given[section][name] /= speed
    given["limits"]["connect"] = max(given["limits"]["connect"], LEAST_CONNECT)
    given |= {"folder": str(folder / "hub"), "store": "", "store_file": ""}
    given["uniprot"]["releases"] = str(folder / "releases")
    given["security"] = {"allow_networks": ["127.0.0.0/8"]}
    given["logs"] = {"level": "warning"}
    given["web"] |= {
        "host": "127.0.0.1",
        "port": port,
        "secure_cookies": False,
        "requests_a_minute": NO_BOUND,
        "anonymous_requests_a_minute": NO_BOUND,
    }
    phase: dict[str, Any] = msgspec.to_builtins(terms.phase)
    phase |= {
        "articles": [str(folder / "articles")],
        "corpus": "",
        "gold": {task: str(gold[task]) for task in terms.tasks},
        "release": NAME,
        "tasks": list(terms.tasks),
        "opens": None,
        "freezes": None,
        "closes": None,
    }
    limits = phase["limits"]
    if limits["timeout"] is not None:
        limits["timeout"] /= speed
    limits["servers"] = max(limits["servers"], a_team)
    challenge = msgspec.to_builtins(terms.challenge) | {"phases": [phase]}
    return msgspec.convert(given | {"challenges": [challenge]}, Settings)
