"""The 82 edge cases of the official program: accept and reject as it does, but where it is wrong.

`cli_cases.json` has each case's options and exit status, not its files; these are written here
after the case's name. Every difference is listed in docs/scoring.md.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scoring.cli import main
from tests.shared import shared

A, B, C = (f"10.1016/j.febslet.2008.01.00{number}" for number in (1, 2, 3))
GOLD = {
    "INT": f"{A}\tP04637\n{A}\tP38398\n{A}\tQ00987\n{B}\tP00533\n{C}\tP01112\n{C}\tP04049\n",
    "IPT": f"{A}\tP04637\tQ00987\n{A}\tP38398\tQ00987\n{B}\tP00533\tP00533\n{C}\tP01112\tP04049\n",
    "ACT": "".join(
        f"10.1016/j.febslet.2008.01.00{number}\t{label}\n"
        for number, label in enumerate((1, 1, 1, 0, 0, 0, 0), start=1)
    ),
}
RUN = {
    "INT": f"{A}\tP04637\t1\t0.9\n{A}\tP99999\t2\t0.8\n{A}\tP38398\t3\t0.7\n"
    f"{B}\tP11111\t1\t0.6\n{B}\tP00533\t2\t0.5\n",
    "IPT": f"{A}\tQ00987\tP04637\t1\t0.9\n{A}\tP38398\tQ00987\t2\t0.8\n{A}\tP1\tP2\t3\t0.7\n"
    f"{B}\tP00533\tP00533\t1\t0.6\n",
    "ACT": "".join(
        f"10.1016/j.febslet.2008.01.00{number}\t{rest}\n"
        for number, rest in (
            (1, "1\t1\t0.9"),
            (4, "1\t2\t0.8"),
            (2, "1\t3\t0.7"),
            (5, "0\t1\t0.9"),
            (6, "0\t2\t0.8"),
            (3, "0\t3\t0.4"),
            (7, "0\t4\t0.3"),
        )
    ),
}
MAP, TAXA = (
    "P04637\tP99999\n",
    "".join(
        f"{accession}\t9606\n"
        for accession in ("P04637", "P38398", "Q00987", "P00533", "P01112", "P04049")
    ),
)


class Files(NamedTuple):
    """The changed files of a case; None is the plain file above."""

    run: str | None = None
    gold: str | None = None
    taxa: str | None = None


ONE = f"{A}\tP04637\t1\t0.9\n"
TWO = "10.1016/j.febslet.2008.01.001\t{}\t1\t0.9\n10.1016/j.febslet.2008.01.004\t{}\t1\t0.9\n"
FILES = {
    "int_unknown_doc": Files(RUN["INT"] + "10.1/x\tP04637\t1\t0.5\n"),
    "int_dup_result": Files(ONE + f"{A}\tP04637\t2\t0.8\n"),
    "int_dup_rank": Files(ONE + f"{A}\tP38398\t1\t0.7\n"),
    "int_rank_gap": Files(ONE + f"{A}\tP38398\t3\t0.7\n"),
    "int_rank_start5": Files(f"{A}\tP04637\t5\t0.9\n{A}\tP38398\t6\t0.7\n"),
    "int_rank0": Files(f"{A}\tP04637\t0\t0.9\n"),
    "int_rank_neg": Files(f"{A}\tP04637\t-1\t0.9\n"),
    "int_rank_float": Files(f"{A}\tP04637\t1.5\t0.9\n"),
    "int_conf0": Files(f"{A}\tP04637\t1\t0\n"),
    "int_conf_gt1": Files(f"{A}\tP04637\t1\t1.1\n"),
    "int_conf1": Files(f"{A}\tP04637\t1\t1\n"),
    "int_conf_nan": Files(f"{A}\tP04637\t1\tnan\n"),
    "int_conf_text": Files(f"{A}\tP04637\t1\thigh\n"),
    "int_conf_increasing": Files(f"{A}\tP04637\t1\t0.1\n{A}\tP38398\t2\t0.9\n"),
    "int_conf_missing_col": Files(f"{A}\tP04637\t1\n"),
    "int_extra_cols": Files(f"{A}\tP04637\t1\t0.9\tevidence text\n"),
    "int_blank_line": Files(ONE + "\n" + f"{A}\tP38398\t2\t0.7\n"),
    "int_crlf": Files(RUN["INT"].replace("\n", "\r\n")),
    "int_spaces_sep": Files(f"{A} P04637 1 0.9\n"),
    "int_empty_results": Files(""),
    "int_empty_results_all": Files(""),
    "int_gold_dup": Files(gold=GOLD["INT"] + f"{A}\tP04637\n"),
    "int_gold_empty": Files(gold=""),
    "int_gold_extra_col": Files(gold=f"{A}\tP04637\tx\n"),
    "int_case_acc": Files(f"{A}\tp04637\t1\t0.9\n"),
    "int_isoform_acc": Files(f"{A}\tP04637-2\t1\t0.9\n"),
    "int_unsorted_file": Files("".join(sorted(RUN["INT"].splitlines(True), reverse=True))),
    "int_of_missing_gs_acc": Files(taxa="P04637\t9606\n"),
    "ipt_swapped_dup": Files(f"{A}\tP04637\tQ00987\t1\t0.9\n{A}\tQ00987\tP04637\t2\t0.8\n"),
    "ipt_exact_dup": Files(f"{A}\tP04637\tQ00987\t1\t0.9\n{A}\tP04637\tQ00987\t2\t0.8\n"),
    "ipt_gold_swapped_dup": Files(gold=GOLD["IPT"] + f"{A}\tQ00987\tP04637\n"),
    "ipt_missing_col": Files(f"{A}\tP04637\t1\t0.9\n{A}\tP04637\tP1\t1\t0.9\n"),
    "act_same_rank_across_classes_ok": Files(TWO.format(1, 0)),
    "act_dup_rank_same_class": Files(TWO.format(1, 1)),
    "act_dup_doi": Files(f"{A}\t1\t1\t0.9\n{A}\t0\t1\t0.8\n"),
    "act_plus_minus": Files(TWO.format("+", "-")),
    "act_true_false_words": Files(TWO.format("True", "False")),
    "act_int2": Files(TWO.format(2, 0)),
    "act_bad_class": Files(TWO.format("maybe", 0)),
    "act_unknown_doc": Files(RUN["ACT"] + "10.1/x\t1\t4\t0.5\n"),
    "act_gold_all_neg": Files(gold=GOLD["ACT"].replace("\t1", "\t0")),
    **{
        f"act_pos_only{form}": Files("".join(RUN["ACT"].splitlines(True)[:3]))
        for form in ("", "_tab", "_pr")
    },
    **{
        f"act_neg_only{form}": Files("".join(RUN["ACT"].splitlines(True)[3:]))
        for form in ("_tab", "_pr")
    },
}

REJECTED_BY_RULE = {
    "int_rank_gap": "ranks are consecutive from 1",
    "int_rank_start5": "ranks are consecutive from 1",
    "int_gold_extra_col": "a gold line has a fixed number of columns",
    "ipt_missing_col": "a missing column is an error, not a line to skip",
    "act_plus_minus": "a class is 0 or 1",
    "act_true_false_words": "a class is 0 or 1",
    "act_int2": "a class is 0 or 1",
}
STRICTER_THAN_THE_PROGRAM = {  # what it accepts, though none of its cases has it
    "int_space_around_accession": ("INT", Files(f"{A}\tP04637 \t1\t0.9\n"), "run.tsv:1:column 2"),
    "int_space_around_article": ("INT", Files(f" {A}\tP04637\t1\t0.9\n"), "run.tsv:1:column 1"),
    "int_space_around_rank": ("INT", Files(f"{A}\tP04637\t 1\t0.9\n"), "run.tsv:1:column 3"),
    "int_space_around_confidence": ("INT", Files(f"{A}\tP04637\t1\t0.9 \n"), "run.tsv:1:column 4"),
    "int_gold_space_around": ("INT", Files(gold=f"{A}\t P04637\n"), "gold.tsv:1:column 2"),
    "act_gold_space_around": ("ACT", Files(gold=f"{A}\t1 \n"), "gold.tsv:1:column 2"),
    "int_gold_blank_line": ("INT", Files(gold="\n" + GOLD["INT"]), "gold.tsv:1: blank line"),
    "ipt_gold_blank_line": ("IPT", Files(gold=GOLD["IPT"] + "\n"), "gold.tsv:5: blank line"),
    "act_gold_blank_line": ("ACT", Files(gold=GOLD["ACT"] + "\n"), "gold.tsv:8: blank line"),
    "int_comment": ("INT", Files(RUN["INT"] + f"#{A}\tP1\t1\t0.5\n"), "run.tsv:6: comment"),
    "int_gold_comment": ("INT", Files(gold=f"#{A}\tP1\n" + GOLD["INT"]), "gold.tsv:1: comment"),
    "int_control_character": ("INT", Files(f"{A}\tP0\x014\t1\t0.9\n"), "run.tsv:1:column 2"),
    "int_invisible_character": ("INT", Files(f"{A}\tP0\u200b\t1\t0.9\n"), "run.tsv:1:column 2"),
    "int_empty_accession": ("INT", Files(f"{A}\t\t1\t0.9\n"), "run.tsv:1:column 2: empty"),
    "int_long_rank": ("INT", Files(f"{A}\tP1\t{'9' * 20}\t0.9\n"), "run.tsv:1:column 3: rank"),
    "act_words": ("ACT", Files(f"{A}\tY\t1\t0.9\n"), "run.tsv:1:column 2: class"),
    "act_signed_class": ("ACT", Files(f"{A}\t-1\t1\t0.9\n"), "run.tsv:1:column 2: class"),
    "act_gold_words": ("ACT", Files(gold=f"{A}\ttrue\n"), "gold.tsv:1:column 2: class"),
    "act_gold_int2": ("ACT", Files(gold=f"{A}\t2\n"), "gold.tsv:1:column 2: class"),
    "ipt_gold_missing_col": ("IPT", Files(gold=f"{A}\tP1\n"), "gold.tsv:1: 2 columns"),
    "int_gold_header": ("INT", Files(gold="article\taccession\n"), "gold.tsv:1: column names"),
    "int_gold_of_act": ("INT", Files(gold=GOLD["ACT"]), "gold.tsv:column 2: classes"),
    "int_dup_outside_gold": (
        "INT",
        Files(RUN["INT"] + "10.1/x\tP1\t1\t0.9\n10.1/x\tP1\t2\t0.8\n"),
        "run.tsv:7:column 2",
    ),
    "int_dup_rank_outside_gold": (
        "INT",
        Files(RUN["INT"] + "10.1/x\tP1\t1\t0.9\n10.1/x\tP2\t1\t0.8\n"),
        "run.tsv:7:column 3",
    ),
    "ipt_dup_outside_gold": (
        "IPT",
        Files(RUN["IPT"] + "10.1/x\tP1\tP2\t1\t0.9\n10.1/x\tP2\tP1\t2\t0.8\n"),
        "run.tsv:6:column 2",
    ),
    "act_dup_outside_gold": (
        "ACT",
        Files(RUN["ACT"] + "10.1/x\t1\t4\t0.5\n10.1/x\t1\t5\t0.4\n"),
        "run.tsv:9:column 1",
    ),
}
ACCEPTED_BY_RULE = {"act_pos_only": "the official program crashes on unreported relevant articles"}
DOCUMENTED = {
    "gaps in the ranks": "int_rank_gap int_rank_start5",
    "ranks of more than 18 digits": "int_long_rank",
    "a column too many in gold": "int_gold_extra_col",
    "one accession in IPT": "ipt_missing_col ipt_gold_missing_col",
    "an empty accession": "int_empty_accession",
    "a class other than 0 and 1": "act_plus_minus act_true_false_words act_int2 act_words"
    " act_signed_class act_gold_words act_gold_int2",
    "spaces around a field": "int_space_around_accession int_space_around_article"
    " int_space_around_rank int_space_around_confidence int_gold_space_around"
    " act_gold_space_around",
    "control and invisible characters": "int_control_character int_invisible_character",
    "comments with the right number of columns": "int_comment int_gold_comment",
    "blank lines in gold": "int_gold_blank_line ipt_gold_blank_line act_gold_blank_line",
    "gold with column names": "int_gold_header",
    "gold of ACT for INT": "int_gold_of_act",
    "twice outside the gold": "int_dup_outside_gold int_dup_rank_outside_gold ipt_dup_outside_gold"
    " act_dup_outside_gold",
    "leave relevant articles out": "act_pos_only",
}
"""The words of docs/scoring.md for each case that has another outcome here."""
NOT_OFFERED = {  # layouts and outputs of the official program that this one does not have
    "-r",
    "-c",
    "-l",
    "-s",
    "--accuracy",
    "--recall",
    "--mcc-score",
}
SAME_HERE = {
    "--all": ["--articles", "all"], "-k": ["--cutoff"], "--ho": ["--map"], "--of": ["--taxa"],
}  # fmt: skip


def options(case: str, arguments: list[str], folder: Path) -> list[str] | None:
    """Translate the official program's options; None where there is no such thing here."""
    if case.startswith("act") and {"-l", "-c"} & set(arguments):
        return None
    ours: list[str] = []
    for argument in arguments[1:]:
        if argument in SAME_HERE:
            ours += SAME_HERE[argument]
        elif argument.startswith("@"):
            ours.append(str(folder / argument[1:]))
        elif argument.isdecimal():
            ours.append(argument)
        elif argument in NOT_OFFERED and case != "int_recall_only":
            return None
    return ours


def cases() -> list[dict[str, Any]]:
    return json.loads(shared("golden/bceval/cli_cases.json").read_text())


@pytest.mark.parametrize("number", range(82))
def test_accepts_and_rejects_as_the_official_program(number, tmp_path, capsys):
    case = cases()[number]
    name, arguments = case["case"], case["args"]
    official = case["runs"]["2.3.1"]
    task = arguments[0].removeprefix("--")
    ours = options(name, arguments, tmp_path)
    if ours is None:
        assert not NOT_OFFERED.isdisjoint(arguments)
        return
    files = FILES.get(name, Files())
    status = evaluate(task, files, tmp_path, *ours)
    output = capsys.readouterr()

    accepted = official["rc"] == 0
    if name in REJECTED_BY_RULE:
        assert accepted, "this is no difference"
        accepted = False
    if name in ACCEPTED_BY_RULE:
        assert not accepted, "this is no difference"
        accepted = True
    assert (status == 0) == accepted, output.err
    if not accepted:
        assert status == 2
        assert output.out == ""
        assert output.err.strip()
    elif files == Files() and not {"--ho", "--of"} & set(arguments):
        counts = re.search(r"TP:\s+(\d+) FP:\s+(\d+) FN:\s+(\d+)", official["stdout"])
        values = json.loads(output.out)[0]
        if counts:
            assert [values[key] for key in ("tp", "fp", "fn")] == [int(n) for n in counts.groups()]


def evaluate(task: str, files: Files, folder: Path, *options: str) -> int:
    contents = {
        "run.tsv": files.run if files.run is not None else RUN[task],
        "gold.tsv": files.gold if files.gold is not None else GOLD[task],
        "ho": MAP,
        "of": files.taxa if files.taxa is not None else TAXA,
    }
    for file, text in contents.items():
        (folder / file).write_bytes(text.encode())
    command = ["evaluate", "--task", task, "--gold", str(folder / "gold.tsv"), *options]
    return main([*command, str(folder / "run.tsv"), "--json"])


@pytest.mark.parametrize("options", [[], ["--views", "all"], ["--lenient-ranks"]])
@pytest.mark.parametrize("name", STRICTER_THAN_THE_PROGRAM)
def test_stricter_refusals_name_their_place(name, options, tmp_path, capsys):
    task, files, place = STRICTER_THAN_THE_PROGRAM[name]
    if "--views" in options:
        if task == "ACT":
            return  # has no views
        options = [*options, "--map", str(tmp_path / "ho"), "--taxa", str(tmp_path / "of")]
    assert evaluate(task, files, tmp_path, *options) == 2
    output = capsys.readouterr()
    assert output.out == ""
    [problem] = output.err.splitlines()
    assert f"{tmp_path}/{place}" in problem


def test_every_difference_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/scoring.md").read_text()
    names = [name for names in DOCUMENTED.values() for name in names.split()]
    differing = [*REJECTED_BY_RULE, *ACCEPTED_BY_RULE, *STRICTER_THAN_THE_PROGRAM]
    assert sorted(names) == sorted(differing)
    assert [words for words in DOCUMENTED if words not in text] == []
    for option in NOT_OFFERED:
        assert f"`{option}`" in text
