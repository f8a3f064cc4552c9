"""An endpoint in front of an engine that lacks the features that ScyllaDB's Alternator lacks.

According to Alternator's documentation, these are transactions, ConsumedCapacity in responses,
checksums and TableId. The endpoint refuses unknown operations with Alternator's error. It was never
compared with a running Alternator.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

from tests.proxy import JSON, Choose, Fault, Forward, Proxy, proxy_of, refuse

LACKING = frozenset({"TransactWriteItems", "TransactGetItems"})
EXPIRY = frozenset({"DescribeTimeToLive", "UpdateTimeToLive"})
"""Operations that releases before 5 lack too."""

_UNTOLD = {"ConsumedCapacity", "TableId"}


def lacking(operations: frozenset[str] = LACKING) -> Choose:
    """Return a function that refuses these operations and strips the responses of others."""
    unknown = refuse(400, "UnknownOperationException")

    def choose(operation: str, _: bytes) -> Fault:
        return unknown if operation in operations else bare

    return choose


async def bare(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Return the engine's response without the parts that Alternator omits."""
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
    """Run the endpoint in front of an engine."""
    async with proxy_of(engine) as proxy:
        proxy.choose = lacking()
        yield proxy
