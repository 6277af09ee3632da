"""Forms made from what operations are given, and what comes back of them."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta
from multidict import MultiDict

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Visibility
from metaserver.web.access.refusals import in_words, sentence
from metaserver.web.ui.forms import Form, Wording, values_of


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    """Limits."""

    servers: Annotated[int, Meta(ge=1, le=50, description="So many servers")] = 5
    timeout: float | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """An operation's values."""

    name: Annotated[str, Meta(pattern="^[a-z]+$", max_length=9, description="Its name")]
    title: str = ""
    count: Annotated[int, Meta(ge=1)] = 2
    kind: Literal["training", "test"] = "test"
    seen: Visibility = Visibility.OWN
    tasks: tuple[str, ...] = ()
    mail: bool = False
    opens: str | None = None
    limits: Inner = Inner()


NAMES = ("name", "title", "count", "kind", "seen", "tasks", "mail", "opens", "limits.servers",
         "limits.timeout")  # fmt: skip


def field(form, name):
    return next(one for one in form.fields if one.name == name)


def test_fields_come_from_the_struct():
    form = Form.of(Given, NAMES, wording={"tasks": Wording(choices=[("INT", "Interactors")])})
    kinds = {one.name: one.kind for one in form.fields}
    assert kinds == {
        "name": "text", "title": "text", "count": "number", "kind": "choice", "seen": "choice",
        "tasks": "choices", "mail": "check", "opens": "text", "limits.servers": "number",
        "limits.timeout": "number",
    }  # fmt: skip
    name, servers = field(form, "name"), field(form, "limits.servers")
    assert (name.required, name.help, dict(name.bounds)) == (True, "Its name", {"maxlength": 9})
    assert (servers.value, dict(servers.bounds)) == ("5", {"min": 1, "max": 50})
    assert field(form, "limits.timeout").value == ""
    assert field(form, "seen").value == "own"
    assert [value for value, _ in field(form, "seen").choices] == list(Visibility)
    assert field(form, "tasks").choices == [("INT", "Interactors")]
    assert field(form, "mail").value == ""


def test_a_form_is_filled_with_what_is_there():
    given = Given(name="ab", tasks=("INT", "ACT"), mail=True, limits=Inner(servers=9))
    form = Form.of(Given, NAMES, values=msgspec.to_builtins(given))
    assert field(form, "name").value == "ab"
    assert field(form, "tasks").given == ["INT", "ACT"]
    assert field(form, "mail").value == "True"
    assert field(form, "limits.servers").value == "9"


def test_what_was_sent_becomes_the_operations_values():
    sent = MultiDict(
        [("name", " ab "), ("title", ""), ("count", ""), ("kind", "training"), ("tasks", "INT"),
         ("tasks", "ACT"), ("opens", ""), ("limits.servers", "7"), ("limits.timeout", "")]
    )  # fmt: skip
    values = values_of(Given, NAMES, sent)
    assert values == {
        "name": "ab", "title": "", "kind": "training", "tasks": ("INT", "ACT"), "mail": False,
        "opens": "", "limits": {"servers": "7"},
    }  # fmt: skip
    assert msgspec.convert(values, Given, strict=False).limits == Inner(servers=7)
    assert values_of(Given, ("mail",), MultiDict(mail="true")) == {"mail": True}


def test_all_errors_are_told_at_their_fields_and_what_was_written_is_kept():
    sent = MultiDict(name="No!", count="0", kind="neither", title="kept")
    refused = RefusedError(Refusal.INVALID, "Expected `str` matching regex '…'", field="name")
    form = Form.of(Given, NAMES, values=sent, refused=refused, name="plan")
    errors = {one.name: one.error for one in form.fields if one.error}
    assert errors == {
        "name": "'N' is not allowed here.",
        "count": "Must be 1 or more.",
        "kind": "'neither' is not one of the choices.",
    }
    assert field(form, "title").value == "kept"
    assert field(form, "name").described_by == "plan-name-error plan-name-help"
    assert form.error == ""


def test_what_is_missing_is_required():
    refused = RefusedError(Refusal.INVALID, "is required", field="name")
    form = Form.of(Given, NAMES, values=MultiDict(name=" "), refused=refused)
    assert field(form, "name").error == "Is required."


def test_a_refusal_of_no_field_is_told_of_the_form():
    refused = RefusedError(Refusal.STATE, "a team has 5 servers at most: retire one")
    form = Form.of(Given, ("name",), values=MultiDict(name="ab"), refused=refused)
    assert form.error == "A team has 5 servers at most: retire one."
    assert field(form, "name").error == ""


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("is required", "Is required."),
        ("blue-1 takes no part", "blue-1 takes no part."),
        ("Expected `int`, got `str`", "Must be a whole number."),
        ("Expected `float | null`, got `str`", "Must be a number."),
        ("Expected `int` <= 1000", "Must be 1000 or less."),
        ("Expected `str` of length <= 200", "Is too long: expected at most 200 characters."),
        ("'XYZ' is none of ACT, INT", "'XYZ' is none of ACT, INT."),
    ],
)
def test_refusals_are_in_plain_words(told, said):
    assert sentence(told) == said
    assert in_words(RefusedError(Refusal.INVALID, told)) == said
