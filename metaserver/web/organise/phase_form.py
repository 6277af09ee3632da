"""The form of a phase: its sections and steps, their fields and files, questions about dates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from multidict import MultiMapping

from metaserver.base import zones
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import (
    DATES,
    ArticlePolicy,
    InferredConfidence,
    Normalisation,
    ShownUsage,
    TeamNames,
    Ties,
)
from metaserver.base.states import Visibility
from metaserver.operations.corpora import CorpusDetail
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.phases import PhaseDetail, PhasePlanDetail
from metaserver.tasks.plugin import TaskPlugin, answered_tasks, installed_tasks, offline_tasks
from metaserver.web.ui.forms import Form, FormField, Wording

READING = "-reading"
"""The end of the name of a question about a date."""
CORPUS_FILE = "corpus-file"
GOLD_FILES: Mapping[str, str] = {
    f"gold-{task}": task for task in (*answered_tasks(), *offline_tasks())
}
"""The names of the gold file fields, with their tasks."""

USAGE = ("usage.boards", "usage.currency")
ANSWERS = ("answers.normalise", "answers.confidence", "answers.mention_type")
RANKING = tuple(f"ranking.{name}" for name in ("min_coverage", "articles", "measure", "ties"))
FIXED = ("corpus", "release", "tasks", "public_share", *ANSWERS)
"""The fields that cannot be changed once there is a run."""

OF_SERVERS = frozenset(
    {"corpus", "release", "public_share", *ANSWERS, *USAGE, "limits.servers", "limits.timeout"}
    | {"limits.attempts", "limits.concurrency", "limits.answer_bytes"}
)
"""The fields that a phase of uploads has no use for."""


class Family(StrEnum):
    """How runs come into a phase: it has tasks of one family."""

    SERVERS = "servers"
    UPLOADS = "uploads"

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """Return the fields that a phase of this family has."""
        return [name for name in names if self is Family.SERVERS or name not in OF_SERVERS]

    def tasks(self) -> Wording:
        """Return the choices of its tasks."""
        is_served = self is Family.SERVERS
        tasks: list[TaskPlugin] = [*(answered_tasks() if is_served else offline_tasks()).values()]
        asked = "What servers are asked for. None chosen: all, mentions only if they have gold."
        sent = "What teams upload, without a corpus. A task takes runs once it has gold."
        return Wording(
            label=f"Tasks: {'servers answer' if is_served else 'files are uploaded'}",
            help=asked if is_served else sent,
            choices=[(task.name, f"{task.name} – {task.title}") for task in tasks],
        )


VISIBLE = {
    Visibility.HIDDEN: "nobody, until you change this",
    Visibility.OWN: "each team its own runs",
    Visibility.PUBLIC: "everybody, all runs",
}


def _measures() -> Sequence[tuple[str, str]]:
    """Return the measures that places can be by, each with its tasks; the first is no choice."""
    tasks: dict[str, list[str]] = {}
    for name, task in installed_tasks().items():
        for column in task.columns:
            if column.ranks:
                tasks.setdefault(column.key, []).append(name)
    options = [(key, f"{key} ({', '.join(names)})") for key, names in sorted(tasks.items())]
    return [("", "each task’s first"), *options]


WORDING: Mapping[str, Wording] = {
    "phase": Wording(
        label="Name",
        help=f"In addresses and files; it cannot be changed later. {NAME_HELP.capitalize()}.",
    ),
    "title": Wording(help="What people read, such as “Test phase”."),
    "kind": Wording(label="Kind", choices=[("test", "test"), ("training", "training")]),
    "visibility": Wording(
        label="Who sees the scores",
        help="Organisers always see them.",
        choices=[
            (visibility.value, f"{visibility} – {who}") for visibility, who in VISIBLE.items()
        ],
    ),
    "team_names": Wording(
        label="Teams' names",
        help="On boards and the monitor; each team sees its own.",
        choices=[
            (TeamNames.SHOWN.value, "shown to everybody"),
            (TeamNames.HIDDEN.value, "hidden until the phase is frozen"),
        ],
    ),
    "public_share": Wording(
        label="Public part of the gold",
        help="The share of its articles, drawn in secret, that scores use while a test phase is"
        " open: 0.5 is half, 1 is all. After the freeze, all articles count.",
    ),
    "usage.boards": Wording(
        label="Tokens and costs",
        help="Those that teams declare with their answers, shown beside the scores.",
        choices=[
            (ShownUsage.HIDDEN.value, "each team sees its own"),
            (ShownUsage.SHOWN.value, "shown to whoever sees the score"),
        ],
    ),
    "usage.currency": Wording(
        label="Currency of costs",
        help="Three letters; costs in other currencies are left out of means.",
    ),
    "answers.normalise": Wording(
        label="Strings that contain an accession",
        help="Such as isoforms, prefixes, small letters.",
        choices=[
            ("", "the hub’s own setting"),
            (Normalisation.STRICT.value, "are refused, with advice"),
            (Normalisation.MEND.value, "count as that accession, with a note"),
        ],
    ),
    "answers.confidence": Wording(
        label="Hits without a confidence",
        help="From servers that are older than the contract.",
        choices=[
            ("", "the hub’s own setting"),
            (InferredConfidence.REQUIRED.value, "are dropped"),
            (InferredConfidence.RANK.value, "have one that falls with the rank"),
        ],
    ),
    "answers.mention_type": Wording(
        label="Type of mentions without one",
        help="Such as “protein”. Empty: the hub's own setting.",
    ),
    "ranking.min_coverage": Wording(
        label="Least coverage",
        help="The share of the articles that a run has to answer for a place: 0.9 is 90 %.",
    ),
    "ranking.articles": Wording(
        label="Articles that count",
        choices=[
            (ArticlePolicy.ALL.value, "all: one without an answer counts as zero"),
            (ArticlePolicy.ANSWERED.value, "answered ones only, as BioCreative II.5 published"),
        ],
    ),
    "ranking.measure": Wording(
        label="Measure of the places",
        help="A task without that measure uses its first one.",
        choices=_measures(),
    ),
    "ranking.ties": Wording(
        label="Runs that are equal",
        help="If the confidence is equal too, they share a place.",
        choices=[
            (Ties.CONFIDENCE.value, "come by their average confidence"),
            (Ties.SHARE.value, "share a place"),
        ],
    ),
    "limits.timeout": Wording(
        label="Time limit", help="Seconds per article; empty: the hub's own setting."
    ),
    "limits.attempts": Wording(
        label="Attempts", help="Per article, at most; empty: the hub's own setting."
    ),
    "limits.concurrency": Wording(
        label="Requests at a time", help="Per server, at most; empty: any number."
    ),
    "limits.answer_bytes": Wording(
        label="Size of an answer", help="Bytes, at most; empty: the hub's own setting."
    ),
    "limits.servers": Wording(label="Servers", help="Per team, at most."),
    "limits.runs": Wording(label="Offline runs", help="Per team and task, at most."),
    "limits.uploads.a_day": Wording(
        label="Uploads in 24 hours", help="Per team and task, at most; replacements count."
    ),
    "limits.uploads.total": Wording(
        label="Uploads in all",
        help="Per team and task, at most: each reveals a little of the gold.",
    ),
}


class FormSection(NamedTuple):
    """A section: its step, title, what it asks, its fields, and those that are folded."""

    step: int
    title: str
    text: str
    fields: Sequence[FormField]
    advanced: Sequence[FormField]

    @property
    def unfolded(self) -> bool:
        """True if a folded field is wrong: the viewer must see it."""
        return any(field.error for field in self.advanced)


STEPS = ("What it is", "Data and limits", "When, and who sees what", "Launch check")
"""The titles of the steps in which a phase is planned."""
CHECK = len(STEPS)
"""The number of the last step."""
SECTIONS: Sequence[tuple[int, str, str, Sequence[str], Sequence[str]]] = (
    (
        1,
        "What it is",
        "Its tasks, of one kind, and what it is called.",
        ("tasks", "title", "phase", "kind"),
        (),
    ),
    (
        2,
        "Articles",
        "What is sent to servers.",
        ("corpus", CORPUS_FILE),
        ("release", *ANSWERS),
    ),
    (
        2,
        "Limits",
        "What teams may do, and how long their servers may take.",
        ("limits.servers", "limits.runs", "limits.uploads.a_day", "limits.uploads.total"),
        ("limits.timeout", "limits.attempts", "limits.concurrency", "limits.answer_bytes"),
    ),
    (
        3,
        "When",
        "When the phase changes by itself. Without dates, you change its state.",
        DATES,
        (),
    ),
    (
        3,
        "Who sees",
        "Who sees the scores before you publish them; under Advanced, how runs get their places.",
        ("visibility", "team_names"),
        ("public_share", *USAGE, *RANKING),
    ),
    (
        CHECK,
        "Gold",
        "If a file cannot be used, no phase is planned.",
        tuple(GOLD_FILES),
        (),
    ),
)
"""The sections: step, title, text, field names, and folded field names."""
STEP_OF: Mapping[str, int] = {
    name: step for step, _, _, names, folded in SECTIONS for name in (*names, *folded)
}
"""The step that asks for a field."""
FIELDS = tuple(name for name in STEP_OF if name not in {CORPUS_FILE, *GOLD_FILES})
"""The fields of a phase, without its files."""


def sections(form: Form) -> Sequence[FormSection]:
    """Return a form's sections that have fields."""
    by_name: dict[str, list[FormField]] = {}
    for field in form.fields:  # a question about a field comes after it
        by_name.setdefault(field.name.removesuffix(READING), []).append(field)

    def of(names: Sequence[str]) -> Sequence[FormField]:
        return [field for name in names for field in by_name.get(name, ())]

    asked_for = [
        FormSection(step, title, text, of(names), of(folded))
        for step, title, text, names, folded in SECTIONS
    ]
    return [section for section in asked_for if section.fields or section.advanced]


# -- files and questions ---------------------------------------------------------------------------


def with_uploaded_tasks(form: Form) -> Form:
    """Return the form of a new phase that also offers the tasks whose files are uploaded."""

    def more(field: FormField) -> Iterator[FormField]:
        if field.name == "tasks":
            offered = Family.UPLOADS.tasks()
            yield dataclasses.replace(
                field,
                form="uploaded",
                label=offered.label,
                help=offered.help,
                choices=offered.choices,
                error="",
            )

    return _with_more(form, more)


def _with_more(form: Form, more: Callable[[FormField], Iterable[FormField]]) -> Form:
    """Return the form with more fields, each after the field that it belongs to."""
    fields = [shown for field in form.fields for shown in (field, *more(field))]
    return dataclasses.replace(form, fields=fields)


def with_files(form: Form, family: Family, tasks: Sequence[str], errors: Mapping[str, str]) -> Form:
    """Return the form of a new phase with the fields of its files: gold for its tasks alone."""
    files = [
        _file(name, f"Gold of {task}", errors, "It can also be set later.")
        for name, task in GOLD_FILES.items()
        if task in (tasks or answered_tasks())
    ]
    if family is Family.SERVERS:
        text = (
            "Articles as text, XML, JSON, or a zip of such files. They become a corpus with the"
            " phase's name, which replaces the choice above."
        )
        files.append(_file(CORPUS_FILE, "Or import a corpus now", errors, text))
    return dataclasses.replace(form, fields=[*form.fields, *files])


def _file(name: str, label: str, errors: Mapping[str, str], text: str) -> FormField:
    return FormField(
        name=name, label=label, kind="file", help=text, bounds={}, error=errors.get(name, "")
    )


def with_questions(form: Form, submitted: MultiMapping[Any] | None, zone: str, now: float) -> Form:
    """Return the form with a question after each date that was sent and needs it.

    For a local time that comes twice or does not exist, one of two readings is to be chosen; a date
    in the past is to be confirmed.
    """
    if submitted is None:
        return form
    return _with_more(form, lambda field: _questions(field, zone, now))


def _questions(field: FormField, zone: str, now: float) -> Iterator[FormField]:
    if field.name not in DATES or not field.error:
        return
    name, text = f"{field.name}{READING}", field.value
    if instants := zones.readings(text, zone):
        choices = [
            (f"{text}|{instant.isoformat()}", f"{instant:%Y-%m-%d %H:%M}, UTC{instant:%z}")
            for instant in instants
        ]
        yield FormField(
            name=name,
            label=f"{field.label.partition(',')[0]}: which moment?",
            kind="choice",
            choices=[("", "choose"), *choices],
            bounds={},
            required=True,
        )
    elif _is_past(text, zone, now):
        yield FormField(
            name=name,
            label=f"Yes, {field.name} is past and takes effect at once",
            kind="check",
            bounds={},
        )


def read_dates(
    values: Mapping[str, Any], submitted: MultiMapping[Any], zone: str, now: float
) -> dict[str, Any] | RefusedError:
    """Return values with the dates that were chosen; or why a date is not clear.

    A date in the past is refused unless it was confirmed.
    """
    with_dates = dict(values)
    for name in DATES:
        if not (text := str(values.get(name) or "")):
            continue
        with_dates[name] = text = chosen(name, text, submitted)
        if _is_past(text, zone, now) and not submitted.get(f"{name}{READING}"):
            message = f"{text.replace('T', ' ')} is past: confirm it, or enter another date"
            return RefusedError(Refusal.INVALID, message, field=name)
    return with_dates


def chosen(name: str, text: str, submitted: MultiMapping[Any]) -> str:
    """Return a date as it was written, or the moment of it that was chosen."""
    written_as, _, moment = str(submitted.get(f"{name}{READING}", "")).partition("|")
    return moment if moment and written_as == text else text


def _is_past(text: str, zone: str, now: float) -> bool:
    try:
        return zones.read_moment(text, zone).timestamp() < now
    except ValueError:
        return False  # the operation says what is wrong with it


# -- values ----------------------------------------------------------------------------------------


def other_zone(
    phase: PhaseDetail, submitted: MultiMapping[Any], values: Mapping[str, Any]
) -> RefusedError | None:
    """Return why dates cannot be read: the form that they were written in was of another zone."""
    dated = next((name for name in DATES if values.get(name)), None)
    if dated is None or submitted.get("timezone", phase.timezone) == phase.timezone:
        return None
    message = f"the challenge's time zone has been changed to {phase.timezone}: enter it again"
    return RefusedError(Refusal.STATE, message, field=dated)


def form_values(phase: PhaseDetail, plan: PhasePlanDetail) -> dict[str, Any]:
    """Return the values in a phase's form."""
    values: dict[str, Any] = {name: written(getattr(phase, name)) for name in DATES}
    for name in ("title", "kind", "visibility", "team_names", "public_share", "release"):
        values[name] = getattr(phase, name)
    inner = {
        name: msgspec.to_builtins(getattr(phase, name)) for name in ("ranking", "limits", "usage")
    }
    values |= {"tasks": plan.tasks, "answers": msgspec.to_builtins(plan.answers)}
    return values | inner


def written(at: datetime | None) -> str:
    """Write a moment as a browser's form does, in the phase's zone."""
    if at is None:
        return ""
    return f"{at:%Y-%m-%dT%H:%M}" if not at.second else f"{at:%Y-%m-%dT%H:%M:%S}"


def date_wording(zone: str) -> dict[str, Wording]:
    """Return the labels and help of the dates of a phase in a time zone."""
    help_texts = {
        "opens": "Articles are sent from then on; empty: you open it yourself.",
        "freezes": "No article is sent from then on; empty: you freeze it yourself.",
        "closes": "The phase is over then; empty: you close it yourself.",
    }
    return {
        name: Wording(
            label=f"{name.capitalize()}, {zone} time", kind="datetime-local", help=help_texts[name]
        )
        for name in DATES
    }


def corpus_choices(corpora: Sequence[CorpusDetail]) -> Wording:
    """Return the choices of a corpus."""
    return Wording(
        help="The articles, in the order in which they are sent. Choose one, or import one below.",
        choices=[
            ("", "choose"),
            *(
                (
                    f"{corpus.corpus}@{corpus.version}",
                    f"{corpus.corpus}, version {corpus.version} (articles: {corpus.articles:,})",
                )
                for corpus in corpora
            ),
        ],
    )


def release_choices(releases: Sequence[str]) -> Wording:
    """Return the choices of a UniProt release."""
    return Wording(
        label="UniProt release",
        help="Accessions in answers are checked against it.",
        choices=[(name, name) for name in releases],
    )
