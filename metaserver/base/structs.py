"""One value made from another: a struct or dataclass with fields of the same names."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def convert(source: object, kind: type[T], /, **values: Any) -> T:
    """Return a `kind` with the fields that `source` has too, or the `values` in their place.

    Never for what is concealed from some viewers: a row for others than its team names each field.

    Example: `convert(team, TeamDetail, team=team.name)`.
    """
    names = getattr(kind, "__struct_fields__", None) or kind.__dataclass_fields__  # type: ignore[attr-defined]
    shared = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return kind(**shared | values)
