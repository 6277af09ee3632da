"""Method descriptions: what a team says about a run for a paper's readers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

Long: TypeAlias = Annotated[str, Meta(max_length=3_000)]

LINK = r"^(https?://[!-~]+)?$(?!\n)"  # `$` alone also matches before a final line end
Link: TypeAlias = Annotated[str, Meta(pattern=LINK, max_length=500)]


class MethodDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A description of a run's method, in plain text; what was not said is empty."""

    summary: Long = ""
    resources: Long = ""
    corpora: Long = ""
    contact: Annotated[str, Meta(max_length=300)] = ""
    link: Link = ""

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return any(msgspec.structs.astuple(self))


HEADINGS = {
    "summary": "Method",
    "resources": "Resources",
    "corpora": "Training corpora",
    "contact": "Contact",
    "link": "Link",
}
"""The headings for its fields, in order."""
