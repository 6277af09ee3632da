"""`scoring consensus train`: learn a consensus from runs and gold, and keep it as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.commands.consensus.campaign import add_campaign, read_campaign
from scoring.consensus.making import AUTO, train_model
from scoring.consensus.model import METHODS, ConsensusModel
from scoring.consensus.model_files import write_model
from scoring.errors import OptionError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("train", help="train a model on runs and gold")
    add_campaign(parser)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="file to write the model to"
    )
    parser.add_argument(
        "--method",
        choices=(AUTO, *METHODS),
        default=AUTO,
        help="auto (default): stacked or rrf1, whichever scores better in cross-validation",
    )
    parser.set_defaults(command=train)


def train(args: argparse.Namespace) -> int:
    """Write the model, and print what it reached in cross-validation."""
    if not args.model.parent.is_dir():
        raise OptionError(f"{args.model.parent}: no such folder")
    campaign = read_campaign(args)
    model = train_model(
        campaign.gold,
        campaign.runs,
        teams=campaign.teams,
        method=args.method,
        articles=campaign.articles,
        choice=campaign.choice,
        folds=campaign.folds,
        training_cutoff=args.training_cutoff,
        selection_cutoff=args.selection_cutoff,
        label=campaign.gold.digest,
        seed=args.seed,
        features=args.features,
    )
    write_model(model, args.model)
    print(*_summary(model), sep="\n")
    return 0


def _summary(model: ConsensusModel) -> list[str]:
    quality = model.quality
    assert quality is not None
    members = f"{len(model.members)} members, {model.articles} articles"
    lines = [
        f"{model.task}, {model.method}: {members}",
        f"cross-validated in {quality.folds} folds, at 30 candidates an article:",
        f"  AUC iP/R  {quality.auc_ipr:.3f}  (best member {quality.best_member:.3f})",
        f"  F_10      {quality.f_score:.3f}",
    ]
    if model.threshold is not None and quality.calibration_error is not None:
        lines += [
            f"  ECE       {quality.calibration_error:.3f}",
            f"least probability {model.threshold:.4f}",
        ]
    return lines
