"""The settings of servers and commands.

Each field of ``Settings`` declares one setting with its default, option name, help text and check.
``Settings`` inherits the settings of features. Their classes have no slots, because a class cannot
inherit several classes with slots. ``server.cli.options`` makes command-line options and
environment variables from the fields. This module does not import Typer, because workers import
this module, and Typer's import takes 44 ms.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from inspect import get_annotations
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from features.analytics.settings import AnalyticsSettings
from features.aspects.settings import AspectSettings
from features.federation.settings import FederationSettings
from features.invitations.settings import InvitationSettings
from features.live.settings import LiveSettings
from features.moderation.settings import ModerationSettings
from features.photos.settings import PhotoSettings
from features.plans.settings import PlanSettings
from features.trusted_documents.settings import DocumentSettings
from server.errors import CommandError
from server.logs import LogFormat
from server.option import Option, is_url, option_name, setting

ANY_ORIGIN = "*"
NO_RATE_LIMIT, RATE_LIMIT = "off", "100/s"

_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")


def _is_origin(text: str) -> bool:
    return is_url(text) and text == "{0.scheme}://{0.netloc}".format(urlsplit(text))


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _is_host(pattern: str) -> bool:
    """Return whether a text is a host name, an IP address, ``*``, or ``*.`` and a host name."""
    bare = pattern[1:-1] if pattern.startswith("[") and pattern.endswith("]") else pattern
    address = "/" not in bare and "%" not in bare and _is_network(bare)
    name = pattern.removeprefix("*.")
    return pattern == "*" or address or _HOST_NAME.fullmatch(name) is not None


def _is_rate(text: str) -> bool:
    if text in {NO_RATE_LIMIT, RATE_LIMIT}:
        return True
    # If redis is installed, this import takes an eighth of the time of the server's start. The
    # check of the default rate does not need it.
    from throttled.exceptions import DataError  # noqa: PLC0415 - slow import
    from throttled.rate_limiter.quota_parser import parse  # noqa: PLC0415 - slow import

    try:
        return len(parse(text)) == 1
    except DataError:
        return False


_URL = (is_url, "is not a URL such as http://127.0.0.1:8001.")
_PUBLIC_URL = (
    _is_origin,
    "is not an address such as https://shop.example: write only scheme, host and port.",
)
_HOST = (
    _is_host,
    "is not a host such as shop.example, *.shop.example or '*': leave out scheme, port and path.",
)
_CORS_ORIGIN = (
    lambda text: text == ANY_ORIGIN or _is_origin(text),
    "is not an origin such as https://shop.example, or '*'.",
)
_PICTURE_ORIGIN = (
    lambda text: _is_origin(text) and text.startswith("https:"),
    "is not an origin such as https://cdn.shop.example.",
)
_PROXY = (_is_network, "is not an IP address, or a network such as 10.0.0.0/8.")
_OUR_ROLES = ("staff", "moderator", "merchant")
_ROLE = (
    lambda text: text.rpartition("=")[0] != "" and text.rpartition("=")[2] in _OUR_ROLES,
    "does not end in =staff, =moderator or =merchant. An example is shop-admins=staff.",
)
_RATE = (_is_rate, "is not a rate such as 100/s or 600/min, or 'off'.")

_store = partial(setting, panel="Store")
_authentication = partial(setting, panel="Authentication")
_observability = partial(setting, panel="Observability")
_documents = partial(setting, panel="Documents")
_limits = partial(setting, panel="Processes and limits")

SCHEMA_SETTINGS = ("federation",)
"""The names of the settings that change the text of the schema."""


@dataclass(frozen=True, kw_only=True)
class Settings(
    PlanSettings,
    FederationSettings,
    InvitationSettings,
    ModerationSettings,
    AspectSettings,
    PhotoSettings,
    DocumentSettings,
    LiveSettings,
    AnalyticsSettings,
):
    """The settings of a server or command.

    By default, the store is the embedded engine with its file in ``data_dir``. Instead,
    ``endpoint_url`` can name a DynamoDB API, or ``aws`` can select Amazon DynamoDB. Raises
    CommandError if a value is invalid, or if two settings cannot be used together.
    """

    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(8000, "Port to listen on. 0 means any free port.", bounds=(0, 65535))
    public_url: str | None = setting(
        None,
        "Address of the server in browsers: scheme, host and port, such as https://shop.example. "
        "Canonical links, the sitemap, robots.txt and JSON-LD use it. Default: the request's host.",
        check=_PUBLIC_URL,
    )
    allowed_hosts: Sequence[str] = setting(
        (),
        "Host name that requests may use: shop.example, *.shop.example for all its subdomains, or "
        "'*' for any host. Requests for other hosts get status 421, except health checks. "
        "Repeatable. The host of --public-url and names of this machine such as localhost are "
        "always allowed. If neither option is set, --host and the server's IP address are allowed.",
        name="allowed-host",
        check=_HOST,
    )
    demo: bool = setting(
        False,
        "Load demo data once, and let every visitor write as the user demo. Visitors use the JWT "
        "that the server prints, or sign in on the pages with one click, also as a moderator or "
        "as the merchant.",
    )
    show_cost: bool = setting(
        False,
        "Let every client request the cost of queries of public data. Only staff see the cost of "
        "other operations, because it could reveal that an object exists: mutations, and queries "
        "of users, orders, tickets, organisations, moderation, node and nodes.",
        off="hide-cost",
    )
    introspection: bool = setting(
        True,
        "Let clients query the schema. If off, error messages contain no names of the schema "
        "either.",
    )
    serve_schema: bool = setting(
        False,
        "Serve the schema at /schema.graphql, even with --no-introspection or --documents-only. "
        "Otherwise the server serves it only if clients can query the schema.",
        off="hide-schema",
    )
    known_products_only: bool = setting(
        False,
        "Refuse comments on a product without stored details, such as a title.",
        off="any-product",
    )
    buyers_only: bool = setting(
        False,
        "Refuse comments from users without a delivered order of the product or of a variant.",
        off="anybody",
    )
    allow_empty_text: bool = setting(
        False, "Accept comments with a rating but without a text.", off="require-text"
    )
    cors_origins: Sequence[str] = setting(
        (),
        "Origin of web pages that may call the API from a browser, such as https://shop.example, "
        "or '*' for any origin. Repeatable. --demo also allows pages from this machine.",
        name="cors-origin",
        check=_CORS_ORIGIN,
    )
    picture_origins: Sequence[str] = setting(
        (),
        "Origin from which the pages show product pictures, such as https://cdn.shop.example. This "
        "host can see who views the pictures. Repeatable.",
        name="picture-origin",
        check=_PICTURE_ORIGIN,
    )
    deadline: float = setting(
        10.0,
        "Maximum seconds for processing a request, including all calls to the store. A request "
        "that takes longer fails with the code UNAVAILABLE. The time in which a request arrives or "
        "waits for its turn does not count.",
        bounds=(1, None),
    )
    s_maxage: int = _documents(
        10,
        "Seconds for which a CDN may store the public response to a GET with the id of a "
        "registered document, or of the widget's. 0: a CDN must not store responses.",
        bounds=(0, None),
    )
    stale_while_revalidate: int = _documents(
        30,
        "Seconds after --s-maxage in which a CDN may send the old response while it fetches a new "
        "response.",
        bounds=(0, None),
    )
    log_format: LogFormat = setting("text", "Format of the log on standard error.")

    data_dir: Path = _store(
        Path("data"),
        "Directory in which the embedded engine stores its data. It also contains the default JWT "
        "secret and the files from which DuckDB computes trends.",
    )
    endpoint_url: str | None = _store(
        None,
        "Use the DynamoDB API at this URL instead of the embedded engine. The AWS credentials and "
        "the region come from the environment.",
        check=_URL,
    )
    aws: bool = _store(
        False,
        "Use Amazon DynamoDB. Credentials and region come from the usual AWS variables and files.",
        off="",
    )
    table: str = _store("marginalia", "Name of the table.")

    jwt_secret: str | None = _authentication(
        None,
        "Secret of at least 32 bytes that signs and verifies HS256 JWTs. Set the environment "
        "variable instead of the option, because other users of the machine can see options. "
        "Default: the secret in the data directory.",
        secret=True,
    )
    jwt_issuer: str | None = _authentication(
        None,
        "OpenID Connect issuer that signs users in, exactly as in 'iss' of its JWTs. The server "
        "reads the issuer's keys (RS256, ES256 or EdDSA) through its discovery document.",
        check=_URL,
    )
    jwks_url: str | None = _authentication(
        None, "URL of the issuer's key set, if the issuer has no discovery document.", check=_URL
    )
    jwt_audience: str | None = _authentication(
        None,
        "Audience that a JWT must contain in 'aud', or in 'client_id' if it has no 'aud'. Required "
        "with --jwt-issuer.",
    )
    jwt_name_claims: Sequence[str] = _authentication(
        (),
        "Name or path of the JWT's claim with the display name, such as nickname or "
        "user_metadata.full_name. Repeatable: the server uses the first claim that the JWT has. "
        "Default: name.",
        name="jwt-name-claim",
    )
    jwt_roles_claim: str = _authentication(
        "roles",
        "Name or path of the JWT's claim with the user's roles. Its value is a list of strings, or "
        "one string with spaces between the roles.",
    )
    jwt_roles: Sequence[str] = _authentication(
        (),
        "Role of the issuer and the corresponding role on this server, such as shop-admins=staff. "
        "Repeatable. With this option, all other roles of the issuer give no rights.",
        name="jwt-role",
        check=_ROLE,
    )
    sign_in_client_id: str | None = _authentication(
        None,
        "Id of the OpenID Connect client that the pages use to sign visitors in at --jwt-issuer. "
        "At the issuer, register the client with this server's /sign-in/callback as redirect "
        "address.",
    )
    sign_in_client_secret: str | None = _authentication(
        None,
        "Secret of the client of --sign-in-client-id. Set the environment variable instead of the "
        "option, because other users of the machine can see options.",
        secret=True,
    )

    access_log: bool = _observability(
        False,
        "Log a line for each request with its operation, time and cost. The line contains no "
        "client addresses, and user names only in paths such as /authors/bob.",
    )
    metrics_port: int | None = _observability(
        None,
        "Port on which Prometheus reads metrics. 0 means any free port. Default: no metrics.",
        bounds=(0, 65535),
    )
    metrics_host: str = _observability(
        "127.0.0.1",
        "Address of the metrics port. All clients that can reach it can read the metrics.",
    )
    trace_url: str | None = _observability(
        None,
        "URL of the OpenTelemetry collector that receives traces by OTLP over HTTP, such as "
        "http://127.0.0.1:4318.",
        check=_URL,
    )
    trace_sample: float = _observability(
        0.01,
        "Share of requests that are traced: a number from 0 to 1. A request is also traced if its "
        "header traceparent shows that the caller traces it. A process traces at most 5 requests "
        "per second.",
        bounds=(0, 1),
    )

    keep_alive: int = _limits(
        75,
        "Maximum seconds for which a connection may be idle. Set a larger number than the idle "
        "limit of the load balancer, usually 60 seconds, so that the balancer closes idle "
        "connections first.",
        bounds=(1, None),
    )
    # The largest request needs 8 seconds at 1 Mbit/s, so the default allows slow connections.
    request_timeout: int = _limits(
        20, "Seconds within which the head and the body of a request must arrive.", bounds=(1, None)
    )
    workers: int = _limits(
        1,
        "Number of processes that serve the port. Each process uses at most one CPU core.",
        bounds=(1, None),
    )
    exit_when_blocked: bool | None = _limits(
        None,
        "End the process if its event loop is blocked for 15 seconds, so that a supervisor can "
        "restart it. Default: on with --workers 2 or more.",
    )
    compiles: bool = _limits(
        True,
        "Compile operations that are requested more than once. If off, graphql-core executes all "
        "operations. This is slower, but shows whether a wrong response comes from compiling.",
        name="compile",
    )
    max_connections: int | None = _limits(
        None,
        "Maximum number of open connections of all processes together. Default: the number that "
        "the system allows.",
        bounds=(1, None),
    )
    # A larger number makes every request slower, because all requests share the event loop.
    max_concurrency: int = _limits(
        8,
        "Number of requests that run at the same time in a process; up to 20 times as many if "
        "these requests wait for the store. Other requests wait for their turn. If the process "
        "stays busy, requests whose expected wait is longer than six seconds get status 503.",
        bounds=(1, None),
    )
    # A person sends far fewer requests than the default rate allows. The default also keeps the
    # requests of a storefront's server below the rate that one process can serve.
    rate_limit: str = _limits(
        RATE_LIMIT,
        "Maximum rate of one client's requests, such as 100/s or 600/min. Requests above this rate "
        "get status 429. 'off' means no limit.",
        check=_RATE,
    )
    trusted_proxies: Sequence[str] = _limits(
        ("127.0.0.1", "::1"),
        "Address or network of a proxy. The server reads the client's address from the proxy's "
        "header X-Forwarded-For. Requests of the proxy without this header have no rate limit. "
        "Repeatable.",
        name="trusted-proxy",
        check=_PROXY,
    )

    def __post_init__(self) -> None:
        sign_in = self.sign_in_client_id is not None
        conflicts = {
            "--aws and --endpoint-url cannot be used together: remove one of them.": (
                self.aws and self.endpoint_url is not None
            ),
            "--federation and --documents-only cannot be used together, because a gateway writes "
            "its own documents: remove one of them.": self.federation and self.documents_only,
            "--jwt-issuer needs --jwt-audience: set it to the API or client that JWTs are for.": (
                self.jwt_issuer is not None and self.jwt_audience is None
            ),
            "--sign-in-client-id needs --sign-in-client-secret and --jwt-issuer, the issuer with "
            "which the client is registered: set all three options.": (
                sign_in != (self.sign_in_client_secret is not None)
                or (sign_in and self.jwt_issuer is None)
            ),
            "--sign-in-client-id needs MARGINALIA_JWT_SECRET, which signs the sessions of the "
            "pages: set it to the same secret on all servers of the table.": (
                sign_in and not self.embedded and self.jwt_secret is None
            ),
        }
        for feature in Settings.__bases__:
            if check := vars(feature).get("conflicts"):
                conflicts |= check(self)
        for message, wrong in conflicts.items():
            if wrong:
                raise CommandError(message)
        for one in fields(self):
            option: Option = one.metadata["option"]
            given = getattr(self, one.name)
            if option.check is None or given is None:
                continue
            accepts, message = option.check
            for value in [given] if isinstance(given, str) else given:
                if not accepts(value):
                    shown = "" if option.secret else f" {value}"
                    raise CommandError(f"{option_name(one)}{shown} {message}")

    @property
    def ends_when_blocked(self) -> bool:
        """Whether a process ends if its event loop is blocked."""
        return self.workers > 1 if self.exit_when_blocked is None else self.exit_when_blocked

    @property
    def embedded(self) -> bool:
        """Whether the store is the embedded engine."""
        return not self.aws and self.endpoint_url is None


ORDER = tuple(name for kind in Settings.__mro__ for name in get_annotations(kind))
"""The names of all settings, in the order of options in ``--help``: first those that this module
declares."""
