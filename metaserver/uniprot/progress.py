"""A release build's progress on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from metaserver.uniprot.build import WRITING, Begun
from metaserver.uniprot.sources.reader import Advance


@contextmanager
def progress_bar(sources: Sequence[Path]) -> Iterator[Begun]:
    """Yield the callback for a build's stages: a bar on a terminal's standard error, or nothing.

    Reading is measured in bytes; how long writing takes is not known beforehand.
    """
    total = sum(path.stat().st_size for path in sources if path.is_file())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=total)

        def begun(stage: str) -> Advance:
            if stage == WRITING:
                progress.add_task(stage, total=None)
            else:
                progress.update(task, description=stage)
            return lambda size: progress.update(task, advance=size)

        yield begun
