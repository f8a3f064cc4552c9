"""Commands of the AWS CLI that send the same Queries as a plan."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def requests_of(steps: Sequence[Mapping[str, Any]], table: str) -> list[dict[str, Any]]:
    """Return the first Query of each key range of a plan's steps, with its command."""
    found = [json.loads(query) for step in steps for query in step["queries"]]
    return [
        {
            "index": one.get("IndexName"),
            "condition": _condition(one),
            "limit": one["Limit"],
            "descending": not one["ScanIndexForward"],
            "command": command_of(one, table),
        }
        for one in found
    ]


def command_of(arguments: Mapping[str, Any], table: str) -> str:
    """Return the command of a Query, for a POSIX shell. ``arguments`` are those of DynamoDB.

    With ``--limit``, the AWS CLI sends a single request.
    """
    options: list[tuple[str, str | None]] = [("table-name", table)]
    if "IndexName" in arguments:
        options.append(("index-name", arguments["IndexName"]))
    options += [
        ("key-condition-expression", arguments["KeyConditionExpression"]),
        ("expression-attribute-names", json.dumps(arguments["ExpressionAttributeNames"])),
        ("expression-attribute-values", json.dumps(arguments["ExpressionAttributeValues"])),
        ("limit", str(arguments["Limit"])),
        ("scan-index-forward" if arguments["ScanIndexForward"] else "no-scan-index-forward", None),
    ]
    if arguments.get("ConsistentRead"):
        options.append(("consistent-read", None))
    options.append(("return-consumed-capacity", arguments["ReturnConsumedCapacity"]))
    lines = [
        f"--{name}" if value is None else f"--{name} {shlex.quote(value)}"
        for name, value in options
    ]
    return " \\\n  ".join(["aws dynamodb query", *lines])


def _condition(arguments: Mapping[str, Any]) -> str:
    """Return the key condition with the names and values in place of their placeholders."""
    names = arguments["ExpressionAttributeNames"]
    values = arguments["ExpressionAttributeValues"]
    words = arguments["KeyConditionExpression"].split(" ")
    return " ".join(
        json.dumps(values[word]["S"]) if word in values else names.get(word, word) for word in words
    )
