"""Gold for the boards: read from a file, and combined with its task's views."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, TaskName
from metaserver.boards.public_part import PublicPart
from metaserver.boards.scoreboard import GoldMark, ScoredTask
from metaserver.tasks.plugin import CorpusTask, TaskPlugin, ViewedTask, installed_tasks
from metaserver.uniprot import ReleaseVocabulary

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def scored_tasks(
    gold: Mapping[TaskName, Any],
    vocabulary: ReleaseVocabulary,
    marks: Mapping[TaskName, GoldMark] = MappingProxyType({}),
    corpus: Collection[ArticleId] | None = None,
    part: PublicPart | None = None,
) -> Sequence[ScoredTask]:
    """Return the tasks that have gold (as their plug-ins read it), in the order of their names.

    Gold of articles that are not in the corpus does not count; None: there is no corpus.
    `part` draws what is scored apart, as the view `PUBLIC`.
    """
    return [
        _scored(task, gold[name], vocabulary, marks.get(name), corpus, part)
        for name, task in installed_tasks().items()
        if name in gold
    ]


def _scored(
    task: TaskPlugin,
    gold: Any,
    vocabulary: ReleaseVocabulary,
    mark: GoldMark | None,
    corpus: Collection[ArticleId] | None,
    part: PublicPart | None,
) -> ScoredTask:
    outside: Sequence[ArticleId] = ()
    if corpus is not None and isinstance(task, CorpusTask):
        outside = sorted(set(task.gold_articles(gold)).difference(corpus))
        gold = task.within(gold, corpus) if outside else gold
    views = task.view_scorers(gold, vocabulary.release) if isinstance(task, ViewedTask) else {}
    scored = ScoredTask(
        plugin=task, gold=gold, release=vocabulary.name, mark=mark, outside=outside, views=views
    )
    if part is None or not isinstance(task, CorpusTask):
        return scored
    public = task.within(gold, part.draw(task.gold_articles(gold)))
    return replace(scored, public=public, public_share=part.share)


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
