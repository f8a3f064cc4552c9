"""The application with a test's table, called without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import authenticator_of, services_of
from server.settings import Settings

SECRET = "a secret of thirty-two bytes, or more"


def app_of(
    table: Table,
    authenticator: Authenticator | None = None,
    **settings: Any,
) -> ASGIApp:
    """Return the application with these settings. It accepts JWTs signed with ``SECRET``."""
    chosen = Settings(**settings)
    authenticator = authenticator or authenticator_of(chosen, lambda: SECRET)
    return create_app(chosen, services_of(chosen, table, authenticator))


@asynccontextmanager
async def serving(
    table: Table,
    *,
    authenticator: Authenticator | None = None,
    root_path: str = "",
    site: str = "http://localhost",
    **settings: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the application that accepts every media type."""
    async with client_of(app_of(table, authenticator, **settings), root_path, site) as client:
        yield client


def client_of(
    app: ASGIApp, root_path: str = "", site: str = "http://localhost"
) -> httpx.AsyncClient:
    """Return a client of an application that accepts every media type."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app, root_path=root_path),
        base_url=site,
        headers={"Accept": "*/*"},
    )
