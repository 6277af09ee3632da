"""The evaluator: INT, IPT and ACT runs scored as BioCreative II.5 did. Pure; needs no hub.

`evaluate_files` scores a result file, `evaluate_runs` many of them; `RunScorer` scores a run while
its answers land. All return a `Scorecard`. `compare` tests which differences are significant,
`article_ranks` and `article_difficulty` which articles are hard; `train_model` learns a consensus
of runs, and a `ConsensusRanker` applies it. What each measure means is in docs/scoring.md.

It imports neither `metaserver` nor `annotators`.
"""

from scoring.agreement import Agreement, agree
from scoring.analysis import ArticleDifficulty, ArticleRank, article_difficulty, article_ranks
from scoring.article_scores import ArticleScore
from scoring.biocreative import Answer, RunScorer
from scoring.confusion import Confusion
from scoring.consensus import (
    Consensus,
    ConsensusModel,
    ConsensusRanker,
    CrossValidation,
    TeamChoice,
    cross_validate,
    read_model,
    train_model,
)
from scoring.doubtful import DoubtfulItem, changed_gold, doubtful_items
from scoring.errors import FileProblem, FormatError, OptionError, ScoringError
from scoring.evaluation import evaluate_files, evaluate_runs
from scoring.files import Run, read_gold, read_run, result_lines
from scoring.frames import leaderboard
from scoring.gold import ActGold, Gold, ItemGold
from scoring.measures import MEASURES, mean_of
from scoring.ranking import Curve, Matches
from scoring.scorecard import (
    SCORER_VERSION,
    ActScorecard,
    Averaged,
    ItemScorecard,
    Pooled,
    Scorecard,
    Signature,
)
from scoring.sign_flips import PairTest, PairTests
from scoring.significance import Comparison, Interval, compare
from scoring.strata import (
    Strata,
    StratumDifference,
    StratumScore,
    read_strata,
    stratum_differences,
    stratum_scores,
)
from scoring.tasks import Classification, Hit, Item, Task, pair
from scoring.views import VIEWS, View, select_views

__all__ = [
    "MEASURES",
    "SCORER_VERSION",
    "VIEWS",
    "ActGold",
    "ActScorecard",
    "Agreement",
    "Answer",
    "ArticleDifficulty",
    "ArticleRank",
    "ArticleScore",
    "Averaged",
    "Classification",
    "Comparison",
    "Confusion",
    "Consensus",
    "ConsensusModel",
    "ConsensusRanker",
    "CrossValidation",
    "Curve",
    "DoubtfulItem",
    "FileProblem",
    "FormatError",
    "Gold",
    "Hit",
    "Interval",
    "Item",
    "ItemGold",
    "ItemScorecard",
    "Matches",
    "OptionError",
    "PairTest",
    "PairTests",
    "Pooled",
    "Run",
    "RunScorer",
    "Scorecard",
    "ScoringError",
    "Signature",
    "Strata",
    "StratumDifference",
    "StratumScore",
    "Task",
    "TeamChoice",
    "View",
    "agree",
    "article_difficulty",
    "article_ranks",
    "changed_gold",
    "compare",
    "cross_validate",
    "doubtful_items",
    "evaluate_files",
    "evaluate_runs",
    "leaderboard",
    "mean_of",
    "pair",
    "read_gold",
    "read_model",
    "read_run",
    "read_strata",
    "result_lines",
    "select_views",
    "stratum_differences",
    "stratum_scores",
    "train_model",
]
