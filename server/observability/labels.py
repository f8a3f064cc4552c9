"""Labels with few values: where a request goes, what is read, what failed, which operation runs."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.types import Scope

from dal import errors
from dal.account import is_write

OTHER = "other"

OPERATIONS = 50
"""Names of operations that are not registered; a server for all comers may see any number."""

_LONGEST = 60
"""Characters of such a name."""

_ROUTES = (
    (re.compile(r"/graphql"), "graphql"),
    (re.compile(r"/health(/.*)?"), "health"),
    (re.compile(r"/static/.*"), "static"),
    (
        re.compile(
            r"/|/products(/.*)?|/(comments|authors)/.*|/playground(/drawing)?|/sign-(in|out)"
        ),
        "page",
    ),
    (re.compile(r"/robots.txt|/sitemap.xml"), "page"),
)

_PATTERNS = {
    "COMMENT": "AP4",
    "PRODUCT": "statistics",
    "USER": "A1",
    "ORDER": "A3",
    "ORG": "T1",
    "TICKET": "T3",
    "DOCUMENTS": "documents",
    "MARKER": "health",
    "IDEMPOTENCY": "idempotency",
    "STREAM": "stream",
    "COUNTING": "maintenance",
}
"""The access patterns of items that are read by their key, by what their partition begins with."""

_WRITES = {
    "AP4": "comments",
    "A1": "users",
    "A3": "orders",
    "T1": "organizations",
    "T3": "tickets",
}

_OUTCOMES: Mapping[type[errors.DalError], str] = {
    errors.ThrottledError: "throttled",
    errors.StoreUnavailableError: "unavailable",
    errors.ConflictError: "conflict",
    errors.ConditionFailedError: "condition_failed",
    errors.StoreFullError: "full",
    errors.StoreDamagedError: "damaged",
    errors.CredentialsExpiredError: "credentials_expired",
    errors.StoreRefusedError: "refused",
    errors.NoTableError: "refused",
}


def route_of(scope: Scope) -> str:
    """Return where a request goes."""
    if scope["type"] == "websocket":
        return "websocket"
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    if path == "/graphql":
        return "graphql"
    return next((name for known, name in _ROUTES if known.fullmatch(path)), OTHER)


def outcome_of(error: BaseException) -> str:
    """Return what became of a request to DynamoDB; an attempt that took too long is cancelled."""
    if isinstance(error, errors.DalError):
        return _OUTCOMES.get(type(error), OTHER)
    return "cancelled"


def pattern_of(operation: str, arguments: Mapping[str, Any]) -> str:
    """Return the access pattern of a request that is part of no plan, by its items' keys.

    A write is named by what it writes first of what clients write; counters go with it.
    """
    if operation == "scan":
        return "scan"
    found = [
        _PATTERNS.get(one.partition("#")[0], OTHER) for one in _partitions(operation, arguments)
    ]
    if is_write(operation):
        of_clients = (_WRITES[one] for one in found if one in _WRITES)
        return f"write {next(of_clients, found[0] if found else OTHER)}"
    return found[0] if found else OTHER


def _partitions(operation: str, arguments: Mapping[str, Any]) -> list[str]:
    if operation == "query":
        return [arguments["ExpressionAttributeValues"].get(":p", {}).get("S", "")]
    keys: list[Any] = []
    if operation == "get_item":
        keys = [arguments["Key"]]
    elif operation in {"put_item", "update_item", "delete_item"}:
        keys = [arguments.get("Item") or arguments["Key"]]
    elif operation == "transact_write_items":
        actions = (action for entry in arguments["TransactItems"] for action in entry.values())
        keys = [action.get("Item") or action["Key"] for action in actions]
    elif operation == "batch_get_item":
        keys = [one for asked in arguments["RequestItems"].values() for one in asked["Keys"][:1]]
    elif operation == "batch_write_item":
        asked = [one for some in arguments["RequestItems"].values() for one in some]
        keys = [one["PutRequest"]["Item"] for one in asked[:1] if "PutRequest" in one]
    return [key.get("PK", {}).get("S", "") for key in keys]


class OperationNames:
    """The names of operations as labels."""

    def __init__(self) -> None:
        self._others: set[str] = set()

    def label(self, name: str | None, *, trusted: bool) -> str:
        """Return the label of an operation; of one that is not registered, maybe ``other``."""
        if name is None:
            return "anonymous"
        if trusted or name in self._others:
            return name
        if len(self._others) < OPERATIONS and len(name) <= _LONGEST:
            self._others.add(name)
            return name
        return OTHER
