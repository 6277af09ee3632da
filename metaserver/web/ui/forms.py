"""Forms made from operations' requests: help and bounds from the structs, errors at fields.

A form is drawn by the macros in `templates/forms.html`. What comes back is turned into the values
of an operation by `values_of`; a refusal draws the form again, with all that was written in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, get_type_hints

import msgspec
from msgspec import NODEFAULT
from msgspec import inspect as kinds
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.operations.misfits import misfit, value_at
from metaserver.web.access.refusals import in_words, sentence

NUMBERS = (kinds.IntType, kinds.FloatType)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """Texts of a field beyond its struct: another label, help, kind or choices.

    `choices` are pairs of value and label, and so are `suggestions` for a text that may be another;
    `sends` is what a ticked box sends.
    """

    label: str = ""
    help: str = ""
    kind: str = ""
    choices: Sequence[tuple[str, str]] = ()
    suggestions: Sequence[tuple[str, str]] = ()
    sends: str = "true"


@dataclass(frozen=True, kw_only=True, slots=True)
class FormField:
    """A form field.

    `kind` is an input's type, or "choice" (one of `choices`), "choices" (any of them), "check",
    "files" or "long" (several lines of text). `given` is its text, `bounds` are attributes.
    """

    name: str
    label: str
    kind: str
    form: str = "form"
    help: str = ""
    given: Sequence[str] = ()
    choices: Sequence[tuple[str, str]] = ()
    suggestions: Sequence[tuple[str, str]] = ()
    bounds: Mapping[str, object]
    required: bool = False
    error: str = ""
    sends: str = "true"

    @property
    def value(self) -> str:
        """The text in a single-value field."""
        return self.given[0] if self.given else ""

    @property
    def id(self) -> str:
        """Its element's id."""
        return f"{self.form}-{self.name}"

    @property
    def described_by(self) -> str:
        """The ids of its help and its error, as far as it has them."""
        texts = {"error": self.error, "help": self.help}
        return " ".join(f"{self.id}-{kind}" for kind, text in texts.items() if text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A form's fields, and any refusal that belongs to no field; its name is unique on a page.

    `status` is its page's: 200, or the refusal's.
    """

    fields: Sequence[FormField]
    error: str = ""
    name: str = "form"
    status: int = 200

    def offering(self, name: str, choices: Sequence[tuple[str, str]]) -> Form:
        """Return the form in which one of some values is chosen for a field."""
        fields = [
            replace(field, kind="choice", choices=choices) if field.name == name else field
            for field in self.fields
        ]
        return replace(self, fields=fields)

    @classmethod
    def of(
        cls,
        struct: type[msgspec.Struct],
        names: Sequence[str],
        *,
        values: Mapping[str, Any] | None = None,
        wording: Mapping[str, Wording] | None = None,
        refused: RefusedError | None = None,
        name: str = "form",
    ) -> Form:
        """Return the form for some of a struct's fields; `limits.servers` is an inner struct's.

        `values` are those in it (a `MultiMapping` as posted, or builtins), else the struct's
        defaults.
        """
        wording = wording or {}
        known = _known(struct)
        at = refused.field if refused and refused.field in names else ""
        errors = _errors(struct, names, values) if isinstance(values, MultiMapping) else {}
        if refused and at:
            errors.setdefault(at, in_words(refused))
        fields = [
            _field(
                known[field],
                field,
                form=name,
                wording=wording.get(field, Wording()),
                texts=_texts(values, field, known[field]),
                error=errors.get(field, "") if refused else "",
            )
            for field in names
        ]
        error = in_words(refused) if refused and not at else ""
        status = refused.refusal if refused else 200
        return cls(fields=fields, error=error, name=name, status=status)


def values_of(
    struct: type[msgspec.Struct], names: Sequence[str], posted: MultiMapping[Any]
) -> dict[str, Any]:
    """Return an operation's values from a form that was sent.

    Texts come as they are, also empty; a number or a choice that was left empty is left out.
    """
    fields, values = _known(struct), dict[str, Any]()
    for name in names:
        *outer, last = name.split(".")
        inner = values
        for step in outer:
            inner = inner.setdefault(step, {})
        texts = [text for text in posted.getall(name, ()) if isinstance(text, str)]
        if (value := _value(fields[name], texts)) is not None:
            inner[last] = value
    return values


def _errors(
    struct: type[msgspec.Struct], names: Sequence[str], posted: MultiMapping[Any]
) -> dict[str, str]:
    """Return what is wrong with each value by itself: all of it, not only the first.

    Inner structs are left to the operation.
    """
    hints = get_type_hints(struct, include_extras=True)
    fields, values, errors = _known(struct), values_of(struct, names, posted), dict[str, str]()
    for name in names:
        if isinstance(_kind(fields[name]), kinds.BytesType):
            continue  # a file: whoever takes it looks at it
        if fields[name].required and not values.get(name):
            errors[name] = "Is required."
        elif name in values and name in hints:
            try:
                msgspec.convert(values[name], hints[name], strict=False)
            except msgspec.ValidationError as error:
                message, _, path = str(error).partition(" - at `$")
                errors[name] = sentence(misfit(message, value_at(values[name], path)))
    return errors


def _value(field: kinds.Field, texts: Sequence[str]) -> Any:
    kind = _kind(field)
    if isinstance(kind, kinds.VarTupleType | kinds.ListType):
        return tuple(text.strip() for text in texts if text.strip())
    if isinstance(kind, kinds.BoolType):
        return bool(texts)
    text = texts[0].strip().replace("\r\n", "\n") if texts else ""  # as browsers end lines
    if isinstance(kind, kinds.StrType) and _input_of(field) != "choice":  # there "" is none of them
        return text if texts else None
    return text or None


def _known(struct: type[msgspec.Struct]) -> Mapping[str, kinds.Field]:
    """Return a struct's fields by name, those of inner structs as `outer.inner`."""
    info = kinds.type_info(struct)
    assert isinstance(info, kinds.StructType)
    return dict(_flat(info, ""))


def _flat(struct: kinds.StructType, prefix: str) -> Iterator[tuple[str, kinds.Field]]:
    for field in struct.fields:
        name = f"{prefix}{field.name}"
        kind = _kind(field)
        if isinstance(kind, kinds.StructType):
            yield from _flat(kind, f"{name}.")
        else:
            yield name, field


def _layers(field: kinds.Field) -> Iterator[kinds.Type]:
    """Yield a field's type and what it is wrapped around: metadata, optional values."""
    kind = field.type
    while True:
        yield kind
        if isinstance(kind, kinds.Metadata):
            kind = kind.type
        elif isinstance(kind, kinds.UnionType):
            kind = next(layer for layer in kind.types if not isinstance(layer, kinds.NoneType))
        else:
            return


def _kind(field: kinds.Field) -> kinds.Type:
    *_, kind = _layers(field)
    return kind


def _said(field: kinds.Field, name: str) -> str:
    """Return what the field's metadata say: its `title`, or its `description`."""
    for layer in _layers(field):
        if isinstance(layer, kinds.Metadata) and name in (layer.extra_json_schema or {}):
            return str(layer.extra_json_schema[name])  # type: ignore[index]
    return ""


def _input_of(field: kinds.Field) -> str:
    """Return the kind of input that the field's metadata name, `Meta(extra=LONG)`."""
    for layer in _layers(field):
        if isinstance(layer, kinds.Metadata) and "input" in (layer.extra or {}):
            return str(layer.extra["input"])  # type: ignore[index]
    return ""


def _field(
    field: kinds.Field,
    name: str,
    *,
    form: str,
    wording: Wording,
    texts: Sequence[str],
    error: str,
) -> FormField:
    kind = _kind(field)
    choices = wording.choices or [(value, value) for value in _values(kind)]
    kind_of_input = wording.kind or _input_of(field)
    if kind_of_input == "password":
        texts = ()  # a secret is not written into a page, not even of whom it came from
    return FormField(
        name=name,
        label=wording.label or _said(field, "title") or field.name.replace("_", " ").capitalize(),
        kind=kind_of_input or _input(kind, choices),
        form=form,
        help=wording.help or _said(field, "description"),
        given=texts,
        choices=choices,
        suggestions=wording.suggestions,
        bounds=_bounds(kind),
        required=field.required,
        error=error,
        sends=wording.sends,
    )


def _input(kind: kinds.Type, choices: Sequence[tuple[str, str]]) -> str:
    if isinstance(kind, kinds.BoolType):
        return "check"
    if isinstance(kind, kinds.VarTupleType | kinds.ListType):
        return "choices"
    if isinstance(kind, NUMBERS):
        return "number"
    return "choice" if choices else "text"


def _values(kind: kinds.Type) -> Sequence[str]:
    if isinstance(kind, kinds.EnumType):
        return [str(member.value) for member in kind.cls]
    if isinstance(kind, kinds.LiteralType):
        return [str(value) for value in kind.values]
    return ()


def _bounds(kind: kinds.Type) -> Mapping[str, object]:
    if isinstance(kind, kinds.StrType):
        return {} if kind.max_length is None else {"maxlength": kind.max_length}
    if isinstance(kind, NUMBERS):
        bounds = {"min": kind.ge, "max": kind.le}
        step = {"step": "any"} if isinstance(kind, kinds.FloatType) else {}
        return {name: value for name, value in bounds.items() if value is not None} | step
    return {}


def _texts(values: Mapping[str, Any] | None, name: str, field: kinds.Field) -> Sequence[str]:
    """Return the texts in a field."""
    if isinstance(values, MultiMapping):
        return [text for text in values.getall(name, ()) if isinstance(text, str)]
    value = field.default if field.default is not NODEFAULT else ""
    if values is not None:
        value = _inner(values, name, value)
    return [_text(item) for item in (value if isinstance(value, list | tuple) else [value])]


def _inner(values: Mapping[str, Any], name: str, otherwise: Any) -> Any:
    value: Any = values
    for step in name.split("."):
        value = value.get(step, otherwise) if isinstance(value, Mapping) else otherwise
    return value


def _text(value: Any) -> str:
    if value is None or value is False:
        return ""
    return str(value.value if isinstance(value, Enum) else value)
