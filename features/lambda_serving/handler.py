"""The Lambda handler that serves GraphQL.

Lambda may freeze the process after each response, and may end it without notice. So this process
has no work in the background. Before the handler returns, it finishes the work that a server would
do some seconds later: it moves products on leaderboards, folds votes, and removes the data of
deleted comments.

While the process is frozen, its clock may stop. Then a cached value would be older than its age. So
the handler compares the clock with the times of events, and opens the application again if the
clock has missed time.
"""

import asyncio
import json
import logging
import os
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cache
from time import monotonic, time
from typing import Any

import typer
from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES
from mangum.types import ASGI
from starlette.types import ASGIApp, Receive, Scope, Send
from typer.main import get_command

import dal.dynamodb.sdk  # noqa: F401 - takes 0.2 s, and Lambda gives more CPU before the first event
from dal.stores import Stores
from server.app import create_app
from server.auth.secret import secret_source
from server.cli.main import ListedCommand
from server.cli.options import takes
from server.cli.variables import unknown_variables
from server.http.graphql import TOO_LARGE
from server.http.request import GRAPHQL
from server.local_engine.storage import open_store
from server.logs import set_up_logs
from server.services import open_services
from server.settings import NO_RATE_LIMIT, ORDER, Settings

logger = logging.getLogger(__name__)

MAX_ANSWER = 6_000_000
"""Maximum bytes of an answer in JSON. Lambda accepts 6 MB."""

_OF_BODY = {"content-length", "content-encoding"}
"""The headers that do not fit the error that replaces a body."""

MISSED_SECONDS = 1.0
"""If the clock has missed more seconds, cached values are too old."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer a request. Environment variables have the settings, as for ``marginalia serve``.

    ``MARGINALIA_FUNCTION_VARIABLES`` has further variables, separated by commas.
    """
    return _function().answer(event, context)


@cache
def _function() -> "Function":
    settings = settings_of_environment()
    logging.getLogger().handlers.clear()  # Lambda's handler, which writes no JSON
    set_up_logs(settings.log_format)
    return Function(settings)


def settings_of_environment() -> Settings:
    """Return the settings in environment variables, changed for Lambda. Raises CommandError."""
    for one in filter(None, os.environ.get("MARGINALIA_FUNCTION_VARIABLES", "").split(",")):
        name, _, value = one.partition("=")
        os.environ.setdefault(name, value)
    for sentence in unknown_variables(os.environ):
        logger.warning(sentence)
    found: list[Settings] = []

    def keep(settings: Settings) -> None:
        found.append(settings)

    app = typer.Typer(add_completion=False)
    app.command(cls=ListedCommand)(takes(*ORDER)(keep))
    get_command(app).main(args=[], prog_name="marginalia", standalone_mode=False)
    return replace(
        found[0],
        aws=found[0].endpoint_url is None,
        # AWS finds the function by its host, so requests for other hosts do not arrive.
        allowed_hosts=("*",),
        # A process serves one request at a time, and does not see the requests of other processes.
        rate_limit=NO_RATE_LIMIT,
        # Several processes without Redis offer no events.
        redis_url=None,
        workers=2,
        metrics_port=None,
        trace_url=None,
        access_log=False,
    )


class Function:
    """Answers the events of a process. The first event opens the table's client."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()
        self._adapter: Mangum | None = None
        self._offset = time() - monotonic()

    def answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Return the response to a request. Raises an exception if the table cannot be used."""
        if self._missed_time(event):
            self._adapter = None
            self._runner.run(self._opened.aclose())
        if self._adapter is None:
            self._adapter = Mangum(
                self._runner.run(self._open()),
                lifespan="off",
                text_mime_types=[*DEFAULT_TEXT_MIME_TYPES, GRAPHQL],
            )
        answer = self._adapter(event, context)
        # The body becomes a string of JSON, with up to 12 bytes for each character.
        if len(answer["body"]) > MAX_ANSWER // 12 and len(json.dumps(answer)) > MAX_ANSWER:
            kept = {name: answer["headers"][name] for name in answer["headers"].keys() - _OF_BODY}
            headers = kept | {"cache-control": "no-store"}
            answer |= {"headers": headers, "body": TOO_LARGE.decode(), "isBase64Encoded": False}
        return answer

    def close(self) -> None:
        """Close the table's client."""
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def _missed_time(self, event: dict[str, Any]) -> bool:
        """Return whether the clock has missed time since the process has started."""
        request = event.get("requestContext", {})
        sent = request.get("timeEpoch", request.get("requestTimeEpoch"))
        if sent is None:
            return False
        offset = sent / 1000 - monotonic()
        if offset <= self._offset + MISSED_SECONDS:
            return False
        self._offset = offset
        return True

    async def _open(self) -> ASGI:
        settings = self._settings
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_store(settings, share=False))
            secret = secret_source(settings.jwt_secret, settings.data_dir)
            services = await stack.enter_async_context(
                open_services(settings, store.table, secret, background=False)
            )
            self._opened = stack.pop_all()
        return finishing(create_app(settings, services, api_only=True), services.stores)


def finishing(app: ASGIApp, stores: Stores) -> ASGI:
    """Return an application that leaves no work in the background after a request."""

    async def finish(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            for work in stores.background:
                await work.finish()
            await stores.table.drain()

    return finish
