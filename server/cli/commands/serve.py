"""``marginalia serve``: the GraphQL server."""

from pathlib import Path
from typing import Annotated

import typer

from server.cli import options
from server.logs import LogFormat
from server.run import run
from server.settings import Settings

_JWT = "Who may write"
_DOCUMENTS = "Which documents it runs"
_LOAD = "How much it takes on"
_SEEN = "How it is seen from outside"


def serve(
    *,
    host: Annotated[
        str, typer.Option(envvar="MARGINALIA_HOST", help="The address to listen on.")
    ] = options.DEFAULTS.host,
    port: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_PORT", min=0, max=65535, help="The port; 0 takes any free one."
        ),
    ] = options.DEFAULTS.port,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_PUBLIC_URL",
            help="Where browsers reach the server, such as https://shop.example: canonical links, "
            "the sitemap, robots.txt and JSON-LD start with it.",
            show_default=False,
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_ALLOWED_HOST",
            help="A host that requests may name, such as shop.example, *.shop.example or '*'; "
            "others get 421. Repeatable. The public URL's host and this machine's loopback names "
            "are always allowed.",
            show_default=False,
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo/--no-demo",
            envvar="MARGINALIA_DEMO",
            help="Load demo comments once, and let everybody write as one user: by a JWT that is "
            "printed, or one click.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            envvar="MARGINALIA_EXPLAIN",
            help="Answer the field 'plan': what each page read and what it cost.",
        ),
    ] = False,
    introspection: Annotated[
        bool,
        typer.Option(
            "--introspection/--no-introspection",
            envvar="MARGINALIA_INTROSPECTION",
            help="Show the schema to whoever asks; without it, no error tells a part of it either.",
        ),
    ] = True,
    known_products_only: Annotated[
        bool,
        typer.Option(
            "--known-products-only/--any-product",
            envvar="MARGINALIA_KNOWN_PRODUCTS_ONLY",
            help="Refuse comments on products that have no title, picture or address stored.",
        ),
    ] = False,
    documents: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="MARGINALIA_DOCUMENTS",
            rich_help_panel=_DOCUMENTS,
            help="A manifest of documents that clients ask for by id: Relay's persisted queries or "
            "Apollo's manifest. Repeatable. 'marginalia documents add' keeps them in the table "
            "instead.",
            show_default=False,
        ),
    ] = None,
    documents_only: Annotated[
        bool,
        typer.Option(
            "--documents-only/--no-documents-only",
            envvar="MARGINALIA_DOCUMENTS_ONLY",
            rich_help_panel=_DOCUMENTS,
            help="Run registered documents and refuse all others.",
        ),
    ] = False,
    apq: Annotated[
        bool,
        typer.Option(
            "--apq/--no-apq",
            envvar="MARGINALIA_APQ",
            rich_help_panel=_DOCUMENTS,
            help="Automatic persisted queries: clients of Apollo and urql register texts by their "
            "hashes, 16 MB of them, and send the hashes alone from then on.",
        ),
    ] = False,
    s_maxage: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_S_MAXAGE",
            min=0,
            rich_help_panel=_DOCUMENTS,
            help="Seconds for which a CDN may keep what everybody may read, asked for by GET and "
            "the id of a registered document; 0 is not at all.",
        ),
    ] = options.DEFAULTS.s_maxage,
    stale_while_revalidate: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_STALE_WHILE_REVALIDATE",
            min=0,
            rich_help_panel=_DOCUMENTS,
            help="Seconds beyond these in which it may show the old answer while it asks again.",
        ),
    ] = options.DEFAULTS.stale_while_revalidate,
    data_dir: options.DataDir = options.DEFAULTS.data_dir,
    endpoint_url: options.EndpointUrl = None,
    aws: options.Aws = False,
    table: options.TableName = options.DEFAULTS.table,
    redis_url: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_REDIS_URL",
            rich_help_panel="Store",
            help="A Redis by which several workers or servers over one table tell each other's "
            "listeners of changes, such as redis://127.0.0.1:6379/0; several workers without it "
            "refuse subscriptions. In the environment its password stays out of the list of "
            "processes.",
            show_default=False,
        ),
    ] = None,
    analytics_url: options.AnalyticsUrl = None,
    jwt_secret: options.JwtSecret = None,
    jwks_url: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_JWKS_URL",
            rich_help_panel=_JWT,
            help="The key set that verifies RS256, ES256 and EdDSA JWTs.",
            show_default=False,
        ),
    ] = None,
    jwt_audience: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_JWT_AUDIENCE",
            rich_help_panel=_JWT,
            help="The audience that the key set's JWTs must be meant for.",
            show_default=False,
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_CORS_ORIGIN",
            help="An origin whose pages may call the API from a browser, such as "
            "https://shop.example; '*' is any. Repeatable. The demo allows this machine.",
            show_default=False,
        ),
    ] = None,
    picture_origin: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_PICTURE_ORIGIN",
            help="An origin whose pictures of products the pages show, such as "
            "https://cdn.shop.example: it sees who looks at them. Repeatable.",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        float,
        typer.Option(
            envvar="MARGINALIA_DEADLINE",
            min=1,
            help="Seconds that a request may take; what is not done by then is UNAVAILABLE.",
        ),
    ] = options.DEFAULTS.deadline,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            envvar="MARGINALIA_LOG_FORMAT", help="What the log on standard error is made of."
        ),
    ] = options.DEFAULTS.log_format,
    access_log: Annotated[
        bool,
        typer.Option(
            "--access-log/--no-access-log",
            envvar="MARGINALIA_ACCESS_LOG",
            rich_help_panel=_SEEN,
            help="Log each request in a line: what it asked for, how long it took and what it "
            "cost, and nobody's address or name.",
        ),
    ] = False,
    metrics_port: options.MetricsPort = None,
    metrics_host: options.MetricsHost = options.DEFAULTS.metrics_host,
    trace_url: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_TRACE_URL",
            rich_help_panel=_SEEN,
            help="Send traces to the OpenTelemetry collector here, by OTLP over HTTP, such as "
            "http://127.0.0.1:4318.",
            show_default=False,
        ),
    ] = None,
    trace_sample: Annotated[
        float,
        typer.Option(
            envvar="MARGINALIA_TRACE_SAMPLE",
            min=0,
            max=1,
            rich_help_panel=_SEEN,
            help="The part of requests that get a trace, beside those whose caller has one; 20 a "
            "second of a process at most.",
        ),
    ] = options.DEFAULTS.trace_sample,
    keep_alive: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_KEEP_ALIVE",
            min=1,
            rich_help_panel=_LOAD,
            help="Seconds that a connection may be idle; more than a balancer's own.",
        ),
    ] = options.DEFAULTS.keep_alive,
    request_timeout: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_REQUEST_TIMEOUT",
            min=1,
            rich_help_panel=_LOAD,
            help="Seconds in which a request must arrive, head and body.",
        ),
    ] = options.DEFAULTS.request_timeout,
    workers: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_WORKERS",
            min=1,
            rich_help_panel=_LOAD,
            help="Processes that serve on the port, one for each core that is to spare.",
        ),
    ] = options.DEFAULTS.workers,
    exit_when_blocked: Annotated[
        bool | None,
        typer.Option(
            "--exit-when-blocked/--no-exit-when-blocked",
            envvar="MARGINALIA_EXIT_WHEN_BLOCKED",
            rich_help_panel=_LOAD,
            help="End the process when its event loop is blocked for 15 seconds, so that a "
            "supervisor restarts it. Default: on with --workers.",
            show_default=False,
        ),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(
            envvar="MARGINALIA_MAX_CONNECTIONS",
            min=1,
            rich_help_panel=_LOAD,
            help="Connections at once; as many as the system has descriptors for if not given.",
            show_default=False,
        ),
    ] = None,
    max_concurrency: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_MAX_CONCURRENCY",
            min=1,
            rich_help_panel=_LOAD,
            help="Requests that run at once in a process; what cannot be served in six seconds "
            "gets 503.",
        ),
    ] = options.DEFAULTS.max_concurrency,
    rate_limit: Annotated[
        str,
        typer.Option(
            envvar="MARGINALIA_RATE_LIMIT",
            rich_help_panel=_LOAD,
            help="Requests of one client, such as 100/s or 600/min; beyond it is 429. "
            "'off' is no limit.",
        ),
    ] = options.DEFAULTS.rate_limit,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_TRUSTED_PROXY",
            rich_help_panel=_LOAD,
            help="A proxy's address or network: its X-Forwarded-For names the client, and without "
            "one it is not limited. Repeatable. This machine is trusted if none is given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve GraphQL and GraphiQL at /graphql.

    Without --endpoint-url and --aws the data is in a file in the data directory, kept by an engine
    that starts and stops with the server. Readers need no JWT; writers do.
    """
    run(
        Settings(
            host=host,
            port=port,
            public_url=public_url,
            allowed_hosts=allowed_host or (),
            data_dir=data_dir,
            demo=demo,
            explain=explain,
            introspection=introspection,
            known_products_only=known_products_only,
            documents=documents or (),
            documents_only=documents_only,
            apq=apq,
            s_maxage=s_maxage,
            stale_while_revalidate=stale_while_revalidate,
            endpoint_url=endpoint_url,
            aws=aws,
            table=table,
            redis_url=redis_url,
            analytics_url=analytics_url,
            jwt_secret=jwt_secret,
            jwks_url=jwks_url,
            jwt_audience=jwt_audience,
            cors_origins=cors_origin or (),
            picture_origins=picture_origin or (),
            deadline=deadline,
            log_format=log_format,
            access_log=access_log,
            metrics_port=metrics_port,
            metrics_host=metrics_host,
            trace_url=trace_url,
            trace_sample=trace_sample,
            keep_alive=keep_alive,
            request_timeout=request_timeout,
            workers=workers,
            exit_when_blocked=exit_when_blocked,
            max_connections=max_connections,
            max_concurrency=max_concurrency,
            rate_limit=rate_limit,
            trusted_proxies=trusted_proxy or options.DEFAULTS.trusted_proxies,
        )
    )
