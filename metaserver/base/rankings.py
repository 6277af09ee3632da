"""Ranking: the rule that gives a phase's runs their places."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class ArticlePolicy(StrEnum):
    """The gold's articles that count in a score."""

    ALL = "all"  # one without an answer counts as zero
    ANSWERED = "answered"  # those the run has hits for, as BioCreative II.5 published


class Ties(StrEnum):
    """The order of runs whose measure is equal; what is still equal shares a place."""

    CONFIDENCE = "confidence"  # by their average confidence
    SHARE = "share"


class Ranking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's ranking rule.

    A run whose score covers less than the share `min_coverage` of the counted articles gets no
    place (`Score.coverage`). `measure` is a column on a task's board; if empty, or if a task has no
    such column, the task's first column counts.
    """

    articles: ArticlePolicy = ArticlePolicy.ALL
    min_coverage: Annotated[float, Meta(ge=0, le=1)] = 0.9
    measure: Annotated[str, Meta(max_length=64)] = ""
    ties: Ties = Ties.CONFIDENCE
