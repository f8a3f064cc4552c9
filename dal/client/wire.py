"""DynamoDB's own protocol: JSON, signed, over kept connections.

The operations that pages are made of go this way, and those of a start: it costs a small part of
what the AWS SDK spends on building a request and reading its answer. The SDK does all else, and it
is the reference: a test does each of these operations both ways.
"""

import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import orjson

from dal.client.answers import whole_answer, whole_error
from dal.client.connections import Connections, Origin
from dal.client.error_codes import dal_error, unreachable, unusable
from dal.client.service import Sdk, Service
from dal.client.signature import Scope, authorization

_TYPE = "application/x-amz-json-1.0"

_UNSIGNED = "user-agent: marginalia\r\naccept-encoding: identity\r\ncontent-length: "

_READS = {
    "query": "Query",
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "describe_table": "DescribeTable",
    "describe_time_to_live": "DescribeTimeToLive",
}
_SPOKEN = {
    **_READS,
    "put_item": "PutItem",
    "delete_item": "DeleteItem",
    "transact_write_items": "TransactWriteItems",
    "update_item": "UpdateItem",
    "create_table": "CreateTable",
    "update_time_to_live": "UpdateTimeToLive",
}
"""Operations by the SDK's names, and by DynamoDB's."""


@asynccontextmanager
async def quick(sdk: Sdk) -> AsyncIterator[Service]:
    """Open the wire beside the SDK, or the SDK alone where it alone knows the way."""
    url = urlsplit(sdk.endpoint_url)
    if sdk.has_proxy or not sdk.has_credentials or url.path not in {"", "/"} or url.query:
        yield sdk
        return
    try:
        origin = _origin(sdk)
    except (ValueError, OSError) as error:
        raise unusable(error) from error
    connections = Connections(origin)
    try:
        yield Wire(sdk, connections)
    finally:
        connections.close()


def _origin(sdk: Sdk) -> Origin:
    url = urlsplit(sdk.endpoint_url)
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise ValueError(f"Invalid endpoint: {sdk.endpoint_url}")
    if url.scheme == "https":
        tls = ssl.create_default_context(cafile=sdk.certificates)
        return Origin(url.hostname, url.port or 443, tls)
    return Origin(url.hostname, url.port or 80)


class Wire:
    """A ``Service`` that sends some operations by itself, and the rest through the SDK."""

    def __init__(self, sdk: Sdk, connections: Connections) -> None:
        self._sdk = sdk
        self._connections = connections
        self._host = urlsplit(sdk.endpoint_url).netloc.rpartition("@")[2]
        self._scope = Scope(sdk.region, "dynamodb")
        self.endpoint_url = sdk.endpoint_url

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; raises DalError."""
        name = _SPOKEN.get(operation)
        if name is None:
            return await self._sdk.call(operation, arguments)
        try:
            body = orjson.dumps(arguments)
        except TypeError:  # half a character, or bytes, which the SDK knows how to send
            return await self._sdk.call(operation, arguments)
        request = await self._request(name, body)
        try:
            answer = await self._connections.ask(request, again=operation in _READS)
        except OSError as error:
            raise unreachable(self.endpoint_url, error) from error
        if answer.status < HTTPStatus.BAD_REQUEST:
            return whole_answer(
                name,
                answer.status,
                answer.body,
                answer.checksum,
                has_capacity=self._sdk.has_capacity,
            )
        kind = answer.content_type.decode(errors="replace")
        raise dal_error(whole_error(answer.status, answer.body, answer.checksum, kind))

    async def _request(self, name: str, body: bytes) -> bytes:
        credentials = await self._sdk.credentials()
        instant = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = [("content-type", _TYPE), ("host", self._host), ("x-amz-date", instant)]
        if credentials.token:
            headers.append(("x-amz-security-token", credentials.token))
        headers.append(("x-amz-target", f"DynamoDB_20120810.{name}"))
        signed = authorization(credentials, self._scope, "POST", "/", headers, body)
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        head = (
            f"POST / HTTP/1.1\r\n{lines}authorization: {signed}\r\n{_UNSIGNED}{len(body)}\r\n\r\n"
        )
        return head.encode() + body
