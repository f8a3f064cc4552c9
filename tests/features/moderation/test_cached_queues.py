"""A page with the moderators' queue, with the caches of docs/client-setup.md.

Each client keeps the policies that it has by default. After each step, its view must be what a new
client would see.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import setup_page
from tests.clients.relay import compiled
from tests.clients.test_clients import run_node
from tests.clients.test_views import add_comment
from tests.server.serving import bearer, served

HERE = Path(__file__).parent / "queues"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the page's scripts, the blocks, and the output of Relay's compiler."""
    directory = tmp_path_factory.mktemp("queues")
    setup_page.write_blocks(directory)
    for name in ("queues.mjs", "queue.graphql"):
        shutil.copy(HERE / name, directory)
    (directory / "relay").mkdir()
    done = compiled(HERE / "relay", directory / "relay")
    assert done.returncode == 0, done.stdout
    return directory


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The API of a server with five waiting comments."""
    with served(tmp_path, "--moderation", "before-publishing") as server:
        for number in range(5):
            text = f"Comment {number}"
            given = {"productId": "42", "rating": 5, "language": "en", "text": text}
            add_comment(f"{server.url}/graphql", given)
        yield f"{server.url}/graphql"


VIEWS = {
    "list": (5, [0, 1], True),
    "more": (5, [0, 1, 2, 3], True),
    "approve": (4, [0, 1, 3], True),
    "reject": (3, [1, 3], True),
    "rest": (3, [1, 3, 4], False),
    "approve the last": (2, [1, 3], False),
}


@pytest.mark.parametrize("client", ["apollo", "graphcache", "relay"])
def test_a_decision_removes_the_row_without_a_second_request(
    url: str, directory: Path, client: str
) -> None:
    authorization = bearer("mo", "moderator")["Authorization"]
    steps = run_node(directory / "queues.mjs", url, authorization, client)
    assert {name: len(step["requests"]) for name, step in steps.items()} == dict.fromkeys(VIEWS, 1)
    for name, (total, numbers, more) in VIEWS.items():
        texts = [f"Comment {number}" for number in numbers]
        assert steps[name]["view"] == {"total": total, "texts": texts, "more": more}, name
        assert steps[name]["view"] == steps[name]["known"], name
