"""What a server or command is told: where the store is and how to serve it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from throttled.exceptions import DataError
from throttled.rate_limiter.quota_parser import parse

from server.errors import CommandError
from server.logs import LogFormat

ANY_ORIGIN = "*"

_HOST_NAME = re.compile(r"[\w.-]+")

DEADLINE = 10.0
NO_RATE_LIMIT = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of one command; CommandError when two of them contradict each other.

    The store is the embedded engine over ``data_dir`` unless ``endpoint_url`` names a DynamoDB API
    or ``aws`` asks for Amazon DynamoDB.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    """0 takes any free port."""
    public_url: str | None = None
    """Scheme, host and port at which browsers reach the server, such as https://shop.example; pages
    build their absolute links from it. None takes them from each request."""
    allowed_hosts: Sequence[str] = ()
    """Hosts that the server answers for besides that of ``public_url`` and the names of loopback;
    ``*.shop.example`` is any host below it, ``*`` any host."""
    data_dir: Path = Path("data")
    demo: bool = False
    explain: bool = False
    introspection: bool = True
    """Whether clients may ask for the schema, and are told of it in errors."""
    known_products_only: bool = False
    """Whether comments on products without stored details are refused."""
    documents: Sequence[Path] = ()
    """Manifests of trusted documents, beside those that the table keeps."""
    documents_only: bool = False
    """Whether other documents are refused."""
    apq: bool = False
    """Whether clients may register documents by their hashes: automatic persisted queries."""
    s_maxage: int = 10
    """Seconds for which shared caches keep public reads of trusted documents; 0 is not at all."""
    stale_while_revalidate: int = 30
    """Seconds after these in which they may show one while they ask for a new one."""
    endpoint_url: str | None = None
    aws: bool = False
    table: str = "marginalia"
    redis_url: str | None = field(default=None, repr=False)
    """A Redis by which workers and servers over one table tell each other of changes; the URL may
    hold a password."""
    analytics_url: str | None = field(default=None, repr=False)
    """The HTTP interface of the ClickHouse that answers analytics, maybe with a password; None is
    DuckDB over files in ``data_dir``."""
    workers: int = 1
    """Processes that serve; each takes one core at most."""
    exit_when_blocked: bool | None = None
    """Whether a process ends when its event loop is blocked; None: only if there are workers."""
    jwt_secret: str | None = None
    """Verifies HS256; None leaves it to the data directory's own secret."""
    jwks_url: str | None = None
    jwt_audience: str | None = None
    """What ``aud`` of the key set's JWTs must hold."""
    cors_origins: Sequence[str] = ()
    """Origins whose pages may call the API from a browser; ``*`` is any."""
    picture_origins: Sequence[str] = ()
    """Origins beside our own whose pictures of products the pages show: they see who looks."""
    deadline: float = DEADLINE
    """Seconds that a request may take once it is there, all its calls of the store included."""
    log_format: LogFormat = "text"
    access_log: bool = False
    """Whether each request is a line of the log."""
    metrics_port: int | None = None
    """Where Prometheus scrapes; 0 takes any free port, None is nowhere."""
    metrics_host: str = "127.0.0.1"
    """The address of that port: whoever reaches it sees the metrics."""
    trace_url: str | None = None
    """A collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; None is no traces."""
    trace_sample: float = 0.01
    """The part of requests without a trace of their caller's that get one."""
    keep_alive: int = 75
    """Seconds that a connection may be idle: more than the 60 of usual balancers, which must be the
    ones that close."""
    request_timeout: int = 20
    """Seconds for a request to arrive; the largest takes 8 at 1 Mbit/s."""
    max_connections: int | None = None
    """None leaves it to the descriptors that the system allows."""
    max_concurrency: int = 8
    """Requests that run at once on a busy process. With more, all wait for longer: the event loop
    goes through them before it looks at the next client."""
    rate_limit: str = "100/s"
    """Requests of one client. A person stays far below, and a storefront's server below what one
    process can answer."""
    trusted_proxies: Sequence[str] = ("127.0.0.1", "::1")
    """Addresses and networks whose ``X-Forwarded-For`` is believed."""

    def __post_init__(self) -> None:
        if self.aws and self.endpoint_url is not None:
            raise CommandError("--aws and --endpoint-url exclude each other: give one of them.")
        if self.apq and self.documents_only:
            raise CommandError("--apq and --documents-only exclude each other: give one of them.")
        for option, url in (
            ("--endpoint-url", self.endpoint_url),
            ("--jwks-url", self.jwks_url),
            ("--trace-url", self.trace_url),
        ):
            if url is not None and not _is_url(url):
                raise CommandError(f"{option} {url} is no URL such as http://127.0.0.1:8001.")
        self._check_analytics()
        self._check_redis()

        self._check_origins()
        for proxy in self.trusted_proxies:
            if not _is_network(proxy):
                raise CommandError(
                    f"--trusted-proxy {proxy} is no address and no network such as 10.0.0.0/8."
                )
        if self.rate_limit != NO_RATE_LIMIT and not _is_rate(self.rate_limit):
            raise CommandError(
                f"--rate-limit {self.rate_limit} is no rate such as 100/s or 600/min, nor 'off'."
            )

    def _check_origins(self) -> None:
        if self.public_url is not None and not _is_origin(self.public_url):
            raise CommandError(
                f"--public-url {self.public_url} is not scheme, host and port alone: give it as "
                "https://shop.example, without a path."
            )
        for host in self.allowed_hosts:
            if not _is_host(host):
                raise CommandError(
                    f"--allowed-host {host} is not a host: give it as shop.example, "
                    "*.shop.example or '*', without scheme, port and path."
                )

        for origin in self.cors_origins:
            if origin != ANY_ORIGIN and not _is_origin(origin):
                raise CommandError(
                    f"--cors-origin {origin} is no origin such as https://shop.example, nor '*'."
                )

        for origin in self.picture_origins:
            if not (_is_origin(origin) and origin.startswith("https:")):
                raise CommandError(
                    f"--picture-origin {origin} is no origin such as https://cdn.shop.example."
                )

    def _check_analytics(self) -> None:
        """Raise CommandError, without the URL's password, where it is none."""
        if self.analytics_url is not None and not _is_url(self.analytics_url):
            raise CommandError(
                "--analytics-url is no URL such as http://user:password@127.0.0.1:8123."
            )

    def _check_redis(self) -> None:
        """Raise CommandError, without the URL's password, where it is none."""
        if self.redis_url is not None and not _is_redis_url(self.redis_url):
            raise CommandError(
                "--redis-url is no URL such as redis://127.0.0.1:6379/0, rediss://host:6379 or "
                "unix:///run/redis.sock."
            )

    @property
    def live(self) -> bool:
        """Whether clients may subscribe: several workers hear of each other's writes by Redis."""
        return self.workers == 1 or self.redis_url is not None

    @property
    def ends_when_blocked(self) -> bool:
        """Whether a process ends when its event loop is blocked."""
        return self.workers > 1 if self.exit_when_blocked is None else self.exit_when_blocked

    @property
    def embedded(self) -> bool:
        """Whether the store is an engine of our own over a file in ``data_dir``."""
        return not self.aws and self.endpoint_url is None


def _is_origin(text: str) -> bool:
    return _is_url(text) and text == "{0.scheme}://{0.netloc}".format(urlsplit(text))


def _is_host(pattern: str) -> bool:
    """Return whether a pattern is a name, an address, ``*.`` with a name, or ``*``."""
    name = pattern.removeprefix("*.")
    return pattern == "*" or _is_network(name.strip("[]")) or _HOST_NAME.fullmatch(name) is not None


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _is_rate(text: str) -> bool:
    try:
        return len(parse(text)) == 1
    except DataError:
        return False


def _is_redis_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        if parts.scheme == "unix":
            return bool(parts.path.strip("/"))
        database = parts.path.strip("/")
        return (
            parts.scheme in {"redis", "rediss"}
            and bool(parts.hostname)
            and parts.port != 0
            and (not database or database.isdecimal())
        )
    except ValueError:  # a port beyond 65535
        return False


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535
        return False
