"""The reference of the settings, docs/settings.md; `python -m tests.docs.settings` writes it.

Names, types, defaults and ranges are those of `metaserver.config`, the words those of config.yaml.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from metaserver.base.plans import YEAR
from metaserver.cli.catalogue import OPERATIONS
from metaserver.config import Settings
from metaserver.operations.outline import Outline
from metaserver.operations.reference import linked

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "settings.md"

EXTRA = {
    "challenge": "its name, for addresses and commands",
    "title": "for people; empty: the name",
    "timezone": "of its dates, such as Europe/Madrid",
    "phases": "its phases, below",
    "issuer": "its address, as its ID tokens say it: https://accounts.google.com",
    "client_id": "the hub's name there",
    "client_secret_file": "a file with the hub's secret there; empty: a public client",
    "label": "of its button; empty: Sign in by its host",
    "scope": "what it is asked for; ORCID takes openid alone",
    "emails": "whether the addresses that it calls verified are believed",
    "articles": "files and folders, stored as a corpus with the phase's name",
    "gold": "a file for each task, such as {INT: gold.tsv}",
}
"""What a file has beside what the operations take."""

INTRODUCTION = """\
# Settings

All of `config.yaml`, which `metaserver serve` and `metaserver run` read with `--config FILE`.
A setting that the file leaves out has its default.
A wrong file is refused with its line, the setting, and what is expected.
`metaserver doctor` checks what a file means as well.
Times are in seconds, sizes in bytes.
`python -m tests.docs.settings` generates this page from the code and from `config.yaml`.
"""


def to_markdown() -> str:
    """Return the page."""
    words = comments((ROOT / "config.yaml").read_text("utf-8"))
    fields = inspect.type_info(Settings).fields  # type: ignore[union-attr]
    plain = [field for field in fields if not _struct(field.type)]
    blocks = [INTRODUCTION, "## On top\n", "\n".join(_table(plain, "", words)) + "\n"]
    for field in fields:
        if inner := _struct(field.type):
            note = words.get(field.name, "")
            blocks += [f"## {field.name}\n", *([f"{_sentence(note)}\n"] if note else [])]
            blocks.append("\n".join(_table(inner.fields, f"{field.name}.", words)) + "\n")
    blocks += _items(Settings)
    return linked("\n".join(blocks))


def comments(text: str) -> dict[str, str]:
    """Return the comment of each setting of a file with two levels, by its path."""
    found: dict[str, str] = {}
    parent = ""
    for line in text.splitlines():
        if match := re.match(r"( *)(\w+):[^#]*(?:# (.*))?$", line):
            name = f"{parent}.{match[2]}" if match[1] else match[2]
            parent = parent if match[1] else match[2]
            found[name] = match[3] or ""
    return found


def _items(of: type) -> Iterator[str]:
    """Yield the tables of what `sign_in` and `challenges` are lists of."""
    kinds: list[tuple[str, inspect.StructType]] = []
    waiting = [("", inspect.type_info(of))]
    while waiting:
        place, kind = waiting.pop(0)
        for field in getattr(kind, "fields", ()):
            item = getattr(field.type, "item_type", None)
            if isinstance(item, inspect.StructType):
                path = f"{place}[].{field.name}" if place else field.name
                kinds.append((path, item))
                waiting.append((path, item))
    created = Outline.of(OPERATIONS["phases.create"])
    helps = {one.name: one.help[:1].lower() + one.help[1:] for one in created.parameters} | EXTRA
    for path, kind in kinds:
        yield f"## {path}\n"
        yield f"{_sentence((kind.cls.__doc__ or '').splitlines()[0])}\n"
        own_first = sorted(
            kind.fields, key=lambda field: field.name not in kind.cls.__annotations__
        )
        yield "\n".join(_table(own_first, "", helps)) + "\n"


def _struct(kind: inspect.Type) -> inspect.StructType | None:
    return kind if isinstance(kind, inspect.StructType) else None


def _table(fields: Any, prefix: str, words: dict[str, str]) -> Iterator[str]:
    yield "| setting | type | default | meaning |"
    yield "|---|---|---|---|"
    for field in fields:
        cells = (
            f"`{field.name}`",
            _type(field.type),
            "required" if field.required else f"`{_default(field)}`",
            words.get(f"{prefix}{field.name}", ""),
        )
        escaped = [cell.replace("|", r"\|") for cell in cells]
        yield f"| {' | '.join(escaped)} |"


def _default(field: inspect.Field) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.encode(value).decode()


def _type(kind: Any) -> str:
    """Return a type in words, with its range."""
    match kind:
        case inspect.Metadata():
            return _type(kind.type)
        case inspect.IntType() | inspect.FloatType():
            word = "integer" if isinstance(kind, inspect.IntType) else "number"
            bounds = [
                f"{sign} {value:,}"
                for sign, value in ((">", kind.gt), ("≥", kind.ge), ("<", kind.lt), ("≤", kind.le))
                if value is not None and value not in (YEAR, 2**31 - 1)  # a guard, not a choice
            ]
            return " ".join([word, ", ".join(bounds)]).strip()
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.EnumType():
            return ", ".join(f"`{one.value}`" for one in kind.cls)
        case inspect.LiteralType():
            return ", ".join(f"`{one}`" for one in kind.values)
        case inspect.ListType() | inspect.VarTupleType():
            item = kind.item_type
            return "list" if isinstance(item, inspect.StructType) else f"list of {_type(item)}"
        case inspect.DictType():
            return f"{_type(kind.key_type)} to {_type(kind.value_type)}"
        case inspect.UnionType():
            return " or ".join(_type(one) for one in kind.types)
        case inspect.StructType():
            return ", ".join(f"`{field.name}`" for field in kind.fields)
        case inspect.NoneType():
            return "nothing"
        case _:
            return "any"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


if __name__ == "__main__":
    PAGE.write_text(to_markdown(), "utf-8")
