"""Clients of the hub in other languages: of its XML-RPC, and made from its OpenAPI document."""

import os
import shutil
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


def openapi_python(folder: Path, document: str) -> Command:
    tools = CACHE / "openapi" / "bin"
    if not (tools / "openapi-python-client").exists():
        missing("openapi-python-client")
    made = ["--meta", "none", "--output-path", str(folder / "hub_client"), "--fail-on-warning"]
    _made(
        [str(tools / "openapi-python-client"), "generate", "--url", document, *made],
        PATH=f"{tools}{os.pathsep}{os.environ['PATH']}",  # it has its code formatted
    )
    path = ["env", f"PYTHONPATH={folder}"]
    return [*path, str(tools / "python"), _script("openapi_python.py")]


def openapi_typescript(folder: Path, document: str) -> Command:
    modules = CACHE / "node_modules"
    if not (modules / "openapi-typescript").is_dir():
        missing("openapi-typescript")
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text('{"type": "module"}')
    _made([str(modules / ".bin/openapi-typescript"), document, "-o", str(folder / "hub.d.ts")])
    source = shutil.copy(_script("openapi_typescript.ts"), folder)
    how = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]
    _made([str(modules / ".bin/tsc"), *how, source])
    return [program("node"), source.removesuffix("ts") + "js"]


GENERATED: Sequence[Callable[[Path, str], Command]] = (openapi_python, openapi_typescript)
"""Clients that a generator makes from the OpenAPI document at an address."""


def _made(command: Command, **environment: str) -> None:
    ended = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _script(name: str) -> str:
    return str(CLIENTS / name)
