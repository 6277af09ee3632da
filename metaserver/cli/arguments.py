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
        "Sends articles to annotation servers, and checks, stores and scores their answers."
        " If it is started again with the same --out, it continues where it stopped."
    )
    defaults, add = LimitSettings(), parser.add_argument
    add("--articles", nargs="+", required=True, type=Path, metavar="PATH",
        help="articles: text files, JATS or other XML, BioC JSON, or folders of them")  # fmt: skip
    for task in sorted(entry_points(group=TASK_GROUP).names):
        add(
            f"--gold-{task.lower()}",
            type=Path,
            metavar="FILE",
            help=f"gold standard of the task {task}",
        )
    add("--server", action="append", required=True, metavar="NAME=URL",
        help="an annotation server; repeat the option for each server")  # fmt: skip
    add("--uniprot", type=Path, required=True, metavar="RELEASE_DIR",
        help="the UniProt release that accessions are checked against (see `metaserver uniprot"
        " build`)")  # fmt: skip
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for the store, the runs and the leaderboards",
    )
    add("--timeout", type=float, metavar="S",
        help=f"time limit per article, in seconds (default {defaults.timeout:g})")  # fmt: skip
    add("--attempts", type=int, metavar="N",
        help=f"most attempts per article (default {defaults.attempts})")  # fmt: skip
    add("--concurrency", type=int, metavar="N",
        help="articles sent to a server at the same time (default"
        f" {defaults.concurrency})")  # fmt: skip
    add(
        "--web",
        type=int,
        metavar="PORT",
        help="show the monitor and the leaderboards live on this port",
    )
    _add_config(parser)
    add("--json", action="store_true", help="print the leaderboards as JSON")


def add_attempts(parser: ArgumentParser) -> None:
    """Add `attempts`' arguments."""
    parser.description = (
        "Shows what became of each request of a run: its outcome, its times, and every problem"
        " with its place in the answer. The run may still be going on."
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="the run's folder (its --out)")
    add("--server", metavar="NAME", help="only requests to this server")
    add("--article", metavar="ID", help="only requests for this article")
    add("--outcome", type=Outcome, choices=list(Outcome), help="only requests with this outcome")
    add("--raw", action="store_true", help="also print the answers as they were received")


def add_probe(parser: ArgumentParser) -> None:
    """Add `probe`'s arguments."""
    parser.description = (
        "Tests an annotation server as the hub does before its first article counts,"
        " and reports for each step how long it took and what was wrong. The exit status is 0 if"
        " the"
        " server passes, else 1."
    )
    limits, add = LimitSettings(), parser.add_argument
    add("url", metavar="URL", help="the server's address, such as http://127.0.0.1:8100/")
    add("--method", default="Annotator.getAnnotation", metavar="M",
        help="XML-RPC method that annotates (default %(default)s)")  # fmt: skip
    add("--parameters", choices=PARAMETERS, default="text",
        help="the method's parameters (default %(default)s)")  # fmt: skip
    add("--tasks", metavar="T,T", help="tasks that the server answers (default: all)")
    add("--protocol", default="xmlrpc", metavar="P",
        help="protocol of the server: xmlrpc, pubannotation or bioc (default"
        " %(default)s)")  # fmt: skip
    add("--options", nargs="*", default=[], metavar="NAME=VALUE",
        help="settings of the protocol")  # fmt: skip
    add("--auth", choices=AUTHS, default="none",
        help=f"how the hub proves its identity to the server; ${SERVER_VARIABLE} has the"
        " secret")  # fmt: skip
    add("--auth-name", default="", metavar="NAME",
        help="the user's name, or the name of the header, parameter or member")  # fmt: skip
    add("--concurrency", type=int, default=limits.concurrency, metavar="N",
        help="articles sent at the same time (default %(default)s)")  # fmt: skip
    add("--phase", metavar="NAME",
        help="test as for this phase of a hub: with the phase's tasks and limits")  # fmt: skip
    add("--hub", metavar="URL", default=os.environ.get(URL_VARIABLE, DEFAULT_URL),
        help=f"address of that hub (default ${URL_VARIABLE}, else {DEFAULT_URL})")  # fmt: skip
    add("--timeout", type=float, metavar="S",
        help="time limit per article, in seconds (default: the phase's, else"
        f" {limits.timeout:g})")  # fmt: skip
    add("--answer-bytes", type=int, metavar="N",
        help="largest answer that is read, in bytes (default: the phase's, else"
        f" {limits.answer_bytes})")  # fmt: skip
    add("--uniprot", type=Path, metavar="RELEASE_DIR",
        help="the UniProt release that accessions are checked against (default: only their form"
        " is checked)")  # fmt: skip
    add("--json", action="store_true", help="print the result as JSON, and the steps to stderr")


def add_serve(parser: ArgumentParser) -> None:
    """Add `serve`'s arguments."""
    parser.description = (
        "Runs the hub as a service until it is stopped (Ctrl-C or SIGTERM)."
        " It can be stopped at any moment; when it is started again, it continues where it was."
    )
    _add_config(parser)
    parser.add_argument(
        "--role",
        choices=list(ProcessRole),
        default=ProcessRole.ALL,
        help="what this process does: pages, lanes (which send articles) or both (default); a hub"
        " of several processes needs PostgreSQL",
    )
    parser.add_argument(
        "--health",
        metavar="HOST:PORT",
        default="",
        help="with --role worker: where /healthz and /readyz answer monitoring (default: nowhere)",
    )


def add_doctor(parser: ArgumentParser) -> None:
    """Add `doctor`'s arguments."""
    parser.description = (
        "Checks settings, store, releases, articles, gold and dates, and changes"
        " nothing. The exit status is 1 if the hub would not start or a phase could not run."
    )
    _add_config(parser)
    parser.add_argument(
        "--deep",
        action="store_true",
        help="instead of this, score all stored answers again and compare the scores with the hub's"
        " checkpoints; the hub may be running",
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
        " copy. The hub may be running. To go back to the copy, stop the hub and replace its store"
        " with it; for a store in PostgreSQL, use `metaserver restore`."
    )
    _add_config(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="file to write the copy to"
    )


def add_results(parser: ArgumentParser) -> None:
    """Add `results`' arguments."""
    parser.description = (
        "Has a running hub make the results package of a frozen or closed phase, and writes it"
        " to a folder: tables (CSV, LaTeX), figures, pairwise tests, response statistics, runs,"
        " signatures, and a report of one page. You need an organiser's token."
    )
    add = parser.add_argument
    add("phase", metavar="PHASE", help="name of the phase")
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    add("--gold", action="store_true", help="include the gold, and the tables that reveal it")
    add("--license", default="", metavar="URL", help="address of the licence of the package")
    add("--author", default=[], action="append", metavar="NAME",
        help="an author of the package; repeat the option for each person")  # fmt: skip
    add("--hub", metavar="URL",
        help=f"address of the hub (default: ${URL_VARIABLE}, else {DEFAULT_URL})")  # fmt: skip
    add("--token-file", type=Path, metavar="FILE",
        help="file whose first line is the token (default: the token in"
        f" ${TOKEN_VARIABLE})")  # fmt: skip


def add_demo(parser: ArgumentParser) -> None:
    """Add `demo`'s arguments."""
    parser.description = (
        "Runs a small challenge with five annotation servers on this machine, and"
        " keeps its pages up until Ctrl-C."
    )
    add = parser.add_argument
    add(
        "--ner",
        action="store_true",
        help="run three servers that find names of proteins and genes instead",
    )
    add("--exit", action="store_true", help="stop when the leaderboards are complete")
    add("--port", type=int, help="port of the pages (default 8020; 0 for any free port)")
    add("--out", type=Path, metavar="DIR", help="keep the results in this folder")
    add("--package", type=Path, metavar="DIR",
        help="write a results package to this folder, replacing an earlier package")  # fmt: skip
    add("--samples", type=Path, metavar="DIR",
        help="run nothing; write the demo's articles, gold and protein names, and small data for"
        " offline tasks, to this folder")  # fmt: skip


def add_rehearse(parser: ArgumentParser) -> None:
    """Add `rehearse`'s arguments."""
    parser.description = (
        "Plays a challenge of BioCreative II.5's size with simulated teams on this machine, many"
        " times faster than a real challenge: with slow servers, faults, absences, and a hub that"
        " is"
        " killed half-way. Writes a results package, and keeps the pages up until Ctrl-C. The exit"
        " status is 1 if an answer is lost or scored twice."
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    add("--config", type=Path, metavar="FILE",
        help="settings to try: limits, visibility and dates come from its first test"
        " phase")  # fmt: skip
    add("--teams", type=int, default=15, metavar="N", help="number of teams (default %(default)s)")
    add("--servers", type=int, default=40, metavar="N",
        help="number of servers of all teams together (default %(default)s)")  # fmt: skip
    add(
        "--articles",
        type=int,
        default=595,
        metavar="N",
        help="number of articles (default %(default)s)",
    )
    add("--speed", type=float, default=200.0, metavar="X",
        help="how many times faster than a real challenge (default %(default)g)")  # fmt: skip
    add("--seed", type=int, default=1, metavar="N",
        help="seed of articles, gold, answers and faults (default %(default)s)")  # fmt: skip
    add(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port of the pages (default: any free port)",
    )
    add("--exit", action="store_true", help="stop when the results package is written")
    add("--keep", action="store_true", help="also keep the hub's folder, settings and log in --out")


def add_restore(parser: ArgumentParser) -> None:
    """Add `restore`'s arguments."""
    parser.description = (
        "Restores a PostgreSQL backup that `metaserver backup` wrote into the empty database that"
        " the settings name: all of it, or nothing."
    )
    parser.add_argument("backup", type=Path, metavar="FILE", help="the backup to restore")
    _add_config(parser)


def add_move(parser: ArgumentParser) -> None:
    """Add `move`'s arguments."""
    parser.description = (
        "Copies the store of a stopped hub from its file into an empty PostgreSQL database, or"
        " from a database into a new file, and compares all rows. The old store is not changed."
    )
    directions = parser.add_mutually_exclusive_group(required=True)
    warning = "postgresql://...; other users of this machine can see it while the command runs"
    directions.add_argument("--to", metavar="URL", help=f"the database to copy into: {warning}")
    directions.add_argument(
        "--to-file", type=Path, metavar="FILE", help="a file that contains only that URL"
    )
    directions.add_argument(
        "--back-from", metavar="URL", help=f"the database to copy from: {warning}"
    )
    directions.add_argument(
        "--back-from-file", type=Path, metavar="FILE", help="a file that contains only that URL"
    )
    _add_config(parser)


def add_token(parser: ArgumentParser) -> None:
    """Add `token`'s arguments: one of three actions."""
    parser.description = (
        "Creates, lists and revokes tokens in a hub's store. The hub may be running."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="create a token and print it; it is shown only once")
    create.add_argument("--role", choices=[role.value for role in Role], required=True,
        help="role of the token: what its holder may do")  # fmt: skip
    create.add_argument(
        "--label", default="", metavar="NAME", help="person or program that uses the token"
    )
    create.add_argument(
        "--team",
        metavar="TEAM",
        help="the team that the token belongs to; required with --role team",
    )
    create.add_argument("--expires", type=float, metavar="DAYS",
        help="days until it expires (default: never)")  # fmt: skip
    listed = actions.add_parser("list", help="list the tokens, without their secrets")
    revoke = actions.add_parser("revoke", help="revoke a token")
    revoke.add_argument(
        "id", type=int, metavar="ID", help="the token's id, as `token list` shows it"
    )
    revoke.add_argument("--made-with-it", action="store_true",
        help="also revoke all tokens that were created with it, and in turn with"
        " these")  # fmt: skip
    for action in (create, listed, revoke):
        place = action.add_mutually_exclusive_group()
        place.add_argument(
            "--config", type=Path, metavar="FILE", help="file with the hub's settings"
        )
        place.add_argument("--store", type=Path, metavar="FILE", help="file with the hub's store")


def add_uniprot(parser: ArgumentParser) -> None:
    """Add `uniprot`'s arguments: one of eight actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    build = actions.add_parser("build", help="build a release folder from UniProt's files")
    build.add_argument("--from", dest="sources", nargs="+", required=True, type=Path,
        metavar="FILE", help="UniProt's files, in any order, plain or gzip: flat files, TSV, lists"
        " of accessions and more")  # fmt: skip
    build.add_argument(
        "--release", required=True, metavar="NAME", help="name of the release, such as 2025_04"
    )
    build.add_argument("--out", required=True, type=Path, metavar="DIR",
        help="the new release folder")  # fmt: skip
    build.add_argument("--names", action="store_true",
        help="also store the names, symbols and organisms of the reviewed entries")  # fmt: skip
    lookup = actions.add_parser(
        "lookup", help="check accessions: prints accession, verdict and reason per line"
    )
    _add_release(lookup)
    lookup.add_argument("accessions", nargs="*", metavar="ACC",
        help="accessions to check (default: read from standard input, one per line)")  # fmt: skip
    lookup.add_argument("--details", action="store_true",
        help="also print each entry's species and UniRef50 cluster")  # fmt: skip
    names = actions.add_parser("names", help="find reviewed entries by symbol or name")
    _add_release(names)
    names.add_argument(
        "text", nargs="+", metavar="TEXT", help="an accession, a symbol, or words of a name"
    )
    names.add_argument("--taxon", type=int, metavar="N", help="only entries of this NCBI taxon")
    names.add_argument("--limit", type=int, default=20, metavar="N",
        help="most entries to print, up to 100 (default 20)")  # fmt: skip
    info = actions.add_parser("info", help="print counts, sources and checksums of a release")
    info.add_argument("release", type=Path, metavar="DIR", help="the release folder")
    diff = actions.add_parser(
        "diff", help="show what became of a release's entries in a later release"
    )
    diff.add_argument("old", type=Path, metavar="A", help="the earlier release's folder")
    diff.add_argument("new", type=Path, metavar="B", help="the later release's folder")
    diff.add_argument("--gold", nargs="+", type=Path, metavar="F",
        help="list the lines of these gold files that are affected")  # fmt: skip
    diff.add_argument(
        "--list",
        action="store_true",
        help="list every accession that is missing in the later release",
    )
    use = actions.add_parser(
        "use", help="put a release into use: running hubs use it from their next phase on"
    )
    _add_release(use)
    use.add_argument("--link", type=Path, metavar="PATH",
        help="the symbolic link that hubs open (default: `current` beside DIR)")  # fmt: skip
    taxa = actions.add_parser(
        "taxa", help="write the file of the organism filter: all entries of the gold's species"
    )
    orthologs = actions.add_parser(
        "orthologs",
        help="write the file of the homolog mapping: orthologs of the gold's accessions that"
        " share their name",
    )
    for view in (taxa, orthologs):
        _add_release(view)
        view.add_argument("--gold", nargs="+", required=True, type=Path, metavar="F",
            help="gold files of INT or IPT")  # fmt: skip
        view.add_argument("--out", required=True, type=Path, metavar="F", help="file to write")


def _add_config(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="file with the settings (default: those of a new hub)",
    )


def _add_release(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--release", required=True, type=Path, metavar="DIR", help="the release folder"
    )
