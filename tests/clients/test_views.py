"""A page that shows and changes comments, with the caches of docs/client-setup.md.

Each client keeps the policies that it has by default. After each step, its view must be what a new
client would see.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.relay import ARTIFACTS, compiled
from tests.clients.test_clients import HERE, PRODUCT, ran
from tests.server.serving import bearer, served

MODERATOR = bearer("ana", "merchant", "moderator")

ADD = """mutation ($input: AddCommentInput!) {
  addComment(input: $input) { userErrors { message } }
}"""


def add_comment(url: str, given: dict[str, object]) -> None:
    """Add a comment by Ben. ``given`` is the mutation's input."""
    body = {"query": ADD, "variables": {"input": given}}
    answer = httpx.post(url, json=body, headers=bearer("ben"), timeout=60)
    assert answer.json()["data"]["addComment"]["userErrors"] == []


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("relay")
    done = compiled(HERE / "relay", place)
    assert done.returncode == 0, done.stdout
    return place / ARTIFACTS


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The API of a server with comments rated 1 to 5, twice each, in this order."""
    with served(tmp_path) as server:
        for number in range(10):
            given = {
                "productId": PRODUCT,
                "rating": number % 5 + 1,
                "language": "en",
                "text": f"Comment {number}",
            }
            add_comment(f"{server.url}/graphql", given)
        yield f"{server.url}/graphql"


REQUESTS = {
    "list": ["View"],
    "more": ["View, more"],
    "filter": ["View"],
    "no filter": [],
    "add": ["addComment"],
    "edit": ["updateComment"],
    "vote": ["markHelpful"],
    "reply": ["replyToComment"],
    "reject": ["rejectComment"],
    "approve": ["approveComment"],
    "delete": ["deleteComment"],
    "filter again": ["View"],
}
"""The requests of each step. The last step needs one, because the list with the filter has changed
since the cache received it."""


@pytest.mark.parametrize("library", ["apollo", "graphcache", "relay"])
def test_a_page_shows_each_change_without_a_second_request(
    url: str, blocks: Path, artifacts: Path, library: str
) -> None:
    module = f"./{library}_view.mjs"
    steps = ran("views.mjs", url, module, blocks, artifacts, headers=MODERATOR)
    assert {name: named(step["requests"]) for name, step in steps.items()} == REQUESTS
    for name, step in steps.items():
        assert step["view"] == step["known"], name
    views = {name: step["view"] for name, step in steps.items()}
    assert [view["total"] for view in views.values()] == [10] * 4 + [11] * 4 + [10, 11, 10, 10]
    assert [view["ratings"][0] for view in views.values()] == [2] * 4 + [3] + [2] * 7
    assert [view["ratings"][4] for view in views.values()] == [2] * 5 + [3] * 5 + [2] * 2
    assert {tuple(view["found"]) for view in views.values()} == {(10, 10), (11, 11), (2, 2)}
    assert texts(views["list"]) == ["Comment 9", "Comment 8", "Comment 7"]
    assert texts(views["more"]) == [f"Comment {number}" for number in range(9, 3, -1)]
    assert texts(views["filter"]) == ["Comment 9", "Comment 4"]
    assert views["no filter"] == views["more"]
    assert texts(views["add"])[:2] == ["New", "Comment 9"]
    assert views["edit"]["comments"][0] == ["Edited", 1, 0, None]
    assert views["vote"]["comments"][3] == ["Comment 7", 3, 1, None]
    assert views["reply"]["comments"][3] == ["Comment 7", 3, 1, "Thank you."]
    assert texts(views["reject"])[2:4] == ["Comment 8", "Comment 6"]
    assert views["approve"]["comments"] == views["reply"]["comments"]


def named(requests: list[str]) -> list[str]:
    """Return the names of Relay's operations as the other clients' documents name them."""
    plain = [re.sub(r"^View(?:Pagination)?Query", "View", one) for one in requests]
    return [
        re.sub(r"^View(\w)(\w+)Mutation$", lambda found: found[1].lower() + found[2], one)
        for one in plain
    ]


def texts(view: dict[str, Any]) -> list[str]:
    return [text for text, *_ in view["comments"]]
