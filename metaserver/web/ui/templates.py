"""The Jinja templates."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from metaserver.base.errors import counted
from metaserver.base.plans import in_percent
from metaserver.base.states import OPEN_STATES, ServerState
from metaserver.exchange.protocols.installed import protocol_title
from metaserver.web.access.visitor import only_challenge, visitor
from metaserver.web.manual.library import address_of, linked
from metaserver.web.public import monitor
from metaserver.web.public.articles import LEVEL_HELP
from metaserver.web.public.leaderboard import POLICIES, SHOWS, VIEW_HELP
from metaserver.web.public.sites import base_of, run_path, site, team_path
from metaserver.web.ui import charts
from metaserver.web.ui.assets import Assets, release
from metaserver.web.ui.formatting import (
    clock,
    countdown,
    day,
    duration,
    element_id,
    figure,
    in_zone,
    moment,
    percent,
    small,
)

MACROS = ("forms", "live", "paging")


class Macros:
    """The macros of a template, which is compiled when one of them is called first."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return a macro by its name."""
        return getattr(self._environment.get_template(self._name).module, name)


class Templates:
    """Renders whole pages and, for the event stream, their live parts.

    The templates are in the folders `templates/` of the packages that the assets are of. All of
    them call the macros of `forms.html`, `live.html`, `paging.html` and of files that end in
    `_parts.html` by the file's name: `forms.csrf()`, `table_parts.frame("Runs", ["Run"])`.
    """

    def __init__(self, assets: Assets) -> None:
        self._environment = Environment(
            loader=ChoiceLoader([PackageLoader(package) for package in assets.packages]),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "clock": clock,
            "countdown": countdown,
            "counted": counted,
            "day": day,
            "duration": duration,
            "moment": moment,
            "percent": percent,
            "in_percent": in_percent,
            "figure": figure,
            "small": small,
            "in_zone": in_zone,
            "linked": linked,
            "address_of": address_of,
        }
        self._environment.globals |= {
            "asset": assets.url,
            "base_of": base_of,
            "charts": charts,
            "element_id": element_id,
            "level_help": LEVEL_HELP,
            "monitor": monitor,
            "only_challenge": only_challenge,
            "open_states": OPEN_STATES,
            "protocol_title": protocol_title,
            "release": release(),
            "shows": SHOWS,
            "policies": POLICIES,
            "run_path": run_path,
            "site": site,
            "team_path": team_path,
            "states": list(ServerState),
            "view_help": VIEW_HELP,
            "visitor": visitor,
        }
        for file in self._environment.list_templates():
            name = file.removesuffix(".html")
            if name in MACROS or name.endswith("_parts"):
                self._environment.globals[name] = Macros(self._environment, file)

    @classmethod
    @functools.cache
    def of(cls, assets: Assets) -> Templates:
        """Return the templates with these assets, compiled once in a process."""
        return cls(assets)

    def share(self, **values: Any) -> None:
        """Give all templates some values, by name."""
        self._environment.globals.update(values)

    def page(self, name: str, **context: Any) -> str:
        """Render one page."""
        return self._environment.get_template(name).render(context)

    def part(self, name: str, macro: str, *arguments: Any) -> str:
        """Render one macro of a template: a live part of a page."""
        return str(getattr(self._environment.get_template(name).module, macro)(*arguments)).strip()
