"""`metaserver uniprot build | lookup | names | info | diff | use | taxa | orthologs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import islice

import msgspec

from metaserver.uniprot.build import build_release, progress_bar
from metaserver.uniprot.directory import NAMES, NameDirectory
from metaserver.uniprot.release import Release, compare, gone, use
from metaserver.uniprot.verdicts import AccessionVerdict, Status
from metaserver.uniprot.views import (
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
    "genes": "NCBI Gene ids of reviewed entries",
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


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    return ACTIONS[args.action](args)


def _build(args: argparse.Namespace) -> int:
    with progress_bar(args.sources) as on_stage:
        release = build_release(
            args.sources, name=args.release, out=args.out, names=args.names, on_stage=on_stage
        )
    print("\n".join(_summary(release)))
    return 0


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


def _names(args: argparse.Namespace) -> int:
    with closing(NameDirectory.open(args.release)) as directory:
        for entry in directory.search(" ".join(args.text), taxon=args.taxon, limit=args.limit):
            cells = (
                entry.accession,
                entry.entry_name,
                "; ".join(entry.names),
                " ".join(entry.symbols),
                str(entry.taxon or ""),
                entry.organism,
            )
            print("\t".join(cell.translate(_CONTROL) for cell in cells))
    return 0


def _details(release: Release, batch: Sequence[str]) -> tuple[Iterator[str], Sequence[str]]:
    """Return each entry's species and cluster, empty if unknown."""
    taxa = (str(taxon or "") for taxon in release.entries.taxa(batch))
    return taxa, release.entries.clusters(batch)


def _batched(lines: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(lines)
    while batch := list(islice(iterator, _LINES)):
        yield batch


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
    if (release.directory / NAMES).exists():
        with closing(NameDirectory.open(release.directory)) as directory:
            yield f"{len(directory):>15,} entries with names"
    for name, count in msgspec.structs.asdict(release.meta.counts).items():
        yield f"{count:>15,} {_COUNTS[name]}"


def _diff(args: argparse.Namespace) -> int:
    old, new = Release.open(args.old), Release.open(args.new)
    gold = [
        gold_accession for path in args.gold or () for gold_accession in read_gold_accessions(path)
    ]
    for name, count in asdict(compare(old, new)).items():
        print(f"{count:>15,} {_CHANGES[name]}")
    for verdict in gone(old, new) if args.list else ():
        print(_line(verdict))
    touched = 0
    for gold_accession, before, after in zip(
        gold,
        *(r.lookup([gold_accession.accession for gold_accession in gold]) for r in (old, new)),
        strict=True,
    ):
        if before.status is Status.PRIMARY is not after.status:
            touched += 1
            print(
                f"{gold_accession.path}:{gold_accession.line}\t{gold_accession.article}\t{_line(after)}"
            )
    if args.gold:
        print(f"{touched:>15,} of {len(gold):,} gold accessions touched")
    return 0


def _use(args: argparse.Namespace) -> int:
    link = args.link or args.release.resolve().parent / "current"
    release = use(args.release, link)
    print(f"{link} is UniProt {release.name} now")
    return 0


def _write_view(
    args: argparse.Namespace, lines: Callable[[Release, Sequence[str]], Iterable[str]]
) -> int:
    release = Release.open(args.release)
    gold = [
        gold_accession.accession
        for path in args.gold
        for gold_accession in read_gold_accessions(path)
    ]
    write_lines(args.out, lines(release, gold))
    _warn_of_former(release, gold)
    return 0


def _warn_of_former(release: Release, gold: Sequence[str]) -> None:
    """Say on standard error which gold accessions are not primary in the release."""
    for verdict in release.lookup(sorted(set(gold))):
        if verdict.status is not Status.PRIMARY:
            print(f"gold accession {_line(verdict)}", file=sys.stderr)


def _line(verdict: AccessionVerdict) -> str:
    text = verdict.text.translate(_CONTROL).encode("utf-8", "replace").decode()
    return f"{text}\t{verdict.status.label}\t{verdict.reason}"


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "build": _build,
    "lookup": _lookup,
    "names": _names,
    "info": _info,
    "diff": _diff,
    "use": _use,
    "taxa": partial(_write_view, lines=taxon_lines),
    "orthologs": partial(_write_view, lines=ortholog_lines),
}
