"""Which libraries a command loads, seen in a process of its own."""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions

SCRIPT = """
import contextlib, importlib, io, json, sys
before = set(sys.modules)  # what the environment loads into every Python
main = importlib.import_module(sys.argv[1]).main
loaded = []
for words in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(words)
    loaded.append(sorted({name.partition(".")[0] for name in sys.modules.keys() - before}))
print(json.dumps(loaded))
"""
OURS = {"metaserver", "scoring", "annotators"}


def loaded(module: str, lines: Sequence[Sequence[str]]) -> Sequence[set[str]]:
    """Return the libraries that are loaded after each command line, all in one process."""
    command = [sys.executable, "-c", SCRIPT, module, json.dumps(lines)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    libraries = packages_distributions().keys() - OURS
    return [libraries.intersection(names) for names in json.loads(found.stdout)]


def commands(parser: argparse.ArgumentParser, words: Sequence[str] = ()) -> Iterator[list[str]]:
    """Yield the words of every command that a parser knows."""
    yield [*words]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, [*words, name])
