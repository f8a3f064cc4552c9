"""Answers of different servers in one form, so that they can be compared."""

import json
from datetime import datetime
from typing import Any

Shown = tuple[Any, ...]
"""What a reader sees of an answer, whichever server gave it."""


def shown(body: bytes) -> Shown:
    """Return what an answer of JSON shows; ValueError when it shows an error, or nothing known."""
    answer = json.loads(body)
    if "errors" in answer:
        raise ValueError(f"errors: {answer['errors'][:1]}")
    data = answer["data"]
    if "product" in data:
        return _page(data["product"]["comments"])
    if "allComments" in data:
        return _page(data["allComments"])
    if "addComment" in data:
        return (data["addComment"]["comment"] is not None,)
    one = data.get("comment") or data.get("commentByRowId")
    return (_comment(one),)


def _page(connection: dict[str, Any]) -> Shown:
    return *map(_comment, connection["nodes"]), connection["pageInfo"]["hasNextPage"]


def _comment(node: dict[str, Any]) -> Shown:
    names = ("rating", "language", "title", "text", "username")
    instant = datetime.fromisoformat(node["createdAt"])
    return *(node[name] for name in names), instant
