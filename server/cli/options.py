"""Options that several commands share; each can be set as MARGINALIA_<OPTION> as well."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from server.settings import Settings

DEFAULTS = Settings()

_STORE = "Store"

DataDir = Annotated[
    Path,
    typer.Option(
        "--data-dir",
        envvar="MARGINALIA_DATA_DIR",
        rich_help_panel=_STORE,
        help="Where the embedded engine keeps its data.",
    ),
]

EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        envvar="MARGINALIA_ENDPOINT_URL",
        rich_help_panel=_STORE,
        help="Use the DynamoDB API at this URL instead of the embedded engine, with the AWS "
        "credentials and region of the environment.",
        show_default=False,
    ),
]

Aws = Annotated[
    bool,
    typer.Option(
        "--aws",
        envvar="MARGINALIA_AWS",
        rich_help_panel=_STORE,
        help="Use Amazon DynamoDB, with the usual AWS variables and files.",
    ),
]

TableName = Annotated[
    str,
    typer.Option(
        "--table",
        envvar="MARGINALIA_TABLE",
        rich_help_panel=_STORE,
        help="The name of the table.",
    ),
]

AnalyticsUrl = Annotated[
    str | None,
    typer.Option(
        "--analytics-url",
        envvar="MARGINALIA_ANALYTICS_URL",
        rich_help_panel=_STORE,
        help="Ask the ClickHouse whose HTTP interface is here for trends and movers, instead of "
        "DuckDB over files in the data directory.",
        show_default=False,
    ),
]

WriteUnits = Annotated[
    float | None,
    typer.Option(
        "--write-units",
        envvar="MARGINALIA_WRITE_UNITS",
        min=1,
        metavar="N",
        help="Consume at most so many WCU a second, by what DynamoDB tells of each write; no limit "
        "if not given.",
        show_default=False,
    ),
]

ReadUnits = Annotated[
    float | None,
    typer.Option(
        "--read-units",
        envvar="MARGINALIA_READ_UNITS",
        min=1,
        metavar="N",
        help="Let the scan of the table consume at most so many RCU a second, by what DynamoDB "
        "tells of each answer; no limit if not given.",
        show_default=False,
    ),
]

MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        envvar="MARGINALIA_METRICS_PORT",
        min=0,
        max=65535,
        rich_help_panel="How it is seen from outside",
        help="Show metrics to Prometheus on this port, apart from the API; 0 takes any free one.",
        show_default=False,
    ),
]

MetricsHost = Annotated[
    str,
    typer.Option(
        "--metrics-host",
        envvar="MARGINALIA_METRICS_HOST",
        rich_help_panel="How it is seen from outside",
        help="The address of that port: whoever reaches it sees the metrics.",
    ),
]

_STORE_OPTIONS = {"data_dir": DataDir, "endpoint_url": EndpointUrl, "aws": Aws, "table": TableName}

JwtSecret = Annotated[
    str | None,
    typer.Option(
        "--jwt-secret",
        envvar="MARGINALIA_JWT_SECRET",
        rich_help_panel="Who may write",
        help="Signs and verifies HS256 JWTs; 32 bytes or more. In the environment it stays out "
        "of the list of processes. Without it the data directory's own secret counts.",
        show_default=False,
    ),
]


def of_store(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where the store is; it takes them as ``settings``."""

    @wraps(command)
    def with_options(**given: Any) -> None:
        settings = Settings(**{name: given.pop(name) for name in _STORE_OPTIONS})
        command(settings=settings, **given)

    parameters = dict(inspect.signature(command).parameters)
    taken = parameters.pop("settings")
    offered = [
        taken.replace(name=name, default=getattr(DEFAULTS, name), annotation=option)
        for name, option in _STORE_OPTIONS.items()
    ]
    signature = inspect.Signature([*parameters.values(), *offered])
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = command.__annotations__ | _STORE_OPTIONS
    return with_options
