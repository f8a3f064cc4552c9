"""The commands of the AWS CLI that the playground shows."""

import json
import subprocess
from typing import Any

import pytest

from dal.entities.comment import COMMENT
from dal.table.index import TABLE, QueryRequest, query_arguments
from dal.table.ranges import Range
from pages.aws_commands import command_of, requests_of

BY_RATING = next(one for one in COMMENT.indexes if one.name == "byRating")
EVIL = """it's "$(id)" `id` \\ %s !! 雪 \n --limit"""
SEVERAL = [
    QueryRequest(BY_RATING, "PRODUCT#1/4", limit=20, descending=True),
    QueryRequest(BY_RATING, EVIL, Range(low="2024", low_open=True), limit=1),
    QueryRequest(BY_RATING, "PRODUCT#1/4", Range("2024", "2025", low_open=True, high_open=True)),
    QueryRequest(TABLE, "PRODUCT#1", Range(high=EVIL), consistent=True),
]


@pytest.mark.parametrize("request_", SEVERAL)
def test_a_shell_passes_the_arguments_of_the_query_unchanged(request_: QueryRequest) -> None:
    arguments = query_arguments(request_)
    command = command_of(arguments, "marginalia")
    assert command.startswith("aws dynamodb query ")
    assert _arguments_of(_words_of(command)[2:]) == {"TableName": "marginalia", **arguments}


def _words_of(command: str) -> list[str]:
    """Return the arguments that a shell would pass to ``aws``."""
    show = """aws() { printf '%s\\0' "$@"; }\n"""
    shown = subprocess.run(["sh", "-c", show + command], check=True, capture_output=True, text=True)
    return shown.stdout.split("\0")[:-1]


def _arguments_of(words: list[str]) -> dict[str, Any]:
    """Return the arguments of a Query, as the AWS CLI reads them from options."""
    arguments = dict[str, Any]()
    while words:
        name = words.pop(0).removeprefix("--")
        on = not name.startswith("no-")
        camel = "".join(part.title() for part in name.removeprefix("no-").split("-"))
        if words and not words[0].startswith("--"):
            value = words.pop(0)
            known = camel in {"ExpressionAttributeNames", "ExpressionAttributeValues", "Limit"}
            arguments[camel] = json.loads(value) if known else value
        else:
            arguments[camel] = on
    return arguments


def test_a_request_shows_its_key_condition_with_names_and_values() -> None:
    queries = [json.dumps(query_arguments(one)) for one in SEVERAL]
    found = requests_of([{"queries": queries[:2]}, {"queries": queries[2:]}], "marginalia")
    assert [(one["index"], one["limit"], one["descending"]) for one in found] == [
        ("byRating", 20, True),
        ("byRating", 1, False),
        ("byRating", 1_000, False),
        (None, 1_000, False),
    ]
    assert found[0]["condition"] == 'GSI3PK = "PRODUCT#1/4"'
    assert found[1]["condition"] == f'GSI3PK = {json.dumps(EVIL)} AND GSISK > "2024"'
    assert found[2]["condition"].startswith('GSI3PK = "PRODUCT#1/4" AND GSISK BETWEEN "2024')
