"""Ranking: the rule by which the runs of a phase get their places."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class ArticlePolicy(StrEnum):
    """The articles of the gold that count in a score."""

    ALL = "all"  # one without an answer counts as zero
    ANSWERED = "answered"  # those the run has hits for, as BioCreative II.5 published


class Ties(StrEnum):
    """The order of runs whose measure is equal; what is still equal shares a place."""

    CONFIDENCE = "confidence"  # by their average confidence
    SHARE = "share"


class Ranking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rule of a phase's places.

    A run whose score is of less than the share `min_coverage` of the articles that count gets no
    place (`Score.coverage`).
    `measure` is a column of a task's board; a task that has no such column, and an empty one, take
    the task's first.
    """

    articles: ArticlePolicy = ArticlePolicy.ALL
    min_coverage: Annotated[float, Meta(ge=0, le=1)] = 0.9
    measure: Annotated[str, Meta(max_length=64)] = ""
    ties: Ties = Ties.CONFIDENCE
