"""The consensus of servers: fused or learned, calibrated, explained, kept as JSON.

`train_model` learns a `ConsensusModel` from runs and gold, `model_text` and `parse_model` keep it,
and a `ConsensusRanker` applies it to the answers that have arrived for an article. `cross_validate`
says what it is worth. What was measured is in docs/consensus.md.
"""

from scoring.consensus.choice import CRITERIA, TeamChoice, counted_articles, score_hits
from scoring.consensus.contribution import Contribution, contributions
from scoring.consensus.making import train_model
from scoring.consensus.model import METHODS, ConsensusModel, Member, Quality
from scoring.consensus.model_files import model_text, parse_model, read_model, write_model
from scoring.consensus.progressive import PartialPanel, progressive
from scoring.consensus.ranker import Consensus, ConsensusRanker, RankedCandidate, Vote
from scoring.consensus.validation import CrossValidation, cross_validate

__all__ = [
    "CRITERIA",
    "METHODS",
    "Consensus",
    "ConsensusModel",
    "ConsensusRanker",
    "Contribution",
    "CrossValidation",
    "Member",
    "PartialPanel",
    "Quality",
    "RankedCandidate",
    "TeamChoice",
    "Vote",
    "contributions",
    "counted_articles",
    "cross_validate",
    "model_text",
    "parse_model",
    "progressive",
    "read_model",
    "score_hits",
    "train_model",
    "write_model",
]
