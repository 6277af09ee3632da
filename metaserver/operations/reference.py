"""The reference for all operations as a page on the documentation's site (`make docs`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from metaserver.operations.outline import Outline, Parameter, Result
from metaserver.operations.table import Operation

INTRODUCTION = """\
# Operations

All operations of a running hub, each as a command, over HTTP and in XML-RPC.
[interfaces.md](../interfaces.md) explains the three interfaces.
The structs that operations return are at the [end](#structs).

Every command also takes `--hub URL`, `--token-file FILE`, and `--json` or `--only FIELD`.
"""


def outlines(operations: Mapping[str, Operation]) -> list[Outline]:
    """Return the operations' outlines, by noun, in declaration order."""
    return sorted(map(Outline.of, operations.values()), key=lambda outline: outline.noun)


def to_markdown(operations: Mapping[str, Operation]) -> str:
    """Return the reference page: operations by noun, then each struct that they return, once."""
    blocks, structs = [INTRODUCTION], dict[str, Result]()
    for noun, group in groupby(outlines(operations), key=lambda outline: outline.noun):
        blocks.append(f"## {noun}\n")
        for outline in group:
            blocks.append(_operation(outline))
            results = filter(None, (outline.result, outline.report))
            structs |= {result.name: result for result in results if result.fields}
    blocks.append("## Structs\n")
    blocks += [_struct(structs[name]) for name in sorted(structs)]
    return linked("\n".join(blocks), "../")


def linked(text: str, folder: str = "") -> str:
    """Return text with the pages of `docs/` that it names as links, by their way to that folder."""
    return re.sub(r"(?<![\w`/])docs/([\w-]+\.md)(?!`)", rf"[\1]({folder}\1)", text)


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
    return [
        f"Returns a list: {_reference(result)}" if result.many else f"Returns {_reference(result)}"
    ]


def _reports(report: Result) -> Sequence[str]:
    return [
        "The command waits for the job's end and prints its report; `--no-wait` prints the job.",
        "",
        f"The job's report is {_reference(report)}",
    ]


def _reference(result: Result) -> str:
    if not result.fields:
        return f"{result.kind}."
    return f"[{result.name}](#{result.name.lower()})."


def _struct(result: Result) -> str:
    fields = ", ".join(f"`{field.name}` ({field.word})" for field in result.fields)
    return f"### {result.name}\n\n{result.doc}\n\nFields: {fields}.\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
