"""JSON with all that a curation holds: docs/curation.schema.json is its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import cleandoc
from typing import Any, Literal

import msgspec

from metaserver.curation.exports.characters import unicode_tree
from metaserver.curation.exports.finished import FinishedCuration


class CurationFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of curations; `version` is raised with a change that an older reader cannot read."""

    curations: Sequence[FinishedCuration]
    format: Literal["biocreative-metaserver-curations"] = "biocreative-metaserver-curations"
    version: Literal[1] = 1


def write_json(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the curations as JSON, with rejected items, events and provenance."""
    builtins = unicode_tree(msgspec.to_builtins(CurationFile(curations=curations)))
    return msgspec.json.format(msgspec.json.encode(builtins), indent=1) + b"\n"


def read_json(data: bytes) -> Sequence[FinishedCuration]:
    """Return the curations of such a file; raises `msgspec.ValidationError`."""
    return msgspec.json.decode(data, type=CurationFile).curations


def schema() -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of such a file."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    cleaned: Mapping[str, Any] = _cleaned(msgspec.json.schema(CurationFile))
    return {**described, **cleaned}


def _cleaned(part: Any) -> Any:
    """Return a schema whose descriptions have no indentation, which Python has before 3.13."""
    match part:
        case {"description": str(words)}:
            return {key: _cleaned(value) for key, value in part.items()} | {
                "description": cleandoc(words)
            }
        case dict():
            return {key: _cleaned(value) for key, value in part.items()}
        case list():
            return list(map(_cleaned, part))
        case _:
            return part
