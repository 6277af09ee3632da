"""The arguments for commands that work on this machine: a function each.

It imports nothing that the commands work with, so help comes at once.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path

from metaserver.base.plans import LimitSettings
from metaserver.base.records import TASK_GROUP
from metaserver.base.states import Outcome, ProcessRole, Role

DEFAULT_URL = "http://127.0.0.1:8020"
URL_VARIABLE, TOKEN_VARIABLE = "METASERVER_URL", "METASERVER_TOKEN"
SERVER_VARIABLE = "METASERVER_SERVER_SECRET"
AUTHS = ("none", "basic", "bearer", "header", "query", "body")
PARAMETERS = ("text", "text+context")


def add_run(parser: ArgumentParser) -> None:
    """Add `run`'s arguments; its options only need the installed tasks' names."""
    from importlib.metadata import entry_points  # no other command needs it

    parser.description = (
        "Sends articles to annotation servers, checks, stores and scores their answers."
        " Started again with the same --out it continues where it stopped."
    )
    defaults, add = LimitSettings(), parser.add_argument
    add("--articles", nargs="+", required=True, type=Path, metavar="PATH",
        help="text files, folders, JATS or other XML, BioC JSON")  # fmt: skip
    for task in sorted(entry_points(group=TASK_GROUP).names):
        add(f"--gold-{task.lower()}", type=Path, metavar="FILE", help=f"gold for the task {task}")
    add("--server", action="append", required=True, metavar="NAME=URL",
        help="an annotation server; give it once for each")  # fmt: skip
    add("--uniprot", type=Path, required=True, metavar="RELEASE_DIR",
        help="the release that accessions are checked by (metaserver uniprot build)")  # fmt: skip
    add("--out", type=Path, required=True, metavar="DIR", help="store, runs and leaderboards")
    add("--timeout", type=float, metavar="S",
        help=f"for one article, in seconds (default {defaults.timeout:g})")  # fmt: skip
    add("--attempts", type=int, metavar="N",
        help=f"for one article, at most (default {defaults.attempts})")  # fmt: skip
    add("--concurrency", type=int, metavar="N",
        help=f"requests in flight to a server (default {defaults.concurrency})")  # fmt: skip
    add("--web", type=int, metavar="PORT", help="show monitor and leaderboards there, live")
    _add_config(parser)
    add("--json", action="store_true", help="print the leaderboards as JSON")


def add_attempts(parser: ArgumentParser) -> None:
    """Add `attempts`' arguments."""
    parser.description = (
        "Shows what became of each request of a run: outcome, times, every problem with"
        " its path in the answer. Also while the run continues."
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="a run's folder")
    add("--server", metavar="NAME", help="only this server's")
    add("--article", metavar="ID", help="only this article's")
    add("--outcome", type=Outcome, choices=list(Outcome), help="only those that ended so")
    add("--raw", action="store_true", help="with the answer as it came")


def add_probe(parser: ArgumentParser) -> None:
    """Add `probe`'s arguments."""
    parser.description = (
        "Tests an annotation server as the hub does before its first article counts,"
        " and says of each step how long it took and what was wrong. Exit status: 0 if the server"
        " passes, 1 if not."
    )
    limits, add = LimitSettings(), parser.add_argument
    add("url", metavar="URL", help="where the server is")
    add("--method", default="Annotator.getAnnotation", metavar="M",
        help="the method that annotates (default %(default)s)")  # fmt: skip
    add("--parameters", choices=PARAMETERS, default="text",
        help="what it is sent (default %(default)s)")  # fmt: skip
    add("--tasks", metavar="T,T", help="the tasks it takes part in (default: all)")
    add("--protocol", default="xmlrpc", metavar="P",
        help="what it speaks: xmlrpc, pubannotation, bioc (default %(default)s)")  # fmt: skip
    add("--options", nargs="*", default=[], metavar="NAME=VALUE",
        help="settings of the protocol")  # fmt: skip
    add("--auth", choices=AUTHS, default="none",
        help=f"how the hub proves itself; the secret is in ${SERVER_VARIABLE}")  # fmt: skip
    add("--auth-name", default="", metavar="NAME",
        help="the user, or the name of the header, parameter or member")  # fmt: skip
    add("--concurrency", type=int, default=limits.concurrency, metavar="N",
        help="requests it shall have in flight (default %(default)s)")  # fmt: skip
    add("--phase", metavar="NAME",
        help="test as for this phase of the hub: with its tasks and limits")  # fmt: skip
    add("--hub", metavar="URL", default=os.environ.get(URL_VARIABLE, DEFAULT_URL),
        help=f"the phase's hub (default ${URL_VARIABLE}, else {DEFAULT_URL})")  # fmt: skip
    add("--timeout", type=float, metavar="S",
        help=f"seconds an article (default the phase's, else {limits.timeout:g})")  # fmt: skip
    add("--answer-bytes", type=int, metavar="N",
        help=f"the largest answer (default the phase's, else {limits.answer_bytes})")  # fmt: skip
    add("--uniprot", type=Path, metavar="RELEASE_DIR",
        help="the release that accessions are checked by (default: their form alone)")  # fmt: skip
    add("--json", action="store_true", help="print the result as JSON, the steps on stderr")


def add_serve(parser: ArgumentParser) -> None:
    """Add `serve`'s arguments."""
    parser.description = (
        "Runs the hub as a service until it is stopped (Ctrl-C, SIGTERM)."
        " Stopped at any moment, it continues where it was."
    )
    _add_config(parser)
    parser.add_argument(
        "--role",
        choices=list(ProcessRole),
        default=ProcessRole.ALL,
        help="pages, lanes or (default) both; a hub of several processes needs PostgreSQL",
    )
    parser.add_argument(
        "--health",
        metavar="HOST:PORT",
        default="",
        help="of --role worker: where /healthz and /readyz answer monitors (default: nowhere)",
    )


def add_doctor(parser: ArgumentParser) -> None:
    """Add `doctor`'s arguments."""
    parser.description = (
        "Checks settings, store, releases, articles, gold and dates, and changes"
        " nothing. Exit status 1 where the hub would not start or a phase could not run."
    )
    _add_config(parser)
    parser.add_argument(
        "--deep",
        action="store_true",
        help="instead, score all stored answers again and compare them with the hub's checkpoints;"
        " the hub may be at work",
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="with --deep: delete the checkpoints that differ; the hub must be stopped",
    )


def add_backup(parser: ArgumentParser) -> None:
    """Add `backup`'s arguments."""
    parser.description = (
        "Copies a hub's store, as it is at this moment, into one file, and checks the"
        " copy. To go back to it, stop the hub and put it in the store's place; for a store in"
        " PostgreSQL, which pg_dump writes, see `metaserver restore`."
    )
    _add_config(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the copy")


def add_results(parser: ArgumentParser) -> None:
    """Add `results`' arguments."""
    parser.description = (
        "Has a running hub make the results package of a phase that is frozen or closed, and"
        " writes it into a folder: tables (CSV, LaTeX), figures, pairwise tests, response"
        " statistics, runs, signatures, and a report of one page. Needs the token of an organiser."
    )
    add = parser.add_argument
    add("phase", metavar="PHASE", help="the phase")
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    add("--gold", action="store_true", help="with the gold, and with the tables that reveal it")
    add("--license", default="", metavar="URL", help="the licence that it shall be under")
    add("--author", default=[], action="append", metavar="NAME",
        help="who it is by; given once for each person")  # fmt: skip
    add("--hub", metavar="URL",
        help=f"where the hub is (default: {URL_VARIABLE}, or {DEFAULT_URL})")  # fmt: skip
    add("--token-file", type=Path, metavar="FILE",
        help=f"the token is its first line (default: {TOKEN_VARIABLE})")  # fmt: skip


def add_demo(parser: ArgumentParser) -> None:
    """Add `demo`'s arguments."""
    parser.description = (
        "Runs a small challenge with five annotation servers on this machine, and"
        " leaves its pages up until Ctrl-C."
    )
    add = parser.add_argument
    add("--ner", action="store_true", help="instead, three servers that name proteins and genes")
    add("--exit", action="store_true", help="stop after the leaderboards")
    add("--port", type=int, help="of the pages (default 8020; 0 takes a free one)")
    add("--out", type=Path, metavar="DIR", help="keep the results there")
    add("--package", type=Path, metavar="DIR",
        help="leave a results package there, replacing an earlier one")  # fmt: skip
    add("--samples", type=Path, metavar="DIR",
        help="instead, write its articles, gold and names of proteins there, and"
        " small data of offline tasks")  # fmt: skip


def add_rehearse(parser: ArgumentParser) -> None:
    """Add `rehearse`'s arguments."""
    parser.description = (
        "Plays a challenge of BioCreative II.5's size against simulated teams on this machine, many"
        " times as fast: with slow servers, faults, absences, and a hub that is killed half-way."
        " Leaves a results package, and its pages up until Ctrl-C. Exit status 1 if an answer is"
        " lost or scored twice."
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    add("--config", type=Path, metavar="FILE",
        help="settings to try: limits, visibility and dates of its first test phase")  # fmt: skip
    add("--teams", type=int, default=15, metavar="N", help="teams (default %(default)s)")
    add("--servers", type=int, default=40, metavar="N",
        help="servers of all teams (default %(default)s)")  # fmt: skip
    add("--articles", type=int, default=595, metavar="N", help="articles (default %(default)s)")
    add("--speed", type=float, default=200.0, metavar="X",
        help="times as fast as a challenge (default %(default)g)")  # fmt: skip
    add("--seed", type=int, default=1, metavar="N",
        help="of articles, gold, answers and faults (default %(default)s)")  # fmt: skip
    add("--port", type=int, default=0, metavar="N", help="of the pages (default: a free one)")
    add("--exit", action="store_true", help="stop after the results package")
    add("--keep", action="store_true", help="keep the hub's folder, settings and log in --out too")


def add_restore(parser: ArgumentParser) -> None:
    """Add `restore`'s arguments."""
    parser.description = (
        "Reads what `metaserver backup` wrote of a PostgreSQL database into an empty one, which"
        " the settings name: all of it or nothing."
    )
    parser.add_argument("backup", type=Path, metavar="FILE", help="the backup")
    _add_config(parser)


def add_move(parser: ArgumentParser) -> None:
    """Add `move`'s arguments."""
    parser.description = (
        "Carries the store of a hub that is stopped from its file into an empty PostgreSQL"
        " database, or from a database into a new file, and compares all rows. The store that it is"
        " carried from stays as it is."
    )
    directions = parser.add_mutually_exclusive_group(required=True)
    warning = "postgresql://...; other users of the machine can see it while the command runs"
    directions.add_argument("--to", metavar="URL", help=f"the database to carry it into: {warning}")
    directions.add_argument(
        "--to-file", type=Path, metavar="FILE", help="a file with that URL alone"
    )
    directions.add_argument(
        "--back-from", metavar="URL", help=f"the database to carry it from: {warning}"
    )
    directions.add_argument(
        "--back-from-file", type=Path, metavar="FILE", help="a file with that URL alone"
    )
    _add_config(parser)


def add_token(parser: ArgumentParser) -> None:
    """Add `token`'s arguments: one of three actions."""
    parser.description = (
        "Makes, lists and revokes tokens in a hub's store, also while the hub runs."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a token and print it once")
    create.add_argument("--role", choices=[role.value for role in Role], required=True,
        help="what its holder may do")  # fmt: skip
    create.add_argument("--label", default="", metavar="NAME", help="who or what holds it")
    create.add_argument("--team", metavar="TEAM", help="whose it is; a team's token needs one")
    create.add_argument("--expires", type=float, metavar="DAYS",
        help="days until it expires (default: never)")  # fmt: skip
    listed = actions.add_parser("list", help="list the tokens, without their secrets")
    revoke = actions.add_parser("revoke", help="revoke a token")
    revoke.add_argument("id", type=int, metavar="ID", help="its id, as in the list")
    revoke.add_argument("--made-with-it", action="store_true",
        help="and all tokens that were made with it, and with these")  # fmt: skip
    for action in (create, listed, revoke):
        place = action.add_mutually_exclusive_group()
        place.add_argument("--config", type=Path, metavar="FILE", help="the hub's settings")
        place.add_argument("--store", type=Path, metavar="FILE", help="the hub's store")


def add_uniprot(parser: ArgumentParser) -> None:
    """Add `uniprot`'s arguments: one of eight actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    build = actions.add_parser("build", help="build a release directory from UniProt's files")
    build.add_argument("--from", dest="sources", nargs="+", required=True, type=Path,
        metavar="FILE", help="flat files, TSV, lists of accessions and more, plain or gzip,"
        " in any order")  # fmt: skip
    build.add_argument("--release", required=True, metavar="NAME", help="such as 2025_04")
    build.add_argument("--out", required=True, type=Path, metavar="DIR",
        help="the new release directory")  # fmt: skip
    build.add_argument("--names", action="store_true",
        help="add names, symbols and organisms of the reviewed entries")  # fmt: skip
    lookup = actions.add_parser(
        "lookup", help="judge accessions: per line accession, verdict and reason"
    )
    _add_release(lookup)
    lookup.add_argument("accessions", nargs="*", metavar="ACC",
        help="none: one per line from standard input")  # fmt: skip
    lookup.add_argument("--details", action="store_true",
        help="add each entry's species and UniRef50 cluster")  # fmt: skip
    names = actions.add_parser("names", help="find reviewed entries by symbol or name")
    _add_release(names)
    names.add_argument(
        "text", nargs="+", metavar="TEXT", help="accession, symbol or words of a name"
    )
    names.add_argument("--taxon", type=int, metavar="N", help="entries of this NCBI taxon alone")
    names.add_argument("--limit", type=int, default=20, metavar="N",
        help="entries at most (default 20, 100 at most)")  # fmt: skip
    info = actions.add_parser("info", help="print a release's counts, sources and checksums")
    info.add_argument("release", type=Path, metavar="DIR", help="a release directory")
    diff = actions.add_parser("diff", help="say what became of a release's entries in another")
    diff.add_argument("old", type=Path, metavar="A", help="a release directory")
    diff.add_argument("new", type=Path, metavar="B", help="a later release's directory")
    diff.add_argument("--gold", nargs="+", type=Path, metavar="F",
        help="list the lines of gold files it touches")  # fmt: skip
    diff.add_argument(
        "--list", action="store_true", help="list every accession that the later release lacks"
    )
    use = actions.add_parser(
        "use", help="put a release into use: running hubs take it for their next phase"
    )
    _add_release(use)
    use.add_argument("--link", type=Path, metavar="PATH",
        help="the link that hubs open (default: current, beside DIR)")  # fmt: skip
    taxa = actions.add_parser(
        "taxa", help="write the organism filter's file: all entries of the gold's species"
    )
    orthologs = actions.add_parser(
        "orthologs", help="write the mapping's file: the homonym orthologs of the gold's accessions"
    )
    for view in (taxa, orthologs):
        _add_release(view)
        view.add_argument("--gold", nargs="+", required=True, type=Path, metavar="F",
            help="INT or IPT gold files")  # fmt: skip
        view.add_argument("--out", required=True, type=Path, metavar="F", help="the file to write")


def _add_config(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings (default: those of a new hub)"
    )


def _add_release(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--release", required=True, type=Path, metavar="DIR", help="a release directory"
    )
