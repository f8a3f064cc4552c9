"""Counts the work of a scan: the steps of a regular expression, and the lines of Python code.

The counts are the same on every machine, unlike times.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

Rest = Callable[[int], int | None]
"""Matches the rest of an expression at a position. Returns the end of the match, or None."""

RECURSION = 100_000
"""Maximum depth of calls. The matcher calls itself for each repetition of a group."""

_CHARACTERS = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN}


class TooManyStepsError(Exception):
    """A scan takes more steps than the maximum."""


def _end(at: int) -> int:
    return at


class Matcher:
    """A backtracking matcher with the semantics of ``re``. ``steps`` are those of the last call.

    A step tries one part of the expression at one position of the text. Above ``most`` steps, the
    matcher raises TooManyStepsError.
    """

    def __init__(self, pattern: "re.Pattern[Any]", most: float) -> None:
        parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
        self._parts, self._state, self._flags = list(parsed), parsed.state, pattern.flags
        self._most = most
        self._groups: dict[int, tuple[int, int]] = {}
        self._compiled: dict[int, re.Pattern[Any]] = {}
        self._accepted: dict[tuple[int, Any], bool] = {}
        self._text: Any = ""
        self.steps = 0

    def spans(self, method: str, text: str | bytes) -> list[tuple[int, int]]:
        """Return the positions of the matches that a method of the expression finds."""
        self._text, self.steps = text, 0
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(RECURSION)
        try:
            match method:
                case "match":
                    end = self._match(0, _end)
                    return [] if end is None else [(0, end)]
                case "fullmatch":
                    end = self._match(0, lambda at: at if at == len(text) else None)
                    return [] if end is None else [(0, end)]
                case "search":
                    return [*islice(self._all(), 1)]
                case _:
                    return [*self._all()]
        finally:
            sys.setrecursionlimit(limit)

    def _all(self) -> Iterator[tuple[int, int]]:
        at, empty = 0, False
        while at <= len(self._text):
            # After an empty match, the next match must not be empty at the same position.
            least = at + empty
            end = self._match(at, lambda end, least=least: end if end >= least else None)  # type: ignore[misc]
            if end is None:
                at, empty = at + 1, False
            else:
                yield at, end
                at, empty = end, end == at

    def _match(self, at: int, rest: Rest) -> int | None:
        self._groups.clear()
        return self._sequence(self._parts, 0, at, rest)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._most:
            raise TooManyStepsError

    def _sequence(self, parts: Sequence[Any], index: int, at: int, rest: Rest) -> int | None:
        """Match ``parts`` from ``index`` on, and then ``rest``."""
        while index < len(parts) and parts[index][0] in _CHARACTERS:
            if not self._accepts(parts[index], at):
                return None
            index, at = index + 1, at + 1
        if index == len(parts):
            return rest(at)
        self._step()
        operator, value = part = parts[index]

        def then(end: int) -> int | None:
            return self._sequence(parts, index + 1, end, rest)

        match operator:
            case _constants.MAX_REPEAT | _constants.MIN_REPEAT | _constants.POSSESSIVE_REPEAT:
                return self._repeat(operator, value, at, then)
            case _constants.SUBPATTERN:
                return self._group(value, at, then)
            case _constants.BRANCH:
                tried = (self._sequence(list(one), 0, at, then) for one in value[1])
                return next((end for end in tried if end is not None), None)
        end = self._alone(part, at)
        return None if end is None else then(end)

    def _alone(self, part: Any, at: int) -> int | None:
        """Match a part whose match does not depend on the rest of the expression."""
        operator, value = part
        match operator:
            case _constants.GROUPREF if not self._flags & re.IGNORECASE:
                begin, end = self._groups.get(value, (0, -1))
                self.steps += max(0, end - begin)
                same = end >= begin and self._text.startswith(self._text[begin:end], at)
                return at + end - begin if same else None
            case _constants.ATOMIC_GROUP:
                return self._sequence(list(value), 0, at, _end)
            case _constants.ASSERT | _constants.ASSERT_NOT if value[0] > 0:
                ahead = self._sequence(list(value[1]), 0, at, _end) is not None
                return at if ahead is (operator is _constants.ASSERT) else None
            case _constants.AT | _constants.ASSERT | _constants.ASSERT_NOT:
                # A look-behind has a fixed width.
                return at if self._real(part).match(self._text, at) else None
        raise NotImplementedError(operator)

    def _group(self, value: Any, at: int, then: Rest) -> int | None:
        group, *flags, inner = value
        assert not any(flags)

        def close(end: int) -> int | None:
            before = self._groups.get(group)
            self._groups[group] = (at, end)
            found = then(end)
            if found is None:
                self._groups.pop(group)
                if before is not None:
                    self._groups[group] = before
            return found

        return self._sequence(list(inner), 0, at, then if group is None else close)

    def _repeat(self, operator: Any, value: Any, at: int, then: Rest) -> int | None:
        least, most, inner = value
        parts = list(inner)
        if len(parts) == 1 and parts[0][0] in _CHARACTERS:
            return self._run(operator, least, most, parts[0], at, then)
        greedy = operator is not _constants.MIN_REPEAT

        def again(count: int, begin: int) -> int | None:
            def further() -> int | None:
                if count >= most:
                    return None
                return self._sequence(
                    parts,
                    0,
                    begin,
                    # An empty repetition beyond the minimum ends the repeat.
                    lambda end: None if end == begin and count >= least else again(count + 1, end),
                )

            self._step()
            if count < least:
                return further()
            if not greedy:
                end = finish(begin)
                return further() if end is None else end
            end = further()
            return finish(begin) if end is None else end

        if operator is _constants.POSSESSIVE_REPEAT:
            finish: Rest = _end
            end = again(0, at)
            return None if end is None else then(end)
        finish = then
        return again(0, at)

    def _run(
        self, operator: Any, least: int, most: int, part: Any, at: int, then: Rest
    ) -> int | None:
        """Match a repeated character."""
        end = at
        if operator is _constants.MIN_REPEAT:
            while True:
                self._step()
                if end - at >= least:
                    found = then(end)
                    if found is not None:
                        return found
                if end - at >= most or not self._accepts(part, end):
                    return None
                end += 1
        while end - at < most and self._accepts(part, end):
            end += 1
        if operator is _constants.POSSESSIVE_REPEAT:
            return then(end) if end - at >= least else None
        for one in range(end, at + least - 1, -1):
            self._step()
            found = then(one)
            if found is not None:
                return found
        return None

    def _accepts(self, part: Any, at: int) -> bool:
        """Return whether the character at a position matches a part."""
        self.steps += 1
        if self.steps > self._most:
            raise TooManyStepsError
        character = self._text[at : at + 1]
        if not character:
            return False
        known = self._accepted.get((id(part), character))
        if known is None:
            known = self._real(part).fullmatch(character) is not None
            self._accepted[id(part), character] = known
        return known

    def _real(self, part: Any) -> "re.Pattern[Any]":
        compiled = self._compiled.get(id(part))
        if compiled is None:
            parsed = _parser.SubPattern(self._state, [part])
            compiled = self._compiled[id(part)] = _compiler.compile(parsed, self._flags)
        return compiled


@dataclass
class Lines:
    """The number of lines of Python code that a block executes."""

    count: int = 0


@contextmanager
def lines() -> Iterator[Lines]:
    """Count the lines of Python code that the block executes, except of ``asyncio``.

    Functions written in C count nothing, except for the Python code that they call.
    """
    counted = Lines()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        counted.count += 1
        return count

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        return None if "/asyncio/" in frame.f_code.co_filename else count(frame, event, value)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield counted
    finally:
        sys.settrace(before)
