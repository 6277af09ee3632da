"""A process that has loaded the hub's code and forks itself for each command it is asked to run.

Loading takes far longer than most commands do. What runs is a process of its own all the same, with
its own limits, signals and output. `python -m tests.hubs.zygote SOCKET` serves until its standard
input is closed: it ends with the tests that started it. A connection is one command: a line of JSON
comes, and the exit status goes back.
"""

import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from metaserver.cli.main import COMMANDS, main


def serve(path: Path) -> None:
    """Fork a child for each connection, until standard input is closed."""
    for command in COMMANDS.values():
        import_module(command.module)
    import_module("metaserver.cli.remote.commands")
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as both:
        listening.bind(str(path))
        listening.listen(64)
        both.register(sys.stdin, selectors.EVENT_READ)
        both.register(listening, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in both.select():
                if key.fileobj is not listening:
                    return
                connection, _ = listening.accept()
                if not os.fork():
                    listening.close()
                    _work(connection)
                connection.close()


def _reap(*_: object) -> None:
    """Take the children that have ended: their processor time is then this process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _work(connection: socket.socket) -> None:
    """Run the command that is asked for on a connection; does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 1
    try:
        asked = json.loads(connection.makefile("rb").readline())
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        _redirect(asked["stdout"], asked["stderr"])
        status = _status(asked["arguments"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(str(status).encode())
        os._exit(0)


def _redirect(stdout: str, stderr: str) -> None:
    for stream, path, mode in ((0, os.devnull, "r"), (1, stdout, "w"), (2, stderr, "w")):
        with Path(path).open(mode) as file:
            os.dup2(file.fileno(), stream)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)


def _status(arguments: list[str]) -> int:
    sys.argv = ["metaserver", *arguments]
    try:
        return main(arguments)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
            return 1
        return error.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
