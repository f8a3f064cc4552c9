"""Compares the CPU time of compiled execution with that of graphql-core.

The engine's responses are stored and reused, so that the figures contain no time for requests to
the engine.
"""

import asyncio
import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import Annotated, Any

import typer
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service
from dal.stores import Stores
from features.loading.kind import COMMENTS
from resolvers.context import Context
from schema.build import build_schema
from server.local_engine.storage import open_table
from server.settings import Settings
from tools.bench.bill import PRODUCT, stored
from tools.bench.report import Section, write_report

_COMMENT = "id rating language title text createdAt author { name }"
_LIST = f"{{ edges {{ cursor node {{ {_COMMENT} }} }} pageInfo {{ hasNextPage endCursor }} }}"
_OF = f'product(productId: "{PRODUCT}")'

DOCUMENTS = {
    "first page": f"{{ {_OF} {{ comments(first: 20) {_LIST} }} }}",
    "first page, @include by a variable": (
        f"query ($v: Boolean!) {{ {_OF} {{ comments(first: 20) @include(if: $v) {_LIST} }} }}"
    ),
    "three ratings with statistics": (
        f"{{ {_OF} {{ comments(first: 20, rating: [1, 3, 5]) {_LIST}"
        " statistics { total average histogram { rating count } } } }"
    ),
    "node": f"query ($id: ID!) {{ node(id: $id) {{ id ... on Comment {{ {_COMMENT} }} }} }}",
}


class Answers:
    """A service that sends each distinct request only once to another service.

    It stores the response, and returns it to later equal requests.
    """

    def __init__(self, service: Service) -> None:
        self.endpoint_url = service.endpoint_url
        self._service = service
        self._kept: dict[str, dict[str, Any]] = {}

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the stored response. If there is none, send the request and store its response."""
        key = f"{operation} {arguments}"
        if key not in self._kept:
            self._kept[key] = await self._service.call(operation, arguments)
        return self._kept[key]


def execution(
    *,
    rounds: Annotated[
        int, typer.Option(min=1, help="Number of rounds. Each figure is the median of all rounds.")
    ] = 15,
    times: Annotated[
        int, typer.Option(min=1, help="Number of times that a round sends each request.")
    ] = 100,
) -> None:
    """Show the CPU time of requests, by compiled execution and by graphql-core."""
    rows = asyncio.run(_measured(rounds, times))
    columns = ("request", "compiled, ms", "graphql-core, ms", "ratio")
    section = Section("CPU of a request, with stored responses of DynamoDB", columns, rows)
    write_report("execution", [section], [], write=False)


async def _measured(rounds: int, times: int) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as directory:
        async with open_table(Settings(data_dir=Path(directory)), share=False) as table:
            await COMMENTS.put(Stores(table))(stored("stored", 500))
            context = Context(None, Stores(Table(Answers(table.service), table.name)))
            return [
                await _compared(name, text, context, rounds, times)
                for name, text in DOCUMENTS.items()
            ]


async def _compared(name: str, text: str, context: Context, rounds: int, times: int) -> list[str]:
    schemas = [build_schema(compiles=compiles) for compiles in (True, False)]
    variables = {"v": True, "id": to_base64("Comment", stored("stored", 1)[0].comment_id)}
    spent: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for schema, seconds in zip(schemas, spent, strict=True):
            began = process_time()
            for _ in range(times):
                result = await schema.execute(text, variables, context)
                if result.errors:
                    raise result.errors[0]
            if number:  # The first round only warms up the caches.
                seconds.append((process_time() - began) / times)
    compiled, plain = (median(one) for one in spent)
    return [name, f"{1000 * compiled:.3f}", f"{1000 * plain:.3f}", f"{compiled / plain:.2f}"]
