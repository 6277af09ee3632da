"""Request ports: what they need to know of phases, which they never touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from metaserver.base.lanes import Corpus
from metaserver.base.records import RegisteredServer
from metaserver.exchange.wire.validation import Vocabulary


@dataclass(frozen=True, kw_only=True, slots=True)
class Obstacle:
    """The reason why a server is not asked now; `passing`: it may be asked later."""

    reason: str
    passing: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredArticle:
    """The place of an article in a corpus."""

    corpus: Corpus
    position: int


class Challenges(Protocol):
    """A hub's challenges, as requests see them."""

    def obstacle(self, registered: RegisteredServer) -> Obstacle | None:
        """Return why a server is not asked now; None if it may be."""

    def guarded(self) -> Sequence[Corpus]:
        """Return the corpora of phases that are not closed, whose articles nobody may ask about."""

    def published(self, article: str) -> StoredArticle | None:
        """Return the place of an article of a closed phase."""

    def vocabulary(self) -> tuple[Vocabulary, str]:
        """Return the vocabulary that answers are checked by, and its release's name."""
