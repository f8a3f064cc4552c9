"""How a ``Table`` sends operations: the wire, the interface of an SDK, and the embedded SDK.

The wire is an HTTP/1.1 client that sends signed JSON to DynamoDB, on persistent connections. It
gets the region, credentials and certificates from the SDK.

The wire sends the operations that the server needs when it starts, answers requests and loads demo
data. It uses much less CPU time than the AWS SDK, which sends all other operations. A test sends
each operation through the wire and through the SDK, and compares the outcomes.
"""

import hmac
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import orjson

from dal.dynamodb.concurrency import once
from dal.dynamodb.connection_pool import ConnectionPool
from dal.dynamodb.responses import Responses, dal_error, parse_error, unreachable, unusable

_TYPE = "application/x-amz-json-1.0"

_UNSIGNED = "user-agent: marginalia\r\naccept-encoding: identity\r\ncontent-length: "

_OPERATIONS = {
    "query": "Query",
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "describe_table": "DescribeTable",
    "describe_time_to_live": "DescribeTimeToLive",
    "put_item": "PutItem",
    "delete_item": "DeleteItem",
    "transact_write_items": "TransactWriteItems",
    "update_item": "UpdateItem",
    "batch_write_item": "BatchWriteItem",
    "create_table": "CreateTable",
    "update_time_to_live": "UpdateTimeToLive",
}
"""The operations that the wire sends. Maps the SDK's name of an operation to DynamoDB's name."""


class Credentials(NamedTuple):
    """The keys that sign requests. ``token`` is None for permanent keys."""

    access_key: str
    secret_key: str
    token: str | None = None


class Service(Protocol):
    """Sends DynamoDB operations, each once, without retries or a deadline. Raises DalError."""

    endpoint_url: str

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation, such as ``get_item``; raises DalError."""


class Sdk(Service, Protocol):
    """A ``Service`` that can send every operation, and that has this machine's AWS settings."""

    region: str
    responses: Responses
    """Checks the responses to the SDK and to the wire."""
    required: bool
    """Whether the SDK must send every operation instead of the wire. True in two cases:

    - The requests go through a proxy. The wire does not support proxies.
    - There are no credentials. The SDK then raises the error.
    """
    certificates: str | None
    """The file with the trusted certificate authorities; None means the system's authorities."""

    async def credentials(self) -> Credentials:
        """Return the current credentials, which sign requests."""


@asynccontextmanager
async def open_wire(sdk: Sdk) -> AsyncIterator[Service]:
    """Open the wire to the SDK's endpoint.

    The wire cannot be used without credentials, behind a proxy, or for an endpoint URL with a path
    or a query string. In these cases, yield the SDK itself. Raises StoreRefusedError if the URL or
    the file of certificates is invalid.
    """
    url = urlsplit(sdk.endpoint_url)
    if sdk.required or url.path not in {"", "/"} or url.query:
        yield sdk
        return
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise unusable(ValueError(f"Invalid endpoint: {sdk.endpoint_url}"))
    try:
        if url.scheme == "https":
            tls = ssl.create_default_context(cafile=sdk.certificates)
            pool = ConnectionPool(url.hostname, url.port or 443, tls)
        else:
            pool = ConnectionPool(url.hostname, url.port or 80)
    except (ValueError, OSError) as error:
        raise unusable(error) from error
    try:
        yield Wire(sdk, pool)
    finally:
        pool.close()


class Wire:
    """A ``Service`` that sends some operations itself, and the others through the SDK."""

    def __init__(self, sdk: Sdk, pool: ConnectionPool) -> None:
        self._sdk = sdk
        self._pool = pool
        self._host = urlsplit(sdk.endpoint_url).netloc.rpartition("@")[2]
        self.endpoint_url = sdk.endpoint_url

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation; raises DalError."""
        name = _OPERATIONS.get(operation)
        if name is None:
            return await self._sdk.call(operation, arguments)
        try:
            body = orjson.dumps(arguments)
        except TypeError:  # only the SDK encodes binary attributes and lone surrogates
            return await self._sdk.call(operation, arguments)
        credentials = await self._sdk.credentials()
        lines, signer = _head(credentials, self._sdk.region, self._host, name, int(time.time()))
        head = (
            f"POST / HTTP/1.1\r\n{lines}authorization: {signer.authorization(body)}\r\n"
            f"{_UNSIGNED}{len(body)}\r\n\r\n"
        )
        try:
            response = await self._pool.send(head.encode() + body)
        except OSError as error:
            raise unreachable(self.endpoint_url, error) from error
        status, checksum, content_type, body = response
        if status < HTTPStatus.BAD_REQUEST:
            return self._sdk.responses.parse(name, status, body, checksum)
        kind = content_type.decode(errors="replace")
        raise dal_error(parse_error(status, body, checksum, kind))


@lru_cache(16)
def _head(
    credentials: Credentials, region: str, host: str, operation: str, second: int
) -> tuple[str, "Signer"]:
    """Return the signed headers of an operation's requests in one second, and their signer."""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
    headers = [("content-type", _TYPE), ("host", host), ("x-amz-date", date)]
    if credentials.token:
        headers.append(("x-amz-security-token", credentials.token))
    headers.append(("x-amz-target", f"DynamoDB_20120810.{operation}"))
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    return lines, Signer(credentials, region, headers)


_ALGORITHM = "AWS4-HMAC-SHA256"


class Signer:
    """Signs bodies of ``POST /`` by AWS Signature Version 4.

    ``headers`` has lower-case names in sorted order, and includes ``x-amz-date``. Only the body
    differs between requests with the same headers.
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
    """

    def __init__(
        self, credentials: Credentials, region: str, headers: Sequence[tuple[str, str]]
    ) -> None:
        names = ";".join([name for name, _ in headers])
        lines = "".join([f"{name}:{value}\n" for name, value in headers])
        instant = dict(headers)["x-amz-date"]
        day = instant[:8]
        within = f"{day}/{region}/dynamodb/aws4_request"
        self._key = _signing_key(credentials.secret_key, region, day)
        self._request = f"POST\n/\n\n{lines}\n{names}\n"
        self._text = f"{_ALGORITHM}\n{instant}\n{within}\n"
        self._shown = (
            f"{_ALGORITHM} Credential={credentials.access_key}/{within}, SignedHeaders={names}, "
            "Signature="
        )

    def authorization(self, body: bytes) -> str:
        """Return the Authorization header of a request."""
        request = self._request + sha256(body).hexdigest()
        text = self._text + sha256(request.encode()).hexdigest()
        return self._shown + hmac.digest(self._key, text.encode(), "sha256").hex()


@lru_cache(4)
def _signing_key(secret_key: str, region: str, day: str) -> bytes:
    key = b"AWS4" + secret_key.encode()
    for part in (day, region, "dynamodb", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


EMBEDDED_REGION = "local"

EMBEDDED_CREDENTIALS = Credentials("embedded", "embedded")
"""The embedded engine requires credentials, but accepts any values."""

SCAN_LIMIT = 2_000
"""Maximum items in a Scan's response from the embedded engine. Without this limit, the engine loads
the rest of the table for each response, although it returns only 1 MB."""

_NO_ITEMS = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.0}}


class EmbeddedSdk:
    """The ``Sdk`` of the embedded engine. It ignores the machine's AWS settings.

    The AWS SDK is not imported before the first operation that the wire cannot send. Clients'
    requests rarely need such an operation. If the server imported the SDK when it starts, the
    import would take a tenth of the start time.
    """

    region = EMBEDDED_REGION
    responses = Responses(has_capacity=True)
    required = False
    certificates: str | None = None

    def __init__(
        self,
        endpoint_url: str,
        sdk: Callable[[], AbstractAsyncContextManager[Service]],
        stack: AsyncExitStack,
    ) -> None:
        self.endpoint_url = endpoint_url
        self._sdk = once(lambda: stack.enter_async_context(sdk()))

    async def credentials(self) -> Credentials:
        """Return fixed credentials."""
        return EMBEDDED_CREDENTIALS

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation. Raises DalError.

        A Scan of segment 0 reads the whole table in the order of its keys, and the other segments
        are empty. The engine's own scan segments are not used, because such a segment ends early if
        the last item of a page is deleted before the next page is read. A scan in the order of keys
        can continue after any key, and is equally fast.
        """
        if operation == "scan":
            if arguments.get("Segment", 0) > 0:
                return dict(_NO_ITEMS)
            own = arguments.keys() - {"Segment", "TotalSegments"}
            arguments = {"Limit": SCAN_LIMIT} | {name: arguments[name] for name in own}
        sdk = await self._sdk()
        return await sdk.call(operation, arguments)
