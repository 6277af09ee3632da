"""What new gold changes: labels by article, values by run."""

from __future__ import annotations

import msgspec


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
