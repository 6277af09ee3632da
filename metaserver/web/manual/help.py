"""The part of the documentation that explains each page, and each kind of error."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from metaserver.web.manual.library import PREFIX

PAGES = {
    "account": "security#people",
    "api": "interfaces",
    "articles": "web#articles",
    "challenge": "organisers#the-front-door",
    "curate": "curators#ask",
    "curate_adjudicate": "curators#two-curators-make-gold",
    "curate_desk": "curators#the-page",
    "curate_set": "curators#two-curators-make-gold",
    "curate_submit": "curators#the-page",
    "curate_experiments": "curators#experiments",
    "compare": "web#runs-teams-and-comparisons",
    "phase_team": "web#runs-teams-and-comparisons",
    "run": "web#runs-teams-and-comparisons",
    "data": "organisers#data-for-teams",
    "error": "interfaces#errors",
    "home": "web#open-pages",
    "invitation": "security#people",
    "leaderboard": "scoring#scores",
    "manual": "",
    "methods": "organisers#methods",
    "monitor": "monitoring",
    "no_phase": "organisers#the-states-of-a-phase",
    "organise": "organisers#the-console",
    "organise_advance": "organisers#the-states-of-a-phase",
    "organise_alerts": "organisers#alerts",
    "organise_audit": "security#tokens",
    "organise_bundle": "organisers#a-challenge-in-a-bundle",
    "organise_challenge": "organisers#the-front-door",
    "organise_clone": "organisers#a-challenge-in-a-bundle",
    "organise_consensus": "consensus#models-of-a-hub",
    "organise_corpora": "organisers#corpora",
    "organise_corpus": "organisers#corpora",
    "organise_data": "organisers#data-for-teams",
    "organise_delete": "organisers#plan-a-phase-delete-one",
    "organise_extend": "organisers#dates-and-time-zones",
    "organise_gold": "organisers#gold",
    "organise_gold_preview": "organisers#gold",
    "organise_job": "organisers#jobs",
    "organise_jobs": "organisers#jobs",
    "organise_machines": "machines#several-processes",
    "organise_new_phase": "organisers#plan-a-phase-delete-one",
    "organise_people": "security#people",
    "organise_phase": "organisers#the-console",
    "organise_phase_edit": "organisers#plan-a-phase-delete-one",
    "organise_publish": "organisers#publish-the-results",
    "organise_results": "organisers#a-results-package",
    "organise_retire": "organisers#the-console",
    "organise_server_act": "organisers#the-console",
    "organise_servers": "organisers#the-console",
    "organise_sign_ups": "organisers#the-front-door",
    "organise_team": "organisers#the-console",
    "organise_teams": "organisers#the-console",
    "organise_texts": "organisers#the-front-door",
    "organise_tokens": "security#tokens",
    "organise_upload_delete": "organisers#offline-runs",
    "organise_uploads": "organisers#offline-runs",
    "organise_watch": "organisers#the-control-room",
    "organise_withdraw": "organisers#data-for-teams",
    "results": "organisers#publish-the-results",
    "server": "monitoring#measures-of-a-server-in-a-window",
    "sign_up": "security#sign-ups",
    "sign_up_done": "security#sign-ups",
    "sign_up_link": "security#sign-ups",
    "sign_up_token": "security#tokens",
    "sign_up_waits": "security#sign-ups",
    "signin": "security#people",
    "signin_code": "security#people",
    "signin_link": "security#people",
    "unsent": "security#sessions-of-the-pages",
    "team": "teams#the-console",
    "team_attempt": "wire#what-happens-to-an-answer",
    "team_attempts": "wire#what-happens-to-an-answer",
    "team_callbacks": "protocols#becalm",
    "team_choice": "teams#the-console",
    "team_edit": "teams#the-console",
    "team_members": "security#people",
    "team_method": "teams#describe-your-methods",
    "team_methods": "teams#describe-your-methods",
    "team_register": "protocols",
    "team_results": "teams#what-you-see-of-your-scores",
    "team_retire": "teams#the-console",
    "team_server": "teams#the-console",
    "team_settings": "teams#the-console",
    "team_snippets": "teams#annotators-new",
    "team_test": "teams#the-steps",
    "team_tokens": "security#tokens",
    "team_upload": "teams#runs-without-a-server",
    "which_phase": "web#open-pages",
    "xmlrpc": "interfaces#xml-rpc",
}
"""By template, the page of the documentation with its anchor."""

STATUSES = {
    401: "security#tokens",
    403: "security#tokens",
    413: "security#limits-on-what-comes-in",
    429: "security#limits-on-what-comes-in",
}
"""By status of an error; the others are explained in one place."""


_FILE = re.compile(r"\bdocs/([a-z-]+)\.md(#[a-z0-9-]+)?")


def linked(text: str) -> Markup:
    """Return a text whose files of the documentation are links to the hub's own pages."""
    return Markup(_FILE.sub(rf'<a href="{PREFIX}/\1\2">docs/\1.md</a>', str(escape(text))))  # noqa: S704


def help_of(template: str) -> str:
    """Return the address of what explains a page."""
    return _address(PAGES[template.removesuffix(".html")])


def help_of_error(status: int) -> str:
    """Return the address of what explains an error."""
    return _address(STATUSES.get(status, PAGES["error"]))


def help_of_fault(code: int) -> str:
    """Return the address of what explains a fault: its code is an error's status, or negative."""
    return help_of_error(code) if code > 0 else help_of("xmlrpc")


def _address(place: str) -> str:
    return f"{PREFIX}/{place}" if place else PREFIX
