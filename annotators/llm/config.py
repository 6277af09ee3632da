"""The configuration of the annotator, read from YAML; every setting has a default."""

from __future__ import annotations

import os
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
import yaml

from annotators.errors import BadInputError

MAX_CONFIG_BYTES = 2**20
Format = Literal["auto", "json_schema", "guided_json", "json_object", "text"]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Money = Annotated[float, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The price of a million tokens, sent and received."""

    input: Money = 0.0
    output: Money = 0.0
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")] = "USD"

    @property
    def known(self) -> bool:
        """True where tokens have a price."""
        return bool(self.input or self.output)


class LlmConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the annotator; docs/llm.md explains each."""

    base_url: str = ""
    model: str = ""
    key_env: str = "OPENAI_API_KEY"
    prompt: str = ""
    format: Format = "auto"
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    seed: int | None = 1
    max_tokens: Positive = 4096
    chunk_characters: Annotated[int, msgspec.Meta(ge=500)] = 24_000
    at_once: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4
    timeout: Seconds = 300.0
    attempts: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    budget_tokens: Count = 0
    price: Price = Price()

    @property
    def url(self) -> str:
        """The address that is asked."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @property
    def system(self) -> str:
        """The instructions: the configuration's own, else those that come with the package."""
        return self.prompt or shipped_prompt()

    @property
    def digest(self) -> str:
        """The beginning of the instructions' SHA-256, which says whether they are the same."""
        return sha256(self.system.encode()).hexdigest()[:12]

    @property
    def key(self) -> str:
        """The endpoint's key, out of the environment alone; empty where there is none."""
        return os.environ.get(self.key_env, "").strip()


def shipped_prompt() -> str:
    """Return the instructions that come with the package."""
    return (files("annotators") / "data" / "llm_prompt.txt").read_text("utf-8")


def read_config(path: Path | None, *, base_url: str | None, model: str | None) -> LlmConfig:
    """Read a configuration; the command's options win. Raises `BadInputError`."""
    given = _read(path) if path else {}
    for name, option in (("base_url", base_url), ("model", model)):
        if option is not None:
            given[name] = option
    try:
        config = msgspec.convert(given, LlmConfig)
    except msgspec.ValidationError as error:
        raise BadInputError(path or "options", str(error)) from error
    _check(config)
    return config


def _read(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
        if len(content) > MAX_CONFIG_BYTES:
            raise BadInputError(path, f"above {MAX_CONFIG_BYTES:,} bytes")
        given = yaml.safe_load(content)
    except OSError as error:
        raise BadInputError(path, f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise BadInputError(path, f"not YAML: {reason:.200}") from error
    if not isinstance(given, dict | None):
        raise BadInputError(path, "expected settings, `name: value` a line")
    return dict(given or {})


def _check(config: LlmConfig) -> None:
    if not config.model:
        raise BadInputError("--model", "is missing; expected a model that the endpoint serves")
    try:
        address = urlsplit(config.base_url)
        right = address.scheme in {"http", "https"} and bool(address.hostname)
        secret = address.username is not None or address.password is not None
    except ValueError:
        right = secret = False
    if secret:
        raise BadInputError("--base-url", f"has a password; expected the key in {config.key_env}")
    if not right or address.query or address.fragment:
        raise BadInputError(
            "--base-url", f"{config.base_url!r} is no URL; expected http://HOST:PORT/v1"
        )
    if not all(character.isprintable() and character.isascii() for character in config.key):
        raise BadInputError(config.key_env, "is no key; expected printable ASCII characters")
