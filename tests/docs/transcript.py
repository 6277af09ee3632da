"""Transcripts in documents, replayed: what a command printed must be what it prints.

A ```console block has commands after `$ ` (with `> ` they go on) and what they print; a word before
`$` is the machine where they are typed. A ```pycon block is Python's. `...` stands for anything in
a line, alone in a line for any lines; white space counts as one blank. Every document's ports are
led to free ones, and back in what is printed.
`python -m tests.docs.transcript FILE` prints a document with what its commands print now.
"""

import contextlib
import doctest
import io
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from xmlrpc.client import ServerProxy

from metaserver.cli.remote.outlines import outlines
from tests.waiting import PATIENCE

PORT = re.compile(r"\b8\d{3}\b")
COMMAND = re.compile(r"^(\w*)\$ (.*\n(?:>(?: .*)?\n)*)((?:(?!\w*\$ ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
READS = re.compile(
    "|".join(
        ["tail ", "curl ", *(f"metaserver {one.noun} {one.verb}\\b" for one in outlines()
                             if one.method == "GET")]
    )
)  # fmt: skip
"""Commands that change nothing: they are asked again until they print what is expected."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command, or a Python statement, and its expected output."""

    source: str
    expected: str
    python: bool
    machine: str = ""
    start: int
    end: int

    @property
    def reads(self) -> bool:
        """True for a command that changes nothing."""
        return not self.python and READS.match(self.source) is not None


def steps(text: str) -> Iterator[Step]:
    """Yield the steps of a document; `start` and `end` are the place of what they print."""
    for block in BLOCK.finditer(text):
        yield from (_console if block[1] == "console" else _pycon)(block[2], block.start(2))


def _console(block: str, at: int) -> Iterator[Step]:
    for found in COMMAND.finditer(block):
        source = re.sub(r"\n> ?", "\n", found[2]).rstrip("\n")
        yield Step(source=source, expected=found[3], python=False, machine=found[1],
                   start=at + found.start(3), end=at + found.end(3))  # fmt: skip


def _pycon(block: str, at: int) -> Iterator[Step]:
    place = 0
    for one in doctest.DocTestParser().get_examples(block):
        typed = "".join(
            f"{'...' if number else '>>>'} {line}\n"
            for number, line in enumerate(one.source.splitlines())
        )
        start = block.index(typed, place) + len(typed)
        place = start + len(one.want)
        yield Step(source=one.source, expected=one.want, python=True,
                   start=at + start, end=at + place)  # fmt: skip


def pattern(expected: str) -> re.Pattern[str]:
    """Return what matches an output that was written down."""
    lines = [
        r"(?:.*\n)*?" if line.strip() == "..." else _of_line(line) for line in _squeezed(expected)
    ]
    return re.compile("".join(lines))


def _of_line(line: str) -> str:
    return ".*?".join(map(re.escape, line.split("..."))) + r"\n"


def fits(expected: str, printed: str) -> bool:
    """Return whether an output equals the documented one."""
    text = "".join(f"{line}\n" for line in _squeezed(printed))
    return pattern(expected).fullmatch(text) is not None


def _squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


@dataclass
class Session:
    """A shell in a folder, or one for each machine in a folder of its name; a Python beside it."""

    folder: Path
    shells: Mapping[str, subprocess.Popen[bytes]]
    names: dict[str, Any] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)

    @classmethod
    @contextlib.contextmanager
    def begun(
        cls, folder: Path, machines: Mapping[str, Sequence[str]] = {"": ()}, **variables: str
    ) -> Iterator[Self]:
        """Begin one; what it has started in the background ends with it.

        `machines` gives the command that starts a program on each.
        """
        scripts = str(Path(sys.executable).parent)
        environment: Mapping[str, str] = {
            name: value
            for name, value in os.environ.items()
            # Unbuffered, a line is written in two parts, between which another command can write.
            if not name.startswith(("METASERVER", "PYTHONUNBUFFERED"))
        } | {"PATH": f"{scripts}:{os.environ['PATH']}", **variables}
        shells: dict[str, subprocess.Popen[bytes]] = {}
        session = cls(folder, shells)
        try:
            for name, through in machines.items():
                (folder / name).mkdir(exist_ok=True)
                shells[name] = subprocess.Popen(
                    [*through, "bash", "--norc"], cwd=folder / name, env=environment,
                    start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )  # fmt: skip
            yield session
        finally:
            session.close()

    def close(self) -> None:
        """End the shells and their jobs."""
        for one in self.names.values():
            if isinstance(one, ServerProxy):
                one("close")()
        for machine, shell in self.shells.items():
            with contextlib.suppress(BrokenPipeError):
                self.run("kill -9 $(jobs -p) 2>/dev/null; wait", machine)
            shell.communicate(timeout=PATIENCE)

    def do(self, step: Step) -> str:
        """Do a step, again where it only reads and prints something else; return the output."""
        end = time.monotonic() + PATIENCE
        while True:
            if step.python:
                printed = self.evaluate(step.source)
            else:
                printed = self.run(step.source, step.machine)
            asked_enough = not step.reads or not step.expected or time.monotonic() > end
            if asked_enough or fits(step.expected, printed):
                return printed
            time.sleep(0.2)

    def run(self, command: str, machine: str = "") -> str:
        """Run a command in the shell of a machine; return what it prints."""
        mark = secrets.token_hex(8)
        shell = self.shells[machine]
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(f"{self._led(command)}\necho {mark}\n".encode())
        shell.stdin.flush()
        lines = []
        for line in shell.stdout:
            if line.decode().endswith(f"{mark}\n"):
                return self._led_back("".join(lines) + line.decode().removesuffix(f"{mark}\n"))
            lines.append(line.decode())
        raise EOFError("".join(lines))

    def evaluate(self, source: str) -> str:
        """Run a statement of Python's; return what it prints, or how it failed."""
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            try:
                exec(compile(self._led(source), "<transcript>", "single"), self.names)
            except Exception as error:
                print("Traceback (most recent call last):\n  ...")
                print("".join(traceback.format_exception_only(error)), end="")
        return self._led_back(printed.getvalue())

    def _led(self, text: str) -> str:
        return PORT.sub(lambda found: self.ports.setdefault(found[0], _free_port()), text)

    def _led_back(self, text: str) -> str:
        for written, used in self.ports.items():
            text = text.replace(used, written)
        for name in sorted(self.shells, reverse=True):
            text = text.replace(str(self.folder / name), ".")
        return text


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


def replay(document: Path, session: Session) -> None:
    """Do all steps of a document; `AssertionError` where one prints something else."""
    for step in steps(document.read_text("utf-8")):
        printed = session.do(step)
        assert fits(step.expected, printed), f"{step.source}\n{step.expected}---\n{printed}"


def retold(text: str, session: Session) -> str:
    """Return a document with what its commands print now."""
    done, place = [], 0
    for step in steps(text):
        printed = session.do(step)
        if fits(step.expected, printed):
            printed = step.expected
        done += [text[place : step.start], printed]
        place = step.end
    return "".join([*done, text[place:]])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, Session.begun(Path(scratch)) as begun:
        print(retold(Path(sys.argv[1]).read_text("utf-8"), begun), end="")
