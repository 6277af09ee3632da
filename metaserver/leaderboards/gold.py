"""Gold for the boards: read from a file, and combined with its task's views."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from metaserver.leaderboards.scoreboard import GoldMark, ScoredTask
from metaserver.model.errors import InputError
from metaserver.model.records import TaskName
from metaserver.tasks.plugin import TaskPlugin, ViewedTask, installed_tasks
from metaserver.uniprot import ReleaseVocabulary

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def scored_tasks(
    gold: Mapping[TaskName, Any],
    vocabulary: ReleaseVocabulary,
    marks: Mapping[TaskName, GoldMark] = MappingProxyType({}),
) -> Sequence[ScoredTask]:
    """Return the tasks that have gold (as their plug-ins read it), in the order of their names."""
    return [
        _scored(task, gold[name], vocabulary, marks.get(name))
        for name, task in installed_tasks().items()
        if name in gold
    ]


def _scored(
    task: TaskPlugin, gold: Any, vocabulary: ReleaseVocabulary, mark: GoldMark | None
) -> ScoredTask:
    views = task.view_scorers(gold, vocabulary.release) if isinstance(task, ViewedTask) else {}
    return ScoredTask(plugin=task, gold=gold, release=vocabulary.name, mark=mark, views=views)


def read_gold(task: TaskName, content: bytes, source: str) -> Any:
    """Read the content of a gold file; `InputError` names the file by its sender's name."""
    with tempfile.TemporaryDirectory(prefix="metaserver-gold-") as folder:
        suffix = _SUFFIX.search(source)  # the rest of a name can be one that no file has
        path = Path(folder) / f"gold{suffix[0] if suffix else ''}"
        path.write_bytes(content)
        try:
            return installed_tasks()[task].read_gold(path)
        except InputError as error:
            place = error.place.replace(str(path), source)
            raise InputError(place, error.message.replace(str(path), source)) from error
