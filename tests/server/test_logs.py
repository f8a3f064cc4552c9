"""The log as text and as JSON, with few lines and with many."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import httpx
import orjson
import pytest
from asgi_correlation_id import correlation_id

from server.logs import LINES, LogFormat, log_handler
from tests.server.serving import bearer, served


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger whose lines do not reach the handlers of the root logger."""
    made = logging.getLogger("tests.logs")
    made.propagate = False
    yield made
    made.handlers.clear()


def lines(logger: logging.Logger, log_format: LogFormat) -> StringIO:
    stream = StringIO()
    logger.addHandler(log_handler(log_format, stream))
    return stream


@contextmanager
def request(request_id: str) -> Iterator[None]:
    token = correlation_id.set(request_id)
    yield
    correlation_id.reset(token)


def fail(sentence: str) -> None:
    raise RuntimeError(sentence)


def test_a_text_line_has_time_level_request_and_message(logger: logging.Logger) -> None:
    stream = lines(logger, "text")
    logger.warning("before")
    with request("abc"):
        logger.error("of %s", "a request")
    first, second = stream.getvalue().splitlines()
    assert first.endswith(" WARNING [-] before")
    assert second.endswith(" ERROR [abc] of a request")


def test_a_json_line_has_the_same_values_by_name(logger: logging.Logger) -> None:
    stream = lines(logger, "json")
    with request("abc"):
        logger.error("of %s", "a request", extra={"operation": "query", "attempt": 2})
    (line,) = stream.getvalue().splitlines()
    said = orjson.loads(line)
    assert said.pop("time").endswith("+00:00")
    assert said == {
        "level": "ERROR",
        "logger": "tests.logs",
        "message": "of a request",
        "request_id": "abc",
        "operation": "query",
        "attempt": 2,
    }


def storm(logger: logging.Logger, count: int) -> None:
    for number in range(count):
        try:
            fail(f"number\n{number}")
        except RuntimeError:
            logger.exception("It failed")


def test_many_equal_errors_log_one_traceback(logger: logging.Logger) -> None:
    stream = lines(logger, "text")
    storm(logger, 3)
    said = stream.getvalue()
    assert said.count("Traceback") == 1
    *_, second, third = said.splitlines()
    assert second.endswith(" ERROR [-] It failed: RuntimeError: number 1")
    assert third.endswith(" ERROR [-] It failed: RuntimeError: number 2")


def test_omitted_log_lines_are_counted(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = lines(logger, "json")
    storm(logger, LINES + 1_000)
    assert len(stream.getvalue().splitlines()) == LINES
    monkeypatch.setattr("server.logs.WINDOW", 0.0)
    storm(logger, 1)
    last = orjson.loads(stream.getvalue().splitlines()[-1])
    assert last["message"][:22] == "It failed (1,000 more "
    assert "Traceback" in last["traceback"]


def test_each_kind_of_error_logs_its_traceback(logger: logging.Logger) -> None:
    stream = lines(logger, "text")
    storm(logger, 2)
    try:
        int("x")
    except ValueError:
        logger.exception("It failed")
    logger.error("It failed", exc_info=RuntimeError("never raised"))
    logger.error("It failed", exc_info=(None, None, None))
    said = stream.getvalue()
    assert said.count("Traceback") == 2
    assert "\nRuntimeError: never raised\n" in said


def test_a_server_logs_json_and_each_traceback_once(tmp_path: Path) -> None:
    """The server reads its secret at each request. A too short secret is an internal error."""
    with served(tmp_path, "--log-format", "json", MARGINALIA_JWT_SECRET="") as server:
        (tmp_path / "jwt-secret").write_text("short")
        for number in range(5):
            headers = bearer("ana") | {"X-Request-ID": f"request-{number}"}
            answer = httpx.post(
                f"{server.url}/graphql", json={"query": "{a}"}, headers=headers, timeout=60
            )
            assert answer.status_code == 500
        code, log = server.end()
    _, *said, _ = [orjson.loads(line) for line in log.splitlines()]  # without start and end
    assert code == 0
    assert [line["request_id"] for line in said] == [f"request-{number}" for number in range(5)]
    assert [line for line in said if "traceback" in line] == said[:1]
    assert "HS256 needs at least 32" in said[4]["message"]
