"""Clients of the hub's XML-RPC in other languages: the same steps with each one's own library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conformance import foreign
from tests.conformance.foreign import CACHE, Command, missing, program

CLIENTS = Path(__file__).parent / "clients"

Client = Callable[[Path], Command]


def perl(folder: Path) -> Command:
    return [program("perl", "-MRPC::XML::Client", "-e", "1"), _script("perl_rpc_xml.pl")]


def ruby(folder: Path) -> Command:
    return [program("ruby", "-e", 'require "xmlrpc/client"'), _script("ruby_xmlrpc.rb")]


def php(folder: Path) -> Command:
    found = program("php", "-r", 'exit(function_exists("xmlrpc_encode_request") ? 0 : 1);')
    return [found, "-d", "display_errors=stderr", _script("php_xmlrpc.php")]


def node(folder: Path) -> Command:
    modules = CACHE / "node_modules"
    if not (modules / "xmlrpc").is_dir():
        missing("npm's xmlrpc")
    environment = ["env", f"NODE_PATH={modules}", "NODE_NO_WARNINGS=1"]
    return [*environment, program("node"), _script("node_xmlrpc.js")]


def python(folder: Path) -> Command:
    return [sys.executable, _script("python_xmlrpc.py")]


def c(folder: Path) -> Command:
    config = program("xmlrpc-c-config", "client", "--libs")
    flags = subprocess.check_output([config, "client", "--cflags", "--libs"], text=True)
    built = folder / "client"
    source = [_script("c_xmlrpc_c.c"), "-o", str(built)]
    gcc = program("gcc", "-shared", "-lcurl", "-o", str(built))  # its own package brings none
    subprocess.run([gcc, "-Wall", "-Wextra", "-O1", *source, *flags.split()], check=True)
    return [str(built)]


PAIRS: Sequence[tuple[foreign.Language, Client]] = (
    (foreign.perl, perl),
    (foreign.ruby, ruby),
    (foreign.php, php),
    (foreign.node, node),
    (foreign.python, python),
    (foreign.c, c),
)
"""Each language's annotation server, and its client."""


def _script(name: str) -> str:
    return str(CLIENTS / name)
