"""The methods behind a package's runs, as their teams described them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from metaserver.base.boards import HEADINGS, MethodDescription
from metaserver.publication.source import PhaseSource
from scoring.tables import Cell, Table


class DescribedRun(NamedTuple):
    """A run, its team and its method; what its team did not say is empty."""

    run: str
    team: str
    method: MethodDescription


def run_methods(source: PhaseSource) -> Sequence[DescribedRun]:
    """Return the boards' runs with their methods, ordered by team and name."""
    views = (view for frozen in source.frozen.values() for view in frozen.views.values())
    teams = {row.run: row.title or row.team for view in views for row in view.rows}
    described = {str(run): method for run, method in source.methods.items()}
    return [
        DescribedRun(run, team, described.get(run, MethodDescription()))
        for run, team in sorted(teams.items(), key=lambda run_and_team: run_and_team[::-1])
    ]


def methods_table(runs: Sequence[DescribedRun]) -> Table:
    """Return the methods, a row a run."""
    header: list[Cell] = ["run", "team", *HEADINGS]
    return [
        header,
        *([run.run, run.team, *msgspec.structs.astuple(run.method)] for run in runs),
    ]
