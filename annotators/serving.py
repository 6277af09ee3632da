"""Servers that `annotators serve` offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from annotators.baselines.dictionary import normalizations, protein_scores
from annotators.baselines.mentions import mentions
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.contract import MEMBER_OF_TASK, META, Answer, Context
from annotators.matching import Dictionary, ProteinNames
from annotators.server import Kit, application, serve_application

if TYPE_CHECKING:
    from annotators.llm.config import LlmConfig

SHIPPED_MODEL = SHIPPED_NAMES.with_name("act_model.npz")
"""What `annotators train-act` makes of `act_training.tsv` beside it."""

Plain: TypeAlias = Callable[[str], Answer]


def serve_baseline(
    server: str,
    *,
    tasks: Iterable[str],
    names: Path,
    release: Path | None,
    organism: int,
    model: Path | None,
    delay: tuple[float, float],
    host: str,
    port: int,
    workers: int | None,
) -> None:
    """Serve one of the servers by its name until SIGTERM or Ctrl-C."""
    plain = (
        _act(model, names) if server == "act" else _names(server, _known(names, release, organism))
    )
    annotate = _only(plain, tasks)
    kit = _kit(server, annotate, delay, workers)
    serve_application(application(kit), host=host, port=port)


def serve_llm(
    config: LlmConfig, *, tasks: Iterable[str], names: Path, host: str, port: int
) -> None:
    """Serve the annotator that asks a language model, until SIGTERM or Ctrl-C."""
    from annotators.llm.annotator import LlmAnnotator

    model = LlmAnnotator(config=config, known=Dictionary(read_proteins(names)))
    members = {META, *(MEMBER_OF_TASK[task] for task in tasks)}

    async def annotate(text: str, context: Context) -> Answer:
        return _of(await model.annotate(text, context), members)

    app = application(
        Kit(annotate, workers=config.at_once, version=f"{config.model} {config.digest}")
    )
    app.cleanup_ctx.append(model.lifetime)
    serve_application(app, host=host, port=port)


def _kit(
    server: str,
    annotate: Callable[[str, Context], Answer],
    delay: tuple[float, float],
    workers: int | None,
) -> Kit:
    from annotators.test_servers import FaultyKit, slow

    match server:
        case "slow":
            return Kit(slow(annotate, delay), workers=workers)
        case "faulty":
            return FaultyKit(annotate, workers=workers)
    return Kit(annotate, workers=workers)


def _act(path: Path | None, names: Path) -> Plain:
    from annotators.baselines import relevance

    model = relevance.Model.load(path or SHIPPED_MODEL)
    model.require_names(names)
    return partial(relevance.annotate, model, Dictionary(read_proteins(names)))


def _known(names: Path, release: Path | None, organism: int) -> ProteinNames:
    if release is None:
        return Dictionary(read_proteins(names))
    from annotators.release_names import ReleaseNames

    return ReleaseNames(release, default=organism)


def _names(server: str, known: ProteinNames) -> Plain:
    from annotators.baselines import cooccurrence

    match server:
        case "dictionary":
            return partial(_dictionary, known)
        case "ner":
            return partial(_mentions, known)
        case "cooccurrence":
            return partial(cooccurrence.annotate, known)
    return lambda text: cooccurrence.annotate(known, text) | _mentions(known, text)


def _dictionary(known: ProteinNames, text: str) -> Answer:
    return {"normalizations": normalizations(protein_scores(text, known.find(text)))}


def _mentions(known: ProteinNames, text: str) -> Answer:
    return {"mentions": mentions(text, known.find(text))}


def _only(plain: Plain, tasks: Iterable[str]) -> Callable[[str, Context], Answer]:
    members = {MEMBER_OF_TASK[task] for task in tasks}

    def annotate(text: str, _: Context) -> Answer:
        return _of(plain(text), members)

    return annotate


def _of(answer: Answer, members: Collection[str]) -> Answer:
    return cast("Answer", {key: value for key, value in answer.items() if key in members})
