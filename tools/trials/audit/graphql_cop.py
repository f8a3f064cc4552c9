"""The checks of graphql-cop, written again here: no package registry has the tool.

Some of its findings are intended. The audit expects them, and fails if they disappear.
"""

from collections.abc import Callable
from typing import Any

import httpx

from tools.trials.audit.findings import Finding

_TYPES = "name"
for _ in range(4):
    _TYPES = f"fields {{ type {{ {_TYPES} }} }}"
_ALIASES = " ".join(f"alias{number}: __typename" for number in range(101))
_FRAGMENTS = "{ ...A } fragment A on Query { __typename ...B } fragment B on Query { ...A }"


def findings(url: str, *, introspection: bool = True) -> list[Finding]:
    """Return the checks' findings for a server with or without introspection."""
    found = []
    reasons = _BY_DESIGN | (_WITH_INTROSPECTION if introspection else {})
    with httpx.Client(base_url=url, timeout=60) as client:
        for name, check in _CHECKS.items():
            seen, reason = check(client), reasons.get(name)
            shown = "not reported"
            if seen:
                shown = f"reported, by design: {reason}" if reason else "reported"
            found.append(Finding(name, seen == (reason is not None), shown))
    return found


def _answer(client: httpx.Client, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/graphql", json={"query": query}).json()
    return answer


def _data(client: httpx.Client, query: str) -> dict[str, Any]:
    return _answer(client, query).get("data") or {}


def _errors(client: httpx.Client, query: str) -> list[str]:
    return [error["message"] for error in _answer(client, query).get("errors", [])]


def _directives(client: httpx.Client, count: int) -> int:
    return len(_errors(client, f"{{ __typename {'@aa' * count} }}"))


def _batch(client: httpx.Client) -> bool:
    answer = client.post("/graphql", json=[{"query": "{ __typename }"}] * 10)
    return answer.is_success or isinstance(answer.json(), list)


def _circular_fragments(client: httpx.Client) -> bool:
    answer = client.post("/graphql", json={"query": _FRAGMENTS})
    return answer.is_server_error or bool(answer.json().get("data"))


def _unhandled(client: httpx.Client) -> bool:
    answer = str(_answer(client, "qwerty cop { abc }"))
    return "exception" in answer.lower() or "Traceback" in answer


_CHECKS: dict[str, Callable[[httpx.Client], bool]] = {
    "Alias overloading": lambda client: "alias100" in _data(client, f"{{ {_ALIASES} }}"),
    "Array-based query batching": _batch,
    "Circular query by introspection": lambda client: (
        "__schema" in _data(client, f"{{ __schema {{ types {{ {_TYPES} }} }} }}")
    ),
    "Circular fragments": _circular_fragments,
    "Directive overloading": lambda client: _directives(client, 10) == 10,
    "Directive overloading, 900 against 20": lambda client: (
        _directives(client, 900) > _directives(client, 20)
    ),
    "Field duplication": lambda client: bool(_data(client, f"{{ {'__typename ' * 500} }}")),
    "Field suggestions": lambda client: (
        "Did you mean" in str(_errors(client, "{ __schema { directive } }"))
    ),
    "GET method query support": lambda client: (
        client.get("/graphql", params={"query": "{ __typename }"}).is_success
    ),
    "GraphQL IDE": lambda client: (
        "GraphiQL" in client.get("/graphql", headers={"Accept": "text/html"}).text
    ),
    "Introspection": lambda client: bool(
        _data(client, "{ __schema { types { name fields { name } } } }")
    ),
    "Mutation over GET": lambda client: (
        client.get("/graphql", params={"query": "mutation { __typename }"}).is_success
    ),
    "POST of url-encoded queries": lambda client: (
        client.post("/graphql", data={"query": "{ __typename }"}).is_success
    ),
    "Trace mode": lambda client: "tracing" in str(_answer(client, "{ __typename }")),
    "Unhandled errors": _unhandled,
}

_BY_DESIGN = {
    "GET method query support": "only queries, and the server reads no cookie",
    "GraphQL IDE": "GraphiQL is for everyone who explores the API",
}
_WITH_INTROSPECTION = {
    "Directive overloading": "the check counts 10 errors, and the server returns 10",
    "Field suggestions": "the API is public; --no-introspection hides it",
    "Introspection": "the API is public; --no-introspection hides it",
}
