import io
import re
import shlex
import subprocess
import sys

import pytest

from metaserver.cli.main import build_parser, main
from scoring import read_gold
from scoring.views import select_views
from tests.shared import ROOT
from tests.unit.metaserver.uniprot.samples import FLAT, SOURCES, build, flat_entry, write_sources

GUIDE = ROOT / "docs" / "uniprot.md"


def run(*arguments: object) -> int:
    return main(["uniprot", *map(str, arguments)])


def test_a_release_is_built_shown_and_asked(tmp_path, capsys):
    paths = write_sources(tmp_path / "in", SOURCES)
    out = tmp_path / "2025_04"
    assert run("build", "--from", *paths, "--release", "2025_04", "--out", out) == 0
    assert "7 primary accessions" in capsys.readouterr().out
    assert run("info", out) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("UniProt 2025_04, format 1")
    assert all(f"{path.name}\t" in shown for path in paths)
    assert len(re.findall(r"sha256 [0-9a-f]{64}", shown)) == len(paths)
    assert run("lookup", "--release", out, "P04637", "Q15086", "a\tb") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "P04637\tprimary\tan entry of UniProt 2025_04",
        "Q15086\tsecondary\tmerged into P04637: send P04637",
    ]


def test_lookup_reads_standard_input_line_by_line(release, capsys, monkeypatch):
    lines = b"P04637\nP04637-2\r\n\n\xff\nA0A023GPI8"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert run("lookup", "--release", release.directory) == 0
    found = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()]
    assert found == [
        ["P04637", "primary"],
        ["P04637-2", "malformed"],
        ["", "malformed"],
        ["\ufffd", "malformed"],
        ["A0A023GPI8", "primary"],
    ]


def test_lookup_prints_known_species_and_clusters(release, capsys):
    sent = ("P04637", "P0A7G6", "Q15086", "x")
    assert run("lookup", "--release", release.directory, "--details", *sent) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], *row[3:]) for row in rows] == [
        ("P04637", "9606", "UniRef50_P04637"),
        ("P0A7G6", "562", "UniRef50_P0A7G6-2"),
        ("Q15086", "", ""),
        ("x", "", ""),
    ]


def test_a_tab_in_a_string_adds_no_column(release, capsys):
    assert run("lookup", "--release", release.directory, "P0\t4637\n\udcff") == 0
    assert capsys.readouterr().out.startswith("P0\\t4637\\n?\tmalformed\t")


@pytest.mark.parametrize(
    "arguments",
    [
        ("lookup", "--release", "{none}", "P04637"),
        ("info", "{none}"),
        ("diff", "{none}", "{none}"),
        ("use", "--release", "{none}"),
        ("taxa", "--release", "{none}", "--gold", "g", "--out", "o"),
        ("build", "--from", "{none}/x.dat", "--release", "x", "--out", "{none}/out"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(tmp_path, capsys, arguments):
    none = tmp_path / "none"
    assert run(*(argument.format(none=none) for argument in arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert str(none) in captured.err
    assert [*tmp_path.iterdir()] == []


def test_use_keeps_a_link_beside_the_release(tmp_path, capsys):
    build(tmp_path, {"list": "P04637\n"}, name="2025_03")
    build(tmp_path, {"list": "P02340\n"}, name="2025_04")
    for name in ("2025_03", "2025_04"):
        assert run("use", "--release", tmp_path / name) == 0
        assert capsys.readouterr().out == f"{tmp_path / 'current'} is UniProt {name} now\n"
    assert run("lookup", "--release", tmp_path / "current", "P02340") == 0
    assert "\tprimary\t" in capsys.readouterr().out
    assert run("use", "--release", tmp_path / "2025_03", "--link", tmp_path / "a" / "phase2") == 0
    assert (tmp_path / "a" / "phase2").resolve() == tmp_path / "2025_03"


def test_a_link_that_cannot_be_set_is_named(release, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    link = tmp_path / "file" / "current"
    assert run("use", "--release", release.directory, "--link", link) == 2
    assert capsys.readouterr().err.startswith(f"metaserver: {link}: cannot be set: ")


@pytest.fixture
def releases(tmp_path):
    """Build two releases: P02340 is merged, P10361 split, P68250 deleted, P68251 unknown."""
    old = build(tmp_path, {"sprot.dat": FLAT}, name="old")
    flat = "".join(
        [
            flat_entry("P53_HUMAN", "P04637; P02340; P10361;", 9606),
            flat_entry("P53_OTHER", "P99999; P10361;", 9606),
            flat_entry("RECA_ECOLI", "P0A7G6;", 83333),
            flat_entry("A0A023GPI8_CANGA", "A0A023GPI8;", 3828),
        ]
    )
    deleted = "Name:        delac_sp.txt\n____\nP68250\n"
    return old.directory, build(
        tmp_path, {"sprot.dat": flat, "delac": deleted}, name="new"
    ).directory


def test_diff_counts_the_entries_by_status(releases, capsys):
    assert run("diff", *releases, "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:5]] == [
        ["3", "primary in both"],
        ["2", "became secondary"],
        ["1", "were deleted"],
        ["1", "are not known any more"],
        ["1", "are new"],
    ]
    assert sorted(lines[5:]) == [
        "P02340\tsecondary\tmerged into P04637: send P04637",
        "P10361\tsecondary\tsplit into P04637, P99999: send the one that is meant",
        "P68250\tdeleted\tdeleted from UniProt without a successor: leave it out",
        "P68251\tunknown\tnot in UniProt new: send a primary accession of that release",
    ]


def test_diff_names_the_gold_lines_that_it_touches(releases, tmp_path, capsys):
    gold = tmp_path / "ipt.tsv"
    gold.write_text("a1\tP04637\tP02340\na2\tP04637\tP0A7G6\na3\tP68250\tQ00009\n")
    assert run("diff", *releases, "--gold", gold) == 0
    assert capsys.readouterr().out.splitlines()[5:] == [
        f"{gold}:1\ta1\tP02340\tsecondary\tmerged into P04637: send P04637",
        f"{gold}:3\ta3\tP68250\tdeleted\tdeleted from UniProt without a successor: leave it out",
        "              2 of 6 gold accessions touched",
    ]


def test_taxa_and_orthologs_are_files_that_the_evaluator_reads(release, tmp_path, capsys):
    gold = tmp_path / "int.tsv"
    gold.write_text("a1\tP04637\na1\tP0A7G6\na2\tQ15087\na2\tO00001\n")
    taxa, orthologs = tmp_path / "taxa.tsv", tmp_path / "orthologs.tsv"
    for command, out in (("taxa", taxa), ("orthologs", orthologs)):
        arguments = ("--release", release.directory, "--gold", gold, "--out", out)
        assert run(command, *arguments) == 0
        warnings = capsys.readouterr().err.splitlines()
        found = [line.split("\t")[0] for line in warnings]
        assert found == ["gold accession O00001", "gold accession Q15087"]
    assert sorted(taxa.read_text().splitlines()) == [
        "O00001\t0", "P04637\t9606", "P0A7G6\t562", "Q15087\t9606",
    ]  # fmt: skip
    assert orthologs.read_text() == "P04637\tP02340,P10361\n"
    [view] = select_views(read_gold("INT", gold), ["both"], homologs=orthologs, taxa=taxa)
    assert (view.homologs, view.taxa["P0A7G6"]) == ({"P04637": {"P02340", "P10361"}}, "562")


@pytest.mark.parametrize("text", ["a1\n", "a1\tP04637\tP02340\tP10361\n", "a1\t1\n"])
def test_a_gold_line_of_another_shape_is_named_and_nothing_is_written(
    release, tmp_path, capsys, text
):
    gold, out = tmp_path / "gold.tsv", tmp_path / "taxa.tsv"
    gold.write_text("a0\tP04637\n" + text)
    assert run("taxa", "--release", release.directory, "--gold", gold, "--out", out) == 2
    assert f"{gold}:2: " in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [gold]


def test_a_gold_file_or_an_output_that_cannot_be_opened_is_named(release, tmp_path, capsys):
    gold = tmp_path / "gold.tsv"
    options = ("--release", release.directory, "--gold", gold, "--out", tmp_path / "no" / "taxa")
    assert run("taxa", *options) == 2
    assert f"{gold}: cannot be read" in capsys.readouterr().err
    gold.write_text("a0\tP04637\n")
    assert run("taxa", *options) == 2
    assert f"{tmp_path / 'no' / 'taxa'}: cannot be written" in capsys.readouterr().err


def uniprot_commands() -> dict:
    commands = build_parser()._subparsers._group_actions[0].choices["uniprot"]
    return commands._subparsers._group_actions[0].choices


def test_every_command_and_option_is_in_the_guide():
    text = GUIDE.read_text("utf-8")
    found = uniprot_commands()
    subjects = {"build", "lookup", "names", "info", "diff", "use", "taxa", "orthologs"}
    assert set(found) == subjects
    for command, parser in found.items():
        section = text.partition(f"## `metaserver uniprot {command}")[2].partition("\n## ")[0]
        assert section, f"docs/uniprot.md has no section on {command}"
        for action in parser._actions:
            words = action.option_strings[-1:] or [action.metavar]
            assert f"`{words[0]}" in section or words == ["--help"], (command, words)


def test_every_reason_in_the_guide_is_one_that_is_given():
    """The table of verdicts has the golden file's sentences, except for names and accessions."""
    golden = (ROOT / "tests" / "golden" / "uniprot_verdicts.tsv").read_text("utf-8")
    rows = re.findall(
        r"^\| `([^`]*)` \| `(\w+)` \| (.*) \|$", GUIDE.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) >= 12
    for text, status, reason in rows:
        sent = text.replace("\\|", "|")  # as a table's cell writes it
        assert f"{sent}\t{status}\t{reason}\t" in golden


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    """A limit on the size of files simulates a full disk."""
    [source] = write_sources(tmp_path / "in", {"list": "P04637\n"})
    build = [sys.executable, "-m", "metaserver.cli.main", "uniprot", "build", "--from", str(source)]
    command = shlex.join([*build, "--release", "x", "--out", str(tmp_path / "out")])
    found = subprocess.run(
        ["sh", "-c", f"ulimit -f 1000; exec {command}"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(f"metaserver: {tmp_path / 'out'}: cannot be written: ")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
