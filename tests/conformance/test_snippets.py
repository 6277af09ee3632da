"""The servers that the team console offers to start from pass the conformance run as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from metaserver.client.http import open_client
from metaserver.conformance.procedure import conformance
from metaserver.tasks.plugin import answered_tasks
from metaserver.web.team.snippets import SNIPPETS, Snippet
from tests.conformance.foreign import CACHE, Command, missing, program, running
from tests.integration.callers import SECONDS, VOCABULARY, server

PORT = "8100"


def command(snippet: Snippet, port: int, folder: Path) -> Command:
    """Write a snippet, listening on another port, and return how to run it."""
    assert snippet.text.count(PORT) == 1, "a snippet names its port once"
    path = folder / snippet.file.removesuffix(".txt")
    path.write_text(snippet.text.replace(PORT, f"{port}"), encoding="utf-8")
    return [*INTERPRETERS[snippet.language](), str(path)]


def node() -> Command:
    if not (CACHE / "node_modules" / "xmlrpc").is_dir():
        missing("npm's xmlrpc")
    return ["env", f"NODE_PATH={CACHE / 'node_modules'}", "NODE_NO_WARNINGS=1", program("node")]


INTERPRETERS = {
    "Python": lambda: [sys.executable],
    "Perl": lambda: [program("perl", "-MRPC::XML::Server", "-e", "1")],
    "Java": lambda: [program("java", "--version")],
    "Ruby": lambda: [program("ruby", "-e", 'require "webrick"; require "xmlrpc/server"')],
    "Node": node,
}


@pytest.mark.slow  # Perl's server holds an idle connection for 10 s before it takes the next
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.language)
async def test_a_snippet_passes_the_conformance_run(snippet: Snippet, tmp_path: Path) -> None:
    def language(port: int, folder: Path) -> Command:
        return command(snippet, port, folder)

    with running(language, tmp_path) as url:
        async with open_client() as client:
            tasks = list(answered_tasks().values())
            run = await conformance(client, server(url), tasks, VOCABULARY, time_limit=SECONDS)
    assert run.passed, run.reasons()
    short = next(step for step in run.steps if step.name == "short article")
    assert short.message == "hits: 3 (ACT, INT, IPT)"
    assert not short.problems
