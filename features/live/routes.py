"""Adds subscriptions to the address of GraphQL."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette_compress import remove_compress_type

from features.live.subscriptions import EVENT_STREAM, EventStreamView, SubscriberLimit
from features.live.websocket import WebSocketView
from server.http.admission import Clients
from server.http.graphql import GraphQLView
from server.http.request import GRAPHQL, JSON, header, preferred
from server.settings import Settings


def with_subscriptions(view: GraphQLView, settings: Settings) -> ASGIApp:
    """Return the view with subscriptions over WebSocket and as server-sent events."""
    # Events are not compressed, because each subscriber would need an encoder in memory.
    remove_compress_type(EVENT_STREAM)
    sockets = WebSocketView(view, settings.cors_origins, settings.demo, settings.deadline)
    events = EventStreamView(view, settings.deadline)

    async def live(scope: Scope, receive: Receive, send: Send) -> None:
        await (sockets if scope["type"] == "websocket" else events)(scope, receive, send)

    limited = SubscriberLimit(live, Clients(settings.trusted_proxies).at)

    def app(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        subscribes = scope["type"] == "websocket" or wants_events(scope)
        return (limited if subscribes else view)(scope, receive, send)

    return app


def wants_events(scope: Scope) -> bool:
    """Return whether a request prefers server-sent events to JSON.

    If a request accepts events and JSON equally, it gets JSON, because urql accepts both even in
    requests that are not subscriptions.
    """
    accept = header(scope, b"accept")
    return preferred(accept, (GRAPHQL, JSON, EVENT_STREAM)) == EVENT_STREAM
