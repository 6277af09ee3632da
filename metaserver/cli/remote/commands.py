"""`metaserver servers start NAME` and the like: made from the operations' outlines."""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import msgspec

from metaserver.base import files
from metaserver.base.errors import HubError, InputError, RefusedError
from metaserver.cli.arguments import DEFAULT_URL, TOKEN_VARIABLE, URL_VARIABLE
from metaserver.cli.remote.client import AnsweredError, JobError, RemoteHub, followed, read_url
from metaserver.operations.outline import (
    FILE_NAME,
    HIDDEN,
    Outline,
    Parameter,
    ValueKind,
    metavar,
)

DONE, REFUSED = 0, 1  # exit statuses
TYPES = {ValueKind.INTEGER: int, ValueKind.NUMBER: float}


def add_nouns(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], outlines: Sequence[Outline]
) -> None:
    """Add the commands for operations, which are ordered by noun."""
    for noun, group in groupby(outlines, key=lambda outline: outline.noun):
        verbs_here = list(group)
        verbs = ", ".join(outline.verb for outline in verbs_here)
        parser = commands.add_parser(
            noun,
            help=f"on a running hub: {verbs}",
            description="Sends a request to a running hub.",
        )
        below = parser.add_subparsers(required=True, metavar="VERB")
        for outline in verbs_here:
            _add_verb(below, outline)


def _add_verb(below: argparse._SubParsersAction[argparse.ArgumentParser], outline: Outline) -> None:
    role = f"\n\nYou need a token with the role {outline.role}." if outline.role else ""
    parser = below.add_parser(
        outline.verb,
        help=_plain(outline.summary),
        description=_plain(outline.doc + role),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for parameter in outline.in_path:
        parser.add_argument(
            _dest(parameter),
            metavar=parameter.name.upper(),
            type=TYPES.get(parameter.kind, str),
            help=_plain(parameter.help),
        )
    for parameter in outline.by_name:
        _add_option(parser, parameter, needed=outline.needs_option(parameter))
    if outline.report is not None:
        parser.add_argument(
            "--no-wait",
            action="store_true",
            help="print the background job and return at once; `jobs get` shows its state",
        )
    if outline.in_parts:
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="fetch the whole file, and write it to FILE, which must not exist",
        )
    if _is_request(outline):
        parser.add_argument(
            "--follow",
            action="store_true",
            help="show servers and candidates until all servers have answered or failed",
        )
    hub_options = parser.add_argument_group("the hub")
    where = hub_options.add_mutually_exclusive_group()
    where.add_argument(
        "--hub", metavar="URL", help=f"its address (default: ${URL_VARIABLE}, else {DEFAULT_URL})"
    )
    hub_options.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"file whose first line is the token (default: the token in ${TOKEN_VARIABLE})",
    )
    if _is_check(outline):
        where.add_argument(
            "--offline",
            action="store_true",
            help="check on this machine without a hub or a token; `unchecked` in the answer says"
            " what only the hub can check",
        )
        hub_options.add_argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="with --offline: file with the hub's settings, such as the folder of UniProt"
            " releases (default: those of a new hub)",
        )
    form = hub_options.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the hub's answer as JSON")
    form.add_argument(
        "--only",
        metavar="FIELD",
        help="print only this field of the answer; a file is printed as it is",
    )
    parser.set_defaults(run=main, outline=outline)


def _add_option(parser: argparse.ArgumentParser, parameter: Parameter, *, needed: bool) -> None:
    default = f" (default {parameter.default})" if parameter.default else ""
    common: dict[str, Any] = {
        "dest": _dest(parameter),
        "default": argparse.SUPPRESS,
        "required": needed,
        "help": _plain(f"{parameter.help}{default}"),
    }
    if parameter.kind is ValueKind.TRUTH:
        common["action"] = argparse.BooleanOptionalAction
    elif parameter.kind is ValueKind.FILE:
        common |= {"type": Path, "metavar": "FILE"}
    else:
        common |= {
            "type": TYPES.get(parameter.kind, str),
            "choices": parameter.choices or None,
            "metavar": metavar(parameter).removesuffix(" ..."),
        }
        if parameter.many or parameter.kind is ValueKind.STRUCT:
            common["nargs"] = "*"
    parser.add_argument(parameter.option, **common)


def _dest(parameter: Parameter) -> str:
    """Return where argparse keeps it: apart from the options that every command has."""
    return f"given_{parameter.name}"


def _plain(text: str) -> str:
    """Keep argparse from reading percent signs as its own."""
    return text.replace("%", "%%")


def main(args: argparse.Namespace) -> int:
    """Ask the hub; return the exit status."""
    outline: Outline = args.outline
    if _is_check(outline):
        if args.offline:
            return _check_offline(outline, args)
        if args.config is not None:
            raise InputError("--config", "is for --offline; a running hub has its own settings")
    hub = RemoteHub(url=read_url(args.hub or os.environ.get(URL_VARIABLE) or DEFAULT_URL),
              token=read_token(args.token_file))  # fmt: skip
    follows = outline.report is not None and not args.no_wait
    printed = msgspec.structs.replace(outline, result=outline.report) if follows else outline
    _check_field(printed, args.only)
    places = {parameter.name: getattr(args, _dest(parameter)) for parameter in outline.in_path}
    values = _given(outline, vars(args))
    if outline.method == "GET":
        query, body = _query(outline, values), None
    else:
        query, body = None, values
    try:
        if outline.in_parts and args.out is not None:
            return _leave(hub, outline.path, places, args.out)
        answer = hub.ask(outline.method, outline.path, places=places, query=query, body=body)
        answer = followed(hub, answer) if follows else answer
        if _is_request(outline):
            return _print_request(hub, printed, answer, args)
    except (AnsweredError, JobError) as error:
        return _refused(error)
    return _end(printed, answer, args)


def _refused(error: Exception) -> int:
    """Print why nothing was done; return the exit status."""
    from metaserver.cli.remote.tables import print_refusal

    print_refusal(error)
    return REFUSED


def _end(outline: Outline, answer: Any, args: argparse.Namespace) -> int:
    """Print an answer; return the exit status."""
    _print(outline, answer, args)
    return REFUSED if isinstance(answer, dict) and answer.get("faults") else DONE


def _is_check(outline: Outline) -> bool:
    return (outline.noun, outline.verb) == ("challenges", "check")


def _check_offline(outline: Outline, args: argparse.Namespace) -> int:
    """Check a bundle in this process; return the exit status."""
    from metaserver.cli import offline  # it loads the hub

    _check_field(outline, args.only)
    try:
        report = offline.check(_given(outline, vars(args)), args.config)
    except RefusedError as error:
        return _refused(error)
    return _end(outline, report, args)


def _is_request(outline: Outline) -> bool:
    return (outline.noun, outline.verb) == ("consensus", "ask")


def _print_request(hub: RemoteHub, outline: Outline, answer: Any, args: argparse.Namespace) -> int:
    """Print a curator's request, followed to its end on request; return the exit status."""
    from metaserver.cli.remote import requests

    if args.follow:
        answer = requests.followed(hub, answer)
    if args.json or args.only is not None:
        _print(outline, answer, args)
    else:
        requests.show(answer)
    return REFUSED if requests.nobody_answered(answer) else DONE


def _leave(hub: RemoteHub, path: str, places: Mapping[str, Any], out: Path) -> int:
    """Leave a whole file, fetched in parts; return the exit status."""
    size = leave(hub, path, places, out)
    print(f"{out}: {size:,} bytes")
    return DONE


def _check_field(outline: Outline, name: str | None) -> None:
    """Refuse a field that there is not, before anything is done."""
    fields = [field.name for field in outline.result.fields] if outline.result else []
    if name is not None and name not in fields:
        expected = f"expected one of {', '.join(fields)}" if fields else "the answer has none"
        raise InputError("--only", f"{name!r} is no field of the answer; {expected}")


def _print(outline: Outline, answer: Any, args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps(answer, indent=2))
        return
    from metaserver.cli.remote import tables  # rich: not for who asks for help

    if args.only is None:
        tables.show(outline, answer)
        return
    for item in answer if isinstance(answer, list) else [answer]:
        if args.only in tables.file_fields(outline):
            sys.stdout.buffer.write(base64.b64decode(item[args.only] or ""))
        else:
            print(tables.printable(tables.cell(args.only, item[args.only])))


def read_token(path: Path | None) -> str:
    """Return the token from a file, else from the environment, or ""."""
    try:
        text = os.environ.get(TOKEN_VARIABLE, "") if path is None else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("--token-file", f"{path}: cannot be read: {_reason(error)}") from error
    token = (text.splitlines() or [""])[0].strip()
    if not (token.isascii() and token.isprintable()):
        place = TOKEN_VARIABLE if path is None else "--token-file"
        raise InputError(
            place, "its first line is not a token; expected printable ASCII characters"
        )
    return token


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "not UTF-8 text"


def _given(outline: Outline, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options, as JSON has them."""
    arguments = {
        parameter.name: values[_dest(parameter)]
        for parameter in outline.by_name
        if _dest(parameter) in values
    }
    files = [path for path in arguments.values() if isinstance(path, Path)]
    if files and any(
        parameter.name == FILE_NAME and parameter.required for parameter in outline.by_name
    ):
        suffix = ".zip" if files[0].is_dir() else ""
        arguments.setdefault(FILE_NAME, f"{files[0].absolute().name}{suffix}")
    parameters = {parameter.name: parameter for parameter in outline.by_name}
    return {name: _value(parameters[name], value) for name, value in arguments.items()}


def _value(parameter: Parameter, value: Any) -> Any:
    if parameter.kind is ValueKind.FILE:
        try:
            content = _zipped(value) if value.is_dir() else value.read_bytes()
            return base64.b64encode(content).decode()
        except OSError as error:
            raise InputError(parameter.option, f"{value}: {_reason(error)}") from error
    if parameter.long and value.startswith("@"):
        path = Path(value[1:])
        try:
            text = path.read_text("utf-8")
            return text.rstrip("\r\n") if parameter.name == HIDDEN else text
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(parameter.option, f"{path}: {_reason(error)}") from error
    if parameter.kind is ValueKind.STRUCT:
        members = dict(_member(parameter, text) for text in value)
        return [members] if parameter.many else members
    return value


def _zipped(folder: Path) -> bytes:
    """Return a folder as a zip, without hidden files."""
    from metaserver.base.zips import files_in, zip_of

    named = files_in(folder)
    return zip_of((name, path) for name, path in named if not re.search(r"(?:^|/)[.]", name))


def _member(parameter: Parameter, text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON (a number, null, true), else a text."""
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise InputError(parameter.option, f"{text!r}; expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _query(outline: Outline, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as texts of a query: structs as JSON, truths as JSON has them."""
    kinds = {parameter.name: parameter.kind for parameter in outline.by_name}
    as_json = (ValueKind.STRUCT, ValueKind.ANY, ValueKind.TRUTH)
    return {
        name: json.dumps(value) if kinds[name] in as_json else value
        for name, value in values.items()
    }


def leave(hub: RemoteHub, path: str, places: Mapping[str, Any], out: Path) -> int:
    """Write a file returned by an operation to a new file; return its size.

    An incomplete file is removed.
    """
    if out.exists():
        raise InputError("--out", f"{out} is there already; expected a new file")
    draft = out.with_name(f".{out.name}.part")
    try:
        with files.create(draft) as file:
            size = fetch(hub, path, places, file)
        draft.replace(out)
    except OSError as error:
        raise InputError("--out", f"{out}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return size


def fetch(hub: RemoteHub, path: str, places: Mapping[str, Any], file: IO[bytes]) -> int:
    """Write what an operation answers in parts to an open file; return its size."""
    from metaserver.publication.folder import MOST_BYTES  # it loads much: only for such a command

    at, size = 0, 1
    while at < size:
        part = hub.ask("GET", path, places=places, query={"offset": at})
        content, total = base64.b64decode(part["content"]), part["size"]
        if not content or total > MOST_BYTES or (at and total != size):
            raise HubError(
                "the file was replaced while it was being fetched, or is too large; try again"
            )
        size = total
        file.write(content)
        at += len(content)
    return size
