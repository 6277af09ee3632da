"""Charts of scores: curves, F and AUC, intervals, the difficulty of articles, 3-D predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scoring.analysis import ArticleDifficulty, ArticleRank
from scoring.charts import Chart, Panel, Scale, Series, best_named, unit_scale
from scoring.corpora import Counts, Species, WordRate
from scoring.difficulty import Borders, Cluster, cluster_articles
from scoring.ppi3d import Curves
from scoring.report import n_of_gold
from scoring.scorecard import ActScorecard, Scorecard, Signature
from scoring.significance import Comparison, Interval
from scoring.teams import main_score
from scoring.usefulness import IDEAL, Usefulness

_MEASURES = {"auc_ipr": "AUC iP/R", "f_score": "F", "mcc": "MCC"}


def curves(scorecards: Sequence[Scorecard]) -> Chart:
    """Return the runs' interpolated precision/recall curves (macro-averaged for INT and IPT)."""
    styles = best_named([main_score(card) for card in scorecards])
    series = []
    for card, style in zip(scorecards, styles, strict=True):
        x, y = [], []
        last = 0.0
        for recall, precision in card.curve:
            x += [last, recall]
            y += [precision, precision]
            last = recall
        series.append(Series(name=_labelled(card, card.signature), x=x, y=y, style=style))
    panel = Panel(
        x=unit_scale("recall"),
        y=unit_scale("interpolated precision"),
        series=series,
    )
    return _chart("Interpolated precision and recall", scorecards, panel)


def scatter(scorecards: Sequence[Scorecard]) -> Chart:
    """Return each run's AUC iP/R against its F (ACT: MCC): ranking against classification."""
    styles = best_named([main_score(card) for card in scorecards])
    act = isinstance(scorecards[0], ActScorecard)
    series = [
        Series(
            name=_labelled(card, card.signature),
            x=[card.confusion.mcc if isinstance(card, ActScorecard) else card.macro.f_score],
            y=[main_score(card)],
            kind="points",
            style=style,
            texts=[_labelled(card, card.signature)],
            named=style is not None,
        )
        for card, style in zip(scorecards, styles, strict=True)
    ]
    measure = "MCC" if act else "F"
    lowest = min((one.x[0] for one in series), default=0.0)
    highest = max((one.x[0] for one in series), default=0.0) or 1.0
    panel = Panel(
        x=Scale(label=measure, low=min(0.0, lowest), high=1.3 * highest),  # names lie to the right
        y=Scale(label="AUC iP/R", low=0.0),
        series=series,
    )
    return _chart(f"AUC iP/R and {measure}", scorecards, panel)


def intervals(comparison: Comparison) -> Chart:
    """Return each run's score with its interval, the best run on top."""
    runs = comparison.intervals
    measure = _MEASURES.get(comparison.measure, comparison.measure)
    names = [_labelled(one, comparison.signature) for one in runs][::-1]
    series = Series(
        name=f"{comparison.level:.0%} interval",
        x=[one.score for one in runs][::-1],
        y=list(range(len(runs))),
        kind="points",
        style=0,
        ends=[(one.low, one.high) for one in runs][::-1],
        ends_of="x",
        texts=names,
    )
    low = 0.0 if all(one.low >= 0 for one in runs) else -1.0
    kind = f"{comparison.level:.0%} interval ({comparison.interval})"
    panel = Panel(
        x=Scale(label=f"{measure}, with its {kind}", low=low, high=1.0),
        y=Scale(label="", low=-0.5, high=len(runs) - 0.5, names=names),
        series=[series],
    )
    title = f"{measure} of the runs"
    return Chart(title=title, signature=str(comparison.signature), panels=[panel])


def difficulty(
    articles: Sequence[ArticleRank | ArticleDifficulty], *, positives: int, signature: str
) -> Chart:
    """Return how hard the articles are.

    ACT: mean rank and its deviation, a panel for relevant articles and one for the others, with
    the clusters of `scoring.difficulty` (after Fig. 4 of the BC II.5 overview). INT and IPT: the
    mean AUC iP/R of each article, easiest first, with its deviation cut to [0, 1].
    """
    ranks = [one for one in articles if isinstance(one, ArticleRank)]
    if ranks:
        borders = Borders(articles=len(articles), positives=positives)
        highest = max([borders.disputed, *(one.deviation for one in ranks)])
        halves = [[one for one in ranks if one.relevant is kind] for kind in (True, False)]
        panels = [
            _ranks_panel(half, borders, highest, name)
            for half, name in zip(halves, ("relevant", "irrelevant"), strict=True)
        ]
        title = "Mean rank of the articles and its deviation"
        return Chart(title=title, signature=signature, panels=panels)
    values = [one for one in articles if isinstance(one, ArticleDifficulty)]
    series = Series(
        name="mean and deviation over the runs",
        x=list(range(1, len(values) + 1)),
        y=[one.mean for one in values],
        kind="points",
        style=0,
        ends=[
            (max(0.0, one.mean - one.deviation), min(1.0, one.mean + one.deviation))
            for one in values
        ],
        texts=[one.article for one in values],
    )
    panel = Panel(
        x=Scale(label="articles, easiest first"),
        y=unit_scale("AUC iP/R: mean and deviation over the runs"),
        series=[series],
    )
    return Chart(title="Difficulty of the articles", signature=signature, panels=[panel])


def _ranks_panel(
    articles: Sequence[ArticleRank], borders: Borders, highest: float, name: str
) -> Panel:
    clusters = cluster_articles(articles, borders)
    series = [
        Series(
            name=f"rank {borders.positives}: as many as are relevant",
            x=[borders.positives, borders.positives],
            y=[0.0, highest],
            kind="rule",
            style=6,
        ),
        Series(
            name=f"rank {borders.middle:g}: the middle",
            x=[borders.middle, borders.middle],
            y=[0.0, highest],
            kind="rule",
            style=7,
        ),
        *(
            Series(
                name=cluster,
                x=[one.mean for one in members],
                y=[one.deviation for one in members],
                kind="points",
                style=_CLUSTER_STYLES[cluster],
                texts=[one.article for one in members],
            )
            for cluster, members in clusters.items()
            if members
        ),
    ]
    counts = ", ".join(f"{len(found)} {cluster}" for cluster, found in clusters.items() if found)
    return Panel(
        x=Scale(label="mean rank (weighted by AUC iP/R)", low=0.0, high=float(borders.articles)),
        y=Scale(label="standard deviation of the rank", low=0.0, high=highest),
        series=series,
        title=f"{len(articles)} {name} articles\n{counts}",
    )


_CLUSTER_STYLES = {Cluster.EASY: 0, Cluster.HARD: 1, Cluster.DISPUTED: 3, Cluster.MIDDLING: 4}


def usefulness(
    found: Sequence[Usefulness],
    authors: Sequence[Usefulness],
    author_minutes: float,
    signature: str,
) -> Chart:
    """Return recall by minutes of screening; precision, recall and F by cutoff (Fig. 8).

    F has a panel per beta. The line of the ideal system is black, the authors' time a rule.
    """
    by_run: dict[str, list[Usefulness]] = {}
    for one in found:
        by_run.setdefault(one.run, []).append(one)
    ideal = by_run.pop(IDEAL)
    styles = best_named([max(one.recall for one in line) for line in by_run.values()], 6)
    lines = [*zip(by_run.items(), styles, strict=True), ((f"{IDEAL} system", ideal), 6)]
    betas = list(dict.fromkeys(one.beta for one in found))
    times = [
        Series(
            name=name,
            x=[one.minutes for one in line if one.minutes and one.beta == betas[0]],
            y=[one.recall for one in line if one.minutes and one.beta == betas[0]],
            style=style,
        )
        for (name, line), style in lines
    ]
    times_taken = [author_minutes, *(one.minutes for one in found if one.minutes)]
    rule = f"the authors' {author_minutes:g} minutes"
    times.append(Series(name=rule, x=[author_minutes] * 2, y=[0.0, 1.0], kind="rule", style=7))
    times += [
        Series(
            name=f"authors: {one.run}",
            x=[one.minutes],
            y=[one.recall],
            kind="points",
            style=7,
            texts=[one.run],
        )
        for one in authors[:1]  # its recall and minutes are the same for each beta
    ]
    first = Panel(
        x=Scale(
            label="minutes of screening an article",
            low=0.8 * min(times_taken),
            high=1.25 * max(times_taken),
            logarithmic=True,
        ),
        y=unit_scale("recall"),
        series=times,
    )
    measures = [("precision", "precision", betas[0]), ("recall", "recall", betas[0])]
    measures += [(f"F, beta {beta:g}", "f_score", beta) for beta in betas]
    by_cutoff = [
        Panel(
            x=Scale(label="candidates screened per article (cutoff)", low=0.0),
            y=unit_scale(label),
            series=[
                Series(
                    name=name,
                    x=[float(one.cutoff or 0) for one in line if one.beta == beta],
                    y=[getattr(one, measure) for one in line if one.beta == beta],
                    style=style,
                )
                for (name, line), style in lines
            ],
        )
        for label, measure, beta in measures
    ]
    title = "What a curator finds by screening"
    return Chart(title=title, signature=signature, panels=[first, *by_cutoff])


def corpus(
    counts: Sequence[Counts],
    species: Sequence[Species],
    words: Sequence[WordRate],
    signature: str,
) -> Chart:
    """Return a panel each for items per article, species and the rates of words, if known.

    Items of several golds are lines side by side in one panel, and so are the shares of species.
    """
    names = dict.fromkeys(one.name for one in counts)
    panels = [_items_panel([one for one in counts if one.name == name]) for name in names]
    if len(species) > 1:
        panels.append(_shares_panel(species))
    panels += map(_species_panel, species)
    if words:
        panels.append(_words_panel(words))
    return Chart(title="The corpus", signature=signature, panels=panels)


def _items_panel(counts: Sequence[Counts]) -> Panel:
    """Return the articles by their number of items: bars of one gold, lines of several."""
    first, *others = counts
    if not others:
        return Panel(
            x=Scale(label=f"{first.name} of an article"),
            y=Scale(label="articles", low=0.0),
            series=[
                Series(
                    name=first.name,
                    x=[float(number) for number in first.articles],
                    y=[float(articles) for articles in first.articles.values()],
                    kind="bars",
                    style=0,
                )
            ],
            title=f"mean {first.mean:.1f}, median {first.median:g}",
        )
    return Panel(
        x=Scale(label=f"{first.name} of an article"),
        y=Scale(label="share of the articles", low=0.0),
        series=[
            Series(
                name=f"{one.source} (mean {one.mean:.1f})",
                x=[float(number) for number in range(1, one.most + 1)],
                y=[
                    one.articles.get(number, 0) / sum(one.articles.values())
                    for number in range(1, one.most + 1)
                ],
                style=style,
            )
            for style, one in enumerate(counts)
        ],
        title=f"{first.name} per article",
    )


def _shares_panel(species: Sequence[Species]) -> Panel:
    names = list(dict.fromkeys(name for one in species for name in one.names))[::-1]
    return Panel(
        x=unit_scale("share of the annotations"),
        y=Scale(label="", low=-0.5, high=len(names) - 0.5, names=names),
        series=[
            Series(
                name=one.source,
                x=[number / sum(one.annotations) for number in one.annotations],
                y=[float(names.index(name)) for name in one.names],
                kind="points",
                style=style,
            )
            for style, one in enumerate(species)
        ],
        title="species of the proteins",
    )


def _species_panel(species: Species) -> Panel:
    """Return the articles with both of two species as numbers in a square, the first on top."""
    names = list(species.names)
    last = len(names) - 1
    places = [(x, y) for y in range(len(names)) for x in range(len(names))]
    articles = {(x, y): species.together[x][last - y] for x, y in places}
    most = max(articles.values()) or 1
    return Panel(
        x=Scale(label="", low=-0.5, high=len(names) - 0.5, names=names),
        y=Scale(label="", low=-0.5, high=len(names) - 0.5, names=names[::-1]),
        series=[
            Series(
                name="articles",
                x=[float(x) for x, _ in places],
                y=[float(y) for _, y in places],
                kind="cells",
                style=0,
                weights=[articles[place] / most for place in places],
            )
        ],
        title=f"articles with proteins of both species ({species.source})",
        notes=[(x, y, str(number)) for (x, y), number in articles.items()],
    )


def _words_panel(words: Sequence[WordRate]) -> Panel:
    groups = list(dict.fromkeys(one.group for one in words))
    names = list(dict.fromkeys(one.word for one in words))
    highest = max((one.bounds.high if one.bounds else one.rate or 0.0) for one in words)
    series = []
    for style, group in enumerate(groups):
        found = [one for one in words if one.group == group and one.rate is not None]
        shift = (style - (len(groups) - 1) / 2) * 0.6 / len(groups)
        series.append(
            Series(
                name=f"{group} ({found[0].articles if found else 0})",
                x=[one.rate or 0.0 for one in found],
                y=[len(names) - 1 - names.index(one.word) - shift for one in found],
                kind="points",
                style=style,
                ends=[one.bounds or (one.rate or 0.0, one.rate or 0.0) for one in found],
                ends_of="x",
                texts=[f"{one.word}: {one.occurrences} of {one.words} words" for one in found],
            )
        )
    return Panel(
        x=Scale(label="occurrences in 1,000 words, with 95 % intervals", low=0.0, high=highest),
        y=Scale(label="", low=-0.5, high=len(names) - 0.5, names=names[::-1]),
        series=series,
    )


def predictors(found: Mapping[str, tuple[Curves, float]]) -> Chart:
    """Return four curves of each 3-D predictor: PR, ROC, and the two whose areas are its score.

    `found` has the curves and the score of each run.
    """
    styles = best_named([score for _, score in found.values()])
    panels = []
    for x_name, y_name, title, x, y in (
        ("recall", "precision", "precision and recall", "recall", "precision"),
        ("false positive rate", "recall", "ROC", "false_rate", "roc_recall"),
        ("recall", "(tp/fp) / max(tp/fp)", "A1 is the area below", "recall1", "ratio"),
        ("recall", "1 - fp/tn, cut at 0", "A2 is the area below, above 0", "recall2", "above"),
    ):
        series = [
            Series(
                name=f"{name} ({score:.3f})",
                x=getattr(both, x).tolist(),
                y=getattr(both, y).tolist(),
                style=style,
            )
            for (name, (both, score)), style in zip(found.items(), styles, strict=True)
        ]
        panels.append(
            Panel(
                x=unit_scale(x_name),
                y=unit_scale(y_name),
                series=series,
                title=title,
            )
        )
    return Chart(title="3-D interaction predictors", signature="", panels=panels)


def _chart(title: str, scorecards: Sequence[Scorecard], panel: Panel) -> Chart:
    signatures = dict.fromkeys(str(card.signature) for card in scorecards)
    return Chart(title=title, signature="; ".join(signatures), panels=[panel])


def _labelled(scored: Interval | Scorecard, signature: Signature) -> str:
    """Return a run's name; with the articles that it is scored on if these are not all."""
    return scored.run if signature.articles == "all" else f"{scored.run} ({n_of_gold(scored)})"
