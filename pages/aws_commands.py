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

    def option(name: str, value: str) -> str:
        return f"--{name} {shlex.quote(value)}"

    index, ascending = arguments.get("IndexName"), arguments["ScanIndexForward"]
    lines = [
        "aws dynamodb query",
        option("table-name", table),
        *([option("index-name", index)] if index else []),
        option("key-condition-expression", arguments["KeyConditionExpression"]),
        option("expression-attribute-names", json.dumps(arguments["ExpressionAttributeNames"])),
        option("expression-attribute-values", json.dumps(arguments["ExpressionAttributeValues"])),
        option("limit", str(arguments["Limit"])),
        "--scan-index-forward" if ascending else "--no-scan-index-forward",
        *(["--consistent-read"] if arguments.get("ConsistentRead") else []),
        option("return-consumed-capacity", arguments["ReturnConsumedCapacity"]),
    ]
    return " \\\n  ".join(lines)


def _condition(arguments: Mapping[str, Any]) -> str:
    """Return the key condition with the names and values in place of their placeholders."""
    names = arguments["ExpressionAttributeNames"]
    values = arguments["ExpressionAttributeValues"]
    words = arguments["KeyConditionExpression"].split(" ")
    return " ".join(
        json.dumps(values[word]["S"]) if word in values else names.get(word, word) for word in words
    )
