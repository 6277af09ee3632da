"""Timing of alerts: a condition must last, and is not sent again soon.

A condition is sent once it has lasted for `HOLD` seconds of its kind. Its end is sent once it has
been gone as long. Whatever happens in between, it is sent again `REPEAT` seconds later at the
earliest: a server that goes up and down all day is two messages, not two hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from metaserver.base.findings import Alert, Condition, FindingKind

HOLD: Mapping[str, float] = {FindingKind.LATE: 300.0, FindingKind.DOWN: 120.0}
"""Seconds for which a condition must last, by its kind; others are sent at once."""
REPEAT = 6 * 3_600.0
MOST = 5_000  # conditions that are kept
NAMED = 5  # subjects of a line that are named
LINES = 20  # of a message


@dataclass(slots=True)
class _Known:
    """A condition: when it was sent and in which words, since when it is there or gone."""

    since: float
    there: bool = True
    sent: bool = False  # that it is there
    sent_at: float | None = None
    message: str = ""


class AlertBook:
    """The conditions that are known, and which of them organisers were sent."""

    def __init__(self, last: Iterable[Alert] = ()) -> None:
        """Begin with the last alert of each condition, so that a restart repeats none."""
        self._known = {
            one.condition: _Known(
                since=one.at,
                there=not one.over,
                sent=not one.over,
                sent_at=one.at,
                message=one.message,
            )
            for one in last
        }

    def update(
        self,
        now: float,
        found: Mapping[Condition, str],
        hold: Mapping[str, float] = HOLD,
        over: Callable[[str], bool] = lambda phase: False,
    ) -> Iterator[Alert]:
        """Yield the alerts that are due at `now` (Unix seconds), by the conditions with messages.

        `hold` maps kinds to the seconds for which a condition must last. `over` says of a phase
        whether it is not looked at any more: its conditions are forgotten, since nobody knows
        whether they have ended.
        """
        for condition in [one for one in self._known if over(one.phase)]:
            del self._known[condition]
        for condition, message in found.items():
            known = self._known.get(condition)
            if known is None:
                if len(self._known) >= MOST:
                    continue
                known = self._known[condition] = _Known(since=now)
            if not known.there:
                known.there, known.since = True, now
            repeated = known.sent_at is not None and now - known.sent_at < REPEAT
            if not known.sent and not repeated and now - known.since >= hold.get(condition.kind, 0):
                known.sent, known.sent_at, known.message = True, now, message
                yield _alert(condition, now, message, over=False)
        yield from self._ended(now, found, hold)

    def _ended(
        self, now: float, found: Mapping[Condition, str], hold: Mapping[str, float]
    ) -> Iterator[Alert]:
        for condition, known in list(self._known.items()):
            if condition in found:
                continue
            if known.there:
                known.there, known.since = False, now
            if now - known.since < hold.get(condition.kind, 0):
                continue
            if known.sent:
                known.sent = False
                yield _alert(condition, now, known.message, over=True)
            if known.sent_at is None or now - known.sent_at >= REPEAT:
                del self._known[condition]


def _alert(condition: Condition, now: float, message: str, *, over: bool) -> Alert:
    kind, phase, subject = condition
    return Alert(at=now, kind=kind, phase=phase, subject=subject, message=message, over=over)


def lines(alerts: Iterable[Alert]) -> list[str]:
    """Return the lines of a message: one an alert; many of one kind and phase share a line."""
    groups: dict[tuple[str, str, bool], list[Alert]] = {}
    for one in alerts:
        groups.setdefault((one.kind, one.phase, one.over), []).append(one)
    found: list[str] = []
    for (kind, phase, over), group in groups.items():
        begin = "Over: " if over else ""
        where = f" in phase {phase}" if phase else ""
        if len(group) <= NAMED:
            found += [f"{begin}{one.message}{where}" for one in group]
        else:
            names = ", ".join(one.subject for one in group[:NAMED])
            word = kind.replace("_", " ")
            found.append(f"{begin}{len(group)} × {word}{where}: {names} and others")
    more = len(found) - LINES
    return found if more <= 0 else [*found[:LINES], f"and {more} more"]
