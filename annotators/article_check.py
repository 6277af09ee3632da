"""A self-test with a team's own articles: each answer is checked, and becomes result files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xmlrpc.client import Error, Fault

import aiohttp

from annotators.check import call, reason, server_url
from annotators.contract import checked, misplaced
from annotators.errors import BadInputError
from annotators.protocol import FORBIDDEN
from annotators.run_files import SPACE, unwritable, write_result_files

SHOWN = 20  # articles whose problems are shown; the others are counted


@dataclass(slots=True)
class ArticleCheck:
    """The answers so far, by article, and the articles whose answer was wrong."""

    url: str
    session: aiohttp.ClientSession
    show: Callable[[str], object]
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    wrong: int = 0

    async def ask(self, name: str, text: str) -> None:
        """Send one article; keep its answer if nothing is wrong with it."""
        text = FORBIDDEN.sub("\ufffd", text)  # as the hub sends it
        try:
            answer = await call(self.session, self.url, "Annotator.getAnnotation", text)
        except Fault as fault:
            return self._report(name, f"fault {fault.faultCode}: {fault.faultString:.200}")
        except (aiohttp.ClientError, TimeoutError, ValueError, Error) as error:
            return self._report(name, reason(error))
        read = checked(answer)
        found = [*read.broken, *read.dropped, *misplaced(answer, text)]
        found = found or list(unwritable(read.answer))
        if found:
            return self._report(name, *found)
        self.answers[name] = read.answer
        return None

    def _report(self, name: str, *lines: str) -> None:
        self.wrong += 1
        if self.wrong <= SHOWN:
            self.show(f"wrong  {name}")
            for line in lines[:SHOWN]:
                self.show(f"       {line}")


async def check_articles(
    url: str,
    texts: Mapping[str, str],
    folder: Path,
    *,
    limit: float,
    at_once: int = 1,
    show: Callable[[str], object] = print,
) -> bool:
    """Send all articles, `at_once` at a time, write the result files, return whether all was right.

    A wrong answer is shown, and is in no file. Raises `BadInputError`.
    """
    if bad := [name for name in texts if not name or SPACE.search(name)]:
        raise BadInputError("--articles", f"the id {bad[0]!r:.60}; expected no white space")
    begun = time.perf_counter()
    waiting = iter(texts.items())
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=limit)) as session:
        asked = ArticleCheck(server_url(url), session, show)

        async def ask_on() -> None:
            for name, text in waiting:
                await asked.ask(name, text)

        await asyncio.gather(*(ask_on() for _ in range(at_once)))
    if asked.wrong > SHOWN:
        show(f"       and {asked.wrong - SHOWN} more articles")
    answers = {name: asked.answers[name] for name in texts if name in asked.answers}
    for path in write_result_files(folder, answers):
        show(f"{path}: written")
    seconds = time.perf_counter() - begun
    show(f"{len(answers)} of {len(texts)} articles answered as agreed, in {seconds:.1f} s")
    return not asked.wrong
