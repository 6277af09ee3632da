"""`scoring consensus apply`: rank the candidates of other runs by a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scoring.commands.consensus.campaign import read_runs
from scoring.consensus.model import ConsensusModel
from scoring.consensus.model_files import read_model
from scoring.consensus.ranker import Consensus, ConsensusRanker
from scoring.consensus.validation import LEAST_CONFIDENCE
from scoring.consensus.votes import CUTOFF
from scoring.errors import OptionError
from scoring.files import Run, item_hits, result_lines
from scoring.options import add_lenient_ranks, add_runs, check_names, positive, warn_of
from scoring.tasks import Hit


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("apply", help="combine runs with a trained model")
    parser.add_argument("--out", type=Path, metavar="FILE", help="result file (default: print it)")
    parser.add_argument(
        "--cutoff",
        type=positive,
        default=CUTOFF,
        metavar="N",
        help="candidates per article (default 30)",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        help="leave out candidates of a lower probability (default: the model's threshold)",
    )
    add_application(parser)
    parser.set_defaults(command=apply)


def add_application(parser: argparse.ArgumentParser) -> None:
    """Add the model, the runs, and the weights of servers, which `Application` reads."""
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="model that `train` wrote"
    )
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="RUN=W",
        help="weight of a run, from 0 to 100 (default 1, or 0.5 if the model does not know the"
        " run)",
    )
    add_lenient_ranks(parser)
    add_runs(parser)


class Application:
    """A model, and runs that it is applied to; a run is the member of its name."""

    def __init__(self, args: argparse.Namespace) -> None:
        check_names(args.runs)
        self.model: ConsensusModel = read_model(args.model)
        runs = read_runs(self.model.task, args.runs, lenient_ranks=args.lenient_ranks)
        self.answers = {run.name: item_hits(run) for run in runs}
        self._weights = dict(_weight(one) for one in args.weight)
        self._ranker = ConsensusRanker(self.model)
        self._warn(runs)

    def _warn(self, runs: Sequence[Run]) -> None:
        known = {member.name for member in self.model.members}
        given = {run.name for run in runs}
        if absent := sorted(known - given):
            warn_of(f"no run of {', '.join(absent)}, which the model knows")
        if unknown := sorted(given - known):
            warn_of(f"the model does not know {', '.join(unknown)}")
        for name in sorted(self._weights.keys() - given):
            raise OptionError(f"--weight {name}: no run of this name")

    def articles(self) -> list[str]:
        """Return the articles of all runs, in the order of the files."""
        return list(dict.fromkeys(article for hits in self.answers.values() for article in hits))

    def consensus(self, article: str, cutoff: int | None, threshold: float | None) -> Consensus:
        """Return an article's candidates; a run without a line for it found nothing."""
        return self._ranker.rank(
            {name: hits.get(article, ()) for name, hits in self.answers.items()},
            weights=self._weights,
            cutoff=cutoff,
            threshold=threshold,
        )


def apply(args: argparse.Namespace) -> int:
    """Write the consensus of the runs."""
    application = Application(args)
    lists = (
        (article, _hits(application.consensus(article, args.cutoff, args.threshold)))
        for article in application.articles()
    )
    text = "".join(result_lines(application.model.task, lists))
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def _hits(consensus: Consensus) -> list[Hit]:
    """Return candidates as hits; without probabilities, confidences are shares of the best."""
    best = max((one.score for one in consensus.candidates), default=1.0)
    return [
        Hit(
            one.item,
            one.rank,
            min(
                1.0,
                max(
                    LEAST_CONFIDENCE,
                    one.score / best if one.probability is None else one.probability,
                ),
            ),
        )
        for one in consensus.candidates
    ]


def _weight(text: str) -> tuple[str, float]:
    name, _, weight = text.rpartition("=")
    try:
        return name, float(weight)
    except ValueError as error:
        raise OptionError(f"--weight {text}; expected RUN=NUMBER") from error
