"""Loading: how fast the rows of a file become counted comments, beside a writer that only sends.

The bare writer sends the very transactions that a load has made, prepared beforehand, as many at
once. Each waits for those before it that change a counter of its own, as the conditions of counters
hold in that order alone. What a load takes longer for is all that it does besides sending.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeAlias

from bench.speed.errors import BenchError
from bench.speed.figures import Figure
from bench.speed.processes import cpu_between, cpu_times
from bench.speed.report import Section, figure
from bench.speed.rows import comments_of
from dal.entities.comment import is_comment
from dal.model import Comment
from dal.table.client import Table
from dal.table.embedded import open_embedded
from dal.table.keys import format_instant
from dal.table.service import Service
from dal.table.wire import quick

Transaction: TypeAlias = dict[str, Any]
"""The arguments of one TransactWriteItems."""

BARE = "bare writer"
_SKEW = 0.8
"""How fast products have fewer comments from rank to rank, by Zipf's law."""


def comments(rows: int, products: int) -> list[Comment]:
    """Return comments of many products, few of which have many, always the same ones by date."""
    shares = [1 / rank**_SKEW for rank in range(1, products + 1)]
    sizes = [round(rows * share / sum(shares)) for share in shares]
    sizes[0] += rows - sum(sizes)
    made = [one for number, size in enumerate(sizes) for one in comments_of(f"p{number}", size)]
    return sorted(made, key=lambda one: one.created_at)


def write_file(path: Path, made: Iterable[Comment]) -> None:
    """Write comments as JSONL with the names that ``load`` needs no option for."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(_row(one), ensure_ascii=False)}\n" for one in made)


def _row(one: Comment) -> dict[str, object]:
    cells = {name: value for name, value in one._asdict().items() if value is not None}
    cells["id"] = cells.pop("comment_id")
    return cells | {"created_at": format_instant(one.created_at)}


@dataclass(frozen=True, slots=True)
class Place:
    """A fresh engine and its empty table."""

    table: Table
    engine: int
    """The id of its process."""
    data_dir: Path


@dataclass(frozen=True, slots=True)
class Sample:
    """What one round has shown of one writer; CPU in seconds."""

    title: str
    rows: int
    seconds: float
    cpu: float
    engine_cpu: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


@asynccontextmanager
async def recording(
    endpoint_url: str, name: str
) -> AsyncIterator[tuple[Table, Sequence[Transaction]]]:
    """Open a table, and a list that gets the transactions that are done by it as they end."""
    async with open_embedded(endpoint_url) as sdk, quick(sdk) as service:
        recorder = _Recorder(service)
        yield Table(recorder, name), recorder.transactions


class _Recorder:
    """A ``Service`` that keeps the transactions that it has done."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.endpoint_url = service.endpoint_url
        self.transactions: list[Transaction] = []

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; raises DalError."""
        answer = await self._service.call(operation, arguments)
        if operation == "transact_write_items":
            self.transactions.append(arguments)
        return answer


async def send(table: Table, transactions: Sequence[Transaction], at_once: int) -> None:
    """Do transactions, ``at_once`` together, those of one counter in their order."""
    gate = asyncio.Semaphore(at_once)
    latest: dict[str, asyncio.Task[None]] = {}

    async def do(transaction: Transaction, before: set[asyncio.Task[None]]) -> None:
        try:
            for task in before:
                await task
            await table.once("transact_write_items", **transaction)
        finally:
            gate.release()

    async with asyncio.TaskGroup() as group:
        for transaction in transactions:
            await gate.acquire()
            keys = set(_counters(transaction))
            before = {latest[key] for key in keys if key in latest}
            latest |= dict.fromkeys(keys, group.create_task(do(transaction, before)))


def _counters(transaction: Transaction) -> Iterator[str]:
    for entry in transaction["TransactItems"]:
        (action,) = entry.values()
        if "Key" in action and not is_comment(action["Key"]):
            yield f"{action['Key']['PK']['S']} {action['Key']['SK']['S']}"


async def sample_bare(
    place: Place, transactions: Sequence[Transaction], at_once: int, rows: int
) -> Sample:
    """Measure the bare writer."""
    before, cpu, start = cpu_times([place.engine]), process_time(), perf_counter()
    await send(place.table, transactions, at_once)
    seconds, spent = perf_counter() - start, process_time() - cpu
    engine = cpu_between(before, cpu_times([place.engine]))
    return Sample(BARE, rows, seconds, spent, engine)


async def sample_load(
    place: Place, title: str, program: Path, files: tuple[Path, Path], rows: int
) -> Sample:
    """Measure ``load`` of a program; the first file has one row, and shows what a start takes."""
    one, many = files
    start = await asyncio.to_thread(_timed, program, one, place.data_dir)
    before = cpu_times([place.engine])
    whole = await asyncio.to_thread(_timed, program, many, place.data_dir)
    engine = cpu_between(before, cpu_times([place.engine]))
    return Sample(title, rows, whole[0] - start[0], whole[1] - start[1], engine)


def _timed(program: Path, file: Path, data_dir: Path) -> tuple[float, float]:
    """Run a load; return its seconds and its seconds of CPU."""
    start = perf_counter()
    command = [str(program), "load", str(file), "--data-dir", str(data_dir)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - a marginalia
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchError(f"{program} cannot load {file}: see what it says above.")
    return perf_counter() - start, usage.ru_utime + usage.ru_stime


def section(samples: Sequence[Sample]) -> Section:
    """Return a line for each writer; ratios are of the bare writer's rate in the same round."""
    titles = list(dict.fromkeys(one.title for one in samples))
    by_title = {title: [one for one in samples if one.title == title] for title in titles}
    bare = [one.rate for one in by_title[BARE]]
    lines = []
    for title, rounds in by_title.items():
        ratios = [one.rate / its for one, its in zip(rounds, bare, strict=True)]
        lines.append(
            [
                title,
                figure(_figure([one.rate for one in rounds]), ",.0f"),
                figure(_figure(ratios)),
                f"{median(1e6 * one.cpu / one.rows for one in rounds):,.0f}",
                f"{median(1e6 * one.engine_cpu / one.rows for one in rounds):,.0f}",
            ]
        )
    columns = ["writer", "rows/s", "of the bare writer", "CPU µs a row", "engine CPU µs a row"]
    return Section("Rows of a file: medians (least to greatest)", columns, lines)


def _figure(values: Sequence[float]) -> Figure:
    return Figure(median(values), min(values), max(values))
