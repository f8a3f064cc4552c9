"""Functions that read a client's text take linear time.

A text four times as long takes less than eight times as many steps. For regular expressions, the
steps are those of a matcher with the semantics of ``re``; for other functions, the executed lines
of Python. The trial ``linear_time`` measures seconds, and so includes the work of functions in C.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tests.feature_lists import merged
from tests.scans import REFUSALS, SCANNERS, Expression, Text, expressions, repeats, tokens_of
from tests.steps import Matcher, TooManyStepsError, lines

BEGIN, END, MOST = 24, 400, 200_000
"""The first and the last number of characters of the shorter text, and the maximum steps."""

SINGLE = {"match", "fullmatch", "search"}
"""The methods that find one match. All other methods find the same matches in the same steps."""


def is_linear(steps: Callable[[str], int], text: Text) -> bool:
    """Return whether four times the text takes less than eight times as many steps.

    Quadratic time would take sixteen times as many. A repetition such as ``{1,64}``
    looks quadratic up to its maximum, so longer texts are tried.
    """
    n = BEGIN
    with suppress(TooManyStepsError):
        while n <= END:
            if steps(text(4 * n)) < 8 * steps(text(n)):
                return True
            n *= 2
    return False


def check(expression: Expression) -> None:
    """Fail unless each method takes linear time. Check that the matcher finds what ``re`` finds."""
    pattern, matcher = expression.pattern, Matcher(expression.pattern, MOST)

    def steps(method: str, text: str) -> int:
        subject = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
        found = matcher.spans(method, subject)
        if len(text) < 2 * BEGIN:
            assert found == spans(pattern, method, subject)
        return matcher.steps

    for method in {one if one in SINGLE else "finditer" for one in expression.methods}:
        for title, text in repeats(tokens_of(pattern)):
            assert is_linear(partial(steps, method), text), (
                f"{expression.name}: {method} of {title}"
            )


def spans(pattern: "re.Pattern[Any]", method: str, text: str | bytes) -> list[tuple[int, int]]:
    if method in SINGLE:
        found = getattr(pattern, method)(text)
        return [] if found is None else [found.span()]
    return [one.span() for one in pattern.finditer(text)]


def test_every_regular_expression_takes_linear_time() -> None:
    found = [*expressions()]
    assert len(found) > 30
    for expression in found:
        check(expression)


def lines_of(scan: Callable[[str], object], text: str) -> int:
    with lines() as counted, suppress(*REFUSALS):
        scan(text)
    return counted.count


def test_every_function_that_scans_a_clients_text_takes_linear_time() -> None:
    for name, scanner in merged(SCANNERS, "SCANNERS").items():
        for title, text in repeats([*scanner.tokens.split(" "), " "]):
            assert is_linear(partial(lines_of, scanner.scan), text), f"{name}: {title}"


@pytest.mark.parametrize("pattern", [r'"(?:[^"\\]|\\.)*"', r"[\w-]+\.[\w-]+\.[\w-]+", r"(?:a+)+$"])
def test_an_expression_that_backtracks_is_detected(pattern: str) -> None:
    """Two take quadratic time, one exponential time."""
    with pytest.raises(AssertionError):
        check(Expression("backtracking", re.compile(pattern), ("search", "findall")))


def test_a_function_that_takes_quadratic_time_is_detected() -> None:
    def scan(text: str) -> None:
        for one in range(len(text)):
            for _ in text[one:]:
                pass

    assert not is_linear(partial(lines_of, scan), "a".__mul__)
