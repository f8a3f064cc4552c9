"""A script: the requests of one load for one server, and the answers that are right."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.speed.answers import shown
from bench.speed.dialects import Dialect
from bench.speed.errors import BenchError
from bench.speed.generator import Answer, ask, request
from bench.speed.loads import Asked, CommentAdded, HtmlAsked, Load

_ADDED = re.compile(rb'{"data":{"addComment":{"comment":{"id":"[^"]+"}}}}')
_OK = b"200"
_RECORDERS = 4


@dataclass(slots=True)
class Script:
    """Requests by number; the answer to one is always the same, unless it writes."""

    url: str
    load: Load
    requests: Sequence[bytes]
    digests: list[int] = field(default_factory=list)
    """Of the right bodies; empty where no answer is like another."""

    def right(self, number: int, answer: Answer) -> bool:
        """Return whether an answer is the right one, byte for byte where it is known."""
        if answer.status != _OK:
            return False
        if not self.digests:
            return _ADDED.fullmatch(answer.body) is not None
        return hash(answer.body) == self.digests[number]


class _Recording:
    """Asks each request once, and keeps what a function makes of the answers."""

    def __init__(self, requests: Sequence[bytes], keep: Callable[[int, Answer], None]) -> None:
        self._left = enumerate(requests)
        self._keep = keep

    def next(self) -> tuple[int, bytes] | None:
        return next(self._left, None)

    def note(self, number: int, answer: Answer) -> None:
        self._keep(number, answer)


def script(
    url: str, dialect: Dialect, load: Load, *, token: str, tell_cost: bool = False
) -> Script | None:
    """Return the requests of a load; None where this server has nothing of the kind.

    With ``tell_cost`` each asks for its cost besides; ``token`` is of the user who writes.
    """
    more = {"extensions": {"cost": True}} if tell_cost else {}
    requests = [_request(url, dialect, asked, token, more) for asked in load.asked]
    if requests[0] is None:
        return None
    return Script(url, load, [each for each in requests if each is not None])


async def each(script: Script, keep: Callable[[int, Answer], None], clients: int = 1) -> None:
    """Ask each request once; BenchError when an answer has another status than 200."""
    failed: list[Answer] = []

    def note(number: int, answer: Answer) -> None:
        if answer.status == _OK:
            keep(number, answer)
        else:
            failed.append(answer)

    await ask(script.url, _Recording(script.requests, note), clients)
    if failed:
        status, body = (part.decode() for part in (failed[0].status, failed[0].body))
        raise BenchError(f"{script.url} answers {script.load.title} with {status}: {body[:300]}")


async def record(script: Script) -> list[int]:
    """Learn the right answers; return digests of what they show, the same for every server."""
    first = script.load.asked[0]
    if isinstance(first, CommentAdded):
        return []
    script.digests = [0] * len(script.requests)
    seen: dict[int, int] = {}

    def keep(number: int, answer: Answer) -> None:
        script.digests[number] = hash(answer.body)
        if not isinstance(first, HtmlAsked):
            seen[number] = hash(shown(answer.body))

    await each(script, keep, _RECORDERS)
    return [seen[number] for number in sorted(seen)]


def _request(
    url: str, dialect: Dialect, asked: Asked, token: str, more: dict[str, Any]
) -> bytes | None:
    if isinstance(asked, HtmlAsked):
        return request(url, f"/products/{asked.product}") if dialect.pages else None
    body = dialect.body(asked)
    if body is None:
        return None
    headers = (f"Authorization: Bearer {token}",) if isinstance(asked, CommentAdded) else ()
    return request(url, "/graphql", orjson.dumps(body | more), headers)
