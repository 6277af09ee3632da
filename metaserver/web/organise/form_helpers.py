"""Forms of the console: their fields, their values, and refusals that are shown in them."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import Any, TypeVar

import msgspec
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.web.access.form_bodies import SentFile
from metaserver.web.ui.console import MENDED
from metaserver.web.ui.forms import Form, Wording, values_of

SOURCE_LENGTH = 200

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class OperationForm:
    """A form over some fields of an operation's request."""

    request: type[msgspec.Struct]
    names: Sequence[str]
    wording: Mapping[str, Wording] = field(default_factory=dict)
    name: str = "form"

    def form(
        self,
        values: Mapping[str, Any] | None = None,
        refused: RefusedError | None = None,
        **wording: Wording,
    ) -> Form:
        """Return the form, empty or with values in it; `wording` is of this page alone."""
        return Form.of(
            self.request,
            self.names,
            values=values,
            wording={**self.wording, **wording},
            refused=refused,
            name=self.name,
        )

    def values(self, sent: MultiMapping[Any]) -> dict[str, Any]:
        """Return an operation's values from the form that was sent."""
        return values_of(self.request, self.names, sent)


async def tried(operation: Awaitable[T], fields: Sequence[str] = ()) -> T | RefusedError:
    """Await an operation; return its result, or the `RefusedError` that the viewer can mend.

    Any refusal of one of `fields` is shown at it, and so is one because nothing can be stored now.
    """
    try:
        return await operation
    except RefusedError as error:
        if error.refusal in MENDED or error.field in fields:
            return error
        raise
    except UnavailableError as error:
        message = (
            f"perhaps nothing was done, the hub can store nothing now: {error.reason}; try again"
        )
        return RefusedError(Refusal.STATE, message)


def sent_file(sent: MultiMapping[Any], name: str = "content") -> SentFile:
    """Return a form's file, its name without folders."""
    found = sent.get(name)
    if not isinstance(found, SentFile):
        return SentFile(b"", "")
    plain = PureWindowsPath(found.source).name  # knows both kinds of slash
    return SentFile(found.content, plain[:SOURCE_LENGTH])


def no_file() -> RefusedError:
    """Return the refusal of a form without its file."""
    return RefusedError(Refusal.INVALID, "choose a file that is not empty", field="content")


def one_of(names: Sequence[str], text: str) -> Wording:
    """Return the choices of a field that takes one of some names."""
    return Wording(help=text, choices=[(name, name) for name in names])


def number(text: str) -> int:
    """Return the number in an address; 0 for what is none, or larger than any there is."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
