"""Subscriptions on a server of trusted documents."""

import httpx

from dal.dynamodb.table import Table
from features.trusted_documents.repository import hash_of
from pages.page_documents import DOCUMENTS
from server.settings import Settings
from tests.features.live.subscribing import EVENTS, heard, said, say, socket
from tests.server.applications import app_of
from tests.server.http.listening import listening


async def test_a_server_of_trusted_documents_accepts_only_their_subscriptions(
    table: Table,
) -> None:
    trusted = {"documentId": hash_of(DOCUMENTS["product.live"]), "variables": {"productId": "42"}}
    app = app_of(table, documents_only=True)
    async with listening(app, Settings(documents_only=True)) as port:
        url = f"http://127.0.0.1:{port}"
        for payload in ({"query": EVENTS, "variables": {"product": "42"}}, trusted):
            async with httpx.AsyncClient(timeout=60) as client, socket(url) as connection:
                await say(connection, type="subscribe", id="1", payload=payload)
                message = await heard(connection)
                accept = {"Accept": "text/event-stream"}
                async with client.stream(
                    "POST", f"{url}/graphql", json=payload, headers=accept
                ) as answer:
                    if payload is trusted:
                        (told, _) = message["payload"]["data"], await anext(said(answer))
                        assert told["commentEvents"]["kind"] == "READY"
                    else:
                        await answer.aread()
                        for errors in (message["payload"], answer.json()["errors"]):
                            assert errors[0]["extensions"]["code"] == "UNTRUSTED_DOCUMENT"
