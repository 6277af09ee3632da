"""The hub's settings: typed, each with a default, read once from YAML and checked as a whole.

It may import client, store, wire, lanes, uniprot and model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import yaml
from msgspec import Meta

from metaserver.base.errors import InputError
from metaserver.base.plans import (
    Count,
    InferredConfidence,
    LimitSettings,
    LogFormat,
    LogLevel,
    MentionType,
    Normalisation,
    PhasePlan,
    Seconds,
    WrittenPlan,
)
from metaserver.base.states import Backoff
from metaserver.exchange.http.client import HttpLimits
from metaserver.exchange.http.credentials import KEY_FILE
from metaserver.exchange.http.guard import AddressGuard, read_network
from metaserver.exchange.wire.contract import Completion
from metaserver.exchange.wire.values import Limits
from metaserver.lanes.events import LaneLimits
from metaserver.store.place import STORE_FILE, StorePlace, read_url, read_url_file
from metaserver.uniprot.verdicts import SecondaryPolicy
from metaserver.uniprot.vocabulary import Policies

T = TypeVar("T", bound=msgspec.Struct)


class _Loader(yaml.SafeLoader):
    """A loader of YAML's plain types without dates, which are read with their time zone later."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class RetrySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Back-off between the attempts for one article, in seconds."""

    base: Seconds = 1.0
    cap: Seconds = 60.0


class CircuitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of a lane's circuit breaker; times in seconds.

    A server is down after `failures` failed attempts in a row; it is probed with pauses from
    `probe_base` to `probe_cap`, and abandoned after `patience`. Its state is read every `health`.
    """

    failures: Count = 5
    probe_base: Seconds = 5.0
    probe_cap: Seconds = 60.0
    patience: Seconds = 600.0
    health: Seconds = 60.0


class UniprotSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How accessions are checked against the phase's UniProt release."""

    secondary: SecondaryPolicy = SecondaryPolicy.REJECT
    normalise: Normalisation = Normalisation.STRICT  # or mend: isoforms, prefixes, small letters
    releases: str = "releases"  # the folder that holds the releases, each under its name


class AnswerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How answers from servers older than the contract, which lack members, are completed."""

    confidence: InferredConfidence = InferredConfidence.REQUIRED
    mention_type: MentionType = ""  # of mentions without one; empty: it is required


class MetricsReaders(StrEnum):
    """Clients that may read `/metrics` without a token."""

    LOOPBACK = "loopback"  # clients on this machine, not through a proxy
    HOLDERS = "token"  # nobody
    PUBLIC = "public"  # everybody


Address = Annotated[str, Meta(pattern=r"^(https?://[^/?#\s][^?#\s]*)?$(?!\n)")]


class WebSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Address and limits of the web server; port 0 takes a free port."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8020
    session_hours: Annotated[float, Meta(gt=0, le=720)] = 12.0
    url: Address = ""  # at which people reach the hub, for links in mail: https://hub.example.org
    secure_cookies: bool = False  # also where the hub itself is not reached by https
    trusted_proxies: list[str] = []  # networks whose X-Forwarded-For is trusted
    requests_a_minute: Count = 600  # with one token
    anonymous_requests_a_minute: Count = 600  # without one, from one address
    streams_an_address: Count = 20
    streams: Count = 1_000
    body_seconds: Seconds = 30.0  # for a request's body, plus 1 s for each 64 KiB received
    idle_seconds: Seconds = 75.0  # for a request's headers, and between requests
    upload_bytes: Count = 64 * 2**20
    metrics: MetricsReaders = MetricsReaders.LOOPBACK


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Level and format of the log that `metaserver serve` writes to standard error."""

    level: LogLevel = LogLevel.INFO
    format: LogFormat = LogFormat.AUTO


class NoticeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Notices to teams and alerts; no e-mail without an SMTP host.

    Events within `batch` seconds are sent in one message. Organisers get an alert message at most
    every `alerts` seconds per channel.
    """

    batch: Seconds = 60.0
    alerts: Seconds = 300.0
    smtp_host: str = ""
    smtp_port: Annotated[int, Meta(ge=1, le=65535)] = 587
    smtp_starttls: bool = True
    smtp_tls: bool = False  # from the first byte (port 465), in place of STARTTLS
    smtp_ca: str = ""  # a PEM file; empty: the certificates that the system trusts
    smtp_user: str = ""
    smtp_password: str = ""
    smtp_from: str = "metaserver@localhost"


class SecuritySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of what the hub trusts and keeps secret (docs/security.md).

    `allow_networks` are networks beyond public addresses that `metaserver serve` connects to.
    """

    allow_networks: list[str] = []
    ca_file: str = ""  # PEM: certificates of servers to trust beyond those of the system
    key_file: str = ""  # of the credentials of servers; empty: credentials.key in the hub's folder

    def __post_init__(self) -> None:
        for network in self.allow_networks:
            read_network(network, "allow_networks")


class ServersForCurators(StrEnum):
    """Which open phases' servers get curators' requests; other servers always do."""

    IDLE = "idle"  # those whose lane is not at work
    SHARE = "share"  # all, one request at a time beside a lane at work
    NEVER = "never"  # none


class ArticleSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source of articles: `url` has `{pmid}`, `{pmcid}` or `{doi}` in place of the id."""

    name: str
    url: str

    def __post_init__(self) -> None:
        found = [kind for kind in ("{pmid}", "{pmcid}", "{doi}") if kind in self.url]
        if not self.url.startswith(("http://", "https://")) or len(found) != 1:
            expected = "an http address with {pmid}, {pmcid} or {doi}"
            raise ValueError(f"sources: {self.name}: expected {expected}")


class CurationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Curator requests: which servers are asked, and how much each token may ask.

    `release` is the UniProt release that answers are checked by; empty: the newest phase's.
    `source` is the database that curates, as exports of PSI-MI name it, `source_id` its id in
    PSI-MI.
    """

    servers: ServersForCurators = ServersForCurators.IDLE
    release: str = ""
    models: dict[str, str] = {}  # files of `scoring consensus train` by task
    requests_a_day: Count = 200  # of one token
    in_flight: Count = 3  # requests of one token that servers are asked about at a time
    at_once: Count = 20  # of all tokens together
    queue: Count = 100  # of all tokens together, with those that wait
    text_bytes: Count = 2 * 2**20  # of an article
    keep_days: Count = 90  # after which a request is deleted
    sources: list[ArticleSource] = []  # of articles that no phase has, asked in this order
    source: str = ""  # such as mint
    source_id: str = ""  # such as MI:0471
    psi_mi: str = ""  # an OBO file of PSI-MI; empty: the vocabulary of this version


class PhaseSettings(WrittenPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase to create, or to update when its settings change (docs/organisers.md).

    `articles` are files and folders, stored as a corpus with the phase's name; or `corpus` names
    an imported one. A phase of uploads needs neither, and no release. `gold` is one file per task.
    Dates are ISO 8601, in the challenge's time zone.
    """

    phase: str
    release: str = ""
    articles: tuple[str, ...] = ()
    corpus: str = ""
    gold: dict[str, str] = msgspec.field(default_factory=dict)
    title: str = ""


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenID Connect provider by which people sign in ([security.md](security.md#people))."""

    issuer: Annotated[str, Meta(pattern=r"^(https://|http://127\.0\.0\.1[:/])[^?#\s]+$(?!\n)")]
    client_id: Annotated[str, Meta(min_length=1)]
    client_secret_file: str = ""
    label: str = ""
    scope: str = "openid email profile"
    emails: bool = False


class ChallengeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge and its phases."""

    challenge: str
    title: str = ""
    timezone: str = "UTC"
    phases: list[PhaseSettings] = []


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of `config.yaml`."""

    folder: str = "hub"
    store: str = ""  # postgresql://...; empty: a file in the folder
    store_file: str = ""  # in place of `store`: a file with the URL alone
    limits: LimitSettings = LimitSettings()
    retry: RetrySettings = RetrySettings()
    circuit: CircuitSettings = CircuitSettings()
    uniprot: UniprotSettings = UniprotSettings()
    answers: AnswerSettings = AnswerSettings()
    web: WebSettings = WebSettings()
    notices: NoticeSettings = NoticeSettings()
    logs: LogSettings = LogSettings()
    security: SecuritySettings = SecuritySettings()
    curation: CurationSettings = CurationSettings()
    sign_in: list[ProviderSettings] = []
    challenges: list[ChallengeSettings] = []

    def __post_init__(self) -> None:
        if self.sign_in and not self.web.url:
            raise InputError("sign_in", "needs web.url, to which a provider leads browsers back")

    def place(self) -> StorePlace:
        """Return the store's location."""
        if self.store and self.store_file:
            raise InputError("store_file", "names the store as well as store; expected one of them")
        if self.store_file:
            return read_url_file(Path(self.store_file), "store_file")
        return read_url(self.store, "store") if self.store else Path(self.folder) / STORE_FILE

    def release_folder(self, name: str) -> Path:
        """Return the folder for the UniProt release `name`; it need not exist."""
        return Path(self.uniprot.releases) / name

    def of_phase(self, plan: PhasePlan) -> Settings:
        """Return the settings with a phase's own limits and answer rules applied."""
        rules = plan.answers
        return msgspec.structs.replace(
            self,
            limits=_with_own(self.limits, plan.limits, "timeout", "attempts", "answer_bytes"),
            uniprot=_with_own(self.uniprot, rules, "normalise"),
            answers=_with_own(self.answers, rules, "confidence", "mention_type"),
        )

    def lane_limits(self, patience: float | None) -> LaneLimits:
        """Return the lane limits; a server down for `patience` is left (None: never)."""
        return LaneLimits(
            attempts=self.limits.attempts,
            backoff=Backoff(base=self.retry.base, cap=self.retry.cap),
            circuit=self.circuit.failures,
            probe=Backoff(base=self.circuit.probe_base, cap=self.circuit.probe_cap),
            patience=patience,
            health=self.circuit.health,
        )

    def policies(self) -> Policies:
        """Return the accession policies."""
        return Policies(self.uniprot.secondary, self.uniprot.normalise)

    def completion(self) -> Completion | None:
        """Return the completion for answers of historic servers; None if nothing is completed."""
        answers = self.answers
        by_rank = answers.confidence is InferredConfidence.RANK
        if not (by_rank or answers.mention_type):
            return None
        return Completion(by_rank=by_rank, mention_type=answers.mention_type)

    def http_limits(self) -> HttpLimits:
        """Return the HTTP client's limits."""
        return HttpLimits(
            connect=self.limits.connect,
            answer=Limits(
                bytes=self.limits.answer_bytes,
                values=self.limits.answer_values,
                settings="limits.answer_",
            ),
        )

    def key_file(self) -> Path:
        """Return the key file that seals the servers' credentials."""
        return Path(self.security.key_file or Path(self.folder) / KEY_FILE)

    def ca_file(self) -> Path | None:
        """Return the file with further certificates to trust, or None."""
        return Path(self.security.ca_file) if self.security.ca_file else None

    def address_guard(self) -> AddressGuard:
        """Return the guard against addresses that no article may be sent to."""
        allowed = self.security.allow_networks
        return AddressGuard([read_network(one, "security.allow_networks") for one in allowed])


def _with_own(section: T, own: msgspec.Struct, *names: str) -> T:
    """Return a section of the settings, overridden by a phase's own values."""
    given = {name: value for name in names if (value := getattr(own, name)) not in (None, "")}
    return msgspec.structs.replace(section, **given) if given else section


def read_settings(path: Path) -> Settings:
    r"""Read a settings file; `InputError` names the line, the setting and what is expected.

    >>> _ = Path("config.yaml").write_text("limits: {timeout: 60}\n")
    >>> read_settings(Path("config.yaml")).limits.timeout
    60.0
    """
    try:
        text = path.read_text("utf-8")
        return msgspec.convert(yaml.load(text, _Loader) or {}, Settings)  # noqa: S506 (a safe one)
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8 text") from error
    except yaml.YAMLError as error:
        raise yaml_fault(path, error) from error
    except msgspec.ValidationError as error:
        line = line_of(yaml.compose(text, _Loader), str(error))
        raise InputError(path, str(error), line=line) from error


def yaml_fault(place: str | Path, error: yaml.YAMLError) -> InputError:
    """Return what is wrong with the YAML of a file, with its line as far as the library says it."""
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or "not YAML"
    return InputError(place, str(what), line=mark.line + 1 if mark else None)


def line_of(node: Any, problem: str) -> int | None:
    """Return the line of a YAML document that a problem names ("... - at `$.limits.timeout`")."""
    unknown = re.search(r"unknown field `(.*?)`", problem)
    steps = steps_of(problem.partition("at `$")[2])
    return line_at(node, [*steps, unknown[1]] if unknown else steps)


def steps_of(path: str) -> list[str]:
    """Return the names and numbers in a path, such as `.phases[0].kind`."""
    return re.findall(r"\w+", path)


def line_at(node: Any, steps: Iterable[str]) -> int | None:
    """Return the line in a YAML document to which steps lead, as far as they do."""
    line = None if node is None else node.start_mark.line + 1
    for step in steps:
        pairs = []
        if isinstance(node, yaml.SequenceNode):
            pairs = [(value, value) for n, value in enumerate(node.value) if str(n) == step]
        elif isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if key.value == step]
        if not pairs:
            break
        line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
    return line
