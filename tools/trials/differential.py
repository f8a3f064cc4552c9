"""Compares compiled with plain execution over HTTP, byte by byte: 10,000 random documents.

Two servers in this process get the same requests, and have tables with equal rows. One compiles
each document at once, the other has ``--no-compile``. The documents are queries and mutations of
the schema with ``--explain``. Arguments, ``@skip`` and ``@include`` have variables. Responses must
have the same status, headers and bytes. Fields that wait concurrently fail in the order in which
the engine responds. So errors are sorted before they are compared, and the table shows how often
their order differed. Exits with 1 at the first difference, and if a field with ``@semanticNonNull``
is null without an error.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import Any
from unittest import mock

import httpx
import orjson
from graphql import GraphQLSchema, parse
from graphql.execution import get_variable_values
from graphql.execution.values import VariableValues

from dal.dynamodb.table import Table, TableAddress, connect
from dal.maintenance.tables import create_table
from schema.build import build_schema
from schema.execution.compiled.fields import Selection
from schema.execution.compiled.operation import CompiledOperation
from schema.execution.selections import operations_of
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import NO_RATE_LIMIT, Settings
from tests.engines import dynoxide
from tests.features.analytics.exported import movers
from tests.schema.execution.filled import counts_kept, fill
from tests.schema.unexplained_nulls import unexplained_nulls
from tests.server.http.listening import listening
from tests.server.serving import SECRET, bearer
from tools.trials.fuzz.documents import document
from tools.trials.reporting import finish, show

VIEWERS: Sequence[dict[str, str]] = (
    bearer("sam", "staff"),
    bearer("mo", "moderator", "merchant"),
    bearer("ann"),
    {},
)
"""The headers of a staff member, a moderator, a customer and a visitor."""

_HEADERS = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
_PER_REQUEST = {"date", "x-request-id"}
"""Response headers that differ between equal requests."""


class Clock:
    """Supplies the ids and times of writes.

    After the same number of ``ticks``, it supplies the same ids and times.
    """

    def __init__(self) -> None:
        self.ticks = 0

    def token_hex(self, size: int) -> str:
        """Return the next id, of ``size`` bytes in hexadecimal."""
        self.ticks += 1
        return f"{self.ticks:0{2 * size}x}"

    def now(self, zone: tzinfo) -> datetime:
        """Return the next time."""
        self.ticks += 1
        return datetime(2025, 1, 1, tzinfo=zone) + timedelta(milliseconds=self.ticks)

    @contextmanager
    def set(self) -> Iterator[None]:
        """Use this clock for the writes of this process until the block ends."""
        with ExitStack() as patches:
            for module in ("resolvers.comments", "resolvers.mutations"):
                patches.enter_context(mock.patch(f"{module}.secrets", self))
            for module in (
                "resolvers.comments",
                "resolvers.orders",
                "resolvers.tickets",
                "dal.writes.comments",
                "features.moderation.repository",
                "dal.writes.changes",
            ):
                patches.enter_context(mock.patch(f"{module}.datetime", self))
            yield


async def compared(count: int, directory: Path, *tables: Table) -> tuple[Counter[str], str]:
    """Compare the responses of two servers to random documents.

    Return how many responses of each kind were equal, and the first difference or "".
    """
    clock, counts = Clock(), Counter[str]()
    schema = build_schema(explain=True)._schema
    async with AsyncExitStack() as stack:
        stack.enter_context(counts_kept())
        stack.enter_context(clock.set())
        stack.enter_context(mock.patch("schema.execution.documents.PLAINLY", 0))
        compiled = stack.enter_context(_noted_executions())
        analytics = await stack.enter_async_context(movers(directory))
        clients = []
        for table, compiles in zip(tables, (True, False), strict=True):
            clock.ticks = 0
            settings = Settings(explain=True, compiles=compiles, rate_limit=NO_RATE_LIMIT)
            authenticator = Authenticator(secret=lambda: SECRET)
            services = replace(services_of(settings, table, authenticator), analytics=analytics)
            services.broker.log.begin(epoch=1, number=0)
            await fill(table, services.stores)
            app = create_app(settings, services)
            port = await stack.enter_async_context(listening(app, settings))
            client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
            clients.append(await stack.enter_async_context(client))
        for number in range(count):
            random = Random(number)
            text, variables = _drawn(random, schema)
            headers = {**_HEADERS, **random.choice(VIEWERS)}
            content, executed = json.dumps({"query": text, "variables": variables}), len(compiled)
            answers = []
            for client in clients:
                clock.ticks = 1_000 * (number + 1)
                answers.append(await client.post("/graphql", content=content, headers=headers))
            if _told(answers[0]) != _told(answers[1]):
                shown = "\n".join(answer.text for answer in answers)
                return counts, f"Document {number} differs: {text}\n{content}\n{shown}"
            answer = answers[1].json()
            if unexplained := unexplained_nulls(schema, text, answer):
                return (
                    counts,
                    f"Document {number} has nulls without an error: {text}\n{unexplained}",
                )
            counts["documents"] += 1
            counts["executed compiled"] += len(compiled) > executed
            counts["mutations"] += text.startswith("mutation")
            counts["with directives by variables"] += "(if: $" in text
            counts["answered with data"] += answer.get("data") is not None
            counts["with plans"] += ": plan" in text
            counts["answered with errors"] += "errors" in answer
            counts["errors in another order"] += answers[0].content != answers[1].content
            counts["bytes compared"] += len(answers[1].content)
    return counts, ""


def _drawn(random: Random, schema: GraphQLSchema) -> tuple[str, dict[str, Any]]:
    """Return a random document with variables. Some have variables that are refused."""
    while True:
        text, variables = document(random, schema, awkward=0.01)
        (operation,) = operations_of(parse(text))
        values = get_variable_values(schema, operation.variable_definitions or (), variables)
        if not isinstance(values, list) or random.random() < 0.1:
            return text, variables


@contextmanager
def _noted_executions() -> Iterator[list[None]]:
    """Yield a list that grows whenever a compiled operation is executed."""
    fetched: list[None] = []
    original = CompiledOperation.selection

    def selection(
        operation: CompiledOperation, values: VariableValues, **options: bool
    ) -> Selection | None:
        found = original(operation, values, **options)
        if found is not None:
            fetched.append(None)
        return found

    with mock.patch.object(CompiledOperation, "selection", selection):
        yield fetched


def _told(response: httpx.Response) -> tuple[object, ...]:
    """Return the parts of a response that must be equal: its errors are sorted."""
    headers = [one for one in response.headers.raw if one[0].decode().lower() not in _PER_REQUEST]
    head, found, errors = response.content.partition(b'"errors":')
    if not found:
        return response.status_code, headers, head
    listed = sorted(map(orjson.dumps, orjson.loads(response.content)["errors"]))
    return response.status_code, headers, head, len(errors), listed


async def _run(count: int) -> None:
    began, spent = monotonic(), process_time()
    with TemporaryDirectory() as directory, dynoxide() as url:
        async with connect(TableAddress("none", endpoint_url=url, embedded=True)) as first:
            tables = [Table(first.service, name) for name in ("compiled", "plain")]
            for table in tables:
                await create_table(table)
            counts, difference = await compared(count, Path(directory), *tables)
    rows = [(what, f"{number:,}") for what, number in counts.items()]
    rows += [
        ("differences", str(int(bool(difference)))),
        ("seconds", f"{monotonic() - began:.0f}"),
        ("seconds of CPU", f"{process_time() - spent:.0f}"),
    ]
    show("Compiled and plain execution over HTTP", ("responses", "number"), rows)
    finish([difference] if difference else [])


def main() -> None:
    """Compare as many documents as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=10_000, help="default: 10000")
    asyncio.run(_run(parser.parse_args().documents))


if __name__ == "__main__":
    main()
