"""The sender of alerts to organisers: it looks at all phases and the hub, and writes to channels.

What it finds is stored before it is sent, so that a hub that is started again repeats nothing and
loses nothing. A channel is sent one message at a time, at most every `notices.alerts` seconds.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import PeerError, UnavailableError
from metaserver.base.findings import Alert, ChannelKind, Condition, FindingKind
from metaserver.base.phases import AUTOMATIC_A_DAY, DAY
from metaserver.base.records import PhaseName
from metaserver.config import Settings
from metaserver.exchange.http.client import HttpClient
from metaserver.phases.mail import MailServer, is_away, post_webhook
from metaserver.phases.scheduler import Scheduler
from metaserver.phases.watching import is_watched, watch
from metaserver.store import alerts, phases, sign_ups
from metaserver.store.alerts import AlertChannel
from metaserver.store.store import Store

# -- timing of alerts: a condition must last, and is not sent again soon ---------------------------
# A condition is sent once it has lasted for `HOLD` seconds of its kind. Its end is sent once it
# has been gone as long. Whatever happens in between, it is sent again `REPEAT` seconds later at
# the earliest: a server that goes up and down all day is two messages, not two hundred.

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
    """The known conditions, and which of them organisers were sent."""

    def __init__(self, last: Iterable[Alert] = ()) -> None:
        """Begin with each condition's last alert, so that a restart repeats none."""
        self._known = {
            alert.condition: _Known(
                since=alert.at,
                there=not alert.over,
                sent=not alert.over,
                sent_at=alert.at,
                message=alert.message,
            )
            for alert in last
        }

    def update(
        self,
        now: float,
        messages: Mapping[Condition, str],
        hold: Mapping[str, float] = HOLD,
        over: Callable[[str], bool] = lambda phase: False,
    ) -> Iterator[Alert]:
        """Yield the alerts that are due at `now` (Unix seconds), by the conditions with messages.

        `hold` maps kinds to the seconds for which a condition must last. `over` says of a phase
        whether it is not looked at any more: its conditions are forgotten, since nobody knows
        whether they have ended.
        """
        for condition in [condition for condition in self._known if over(condition.phase)]:
            del self._known[condition]
        for condition, message in messages.items():
            condition_state = self._known.get(condition)
            if condition_state is None:
                if len(self._known) >= MOST:
                    continue
                condition_state = self._known[condition] = _Known(since=now)
            if not condition_state.there:
                condition_state.there, condition_state.since = True, now
            repeated = (
                condition_state.sent_at is not None and now - condition_state.sent_at < REPEAT
            )
            if (
                not condition_state.sent
                and not repeated
                and now - condition_state.since >= hold.get(condition.kind, 0)
            ):
                condition_state.sent, condition_state.sent_at, condition_state.message = (
                    True,
                    now,
                    message,
                )
                yield _alert(condition, now, message, over=False)
        yield from self._ended(now, messages, hold)

    def _ended(
        self, now: float, messages: Mapping[Condition, str], hold: Mapping[str, float]
    ) -> Iterator[Alert]:
        for condition, condition_state in list(self._known.items()):
            if condition in messages:
                continue
            if condition_state.there:
                condition_state.there, condition_state.since = False, now
            if now - condition_state.since < hold.get(condition.kind, 0):
                continue
            if condition_state.sent:
                condition_state.sent = False
                yield _alert(condition, now, condition_state.message, over=True)
            if condition_state.sent_at is None or now - condition_state.sent_at >= REPEAT:
                del self._known[condition]


def _alert(condition: Condition, now: float, message: str, *, over: bool) -> Alert:
    kind, phase, subject = condition
    return Alert(at=now, kind=kind, phase=phase, subject=subject, message=message, over=over)


def lines(alerts: Iterable[Alert], labels: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return a message's lines: one per alert; many of a kind in a phase share a line.

    `labels` has how people know a phase, by its name; by default it is `phase NAME`.
    """
    groups: dict[tuple[str, str, bool], list[Alert]] = {}
    for alert in alerts:
        groups.setdefault((alert.kind, alert.phase, alert.over), []).append(alert)
    texts: list[str] = []
    for (kind, phase, over), group in groups.items():
        begin = "Over: " if over else ""
        where = f" in {labels.get(phase, f'phase {phase}')}" if phase else ""
        if len(group) <= NAMED:
            texts += [f"{begin}{alert.message}{where}" for alert in group]
        else:
            names = ", ".join(alert.subject for alert in group[:NAMED])
            word = kind.replace("_", " ")
            texts.append(f"{begin}{len(group)} × {word}{where}: {names} and others")
    more = len(texts) - LINES
    return texts if more <= 0 else [*texts[:LINES], f"and {more} more"]


# -- the sender of alerts to organisers ------------------------------------------------------------

LOOK_SECONDS = 15.0
SCARCE = 0.05  # of the disk
KEPT = 90 * 86_400.0  # seconds for which sent alerts are kept
DISK = "disk"
SIGN_UPS = "sign_ups"
ALERTED = frozenset(
    {
        FindingKind.LATE,
        FindingKind.DOWN,
        FindingKind.NO_GOLD,
        FindingKind.GOLD_OUTSIDE,
        FindingKind.BURST,
    }
)
"""The findings that organisers are sent; the others are for who looks at the control room."""
FAILURES = (PeerError, OSError)

log = logging.getLogger(__name__)


class AlertSender:
    """The alert sender; `clock` returns Unix seconds, `hold` is as in `AlertBook.update`."""

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        scheduler: Scheduler,
        settings: Settings,
        mail: MailServer,
        clock: Callable[[], float],
        hold: Mapping[str, float] = HOLD,
    ) -> None:
        self.hold = hold
        self._store = store
        self._client = client
        self._scheduler = scheduler
        self._settings = settings
        self._mail = mail
        self._clock = clock
        self._book: AlertBook | None = None
        self._next: dict[int, float] = {}  # the earliest time of a channel's next message
        self._failing: set[int] = set()  # channels, as logged

    async def run(self) -> None:
        """Look and send, until cancelled."""
        while True:
            try:
                with suppress(UnavailableError):  # the store is blocked: they are stored later
                    await run_uncancelled(self.look())
                    await self.send()
            except Exception:
                log.exception("alerts could not be sent")
            await asyncio.sleep(min(LOOK_SECONDS, self._settings.notices.batch))

    async def look(self) -> None:
        """Store the alerts that are due now."""
        if self._book is None:
            async with self._store.reading() as connection:
                self._book = AlertBook(await alerts.last_alerts(connection))
        self._store.require_writable()
        now = self._clock()
        conditions = {**dict(self._conditions(now)), **await self._entered(now)}
        due = list(
            self._book.update(now, conditions, self.hold, lambda phase: self._is_over(phase, now))
        )
        if due:
            async with self._store.writing() as connection:
                await alerts.add(connection, due)
                await alerts.delete_before(connection, now - KEPT)

    def _is_over(self, phase: str, now: float) -> bool:
        """Return whether a phase, not the hub, is deleted or no longer watched."""
        running = self._scheduler.phases.get(PhaseName(phase))
        return bool(phase) and (running is None or not is_watched(running, now))

    def _conditions(self, now: float) -> Iterator[tuple[Condition, str]]:
        for running in self._scheduler.phases.values():
            for finding in watch(running, now).findings:
                if finding.kind not in ALERTED:
                    continue
                for subject in finding.subjects:
                    condition = Condition(finding.kind, running.name, subject.name)
                    yield condition, subject.text
        disk = shutil.disk_usage(self._settings.folder)
        if disk.free < SCARCE * disk.total:
            space = f"{disk.free / 1e9:.1f} GB of {disk.total / 1e9:.1f} GB"
            yield Condition(DISK, "", "hub"), f"The hub's disk is nearly full: {space} are left"

    async def _entered(self, now: float) -> Mapping[Condition, str]:
        """Return the challenges that as many teams came into as may without an organiser."""
        async with self._store.reading() as connection:
            entered = await sign_ups.count_automatic(connection, now - DAY)
            known = await phases.list_challenges(connection) if entered else []
        titles = {challenge.name: challenge.title or challenge.name for challenge in known}
        return {
            Condition(SIGN_UPS, "", challenge): (
                f"{count} teams came into {titles[challenge]} without an organiser in 24 hours:"
                " further ones wait for approval"
            )
            for challenge, count in entered.items()
            if count >= AUTOMATIC_A_DAY
        }

    async def send(self) -> None:
        """Send each channel its unsent alerts, in a single message."""
        async with self._store.reading() as connection:
            channels = await alerts.list_channels(connection)
            first = min((channel.sent_up_to for channel in channels), default=0)
            waiting = await alerts.after(connection, first) if channels else []
        now = self._clock()
        calls = [
            self._send(channel, its)
            for channel in channels
            if (its := [alert for alert in waiting if alert.id > channel.sent_up_to])
            and now >= self._next.get(channel.id, 0)
        ]
        await asyncio.gather(*calls)  # concurrently: no channel waits for another

    async def _send(self, channel: AlertChannel, waiting: Sequence[Alert]) -> None:
        self._next[channel.id] = self._clock() + self._settings.notices.alerts
        last = waiting[-1].id
        try:
            await self.deliver(channel, lines(waiting, self._scheduler.labels()), waiting)
        except FAILURES as error:
            if not is_away(error) and channel.id not in self._failing:
                log.warning("alerts could not be sent to channel %s: %s", channel.id, error)
                self._failing.add(channel.id)
            await run_uncancelled(self._failed(channel, last, str(error)))
        except Exception as error:  # one channel must not keep the others from being sent theirs
            log.exception("alerts could not be sent to channel %s", channel.id)
            await run_uncancelled(self._failed(channel, last, type(error).__name__))
        else:
            if channel.id in self._failing:
                log.warning("channel %s is sent alerts again", channel.id)
                self._failing.remove(channel.id)
            await run_uncancelled(self._sent(channel, last))

    async def _sent(self, channel: AlertChannel, last: int) -> None:
        async with self._store.writing() as connection:
            await alerts.sent(connection, channel.id, last)

    async def _failed(self, channel: AlertChannel, last: int, why: str) -> None:
        async with self._store.writing() as connection:
            await alerts.failed(connection, channel, last, why)

    async def deliver(
        self, channel: AlertChannel, said: Sequence[str], news: Sequence[Alert] = ()
    ) -> None:
        """Send a message with some lines now; raises one of `FAILURES` if it was not taken."""
        text = "\n".join(said)
        if channel.kind is ChannelKind.EMAIL:
            subject, body = f"Meta-Server: {said[0]}", f"{text}\n"
            await self._mail.send(channel.address, subject, body)
            return
        message = {"text": text, "alerts": list(news)}
        await post_webhook(self._client, channel.address, channel.secret, message, self._clock())
