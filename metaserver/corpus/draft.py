"""The article draft that a format's reader returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metaserver.base.publications import UNKNOWN, Publication


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleDraft:
    """An article before it has its final id; `id` is "" if the source has none.

    `line` is the line in its file on which it begins (from 1), or None if unknown;
    `publication` is what the file says of it.
    """

    id: str
    title: str
    text: str
    line: int | None = None
    publication: Publication = UNKNOWN

    @classmethod
    def of_lines(
        cls,
        article_id: str,
        title: str,
        lines: Iterable[str],
        line: int | None,
        publication: Publication | None = None,
    ) -> ArticleDraft:
        """Return a draft whose text is the title and then the lines."""
        return cls(
            id=article_id,
            title=title,
            text="\n".join(filter(None, [title, *lines])),
            line=line,
            publication=(publication or UNKNOWN).over(Publication.named(article_id)),
        )
