"""The application with a test's table, called without a socket."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import Settings

SECRET = "a secret of thirty-two bytes, or more"


def app_of(
    table: Table,
    authenticator: Authenticator | None = None,
    documents: Mapping[str, str] | None = None,
    **settings: Any,
) -> ASGIApp:
    """Return the application with these settings. It accepts JWTs signed with ``SECRET``."""
    authenticator = authenticator or Authenticator(secret=lambda: SECRET)
    chosen = Settings(**settings)
    return create_app(chosen, services_of(chosen, table, authenticator, documents=documents))


@asynccontextmanager
async def serving(
    table: Table,
    documents: Mapping[str, str] | None = None,
    *,
    authenticator: Authenticator | None = None,
    root_path: str = "",
    site: str = "http://localhost",
    **settings: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the application that accepts every media type."""
    app = app_of(table, authenticator, documents, **settings)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app, root_path=root_path),
        base_url=site,
        headers={"Accept": "*/*"},
    ) as client:
        yield client
