"""A client of the application with trusted documents."""

from collections.abc import Mapping
from typing import Any

import httpx

from dal.dynamodb.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import Settings
from tests.server.applications import SECRET, client_of


def serving(
    table: Table, documents: Mapping[str, str] | None = None, **settings: Any
) -> httpx.AsyncClient:
    """Return a client of an application whose table has ``documents``, by id."""
    chosen = Settings(**settings)
    services = services_of(chosen, table, Authenticator(secret=lambda: SECRET))
    services.documents.add_stored(documents or {})
    return client_of(create_app(chosen, services))
