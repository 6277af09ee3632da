"""The reference page docs/api.md; `python -m metaserver.operations.reference` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from metaserver.operations.outline import Outline, Parameter, Result
from metaserver.operations.table import Operation

API_FILE = Path(__file__).parents[2] / "docs" / "api.md"

INTRODUCTION = """\
# Operations

All operations of a running hub, each as a command, over HTTP and in XML-RPC.
[interfaces.md](interfaces.md) explains the three interfaces.
`python -m metaserver.operations.reference` generates this page from the hub's own table.

Every command also takes `--hub URL`, `--token-file FILE`, and `--json` or `--only FIELD`.
"""


def outlines(operations: Mapping[str, Operation]) -> list[Outline]:
    """Return the outlines of operations, by noun, in the order they were declared in."""
    return sorted(map(Outline.of, operations.values()), key=lambda outline: outline.noun)


def to_markdown(operations: Mapping[str, Operation]) -> str:
    """Return the reference page."""
    blocks = [INTRODUCTION]
    for noun, known in groupby(outlines(operations), key=lambda outline: outline.noun):
        blocks.append(f"## {noun}\n")
        blocks += map(_operation, known)
    return linked("\n".join(blocks))


def linked(text: str) -> str:
    """Return text for a page of `docs/` with the files of other pages that it names as links."""
    return re.sub(r"(?<![\w`/])docs/([\w-]+\.md)(?!`)", r"[\1](\1)", text)


def _operation(outline: Outline) -> str:
    role = f"Role: {outline.role}." if outline.role else "No token is needed."
    blocks = [
        f"### {outline.noun} {outline.verb}",
        f"{outline.doc}\n\n{role}",
        "\n".join(("```", outline.command, outline.http, outline.call, "```")),
    ]
    if outline.parameters:
        blocks.append("\n".join(_table(outline.parameters)))
    blocks.append("\n".join(_returns(outline.result)))
    if outline.report is not None:
        blocks.append("\n".join(_reports(outline.report)))
    return "\n\n".join(blocks) + "\n"


def _table(parameters: Iterable[Parameter]) -> Iterator[str]:
    yield "| field | option | type | default | |"
    yield "|---|---|---|---|---|"
    for parameter in parameters:
        option = "" if parameter.in_path else f"`{parameter.option}`"
        default = "required" if parameter.required else parameter.default
        cells = (f"`{parameter.name}`", option, parameter.word, default, parameter.help)
        yield "| " + " | ".join(map(_cell, cells)) + " |"


def _returns(result: Result | None) -> Sequence[str]:
    if result is None:
        return ["Returns nothing."]
    number = "Returns a list" if result.many else "Returns"
    doc = f"{result.doc[:1].lower()}{result.doc[1:]}" if result.doc else f"{result.kind}."
    fields = ", ".join(f"`{field.name}` ({field.word})" for field in result.fields)
    return [f"{number}: {doc}", *(["", f"Fields: {fields}."] if fields else [])]


def _reports(report: Result) -> Sequence[str]:
    fields = ", ".join(f"`{field.name}` ({field.word})" for field in report.fields)
    return [
        "The command waits for the job's end and prints its report; `--no-wait` prints the job.",
        "",
        f"The job's report: {report.doc[:1].lower()}{report.doc[1:]}",
        "",
        f"Fields: {fields}.",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the reference page."""
    from metaserver.operations.catalogue import OPERATIONS  # slow to import

    API_FILE.write_text(to_markdown(OPERATIONS), "utf-8")


if __name__ == "__main__":
    main()
