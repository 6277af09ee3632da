"""The official BC II.5 evaluator 2.3.1 is the oracle: 300 random cases, all digits.

150 are plain; 150 have lines in any order, ids that are not ASCII, gaps in the ranks and CRLF.
"""

from pathlib import Path

import pytest

from scoring import evaluate_files
from tests.golden.bceval import POLICY, assert_agrees, cases


@pytest.mark.parametrize("number", range(150))
@pytest.mark.parametrize("name", ["parity_public", "parity_lines"])
def test_agrees_with_the_official_program(name: str, number: int, tmp_path: Path) -> None:
    case = cases(name)[number]
    gold, run = tmp_path / "gold.tsv", tmp_path / "run.tsv"
    gold.write_text(case["gold"])
    run.write_text(case["run"])
    scorecard = evaluate_files(
        case["task"], gold, run, articles=POLICY[case["documents"]], cutoff=case["cutoff"],
        lenient_ranks=True,
    )  # fmt: skip
    assert_agrees(scorecard, case["expected"])


@pytest.mark.parametrize("name", ["parity_public", "parity_lines"])
def test_every_case_is_played(name: str) -> None:
    assert len(cases(name)) == 150
