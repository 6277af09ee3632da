"""Models as JSON: written, and read back with every problem named.

A model file comes from somewhere else: it is bounded before it is read, nothing in it is code, and
every number is checked, since one NaN would reach every candidate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from scoring.consensus.features import MEMBER_FEATURES, PANEL_FEATURES
from scoring.consensus.model import METHODS, ConsensusModel, Member, Quality
from scoring.errors import Problems
from scoring.tasks import Task

FORMAT, VERSION = "biocreative-consensus", 1
MOST_BYTES = 1 << 20
MOST_MEMBERS = 1000
MOST_CHARACTERS = 200
MOST_WEIGHT = 1e6
MOST_COUNT = 1_000_000_000

_FIELDS = (
    "task", "method", "members", "panel", "bias", "threshold", "training_cutoff",
    "selection_cutoff", "articles", "gold", "quality",
)  # fmt: skip
_QUALITY = ("folds", "auc_ipr", "f_score", "best_member", "calibration_error")


def model_text(model: ConsensusModel) -> str:
    """Return a model as JSON, one line a member, with a line end."""
    values = asdict(model)
    members = ",\n".join(f"    {json.dumps(one)}" for one in values.pop("members"))
    head = {"format": FORMAT, "version": VERSION, **values}
    text = json.dumps(head, indent=2)
    return f'{text[:-2]},\n  "members": [\n{members}\n  ]\n}}\n'


def write_model(model: ConsensusModel, path: Path) -> None:
    """Write a model file; raises `FormatError` for one that could not be read back."""
    text = model_text(model)
    parse_model(text.encode(), str(path))
    path.write_text(text, encoding="utf-8")


def read_model(path: Path) -> ConsensusModel:
    """Read a model file; raises `FormatError` with its problems, or `OSError`."""
    with path.open("rb") as file:
        return parse_model(file.read(MOST_BYTES + 1), str(path))


def parse_model(content: bytes, name: str = "model") -> ConsensusModel:
    """Return the model in a file's bytes; raises `FormatError` with all that is wrong in them.

    The file has at most 1 MiB.
    """
    problems = Problems()

    def refuse(message: str) -> NoReturn:
        problems.add(name, 0, 0, message)
        problems.finish()
        raise AssertionError("finish raises")

    if len(content) > MOST_BYTES:
        refuse(f"more than {MOST_BYTES:,} bytes; expected a model")
    try:
        values = json.loads(
            content.decode(), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        refuse(f"not JSON: {error}" if isinstance(error, ValueError) else "nested too deeply")
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        refuse(f"no consensus model; expected an object whose format is {FORMAT!r}")
    if values.get("version") != VERSION or isinstance(values["version"], bool):
        found = values.get("version")
        refuse(f"version {found!r:.40}; this program reads version {VERSION}")
    model = _Checker(lambda message: problems.add(name, 0, 0, message)).model(values)
    problems.finish()
    return model


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("an object has a name twice")
    return values


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


class _Checker:
    """The values of a model, checked one by one: each problem is reported with its path.

    What is wrong is replaced by a value of its type, so that checking goes on.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._problem = report

    def model(self, values: Mapping[str, Any]) -> ConsensusModel:
        given = self._object(values, ("format", "version", *_FIELDS), "the model")
        threshold, quality = given["threshold"], given["quality"]
        return ConsensusModel(
            task=Task(self._one_of(given["task"], (Task.INT, Task.IPT), "task")),
            method=self._one_of(given["method"], METHODS, "method"),
            members=self._members(given["members"]),
            panel=self._numbers(given["panel"], PANEL_FEATURES, "panel"),
            bias=self._number(given["bias"], "bias"),
            threshold=None if threshold is None else self._share(threshold, "threshold"),
            training_cutoff=self._count(given["training_cutoff"], "training_cutoff", least=1),
            selection_cutoff=self._count(given["selection_cutoff"], "selection_cutoff", least=1),
            articles=self._count(given["articles"], "articles"),
            gold=self._text(given["gold"], "gold"),
            quality=None if quality is None else self._quality(quality),
        )

    def _members(self, values: Any) -> tuple[Member, ...]:
        if not isinstance(values, list) or not 1 <= len(values) <= MOST_MEMBERS:
            self._problem(f"members: expected a list of 1 to {MOST_MEMBERS}")
            return ()
        members = []
        for number, value in enumerate(values):
            where = f"members[{number}]"
            given = self._object(value, ("name", "team", "weights"), where)
            members.append(
                Member(
                    name=self._text(given["name"], f"{where}.name", least=1),
                    team=self._text(given["team"], f"{where}.team"),
                    weights=self._numbers(given["weights"], MEMBER_FEATURES, f"{where}.weights"),
                )
            )
        if len({member.name for member in members}) < len(members):
            self._problem("members: a name is there twice")
        return tuple(members)

    def _quality(self, values: Any) -> Quality:
        given = self._object(values, _QUALITY, "quality")
        error = given["calibration_error"]
        return Quality(
            folds=self._count(given["folds"], "quality.folds", least=1),
            auc_ipr=self._share(given["auc_ipr"], "quality.auc_ipr"),
            f_score=self._share(given["f_score"], "quality.f_score"),
            best_member=self._share(given["best_member"], "quality.best_member"),
            calibration_error=None
            if error is None
            else self._share(error, "quality.calibration_error"),
        )

    def _object(self, values: Any, names: tuple[str, ...], where: str) -> Mapping[str, Any]:
        """Return an object with just these names; those that lack are None."""
        if not isinstance(values, dict):
            self._wrong(where, values, "an object")
            return dict.fromkeys(names)
        for name in values.keys() - {*names}:
            self._problem(f"{where}: {name!r:.60}, which it does not have")
        for name in names:
            if name not in values:
                self._problem(f"{where}: no {name!r}")
        return {name: values.get(name) for name in names}

    def _one_of(self, value: Any, allowed: Sequence[str], where: str) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        self._wrong(where, value, f"one of {', '.join(allowed)}")
        return allowed[0]

    def _text(self, value: Any, where: str, *, least: int = 0) -> str:
        fits = isinstance(value, str) and least <= len(value) <= MOST_CHARACTERS
        if fits and value.isprintable():
            return str(value)
        self._wrong(where, value, f"{least} to {MOST_CHARACTERS} printable characters")
        return ""

    def _numbers(self, values: Any, names: Sequence[str], where: str) -> tuple[float, ...]:
        if isinstance(values, list) and len(values) == len(names):
            return tuple(self._number(one, f"{where}[{at}]") for at, one in enumerate(values))
        self._wrong(where, values, f"a list of {len(names)} numbers")
        return (0.0,) * len(names)

    def _number(self, value: Any, where: str) -> float:
        if _is_number(value) and -MOST_WEIGHT <= value <= MOST_WEIGHT:
            return float(value)
        self._wrong(where, value, f"a number from {-MOST_WEIGHT:g} to {MOST_WEIGHT:g}")
        return 0.0

    def _share(self, value: Any, where: str) -> float:
        if _is_number(value) and 0 <= value <= 1 and (value < 1 or where != "threshold"):
            return float(value)
        self._wrong(where, value, "a number from 0 to 1")
        return 0.0

    def _count(self, value: Any, where: str, *, least: int = 0) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST_COUNT:
            return value
        self._wrong(where, value, f"an integer from {least} to {MOST_COUNT}")
        return least

    def _wrong(self, where: str, value: Any, expected: str) -> None:
        self._problem(f"{where}: {_shown(value)}; expected {expected}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _shown(value: Any) -> str:
    """Return a value in short; of a list or object its kind, which may be huge."""
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return f"{value!r:.60}"
