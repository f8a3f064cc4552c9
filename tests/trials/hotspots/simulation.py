"""A simulated clock, and servers that speak to ``tests.amazon`` by it.

Nothing waits: the event loop's clock jumps to whatever comes next. The engine under the service is
a real one, of which each operation is done while the clock stands still, and then takes as long as
is assumed of DynamoDB. So what is counted does not depend on the machine.
"""

import asyncio
import selectors
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from threading import Thread
from typing import Any

from dal.errors import DalError
from dal.table.client import Table
from dal.table.sdk import open_sdk
from dal.table.service import Service
from tests.amazon import Amazon
from tests.amazon.clock import Clock

PARTITION_WCU, PARTITION_RCU, DESCRIBES = 1_000, 3_000, 10
"""What AWS documents: of one partition a second, and DescribeStreams of an account."""

SECONDS = {
    "transact_write_items": 0.012,
    "put_item": 0.006,
    "update_item": 0.006,
    "batch_write_item": 0.012,
    "scan": 0.04,
    "describe_stream": 0.02,
}
"""How long operations are assumed to take, others are reads."""

READ_SECONDS = 0.004


class _Jump(selectors.DefaultSelector):
    """Waits for nothing: the time goes by instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready, once the clock has jumped; None waits for another thread."""
        self.now += max(timeout or 0.0, 0.0)
        return super().select(None if timeout is None else 0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        """Return the simulated seconds since the loop was made."""
        return self._jump.now


class _LoopClock(Clock):
    """The service's clock is the loop's."""

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()


class Engine:
    """An engine whose operations are done while the clock stands still, by another thread."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self.endpoint_url = service.endpoint_url
        self._service, self._loop = service, loop

    def do(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation in no time."""
        calling = self._service.call(operation, arguments)
        return asyncio.run_coroutine_threadsafe(calling, self._loop).result()

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; a write holds its items for as long as it takes."""
        answer = self.do(operation, arguments)
        if operation in SECONDS and operation != "scan":
            await asyncio.sleep(SECONDS[operation])
        return answer


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    """Open an engine for simulated loops, on a loop of its own that keeps real time."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    sdk = open_sdk("dynamodb", url, embedded=True)

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    try:
        yield Engine(run(sdk.__aenter__()), loop)
        run(sdk.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Meter:
    """Counts what passes, and by simulated second what it consumes; reads take their time."""

    def __init__(self, service: Any) -> None:
        self.endpoint_url = service.endpoint_url
        self._service = service
        self.asked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.each_second: dict[str, defaultdict[int, float]] = {}
        self.rcu = 0.0

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Pass an operation on."""
        self.note(operation, 1)
        if operation not in SECONDS or operation == "scan":
            await asyncio.sleep(SECONDS.get(operation, READ_SECONDS))
        self.asked[operation] += 1
        try:
            answer: dict[str, Any] = await self._service.call(operation, arguments)
        except DalError as error:
            self.failed[type(error).__name__] += 1
            raise
        told = answer.get("ConsumedCapacity", [])
        units = sum(one["CapacityUnits"] for one in (told if isinstance(told, list) else [told]))
        if operation in {"query", "scan", "get_item", "batch_get_item"}:
            self.rcu += units
            self.note("rcu", units)
        return answer

    def note(self, what: str, units: float) -> None:
        """Count something in the second that it falls into."""
        second = int(asyncio.get_running_loop().time())
        self.each_second.setdefault(what, defaultdict(float))[second] += units

    def most(self, what: str) -> float:
        """Return the most that was counted in one second."""
        return max(self.each_second.get(what, {}).values(), default=0.0)

    def forget(self, what: str) -> None:
        """Count something anew."""
        self.each_second.pop(what, None)

    @property
    def requests(self) -> int:
        """How many operations there were."""
        return self.asked.total()


class Shop:
    """A table on the service, and servers that each have a client of their own."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.amazon = Amazon(engine, _LoopClock())
        self.amazon.throttle.wcu, self.amazon.throttle.rcu = PARTITION_WCU, PARTITION_RCU
        self.amazon.streams.describes = DESCRIBES
        self.meter = Meter(self.amazon)

    def table(self) -> Table:
        """Return a server's client of the table."""
        return Table(self.meter, self.name)

    async def of_streams(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Do an operation of DynamoDB Streams once."""
        self.meter.note(operation, 1)
        self.meter.asked[operation] += 1
        await asyncio.sleep(SECONDS.get(operation, READ_SECONDS))
        return await self.amazon.streams.call(operation, **arguments)

    def put(self, items: list[dict[str, Any]]) -> None:
        """Put items without anybody's noticing."""
        for start in range(0, len(items), 25):
            puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            self.engine.do("batch_write_item", {"RequestItems": {self.name: puts}})

    @property
    def refused(self) -> Mapping[str, int]:
        """How often each index, or the table, refused what a partition had no units for."""
        sums: Counter[str] = Counter()
        for (index, partition), times in self.amazon.throttle.refused.items():
            board = partition.partition("#")[0] == "LEADERS"
            sums["board" if board else index or "table"] += times
        return sums

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Note each second what boards consume of their partition."""

        def written() -> int:
            of = self.amazon.throttle.written
            return of[("byLangAndRating", "LEADERS")]

        async def look() -> None:
            before = written()
            while True:
                await asyncio.sleep(1)
                now = written()
                self.meter.note("board", now - before)
                before = now

        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()


def simulate_clocks() -> None:
    """Let what asks for the machine's time ask the running loop's."""

    def now() -> float:
        return asyncio.get_running_loop().time()

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in {"dal", "stream"} and hasattr(module, "monotonic"):
            module.monotonic = now  # type: ignore[attr-defined]
