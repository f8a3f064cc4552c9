"""An endpoint in front of an engine that lacks the same features as ScyllaDB's Alternator.

By Alternator's documentation these are transactions, ConsumedCapacity in responses, checksums and
TableId. Unknown operations are refused as Alternator refuses them. Alternator itself was never run.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

from tests.proxy import JSON, Choose, Fault, Forward, Proxy, proxy_of, refuse

LACKING = frozenset({"TransactWriteItems", "TransactGetItems"})
EXPIRY = frozenset({"DescribeTimeToLive", "UpdateTimeToLive"})
"""Operations that releases before 5 also lack."""

_UNTOLD = {"ConsumedCapacity", "TableId"}


def lacking(operations: frozenset[str] = LACKING) -> Choose:
    """Return the response of an endpoint without some operations."""
    unknown = refuse(400, "UnknownOperationException")

    def choose(operation: str, _: bytes) -> Fault:
        return unknown if operation in operations else _bare

    return choose


async def _bare(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Return the response without the parts that Alternator omits."""
    answer = await forward()
    assert isinstance(answer.body, bytes)
    return web.Response(
        body=orjson.dumps(_without(orjson.loads(answer.body))),
        status=answer.status,
        content_type=JSON,
    )


def _without(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    return {name: _without(value) for name, value in told.items() if name not in _UNTOLD}


@asynccontextmanager
async def alternator(engine: str) -> AsyncIterator[Proxy]:
    """Open such an endpoint in front of an engine."""
    async with proxy_of(engine) as proxy:
        proxy.choose = lacking()
        yield proxy
