"""What a consensus of servers is worth, and what it costs, on a panel of twelve.

The panel (`benchmarks.panel`) answers 145 abstracts with silver gold, in `../shared`. Everything
learned is cross-validated in ten folds, the least probability within them; three seeds deal out the
articles. The peers are votes, Borda, reciprocal rank fusion, CombSUM and CombMNZ, and the best
member.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from benchmarks import sized
from benchmarks.panel import TEAMS, gold_of, runs_of, texts_of
from scoring.consensus import (
    ConsensusModel,
    ConsensusRanker,
    CrossValidation,
    contributions,
    cross_validate,
    progressive,
    train_model,
)
from scoring.consensus.measures import LIKELY, article_values, calibration_error, macro
from scoring.consensus.model import LEARNED, METHODS, Weights
from scoring.consensus.training import train_weights
from scoring.consensus.validation import FoldScorer
from scoring.consensus.votes import Floats, Votes
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.resampling import resampled, weighted_means
from scoring.tasks import Hit, Task

SEEDS = sized([2009, 2010, 2011], [2009])
COUNTS = (1, 2, 3, 4, 6, 8, 12)
ARTICLES, MEMBERS = sized((145, 12), (20, 4))
SIZES, DRAWS = sized(((5, 10, 20, 40, 80), 10), ((5, 10), 1))
SHOWN = ("stacked", "maxent", "rrf1", "combsum", "votes")
RESAMPLES, CHANCES = sized((10_000, 500), (100, 5))


def print_quality(gold: ItemGold, runs: Sequence[Run]) -> Mapping[str, list[CrossValidation]]:
    """Print the table of members and methods; return cross-validations, one a seed."""
    members = {run.name: member_values(gold, run) for run in runs}
    best = max(members, key=lambda name: macro(members[name]["auc_ipr"]))
    print(f"\n{gold.task}: {len(gold)} articles, {len(runs)} members, best member {best}")
    print(f"{'':24s}  F10@30  AUC iP/R  candidates    ECE  difference to the best member")
    for name, values in members.items():
        f_score, auc = (macro(values[one]) for one in ("f_score", "auc_ipr"))
        print(f"{name:24s}  {f_score:6.3f}  {auc:8.3f}")
    found: dict[str, list[CrossValidation]] = {}
    for method in METHODS:
        seeds = SEEDS if method in LEARNED else SEEDS[:1]
        found[method] = [
            cross_validate(gold, runs, method=method, articles="all", thresholds=True, seed=seed)
            for seed in seeds
        ]
        for short in (False, True) if method in LEARNED else (False,):
            print_method(method, found[method], members[best], short=short)
    print_aims(found["stacked"], best)
    return found


def print_method(
    name: str, found: Sequence[CrossValidation], best: Mapping[str, Floats], *, short: bool
) -> None:
    """Print a method's line, means over the seeds; the difference is of AUC iP/R."""
    auc = np.mean([values_of(one, "auc_ipr", short=short) for one in found], axis=0)
    f_score = np.mean([values_of(one, "f_score", short=short) for one in found], axis=0)
    difference = auc - best["auc_ipr"]
    learned = bool(found[0].scorer.weights)
    error = f"{fmean(errors(found)):.4f}" if learned else ""
    length = fmean(len(hits) for one in found for hits in one.hits(short=short).values())
    print(
        f"{name + (', least probability' if short else ''):24s}  {macro(f_score):6.3f}  "
        f"{macro(auc):8.3f}  {length:10.1f}  {error:>5s}  "
        f"{with_interval(difference, '+.3f')}"
    )


def with_interval(values: Floats, form: str = ".3f") -> str:
    """Return a mean over articles with its 95 % interval."""
    draws = resampled(np.random.default_rng(2009), len(values), RESAMPLES)
    drawn = np.concatenate([weighted_means(values[:, None], some) for some in draws])
    low, high = np.quantile(drawn[:, 0], [0.025, 0.975])
    return f"{values.mean():{form}} [{low:{form}}, {high:{form}}]"


def print_aims(found: Sequence[CrossValidation], best: str) -> None:
    """Print what `stacked` reaches, how far likely candidates are off, and what a loss costs."""
    auc = np.mean([values_of(one, "auc_ipr", short=False) for one in found], axis=0)
    print(f"\nstacked: AUC iP/R {with_interval(auc)}")
    print_likely(found)
    without = []
    for one in found:
        present = np.array([name != best for name in one.votes.servers])
        some = one.votes.of_servers(np.broadcast_to(present, one.votes.answered.shape))
        without.append(article_values(some, one.sizes, one.scorer.scores(some), "auc_ipr"))
    lost = np.mean(without, axis=0) - auc
    print(f"its AUC iP/R while {best} is away: {with_interval(lost, '+.3f')}")


def print_likely(found: Sequence[CrossValidation]) -> None:
    """Print the calibration error above 0.1, and what probabilities that are right would have."""
    found_errors, right = [], []
    rng = np.random.default_rng(2009)
    for one in found:
        counted = one.probabilities >= LIKELY
        said = one.probabilities[counted]
        found_errors.append(calibration_error(said, one.votes.correct[counted].astype(float)))
        chances = (rng.random(len(said)) < said for _ in range(CHANCES))
        right += [calibration_error(said, chance.astype(float)) for chance in chances]
    low, high = np.quantile(right, [0.025, 0.975])
    print(f"its ECE above {LIKELY}: {fmean(found_errors):.3f}", end=", ")
    print(f"of probabilities that are right: {fmean(right):.3f} [{low:.3f}, {high:.3f}]")


def errors(found: Sequence[CrossValidation]) -> list[float]:
    return [calibration_error(one.probabilities, one.votes.correct.astype(float)) for one in found]


def values_of(one: CrossValidation, measure: str, *, short: bool) -> Floats:
    least = one.least if short else None
    return article_values(one.votes, one.sizes, one.scores, measure, least=least)


def member_values(gold: ItemGold, run: Run) -> Mapping[str, Floats]:
    votes = Votes.of({run.name: item_hits(run)}, gold.articles, gold=gold.items)
    ranks = votes.sums(-votes.place)
    return {
        measure: article_values(votes, gold.sizes, ranks, measure)
        for measure in ("f_score", "auc_ipr")
    }


def print_progress(found: Mapping[str, list[CrossValidation]]) -> None:
    """Print the progressive test: k of the servers answered, drawn ten times an article."""
    rows = {method: progressive(found[method][0], COUNTS) for method in SHOWN}
    rows["panel alone"] = progressive(panel_alone(found["stacked"][0]), COUNTS)
    print("\nAUC iP/R, k servers answered  " + "  ".join(f"{count:5d}" for count in COUNTS))
    for method, points in rows.items():
        print(f"{method:28s}  " + "  ".join(f"{one.auc_ipr:.3f}" for one in points))
    for name in ("f_score", "calibration_error"):
        points = [getattr(one, name) for one in rows["stacked"]]
        print(f"{'stacked, ' + name:28s}  " + "  ".join(f"{one:.3f}" for one in points))


def panel_alone(validated: CrossValidation) -> CrossValidation:
    """Return the same consensus where it knows none of the servers."""
    scorer = validated.scorer
    blind = [
        type(one)(
            servers=dict.fromkeys(one.servers, (0.0, 0.0, 0.0)), panel=one.panel, bias=one.bias
        )
        for one in scorer.weights
    ]
    return CrossValidation(
        votes=validated.votes,
        sizes=validated.sizes,
        scorer=FoldScorer(method=scorer.method, fold_of=scorer.fold_of, weights=blind),
        members=validated.members,
        thresholds=validated.thresholds,
    )


def print_unknown(gold: ItemGold, runs: Sequence[Run]) -> None:
    """Print what a server that the model was not trained with adds, by the weight it is given."""
    weights = (0.0, 0.25, 0.5, 1.0)
    print("\nAUC iP/R with a server that the model does not know, by its weight")
    print(f"{'':24s}  " + "  ".join(f"{weight:5.2f}" for weight in weights))
    sums = np.zeros(len(weights))
    for unknown in runs:
        known = [run for run in runs if run is not unknown]
        validated = cross_validate(gold, known, articles="all")
        answers = {run.name: item_hits(run) for run in runs}
        votes = Votes.of(answers, gold.articles, gold=gold.items)
        values = [
            macro(article_values(votes, gold.sizes, scores(validated, votes, weight), "auc_ipr"))
            for weight in weights
        ]
        sums += values
        print(f"{unknown.name:24s}  " + "  ".join(f"{value:.3f}" for value in values))
    print(f"{'mean':24s}  " + "  ".join(f"{value / len(runs):.3f}" for value in sums))


def scores(validated: CrossValidation, votes: Votes, weight: float) -> Floats:
    """Return scores by each article's fold, servers that the weights lack at some weight."""
    fold = validated.scorer.fold_of[votes.article_of]
    known = validated.scorer.weights[0].servers
    weighed = np.array([1.0 if name in known else weight for name in votes.servers])
    by_fold = np.array([one.scores(votes, weighed) for one in validated.scorer.weights])
    return by_fold[fold, np.arange(len(votes))]


def print_curve(gold: ItemGold, runs: Sequence[Run]) -> None:
    """Print the quality by the number of articles with gold, on the others."""
    print(f"\nAUC iP/R by articles with gold (means over {DRAWS} draws, on the articles not drawn)")
    print(f"{'':24s}  " + "  ".join(f"{size:5d}" for size in SIZES))
    votes = Votes.of({run.name: item_hits(run) for run in runs}, gold.articles, gold=gold.items)
    for method in ("stacked", "maxent", "rrf1"):
        means = []
        for size in SIZES:
            values = []
            for draw in range(DRAWS):
                order = np.random.default_rng([size, draw]).permutation(len(gold))
                fold_of = np.ones(len(gold), dtype=np.int64)
                fold_of[order[:size]] = 0
                weights = trained(method, votes.of_articles(fold_of == 0))
                scorer = FoldScorer(method=method, fold_of=fold_of * 0, weights=weights)
                found = article_values(votes, gold.sizes, scorer.scores(votes), "auc_ipr")
                values.append(macro(found[fold_of == 1]))
            means.append(fmean(values))
        print(f"{method:24s}  " + "  ".join(f"{value:.3f}" for value in means))


def trained(method: str, votes: Votes) -> list[Weights]:
    return [train_weights(one, votes) for one in LEARNED if one == method]


def print_contributions(validated: CrossValidation) -> None:
    began = time.process_time()
    found = contributions(validated, TEAMS)
    took = time.process_time() - began
    print(f"\ncontributions of {len(found)} teams, {took:.1f} s of processor time")
    for one in found:
        value = "not sure" if one.value is None else f"{one.value:.3f} ± {one.error:.3f}"
        interval = "" if one.value is None else f"[{one.low:+.3f}, {one.high:+.3f}]"
        print(
            f"{one.team:24s}  {value:14s}  {interval:16s}  missing {one.missing:+.3f}  "
            f"alone {one.alone:.3f}"
        )


def print_speed(model: ConsensusModel) -> None:
    """Print the time of one article's consensus: 12 servers of 30 candidates each."""
    ranker = ConsensusRanker(model)
    rng = np.random.default_rng(1)
    names = [member.name for member in model.members]
    for kind, pool in (("half in common", 60), ("all different", 10_000)):
        answers = {
            name: [
                Hit(f"P{item:05d}", rank, 1 / rank)
                for rank, item in enumerate(rng.choice(pool, 30, replace=False), start=1)
            ]
            for name in names
        }
        took = timed(partial(ranker.rank, answers, cutoff=30, threshold=0))
        count = len({hit.item for hits in answers.values() for hit in hits})
        print(
            f"recompute of {len(names)} servers of 30 candidates, {kind} ({count}): "
            f"median {took[len(took) // 2] * 1e3:.2f} ms, 99 % {took[-3] * 1e3:.2f} ms "
            "(target 20 ms)"
        )


def timed(work: Callable[[], object], times: int = 200) -> list[float]:
    """Return the processor times of some repetitions, rising."""
    took = []
    for _ in range(times):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return sorted(took)


def some_of(gold: ItemGold, count: int) -> ItemGold:
    """Return a gold of the first articles alone."""
    return ItemGold(task=gold.task, items={one: gold.items[one] for one in gold.articles[:count]})


def main() -> None:
    for task in (Task.INT, Task.IPT):
        gold = some_of(gold_of(task), ARTICLES)
        runs = runs_of(task, texts_of(gold))[:MEMBERS]
        found = print_quality(gold, runs)
        print_progress(found)
        print_unknown(gold, runs)
        print_curve(gold, runs)
        print_contributions(found["stacked"][0])
        if task is Task.INT:
            began = time.process_time()
            model = train_model(gold, runs, articles="all")
            print(f"\ntraining a model with its report: {time.process_time() - began:.1f} s")
            print_speed(model)


if __name__ == "__main__":
    main()
