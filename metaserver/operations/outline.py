"""Operations outlined in plain values, from which documents, help and commands are derived.

A parameter's help is its `Meta(description=...)`; an operation's text is its docstring, a result's
its struct's docstring.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import inspect

from metaserver.base.states import Role
from metaserver.operations.table import Operation

PREFIX = "/api/v1"
FILE_NAME = "source"
"""The field with an uploaded file's name."""


class ValueKind(StrEnum):
    """A value's kind, in a word."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "true or false"
    FILE = "file"  # bytes: base64 in JSON and XML-RPC
    STRUCT = "struct"
    ANY = "any"


RPC_TYPES = {
    ValueKind.TEXT: "string",
    ValueKind.INTEGER: "int",
    ValueKind.NUMBER: "double",
    ValueKind.TRUTH: "boolean",
    ValueKind.FILE: "base64",
    ValueKind.STRUCT: "struct",
    ValueKind.ANY: "struct",
}

_KINDS: dict[type[inspect.Type], ValueKind] = {
    inspect.StrType: ValueKind.TEXT,
    inspect.EnumType: ValueKind.TEXT,
    inspect.LiteralType: ValueKind.TEXT,
    inspect.DateTimeType: ValueKind.TEXT,
    inspect.IntType: ValueKind.INTEGER,
    inspect.FloatType: ValueKind.NUMBER,
    inspect.BoolType: ValueKind.TRUTH,
    inspect.BytesType: ValueKind.FILE,
    inspect.StructType: ValueKind.STRUCT,
    inspect.DataclassType: ValueKind.STRUCT,
    inspect.DictType: ValueKind.STRUCT,
}


LONG = 10_000
"""Above this length a text is more often a file than typed."""
HIDDEN = "secret"
"""The name of texts that others must not see, as they see a command line (`ps`)."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation's parameter, or a field in its result.

    `many`: a list of such values. `choices`: the allowed words; an allowed empty text is none of
    them, since it says the same as an omitted parameter. `members`: a struct's. `long`: a text that
    may have thousands of characters, or is secret, so that a command also reads it from a file.
    `default` is documentation only: the hub applies an omitted parameter's default.
    """

    name: str
    kind: ValueKind
    many: bool = False
    choices: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    in_path: bool = False
    required: bool = False
    long: bool = False
    default: str = ""
    help: str = ""

    @property
    def word(self) -> str:
        """Its type in words: "integer", "list of text", "a | b"."""
        words = " | ".join(self.choices) or str(self.kind)
        if self.members:
            words = f"{words} of {', '.join(self.members)}"
        return f"list of {words}" if self.many else words

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def rpc_type(self) -> str:
        """Its type in XML-RPC."""
        return "array" if self.many else RPC_TYPES[self.kind]


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation's result: a value, or `many`; `name`, `doc` and `fields` are a struct's."""

    kind: ValueKind
    name: str = ""
    doc: str = ""
    many: bool = False
    fields: tuple[Parameter, ...] = ()

    @property
    def rpc_type(self) -> str:
        """Its type in XML-RPC."""
        return "array" if self.many else RPC_TYPES[self.kind]


class Outline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation; the parameters in its path come first.

    With a `report` it begins a background job, and returns its state.
    """

    name: str
    rpc: str
    method: str
    path: str
    doc: str
    role: Role | None = None
    parameters: tuple[Parameter, ...] = ()
    result: Result | None = None
    report: Result | None = None

    @classmethod
    @functools.cache
    def of(cls, operation: Operation) -> Outline:
        """Return an operation's outline."""
        return cls(
            name=operation.name,
            rpc=operation.rpc,
            method=operation.method,
            path=operation.path,
            role=operation.role,
            doc=_paragraphs(operation.doc),
            parameters=tuple(_parameters(operation)),
            result=_result(operation.result),
            report=_result(operation.report),
        )

    @property
    def noun(self) -> str:
        """Its name's noun: "servers"."""
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        """Its name's verb: "register"."""
        return self.name.partition(".")[2]

    @property
    def summary(self) -> str:
        """Its text's first sentence."""
        return self.doc.split("\n\n", 1)[0]

    @property
    def takes_file(self) -> bool:
        """True if a parameter is a file."""
        return any(parameter.kind is ValueKind.FILE for parameter in self.parameters)

    @property
    def gives_file(self) -> bool:
        """True if a result field is a file."""
        fields = self.result.fields if self.result else ()
        return any(field.kind is ValueKind.FILE for field in fields)

    @property
    def gives_rows(self) -> bool:
        """True if its result has lists of structs: boards have curves as well."""
        result = self.result
        if result is None:
            return False
        rows = any(field.many and field.kind is ValueKind.STRUCT for field in result.fields)
        return result.many or rows

    @property
    def in_path(self) -> Sequence[Parameter]:
        """The positional parameters: in the path, on the command line, in a call."""
        return [parameter for parameter in self.parameters if parameter.in_path]

    @property
    def by_name(self) -> Sequence[Parameter]:
        """The parameters given by name."""
        return [parameter for parameter in self.parameters if not parameter.in_path]

    @property
    def http(self) -> str:
        """Its spelling over HTTP."""
        return f"{self.method} {PREFIX}{self.path}"

    @property
    def call(self) -> str:
        """Its spelling in XML-RPC."""
        arguments = [
            *(["token"] if self.role else []),
            *(parameter.name for parameter in self.in_path),
        ]
        called = f"{self.rpc}({', '.join(arguments)}"
        if not self.by_name:
            return f"{called})"
        fields = ", ".join(parameter.name for parameter in self.by_name)
        comma = ", " if arguments else ""
        if any(parameter.required for parameter in self.by_name):
            return f"{called}{comma}{{{fields}}})"
        return f"{called}[{comma}{{{fields}}}])"

    @property
    def command(self) -> str:
        """Its spelling as a command."""
        words = ["metaserver", self.noun, self.verb, *(p.name.upper() for p in self.in_path)]
        options = [
            _option(parameter, needed=self.needs_option(parameter)) for parameter in self.by_name
        ]
        options += ["[--no-wait]"] if self.report else []
        options += ["[--out FILE]"] if self.in_parts else []
        return " ".join([*words, *options])

    @property
    def in_parts(self) -> bool:
        """True if it returns part of a file, from an offset on."""
        returned = {field.name for field in self.result.fields} if self.result else set()
        return {"offset", "size", "content"} <= returned

    def needs_option(self, parameter: Parameter) -> bool:
        """Return whether the command requires an option; the name of a file it knows itself."""
        return parameter.required and not (self.takes_file and parameter.name == FILE_NAME)


def _option(parameter: Parameter, *, needed: bool) -> str:
    text = f"{parameter.option} {metavar(parameter)}"
    if parameter.kind is ValueKind.TRUTH:
        text = f"{parameter.option} | --no-{parameter.option.removeprefix('--')}"
    return text if needed else f"[{text}]"


def metavar(parameter: Parameter) -> str:
    """Return an option value's placeholder: TEXT, N, a|b, FILE, NAME=VALUE."""
    words = {
        ValueKind.INTEGER: "N",
        ValueKind.NUMBER: "X",
        ValueKind.FILE: "FILE",
        ValueKind.STRUCT: "NAME=VALUE",
    }
    text = "TEXT|@FILE" if parameter.long else "TEXT"
    word = "|".join(parameter.choices) or words.get(parameter.kind, text)
    several = parameter.many or parameter.kind is ValueKind.STRUCT
    return f"{word} ..." if several else word


def _parameters(operation: Operation) -> list[Parameter]:
    fields = {field.name: field for field in _fields(operation.request)}
    positional = operation.positional
    first = [_parameter(fields.pop(name), in_path=True) for name in positional]
    return [*first, *(_parameter(field) for field in fields.values())]


def _fields(kind: type) -> Sequence[inspect.Field]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _parameter(field: inspect.Field, *, in_path: bool = False) -> Parameter:
    inner, words = _unwrapped(field.type)
    inner, more, many = _item(inner)
    return Parameter(
        name=field.encode_name,
        kind=_KINDS.get(type(inner), ValueKind.ANY),
        many=many,
        choices=_choices(inner),
        members=_members(inner),
        in_path=in_path,
        required=field.required,
        long=isinstance(inner, inspect.StrType)
        and (field.encode_name == HIDDEN or (inner.max_length or 0) > LONG),
        default=_default(field),
        help=words or more,
    )


def _unwrapped(described: inspect.Type) -> tuple[inspect.Type, str]:
    """Return a type without `None` and metadata, and the description in its metadata."""
    words = ""
    while True:
        if isinstance(described, inspect.Metadata):
            words = words or (described.extra_json_schema or {}).get("description", "")
            described = described.type
        elif isinstance(described, inspect.UnionType):
            inner = [kind for kind in described.types if not isinstance(kind, inspect.NoneType)]
            if len(inner) != 1:
                return described, words
            [described] = inner
        else:
            return described, words


def _item(described: inspect.Type) -> tuple[inspect.Type, str, bool]:
    """Return the item type of a list, its description, and whether the type is a list at all."""
    if isinstance(described, inspect.CollectionType | inspect.VarTupleType):
        return *_unwrapped(described.item_type), True
    return described, "", False


def _choices(described: inspect.Type) -> tuple[str, ...]:
    values: Iterable[object] = ()
    if isinstance(described, inspect.EnumType):
        values = (member.value for member in described.cls)
    elif isinstance(described, inspect.LiteralType):
        values = described.values
    return tuple(str(value) for value in values if value != "")


def _members(described: inspect.Type) -> tuple[str, ...]:
    if isinstance(described, inspect.StructType | inspect.DataclassType):
        return tuple(field.encode_name for field in described.fields)
    return ()


def _default(field: inspect.Field) -> str:
    """Return a default in words; empty for no default, an empty value or a struct."""
    default = msgspec.to_builtins(field.default) if field.default is not msgspec.NODEFAULT else None
    if default is None or default == "" or isinstance(default, dict | list | tuple):
        return ""
    return default if isinstance(default, str) else msgspec.json.encode(default).decode()


def _result(returned: Any) -> Result | None:
    if returned is None:
        return None
    described, _ = _unwrapped(inspect.type_info(returned))
    if isinstance(described, inspect.NoneType):
        return None
    described, _, many = _item(described)
    kind = _KINDS.get(type(described), ValueKind.ANY)
    if not isinstance(described, inspect.StructType | inspect.DataclassType):
        return Result(kind=kind, many=many)
    fields = tuple(_parameter(field) for field in described.fields)
    doc = _paragraphs(described.cls.__doc__ or "")
    return Result(kind=kind, name=described.cls.__name__, doc=doc, many=many, fields=fields)


def _paragraphs(doc: str) -> str:
    """Return a docstring with each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in doc.strip().split("\n\n"))
