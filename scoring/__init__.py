"""The evaluator: INT, IPT and ACT runs scored as BioCreative II.5 did. Pure; needs no hub.

`evaluate_files` scores a result file; `RunScorer` scores a run while its answers land. Both return
a `Scorecard`. What each measure means is in docs/scoring.md.
"""

from scoring.biocreative import Answer, RunScorer
from scoring.errors import FormatError, OptionError, Problem, ScoringError
from scoring.evaluation import evaluate_files
from scoring.files import Run, read_gold, read_run, result_lines
from scoring.gold import ActGold, Gold, ItemGold
from scoring.scorecard import ActScorecard, ItemScorecard, Scorecard, Signature
from scoring.tasks import Classification, Hit, Item, Task, pair

__all__ = [
    "ActGold",
    "ActScorecard",
    "Answer",
    "Classification",
    "FormatError",
    "Gold",
    "Hit",
    "Item",
    "ItemGold",
    "ItemScorecard",
    "OptionError",
    "Problem",
    "Run",
    "RunScorer",
    "Scorecard",
    "ScoringError",
    "Signature",
    "Task",
    "evaluate_files",
    "pair",
    "read_gold",
    "read_run",
    "result_lines",
]
