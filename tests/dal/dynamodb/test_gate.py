"""The gate: connections, the circuit breaker and the time limit of a call."""

import asyncio
from typing import Any

import pytest

from dal.dynamodb import gate
from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.errors import (
    CircuitOpenError,
    ConditionFailedError,
    ConflictError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.gate import CircuitBreaker, Gate
from dal.dynamodb.retries import retry
from dal.table.errors import DalError, StoreRefusedError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dal.dynamodb.gate.time.monotonic", lambda: now[0])
    return now


def is_open(circuit: CircuitBreaker) -> bool:
    try:
        circuit.admit()
    except CircuitOpenError:
        return True
    return False


def fail(circuit: CircuitBreaker, times: int = gate.FAILURES) -> None:
    for _ in range(times):
        circuit.failed()


def test_the_circuit_opens_after_several_failures_over_some_time(clock: list[float]) -> None:
    circuit = CircuitBreaker()
    fail(circuit, 100)
    assert not is_open(circuit), "a restart of the store is waited for"
    clock[0] += gate.OUTAGE_SECONDS
    fail(circuit, 1)
    assert is_open(circuit)


def test_few_failures_do_not_open_the_circuit(clock: list[float]) -> None:
    circuit = CircuitBreaker()
    fail(circuit, gate.FAILURES - 2)
    clock[0] += 1000
    fail(circuit, 1)
    assert not is_open(circuit)
    circuit.succeeded()
    clock[0] += 1000
    fail(circuit, 1)
    assert not is_open(circuit)


def test_an_open_circuit_lets_one_call_per_second_through(clock: list[float]) -> None:
    circuit = CircuitBreaker()
    fail(circuit)
    clock[0] += gate.OUTAGE_SECONDS
    fail(circuit)
    for _ in range(3):
        assert is_open(circuit)
        clock[0] += gate.PROBE_SECONDS
        assert [is_open(circuit) for _ in range(5)] == [False, True, True, True, True]
        fail(circuit, 1)
    clock[0] += gate.PROBE_SECONDS
    assert not is_open(circuit)
    circuit.succeeded()
    assert [is_open(circuit) for _ in range(5)] == [False] * 5


async def _send(_: str, arguments: dict[str, Any]) -> Any:
    """Call the function that the test passes in place of arguments."""
    return await arguments["send"]()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setattr(gate, "OUTAGE_SECONDS", 0)
    monkeypatch.setattr(gate, "PROBE_SECONDS", 0.3)
    return Gate(_send)


class Store:
    """Counts its calls, and fails with ``error`` while it is set."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.calls = 0

    async def __call__(self) -> int:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self.calls


GONE = StoreUnavailableError("Gone.")


async def test_a_request_with_a_deadline_fails_at_once_while_the_circuit_is_open(
    opened: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PROBE_SECONDS", 10)
    store = Store(GONE)
    with deadline_in(60):
        for _ in range(10):
            with pytest.raises(CircuitOpenError, match="try again"):
                await retry(lambda: opened.call("query", send=store))
    assert store.calls == gate.FAILURES


async def test_a_request_without_a_deadline_waits_for_the_circuit_to_close(opened: Gate) -> None:
    store = Store(GONE)
    asyncio.get_running_loop().call_later(0.5, setattr, store, "error", None)
    await retry(lambda: opened.call("query", send=store))
    assert store.calls <= gate.FAILURES + 3


@pytest.mark.parametrize(
    "answer",
    [
        ThrottledError("Busy."),
        ConflictError("Others."),
        ConditionFailedError([0]),
        StoreRefusedError("No."),
    ],
)
async def test_errors_that_dynamodb_returns_do_not_open_the_circuit(
    opened: Gate, answer: DalError
) -> None:
    store = Store(answer)
    for _ in range(30):
        with pytest.raises(type(answer)):
            await opened.call("query", send=store)
    assert store.calls == 30


async def test_calls_without_a_response_open_the_circuit(
    opened: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PROBE_SECONDS", 60)
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 0.01)
    for _ in range(gate.FAILURES):
        with pytest.raises(StoreUnavailableError, match=r"\d seconds"):
            await opened.call("query", send=asyncio.Event().wait)
    with pytest.raises(CircuitOpenError):
        await opened.call("query", send=asyncio.Event().wait)


async def test_an_error_response_closes_the_circuit(opened: Gate, clock: list[float]) -> None:
    for _ in range(gate.FAILURES):
        with pytest.raises(StoreUnavailableError):
            await opened.call("query", send=Store(GONE))
    assert opened.breaker.open
    clock[0] += gate.PROBE_SECONDS
    with pytest.raises(ConditionFailedError):
        await opened.call("put_item", send=Store(ConditionFailedError([0])))
    assert not opened.breaker.open


async def test_a_cancelled_probe_neither_opens_nor_closes_the_circuit(
    opened: Gate, clock: list[float]
) -> None:
    for _ in range(gate.FAILURES):
        with pytest.raises(StoreUnavailableError):
            await opened.call("query", send=Store(GONE))
    clock[0] += gate.PROBE_SECONDS
    probe = asyncio.create_task(opened.call("query", send=lambda: asyncio.sleep(9)))
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.wait([probe])
    with pytest.raises(CircuitOpenError):
        await opened.call("query", send=Store(None))


async def test_concurrent_calls_are_bounded_and_waiting_ones_can_be_cancelled() -> None:
    entrance, free = Gate(_send), asyncio.Event()
    running = 0

    async def work() -> None:
        nonlocal running
        running += 1
        await free.wait()

    count = gate.CONNECTIONS * 2
    for operation in ("query", "transact_write_items"):
        running = 0
        free.clear()
        calls = [asyncio.create_task(entrance.call(operation, send=work)) for _ in range(count)]
        async with asyncio.timeout(60):
            while running < gate.CONNECTIONS:  # noqa: ASYNC110 - of many calls, the last one
                await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        assert running == gate.CONNECTIONS
        for call in calls[gate.CONNECTIONS :: 2]:
            call.cancel()
        free.set()
        await asyncio.wait(calls)
        assert running == gate.CONNECTIONS * 3 // 2


async def test_a_scan_has_more_time_than_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 0.05)
    entrance = Gate(_send)
    await entrance.call("scan", send=lambda: asyncio.sleep(0.2))
    with pytest.raises(StoreUnavailableError, match=r"\d seconds"):
        await entrance.call("query", send=lambda: asyncio.sleep(0.2))
