"""The schema at ``/schema.graphql``."""

from typing import Any

import pytest
from graphql import build_schema

from dal.dynamodb.table import Table
from tests.engines import ROOT
from tests.server.applications import serving

PATH = "/schema.graphql"


async def test_the_schema_is_the_file_of_the_repository(table: Table) -> None:
    async with serving(table) as client:
        answer = await client.get(PATH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.text.strip() == (ROOT / "schema.graphql").read_text().strip()
    assert build_schema(answer.text).query_type is not None


async def test_a_client_that_has_the_schema_gets_304(table: Table) -> None:
    async with serving(table) as client:
        whole = await client.get(PATH)
        head = await client.head(PATH)
        client.headers["If-None-Match"] = whole.headers["etag"]
        same = await client.get(PATH)
        client.headers["If-None-Match"] = f'"{"0" * 32}"'
        other = await client.get(PATH)
    assert (head.status_code, head.headers["etag"]) == (200, whole.headers["etag"])
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == whole.headers["etag"]
    assert whole.headers["vary"] == same.headers["vary"] == "Accept-Encoding"
    assert (other.status_code, other.content) == (200, whole.content)


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_the_compressed_schema_has_its_own_tag(table: Table, coding: str) -> None:
    async with serving(table) as client:
        client.headers["Accept-Encoding"] = coding
        whole = await client.get(PATH)
        client.headers["If-None-Match"] = whole.headers["etag"]
        same = await client.get(PATH)
    assert whole.headers["content-encoding"] == coding
    assert whole.headers["etag"].endswith(f'-{coding}"')
    assert (same.status_code, same.headers["etag"]) == (304, whole.headers["etag"])


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({}, 200),
        ({"introspection": False}, 404),
        ({"introspection": False, "serve_schema": True}, 200),
    ],
)
async def test_the_schema_is_served_if_clients_can_query_it_or_the_operator_says_so(
    table: Table, settings: dict[str, Any], status: int
) -> None:
    async with serving(table, **settings) as client:
        assert (await client.get(PATH)).status_code == status


async def test_the_schema_cannot_be_changed(table: Table) -> None:
    async with serving(table) as client:
        answer = await client.post(PATH)
    assert answer.status_code == 405
