"""Options that several commands share; each can be set as MARGINALIA_<OPTION> as well."""

from pathlib import Path
from typing import Annotated

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
