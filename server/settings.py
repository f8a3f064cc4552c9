"""The settings of servers and commands.

Each field declares one setting: default, option, help, check.

``server.cli.options`` makes command-line options and environment variables from the fields. Workers
import this module, so it does not import Typer, which takes 44 ms.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit

from server.errors import CommandError
from server.logs import LogFormat

ModerationRule: TypeAlias = Literal["off", "before-publishing", "words"]

ANY_ORIGIN = "*"
NO_RATE_LIMIT, RATE_LIMIT = "off", "100/s"

_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_HOST_NAME = re.compile(r"[\w.-]+")

Check = tuple[Callable[[str], bool], str]
"""A function that returns whether a value is valid, and the end of the error message for an invalid
value."""


class Option(NamedTuple):
    """The metadata of a setting's field: how the command line offers the setting."""

    help: str
    panel: str | None = None
    """The heading of ``--help`` under which the option is listed. With None, the option is listed
    with the command's own options."""
    name: str | None = None
    """The option's name without dashes, if it differs from the field's name."""
    off: str | None = None
    """The name of the option that switches a flag off. None means ``no-`` and the flag's name; an
    empty text means that the flag cannot be switched off."""
    bounds: tuple[float | None, float | None] = (None, None)
    check: Check | None = None
    """Checks the value, or each value of a repeatable option."""
    secret: bool = False
    """Whether the value must not appear in messages."""


def option_name(setting: Field[Any]) -> str:
    """Return the command-line option of a field of the settings, with its dashes."""
    option: Option = setting.metadata["option"]
    return f"--{option.name or setting.name.replace('_', '-')}"


def _setting(default: Any, help: str, **metadata: Any) -> Any:  # noqa: A002 - as Typer calls it
    option = Option(help, **metadata)
    return field(default=default, repr=not option.secret, metadata={"option": option})


def _split(url: str) -> SplitResult:
    """Return a URL's parts; all parts are empty if the text is not a URL."""
    try:
        parts = urlsplit(url)
        return urlsplit("") if parts.port == 0 else parts
    except ValueError:  # a port beyond 65535
        return urlsplit("")


def _is_url(text: str) -> bool:
    parts = _split(text)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _is_redis_url(text: str) -> bool:
    parts = _split(text)
    path = parts.path.strip("/")
    if parts.scheme == "unix":
        return bool(path)
    database = not path or path.isdecimal()
    return parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and database


def _is_origin(text: str) -> bool:
    return _is_url(text) and text == "{0.scheme}://{0.netloc}".format(urlsplit(text))


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _is_host(pattern: str) -> bool:
    """Return whether a text is a host name, an IP address, ``*.`` and a name, or ``*``."""
    name = pattern.removeprefix("*.")
    return pattern == "*" or _is_network(name.strip("[]")) or _HOST_NAME.fullmatch(name) is not None


def _is_rate(text: str) -> bool:
    if text in {NO_RATE_LIMIT, RATE_LIMIT}:
        return True
    # throttled imports redis if it is installed, which takes an eighth of a start
    from throttled.exceptions import DataError  # noqa: PLC0415 - see above
    from throttled.rate_limiter.quota_parser import parse  # noqa: PLC0415 - see above

    try:
        return len(parse(text)) == 1
    except DataError:
        return False


_URL = (_is_url, "is not a URL such as http://127.0.0.1:8001.")
_CLICKHOUSE_URL = (_is_url, "is not a URL such as http://user:password@127.0.0.1:8123.")
_REDIS_URL = (
    _is_redis_url,
    "is not a URL such as redis://127.0.0.1:6379/0, rediss://host:6379 or unix:///run/redis.sock.",
)
_PUBLIC_URL = (
    _is_origin,
    "is not scheme, host and port alone: give it as https://shop.example, without a path.",
)
_HOST = (
    _is_host,
    "is not a host: give it as shop.example, *.shop.example or '*', without scheme, port and path.",
)
_CORS_ORIGIN = (
    lambda text: text == ANY_ORIGIN or _is_origin(text),
    "is neither an origin such as https://shop.example nor '*'.",
)
_PICTURE_ORIGIN = (
    lambda text: _is_origin(text) and text.startswith("https:"),
    "is not an origin such as https://cdn.shop.example.",
)
_BUCKET = (
    lambda text: _BUCKET_NAME.fullmatch(text) is not None,
    "is not the name of a bucket such as shop-photos.",
)
_HTTPS_URL = (
    lambda text: _is_url(text) and text.startswith("https:") and not _split(text).query,
    "is not an address such as https://photos.shop.example.",
)
_PROXY = (_is_network, "is neither an address nor a network such as 10.0.0.0/8.")
_OUR_ROLES = ("staff", "moderator", "merchant")
_ROLE = (
    lambda text: text.rpartition("=")[0] != "" and text.rpartition("=")[2] in _OUR_ROLES,
    "does not end in =staff, =moderator or =merchant, as shop-admins=staff does.",
)
_RATE = (_is_rate, "is neither a rate such as 100/s or 600/min nor 'off'.")

_documents = partial(_setting, panel="Documents")
_store = partial(_setting, panel="Store")
_authentication = partial(_setting, panel="Authentication")
_observability = partial(_setting, panel="Observability")
_limits = partial(_setting, panel="Processes and limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one command.

    Raises CommandError for values that are invalid or exclude each other.

    The store is the embedded engine over ``data_dir``, unless ``endpoint_url`` names a DynamoDB API
    or ``aws`` selects Amazon DynamoDB.
    """

    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(8000, "Port to listen on; 0 takes any free port.", bounds=(0, 65535))
    public_url: str | None = _setting(
        None,
        "Scheme, host and port at which browsers reach the server, such as https://shop.example. "
        "Canonical links, the sitemap, robots.txt and JSON-LD use it. Default: the request's host.",
        check=_PUBLIC_URL,
    )
    allowed_hosts: Sequence[str] = _setting(
        (),
        "Host that requests may name: shop.example, *.shop.example for each host below it, or '*' "
        "for any host. Requests that name another host get status 421. Repeatable. The host of "
        "--public-url and this machine's loopback names are always allowed.",
        name="allowed-host",
        check=_HOST,
    )
    demo: bool = _setting(
        False,
        "Load demo data once, and let every visitor write as the user demo: with the JWT that "
        "the server prints, or after one click on the pages.",
    )
    explain: bool | None = _setting(
        None,
        "Serve the field 'plan', which shows how a page was read and the cost. Default: on with "
        "--demo, otherwise off.",
    )
    introspection: bool = _setting(
        True, "Let clients query the schema. If off, errors do not show names of the schema either."
    )
    federation: bool = _setting(
        False,
        "Serve the schema as a subgraph of Apollo Federation 2, with '_service', '_entities' and "
        "the keys of products, comments and authors.",
    )
    known_products_only: bool = _setting(
        False,
        "Refuse comments on products that have no title, picture or address stored.",
        off="any-product",
    )
    buyers_only: bool = _setting(
        False,
        "Refuse comments of users who have no delivered order with the product.",
        off="anybody",
    )
    allow_empty_text: bool = _setting(
        False, "Accept comments that have a rating and no text.", off="require-text"
    )
    moderation: ModerationRule = _setting(
        "off",
        "Which new and edited comments wait for a moderator: none, all, or comments with a word of "
        "--moderation-words.",
    )
    moderation_words: Path | None = _setting(
        None, "UTF-8 file for --moderation words, with one word or phrase per line."
    )
    review_at: int = _setting(
        5,
        "Number of reports after which a published comment waits for a moderator.",
        bounds=(1, 100),
    )
    cors_origins: Sequence[str] = _setting(
        (),
        "Origin of web pages that may call the API from a browser, such as https://shop.example, "
        "or '*' for any origin. Repeatable. --demo allows this machine's origins too.",
        name="cors-origin",
        check=_CORS_ORIGIN,
    )
    picture_origins: Sequence[str] = _setting(
        (),
        "Origin of product pictures that the pages show, such as https://cdn.shop.example. The "
        "host of the origin sees who views the pictures. Repeatable.",
        name="picture-origin",
        check=_PICTURE_ORIGIN,
    )
    upload_bucket: str | None = _setting(
        None,
        "Bucket of S3 to which browsers upload photos of comments, with the AWS credentials "
        "and region of the environment. The pages may show pictures from the bucket's origin.",
        check=_BUCKET,
    )
    upload_url: str | None = _setting(
        None,
        "Address at which browsers read the files of --upload-bucket, such as "
        "https://photos.shop.example. Default: the bucket's own address.",
        check=_HTTPS_URL,
    )
    deadline: float = _setting(
        10.0,
        "Seconds that a request may take after it has arrived, including all calls to the "
        "store. A request that takes longer fails with UNAVAILABLE.",
        bounds=(1, None),
    )
    log_format: LogFormat = _setting("text", "Format of the log on standard error.")

    documents: Sequence[Path] = _documents(
        (),
        "Manifest of documents that clients request by id: Relay's persisted queries or Apollo's "
        "manifest. Repeatable. 'marginalia documents add' keeps documents in the table instead.",
    )
    documents_only: bool = _documents(False, "Run registered documents and refuse all others.")
    apq: bool = _documents(
        False,
        "Automatic persisted queries: clients of Apollo and urql register a text by its hash, and "
        "send the hash alone afterwards. The server keeps 16 MB of texts.",
    )
    s_maxage: int = _documents(
        10,
        "Seconds for which a CDN may keep the public answer to a GET with a registered document's "
        "id; with 0 it must not keep answers.",
        bounds=(0, None),
    )
    stale_while_revalidate: int = _documents(
        30,
        "Seconds after --s-maxage in which a CDN may show the old answer while it fetches the "
        "new answer.",
        bounds=(0, None),
    )

    data_dir: Path = _store(Path("data"), "Directory in which the embedded engine keeps its data.")
    endpoint_url: str | None = _store(
        None,
        "Use the DynamoDB API at this URL instead of the embedded engine, with the AWS credentials "
        "and region of the environment.",
        check=_URL,
    )
    aws: bool = _store(
        False, "Use Amazon DynamoDB, with the usual AWS variables and files.", off=""
    )
    table: str = _store("marginalia", "Name of the table.")
    redis_url: str | None = _store(
        None,
        "Redis through which the workers and servers of one table send changes to each "
        "other's subscribers, such as redis://127.0.0.1:6379/0. Several workers without Redis "
        "refuse subscriptions. If the URL has a password, set the environment variable, "
        "because the list of processes shows options.",
        check=_REDIS_URL,
        secret=True,
    )
    analytics_url: str | None = _store(
        None,
        "URL of ClickHouse's HTTP interface, such as http://127.0.0.1:8123. ClickHouse then "
        "computes trends and movers. By default, DuckDB computes them from files in the data "
        "directory.",
        check=_CLICKHOUSE_URL,
        secret=True,
    )

    jwt_secret: str | None = _authentication(
        None,
        "Secret of at least 32 bytes that signs and verifies HS256 JWTs. Set it by its "
        "environment variable, because the list of processes shows options. Default: the "
        "secret in the data directory.",
        secret=True,
    )
    jwt_issuer: str | None = _authentication(
        None,
        "OpenID Connect issuer that signs users in, exactly as in 'iss' of its JWTs. The server "
        "finds the issuer's keys, for RS256, ES256 and EdDSA, through its discovery document.",
        check=_URL,
    )
    jwks_url: str | None = _authentication(
        None, "URL of the issuer's key set, if the issuer has no discovery document.", check=_URL
    )
    jwt_audience: str | None = _authentication(
        None,
        "Audience that a JWT must name in 'aud', or in 'client_id' if it has no 'aud'. Required "
        "with --jwt-issuer.",
    )
    jwt_name_claims: Sequence[str] = _authentication(
        (),
        "Claim with the display name that comments show, by name or path, such as nickname or "
        "user_metadata.full_name. Repeatable: the first of these claims in a JWT is used. "
        "Default: name.",
        name="jwt-name-claim",
    )
    jwt_roles_claim: str = _authentication(
        "roles",
        "Claim with the user's roles, by name or path. Its value is a list of strings, or one "
        "string of words.",
    )
    jwt_roles: Sequence[str] = _authentication(
        (),
        "Role of the issuer and the corresponding role on this server, such as shop-admins=staff. "
        "Repeatable. If any is given, the issuer's other roles give no rights.",
        name="jwt-role",
        check=_ROLE,
    )
    sign_in_client_id: str | None = _authentication(
        None,
        "Id of the client by which the pages sign visitors in at --jwt-issuer. Register it there "
        "with this server's /sign-in/callback as redirect address.",
    )
    sign_in_client_secret: str | None = _authentication(
        None,
        "Secret of that client. Set it by its environment variable, because the list of "
        "processes shows options.",
        secret=True,
    )

    access_log: bool = _observability(
        False,
        "Log a line for each request: its operation, time and cost, without addresses and names.",
    )
    metrics_port: int | None = _observability(
        None,
        "Port on which Prometheus reads metrics; 0 takes any free port. Default: no metrics.",
        bounds=(0, 65535),
    )
    metrics_host: str = _observability(
        "127.0.0.1", "Address of the metrics port. Clients that reach it see the metrics."
    )
    trace_url: str | None = _observability(
        None,
        "OpenTelemetry collector that receives traces by OTLP over HTTP, such as "
        "http://127.0.0.1:4318.",
        check=_URL,
    )
    trace_sample: float = _observability(
        0.01,
        "Share of requests that get a trace, in addition to requests that their caller traces. A "
        "process traces at most 5 requests a second.",
        bounds=(0, 1),
    )

    keep_alive: int = _limits(
        75,
        "Seconds that a connection may be idle. Choose more than the load balancer's limit, "
        "usually 60: the balancer must close idle connections first.",
        bounds=(1, None),
    )
    # The largest request needs 8 seconds at 1 Mbit/s.
    request_timeout: int = _limits(
        20, "Seconds in which the head and the body of a request must arrive.", bounds=(1, None)
    )
    workers: int = _limits(
        1, "Processes that serve the port. Each takes one core at most.", bounds=(1, None)
    )
    exit_when_blocked: bool | None = _limits(
        None,
        "End the process when its event loop is blocked for 15 seconds, so that a supervisor "
        "restarts it. Default: on with --workers 2 or more.",
    )
    compiles: bool = _limits(
        True,
        "Compile operations that are requested again. If off, graphql-core runs all operations, "
        "which is slower but shows whether compiling causes a wrong answer.",
        name="compile",
    )
    max_connections: int | None = _limits(
        None,
        "Maximum open connections. Default: as many as the system has file descriptors for.",
        bounds=(1, None),
    )
    # With more, every request takes longer, because the event loop shares its time between all of
    # them.
    max_concurrency: int = _limits(
        8,
        "Requests that run at once in a process. Further requests wait, or get status 503 if they "
        "would wait for more than six seconds.",
        bounds=(1, None),
    )
    # A person sends far fewer requests. A storefront's server sends fewer requests than one process
    # can answer.
    rate_limit: str = _limits(
        RATE_LIMIT,
        "Maximum requests of one client, such as 100/s or 600/min. Further requests get status "
        "429. 'off' sets no limit.",
        check=_RATE,
    )
    trusted_proxies: Sequence[str] = _limits(
        ("127.0.0.1", "::1"),
        "Address or network of a proxy. Its X-Forwarded-For names the client; without this header "
        "the proxy's requests are not limited. Repeatable.",
        name="trusted-proxy",
        check=_PROXY,
    )

    @property
    def plans(self) -> bool:
        """Whether the server shows plans."""
        return self.demo if self.explain is None else self.explain

    def __post_init__(self) -> None:
        sign_in = self.sign_in_client_id is not None
        conflicts = {
            "--aws and --endpoint-url exclude each other: give one of them.": (
                self.aws and self.endpoint_url is not None
            ),
            "--apq and --documents-only exclude each other: give one of them.": (
                self.apq and self.documents_only
            ),
            "--moderation words and --moderation-words FILE need each other: give both or none.": (
                (self.moderation == "words") != (self.moderation_words is not None)
            ),
            "--federation and --documents-only exclude each other: a gateway writes its own "
            "documents.": self.federation and self.documents_only,
            "--jwt-issuer needs --jwt-audience: name the API or client of its JWTs.": (
                self.jwt_issuer is not None and self.jwt_audience is None
            ),
            "--sign-in-client-id needs --sign-in-client-secret and --jwt-issuer, the issuer at "
            "which this client is registered: give all three.": (
                sign_in != (self.sign_in_client_secret is not None)
                or (sign_in and self.jwt_issuer is None)
            ),
            "--sign-in-client-id needs MARGINALIA_JWT_SECRET, the same for all servers of the "
            "table: it signs the sessions of the pages.": (
                sign_in and not self.embedded and self.jwt_secret is None
            ),
        }
        for message, wrong in conflicts.items():
            if wrong:
                raise CommandError(message)
        for setting in fields(self):
            option: Option = setting.metadata["option"]
            given = getattr(self, setting.name)
            if option.check is None or given is None:
                continue
            accepts, message = option.check
            for value in [given] if isinstance(given, str) else given:
                if not accepts(value):
                    shown = "" if option.secret else f" {value}"
                    raise CommandError(f"{option_name(setting)}{shown} {message}")

    @property
    def live(self) -> bool:
        """Whether clients may subscribe. Several workers need Redis for it."""
        return self.workers == 1 or self.redis_url is not None

    @property
    def ends_when_blocked(self) -> bool:
        """Whether a process ends when its event loop is blocked."""
        return self.workers > 1 if self.exit_when_blocked is None else self.exit_when_blocked

    @property
    def embedded(self) -> bool:
        """Whether the store is the embedded engine over a file in ``data_dir``."""
        return not self.aws and self.endpoint_url is None
