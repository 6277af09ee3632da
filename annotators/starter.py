"""Starter kits: an annotation server in each of eight languages, with all that it needs to run.

`contract.json` and the templates of README, Dockerfile and unit are shared; `annotators/data/kits`
has them, and a folder a language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from annotators.errors import BadInputError

SHARED = ("contract.json",)
TEMPLATES = ("README.md", "Dockerfile", "annotator.service")
DEBIAN = "debian:12-slim"


@dataclass(frozen=True, kw_only=True, slots=True)
class StarterKit:
    """A language's kit: its files, and the commands that start and test the server.

    `packages` are Debian's. `build` is run once in a container, `program` is what then starts the
    server; without a build, both are `run`.
    """

    title: str
    server: str
    others: tuple[str, ...]
    run: str
    test: str
    needs: str
    packages: str = ""
    build: str = ""
    program: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that are the language's own."""
        return (self.server, *self.others)

    def filled(self) -> Mapping[str, str]:
        """Return the values of the templates' places."""
        command = (self.program or self.run).split()
        return {
            "title": self.title,
            "server": self.server,
            "needs": self.needs,
            "run": self.run,
            "test": self.test,
            "image": DEBIAN if self.packages else "python:3.12-slim",
            "install": self._install(),
            "build": f"RUN {self.build}" if self.build else "",
            "command": ", ".join(f'"{word}"' for word in command),
            "service": " ".join((_absolute(command[0]), *command[1:])),
        }

    def _install(self) -> str:
        if not self.packages:
            return "COPY *.whl /tmp/\nRUN pip install --no-cache-dir /tmp/*.whl"
        return (
            "RUN apt-get update \\\n"
            f"    && apt-get install -y --no-install-recommends {self.packages} \\\n"
            "    && rm -rf /var/lib/apt/lists/*"
        )


def _absolute(program: str) -> str:
    """Return a program as systemd wants it: by its whole path."""
    local = program.removeprefix("./")
    return f"/usr/bin/{program}" if local == program else f"/srv/annotator/{local}"


KITS: Mapping[str, StarterKit] = {
    "python": StarterKit(
        title="Python",
        server="server.py",
        others=("test_server.py",),
        run="python3 server.py",
        test="python3 test_server.py",
        needs="the package `annotators` in the Python that starts it: `pip install` the hub's "
        "wheel or checkout there (for a container: its wheel, in this folder)",
    ),
    "perl": StarterKit(
        title="Perl",
        server="server.pl",
        others=("test.pl",),
        run="perl server.pl",
        test="perl test.pl",
        needs="RPC::XML and HTTP::Daemon (Debian: librpc-xml-perl, libhttp-daemon-perl)",
        packages="perl librpc-xml-perl libhttp-daemon-perl",
    ),
    "java": StarterKit(
        title="Java",
        server="Server.java",
        others=("ServerTest.java",),
        run="java Server.java",
        test="javac -d build Server.java ServerTest.java && java -cp build ServerTest",
        needs="a JDK, version 11 or newer; no library",
        packages="default-jdk-headless",
    ),
    "ruby": StarterKit(
        title="Ruby",
        server="server.rb",
        others=("test.rb",),
        run="ruby server.rb",
        test="ruby test.rb",
        needs="the gems xmlrpc and webrick (Debian: ruby-xmlrpc, ruby-webrick)",
        packages="ruby ruby-xmlrpc ruby-webrick",
    ),
    "node": StarterKit(
        title="Node",
        server="server.js",
        others=("test.js",),
        run="node server.js",
        test="node test.js",
        needs="Node 18 or newer; no library",
        packages="nodejs",
    ),
    "php": StarterKit(
        title="PHP",
        server="server.php",
        others=("test.php",),
        run="php server.php",
        test="php test.php",
        needs="the extensions xmlrpc and pcntl (Debian: php-cli, php-xmlrpc)",
        packages="php-cli php-xmlrpc",
    ),
    "go": StarterKit(
        title="Go",
        server="server.go",
        others=("server_test.go", "go.mod"),
        run="go run server.go",
        test="go test",
        needs="Go 1.19 or newer; no library (for a service: `go build -o server` first)",
        packages="golang-go",
        build="GOCACHE=/tmp/go go build -o server",
        program="./server",
    ),
    "r": StarterKit(
        title="R",
        server="server.R",
        others=("test.R",),
        run="Rscript server.R",
        test="Rscript test.R",
        needs="httpuv, xml2, and jsonlite for the test "
        "(Debian: r-cran-httpuv, r-cran-xml2, r-cran-jsonlite)",
        packages="r-base-core r-cran-httpuv r-cran-xml2",
    ),
}
"""The kits by the names that `--language` takes."""


def server_text(language: str) -> str:
    """Return the program of a language's kit."""
    return _own(language, KITS[language].server)


def kit_files(language: str) -> Iterator[tuple[str, str]]:
    """Yield each file of a kit: its name, then its text."""
    kit = KITS[language]
    for name in kit.files:
        yield name, _own(language, name)
    for name in SHARED:
        yield name, _read(name)
    for name in TEMPLATES:
        yield name, Template(_read(name)).substitute(kit.filled())


def _own(language: str, name: str) -> str:
    # Python's are kept as text: they are no modules of this package.
    return _read(language, f"{name}.txt" if name.endswith(".py") else name)


def _read(*path: str) -> str:
    return files("annotators").joinpath("data", "kits", *path).read_text(encoding="utf-8")


def write_kit(folder: Path, language: str) -> None:
    """Write a kit's files into `folder`, made if absent; nothing there is overwritten."""
    kit = dict(kit_files(language))
    for name in kit:
        if (folder / name).exists():
            raise BadInputError(folder / name, "is there already; expected a new or empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in kit.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(folder, f"cannot be written: {error.strerror}") from error
    print(f"{folder}: {', '.join(kit)}; README.md says how to start, test and install it")
