"""The JSON Schemas of files, in docs; `python -m tests.docs.schemas` writes them."""

import json
from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from metaserver.curation.exports.finished import CurationFile
from metaserver.operations.bundle_files import BundleHead

DOCS = Path(__file__).parents[2] / "docs"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {"challenge.schema.json": BundleHead, "curation.schema.json": CurationFile}
)


def schema(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of a struct, as JSON has it."""
    found = {"$schema": DIALECT, **cleaned(msgspec.json.schema(kind))}
    return json.loads(json.dumps(found))


def cleaned(part: Any) -> Any:
    """Return a schema whose descriptions have no indentation, which Python has before 3.13."""
    match part:
        case dict():
            return {
                key: cleandoc(value)
                if key == "description" and isinstance(value, str)
                else cleaned(value)
                for key, value in part.items()
            }
        case list():
            return list(map(cleaned, part))
        case _:
            return part


if __name__ == "__main__":
    for name, kind in KINDS.items():
        (DOCS / name).write_text(json.dumps(schema(kind), indent=1) + "\n", "utf-8")
