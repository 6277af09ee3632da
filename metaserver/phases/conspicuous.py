"""Uploads that an organiser should look at: they may try the gold out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from metaserver.base.findings import FindingKind, Subject
from metaserver.base.records import ServerName, TaskName
from metaserver.store.uploads import Upload

BURST, BURST_SECONDS = 5, 600.0
"""Uploads of a team and task within that time that are a burst."""
JUMP = 0.1
"""Difference of the first measure by which a run is far better than the team's best before."""


def conspicuous(
    uploads: Sequence[Upload],
    leaders: Mapping[TaskName, ServerName],
    rising: Collection[TaskName] = (),
) -> Iterator[tuple[FindingKind, Subject]]:
    """Yield what is conspicuous among a phase's uploads, in their order.

    `leaders` are the first runs of the tasks, `rising` the tasks whose lowest score is the best.
    """

    def key(upload: Upload) -> tuple[str, str]:
        return upload.team, upload.task

    for (team, task), group in groupby(sorted(uploads, key=key), key=key):
        made = sorted(group, key=lambda one: one.id)
        if (most := _burst(made)) >= BURST:
            text = f"{team} uploaded {most} runs of {task} in {BURST_SECONDS / 60:.0f} minutes"
            yield FindingKind.BURST, Subject(name=f"{team} {task}", text=text)
        if near := [one for one in made if one.near]:
            last = near[-1]
            times = f", {len(near)} times so far" if len(near) > 1 else ""
            answers = "1 answer" if last.changed == 1 else f"{last.changed} answers"
            text = f"{last.run} of {team} differs from an earlier {task} run in {answers}{times}"
            yield FindingKind.NEAR, Subject(name=last.run, text=text)
        sign = -1 if task in rising else 1
        yield from _jump(made, leaders.get(TaskName(task)), sign)


def _burst(uploads: Sequence[Upload]) -> int:
    """Return the most uploads that were made within `BURST_SECONDS`."""
    moments = sorted(one.at for one in uploads)
    ends = (bisect_right(moments, begun + BURST_SECONDS) for begun in moments)
    return max(end - place for place, end in enumerate(ends))


def _jump(
    uploads: Sequence[Upload], leader: ServerName | None, sign: int
) -> Iterator[tuple[FindingKind, Subject]]:
    """Yield the first place of a team's last upload, where it is far better than those before.

    `sign` is -1 where the lowest score is the best.
    """
    *before, last = uploads
    earlier = [sign * one.score for one in before if one.score is not None]
    if last.run != leader or last.score is None or not earlier:
        return
    if (rise := sign * last.score - max(earlier)) >= JUMP:
        text = (
            f"{last.run} of {last.team} has the first place in {last.task},"
            f" {rise:.2f} better than the team's best upload before"
        )
        yield FindingKind.JUMP, Subject(name=last.run, text=text)
