"""`metaserver uniprot build | lookup | info | diff | use | taxa | orthologs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from metaserver.uniprot.activation import use
from metaserver.uniprot.build import build_release
from metaserver.uniprot.diff import compare, gone
from metaserver.uniprot.progress import progress_bar
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import AccessionVerdict, Status
from metaserver.uniprot.views import (
    GoldAccession,
    ortholog_lines,
    read_gold_accessions,
    taxon_lines,
    write_lines,
)

_LINES = 10_000
_COUNTS = {
    "primary": "primary accessions",
    "secondary": "secondary accessions, one a successor",
    "deleted": "deleted accessions",
    "pages": "pages of ten-character accessions",
    "with_taxon": "entries with a taxon",
    "with_cluster": "entries with a UniRef50 cluster",
    "strains": "taxa that roll up to a species",
    "entry_names": "entry names",
    "homonym_sets": "sets of homonym orthologs",
    "homonyms": "entries in them, one a set",
}
_CHANGES = {
    "kept": "primary in both",
    "secondary": "became secondary",
    "deleted": "were deleted",
    "unknown": "are not known any more",
    "new": "are new",
}
_CONTROL = str.maketrans({"\t": "\\t", "\r": "\\r", "\n": "\\n"})


def add_parser(subparsers: Any) -> None:
    """Add the `uniprot` command; each of its commands sets `run(args) -> exit status`."""
    parser = subparsers.add_parser("uniprot", help="build and ask UniProt releases")
    commands = parser.add_subparsers(dest="uniprot_command", required=True, metavar="COMMAND")
    for add in (_add_build, _add_lookup, _add_info, _add_diff, _add_use, _add_taxa, _add_orthologs):
        add(commands)


def _add_build(commands: Any) -> None:
    parser = commands.add_parser("build", help="build a release directory from UniProt's files")
    parser.add_argument(
        "--from",
        dest="sources",
        nargs="+",
        required=True,
        type=Path,
        metavar="FILE",
        help="flat files, TSV, lists of accessions and more, plain or gzip, in any order",
    )
    parser.add_argument("--release", required=True, metavar="NAME", help="such as 2025_04")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="the new release directory"
    )
    parser.set_defaults(run=_build)


def _build(args: argparse.Namespace) -> int:
    with progress_bar(args.sources) as begun:
        release = build_release(args.sources, name=args.release, out=args.out, begun=begun)
    print("\n".join(_summary(release)))
    return 0


def _add_lookup(commands: Any) -> None:
    parser = commands.add_parser(
        "lookup", help="judge accessions: a line each of accession, verdict and reason"
    )
    _add_release(parser)
    parser.add_argument(
        "accessions", nargs="*", metavar="ACC", help="none: one a line from standard input"
    )
    parser.add_argument(
        "--details", action="store_true", help="add each entry's species and UniRef50 cluster"
    )
    parser.set_defaults(run=_lookup)


def _lookup(args: argparse.Namespace) -> int:
    release = Release.open(args.release)
    accessions = args.accessions or (
        line.decode("utf-8", "replace").rstrip("\r\n") for line in sys.stdin.buffer
    )
    for batch in _batched(accessions):
        lines = map(_line, release.lookup(batch))
        if args.details:
            lines = map("\t".join, zip(lines, *_details(release, batch), strict=True))
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _details(release: Release, batch: Sequence[str]) -> tuple[Iterator[str], Sequence[str]]:
    """Return the species and the cluster of each entry, empty where they are not known."""
    taxa = (str(taxon or "") for taxon in release.entries.taxa(batch))
    return taxa, release.entries.clusters(batch)


def _batched(lines: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(lines)
    while batch := list(islice(iterator, _LINES)):
        yield batch


def _add_info(commands: Any) -> None:
    parser = commands.add_parser("info", help="print a release's counts, sources and checksums")
    parser.add_argument("release", type=Path, metavar="DIR", help="a release directory")
    parser.set_defaults(run=_info)


def _info(args: argparse.Namespace) -> int:
    release = Release.open(args.release)
    print("\n".join(_summary(release)))
    for source in release.meta.sources:
        print(f"{source.kind}\t{source.file}\t{source.records:,} records\tsha256 {source.sha256}")
    return 0


def _summary(release: Release) -> Iterator[str]:
    size = sum(path.stat().st_blocks * 512 for path in release.directory.iterdir())
    yield f"UniProt {release.name}, format {release.meta.format}: {release.directory}"
    yield f"{size / 1e6:,.1f} MB on disk"
    for name, count in msgspec.structs.asdict(release.meta.counts).items():
        yield f"{count:>15,} {_COUNTS[name]}"


def _add_diff(commands: Any) -> None:
    parser = commands.add_parser("diff", help="say what became of a release's entries in another")
    parser.add_argument("old", type=Path, metavar="A", help="a release directory")
    parser.add_argument("new", type=Path, metavar="B", help="a later release's directory")
    parser.add_argument(
        "--gold", nargs="+", type=Path, metavar="F", help="list the lines of gold files it touches"
    )
    parser.add_argument("--list", action="store_true", help="list every accession that went away")
    parser.set_defaults(run=_diff)


def _diff(args: argparse.Namespace) -> int:
    old, new = Release.open(args.old), Release.open(args.new)
    gold = [found for path in args.gold or () for found in read_gold_accessions(path)]
    for name, count in asdict(compare(old, new)).items():
        print(f"{count:>15,} {_CHANGES[name]}")
    for verdict in gone(old, new) if args.list else ():
        print(_line(verdict))
    touched = 0
    for found, before, after in zip(gold, *(_judged(r, gold) for r in (old, new)), strict=True):
        if before.status is Status.PRIMARY is not after.status:
            touched += 1
            print(f"{found.path}:{found.line}\t{found.article}\t{_line(after)}")
    if args.gold:
        print(f"{touched:>15,} of {len(gold):,} gold accessions touched")
    return 0


def _judged(release: Release, gold: Sequence[GoldAccession]) -> list[AccessionVerdict]:
    return release.lookup([found.accession for found in gold])


def _add_use(commands: Any) -> None:
    parser = commands.add_parser(
        "use", help="put a release into use: running hubs take it for their next phase"
    )
    _add_release(parser)
    parser.add_argument(
        "--link",
        type=Path,
        metavar="PATH",
        help="the link that hubs open (default: current, beside DIR)",
    )
    parser.set_defaults(run=_use)


def _use(args: argparse.Namespace) -> int:
    link = args.link or args.release.resolve().parent / "current"
    release = use(args.release, link)
    print(f"{link} is UniProt {release.name} now")
    return 0


def _add_taxa(commands: Any) -> None:
    parser = commands.add_parser(
        "taxa", help="write the organism filter's file: all entries of the gold's species"
    )
    _add_view(parser)
    parser.set_defaults(run=lambda args: _write_view(args, taxon_lines))


def _add_orthologs(commands: Any) -> None:
    parser = commands.add_parser(
        "orthologs", help="write the mapping's file: the homonym orthologs of the gold's accessions"
    )
    _add_view(parser)
    parser.set_defaults(run=lambda args: _write_view(args, ortholog_lines))


def _add_view(parser: argparse.ArgumentParser) -> None:
    _add_release(parser)
    parser.add_argument(
        "--gold", nargs="+", required=True, type=Path, metavar="F", help="INT or IPT gold files"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="F", help="the file to write")


def _write_view(
    args: argparse.Namespace, lines: Callable[[Release, Sequence[str]], Iterable[str]]
) -> int:
    release = Release.open(args.release)
    gold = [found.accession for path in args.gold for found in read_gold_accessions(path)]
    write_lines(args.out, lines(release, gold))
    _warn_of_former(release, gold)
    return 0


def _warn_of_former(release: Release, gold: Sequence[str]) -> None:
    """Say on standard error which gold accessions are not primary in the release."""
    for verdict in release.lookup(sorted(set(gold))):
        if verdict.status is not Status.PRIMARY:
            print(f"gold accession {_line(verdict)}", file=sys.stderr)


def _add_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release", required=True, type=Path, metavar="DIR", help="a release directory"
    )


def _line(verdict: AccessionVerdict) -> str:
    text = verdict.text.translate(_CONTROL).encode("utf-8", "replace").decode()
    return f"{text}\t{verdict.status.label}\t{verdict.reason}"
