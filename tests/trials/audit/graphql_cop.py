"""The checks of graphql-cop, by their names: the tool itself is on no registry.

What it reports on our own choice is told so, and held to the choice: a change of it is a finding.
"""

from collections.abc import Callable
from typing import Any

import httpx

from tests.trials.audit.findings import Finding

Check = Callable[[httpx.Client], bool]


def findings(url: str, *, introspection: bool = True) -> list[Finding]:
    """Return each check of the server at ``url``, which shows its schema or keeps it back."""
    with httpx.Client(base_url=url, timeout=60) as client:
        return [
            Finding(name, found == (reason is not None), _told(found=found, reason=reason))
            for name, (check, reason) in _checks(introspection=introspection).items()
            for found in [check(client)]
        ]


def _told(*, found: bool, reason: str | None) -> str:
    if found:
        return f"reported, by design: {reason}" if reason else "reported"
    return "not reported"


def _checks(*, introspection: bool) -> dict[str, tuple[Check, str | None]]:
    """Return the checks, and why a report of theirs is by design."""
    shown = "the API is public; --no-introspection keeps it back" if introspection else None
    refused = "it takes 10 errors for proof, and 10 are told" if introspection else None
    return {
        "Alias overloading": (_aliases, None),
        "Array-based query batching": (_batch, None),
        "Circular query by introspection": (_circular, None),
        "Circular fragments": (_circular_fragments, None),
        "Directive overloading": (_directives, refused),
        "Directive overloading, 900 against 20": (_many_directives, None),
        "Field duplication": (_duplicates, None),
        "Field suggestions": (_suggestions, shown),
        "GET method query support": (_get_query, "queries alone, and no cookie is read"),
        "GraphQL IDE": (_ide, "GraphiQL is for whoever explores the API"),
        "Introspection": (_introspection, shown),
        "Mutation over GET": (_get_mutation, None),
        "POST of url-encoded queries": (_form, None),
        "Trace mode": (_trace, None),
        "Unhandled errors": (_unhandled, None),
    }


def _asked(client: httpx.Client, query: str) -> dict[str, Any]:
    """Return the answer to a document by POST."""
    answer = client.post("/graphql", json={"query": query})
    told: dict[str, Any] = answer.json()
    return told


def _data(answer: dict[str, Any]) -> dict[str, Any]:
    return answer.get("data") or {}


def _messages(answer: dict[str, Any]) -> list[str]:
    return [error["message"] for error in answer.get("errors", [])]


def _aliases(client: httpx.Client) -> bool:
    aliases = " ".join(f"alias{number}: __typename" for number in range(101))
    return "alias100" in _data(_asked(client, f"{{ {aliases} }}"))


def _batch(client: httpx.Client) -> bool:
    answer = client.post("/graphql", json=[{"query": "{ __typename }"}] * 10)
    return answer.is_success or isinstance(answer.json(), list)


def _circular(client: httpx.Client) -> bool:
    types = "name"
    for _ in range(4):
        types = f"fields {{ type {{ {types} }} }}"
    return "__schema" in _data(_asked(client, f"{{ __schema {{ types {{ {types} }} }} }}"))


def _circular_fragments(client: httpx.Client) -> bool:
    query = "{ ...A } fragment A on Query { __typename ...B } fragment B on Query { ...A }"
    answer = client.post("/graphql", json={"query": query})
    return answer.is_server_error or bool(_data(answer.json()))


def _directives(client: httpx.Client) -> bool:
    return _errors_of_directives(client, 10) == 10


def _many_directives(client: httpx.Client) -> bool:
    return _errors_of_directives(client, 900) > _errors_of_directives(client, 20)


def _errors_of_directives(client: httpx.Client, count: int) -> int:
    return len(_messages(_asked(client, f"{{ __typename {'@aa' * count} }}")))


def _duplicates(client: httpx.Client) -> bool:
    return bool(_data(_asked(client, f"{{ {'__typename ' * 500} }}")))


def _suggestions(client: httpx.Client) -> bool:
    return any(
        "Did you mean" in told for told in _messages(_asked(client, "{ __schema { directive } }"))
    )


def _get_query(client: httpx.Client) -> bool:
    return client.get("/graphql", params={"query": "{ __typename }"}).is_success


def _ide(client: httpx.Client) -> bool:
    return "GraphiQL" in client.get("/graphql", headers={"Accept": "text/html"}).text


def _introspection(client: httpx.Client) -> bool:
    return bool(_data(_asked(client, "{ __schema { types { name fields { name } } } }")))


def _get_mutation(client: httpx.Client) -> bool:
    return client.get("/graphql", params={"query": "mutation { __typename }"}).is_success


def _form(client: httpx.Client) -> bool:
    return client.post("/graphql", data={"query": "{ __typename }"}).is_success


def _trace(client: httpx.Client) -> bool:
    return "tracing" in str(_asked(client, "{ __typename }"))


def _unhandled(client: httpx.Client) -> bool:
    told = str(_asked(client, "qwerty cop { abc }"))
    return "exception" in told.lower() or "Traceback" in told
